//! Refuses requests that do not fit the state of the program: it is running, or has ended, maybe while the
//! request was answered.

use crate::debuggee::ClrDebuggee;
use tandem_wire::command::needs_stop;
use tandem_wire::{ErrorCode, Failure};

use super::debuggee::RunState;

impl ClrDebuggee {
    /// Whether a request can be answered in the program's current state. While it runs, requests that need a
    /// stop are refused, even if the program has stopped already: that stop was not handled yet, and the
    /// request would skip it.
    pub(super) fn check_run(&self, command: &str) -> Result<(), Failure> {
        let has_died =
            || self.end.is_noticed || self.child.as_ref().is_some_and(|child| child.exited().is_some());
        if self.run != RunState::None && has_died() {
            return Err(Failure::new(ErrorCode::NoSession, "the program has ended").quiet());
        }
        if !self.no_debug && self.run == RunState::Running && needs_stop(command) {
            let message = format!("`{command}` needs a stopped program; it runs");
            return Err(Failure::new(ErrorCode::NotStopped, message).hint("wait for the next stop").quiet());
        }
        Ok(())
    }

    /// The failure of a request, or the fact that the program has ended in the meantime, which is then the
    /// reason: the debugging library only knows that it could not read something.
    pub(super) fn unless_ended(&self, command: &str, failure: Failure) -> Failure {
        let is_debugged = !self.no_debug && !matches!(self.run, RunState::None | RunState::Over);
        // An evaluation that has noticed the end reports it itself.
        let ended =
            || is_debugged && !self.end.is_noticed && self.pid.is_some_and(cordebug::liveness::is_ending);
        if failure.code == ErrorCode::Cancelled || !ended() {
            return failure;
        }
        tracing::debug!(command, %failure, "the program has ended");
        Failure::new(ErrorCode::NoSession, format!("the program ended before `{command}` was answered"))
            .quiet()
    }
}
