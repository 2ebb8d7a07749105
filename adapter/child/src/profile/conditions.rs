//! The part of an adapter's profile that is about the conditions of breakpoints: their language, and how the
//! adapter reports one that fails. [`crate::session`] acts on it. Not here: the other differences from DAP
//! ([`super::Profile`]).

use std::process::Command;

use tandem_wire::Failure;
use tandem_wire::types::{DapThread, StoppedEventBody};

use crate::target::Target;
use tandem_engine::FailedCondition;
use tandem_engine::condition_language::ConditionLanguage;

/// The conditions of breakpoints with one adapter; the defaults describe one that follows DAP.
pub(crate) trait ConditionProfile: Send + Sync {
    /// The language in which it evaluates conditions.
    fn condition_language(&self) -> ConditionLanguage {
        ConditionLanguage::OTHER
    }

    /// Whether its `hitCondition` has the usual meaning: `5` for only the fifth hit, `> 5`, `>= 5`, `% 5`.
    /// If not, the hub counts.
    fn counts_hits(&self) -> bool {
        true
    }

    /// Whether it may have hit conditions that only it understands.
    fn has_own_hit_conditions(&self) -> bool {
        false
    }

    /// A short command that runs no code of the program and prints the error in the text of a condition, or
    /// nothing if it is valid; for adapters that do not report such errors. Building it may read files.
    fn syntax_check(&self, _target: &Target, _condition: &str) -> Option<Command> {
        None
    }

    /// A breakpoint's condition as the adapter gets it. For an adapter that treats a failing condition as
    /// false, an expression that is also true when the condition fails; for one that does not find every
    /// name, an expression in which it finds them.
    fn guarded_condition(&self, condition: &str) -> String {
        condition.to_owned()
    }

    /// Whether it compiles a condition, in a program that rustc compiled or in another one. If not, it stops
    /// each time, and the hub has the condition evaluated as any other expression.
    fn compiles_condition(&self, _condition: &str, _is_rust: bool) -> bool {
        true
    }

    /// An expression, evaluated at a stop, for the reason why a guarded condition failed; an empty
    /// string if it did not fail.
    fn failure_query(&self) -> Option<&'static str> {
        None
    }

    /// The condition that failed, if it is known, and the reason, if the adapter reports a
    /// failure in this output.
    fn failed_condition_in(&self, _output: &str) -> Option<FailedCondition> {
        None
    }

    /// Whether it refuses a breakpoint whose condition it cannot parse.
    fn refuses_conditions(&self) -> bool {
        false
    }

    /// Whether it stops where a condition fails without an earlier report: then the condition is evaluated
    /// again at each of its stops.
    fn rechecks_conditions(&self) -> bool {
        false
    }

    /// The condition that failed, if this `stopped` event reports that; corrects the event.
    fn failure_in_stop(&self, _stop: &mut StoppedEventBody) -> Option<FailedCondition> {
        None
    }

    /// The stop that the adapter has not reported, for one that crashes in a condition: it then sends this
    /// failure for a request that it has answered, and keeps the program stopped.
    fn stop_in_late_failure(&self, _failure: &Failure) -> Option<StoppedEventBody> {
        None
    }

    /// The thread that such a stop names, among those that the adapter lists.
    fn thread_of_late_stop(&self, threads: &[DapThread]) -> Option<i64> {
        threads.first().map(|thread| thread.id)
    }
}
