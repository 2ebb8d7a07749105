//! Whether code of the program may run for an evaluation: limits of the request, and what earlier calls and
//! new threads have left. Runs nothing ([`super::calls`]).

pub(super) mod first_calls;
pub(super) mod stuck_calls;

use std::time::Duration;

use tandem_wire::{ErrorCode, Failure};

use first_calls::FirstCalls;
use stuck_calls::StuckCalls;

/// Time limit of a call that a client requested.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit of a call that only improves how a row looks.
pub(super) const DISPLAY_TIMEOUT: Duration = Duration::from_millis(400);

/// The location and the conditions under which code of the program may run.
#[derive(Clone, Copy)]
pub(super) struct EvalContext {
    pub(super) thread: u32,
    /// The frame whose names are visible, counted from the top.
    pub(super) frame: usize,
    /// Whether code of the program may run: an evaluation for a hover must not change anything.
    pub(super) runs: bool,
    pub(super) limit: Duration,
}

/// Calls of the program's code: whether they are allowed, and earlier ones that are still running.
#[derive(Default)]
pub(super) struct FuncEval {
    /// The current request may run no code of the program.
    pub(super) is_look_only: bool,
    /// Calls that could not be ended.
    pub(super) stuck: StuckCalls,
    /// Threads of the program that have not begun.
    pub(super) first_calls: FirstCalls,
}

impl FuncEval {
    /// Why nothing may run there, if so.
    pub(super) fn refusal(&self, site: &EvalContext, what: &str) -> Option<Failure> {
        if self.is_look_only {
            let message = format!(
                "`{what}` runs code of the program, and agents may only look (`agentAccess` is `readOnly`)"
            );
            return Some(Failure::new(ErrorCode::AccessDenied, message).quiet());
        }
        if !site.runs {
            let message = format!("`{what}` runs code of the program, which hovering does not do");
            let failure = Failure::new(ErrorCode::EvaluationFailed, message);
            return Some(failure.hint("evaluate it in the console or as a watch").quiet());
        }
        self.stuck.refusal(site.thread, what)
    }
}
