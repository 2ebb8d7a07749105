//! Ends a program that hangs after a stack overflow.
//!
//! The runtime prints the stack and ends the program. But .NET 5 and later hang under a debugger: the signal
//! handler's stack is too small to notify the debugger, it overflows in turn, and its thread sleeps for ever
//! in the handler. Such a runtime answers no request. So Tandem kills the program.

use std::path::Path;
use std::time::Duration;

use tandem_process::Broker;

/// The beginning of the runtime's message.
const SAID: &[u8] = b"Stack overflow.\n";
/// Pause between two checks of a program whose output is not visible.
const BLIND_CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// Pause between two checks of a program that is in such a handler, or has printed the message, and how many
/// checks must find it there.
const CHECK_INTERVAL: Duration = Duration::from_millis(400);
const MIN_CHECKS: u32 = 4;
/// x86-64 system calls: `nanosleep`, `clock_nanosleep`.
const SLEEPING_CALLS: [&str; 2] = ["35", "230"];
/// SIGSEGV in a set of signals: 11 (signal(7)), counted from bit 0.
const SEGMENTATION_FAULT: u64 = 1 << 10;

/// Watches the program until it ends; `note` is for people. Output in a client's terminal is not visible:
/// there the program is checked from time to time.
pub(super) fn watch(broker: &Broker, pid: u32, in_terminal: bool, note: impl Fn(&str) + Send + 'static) {
    let own = broker.clone();
    broker.runtime().spawn(async move {
        if !in_terminal && !own.prints_error(SAID).await {
            return;
        }
        let mut found = 0;
        while found < MIN_CHECKS {
            tokio::time::sleep(if in_terminal && found == 0 { BLIND_CHECK_INTERVAL } else { CHECK_INTERVAL })
                .await;
            if own.has_ended() {
                return;
            }
            // Printing a deep stack takes time, and other overflowing threads wait for it in the same way.
            found = if has_thread_in_handler(pid) { found + 1 } else { 0 };
        }
        let place = if in_terminal { "in its terminal" } else { "on stderr" };
        note(&format!(
            "The program overflowed its stack (the stack is {place}). Its runtime hangs there when a \
                debugger is \
             attached, so it was ended.",
        ));
        // Nothing else ends it: its handlers of other signals no longer run.
        own.kill();
    });
}

fn has_thread_in_handler(pid: u32) -> bool {
    let tasks = std::fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task"));
    tasks.into_iter().flatten().flatten().any(|task| sleeps_in_handler(&task.path()))
}

/// Whether a thread sleeps in its handler of SIGSEGV, which blocks that signal; no other code does. `task` is
/// its folder in proc(5).
pub(super) fn sleeps_in_handler(task: &Path) -> bool {
    let status = std::fs::read_to_string(task.join("status")).unwrap_or_default();
    let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    let blocked = blocked.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
    if blocked & SEGMENTATION_FAULT == 0 {
        return false;
    }
    let call = std::fs::read_to_string(task.join("syscall")).unwrap_or_default();
    call.split_ascii_whitespace().next().is_some_and(|number| SLEEPING_CALLS.contains(&number))
}
