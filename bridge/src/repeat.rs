//! The repetition of a launch: how many runs, and which of them is the last. [`crate::tools::repeats`] starts
//! the runs.

use schemars::JsonSchema;
use serde::Deserialize;
use tandem_testing::repeat::MAX_RUNS;
use tandem_wire::Failure;

/// The repetition, as a call asks for it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(crate) struct RepeatArguments {
    #[schemars(description = "runs until it fails")]
    repeat: Option<u64>,
    #[schemars(extend("x-unlisted" = true))]
    until: Option<String>,
}

/// Condition that ends the repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RepeatCondition {
    /// A failed test, an exit code that is not 0, or a stop at an exception.
    Fails,
    Stops,
}

/// A launch that is repeated; kept by its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeat {
    /// Maximum number of runs.
    pub(crate) most: u64,
    until: RepeatCondition,
    passed: u64,
    /// Runs that failed so far.
    pub(crate) failed: u64,
    /// The repetition is complete: its condition has occurred.
    pub(crate) is_over: bool,
}

/// The outcome of a run so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunOutcome {
    Runs,
    Stopped,
    Failed,
    Passed,
}

impl Repeat {
    /// Parses `repeat` and `until` of a call; `None` for a single run.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` if a value is out of range.
    pub(crate) fn of(arguments: &RepeatArguments) -> Result<Option<Self>, Failure> {
        let until = match arguments.until.as_deref() {
            None => None,
            Some("fails") => Some(RepeatCondition::Fails),
            Some("stops") => Some(RepeatCondition::Stops),
            Some(other) => {
                return Err(Failure::invalid(format!("`until` is `{other}`; it must be fails or stops")));
            }
        };
        let most = arguments.repeat.unwrap_or(if until.is_some() { MAX_RUNS } else { 1 });
        if !(1..=MAX_RUNS).contains(&most) {
            return Err(Failure::invalid(format!("`repeat` is {most}; it must be 1 to {MAX_RUNS}")));
        }
        let until = until.unwrap_or(RepeatCondition::Fails);
        Ok(Some(Self { most, until, passed: 0, failed: 0, is_over: false }).filter(|repeat| repeat.most > 1))
    }

    /// Returns the repetition with its counts reset.
    pub(crate) fn reset(self) -> Self {
        Self { passed: 0, failed: 0, is_over: false, ..self }
    }

    /// Counts a run that failed without a stop, which runs once more.
    pub(crate) fn with_unseen_failure(self) -> Self {
        Self { failed: self.failed + 1, ..self }
    }

    /// Returns the repetition after its condition has occurred: no run follows.
    pub(crate) fn finished(self) -> Self {
        Self { is_over: true, ..self }
    }

    /// Runs that have ended.
    pub(crate) fn completed_runs(self) -> u64 {
        self.passed + self.failed
    }

    /// Counts a run that has ended; `None` if no other follows.
    pub(crate) fn next_after(self, outcome: RunOutcome) -> Option<Self> {
        let next = match (outcome, self.until) {
            (RunOutcome::Passed, _) => Self { passed: self.passed + 1, ..self },
            (RunOutcome::Failed, RepeatCondition::Stops) => Self { failed: self.failed + 1, ..self },
            _ => return None,
        };
        Some(next).filter(|next| next.completed_runs() < self.most)
    }

    /// Whether a stop leaves the rest of the repetition to the next `debug_continue`.
    pub(crate) fn outlives(self, outcome: RunOutcome) -> bool {
        outcome == RunOutcome::Runs || outcome == RunOutcome::Stopped && self.until == RepeatCondition::Fails
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::arguments::schema;

    fn repeat(arguments: Value) -> Result<Option<Repeat>, Failure> {
        Repeat::of(&schema::read(arguments.as_object().cloned().unwrap())?)
    }

    #[test]
    fn a_launch_is_repeated_as_often_as_it_says_or_until_it_fails_or_stops() {
        assert_eq!(repeat(json!({})).unwrap(), None);
        assert_eq!(repeat(json!({ "repeat": 1 })).unwrap(), None);
        let three = repeat(json!({ "repeat": 3 })).unwrap().unwrap();
        let second = three.next_after(RunOutcome::Passed).unwrap();
        assert_eq!(second.completed_runs(), 1);
        assert_eq!(second.next_after(RunOutcome::Failed), None);
        assert_eq!(second.next_after(RunOutcome::Passed).unwrap().next_after(RunOutcome::Passed), None);
        let stops = repeat(json!({ "until": "stops" })).unwrap().unwrap();
        assert_eq!(stops.most, MAX_RUNS);
        let failed = stops.next_after(RunOutcome::Failed).unwrap();
        assert_eq!((failed.failed, failed.passed, failed.reset()), (1, 0, stops));
        assert!(!stops.outlives(RunOutcome::Stopped) && three.outlives(RunOutcome::Stopped));
        for wrong in [json!({ "repeat": 0 }), json!({ "repeat": 10_001 }), json!({ "until": "never" })] {
            assert!(repeat(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
