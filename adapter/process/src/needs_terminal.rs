//! Messages of programs that need a terminal and have pipes, in one table, and the launch attribute that
//! helps.
//!
//! Only texts: whether the program has pipes is known to the [`Broker`](super::Broker).

/// The advice to a person and to an agent.
pub const HINT: &str = "the program needs a terminal and has pipes: launch it with `\"pty\": true`";

/// Texts that occur together in one message, in lower case: languages and libraries write the
/// system's messages in both.
const MESSAGES: &[&[&str]] = &[
    // The system's ENOTTY: Python's termios, Ruby's io/console, Go, Rust, C, Perl, stty.
    &["inappropriate ioctl for device"],
    // The system's ENXIO and Go's, of a process without a controlling terminal.
    &["no such device or address", "/dev/tty"],
    // .NET: Console.ReadKey.
    &["cannot read keys when either application does not have a console"],
    // .NET: Spectre.Console, Sharprompt.
    &["failed to read input in non-interactive mode"],
    &["the current terminal isn't interactive"],
    &["requires an interactive environment"],
    // curses, in C and in Python.
    &["cbreak() returned err"],
    &["could not find terminal"],
    &["error opening terminal: unknown"],
    // Node: readline's own users, ink.
    &["setrawmode is not a function"],
    &["raw mode is not supported on the current process.stdin"],
    // Python: prompt_toolkit.
    &["input is not a terminal"],
    // Rust: dialoguer, inquire; programs of every language that ask isatty.
    &["not a terminal"],
    &["not a tty"],
    // Perl: Term::ReadKey.
    &["unable to get terminal size"],
];

/// Whether a message of the program reports that it needs a terminal.
pub fn reports_missing_terminal(text: &str) -> bool {
    let text = text.to_lowercase();
    MESSAGES.iter().any(|parts| parts.iter().all(|part| text.contains(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_that_misses_a_terminal_is_understood() {
        for text in [
            "Cannot read keys when either application does not have a console or when console input has \
                been redirected. \
             Try Console.Read.",
            "System.InvalidOperationException: Failed to read input in non-interactive mode.",
            "Cannot show selection prompt since the current terminal isn't interactive.",
            "termios.error: (25, 'Inappropriate ioctl for device')",
            "_curses.error: cbreak() returned ERR",
            "_curses.error: nocbreak() returned ERR",
            "_curses.error: setupterm: could not find terminal",
            "Error opening terminal: unknown.",
            "OSError: [Errno 6] No such device or address: '/dev/tty'",
            "TypeError: process.stdin.setRawMode is not a function",
            "ERROR Raw mode is not supported on the current process.stdin, which Ink uses as input stream \
                by default.",
            "keys.rb:2:in `raw': Inappropriate ioctl for device (Errno::ENOTTY)",
            "#<Errno::ENOTTY: Inappropriate ioctl for device> is raised.",
            "panic: inappropriate ioctl for device",
            "could not open a new TTY: open /dev/tty: no such device or address",
            "Os { code: 25, kind: Uncategorized, message: \"Inappropriate ioctl for device\" }",
            "IO error: not a terminal",
            "The input device is not a TTY",
            "stty: 'standard input': Inappropriate ioctl for device",
            "Unable to get Terminal Size. The TIOCGWINSZ ioctl didn't work.",
        ] {
            assert!(reports_missing_terminal(text), "{text}");
        }
        for text in [
            "",
            "System.InvalidOperationException: Sequence contains no elements",
            "OSError: [Errno 6] No such device or address: '/dev/nvme0'",
            "open /dev/tty: permission denied",
            "TypeError: process.stdin.on is not a function",
        ] {
            assert!(!reports_missing_terminal(text), "{text}");
        }
        assert!(HINT.contains("\"pty\": true"));
    }
}
