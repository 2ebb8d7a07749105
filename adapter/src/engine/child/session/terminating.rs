//! `terminate`: how a program is asked to end. How long it may take is the hub's to know; how it is ended is [`super::ending`]'s.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dap_wire::Failure;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::super::debuggee::Debuggee;
use super::super::profile::ProgramIo;
use super::{Live, Session};
use crate::engine::HEARS_WHEN_IT_RUNS;

/// How long the program's process may take to be known, of one that has just been started.
const KNOWN_LIMIT: Duration = Duration::from_secs(2);
/// How long a thread that goes on may take to get out of a debugger that is in the program.
const OUTSIDE: Duration = Duration::from_millis(50);
/// How often the signal waits for that, in a program that stops again and again.
const MOST_TRIES: u32 = 20;

impl Session {
    /// Asks the program to end: with SIGTERM where its process is known and its adapter does nothing gentler, else by the
    /// adapter. Without either it is ended.
    pub(super) async fn ask_to_end(self: Arc<Self>, stands: bool) -> Result<Value, Failure> {
        let cancel = CancellationToken::new();
        let gentle = self.live().as_ref().is_some_and(|live| self.profile.ends_gently(&live.plan.arguments));
        if gentle && self.can("supportsTerminateRequest") {
            self.wake_program();
            return self.ask("terminate", json!({}), &cancel).await.map(|_| Value::Null);
        }
        self.reached(KNOWN_LIMIT, |now| now.process || now.ending || now.over).await;
        let Some(process) = self.program_itself() else {
            self.end_program().await;
            return Ok(Value::Null);
        };
        if let Some(command) = self.profile.lets_signal_pass() {
            let asked = json!({ "expression": command, "context": "repl" });
            if let Err(failure) = self.ask("evaluate", asked, &cancel).await {
                // gdb takes no command while the program runs.
                tracing::debug!(%failure, command, "the adapter may stop at the signal");
                self.stops_at_signal.store(true, Ordering::Relaxed);
            }
        }
        if stands && self.profile.is_in_the_program() && process.handles(Signal::TERM) {
            self.owed_signals.store(MOST_TRIES, Ordering::Relaxed);
        } else {
            process.signal(Signal::TERM);
        }
        self.wake_program();
        Ok(json!({ HEARS_WHEN_IT_RUNS: true }))
    }

    /// The program goes on: sends the signal that asks it to end, if it is still to be sent, once no thread is in the debugger
    /// any more. The program's own handler would run there, and what it throws would go nowhere.
    pub(super) fn send_owed_signal(self: &Arc<Self>) {
        if self.owed_signals.load(Ordering::Relaxed) == 0 {
            return;
        }
        let (session, stops) = (self.clone(), self.progress.borrow().stops);
        tokio::spawn(async move {
            let again = session.reached(OUTSIDE, |now| now.stops != stops || now.over).await;
            let owed = session.owed_signals.swap(0, Ordering::Relaxed);
            if again && owed > 1 {
                session.owed_signals.store(owed - 1, Ordering::Relaxed);
            } else if owed > 0
                && let Some(process) = session.program_itself()
            {
                process.signal(Signal::TERM);
            }
        });
    }

    /// Whether this stop is only the adapter's at the signal that asks the program to end, which it passes on when the program
    /// is resumed: that is seen to.
    pub(super) fn passes_signal(self: &Arc<Self>, stop: &Value) -> bool {
        if stop["reason"] != "signal" || !self.stops_at_signal.swap(false, Ordering::Relaxed) {
            return false;
        }
        let (session, stop) = (self.clone(), stop.clone());
        tokio::spawn(async move {
            let thread = json!({ "threadId": stop["threadId"] });
            if let Err(failure) = session.ask("continue", thread, &CancellationToken::new()).await {
                tracing::debug!(%failure, "the program stands at the signal that asks it to end");
                session.stopped(stop);
            }
        });
        true
    }

    fn program_itself(&self) -> Option<Debuggee> {
        self.live().as_ref().and_then(Live::program_itself)
    }
}

impl Live {
    /// The program's process, not what has started it or debugs it.
    fn program_itself(&self) -> Option<Debuggee> {
        let quirks = &self.plan.quirks;
        let program = self.program.as_ref().filter(|_| !quirks.has_launcher);
        let inherited = || {
            let own = self.plan.program_io == ProgramIo::Inherited && !quirks.code_is_told;
            own.then(|| self.connection.process.child()).flatten()
        };
        let child = || program.or_else(inherited).filter(|child| child.exited().is_none());
        let known = self.debuggee.clone().filter(Debuggee::is_there);
        known.or_else(|| Debuggee::of(child()?.pid()))
    }
}
