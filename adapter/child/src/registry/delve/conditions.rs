//! Conditions of breakpoints that Delve evaluates: those that fail, and those in which it crashes.
//!
//! Not here: failures of other requests ([`super`]).

use tandem_engine::FailedCondition;
use tandem_engine::condition_language::ConditionLanguage;
use tandem_wire::Failure;
use tandem_wire::types::{DapThread, StoppedEventBody};

use super::Delve;
use crate::profile::ConditionProfile;

/// The beginning of a stop's text where a condition fails.
const CONDITION_ERROR: &str = "error evaluating expression: ";

/// The beginning of the failure of a request in which Delve crashed.
pub(super) const CRASH: &str = "Internal Error: ";

/// The usual reason of such a crash.
pub(super) const CRASH_CAUSE: &str = "a Delve that is older than the program's Go cannot read its maps, nor \
    the variables of a frame that has one";

impl ConditionProfile for Delve {
    fn condition_language(&self) -> ConditionLanguage {
        ConditionLanguage::NATIVE
    }

    fn refuses_conditions(&self) -> bool {
        true
    }

    fn failure_in_stop(&self, stop: &mut StoppedEventBody) -> Option<FailedCondition> {
        let text = stop.text.as_ref().filter(|text| text.starts_with(CONDITION_ERROR));
        let reason = text.filter(|_| stop.reason == "exception")?.clone();
        stop.reason = "breakpoint".into();
        Some(FailedCondition { reason, ..FailedCondition::default() })
    }

    fn stop_in_late_failure(&self, failure: &Failure) -> Option<StoppedEventBody> {
        let reason = failure.message.strip_prefix(CRASH)?;
        let text = format!("{CONDITION_ERROR}{reason}; {CRASH_CAUSE}");
        Some(StoppedEventBody {
            text: Some(text),
            all_threads_stopped: Some(true),
            ..StoppedEventBody::because("exception")
        })
    }

    /// Goroutines without a thread of the system did not run; Delve names the thread of the others.
    fn thread_of_late_stop(&self, threads: &[DapThread]) -> Option<i64> {
        let running = threads.iter().find(|thread| thread.name.contains("(Thread "));
        running.or(threads.first()).map(|thread| thread.id)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tandem_wire::{ErrorCode, types};

    use super::*;

    #[test]
    fn a_condition_that_fails_is_a_stop_at_its_breakpoint() {
        let mut stop = types::read(&json!({ "reason": "exception", "threadId": 1,
            "text": "error evaluating expression: could not find symbol value for x" }));
        let failed = Delve.failure_in_stop(&mut stop);
        assert_eq!(failed.map(|failed| failed.condition), Some(None));
        assert_eq!(stop.reason, "breakpoint");
        let crash = "Internal Error: runtime error: nil pointer dereference";
        let mut stop = Delve.stop_in_late_failure(&Failure::new(ErrorCode::EngineFailed, crash)).unwrap();
        let failed = Delve.failure_in_stop(&mut stop);
        assert!(failed.is_some_and(|failed| failed.reason.contains("dereference; a Delve that is older")));
        assert_eq!(stop.reason, "breakpoint");
        let other = Failure::new(ErrorCode::EngineFailed, "unable to halt");
        assert_eq!(Delve.stop_in_late_failure(&other), None);
        let thread = |id, name: &str| DapThread { id, name: name.into(), ..DapThread::default() };
        let threads = [thread(1, "* [Go 1] main.main"), thread(7, "[Go 7] main.work (Thread 42)")];
        assert_eq!(Delve.thread_of_late_stop(&threads), Some(7));
        assert_eq!(Delve.thread_of_late_stop(&threads[..1]), Some(1));
        let mut panic = types::read(&json!({ "reason": "exception", "text": "index out of range" }));
        assert_eq!(Delve.failure_in_stop(&mut panic), None);
    }
}
