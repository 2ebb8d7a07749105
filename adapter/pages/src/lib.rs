//! Man pages and shell completions, generated from the flags of any program.

use std::io::Write;

use clap::{Command, ValueEnum};
use clap_complete::Shell;

/// A page that can be generated from a program's flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CliPage {
    /// The man page, section 1
    Man,
    /// Completions for the shell bash
    Bash,
    /// Completions for the shell zsh
    Zsh,
    /// Completions for the shell fish
    Fish,
}

/// Writes the page to `out`. Man pages do not contain hidden subcommands.
///
/// # Errors
/// When writing to `out` fails.
pub fn write(page: CliPage, mut command: Command, out: &mut dyn Write) -> std::io::Result<()> {
    let shell = match page {
        CliPage::Man => {
            let mut text = Vec::new();
            clap_mangen::Man::new(command).render(&mut text)?;
            return out.write_all(&text);
        }
        CliPage::Bash => Shell::Bash,
        CliPage::Zsh => Shell::Zsh,
        CliPage::Fish => Shell::Fish,
    };
    let name = command.get_name().to_owned();
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut text);
    out.write_all(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_name_the_program_and_its_flags_but_no_hidden_subcommand() {
        let command = || {
            Command::new("tool")
                .about("Does a thing.")
                .arg(clap::Arg::new("out").long("out").help("Where to"))
                .subcommand(Command::new("inner").hide(true))
        };
        let made = |page| {
            let mut text = Vec::new();
            write(page, command(), &mut text).expect("a vector takes all");
            String::from_utf8(text).expect("pages are text")
        };
        let man = made(CliPage::Man);
        assert!(
            man.contains(".TH tool 1") && man.contains("Does a thing.") && man.contains("Where to"),
            "{man}"
        );
        assert!(!man.contains("inner"), "{man}");
        for page in [CliPage::Bash, CliPage::Zsh, CliPage::Fish] {
            let text = made(page);
            assert!(text.contains("tool") && text.contains("out"), "{page:?}: {text}");
        }
    }
}
