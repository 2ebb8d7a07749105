//! What native debuggers do with the program's signals, in one table: a signal that others send goes to the program, and does not stop it.
//! A signal that the program causes stops it, and then goes to it.
//!
//! Only for debuggers that hold the program (gdb, lldb). Those inside the program (Python, Ruby, Node, Bash, .NET) leave its handlers alone,
//! and Delve passes signals on by itself.

use Rule::{Debugger, Pass, Stop};

/// What happens to a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Others send it: a terminal, a timer, a process. It goes to the program.
    Pass,
    /// The program did something wrong. It is stopped, and resuming it delivers the signal.
    Stop,
    /// It belongs to the debugger or the kernel; debuggers know by themselves what to do.
    Debugger,
}

/// Every signal of Linux and macOS but those for real time, which are [`Rule::Pass`].
const RULES: [(&str, Rule); 31] = [
    ("SIGHUP", Pass),
    ("SIGINT", Pass),
    ("SIGQUIT", Pass),
    ("SIGILL", Stop),
    ("SIGTRAP", Debugger),
    ("SIGABRT", Stop),
    ("SIGBUS", Stop),
    ("SIGFPE", Stop),
    ("SIGKILL", Debugger),
    ("SIGUSR1", Pass),
    ("SIGSEGV", Stop),
    ("SIGUSR2", Pass),
    ("SIGPIPE", Pass),
    ("SIGALRM", Pass),
    ("SIGTERM", Pass),
    ("SIGSTKFLT", Stop),
    ("SIGCHLD", Pass),
    ("SIGCONT", Pass),
    ("SIGSTOP", Debugger),
    ("SIGTSTP", Pass),
    ("SIGTTIN", Pass),
    ("SIGTTOU", Pass),
    ("SIGURG", Pass),
    ("SIGXCPU", Pass),
    ("SIGXFSZ", Pass),
    ("SIGVTALRM", Pass),
    ("SIGPROF", Pass),
    ("SIGWINCH", Pass),
    ("SIGIO", Pass),
    ("SIGPWR", Pass),
    ("SIGSYS", Stop),
];

/// Those for real time that a program may use, by their numbers. lldb never stops at them.
const REAL_TIME: std::ops::RangeInclusive<u32> = 34..=64;

/// What stops gdb's program when a client pauses it.
const GDB_PAUSE: &str = "SIGINT";

/// gdb's `stopped` does not name the signal. A pause of its own is a SIGINT like any other, and must not reach the program: the sender shows
/// whose it is.
const GDB_STOPS: &str = r#"python exec("""
def tandem():
    import gdb, gdb.dap.events, os
    name = [None]
    def stopped(event):
        name[0] = event.stop_signal if isinstance(event, gdb.SignalEvent) else None
        if name[0] != 'SIGINT':
            return
        try:
            sender = int(gdb.parse_and_eval('$_siginfo._sifields._kill.si_pid'))
            if sender == os.getpid():
                gdb.execute('queue-signal 0', to_string=True)
        except gdb.error:
            pass
    # Before the handler that reports the stop.
    gdb.events.stop.disconnect(gdb.dap.events._on_stop)
    gdb.events.stop.connect(stopped)
    gdb.events.stop.connect(gdb.dap.events._on_stop)
    send = gdb.dap.events.send_event
    def send_event(event, body=None):
        if event == 'stopped' and name[0] and body and body.get('reason') == 'signal':
            body['description'] = body['text'] = 'signal ' + name[0]
        return send(event, body)
    gdb.dap.events.send_event = send_event
try:
    tandem()
except (AttributeError, ImportError):
    pass
del tandem
""")"#;

/// Commands for gdb's `-iex`.
pub(super) fn for_gdb() -> Vec<String> {
    let others: Vec<_> = names(Pass).filter(|name| *name != GDB_PAUSE).collect();
    let real_time: Vec<_> = REAL_TIME.map(|number| format!("SIG{number}")).collect();
    // gdb knows no SIGSTKFLT.
    let faults: Vec<_> = names(Stop).filter(|name| *name != "SIGSTKFLT").collect();
    vec![
        format!("handle {} nostop noprint pass", others.join(" ")),
        format!("handle {} nostop noprint pass", real_time.join(" ")),
        format!("handle {GDB_PAUSE} stop print pass"),
        format!("handle {} stop print pass", faults.join(" ")),
        GDB_STOPS.replace('\n', "\\n"),
    ]
}

/// Commands for lldb-dap's `initCommands`.
pub(super) fn for_lldb() -> [String; 2] {
    [(Pass, false), (Stop, true)].map(|(rule, stops)| {
        let names: Vec<_> = names(rule).collect();
        format!("?process handle --pass true --stop {stops} --notify {stops} {}", names.join(" "))
    })
}

fn names(rule: Rule) -> impl Iterator<Item = &'static str> {
    RULES.into_iter().filter(move |(_, of)| *of == rule).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_signal_has_one_rule_and_each_debugger_the_same() {
        let mut known: Vec<&str> = RULES.iter().map(|(name, _)| *name).collect();
        known.sort_unstable();
        known.dedup();
        assert_eq!(known.len(), RULES.len());
        let rule = |name: &str| RULES.iter().find(|(of, _)| *of == name).map(|(_, rule)| *rule);
        let gdb = |name: &str| {
            let mut lines = for_gdb().into_iter().filter(|line| line.starts_with("handle"));
            lines.find(|line| line.split(' ').any(|word| word == name))
        };
        let lldb = |name: &str| for_lldb().into_iter().find(|line| line.split(' ').any(|word| word == name));
        for name in known {
            let (gdb, lldb) = (gdb(name).unwrap_or_default(), lldb(name).unwrap_or_default());
            match rule(name) {
                Some(Pass) => {
                    assert!(lldb.contains("--pass true --stop false"), "{name}: {lldb}");
                    let stops = if name == GDB_PAUSE { " stop print pass" } else { " nostop noprint pass" };
                    assert!(gdb.ends_with(stops), "{name}: {gdb}");
                }
                Some(Stop) => {
                    assert!(lldb.contains("--pass true --stop true"), "{name}: {lldb}");
                    assert!(name == "SIGSTKFLT" || gdb.ends_with(" stop print pass"), "{name}: {gdb}");
                }
                Some(Debugger) | None => assert_eq!((gdb, lldb), (String::new(), String::new()), "{name}"),
            }
        }
        for (name, expected) in [("SIGINT", Pass), ("SIGTERM", Pass), ("SIGWINCH", Pass), ("SIGSEGV", Stop)] {
            assert_eq!(rule(name), Some(expected));
        }
    }
}
