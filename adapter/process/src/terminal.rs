//! Tandem's own terminal for a launch with `pty`: with one, a C program does not buffer its output.
//!
//! Bytes pass as they are in both directions: no `\r` before `\n`, and no echo unless a person types
//! ([`Pty::Echoing`]). Input goes by lines, as people's does, so that end of file can be said.
//!
//! Not here: a client's terminal ([`super::terminal_launch`]), input in it ([`super::input_sink`]).

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, OutputModes, tcgetattr, tcsetattr};

use super::terminal_answers::TerminalAnswers;
use super::terminal_size::TerminalSize;

/// The end of input for a terminal (`VEOF`), at the start of a line.
pub const END_OF_INPUT: u8 = 4;

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
        TerminalSize::default().apply(&programs)?;
        let path = PathBuf::from(name.to_string_lossy().into_owned());
        Ok(Self { ours: ours.into(), programs, path })
    }
}

/// The answers to the queries of a program in a new terminal; `None` for pipes. Tandem answers also where a
/// client shows the output in a real terminal, which may be closed, or be opened later and show old queries
/// again. Such a client drops the answers of its terminal.
pub(super) fn answers(pty: Pty, size: TerminalSize) -> Option<TerminalAnswers> {
    (pty != Pty::No).then(|| TerminalAnswers::new(size))
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

/// The screen of a terminal of this size after these bytes: lines without trailing spaces, without
/// empty lines at the end. `None` for output that the parser cannot take: it panics where a wide character
/// meets a single column.
pub fn screen(bytes: &[u8], size: TerminalSize) -> Option<String> {
    let render = || {
        let mut terminal = vt100::Parser::new(size.rows(), size.columns(), 0);
        // Ours puts no `\r` before `\n`, as others do: there `\n` begins a line.
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            terminal.process(line);
            if line.ends_with(b"\n") {
                terminal.process(b"\r");
            }
        }
        terminal.screen().contents()
    };
    let shown = catch_unwind(render).ok()?;
    let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
    Some(lines.join("\n").trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use rustix::termios::tcgetwinsize;
    use serde_json::json;

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
        let answered =
            [Pty::No, Pty::Quiet, Pty::Echoing].map(|pty| answers(pty, TerminalSize::default()).is_some());
        assert_eq!(answered, [false, true, true]);
    }

    #[test]
    fn any_output_has_a_screen_or_none_at_any_size() {
        let size = |columns: u16, rows: u16| {
            TerminalSize::parse(&json!({ "columns": columns, "rows": rows })).unwrap()
        };
        assert_eq!(screen(b"one  \n\x1b[31mtwo\n\n", size(80, 24)), Some("one\ntwo".into()));
        assert_eq!(screen("\u{4e2d}\u{6587}".as_bytes(), size(1, 1)), None);
        assert_eq!(screen(b"x", size(1, 1)), Some("x".into()));
    }

    #[test]
    fn a_terminal_has_the_size_that_a_client_sets_within_limits() {
        let size = TerminalSize::parse(&json!({ "columns": 80, "rows": 24 })).unwrap();
        assert_eq!((size.columns(), size.rows()), (80, 24));
        let terminal = PseudoTerminal::open().unwrap();
        let actual = || tcgetwinsize(&terminal.programs).unwrap();
        assert_eq!((actual().ws_col, actual().ws_row), (120, 40));
        size.apply(&terminal.ours).unwrap();
        assert_eq!((actual().ws_col, actual().ws_row), (80, 24));
        for (columns, rows) in [
            (json!(0), json!(24)),
            (json!(80), json!(-1)),
            (json!(1001), json!(24)),
            (json!(80), json!(70_000)),
            (json!(80.5), json!(24)),
            (json!("80"), json!(24)),
            (json!(80), serde_json::Value::Null),
        ] {
            let wrong = json!({ "columns": columns, "rows": rows });
            assert!(TerminalSize::parse(&wrong).is_err(), "{wrong}");
        }
        assert!(TerminalSize::parse(&json!("80x24")).is_err());
    }
}
