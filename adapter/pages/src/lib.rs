//! Man pages, shell completions and Markdown tables, generated from the flags of any program; and the form of
//! the [`report`] that `doctor` prints.
//!
//! Defines no flag: each program passes its [`Command`].

use std::io::{ErrorKind, Write};
use std::path::Path;

use clap::{Arg, Command, ValueEnum};
use clap_complete::Shell;

#[cfg(test)]
mod limits;
pub mod report;

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

/// Whether the Markdown file has the current tables of the program ([`with_tables`]). Writes them there first
/// if `INSTA_UPDATE` is `always`. For tests of programs.
///
/// # Errors
/// When the file cannot be read or written, or has no place for the tables (`InvalidData`).
pub fn has_tables(file: &Path, command: Command) -> std::io::Result<bool> {
    let text = std::fs::read_to_string(file)?;
    let expected = with_tables(&text, command);
    let expected =
        expected.ok_or_else(|| std::io::Error::new(ErrorKind::InvalidData, "no place for the tables"))?;
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        std::fs::write(file, expected)?;
        return Ok(true);
    }
    Ok(text == expected)
}

/// Returns the page with the current tables between `<!-- NAME -->` and `<!-- end of NAME -->`, the
/// program's name; `None` if one of these marks is missing.
fn with_tables(page: &str, command: Command) -> Option<String> {
    let name = command.get_name();
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let (head, rest) = page.split_once(&begin)?;
    let (_, tail) = rest.split_once(&end)?;
    Some(format!("{head}{begin}{}{end}{tail}", tables(command)))
}

/// Returns Markdown tables of a program's flags, and of those of its subcommands. Hidden ones are left out.
fn tables(mut command: Command) -> String {
    command.build();
    let program = command.get_name().to_owned();
    let mut text = table(command.get_arguments());
    for subcommand in command.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name() != "help") {
        let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
        text.push_str(&format!("\n### {program} {}\n\n{about}.\n", subcommand.get_name()));
        let own = table(subcommand.get_arguments().filter(|argument| !argument.is_global_set()));
        if !own.is_empty() {
            text.push_str(&format!("\n{own}"));
        }
    }
    text
}

/// Returns an empty string when there is no argument to list.
fn table<'a>(arguments: impl Iterator<Item = &'a Arg>) -> String {
    let mut text = String::new();
    for argument in arguments.filter(|one| !one.is_hide_set() && one.get_id() != "help") {
        let values = argument.get_value_names().filter(|_| argument.get_action().takes_values());
        let values = values.unwrap_or_default().iter().map(|name| format!("<{name}>")).collect::<Vec<_>>();
        let flag = argument.get_long().map(|long| format!("--{long}"));
        let usage = flag.into_iter().chain(values).collect::<Vec<_>>().join(" ");
        let help = argument.get_help().map(|help| help.to_string().replace('|', "\\|")).unwrap_or_default();
        let defaults = argument.get_default_values().iter().filter(|_| argument.get_action().takes_values());
        let defaults = defaults.map(|value| format!("`{}`", value.to_string_lossy())).collect::<Vec<_>>();
        text.push_str(&format!("| `{usage}` | {help} | {} |\n", defaults.join(", ")));
    }
    if text.is_empty() { text } else { format!("| argument | meaning | default |\n|---|---|---|\n{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_the_flags_of_a_program_and_of_its_subcommands() {
        let level = Arg::new("level").long("level").value_name("LEVEL").default_value("warn").global(true);
        let inner = Command::new("inner").hide(true);
        let list =
            Command::new("list").about("List all").arg(Arg::new("name").value_name("NAME").help("a|b"));
        let text = tables(Command::new("tool").arg(level.help("How much")).subcommands([inner, list]));
        let head = "| argument | meaning | default |\n|---|---|---|\n";
        let expected = format!(
            "{head}| `--level <LEVEL>` | How much | `warn` |\n\n### tool list\n\nList all.\n\n\
             {head}| `<NAME>` | a\\|b |  |\n"
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn tables_replace_what_is_between_the_marks_of_their_program() {
        let command = || Command::new("tool").arg(Arg::new("name").value_name("NAME").help("Whose"));
        let page = "a\n<!-- tool -->\nold<!-- end of tool -->\nb\n";
        let expected = format!("a\n<!-- tool -->\n{}<!-- end of tool -->\nb\n", tables(command()));
        assert_eq!(with_tables(page, command()), Some(expected));
        assert_eq!(with_tables("<!-- tools -->\n<!-- end of tools -->", command()), None);
        assert_eq!(with_tables("<!-- tool -->\n", command()), None);
    }

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
