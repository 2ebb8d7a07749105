//! The text of every message about how a process ended: `exit code 3`, or `exit code 139 (SIGSEGV)`.
//!
//! Not here: waiting for a process and reading its exit status (`tandem-process`).

/// Signals that end processes and have the same number on every system, except `SIGBUS`, which has its number
/// on Linux.
const FATAL: [(i64, &str); 12] = [
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (13, "SIGPIPE"),
    (14, "SIGALRM"),
    (15, "SIGTERM"),
];
/// Shells, and Tandem, add this to the number of the signal that ended a process.
const SIGNAL_BASE: i64 = 128;

/// The end of a process with this exit code, which the signal ended, if any.
pub fn describe_exit(code: i64, signal: Option<&str>) -> String {
    match signal {
        Some(signal) => format!("exit code {code} ({signal})"),
        None => format!("exit code {code}"),
    }
}

/// The end of a process of which only the exit code is known. Shells and runners of tests report a signal of
/// the process that they run as 128 plus its number. Git's own codes 128 and 129 stay without a signal.
pub fn describe_exit_code(code: i64) -> String {
    let signal = FATAL.iter().find(|(number, _)| code.checked_sub(SIGNAL_BASE) == Some(*number));
    describe_exit(code, signal.map(|(_, name)| *name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_has_its_code_and_the_name_of_its_signal() {
        assert_eq!(describe_exit(3, None), "exit code 3");
        assert_eq!(describe_exit(162, Some("SIGRTMIN")), "exit code 162 (SIGRTMIN)");
        for (code, text) in [
            (0, "exit code 0"),
            (-1, "exit code -1"),
            (129, "exit code 129"),
            (130, "exit code 130 (SIGINT)"),
            (134, "exit code 134 (SIGABRT)"),
            (139, "exit code 139 (SIGSEGV)"),
            (i64::MIN, "exit code -9223372036854775808"),
        ] {
            assert_eq!(describe_exit_code(code), text);
        }
    }
}
