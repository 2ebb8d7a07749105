//! Builds, tests and checks: the files of a folder determine the tool ([`project`]), the tool
//! determines the steps ([`steps`]), and each step has a reader of that tool's format ([`readers`])
//! that fills the [`report`].
//!
//! A build runs any code of the project, with the rights of the user who started the bridge: it is not
//! confined more than a build in a terminal.

pub mod project;
pub mod readers;
pub mod report;
pub mod steps;

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tandem_error::{ErrorCode, Failure};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::answer_error::AnswerError;
use crate::jobs::ProgressSink;
use crate::process::output::LineSplitter;
use crate::process::{ProcessExit, Sink};
use project::Project;
use readers::OutputParser;
use report::{BuildReport, FinishedReport};
use steps::BuildStep;

/// The longest time that anything runs, whether a call waits for it or not.
pub const RUN_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// An action on a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildAction {
    /// Compile the project, without running it.
    Build,
    /// Build and run its tests.
    Test,
    /// Download the dependencies of the project.
    Restore,
    /// Find out what is wrong, as fast as the tool can.
    Check,
}

impl BuildAction {
    /// Name of the action in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Test => "test",
            Self::Restore => "restore",
            Self::Check => "check",
        }
    }
}

/// Which tests of a project to run, and what else to tell their runner.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunnerArguments {
    /// A part of their names, in the runner's own language.
    pub filter: Option<String>,
    /// Further arguments of the runner.
    pub arguments: Vec<String>,
}

/// The answer of `build`, `run_tests`, `restore` and `get_diagnostics`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct BuildResult {
    tool: &'static str,
    /// The command that was run.
    command: String,
    /// The folder in which it ran.
    folder: String,
    exit_code: i32,
    duration_ms: u64,
    #[serde(flatten)]
    report: FinishedReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<AnswerError>,
}

/// Runs an action to its end. For a build or test that fails, the answer contains `error`.
///
/// # Errors
/// `UNSUPPORTED` when the tool has no such action, `COMMAND_FAILED` when it does not
/// start, `TIMEOUT`, `CANCELLED`.
pub async fn run(
    project: Project,
    action: BuildAction,
    chosen: RunnerArguments,
    output_bytes: usize,
    cancel: CancellationToken,
    say: ProgressSink,
) -> Result<Value, Failure> {
    let began = Instant::now();
    let scratch = tempfile::tempdir().map_err(|error| {
        Failure::new(ErrorCode::IoFailed, format!("cannot create a temporary folder: {error}"))
    })?;
    let steps = steps::of(&project, action, &chosen, scratch.path())?;
    let mut report = BuildReport::new(&project.folder, output_bytes);
    let mut code = 0;
    let mut commands = Vec::new();
    for step in steps {
        let line = step.command.line();
        let left = RUN_TIMEOUT.saturating_sub(began.elapsed());
        let ended = run_step(step, &mut report, left, &cancel, &say).await?;
        code = ended.code;
        commands.push(line);
        if !ended.success() {
            break;
        }
    }
    let mut answer = BuildResult {
        tool: project.kind.name(),
        command: commands.join(" && "),
        folder: project.folder.display().to_string(),
        exit_code: code,
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        report: report.finish(),
        error: None,
    };
    // Users do not know the scratch folder.
    answer.command = answer.command.replace(&scratch.path().display().to_string(), "TMP");
    answer.error = cut(&answer)
        .or_else(|| no_tests_error(&answer, action, &chosen))
        .or_else(|| failure_error(&answer, action));
    serde_json::to_value(answer)
        .map_err(|error| Failure::new(ErrorCode::IoFailed, format!("the answer is not JSON: {error}")))
}

/// Runs one step to its end, within the limit; its reader fills the report.
///
/// # Errors
/// `COMMAND_FAILED` when it cannot be started, `TIMEOUT`, `CANCELLED`.
pub async fn run_step(
    step: BuildStep,
    report: &mut BuildReport,
    limit: Duration,
    cancel: &CancellationToken,
    say: &ProgressSink,
) -> Result<ProcessExit, Failure> {
    say(&step.command.line());
    let mut reading = StepSink { reader: step.reader, report, lines: Default::default(), say };
    let ended = step.command.run(&mut reading, limit, cancel).await;
    reading.end();
    ended.map_err(|failure| match failure.code {
        ErrorCode::Timeout => failure.data(json!({ "output": report.output.text() })),
        _ => failure,
    })
}

/// `error` of an answer whose runner ended well, and before its last test.
fn cut(answer: &BuildResult) -> Option<AnswerError> {
    let report = &answer.report;
    let failed = report.tests.as_ref().is_some_and(|tests| tests.failed > 0);
    let why = report.incomplete.as_ref().filter(|_| answer.exit_code == 0 && !failed)?;
    let message = format!("the results of the tests are incomplete: {why}");
    let hint = "a test may have ended the process: read `output`";
    Some(AnswerError::new(ErrorCode::CommandFailed, message, hint))
}

/// `error` of an answer whose filter matched no test, or whose runner found none. Most
/// runners exit with 0 then.
fn no_tests_error(
    answer: &BuildResult,
    action: BuildAction,
    chosen: &RunnerArguments,
) -> Option<AnswerError> {
    let report = &answer.report;
    if action != BuildAction::Test || report.errors > 0 || answer.exit_code != 0 {
        return None;
    }
    let tests = report.tests.as_ref();
    let (message, hint) = match &chosen.filter {
        Some(filter) if tests.is_none_or(|tests| tests.total <= tests.skipped) => {
            let hint = "omit `filter` to run all tests; `output` is what the runner printed";
            (format!("no test ran: `{filter}` matches none"), hint)
        }
        // A tool that prints no counts may have run tests.
        None if tests.is_some_and(|tests| tests.total == 0) => {
            let message = format!("no test ran: `{}` found none", answer.command);
            (message, "name the project or folder of the tests in `projectPath`")
        }
        _ => return None,
    };
    Some(AnswerError::new(ErrorCode::NotFound, message, hint))
}

/// `error` of an answer whose tool reports a failure. A check that finds errors in the code has succeeded.
fn failure_error(answer: &BuildResult, action: BuildAction) -> Option<AnswerError> {
    let report = &answer.report;
    let failed = report.tests.as_ref().map_or(0, |tests| tests.failed);
    // Some runners end well when what they would run does not compile.
    let ran = report.tests.as_ref().map_or(0, |tests| tests.total);
    let broken = action == BuildAction::Test && ran == 0 && report.errors > 0;
    if answer.exit_code == 0 && failed == 0 && !broken || (action == BuildAction::Check && report.errors > 0)
    {
        return None;
    }
    let tests = action == BuildAction::Test && failed > 0;
    let code = if tests { ErrorCode::TestsFailed } else { ErrorCode::BuildFailed };
    let program = answer.command.rsplit(" && ").next().unwrap_or_default();
    let words: Vec<&str> = program.split(' ').take(2).collect();
    let what = match (tests, report.errors, report.warnings) {
        (true, ..) => {
            format!(": {failed} of {} tests failed", report.tests.as_ref().map_or(0, |tests| tests.total))
        }
        (false, 0, 0) => String::new(),
        (false, errors, warnings) => format!(": {errors} errors, {warnings} warnings"),
    };
    let ended = ProcessExit { code: answer.exit_code };
    let message = format!("`{}` failed with {ended}{what}", words.join(" "));
    let hint = if tests {
        "`tests.failures` lists them"
    } else if report.errors > 0 {
        "`diagnostics` lists the errors (LSP: lines from 0)"
    } else {
        "`output` says why"
    };
    Some(AnswerError::new(code, message, hint))
}

/// Feeds a step's output to its reader.
struct StepSink<'a> {
    reader: OutputParser,
    report: &'a mut BuildReport,
    lines: [LineSplitter; 2],
    say: &'a ProgressSink,
}

impl Sink for StepSink<'_> {
    fn take(&mut self, stream: crate::process::OutputStream, bytes: &[u8]) {
        let [out, err] = &mut self.lines;
        let lines = if stream == crate::process::OutputStream::Out { out } else { err };
        lines.push(bytes, |line| self.reader.line(line, self.report));
        if let Some(line) = self.report.last_line() {
            (self.say)(line);
        }
    }
}

impl StepSink<'_> {
    fn end(&mut self) {
        for lines in &mut self.lines {
            lines.end(|line| self.reader.line(line, self.report));
        }
        self.reader.end(self.report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::TestSummary;

    /// The error of a run of tests: its id.
    fn error(filter: Option<&str>, exit_code: i32, read: impl Fn(&mut BuildReport)) -> Option<String> {
        let mut report = BuildReport::new(std::path::Path::new("/w"), 100);
        read(&mut report);
        let answer = BuildResult {
            tool: "npm",
            command: "npm test".into(),
            folder: "/w".into(),
            exit_code,
            duration_ms: 1,
            report: report.finish(),
            error: None,
        };
        let chosen = RunnerArguments { filter: filter.map(str::to_owned), ..RunnerArguments::default() };
        let error = cut(&answer)
            .or_else(|| no_tests_error(&answer, BuildAction::Test, &chosen))
            .or_else(|| failure_error(&answer, BuildAction::Test))?;
        Some(error.code.to_owned())
    }

    #[test]
    fn a_run_in_which_no_test_ran_fails() {
        let counts = |total: u64, skipped: u64| {
            move |report: &mut BuildReport| {
                *report.tests() =
                    TestSummary { total, skipped, passed: total - skipped, ..TestSummary::default() };
            }
        };
        for (filter, tests, expected) in [
            (None, (3, 0), None),
            (None, (0, 0), Some("NOT_FOUND")),
            (None, (2, 2), None),
            (Some("a"), (1, 0), None),
            (Some("a"), (0, 0), Some("NOT_FOUND")),
            // Node 20 counts what a filter leaves out as skipped.
            (Some("a"), (2, 2), Some("NOT_FOUND")),
        ] {
            let found = error(filter, 0, counts(tests.0, tests.1));
            assert_eq!(found.as_deref(), expected, "{filter:?} {tests:?}");
        }
        // A tool that prints no counts may have run tests, and the effect of a filter is unknown.
        assert_eq!(error(None, 0, |_| {}), None);
        assert_eq!(error(Some("a"), 0, |_| {}).as_deref(), Some("NOT_FOUND"));
    }

    #[test]
    fn a_run_whose_results_end_early_fails() {
        let cut = |report: &mut BuildReport| {
            report.tests().total = 1;
            report.tests().passed = 1;
            report.cut("1 of 3 planned tests have a result");
        };
        assert_eq!(error(None, 0, cut).as_deref(), Some("COMMAND_FAILED"));
        assert_eq!(error(None, 1, cut).as_deref(), Some("BUILD_FAILED"));
    }
}
