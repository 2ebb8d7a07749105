//! `terminate`: the ways to ask a program to end. Not here: how long it may take (the hub), and killing it
//! ([`super::ending`]).

use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tandem_wire::{Failure, types};
use tokio_util::sync::CancellationToken;

use super::super::debuggee::DebuggeeProcess;
use super::super::launch_plan::ProgramIo;
use super::super::state::ChildEvent;
use super::{AdapterSession, LiveAdapter};
use tandem_engine::{EngineAnswer, TerminateMode};

/// How long the program's process may take to be known, of one that has just been started.
const PROCESS_KNOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a resumed thread may take to leave a debugger that runs inside the program.
const LEAVE_DEBUGGER_TIMEOUT: Duration = Duration::from_millis(50);

impl AdapterSession {
    /// Asks the program to end, or kills it.
    pub(super) async fn terminate(self: Arc<Self>, mode: TerminateMode) -> Result<EngineAnswer, Failure> {
        match mode {
            TerminateMode::Ask { is_stopped } => self.ask_to_end(is_stopped).await,
            TerminateMode::Force => {
                self.end_program().await;
                Ok(EngineAnswer::Body(Value::Null))
            }
        }
    }

    /// Asks the program to end: with SIGTERM where its process is known and its adapter does nothing gentler,
    /// else by the adapter. Without either it is ended.
    async fn ask_to_end(self: Arc<Self>, is_stopped: bool) -> Result<EngineAnswer, Failure> {
        let cancel = CancellationToken::new();
        let gentle = self.live().as_ref().is_some_and(|live| self.profile.ends_gently(&live.plan.arguments));
        if gentle && self.can("supportsTerminateRequest") {
            self.wake_program();
            return self
                .ask("terminate", types::empty(), &cancel)
                .await
                .map(|_| EngineAnswer::Body(Value::Null));
        }
        self.wait_for_state(PROCESS_KNOWN_TIMEOUT, |now| now.is_process_reported() || now.is_ending()).await;
        let Some(process) = self.program_itself() else {
            self.end_program().await;
            return Ok(EngineAnswer::Body(Value::Null));
        };
        if is_stopped && self.profile.is_in_the_program() && process.handles(Signal::TERM) {
            self.handle(ChildEvent::SignalOwed);
        } else {
            process.signal(Signal::TERM);
        }
        self.wake_program();
        Ok(EngineAnswer::SignalPending)
    }

    /// Waits until no thread of the program is in the debugger any more. The program's own handler of the
    /// signal would run there, and what it throws would go nowhere.
    pub(super) async fn wait_until_outside_debugger(self: Arc<Self>, stops: u64) {
        let again =
            self.wait_for_state(LEAVE_DEBUGGER_TIMEOUT, |now| now.stops() != stops || now.is_over()).await;
        self.handle(ChildEvent::LeftDebugger { again });
    }

    /// Asks the program to end.
    pub(super) fn signal_program(&self) {
        if let Some(process) = self.program_itself() {
            process.signal(Signal::TERM);
        }
    }

    fn program_itself(&self) -> Option<DebuggeeProcess> {
        self.live().as_ref().and_then(LiveAdapter::program_itself)
    }
}

impl LiveAdapter {
    /// The program's process, not what has started it or debugs it.
    pub(super) fn program_itself(&self) -> Option<DebuggeeProcess> {
        let quirks = &self.plan.quirks;
        let program = self.program.as_ref().filter(|_| !quirks.has_launcher);
        let inherited = || {
            let own = self.plan.program_io == ProgramIo::Inherited && !quirks.forwards_stdio;
            own.then(|| self.connection.process.child()).flatten()
        };
        let child = || program.or_else(inherited).filter(|child| child.exited().is_none());
        let known = self.debuggee.clone().filter(DebuggeeProcess::is_there);
        known.or_else(|| DebuggeeProcess::of(child()?.pid()))
    }
}
