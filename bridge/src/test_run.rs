//! Tests under the debugger: a run like any other, except that sessions of this agent start its processes. A
//! run with several such processes (the projects of a solution) is followed from one to the next. At the end
//! of a process the results are known.
//!
//! Not here: starting the sessions (`tools::test_launch`), the first stop (`tools::test_stops`).

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tandem_testing::answer::{self, TestRunAnswer};
use tandem_testing::host::{BoxFuture, ProcessLaunch, ProcessLauncher};
use tandem_testing::request::{TestRequest, TestRunOutcome};
use tandem_testing::results::TestResults;
use tandem_testing::run::options::KnownException;
use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::jobs::ProgressSink;
use tandem_workspace::process::{OutputStream, ProcessExit, Sink};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::arguments::attributes::{PassedAttributes, TestNames};
use crate::program_event::{ExitEvent, RunFailure, TestsError, TestsOutcome};
use crate::progress::ProgressReporter;
use crate::repeat::{Repeat, RepeatArguments};
use crate::test_request::TestArguments;

/// Time limit for the results after a process has ended.
pub(crate) const RESULTS_TIMEOUT: Duration = Duration::from_secs(20);

/// The arguments of `debug_launch_test`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-unlisted" = ["tests", "class", "file", "trait", "changedSince", "args"]))]
pub(crate) struct LaunchTestArguments {
    #[serde(flatten)]
    pub(crate) tests: TestArguments,
    #[serde(default)]
    pub(crate) breakpoints: Vec<Value>,
    #[serde(flatten)]
    pub(crate) repeat: RepeatArguments,
    pub(crate) timeout_ms: Option<u64>,
    #[serde(flatten)]
    pub(crate) passed: PassedAttributes<TestNames>,
}

/// A test run under the debugger. Dropping it ends all its processes.
pub struct TestRun {
    /// Arguments of the call, to run the same again.
    pub(crate) arguments: LaunchTestArguments,
    /// The arguments that distinguish its call from others.
    pub(crate) key: String,
    /// The tests to run; its options say whether they were run before, and the failure known from that run.
    pub(crate) request: TestRequest,
    pub(crate) repeat: Option<Repeat>,
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
    outcome: Option<Result<(Box<TestRunAnswer>, TestResults), Failure>>,
}

/// A process that a run wants started.
pub(crate) struct LaunchRequest {
    pub(crate) launch: ProcessLaunch,
    /// Takes the exit and the output of the process.
    pub(crate) ended: oneshot::Sender<ProcessResult>,
}

/// The exit of a process, and its output on stdout and stderr.
pub(crate) type ProcessResult = (ProcessExit, [String; 2]);

/// The next step of a run.
pub(crate) enum RunUpdate {
    Process(Box<LaunchRequest>),
    Outcome(Result<(Box<TestRunAnswer>, TestResults), Failure>),
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
    /// Starts a run; its processes wait until [`TestRun::next`] takes them.
    pub(crate) fn start(
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
            let outcome = outcome.map(|TestRunOutcome { answer, results }| (Box::new(answer), results));
            progress.send_modify(|progress| progress.outcome = Some(outcome));
        });
        Arc::new(run)
    }

    /// Runs the same tests once more, without a build; `known` is their failure, if
    /// the run has just found it.
    pub(crate) fn again(&self, known: Option<KnownException>, repeat: Option<Repeat>) -> Arc<Self> {
        let mut request = self.request.clone();
        request.options.no_build = true;
        request.options.known = known.or(request.options.known);
        Self::start(request, self.arguments.clone(), self.key.clone(), repeat)
    }

    /// Whether an answer contained a result of this run.
    pub(crate) fn is_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// Counts a process that was started.
    pub(crate) fn count_started_process(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that an answer contained a result of this run.
    pub(crate) fn mark_answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    /// Counts an exception that was passed; returns their number.
    pub(crate) fn count_passed_exception(&self) -> u64 {
        self.passed.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The next process, or the end.
    pub(crate) async fn next(
        &self,
        until: Instant,
        cancel: &CancellationToken,
        reporter: &ProgressReporter,
    ) -> Result<RunUpdate, Failure> {
        let mut progress = self.progress.clone();
        let mut launch_requests = self.launch_requests.lock().await;
        let waiting = async {
            tokio::select! {
                Some(request) = launch_requests.recv() => Ok(RunUpdate::Process(Box::new(request))),
                Ok(ended) = progress.wait_for(|progress| progress.outcome.is_some()) => {
                    let outcome = ended.outcome.clone();
                    Ok(RunUpdate::Outcome(outcome.unwrap_or_else(|| Err(Failure::cancelled()))))
                }
                () = cancel.cancelled() => Err(Failure::cancelled()),
                () = tokio::time::sleep_until(until) => Ok(RunUpdate::Pending(String::new())),
            }
        };
        let outcome = reporter.during("building the tests", None, waiting).await;
        match outcome? {
            RunUpdate::Pending(_) => Ok(RunUpdate::Pending(self.progress.borrow().doing.clone())),
            next => Ok(next),
        }
    }

    /// Waits until the run has ended, or wants another process.
    pub(crate) async fn wait_for_update(&self) -> Option<Result<(Box<TestRunAnswer>, TestResults), Failure>> {
        let mut progress = self.progress.clone();
        let started = self.started.load(Ordering::Relaxed);
        let settled =
            progress.wait_for(|progress| progress.outcome.is_some() || progress.requested > started);
        let settled = tokio::time::timeout(RESULTS_TIMEOUT, settled).await.ok()?.ok()?;
        settled.outcome.clone()
    }

    /// Adds the results to the end of its process, once they are known.
    pub async fn describe(&self, event: &mut ExitEvent) {
        match self.wait_for_update().await {
            Some(Ok((answer, results))) => {
                let tests = answer::tests(&self.folder, &results);
                event.outcome = Some(match (tests.failed, tests.passed) {
                    (1.., _) => TestsOutcome::Failed,
                    (0, 0) => TestsOutcome::NotRun,
                    (0, 1..) => TestsOutcome::Passed,
                });
                event.tests = Some(tests);
                // Its process may be one of several, and one that a client drives exits
                // with 0 even if tests failed.
                event.exit_code = Some(answer.exit_code.into());
                if let Some(error) =
                    answer.error.filter(|error| error.code != ErrorCode::TestsFailed.as_str())
                {
                    event.error = Some(TestsError::Answered(error));
                    event.diagnostics = answer.problems.diagnostics;
                }
            }
            Some(Err(failure)) => {
                event.outcome = Some(TestsOutcome::NotRun);
                event.error = Some(TestsError::Failed(RunFailure::from(failure)));
            }
            None => {}
        }
    }
}

/// The runs that are being built after their call was answered, by the arguments that distinguish the calls.
#[derive(Debug, Default)]
pub struct BegunTests(Mutex<HashMap<String, Arc<TestRun>>>);

impl BegunTests {
    /// Removes and returns the run of a call, if there is one.
    pub fn take(&self, key: &str) -> Option<Arc<TestRun>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key)
    }

    /// Adds a run under the key of its call.
    pub fn put(&self, run: Arc<TestRun>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(run.key.clone(), run);
    }

    /// Drops all runs, which ends them.
    pub fn end(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
