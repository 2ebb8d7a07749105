//! Repeated runs: their number, the condition that ends them, and the next one. A wait for one continues in
//! the next, and each is a separate session.
//!
//! Not here: the processes of a run of tests ([`super::test_run`]).

use std::sync::Arc;

use dap_wire::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use test_frameworks::repeat::MAX_RUNS;

use super::test_launch::{self, RunStart};
use super::test_run::leave;
use crate::call::ToolCall;
use crate::server::EarlyRequests;
use crate::session::AgentSession;
use crate::snapshot::ProgramState;

/// Ends of project files that a launch builds.
const PROJECT_EXTENSIONS: [&str; 4] = ["proj", ".sln", ".slnx", ".slnf"];

/// The repetition, as a call asks for it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct RepeatArguments {
    #[schemars(description = "runs until it fails")]
    repeat: Option<u64>,
    #[schemars(extend("x-unlisted" = true))]
    until: Option<String>,
}

/// Condition that ends the repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RepeatCondition {
    /// A failed test, an exit code that is not 0, or a stop at an exception.
    Fails,
    Stops,
}

/// A launch that is repeated; kept by its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeat {
    most: u64,
    until: RepeatCondition,
    passed: u64,
    failed: u64,
    /// The repetition is complete: its condition has occurred.
    is_over: bool,
}

/// The outcome of a run so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunOutcome {
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
    pub(super) fn of(arguments: &RepeatArguments) -> Result<Option<Self>, Failure> {
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
    pub(super) fn reset(self) -> Self {
        Self { passed: 0, failed: 0, is_over: false, ..self }
    }

    /// Counts a run that failed without a stop, which runs once more.
    pub(super) fn with_unseen_failure(self) -> Self {
        Self { failed: self.failed + 1, ..self }
    }

    fn completed_runs(self) -> u64 {
        self.passed + self.failed
    }

    /// Counts a run that has ended; `None` if no other follows.
    fn next_after(self, outcome: RunOutcome) -> Option<Self> {
        let next = match (outcome, self.until) {
            (RunOutcome::Passed, _) => Self { passed: self.passed + 1, ..self },
            (RunOutcome::Failed, RepeatCondition::Stops) => Self { failed: self.failed + 1, ..self },
            _ => return None,
        };
        Some(next).filter(|next| next.completed_runs() < self.most)
    }

    /// Whether a stop leaves the rest of the repetition to the next `debug_continue`.
    fn outlives(self, outcome: RunOutcome) -> bool {
        outcome == RunOutcome::Runs || outcome == RunOutcome::Stopped && self.until == RepeatCondition::Fails
    }
}

/// Outcome of a run, from the tool's answer.
fn outcome(answer: &Value) -> RunOutcome {
    let event = &answer["event"];
    match answer["state"].as_str() {
        Some("stopped") if event["type"] == "exception" => RunOutcome::Failed,
        Some("stopped") => RunOutcome::Stopped,
        Some("exited") => match event["outcome"].as_str() {
            Some("passed") => RunOutcome::Passed,
            None if event["exitCode"] == 0 => RunOutcome::Passed,
            _ => RunOutcome::Failed,
        },
        _ => RunOutcome::Runs,
    }
}

/// Starts the next run of a repeated launch when a run has ended, and returns its session. If no run follows,
/// the answer gets the number of runs.
pub(super) async fn start_next_run(
    call: &ToolCall,
    session: &AgentSession,
    answer: &mut Value,
) -> Result<Option<Arc<AgentSession>>, Failure> {
    let Some(repeat) = session.with_plan(|plan| plan.repeat).filter(|repeat| !repeat.is_over) else {
        return Ok(None);
    };
    let outcome = outcome(answer);
    // A worker's end is not the end of the program.
    if answer["state"] == "exited" && session.snapshot().state != ProgramState::Exited {
        return Ok(None);
    }
    if answer["state"] == "exited"
        && let Some(next) = repeat.next_after(outcome)
    {
        call.progress.say(format!("run {} of {}", next.completed_runs() + 1, repeat.most)).await;
        return rerun(call, session, next, answer).await;
    }
    let run = repeat.completed_runs() + 1;
    answer["runs"] = json!(run);
    let failed = repeat.failed + u64::from(outcome == RunOutcome::Failed);
    if failed > 0 && failed < run {
        answer["failedRuns"] = json!(failed);
    }
    if answer["pending"] == true && answer["message"].is_null() {
        answer["message"] = json!(format!("run {run} of {} continues; debug_wait waits for it", repeat.most));
    }
    if !repeat.outlives(outcome) {
        session.with_plan(|plan| plan.repeat = Some(Repeat { is_over: true, ..repeat }));
    }
    Ok(None)
}

/// The session of the run that was answered, which may be a later one of the same launch.
pub(super) fn latest(call: &ToolCall, session: Arc<AgentSession>) -> Arc<AgentSession> {
    if call.bridge.joined_sessions().iter().any(|joined| joined.id == session.id) {
        return session;
    }
    let current = call.bridge.current();
    current.map(|current| current.relation.root.clone().unwrap_or(current)).unwrap_or(session)
}

/// Launches the program of a session once more.
async fn rerun(
    call: &ToolCall,
    session: &AgentSession,
    next: Repeat,
    answer: &mut Value,
) -> Result<Option<Arc<AgentSession>>, Failure> {
    if let Some(run) = session.test_run() {
        leave(call, session).await;
        return match test_launch::begin(call, run.again(None, Some(next)), test_launch::results_deadline())
            .await?
        {
            RunStart::Session(session) => Ok(Some(session)),
            RunStart::Answer(instead) => {
                *answer = instead;
                Ok(None)
            }
        };
    }
    let mut plan = session.with_plan(|plan| plan.clone());
    leave(call, session).await;
    let EarlyRequests { requested, filters } = call.bridge.early_requests();
    (plan.requested, plan.filters, plan.repeat) = (requested, filters.or(plan.filters), Some(next));
    disable_build(&mut plan.attributes);
    let bridge = &call.bridge;
    let client = bridge.client();
    let started =
        AgentSession::start(&bridge.options.adapter, &client, plan, &call.cancel, &call.progress).await?;
    let started = call.add_session(started);
    bridge.with_early_requests(std::mem::take);
    Ok(Some(started))
}

/// A project was built for the first run.
pub(super) fn disable_build(attributes: &mut Value) {
    let builds = |text: &str| PROJECT_EXTENSIONS.iter().any(|ending| text.ends_with(ending));
    if attributes["program"].as_str().is_some_and(builds) {
        attributes["noBuild"] = json!(true);
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_run_has_passed_when_its_tests_have_or_its_exit_code_is_0() {
        for (answer, expected) in [
            (json!({ "state": "exited", "event": { "exitCode": 0 } }), RunOutcome::Passed),
            (json!({ "state": "exited", "event": { "exitCode": 3 } }), RunOutcome::Failed),
            (json!({ "state": "exited", "event": {} }), RunOutcome::Failed),
            (
                json!({ "state": "exited", "event": { "exitCode": 0, "outcome": "failed" } }),
                RunOutcome::Failed,
            ),
            (
                json!({ "state": "exited", "event": { "exitCode": 0, "outcome": "notRun" } }),
                RunOutcome::Failed,
            ),
            (
                json!({ "state": "exited", "event": { "exitCode": 2, "outcome": "passed" } }),
                RunOutcome::Passed,
            ),
            (json!({ "state": "stopped", "event": { "type": "exception" } }), RunOutcome::Failed),
            (json!({ "state": "stopped", "event": { "type": "breakpointHit" } }), RunOutcome::Stopped),
            (json!({ "state": "running", "pending": true }), RunOutcome::Runs),
        ] {
            assert_eq!(outcome(&answer), expected, "{answer}");
        }
    }
}
