//! The processes of a test run, each in a session of this agent: starting the first and the next, and leaving
//! one that another replaces. [`crate::test_run`] has the run.

use std::sync::Arc;

use tandem_testing::host::Stops;
use tandem_wire::types::BreakpointRequest;
use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::process::ProcessExit;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::launch_breakpoints::add_breakpoints;
use super::run_answer::{RunAnswer, UnfinishedWait};
use super::server_urls::OUTPUT_START;
use crate::arguments::attributes::{self, LaunchFlags};
use crate::breakpoint_requests::{
    BreakpointRequests, EarlyRequests, FUNCTIONS, Purpose, RequestedBreakpoint,
};
use crate::call::ToolCall;
use crate::session::requests::ReadOutputArguments;
use crate::session::{AgentSession, SessionPlan};
use crate::snapshot::ProgramState;
use crate::test_run::{LaunchRequest, ProcessResult, RESULTS_TIMEOUT, RunUpdate, TestRun};

/// Output of a process that its framework reads at the end, bytes.
const MAX_OUTPUT_BYTES: u64 = 8 << 20;

pub(super) enum RunStart {
    /// The session of the first process.
    Session(Arc<AgentSession>),
    /// Not: it is built still, or there is nothing to start.
    Answer(Box<RunAnswer>),
}

/// Deadline of a run that needs no build.
pub(super) fn results_deadline() -> Instant {
    Instant::now() + RESULTS_TIMEOUT
}

/// Starts the first process of a run.
pub(super) async fn begin(call: &ToolCall, run: Arc<TestRun>, until: Instant) -> Result<RunStart, Failure> {
    match run.next(until, &call.cancel, &call.progress).await? {
        RunUpdate::Process(request) => start(call, &run, *request).await.map(RunStart::Session),
        RunUpdate::Outcome(outcome) => {
            let (mut answer, _) = outcome?;
            if answer.error.is_none() {
                let message = "no process with tests was started";
                answer = Box::new(answer.with_error(Failure::new(ErrorCode::NotFound, message)));
            }
            Ok(RunStart::Answer(Box::new(RunAnswer::unstarted(answer))))
        }
        RunUpdate::Pending(doing) => {
            call.bridge.begin_test(run);
            let message = format!("the tests are being built: {doing}; the same call waits on");
            let wait = UnfinishedWait::because(Some(message));
            Ok(RunStart::Answer(Box::new(RunAnswer::pending(ProgramState::Idle, wait))))
        }
    }
}

/// Ends a session that another one replaces, and keeps its breakpoints for that one.
pub(super) async fn leave(call: &ToolCall, session: &AgentSession) {
    let requested = session.with_requested(|requested| requested.for_next_program());
    call.bridge.with_early_requests(|early| {
        let later = std::mem::take(&mut early.requested);
        early.requested = requested;
        early.requested.extend(later);
    });
    if let Err(failure) = session.leave(None).await {
        tracing::debug!(%failure, "left a session that was gone");
    }
    for child in call.bridge.related_sessions(session) {
        drop(child.leave(None).await);
        call.bridge.forget(&child.id);
    }
    call.bridge.forget(&session.id);
}

/// Starts a session for a process with tests.
pub(super) async fn start(
    call: &ToolCall,
    run: &Arc<TestRun>,
    request: LaunchRequest,
) -> Result<Arc<AgentSession>, Failure> {
    let LaunchRequest { mut launch, ended } = request;
    let arguments = &run.arguments;
    run.count_started_process();
    let mut attributes = launch.debug_attributes();
    LaunchFlags::stopping_on_entry(false).set_in(&mut attributes);
    attributes::add(&mut attributes, &arguments.passed.to_object());
    if let Some(python) = arguments.tests.python() {
        attributes["python"] = python.clone();
    }
    let EarlyRequests { mut requested, filters } = call.bridge.early_requests();
    let stops = launch.stops.clone();
    let mut plan = SessionPlan {
        attributes,
        filters,
        stops: Some(stops.clone()),
        repeat: run.repeat,
        ..SessionPlan::default()
    };
    add_breakpoints(call, &arguments.breakpoints, &mut requested, plan.folders())?;
    add_functions(&mut requested, &stops);
    plan.requested = requested;
    let session = call.start_session(plan).await?;
    session.set_test_run(run.clone());
    let pid = session.snapshot().process_id().and_then(|pid| u32::try_from(pid).ok());
    if let Some(started) = launch.started.take() {
        started.send(pid.unwrap_or(0)).unwrap_or_default();
    }
    watch(&session, ended);
    Ok(session)
}

/// Breakpoints in what frameworks call for a check that failed; no agent sees them in its lists.
fn add_functions(requested: &mut BreakpointRequests, stops: &Stops) {
    for (function, condition) in &stops.functions {
        let condition = condition.map(str::to_owned);
        let dap = BreakpointRequest { condition, ..BreakpointRequest::at_function(function) };
        let request = RequestedBreakpoint { file: FUNCTIONS.into(), dap, text: None };
        requested.clear(&request);
        requested.add(request, 0, Purpose::Failure);
    }
}

/// Reports the end of a session's process to the run.
fn watch(session: &Arc<AgentSession>, ended: oneshot::Sender<ProcessResult>) {
    let mut snapshot = session.watch_snapshot();
    let session = Arc::downgrade(session);
    tokio::spawn(async move {
        let over = snapshot.wait_for(|snapshot| snapshot.state == ProgramState::Exited).await;
        let code = over.ok().and_then(|snapshot| snapshot.end.exit_code);
        let code = code.and_then(|code| i32::try_from(code).ok()).unwrap_or(-1);
        let mut output = [String::new(), String::new()];
        if let Some(session) = session.upgrade() {
            let since = Some(OUTPUT_START.to_owned());
            let max_bytes = MAX_OUTPUT_BYTES;
            let whole = ReadOutputArguments { since, max_bytes, ..ReadOutputArguments::default() };
            let read = session.send(&whole).await.unwrap_or_default();
            output = [read.stdout, read.stderr].map(Option::unwrap_or_default);
        }
        drop(ended.send((ProcessExit { code }, output)));
    });
}

/// The session of the next process of a run whose process has ended; none when the run has ended.
pub(super) async fn next_process(
    call: &ToolCall,
    session: &AgentSession,
) -> Result<Option<Arc<AgentSession>>, Failure> {
    let Some(run) = session.test_run() else { return Ok(None) };
    if run.wait_for_update().await.is_some() {
        return Ok(None);
    }
    match run.next(Instant::now() + RESULTS_TIMEOUT, &call.cancel, &call.progress).await? {
        RunUpdate::Process(request) => start(call, &run, *request).await.map(Some),
        RunUpdate::Outcome(_) | RunUpdate::Pending(_) => Ok(None),
    }
}
