//! State machine that ends a call which takes too long or was cancelled. Decides only: the caller inspects
//! the program and acts on the decision.

use std::time::Duration;

/// How long a call may take to reach its method. It must not be aborted before.
const BEGIN_TIMEOUT: Duration = Duration::from_millis(500);
/// How long an aborted call may take to end.
const ABORT_TIMEOUT: Duration = Duration::from_secs(1);

/// State of a call. Times are counted from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EvalPhase {
    /// It runs within its time limit.
    Running,
    /// Its end was requested at `since`; it was not aborted yet.
    AbortPending { since: Duration },
    /// It was aborted at `since`; `rudely`: without running its handlers.
    Aborting { since: Duration, rudely: bool },
    /// It has ended, or was left on its thread.
    Over,
}

/// An event that can change the phase of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEvent {
    Completed,
    /// It ended with an exception.
    Threw,
    /// Time has passed; `is_wanted`: the call must end, because it took too long, was
    /// cancelled, or the session ends.
    Waited {
        is_wanted: bool,
    },
    /// Whether it is now at a point where it may be aborted.
    Inspected(AbortSafety),
    /// The runtime has accepted the abort.
    AbortTaken,
    /// The runtime has refused the abort.
    AbortRefused,
    /// It continues after an abort, because of this obstacle.
    AbortBlocked(Option<AbortObstacle>),
}

/// Whether a call may be aborted at its current point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AbortSafety {
    Safe,
    /// Its method has not begun.
    NotBegun,
    /// It waits again and again, on .NET Core.
    WaitsRepeatedly,
}

/// The obstacle that prevents an aborted call from ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AbortObstacle {
    Wait,
    StaticConstructor,
    /// It is inside .NET's libraries.
    FrameworkCode,
}

/// The next action of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallAction {
    Continue,
    TakeResult,
    TakeException,
    /// Report that it was aborted.
    ReportAborted,
    /// Check whether it may be aborted.
    Inspect,
    Abort,
    LookWhatKeepsIt,
    /// Last resort: the thread is unwound without its handlers.
    AbortRudely,
    /// Leave it on its thread.
    GiveUp(GiveUpReason),
}

/// Why a call is left on its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GiveUpReason {
    NotBegun,
    WaitsRepeatedly,
    Wait,
    StaticConstructor,
    FrameworkCode,
}

impl GiveUpReason {
    /// The reason, for people, after the description and duration of the call.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::NotBegun => {
                "and still runs: its method has not started, and .NET may end the program when such a call \
                    is aborted"
            }
            Self::WaitsRepeatedly => {
                "and still runs: it waits repeatedly, and .NET Core may end the program when such a call is \
                    aborted"
            }
            Self::Wait => "and cannot be aborted: the runtime does not end a wait",
            Self::StaticConstructor => "and cannot be aborted: the runtime does not end a static constructor",
            Self::FrameworkCode => {
                "and still runs: the first abort had no effect, and a second one inside .NET's libraries may \
                    end the program"
            }
        }
    }
}

impl EvalPhase {
    /// Whether its end has not been requested yet.
    pub(super) fn is_running(self) -> bool {
        self == Self::Running
    }

    /// Whether it was asked to abort.
    pub(super) fn is_aborting(self) -> bool {
        matches!(self, Self::Aborting { .. })
    }

    /// Handles an event at time `now`, and returns the next action.
    pub(super) fn next(&mut self, now: Duration, event: CallEvent) -> CallAction {
        let (next, action) = self.decide(now, event);
        *self = next;
        action
    }

    fn decide(self, now: Duration, event: CallEvent) -> (Self, CallAction) {
        let given_up = |why| (Self::Over, CallAction::GiveUp(why));
        match (self, event) {
            (Self::Aborting { .. }, CallEvent::Completed | CallEvent::Threw) => {
                (Self::Over, CallAction::ReportAborted)
            }
            (_, CallEvent::Completed) => (Self::Over, CallAction::TakeResult),
            (_, CallEvent::Threw) => (Self::Over, CallAction::TakeException),
            (Self::Running, CallEvent::Waited { is_wanted: true }) => {
                (Self::AbortPending { since: now }, CallAction::Inspect)
            }
            (Self::AbortPending { .. }, CallEvent::Waited { is_wanted: true }) => (self, CallAction::Inspect),
            (Self::Aborting { since, .. }, CallEvent::Waited { .. }) if now - since > ABORT_TIMEOUT => {
                (self, CallAction::LookWhatKeepsIt)
            }
            (Self::AbortPending { .. }, CallEvent::Inspected(AbortSafety::Safe)) => (self, CallAction::Abort),
            (Self::AbortPending { .. }, CallEvent::Inspected(AbortSafety::WaitsRepeatedly)) => {
                given_up(GiveUpReason::WaitsRepeatedly)
            }
            (
                Self::AbortPending { since },
                CallEvent::Inspected(AbortSafety::NotBegun) | CallEvent::AbortRefused,
            ) if now - since > BEGIN_TIMEOUT => given_up(GiveUpReason::NotBegun),
            (Self::AbortPending { .. }, CallEvent::AbortTaken) => {
                (Self::Aborting { since: now, rudely: false }, CallAction::Continue)
            }
            (Self::Aborting { .. }, CallEvent::AbortBlocked(Some(AbortObstacle::StaticConstructor))) => {
                given_up(GiveUpReason::StaticConstructor)
            }
            (Self::Aborting { .. }, CallEvent::AbortBlocked(Some(AbortObstacle::FrameworkCode))) => {
                given_up(GiveUpReason::FrameworkCode)
            }
            (Self::Aborting { .. }, CallEvent::AbortBlocked(Some(AbortObstacle::Wait)))
            | (Self::Aborting { rudely: true, .. }, CallEvent::AbortBlocked(None)) => {
                given_up(GiveUpReason::Wait)
            }
            (Self::Aborting { rudely: false, .. }, CallEvent::AbortBlocked(None)) => {
                (Self::Aborting { since: now, rudely: true }, CallAction::AbortRudely)
            }
            _ => (self, CallAction::Continue),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT_DELAY: Duration = Duration::from_millis(100);
    const LONG_DELAY: Duration = Duration::from_secs(5);
    const WANTED: CallEvent = CallEvent::Waited { is_wanted: true };

    /// Sends events, each with its time and the expected action.
    fn drive(steps: &[(Duration, CallEvent, CallAction)]) -> EvalPhase {
        let mut phase = EvalPhase::Running;
        for (at, (now, event, action)) in steps.iter().enumerate() {
            assert_eq!(phase.next(*now, *event), *action, "step {at}: {event:?}");
        }
        phase
    }

    #[test]
    fn call_that_ends_by_itself_returns_its_result_or_exception() {
        let going = (SHORT_DELAY, CallEvent::Waited { is_wanted: false }, CallAction::Continue);
        drive(&[going, (SHORT_DELAY, CallEvent::Completed, CallAction::TakeResult)]);
        drive(&[going, (SHORT_DELAY, CallEvent::Threw, CallAction::TakeException)]);
        // Its end was requested, and it has just ended by itself.
        drive(&[
            (LONG_DELAY, WANTED, CallAction::Inspect),
            (LONG_DELAY, CallEvent::Completed, CallAction::TakeResult),
        ]);
    }

    #[test]
    fn slow_call_is_aborted_then_rudely_then_given_up() {
        let later = LONG_DELAY + ABORT_TIMEOUT + SHORT_DELAY;
        let last = later + ABORT_TIMEOUT + SHORT_DELAY;
        let phase = drive(&[
            (LONG_DELAY, WANTED, CallAction::Inspect),
            (LONG_DELAY, CallEvent::Inspected(AbortSafety::Safe), CallAction::Abort),
            (LONG_DELAY, CallEvent::AbortTaken, CallAction::Continue),
            (LONG_DELAY + ABORT_TIMEOUT, WANTED, CallAction::Continue),
            (later, WANTED, CallAction::LookWhatKeepsIt),
            (later, CallEvent::AbortBlocked(None), CallAction::AbortRudely),
            (later + SHORT_DELAY, WANTED, CallAction::Continue),
            (last, WANTED, CallAction::LookWhatKeepsIt),
            (last, CallEvent::AbortBlocked(None), CallAction::GiveUp(GiveUpReason::Wait)),
        ]);
        assert_eq!(phase, EvalPhase::Over);
    }

    #[test]
    fn aborted_call_never_returns_its_result_or_exception() {
        let aborted = [
            (LONG_DELAY, WANTED, CallAction::Inspect),
            (LONG_DELAY, CallEvent::Inspected(AbortSafety::Safe), CallAction::Abort),
            (LONG_DELAY, CallEvent::AbortTaken, CallAction::Continue),
        ];
        for end in [CallEvent::Completed, CallEvent::Threw] {
            drive(&[aborted.as_slice(), &[(LONG_DELAY, end, CallAction::ReportAborted)]].concat());
        }
    }

    #[test]
    fn cancelled_call_is_aborted_before_its_time_limit() {
        drive(&[
            (SHORT_DELAY, WANTED, CallAction::Inspect),
            (SHORT_DELAY, CallEvent::Inspected(AbortSafety::Safe), CallAction::Abort),
        ]);
    }

    #[test]
    fn call_that_never_reaches_its_method_is_given_up_without_an_abort() {
        for obstacle in [CallEvent::Inspected(AbortSafety::NotBegun), CallEvent::AbortRefused] {
            drive(&[
                (LONG_DELAY, WANTED, CallAction::Inspect),
                (LONG_DELAY, obstacle, CallAction::Continue),
                (LONG_DELAY + BEGIN_TIMEOUT, WANTED, CallAction::Inspect),
                (LONG_DELAY + BEGIN_TIMEOUT, obstacle, CallAction::Continue),
                (LONG_DELAY + BEGIN_TIMEOUT + SHORT_DELAY, WANTED, CallAction::Inspect),
                (
                    LONG_DELAY + BEGIN_TIMEOUT + SHORT_DELAY,
                    obstacle,
                    CallAction::GiveUp(GiveUpReason::NotBegun),
                ),
            ]);
        }
    }

    #[test]
    fn call_that_waits_repeatedly_is_never_aborted() {
        drive(&[
            (LONG_DELAY, WANTED, CallAction::Inspect),
            (
                LONG_DELAY,
                CallEvent::Inspected(AbortSafety::WaitsRepeatedly),
                CallAction::GiveUp(GiveUpReason::WaitsRepeatedly),
            ),
        ]);
    }

    #[test]
    fn static_constructor_wait_and_framework_code_are_not_aborted_rudely() {
        for (keeper, why) in [
            (AbortObstacle::Wait, GiveUpReason::Wait),
            (AbortObstacle::StaticConstructor, GiveUpReason::StaticConstructor),
            (AbortObstacle::FrameworkCode, GiveUpReason::FrameworkCode),
        ] {
            drive(&[
                (LONG_DELAY, WANTED, CallAction::Inspect),
                (LONG_DELAY, CallEvent::Inspected(AbortSafety::Safe), CallAction::Abort),
                (LONG_DELAY, CallEvent::AbortTaken, CallAction::Continue),
                (LONG_DELAY * 2, WANTED, CallAction::LookWhatKeepsIt),
                (LONG_DELAY * 2, CallEvent::AbortBlocked(Some(keeper)), CallAction::GiveUp(why)),
            ]);
        }
    }
}
