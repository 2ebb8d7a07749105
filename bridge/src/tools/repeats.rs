//! Repeated runs: their number, the condition that ends them, and the next one. A wait for one continues in
//! the next, and each is a separate session.
//!
//! Not here: the processes of a run of tests ([`super::test_processes`]).

use std::sync::Arc;

use serde_json::Value;
use tandem_wire::Failure;

use super::run_answer::{RunAnswer, RunCounts};
use super::test_processes::{self, RunStart, leave};
use crate::arguments::attributes::LaunchFlags;
use crate::breakpoint_requests::EarlyRequests;
use crate::call::ToolCall;
use crate::repeat::{Repeat, RunOutcome};
use crate::session::AgentSession;
use crate::snapshot::ProgramState;

/// Ends of project files that a launch builds.
const PROJECT_EXTENSIONS: [&str; 4] = ["proj", ".sln", ".slnx", ".slnf"];

/// Starts the next run of a repeated launch when a run has ended, and returns its session. If no run follows,
/// the answer gets the number of runs.
pub(super) async fn start_next_run(
    call: &ToolCall,
    session: &AgentSession,
    answer: &mut RunAnswer,
) -> Result<Option<Arc<AgentSession>>, Failure> {
    let Some(repeat) = session.with_plan(|plan| plan.repeat).filter(|repeat| !repeat.is_over) else {
        return Ok(None);
    };
    let (outcome, has_ended) = (answer.outcome(), answer.state == Some(ProgramState::Exited));
    // A worker's end is not the end of the program.
    if has_ended && session.snapshot().state != ProgramState::Exited {
        return Ok(None);
    }
    if has_ended && let Some(next) = repeat.next_after(outcome) {
        call.progress.say(format!("run {} of {}", next.completed_runs() + 1, repeat.most)).await;
        return rerun(call, session, next, answer).await;
    }
    let run = repeat.completed_runs() + 1;
    let failed = repeat.failed + u64::from(outcome == RunOutcome::Failed);
    answer.runs =
        RunCounts { runs: Some(run), failed_runs: Some(failed).filter(|_| (1..run).contains(&failed)) };
    if answer.is_pending() && !answer.has_message() {
        answer.set_message(format!("run {run} of {} continues; debug_wait waits for it", repeat.most));
    }
    if !repeat.outlives(outcome) {
        session.with_plan(|plan| plan.repeat = Some(repeat.finished()));
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
    answer: &mut RunAnswer,
) -> Result<Option<Arc<AgentSession>>, Failure> {
    if let Some(run) = session.test_run() {
        leave(call, session).await;
        return match test_processes::begin(
            call,
            run.again(None, Some(next)),
            test_processes::results_deadline(),
        )
        .await?
        {
            RunStart::Session(session) => Ok(Some(session)),
            RunStart::Answer(instead) => {
                *answer = *instead;
                Ok(None)
            }
        };
    }
    let mut plan = session.with_plan(|plan| plan.clone());
    leave(call, session).await;
    let EarlyRequests { requested, filters } = call.bridge.early_requests();
    (plan.requested, plan.filters, plan.repeat) = (requested, filters.or(plan.filters), Some(next));
    disable_build(&mut plan.attributes);
    call.start_session(plan).await.map(Some)
}

/// A project was built for the first run.
pub(super) fn disable_build(attributes: &mut Value) {
    let builds = |text: &str| PROJECT_EXTENSIONS.iter().any(|ending| text.ends_with(ending));
    if attributes["program"].as_str().is_some_and(builds) {
        LaunchFlags { no_build: Some(true), ..LaunchFlags::default() }.set_in(attributes);
    }
}
