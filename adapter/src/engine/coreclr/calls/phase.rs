//! State machine that ends a call which takes too long or was cancelled. Decides only: the caller inspects
//! the program and acts on the decision.

use std::time::Duration;

/// How long a call may take to reach its method. It must not be aborted before.
const BEGIN_LIMIT: Duration = Duration::from_millis(500);
/// How long an aborted call may take to end.
const ABORT_LIMIT: Duration = Duration::from_secs(1);

/// State of a call. Times are counted from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EvalPhase {
    /// It runs within its time limit.
    Running,
    /// Its end was requested at `since`; it was not aborted yet.
    Wanted { since: Duration },
    /// It was aborted at `since`; `rudely`: without running its handlers.
    Aborting { since: Duration, rudely: bool },
    /// It has ended, or was left on its thread.
    Over,
}

/// An event of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// The call returned.
    Completed,
    /// It ended with an exception.
    Threw,
    /// Time has passed; `is_wanted`: its end is wanted, because it took too long, was cancelled, or the
    /// session ends.
    Waited { is_wanted: bool },
    /// Whether it is now at a point where it may be aborted.
    Looked(Safety),
    /// The runtime has accepted the abort.
    AbortTaken,
    /// The runtime has refused the abort.
    AbortRefused,
    /// It continues after an abort, because of this obstacle.
    Kept(Option<Keeper>),
}

/// Whether a call may be aborted at its current point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Safety {
    Safe,
    /// Its method has not begun.
    NotBegun,
    /// It waits again and again, on .NET Core.
    WaitsRepeatedly,
}

/// The obstacle that prevents an aborted call from ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeper {
    Wait,
    StaticConstructor,
}

/// The next action of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    GoOn,
    /// Return its result.
    TakeResult,
    /// Return its exception.
    TakeException,
    /// Report that it was aborted.
    TellAborted,
    /// Check whether it may be aborted.
    Look,
    Abort,
    LookWhatKeepsIt,
    /// Last resort: the thread is unwound without its handlers.
    AbortRudely,
    /// Leave it on its thread.
    GiveUp(GivenUp),
}

/// Why a call is left on its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GivenUp {
    NotBegun,
    WaitsRepeatedly,
    Wait,
    StaticConstructor,
}

impl GivenUp {
    /// The reason, for people, after the description and duration of the call.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::NotBegun => {
                "and still runs: its method has not started, and .NET may end the program when such a call is aborted"
            }
            Self::WaitsRepeatedly => {
                "and still runs: it waits repeatedly, and .NET Core may end the program when such a call is aborted"
            }
            Self::Wait => "and cannot be aborted: the runtime does not end a wait",
            Self::StaticConstructor => "and cannot be aborted: the runtime does not end a static constructor",
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
    pub(super) fn next(&mut self, now: Duration, event: Event) -> Action {
        let (next, action) = self.decided(now, event);
        *self = next;
        action
    }

    fn decided(self, now: Duration, event: Event) -> (Self, Action) {
        let given_up = |why| (Self::Over, Action::GiveUp(why));
        match (self, event) {
            (Self::Aborting { .. }, Event::Completed | Event::Threw) => (Self::Over, Action::TellAborted),
            (_, Event::Completed) => (Self::Over, Action::TakeResult),
            (_, Event::Threw) => (Self::Over, Action::TakeException),
            (Self::Running, Event::Waited { is_wanted: true }) => (Self::Wanted { since: now }, Action::Look),
            (Self::Wanted { .. }, Event::Waited { is_wanted: true }) => (self, Action::Look),
            (Self::Aborting { since, .. }, Event::Waited { .. }) if now - since > ABORT_LIMIT => {
                (self, Action::LookWhatKeepsIt)
            }
            (Self::Wanted { .. }, Event::Looked(Safety::Safe)) => (self, Action::Abort),
            (Self::Wanted { .. }, Event::Looked(Safety::WaitsRepeatedly)) => {
                given_up(GivenUp::WaitsRepeatedly)
            }
            (Self::Wanted { since }, Event::Looked(Safety::NotBegun) | Event::AbortRefused)
                if now - since > BEGIN_LIMIT =>
            {
                given_up(GivenUp::NotBegun)
            }
            (Self::Wanted { .. }, Event::AbortTaken) => {
                (Self::Aborting { since: now, rudely: false }, Action::GoOn)
            }
            (Self::Aborting { .. }, Event::Kept(Some(Keeper::StaticConstructor))) => {
                given_up(GivenUp::StaticConstructor)
            }
            (Self::Aborting { .. }, Event::Kept(Some(Keeper::Wait)))
            | (Self::Aborting { rudely: true, .. }, Event::Kept(None)) => given_up(GivenUp::Wait),
            (Self::Aborting { rudely: false, .. }, Event::Kept(None)) => {
                (Self::Aborting { since: now, rudely: true }, Action::AbortRudely)
            }
            _ => (self, Action::GoOn),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(100);
    const LATE: Duration = Duration::from_secs(5);
    const WANTED: Event = Event::Waited { is_wanted: true };

    /// Sends events, each with its time and the expected action.
    fn tell(steps: &[(Duration, Event, Action)]) -> EvalPhase {
        let mut phase = EvalPhase::Running;
        for (at, (now, event, action)) in steps.iter().enumerate() {
            assert_eq!(phase.next(*now, *event), *action, "step {at}: {event:?}");
        }
        phase
    }

    #[test]
    fn call_that_ends_by_itself_returns_its_result_or_exception() {
        let going = (SOON, Event::Waited { is_wanted: false }, Action::GoOn);
        tell(&[going, (SOON, Event::Completed, Action::TakeResult)]);
        tell(&[going, (SOON, Event::Threw, Action::TakeException)]);
        // Its end was requested, and it has just ended by itself.
        tell(&[(LATE, WANTED, Action::Look), (LATE, Event::Completed, Action::TakeResult)]);
    }

    #[test]
    fn slow_call_is_aborted_then_rudely_then_given_up() {
        let later = LATE + ABORT_LIMIT + SOON;
        let last = later + ABORT_LIMIT + SOON;
        let phase = tell(&[
            (LATE, WANTED, Action::Look),
            (LATE, Event::Looked(Safety::Safe), Action::Abort),
            (LATE, Event::AbortTaken, Action::GoOn),
            (LATE + ABORT_LIMIT, WANTED, Action::GoOn),
            (later, WANTED, Action::LookWhatKeepsIt),
            (later, Event::Kept(None), Action::AbortRudely),
            (later + SOON, WANTED, Action::GoOn),
            (last, WANTED, Action::LookWhatKeepsIt),
            (last, Event::Kept(None), Action::GiveUp(GivenUp::Wait)),
        ]);
        assert_eq!(phase, EvalPhase::Over);
    }

    #[test]
    fn aborted_call_never_returns_its_result_or_exception() {
        let aborted = [
            (LATE, WANTED, Action::Look),
            (LATE, Event::Looked(Safety::Safe), Action::Abort),
            (LATE, Event::AbortTaken, Action::GoOn),
        ];
        for end in [Event::Completed, Event::Threw] {
            tell(&[aborted.as_slice(), &[(LATE, end, Action::TellAborted)]].concat());
        }
    }

    #[test]
    fn cancelled_call_is_aborted_before_its_time_limit() {
        tell(&[(SOON, WANTED, Action::Look), (SOON, Event::Looked(Safety::Safe), Action::Abort)]);
    }

    #[test]
    fn call_that_never_reaches_its_method_is_given_up_without_an_abort() {
        for obstacle in [Event::Looked(Safety::NotBegun), Event::AbortRefused] {
            tell(&[
                (LATE, WANTED, Action::Look),
                (LATE, obstacle, Action::GoOn),
                (LATE + BEGIN_LIMIT, WANTED, Action::Look),
                (LATE + BEGIN_LIMIT, obstacle, Action::GoOn),
                (LATE + BEGIN_LIMIT + SOON, WANTED, Action::Look),
                (LATE + BEGIN_LIMIT + SOON, obstacle, Action::GiveUp(GivenUp::NotBegun)),
            ]);
        }
    }

    #[test]
    fn call_that_waits_repeatedly_is_never_aborted() {
        tell(&[
            (LATE, WANTED, Action::Look),
            (LATE, Event::Looked(Safety::WaitsRepeatedly), Action::GiveUp(GivenUp::WaitsRepeatedly)),
        ]);
    }

    #[test]
    fn static_constructor_and_wait_are_not_aborted_rudely() {
        for (keeper, why) in
            [(Keeper::Wait, GivenUp::Wait), (Keeper::StaticConstructor, GivenUp::StaticConstructor)]
        {
            tell(&[
                (LATE, WANTED, Action::Look),
                (LATE, Event::Looked(Safety::Safe), Action::Abort),
                (LATE, Event::AbortTaken, Action::GoOn),
                (LATE * 2, WANTED, Action::LookWhatKeepsIt),
                (LATE * 2, Event::Kept(Some(keeper)), Action::GiveUp(why)),
            ]);
        }
    }
}
