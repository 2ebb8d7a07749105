//! A program that overflows its stack.
//!
//! The runtime prints the stack and ends the program. But .NET 5 and later, under a debugger, hang there: the handler's
//! own stack is too small for telling the debugger, it overflows in turn, and its thread sleeps for ever in the signal
//! handler. No request reaches such a runtime. So the program is ended for it.

use std::path::Path;
use std::time::Duration;

use crate::io::Broker;

/// What the runtime prints first.
const SAID: &[u8] = b"Stack overflow.\n";
/// Between two looks at a program that said it, and how many must find it asleep.
const PAUSE: Duration = Duration::from_millis(400);
const LOOKS: u32 = 4;
/// x86-64 system calls: `nanosleep`, `clock_nanosleep`. Managed code sleeps otherwise.
const SLEEPING_CALLS: [&str; 2] = ["35", "230"];

/// Watches the program until it ends; `note` is for people.
pub(super) fn watch(broker: &Broker, pid: u32, note: impl Fn(&str) + Send + 'static) {
    let own = broker.clone();
    broker.runtime().spawn(async move {
        if !own.prints_error(SAID).await {
            return;
        }
        let mut asleep = 0;
        while asleep < LOOKS {
            tokio::time::sleep(PAUSE).await;
            if own.has_ended() {
                return;
            }
            // Printing a deep stack takes its time; what only says these words does not sleep like this.
            asleep = if sleeps_in_handler(pid) { asleep + 1 } else { 0 };
        }
        note(
            "The program overflowed its stack (the stack is on stderr). Its runtime hangs there when a debugger is \
             attached, so it was ended.",
        );
        // Nothing else ends it: its handlers of other signals do not run any more.
        own.kill();
    });
}

fn sleeps_in_handler(pid: u32) -> bool {
    let tasks = std::fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task"));
    tasks.into_iter().flatten().flatten().any(|task| {
        let call = std::fs::read_to_string(task.path().join("syscall")).unwrap_or_default();
        call.split_ascii_whitespace().next().is_some_and(|number| SLEEPING_CALLS.contains(&number))
    })
}
