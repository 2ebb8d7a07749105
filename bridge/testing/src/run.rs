//! One run of a framework: builds, processes with tests, their time limits, and what they report.
//!
//! Not here: which processes these are ([`crate::framework`]), the options of a call ([`options`]), the
//! reader of a process's output ([`output`]), other sources of results ([`source`]), tests that a process
//! leaves unfinished ([`process_end`]), files of the run ([`scratch`]).

use std::path::Path;
use std::time::{Duration, Instant};

use tandem_wire::Failure;
use tandem_workspace::build::project::Project;
use tandem_workspace::build::report::{BuildDiagnostic, BuildReport};
use tandem_workspace::build::run_step;
use tandem_workspace::build::steps::BuildStep;
use tandem_workspace::jobs::ProgressSink;
use tandem_workspace::process::ProcessExit;
use tokio_util::sync::CancellationToken;

use crate::host::{DirectLauncher, ProcessLaunch, ProcessLauncher};
use crate::model::TestItem;
use crate::reports::ReportPipe;
use crate::results::TestResults;
use crate::select::TestSelection;
use options::TestRunOptions;
use output::{OutputForwarder, OutputReader};
use source::ResultSource;

mod fatal_error;
pub mod options;
pub(crate) mod output;
mod process_end;
mod scratch;
pub(crate) mod source;

/// Interval of the checks of each test's time limit.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Reason why a framework starts a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessPurpose {
    /// To list tests: without a debugger, and users do not see its command.
    List,
    /// To run tests, by the launcher of the run.
    Run,
    /// To run tests without a debugger, or to have another process run them.
    RunDirectly,
}

/// How the processes of a run ended.
#[derive(Debug, Default)]
pub struct RunStatus {
    /// Exit code of the last process.
    pub code: i32,
    /// Exit code of the first test process that did not exit with 0.
    pub first_code: Option<i32>,
    /// Whether a build or a source is broken.
    pub broken: bool,
    /// Output of the tests that their framework does not assign to them.
    pub printed: String,
    /// Why code that ran after tests failed, although no test did.
    pub late_failure: Option<String>,
    /// Why the runner did not take its arguments.
    pub refusal: Option<String>,
}

/// A run of tests and its state.
pub struct FrameworkRun<'a> {
    /// The project with the tests.
    pub project: &'a Project,
    /// Options of the call for this run.
    pub options: &'a TestRunOptions,
    /// The tests that the call means.
    pub selection: TestSelection,
    /// A folder for files of this run.
    pub scratch: &'a Path,
    /// Starts the processes with tests.
    pub host: &'a dyn ProcessLauncher,
    /// Cancels the run and its processes.
    pub cancel: &'a CancellationToken,
    /// Reports what is being done.
    pub say: &'a ProgressSink,
    /// Output of builds and processes, and diagnostics.
    pub report: BuildReport,
    /// The results of the tests.
    pub results: TestResults,
    /// How its processes ended.
    pub status: RunStatus,
    /// The commands that ran, without options that Tandem adds.
    pub commands: Vec<String>,
    began: Instant,
}

impl<'a> FrameworkRun<'a> {
    /// A run that has not begun.
    pub fn new(
        (project, options): (&'a Project, &'a TestRunOptions),
        scratch: &'a Path,
        host: &'a dyn ProcessLauncher,
        (cancel, say): (&'a CancellationToken, &'a ProgressSink),
        (results, output_bytes): (TestResults, usize),
    ) -> Self {
        let report = BuildReport::new(&project.folder, output_bytes);
        Self {
            project,
            options,
            selection: TestSelection::default(),
            scratch,
            host,
            cancel,
            say,
            report,
            results,
            status: RunStatus::default(),
            commands: Vec::new(),
            began: Instant::now(),
        }
    }

    /// The time since it began.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn time_left(&self) -> Duration {
        self.options.run_limit.saturating_sub(self.began.elapsed())
    }

    /// Records a command for the answer; `shown` is empty for an auxiliary command.
    fn show(&mut self, shown: &str) {
        if !shown.is_empty() && self.commands.last().is_none_or(|last| last != shown) {
            self.commands.push(shown.to_owned());
            (self.say)(shown);
        }
    }

    /// Runs a step of a build and returns whether it succeeded; `shown` is the
    /// command as a user would type it.
    ///
    /// # Errors
    /// `COMMAND_FAILED` when it cannot be started, `TIMEOUT`, `CANCELLED`.
    pub async fn build(&mut self, step: BuildStep, shown: &str) -> Result<bool, Failure> {
        let left = self.time_left();
        let ended = run_step(step, &mut self.report, left, self.cancel, self.say).await?;
        self.show(shown);
        self.status.code = ended.code;
        self.status.broken |= !ended.success();
        Ok(ended.success())
    }

    /// Runs a process with tests to its end; `shown` is the command as a user would type it. Tests that it
    /// leaves unfinished have failed.
    ///
    /// # Errors
    /// `COMMAND_FAILED` when it cannot be started, `TIMEOUT`, `CANCELLED`.
    pub async fn process(
        &mut self,
        purpose: ProcessPurpose,
        launch: ProcessLaunch,
        shown: &str,
        reader: &mut dyn OutputReader,
        source: &mut dyn ResultSource,
    ) -> Result<ProcessExit, Failure> {
        let (host, shown) = match purpose {
            ProcessPurpose::List => (&DirectLauncher as &dyn ProcessLauncher, ""),
            ProcessPurpose::Run => (self.host, shown),
            ProcessPurpose::RunDirectly => (&DirectLauncher as &dyn ProcessLauncher, shown),
        };
        self.show(shown);
        let (left, limit) = (self.time_left(), self.test_limit());
        let (results, end) = (self.results.clone(), self.cancel.child_token());
        let mut sink = OutputForwarder::new(reader, &mut self.report, &results, self.say);
        let (outcome, late) = {
            let running = host.run(launch, &mut sink, left, &end);
            tokio::pin!(running);
            tokio::select! {
                outcome = &mut running => (outcome, None),
                failure = source.follow(&results) => {
                    end.cancel();
                    drop(running.await);
                    (Err(failure), None)
                }
                id = overdue(&results, limit) => {
                    end.cancel();
                    (running.await, Some(id))
                }
            }
        };
        let tail = sink.end();
        source.finish(&results).await;
        let ended = self.conclude(outcome, late, source.reason(), &tail)?;
        self.status.code = ended.code;
        if !ended.success() {
            self.status.first_code.get_or_insert(ended.code);
        }
        Ok(ended)
    }

    /// The time limit of each test; none under a debugger.
    pub fn test_limit(&self) -> Option<Duration> {
        self.options.test_limit.filter(|_| !self.host.is_debugger())
    }

    /// Collects what helpers reported besides results: a source that fails to load is an error,
    /// and its tests are missing.
    pub fn collect(&mut self, reports: &mut ReportPipe, source: &str) -> Vec<TestItem> {
        let collected = reports.take_collected();
        for broken in &collected.broken {
            self.status.broken = true;
            self.report.add_diagnostic(&BuildDiagnostic {
                file: &broken.file,
                line: broken.line,
                error: true,
                message: &broken.message,
                source,
                ..BuildDiagnostic::default()
            });
        }
        collected.tests
    }
}

/// The first test that runs for longer than the limit.
async fn overdue(results: &TestResults, limit: Option<Duration>) -> String {
    let Some(limit) = limit else { return std::future::pending().await };
    loop {
        tokio::time::sleep(CHECK_INTERVAL).await;
        if let Some(id) = results.overdue(limit) {
            return id;
        }
    }
}
