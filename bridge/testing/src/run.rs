//! One run of a framework: builds, processes with tests, their time limits, and what they report. Not which
//! processes these are.

use std::path::Path;
use std::time::{Duration, Instant};

use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::build::project::Project;
use tandem_workspace::build::report::{BuildDiagnostic, BuildReport};
use tandem_workspace::build::run_step;
use tandem_workspace::build::steps::BuildStep;
use tandem_workspace::jobs::ProgressSink;
use tandem_workspace::process::output::{BoundedOutput, LineSplitter};
use tandem_workspace::process::{OutputStream, ProcessExit, Sink};
use tokio_util::sync::CancellationToken;

use crate::host::{BoxFuture, ProcessLaunch, ProcessLauncher};
use crate::model::{TestItem, TestResult, TestStatus};
use crate::reports::ReportPipe;
use crate::results::TestResults;

/// Interval of the checks of each test's time limit.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);
/// How long helpers may take to report after their process has ended: their data is in the pipe already.
const HELPER_TIMEOUT: Duration = Duration::from_millis(20);
/// Length of the kept stderr and stdout tail of a process, in bytes, for a test during which it ended.
const MAX_TAIL: usize = 2 << 10;
/// Lines before the stack of a process that has crashed.
const MAX_REASON: usize = 2;
/// Maximum number of tests that an error names when it is unknown which of them ended the process.
const MAX_CANDIDATES: usize = 10;

/// Options of a run, independent of the framework.
#[derive(Debug, Clone)]
pub struct TestRunOptions {
    /// Run what was built before.
    pub no_build: bool,
    /// Set, or with `None` unset, in the environment of the tests.
    pub env: Vec<(String, Option<String>)>,
    /// Further arguments of the framework's runner.
    pub arguments: Vec<String>,
    /// The Python to run tests with.
    pub python: Option<String>,
    /// A settings file of the .NET test platform (`.runsettings`).
    pub settings: Option<String>,
    /// The build configuration, where the tool has several.
    pub configuration: Option<String>,
    /// No test may run longer.
    pub test_limit: Option<Duration>,
    /// Time limit of the whole run.
    pub run_limit: Duration,
    /// The exception that a run before has failed with: a debugger stops where it is thrown.
    pub known: Option<KnownException>,
}

/// An exception that a test fails with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownException {
    /// Its type; empty when only the message of the result is known.
    pub kind: String,
    /// Its message, or that of the result.
    pub message: String,
}

impl KnownException {
    /// Whether an exception is this one.
    pub fn is(&self, kind: &str, message: &str) -> bool {
        // As Rust has it: `thread 'a' panicked at src/lib.rs:1:2:`, then the message.
        let is_place = |line: &&str| line.starts_with("thread '") && line.contains(" panicked at ");
        let first = message.trim().lines().find(|line| !is_place(line)).unwrap_or_default();
        // As rdbg has it: `#<ArgumentError: no price> is raised.`
        let first = first.trim_start_matches("#<").trim_end_matches("> is raised.");
        (self.kind.is_empty() || self.kind == kind) && self.message.contains(first)
    }
}

impl Default for TestRunOptions {
    fn default() -> Self {
        Self {
            no_build: false,
            env: Vec::new(),
            arguments: Vec::new(),
            python: None,
            settings: None,
            configuration: None,
            test_limit: None,
            run_limit: tandem_workspace::build::RUN_TIMEOUT,
            known: None,
        }
    }
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
}

/// A run of tests and its state.
pub struct FrameworkRun<'a> {
    /// The project with the tests.
    pub project: &'a Project,
    /// Options of the call for this run.
    pub options: &'a TestRunOptions,
    /// The only target framework to run, if the call names one.
    pub framework: Option<&'a str>,
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

/// Reads what a process with tests prints.
pub trait OutputReader: Send {
    /// One line, without its end. The report may contain lines that
    /// [`hides`](Self::hides) hides from the output.
    fn line(&mut self, stream: OutputStream, line: &str, report: &mut BuildReport, results: &TestResults);

    /// The beginning of a line, whose end may never come.
    fn partial_line(&mut self, _text: &str, _results: &TestResults) {}

    /// Whether the reader handles [`partial_line`](Self::partial_line).
    fn wants_partial_lines(&self) -> bool {
        false
    }

    /// The process has ended.
    fn end(&mut self, _results: &TestResults) {}

    /// Whether a line is the runner's own and no output worth keeping.
    fn hides(&self, _line: &str) -> bool {
        false
    }
}

/// Reads nothing: helpers, files or a protocol report the results.
pub struct NullReader;

impl OutputReader for NullReader {
    fn line(&mut self, _: OutputStream, _: &str, _: &mut BuildReport, _: &TestResults) {}
}

/// A source of results other than the output of a process: a pipe, a protocol.
pub trait ResultSource: Send {
    /// Collects reports while the process runs; returns only if it cannot continue.
    /// May be dropped at any time.
    fn follow<'a>(&'a mut self, results: &'a TestResults) -> BoxFuture<'a, Failure>;

    /// Collects the remaining reports when the process has ended.
    fn finish<'a>(&'a mut self, results: &'a TestResults) -> BoxFuture<'a, ()>;

    /// Reason, if known, why the running tests have not ended.
    fn reason(&self) -> Option<&str> {
        None
    }
}

/// A side that reports nothing.
pub struct NoResultSource;

impl ResultSource for NoResultSource {
    fn follow<'a>(&'a mut self, _: &'a TestResults) -> BoxFuture<'a, Failure> {
        Box::pin(std::future::pending())
    }

    fn finish<'a>(&'a mut self, _: &'a TestResults) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl ResultSource for ReportPipe {
    fn follow<'a>(&'a mut self, results: &'a TestResults) -> BoxFuture<'a, Failure> {
        Box::pin(async move {
            Self::follow(self, results).await;
            Failure::cancelled()
        })
    }

    fn finish<'a>(&'a mut self, results: &'a TestResults) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            tokio::time::sleep(HELPER_TIMEOUT).await;
            self.take(results);
        })
    }
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
            framework: None,
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

    /// Runs a process with tests to its end. Tests that it leaves unfinished have failed.
    ///
    /// # Errors
    /// `COMMAND_FAILED` when it cannot be started, `TIMEOUT`, `CANCELLED`.
    pub async fn process(
        &mut self,
        host: &dyn ProcessLauncher,
        launch: ProcessLaunch,
        shown: &str,
        reader: &mut dyn OutputReader,
        side: &mut dyn ResultSource,
    ) -> Result<ProcessExit, Failure> {
        self.show(shown);
        let (left, limit) = (self.time_left(), self.test_limit());
        let (results, end) = (self.results.clone(), self.cancel.child_token());
        let mut sink = OutputForwarder {
            reader,
            report: &mut self.report,
            results: &results,
            say: self.say,
            lines: Default::default(),
            last: BoundedOutput::new(MAX_TAIL),
        };
        let (outcome, late) = {
            let running = host.run(launch, &mut sink, left, &end);
            tokio::pin!(running);
            tokio::select! {
                outcome = &mut running => (outcome, None),
                failure = side.follow(&results) => {
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
        sink.end();
        let tail = sink.last.text();
        side.finish(&results).await;
        let ended = self.conclude(outcome, late, side.reason(), &tail)?;
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

    /// Records what the end of a process means for the tests that it ran.
    fn conclude(
        &self,
        outcome: Result<ProcessExit, Failure>,
        overdue: Option<String>,
        known: Option<&str>,
        tail: &str,
    ) -> Result<ProcessExit, Failure> {
        match (outcome, overdue) {
            (_, Some(_)) => {
                let limit = self.options.test_limit.unwrap_or_default();
                let why =
                    format!("ran longer than {} ms (`testTimeoutMs`); the run was ended", limit.as_millis());
                self.results.fail_running(&why, tail);
                Ok(ProcessExit { code: 124 })
            }
            (Ok(ended), None) => {
                let why = match known {
                    Some(known) => {
                        format!("the process of the tests ended while this test ran{}", reason(known))
                    }
                    None => {
                        format!("the process of the tests ended with {ended} while this test ran")
                    }
                };
                self.results.fail_running(&why, known.unwrap_or(tail));
                Ok(ended)
            }
            (Err(failure), None)
                if failure.code == ErrorCode::Timeout && !self.results.running().is_empty() =>
            {
                let why = format!(
                    "it was still running when the time limit of the run ({} s) was reached",
                    self.options.run_limit.as_secs()
                );
                self.results.fail_running(&why, tail);
                Ok(ProcessExit { code: 124 })
            }
            (Err(failure), None) => Err(failure),
        }
    }

    /// The process failed without reporting which test it ran. Of these tests, the one that has no result, or
    /// whose call is in the output, has failed.
    pub fn fail_crashed_test(
        &self,
        tests: &[TestItem],
        ended: ProcessExit,
        calls: impl Fn(&TestItem) -> String,
    ) {
        let left: Vec<&TestItem> = tests.iter().filter(|test| !self.results.has_result(test)).collect();
        let printed = self.report.output.text();
        let called = left.iter().filter_map(|test| Some((printed.find(&calls(test))?, *test)));
        let guilty = called.min_by_key(|(at, _)| *at).map(|(_, test)| test);
        let only = left.first().copied().filter(|_| left.len() == 1);
        let words = output_tail(&printed);
        match guilty.or(only) {
            Some(test) => {
                self.results.start_test(&test.id);
                let what = format!(
                    "the process of the tests ended with {ended} while this test ran{}",
                    reason(&printed)
                );
                self.results.fail_running(&what, &words);
            }
            None if left.is_empty() => {}
            None => {
                let names: Vec<&str> =
                    left.iter().take(MAX_CANDIDATES).map(|test| test.id.as_str()).collect();
                let more = if left.len() > names.len() { ", …" } else { "" };
                let message = format!(
                    "the process of the tests ended with {ended}; {} tests had not ended: {}{more}",
                    left.len(),
                    names.join(", ")
                );
                self.results.finish_test(TestResult {
                    id: "(process)".into(),
                    outcome: TestStatus::Failed,
                    message,
                    output: words,
                    ..TestResult::default()
                });
            }
        }
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

/// The lines that a runtime prints before the stack of a crashed process, for a message; empty
/// if there is no such stack.
fn reason(printed: &str) -> String {
    let is_call = |line: &&str| line.trim_start().starts_with("at ") && line.starts_with(' ');
    let Some(stack) = printed.lines().position(|line| is_call(&line)) else { return String::new() };
    let before: Vec<&str> =
        printed.lines().take(stack).map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = before.get(before.len().saturating_sub(MAX_REASON)..).unwrap_or_default();
    format!(": {}", last.join(" "))
}

/// The beginning and the end of what was printed.
fn output_tail(printed: &str) -> String {
    let mut kept = BoundedOutput::new(MAX_TAIL);
    kept.push(printed.as_bytes());
    kept.text()
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

/// Passes the output of a process on.
struct OutputForwarder<'a> {
    reader: &'a mut dyn OutputReader,
    report: &'a mut BuildReport,
    results: &'a TestResults,
    say: &'a ProgressSink,
    lines: [LineSplitter; 2],
    last: BoundedOutput,
}

impl Sink for OutputForwarder<'_> {
    fn take(&mut self, stream: OutputStream, bytes: &[u8]) {
        let Self { reader, report, results, say, lines: [out, err], last } = self;
        let lines = if stream == OutputStream::Out { out } else { err };
        lines.push(bytes, |line| take_line(stream, line, *reader, report, results, last));
        if stream == OutputStream::Out && reader.wants_partial_lines() {
            reader.partial_line(&lines.rest(), results);
        }
        // Of tests, the results say more.
        if let Some(line) = report.last_line().filter(|_| results.counts().total() == 0) {
            say(line);
        }
    }
}

impl OutputForwarder<'_> {
    fn end(&mut self) {
        let Self { reader, report, results, lines: [out, err], last, .. } = self;
        for (stream, lines) in [(OutputStream::Out, out), (OutputStream::Err, err)] {
            lines.end(|line| take_line(stream, line, *reader, report, results, last));
        }
        reader.end(results);
    }
}

fn take_line(
    stream: OutputStream,
    line: &str,
    reader: &mut dyn OutputReader,
    report: &mut BuildReport,
    results: &TestResults,
    last: &mut BoundedOutput,
) {
    reader.line(stream, line, report, results);
    if !reader.hides(line) {
        report.say(line);
        last.push(line.as_bytes());
        last.push(b"\n");
    }
}
