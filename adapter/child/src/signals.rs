//! The treatment of the program's signals by native debuggers, in one table: a signal that others send goes
//! to the program, and does not stop it. A signal that the program causes stops it, and is then delivered. A
//! stop at a signal has one description for all debuggers.
//!
//! Only for debuggers that hold the program (gdb, lldb). Those inside the program (Python, Ruby, Node, Bash,
//! .NET) leave its handlers alone, and Delve passes signals on by itself. Go turns SIGSEGV into a panic,
//! which Delve reports.

use SignalRule::{Debugger, Pass, Stop};
use tandem_wire::types::{ExceptionInfoResponseBody, StackFrame, StackTraceResponseBody, StoppedEventBody};

/// The treatment of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SignalRule {
    /// Others send it: a terminal, a timer, a process. It goes to the program.
    Pass,
    /// The program did something wrong. It is stopped, and resuming it delivers the signal.
    Stop,
    /// It belongs to the debugger or the kernel; debuggers know by themselves what to do.
    Debugger,
}

/// Every signal of Linux and macOS but those for real time, which are [`SignalRule::Pass`].
const RULES: [(&str, SignalRule); 31] = [
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

/// The numbers of the real-time signals that a program may use. lldb never stops at them.
const REAL_TIME: std::ops::RangeInclusive<u32> = 34..=64;

/// The signal with which gdb stops its program when a client pauses it.
const GDB_PAUSE: &str = "SIGINT";

/// gdb would deliver it when the program is resumed, and then stop once more at the same place. lldb does not
/// deliver it.
const GDB_SUSPENSION: &str = "SIGSTOP stop print nopass";

/// gdb's `stopped` does not name the signal. gdb pauses with a SIGINT like any other, which must not reach
/// the program: the sender distinguishes it.
const GDB_STOPS: &str = r#"python exec("""
def tandem():
    import gdb, gdb.dap.events, os, signal
    name = [None]
    place = [None]
    def stopped(event):
        name[0] = event.stop_signal if isinstance(event, gdb.SignalEvent) else None
        place[0] = None
        if name[0] in ('SIGSEGV', 'SIGBUS'):
            try:
                place[0] = int(gdb.parse_and_eval('$_siginfo._sifields._sigfault.si_addr'))
            except gdb.error:
                pass
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
    # A core is attached to; the signal that ended the program is in it.
    def signal_of_core():
        connection = gdb.selected_inferior().connection
        if connection is None or connection.type != 'core':
            return None
        try:
            return signal.Signals(int(gdb.parse_and_eval('$_siginfo.si_signo'))).name
        except (gdb.error, ValueError):
            return None
    send = gdb.dap.events.send_event
    def send_event(event, body=None):
        if event == 'stopped' and body and body.get('reason') == 'attach':
            name[0], place[0] = signal_of_core(), None
            body['reason'] = 'signal' if name[0] else 'attach'
        if event == 'stopped' and name[0] and body and body.get('reason') == 'signal':
            body['description'] = 'signal ' + name[0]
            if place[0] is not None:
                body['description'] += ' (fault address: ' + hex(place[0]) + ')'
            body['text'] = body['description']
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
    let rules = [
        format!("{} nostop noprint pass", others.join(" ")),
        format!("{} nostop noprint pass", real_time.join(" ")),
        format!("{GDB_PAUSE} stop print pass"),
        GDB_SUSPENSION.to_owned(),
        format!("{} stop print pass", faults.join(" ")),
    ];
    // `handle` prints a table of the signals, which users did not ask for.
    let quiet = |rule: String| format!("python gdb.execute('handle {rule}', to_string=True)");
    rules.into_iter().map(quiet).chain([GDB_STOPS.replace('\n', "\\n")]).collect()
}

/// Commands for lldb-dap's `initCommands`.
pub(super) fn for_lldb() -> [String; 2] {
    [(Pass, false), (Stop, true)].map(|(rule, stops)| {
        let names: Vec<_> = names(rule).collect();
        format!("?process handle --pass true --stop {stops} --notify {stops} {}", names.join(" "))
    })
}

/// Functions that Go's runtime calls at a fault of the program, with the message: an older Delve cannot read
/// the message in a program of a newer Go.
const GO_FAULTS: [(&str, &str); 3] = [
    ("runtime.panicmem", "runtime error: invalid memory address or nil pointer dereference"),
    ("runtime.panicmemAddr", "runtime error: invalid memory address or nil pointer dereference"),
    ("runtime.panicdivide", "runtime error: integer divide by zero"),
];

/// How many frames of Go's runtime are above the code that panicked.
pub(super) const GO_FAULT_FRAMES: usize = 6;

/// The message of a panic without one, by the frames above it.
pub(super) fn go_fault(stack: &StackTraceResponseBody) -> Option<&'static str> {
    let known = |frame: &StackFrame| GO_FAULTS.iter().find(|(name, _)| frame.name == *name);
    stack.stack_frames.iter().find_map(known).map(|(_, message)| *message)
}

/// The words of debuggers that report a signal without its name.
const UNNAMED: [(&str, &str); 2] = [
    // Delve: Go's own message for a panic that the signal caused.
    ("runtime error: invalid memory address or nil pointer dereference", "SIGSEGV"),
    // Delve, of a thread that the system stopped.
    ("bad access", "SIGSEGV"),
];

/// Describes a stop at a signal in the one way that clients get: `signal` is its name; the reason is
/// `exception` if the program caused the signal, else `signal`; both texts name it. Returns what
/// `exceptionInfo` says of it.
pub(super) fn describe(stop: &mut StoppedEventBody) -> Option<ExceptionInfoResponseBody> {
    if !matches!(stop.reason.as_str(), "signal" | "exception") {
        return None;
    }
    let texts: Vec<String> = [&stop.text, &stop.description].into_iter().flatten().cloned().collect();
    let name = texts.iter().find_map(|text| name_in(text))?.to_owned();
    // The longer one has more details, such as the address.
    let text = texts.into_iter().max_by_key(String::len)?;
    let is_fault = RULES.iter().any(|(of, rule)| *of == name && *rule == Stop);
    stop.reason = if is_fault { "exception" } else { "signal" }.into();
    for shown in [&mut stop.description, &mut stop.text] {
        shown.get_or_insert_with(|| text.clone());
    }
    stop.rest.insert("signal".into(), name.clone().into());
    Some(ExceptionInfoResponseBody {
        exception_id: name,
        description: Some(text),
        break_mode: "always".into(),
        ..ExceptionInfoResponseBody::default()
    })
}

/// The signal that a debugger's text is about. Texts of the program, which may name signals, are not.
fn name_in(text: &str) -> Option<&str> {
    if let Some((_, name)) = UNNAMED.iter().find(|(words, _)| text.trim_matches('"').starts_with(words)) {
        return Some(name);
    }
    // Go's runtime writes it in brackets, below its own message.
    let below = text.split_once("[signal ").map(|(_, name)| name);
    let name = text.strip_prefix("signal ").or(below)?;
    let name = name.split(|after: char| !after.is_ascii_alphanumeric() && after != '+').next()?;
    name.starts_with("SIG").then_some(name)
}

fn names(rule: SignalRule) -> impl Iterator<Item = &'static str> {
    RULES.into_iter().filter(move |(_, of)| *of == rule).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tandem_wire::types;

    use super::*;

    #[test]
    fn a_stop_at_a_signal_names_it_whatever_the_debugger_says() {
        let stop = |reason: &str, description: Value, text: Value| {
            let body = json!({ "reason": reason, "description": description, "text": text });
            let mut stop: StoppedEventBody = types::read(&body);
            let info = describe(&mut stop);
            let body = types::body(&stop);
            assert_eq!(info.is_some(), body["signal"].is_string(), "{body}");
            assert!(info.is_none_or(|info| info.exception_id == body["signal"]), "{body}");
            assert!(body["signal"].is_null() || body["description"].is_string() && body["text"].is_string());
            (body["reason"].as_str().unwrap().to_owned(), body["signal"].as_str().map(str::to_owned))
        };
        let nil = "runtime error: invalid memory address or nil pointer dereference";
        let trace = "fatal error: unexpected signal during runtime execution\n\
            [signal SIGBUS: bus error code=0x2 addr=0x0 pc=0x1]";
        let mapped = "signal SIGSEGV: address not mapped to object (fault address: 0x0)";
        let none = Value::Null;
        for (reason, description, text, expected) in [
            // lldb-dap 19 and 22.
            ("exception", json!(mapped), none.clone(), ("exception", Some("SIGSEGV"))),
            ("exception", json!(mapped), json!(mapped), ("exception", Some("SIGSEGV"))),
            (
                "exception",
                json!("signal SIGFPE: integer divide by zero"),
                none.clone(),
                ("exception", Some("SIGFPE")),
            ),
            ("exception", json!("signal SIGABRT"), none.clone(), ("exception", Some("SIGABRT"))),
            ("exception", json!("signal SIGINT"), none.clone(), ("signal", Some("SIGINT"))),
            ("exception", json!("signal SIGRTMIN+2"), none.clone(), ("signal", Some("SIGRTMIN+2"))),
            ("exception", json!("Exception 0xc0000005 encountered"), none.clone(), ("exception", None)),
            // gdb, with what is added to it here.
            (
                "signal",
                json!("signal SIGSEGV (fault address: 0x0)"),
                json!("signal SIGSEGV"),
                ("exception", Some("SIGSEGV")),
            ),
            ("signal", json!("signal SIGINT"), json!("signal SIGINT"), ("signal", Some("SIGINT"))),
            ("signal", json!("signal SIG34"), json!("signal SIG34"), ("signal", Some("SIG34"))),
            ("signal", none.clone(), none.clone(), ("signal", None)),
            // Delve.
            ("exception", json!("panic"), json!(nil), ("exception", Some("SIGSEGV"))),
            ("exception", json!("panic"), json!(format!("\"{nil}\"")), ("exception", Some("SIGSEGV"))),
            ("exception", json!("fatal error"), json!(trace), ("exception", Some("SIGBUS"))),
            ("exception", json!("bad access"), none.clone(), ("exception", Some("SIGSEGV"))),
            ("exception", json!("panic"), json!("the child got signal SIGTERM"), ("exception", None)),
            // Not at a signal.
            ("pause", json!("signal SIGSTOP"), none.clone(), ("pause", None)),
            ("breakpoint", json!("breakpoint 1.1"), json!("signal SIGSEGV"), ("breakpoint", None)),
        ] {
            let (as_reason, signal) = stop(reason, description.clone(), text.clone());
            assert_eq!((as_reason.as_str(), signal.as_deref()), expected, "{reason} {description} {text}");
        }
    }

    #[test]
    fn the_frames_of_a_panic_name_its_message() {
        let fault = |name: &str| {
            let stack = json!({ "stackFrames": [{ "name": "runtime.gopanic" }, { "name": name }] });
            go_fault(&types::read(&stack))
        };
        assert_eq!(name_in(fault("runtime.panicmem").unwrap()), Some("SIGSEGV"));
        assert_eq!(name_in(fault("runtime.panicdivide").unwrap()), None);
        assert_eq!(fault("main.panicmem"), None);
        assert_eq!(go_fault(&StackTraceResponseBody::default()), None);
    }

    #[test]
    fn each_signal_has_one_rule_and_each_debugger_the_same() {
        let mut known: Vec<&str> = RULES.iter().map(|(name, _)| *name).collect();
        known.sort_unstable();
        known.dedup();
        assert_eq!(known.len(), RULES.len());
        let rule = |name: &str| RULES.iter().find(|(of, _)| *of == name).map(|(_, rule)| *rule);
        let gdb = |name: &str| {
            // What gdb prints about it stays there.
            let rule = |line: &str| {
                let rule = line.strip_prefix("python gdb.execute('handle ")?;
                rule.strip_suffix("', to_string=True)").map(str::to_owned)
            };
            let mut rules = for_gdb().into_iter().filter_map(|line| rule(&line));
            rules.find(|rule| rule.split(' ').any(|word| word == name))
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
                Some(Debugger) | None => {
                    let expected = if name == "SIGSTOP" { GDB_SUSPENSION } else { "" };
                    assert_eq!((gdb.as_str(), lldb.as_str()), (expected, ""), "{name}");
                }
            }
        }
        for (name, expected) in [("SIGINT", Pass), ("SIGTERM", Pass), ("SIGWINCH", Pass), ("SIGSEGV", Stop)] {
            assert_eq!(rule(name), Some(expected));
        }
    }
}
