//! Tandem's own terminal for a launch with `pty`: with one, a C program does not buffer its output.
//!
//! Bytes pass as they are in both directions: no `\r` before `\n`, and no echo unless a person types
//! ([`Pty::Echoing`]). Input goes by lines, as people's does, so that end of file can be said; a line may
//! have 4,095 bytes.
//!
//! Not here: a client's terminal ([`super::terminal_launch`]).

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, ptsname, unlockpt};
use rustix::termios::{
    LocalModes, OptionalActions, OutputModes, Winsize, tcgetattr, tcsetattr, tcsetwinsize,
};

use super::terminal_answers::TerminalAnswers;

/// The end of input for a terminal (`VEOF`), at the start of a line.
pub const END_OF_INPUT: u8 = 4;
/// Programs lay out their output for it.
const SIZE: Winsize = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };

/// The kind of the terminal (`TERM`), unless the launch sets another.
pub const KIND: &str = "xterm-256color";

/// Whether a program gets Tandem's terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pty {
    /// Pipes instead of a terminal.
    #[default]
    No,
    /// One that shows only what the program prints: agents know what they type.
    Quiet,
    /// One that also shows what is typed, as people expect. Programs turn that off for a password, or to
    /// edit lines by themselves.
    Echoing,
}

impl Pty {
    /// The terminal that the attributes of a launch request.
    pub const fn of(is_terminal: bool, echoing: bool) -> Self {
        match (is_terminal, echoing) {
            (false, _) => Self::No,
            (true, false) => Self::Quiet,
            (true, true) => Self::Echoing,
        }
    }

    /// Adds what the terminal is called to the variables of a launch, which may call it
    /// otherwise or unset the name.
    pub fn name_in(self, env: &mut Vec<(String, Option<String>)>) {
        if self != Self::No && !env.iter().any(|(name, _)| name == "TERM") {
            env.push(("TERM".into(), Some(KIND.into())));
        }
    }
}

/// Both ends of a terminal.
#[derive(Debug)]
pub struct PseudoTerminal {
    /// Ours: what we write is typed, what the program prints is read.
    pub ours: File,
    /// The program's end. Close it when the program has it, or the end of its output never comes.
    pub programs: OwnedFd,
    /// The path of the terminal, for a process that opens it by name.
    pub path: PathBuf,
}

impl PseudoTerminal {
    /// A new one, which shows nothing of what is typed.
    ///
    /// # Errors
    /// When the system has no more.
    pub fn open() -> std::io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let name = ptsname(&ours, Vec::new())?;
        let programs = ioctl_tiocgptpeer(&ours, flags)?;
        let mut modes = tcgetattr(&programs)?;
        modes.local_modes.remove(echo() | LocalModes::ECHONL);
        modes.output_modes.remove(OutputModes::OPOST);
        tcsetattr(&programs, OptionalActions::Now, &modes)?;
        tcsetwinsize(&programs, SIZE)?;
        let path = PathBuf::from(name.to_string_lossy().into_owned());
        Ok(Self { ours: ours.into(), programs, path })
    }
}

/// The answers to the queries of a program in a new terminal; `None` for pipes. Tandem answers also where a
/// client shows the output in a real terminal, which may be closed, or be opened later and show old queries
/// again. Such a client drops the answers of its terminal.
pub(super) fn answers(pty: Pty) -> Option<TerminalAnswers> {
    (pty != Pty::No).then(|| TerminalAnswers::new(SIZE.ws_row, SIZE.ws_col))
}

/// Has a terminal show what is typed, from now on.
///
/// # Errors
/// If it is not a terminal.
pub fn show_typing(terminal: impl AsFd) -> std::io::Result<()> {
    let mut modes = tcgetattr(&terminal)?;
    modes.local_modes.insert(echo());
    Ok(tcsetattr(&terminal, OptionalActions::Now, &modes)?)
}

/// With a backspace that takes away what was shown.
fn echo() -> LocalModes {
    LocalModes::ECHO | LocalModes::ECHOE | LocalModes::ECHOK | LocalModes::ECHOCTL
}

/// Whether the program has switched this terminal to single keys and has read all that were typed. `ours` is
/// our end, `path` the program's.
pub fn has_no_key_left(ours: impl AsFd, path: &Path) -> bool {
    if !tcgetattr(ours).is_ok_and(|modes| !modes.local_modes.contains(LocalModes::ICANON)) {
        return false;
    }
    has_nothing_unread(path)
}

/// Whether the program has read all that it can of what was typed into this terminal.
pub fn has_nothing_unread(path: &Path) -> bool {
    // Only the other end knows. It is open for this moment only: the program's copies decide when its output
    // ends.
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let programs = rustix::fs::open(path, flags, Mode::empty());
    programs.and_then(rustix::io::ioctl_fionread).is_ok_and(|unread| unread == 0)
}

/// The screen of a terminal of our size after these bytes: lines without trailing spaces, without
/// empty lines at the end.
pub fn screen(bytes: &[u8]) -> String {
    let mut terminal = vt100::Parser::new(SIZE.ws_row, SIZE.ws_col, 0);
    // Ours puts no `\r` before `\n`, as others do: there `\n` begins a line.
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        terminal.process(line);
        if line.ends_with(b"\n") {
            terminal.process(b"\r");
        }
    }
    let shown = terminal.screen().contents();
    let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
    lines.join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_a_terminal_has_its_name_unless_the_launch_says_otherwise() {
        let with = |pty: Pty, given: &[(&str, Option<&str>)]| {
            let own = |(name, value): &(&str, Option<&str>)| ((*name).to_owned(), value.map(str::to_owned));
            let mut env: Vec<_> = given.iter().map(own).collect();
            pty.name_in(&mut env);
            env.iter().find(|(name, _)| name == "TERM").map(|(_, value)| value.clone())
        };
        assert_eq!(with(Pty::Quiet, &[]), Some(Some(KIND.into())));
        assert_eq!(with(Pty::Echoing, &[("A", Some("b"))]), Some(Some(KIND.into())));
        assert_eq!(with(Pty::Quiet, &[("TERM", Some("dumb"))]), Some(Some("dumb".into())));
        assert_eq!(with(Pty::Quiet, &[("TERM", None)]), Some(None));
        assert_eq!(with(Pty::No, &[]), None);
    }

    #[test]
    fn tandem_answers_queries_in_every_terminal_and_on_no_pipe() {
        let answered = [Pty::No, Pty::Quiet, Pty::Echoing].map(|pty| answers(pty).is_some());
        assert_eq!(answered, [false, true, true]);
    }
}
