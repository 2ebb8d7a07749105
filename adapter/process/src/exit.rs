//! How a program ended, and the names of signals. Waiting for the end is [`super::child`]'s.

use rustix::process::Signal;
use tandem_error::describe_exit;

/// Exit code and signal of a program that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitInfo {
    /// Its exit code; 128 + signal when a signal ended it, as shells count.
    pub code: i32,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

impl ExitInfo {
    /// The name of the signal that ended it, such as `SIGSEGV`.
    pub fn signal_name(self) -> Option<String> {
        self.signal.map(signal_name)
    }
}

/// `exit code 139 (SIGSEGV)`, for messages.
impl std::fmt::Display for ExitInfo {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&describe_exit(self.code.into(), self.signal_name().as_deref()))
    }
}

const SIGNALS: [(Signal, &str); 31] = [
    (Signal::HUP, "SIGHUP"),
    (Signal::INT, "SIGINT"),
    (Signal::QUIT, "SIGQUIT"),
    (Signal::ILL, "SIGILL"),
    (Signal::TRAP, "SIGTRAP"),
    (Signal::ABORT, "SIGABRT"),
    (Signal::BUS, "SIGBUS"),
    (Signal::FPE, "SIGFPE"),
    (Signal::KILL, "SIGKILL"),
    (Signal::USR1, "SIGUSR1"),
    (Signal::SEGV, "SIGSEGV"),
    (Signal::USR2, "SIGUSR2"),
    (Signal::PIPE, "SIGPIPE"),
    (Signal::ALARM, "SIGALRM"),
    (Signal::TERM, "SIGTERM"),
    (Signal::STKFLT, "SIGSTKFLT"),
    (Signal::CHILD, "SIGCHLD"),
    (Signal::CONT, "SIGCONT"),
    (Signal::STOP, "SIGSTOP"),
    (Signal::TSTP, "SIGTSTP"),
    (Signal::TTIN, "SIGTTIN"),
    (Signal::TTOU, "SIGTTOU"),
    (Signal::URG, "SIGURG"),
    (Signal::XCPU, "SIGXCPU"),
    (Signal::XFSZ, "SIGXFSZ"),
    (Signal::VTALARM, "SIGVTALRM"),
    (Signal::PROF, "SIGPROF"),
    (Signal::WINCH, "SIGWINCH"),
    (Signal::IO, "SIGIO"),
    (Signal::POWER, "SIGPWR"),
    (Signal::SYS, "SIGSYS"),
];

/// The number of `SIGRTMIN` in C programs: the C library keeps the real-time signals below it.
const FIRST_REAL_TIME: i32 = 34;

/// The name of a signal by its number, such as `SIGSEGV` or `SIGRTMIN+2`.
pub fn signal_name(number: i32) -> String {
    let known = SIGNALS.iter().find(|(signal, _)| signal.as_raw() == number);
    match (known, number) {
        (Some((_, name)), _) => (*name).to_owned(),
        (None, FIRST_REAL_TIME) => "SIGRTMIN".to_owned(),
        (None, FIRST_REAL_TIME..=64) => format!("SIGRTMIN+{}", number - FIRST_REAL_TIME),
        (None, _) => format!("signal {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_has_the_name_that_people_know() {
        for (number, name) in [
            (1, "SIGHUP"),
            (9, "SIGKILL"),
            (11, "SIGSEGV"),
            (15, "SIGTERM"),
            (31, "SIGSYS"),
            (34, "SIGRTMIN"),
            (36, "SIGRTMIN+2"),
            (33, "signal 33"),
            (0, "signal 0"),
        ] {
            assert_eq!(signal_name(number), name);
        }
        assert_eq!(ExitInfo { code: 139, signal: Some(11) }.signal_name().as_deref(), Some("SIGSEGV"));
        assert_eq!(ExitInfo { code: 139, signal: None }.signal_name(), None);
        assert_eq!(ExitInfo { code: 139, signal: Some(11) }.to_string(), "exit code 139 (SIGSEGV)");
    }
}
