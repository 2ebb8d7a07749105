//! Tests under the debugger: a run like any other, except that sessions of this agent start its processes. A
//! run with several such processes (the projects of a solution) is followed from one to the next. At the end
//! of a process the results are known.
//!
//! Not here: the arguments of the call ([`super::test_launch`]), the first stop ([`super::test_stops`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};
use test_frameworks::answer;
use test_frameworks::host::{BoxFuture, ProcessLaunch, ProcessLauncher, Stops};
use test_frameworks::request::{TestRequest, TestRunOutcome};
use test_frameworks::results::TestResults;
use test_frameworks::run::KnownException;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use workspace_tools::jobs::ProgressSink;
use workspace_tools::process::{OutputStream, ProcessExit, Sink};

use super::repeats::Repeat;
use super::test_launch::LaunchTestArguments;
use super::{attributes, launch};
use crate::breakpoint_requests::{BreakpointRequests, FUNCTIONS, Purpose, RequestedBreakpoint};
use crate::call::ToolCall;
use crate::server::EarlyRequests;
use crate::session::{AgentSession, SessionPlan};
use crate::snapshot::ProgramState;

/// Time limit for the results after a process has ended.
pub(super) const RESULTS_TIMEOUT: Duration = Duration::from_secs(20);
/// Output of a process that its framework reads at the end, bytes.
const MAX_OUTPUT_BYTES: u64 = 8 << 20;

/// A test run under the debugger. Dropping it ends all its processes.
pub struct TestRun {
    /// Arguments of the call, to run the same again.
    pub(super) arguments: LaunchTestArguments,
    /// The arguments that distinguish its call from others.
    pub(super) key: String,
    /// The tests to run; its options say whether they were run before, and the failure known from that run.
    pub(super) request: TestRequest,
    pub(super) repeat: Option<Repeat>,
    /// Folder of the project.
    pub folder: String,
    launch_requests: tokio::sync::Mutex<mpsc::Receiver<LaunchRequest>>,
    progress: watch::Receiver<RunProgress>,
    /// Processes that were started.
    started: AtomicU64,
    /// An answer has reported more than that it continues.
    answered: AtomicBool,
    /// Exceptions that were passed on the way to the one that is known.
    passed: AtomicU64,
    _end: DropGuard,
}

impl std::fmt::Debug for TestRun {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("TestRun").field("folder", &self.folder).finish_non_exhaustive()
    }
}

#[derive(Clone, Default)]
struct RunProgress {
    /// Processes that were requested.
    requested: u64,
    doing: String,
    outcome: Option<Result<(Value, TestResults), Failure>>,
}

/// A process that a run wants started.
pub(super) struct LaunchRequest {
    launch: ProcessLaunch,
    ended: oneshot::Sender<ProcessResult>,
}

/// The exit of a process, and its output on stdout and stderr.
type ProcessResult = (ProcessExit, [String; 2]);

pub(super) enum RunUpdate {
    Process(Box<LaunchRequest>),
    Outcome(Result<(Value, TestResults), Failure>),
    Pending(String),
}

/// Has its processes started by sessions.
struct DebuggerLauncher {
    launch_requests: mpsc::Sender<LaunchRequest>,
    progress: watch::Sender<RunProgress>,
}

impl ProcessLauncher for DebuggerLauncher {
    fn is_debugger(&self) -> bool {
        true
    }

    fn run<'a>(
        &'a self,
        launch: ProcessLaunch,
        sink: &'a mut dyn Sink,
        _: Duration,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ProcessExit, Failure>> {
        Box::pin(async move {
            let (ended, has_ended) = oneshot::channel();
            self.progress.send_modify(|progress| progress.requested += 1);
            // Without a receiver, the session has ended.
            self.launch_requests
                .send(LaunchRequest { launch, ended })
                .await
                .map_err(|_| Failure::cancelled())?;
            tokio::select! {
                outcome = has_ended => {
                    let (ended, [out, err]) = outcome.map_err(|_| Failure::cancelled())?;
                    sink.take(OutputStream::Err, err.as_bytes());
                    sink.take(OutputStream::Out, out.as_bytes());
                    Ok(ended)
                }
                () = cancel.cancelled() => Err(Failure::cancelled()),
            }
        })
    }
}

impl TestRun {
    pub(super) fn start(
        request: TestRequest,
        arguments: LaunchTestArguments,
        key: String,
        repeat: Option<Repeat>,
    ) -> Arc<Self> {
        let (request_sender, launch_requests) = mpsc::channel(1);
        let progress = watch::Sender::new(RunProgress::default());
        let end = CancellationToken::new();
        let run = Self {
            arguments,
            key,
            request: request.clone(),
            repeat,
            folder: request.project.folder.display().to_string(),
            launch_requests: tokio::sync::Mutex::new(launch_requests),
            progress: progress.subscribe(),
            started: AtomicU64::new(0),
            answered: AtomicBool::new(false),
            passed: AtomicU64::new(0),
            _end: end.clone().drop_guard(),
        };
        let doing = progress.clone();
        let say: ProgressSink =
            Arc::new(move |text| doing.send_modify(|progress| text.clone_into(&mut progress.doing)));
        tokio::spawn(async move {
            let host = DebuggerLauncher { launch_requests: request_sender, progress: progress.clone() };
            let outcome = request.run(&host, &end, &say).await;
            let outcome = outcome.map(|TestRunOutcome { answer, results }| (answer, results));
            progress.send_modify(|progress| progress.outcome = Some(outcome));
        });
        Arc::new(run)
    }

    /// Runs the same tests once more, without a build; `known` is their failure, if
    /// the run has just found it.
    pub(super) fn again(&self, known: Option<KnownException>, repeat: Option<Repeat>) -> Arc<Self> {
        let mut request = self.request.clone();
        request.options.no_build = true;
        request.options.known = known.or(request.options.known);
        Self::start(request, self.arguments.clone(), self.key.clone(), repeat)
    }

    /// Whether an answer contained a result of this run.
    pub(super) fn is_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// Records that an answer contained a result of this run.
    pub(super) fn mark_answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    /// Counts an exception that was passed; returns their number.
    pub(super) fn count_passed_exception(&self) -> u64 {
        self.passed.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The next process, or the end.
    pub(super) async fn next(&self, call: &ToolCall, until: Instant) -> Result<RunUpdate, Failure> {
        let mut progress = self.progress.clone();
        let mut launch_requests = self.launch_requests.lock().await;
        let waiting = async {
            tokio::select! {
                Some(request) = launch_requests.recv() => Ok(RunUpdate::Process(Box::new(request))),
                Ok(ended) = progress.wait_for(|progress| progress.outcome.is_some()) => {
                    let outcome = ended.outcome.clone();
                    Ok(RunUpdate::Outcome(outcome.unwrap_or_else(|| Err(Failure::cancelled()))))
                }
                () = call.cancel.cancelled() => Err(Failure::cancelled()),
                () = tokio::time::sleep_until(until) => Ok(RunUpdate::Pending(String::new())),
            }
        };
        let outcome = call.progress.during("building the tests", None, waiting).await;
        match outcome? {
            RunUpdate::Pending(_) => Ok(RunUpdate::Pending(self.progress.borrow().doing.clone())),
            next => Ok(next),
        }
    }

    /// Waits until the run has ended, or wants another process.
    async fn wait_for_update(&self) -> Option<Result<(Value, TestResults), Failure>> {
        let mut progress = self.progress.clone();
        let started = self.started.load(Ordering::Relaxed);
        let settled =
            progress.wait_for(|progress| progress.outcome.is_some() || progress.requested > started);
        let settled = tokio::time::timeout(RESULTS_TIMEOUT, settled).await.ok()?.ok()?;
        settled.outcome.clone()
    }

    /// Adds the results to the end of its process, once they are known.
    pub async fn describe(&self, event: &mut Value) {
        match self.wait_for_update().await {
            Some(Ok((answer, results))) => {
                let tests = answer::tests(&self.folder, &results);
                event["outcome"] = json!(if tests["failed"] != 0 {
                    "failed"
                } else if tests["passed"] == 0 {
                    "notRun"
                } else {
                    "passed"
                });
                event["tests"] = tests;
                // Its process may be one of several, and one that a client drives exits
                // with 0 even if tests failed.
                if answer["exitCode"].is_i64() {
                    event["exitCode"] = answer["exitCode"].clone();
                }
                if answer["error"]["code"] != ErrorCode::TestsFailed.as_str() && !answer["error"].is_null() {
                    event["error"] = answer["error"].clone();
                    if !answer["diagnostics"].is_null() {
                        event["diagnostics"] = answer["diagnostics"].clone();
                    }
                }
            }
            Some(Err(failure)) => {
                event["outcome"] = json!("notRun");
                event["error"] = json!({ "code": failure.code.as_str(), "message": failure.message,
                    "hint": failure.hint });
            }
            None => {}
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
    run.started.fetch_add(1, Ordering::Relaxed);
    let mut attributes = launch.debug_attributes();
    attributes["stopOnEntry"] = json!(false);
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
    launch::add_breakpoints(call, &arguments.breakpoints, &mut requested, plan.folders())?;
    add_functions(&mut requested, &stops);
    plan.requested = requested;
    let bridge = &call.bridge;
    let session =
        AgentSession::start(&bridge.options.adapter, &bridge.client(), plan, &call.cancel, &call.progress)
            .await?;
    let session = call.add_session(session);
    bridge.with_early_requests(std::mem::take);
    session.set_test_run(run.clone());
    let pid = session.snapshot().process["systemProcessId"].as_u64().and_then(|pid| u32::try_from(pid).ok());
    if let Some(started) = launch.started.take() {
        started.send(pid.unwrap_or(0)).unwrap_or_default();
    }
    watch(&session, ended);
    Ok(session)
}

/// Breakpoints in what frameworks call for a check that failed; no agent sees them in its lists.
fn add_functions(requested: &mut BreakpointRequests, stops: &Stops) {
    for (function, condition) in &stops.functions {
        let mut dap = json!({ "name": function });
        if let Some(condition) = condition {
            dap["condition"] = json!(condition);
        }
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
            let read = session
                .ask("processReadOutput", json!({ "since": "o0.e0", "maxBytes": MAX_OUTPUT_BYTES }))
                .await;
            let read = read.unwrap_or_default();
            output = ["stdout", "stderr"].map(|stream| read[stream].as_str().unwrap_or_default().to_owned());
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
    match run.next(call, Instant::now() + RESULTS_TIMEOUT).await? {
        RunUpdate::Process(request) => start(call, &run, *request).await.map(Some),
        RunUpdate::Outcome(_) | RunUpdate::Pending(_) => Ok(None),
    }
}
