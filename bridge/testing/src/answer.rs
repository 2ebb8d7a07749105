//! The answers of runs and lists: counts, failures first, everything bounded.
//!
//! Not here: the results during a run ([`crate::results`]).

use serde::Serialize;
use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::answer_error::AnswerError;
use tandem_workspace::build::report::{FileDiagnostics, FinishedReport};
use tandem_workspace::process::ProcessExit;

use crate::model::{ComparedValues, TestResult};
use crate::results::TestResults;

/// Failed tests of one answer.
const MAX_FAILURES: usize = 50;
/// Skipped tests of one answer.
const MAX_SKIPS: usize = 20;
/// Passed tests are listed in the answer of a run with no more tests than this.
const MAX_LISTED_TESTS: u64 = 3;
/// Bytes of all failures together.
const MAX_FAILURES_BYTES: usize = 24 << 10;
/// Bytes of one failure's message, at least and at most.
const MESSAGE_BYTES_BOUNDS: (usize, usize) = (300, 4 << 10);
/// Bytes of one test's own output, at most.
const MAX_OUTPUT_BYTES: usize = 1 << 10;
/// Bytes of the runner's output when all went well: its end.
const MAX_QUIET_BYTES: usize = 512;
/// Calls of the user's own code in one failure.
const MAX_CALLS: usize = 5;

/// Outcome of a run, apart from its tests.
pub(crate) struct RunSummary<'a> {
    /// The framework's name.
    pub tool: &'a str,
    /// The command that was run.
    pub command: String,
    /// The folder in which it ran.
    pub folder: &'a str,
    /// Exit code of the last process.
    pub exit_code: i32,
    /// Duration of the run, in milliseconds.
    pub duration_ms: u64,
    /// A build or a source is broken.
    pub broken: bool,
    /// A debugger started the tests: an adapter may not know how a program ended.
    pub debugged: bool,
}

/// The answer of a run of tests.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TestRunAnswer {
    tool: String,
    command: String,
    folder: String,
    /// Exit code of the last process.
    pub exit_code: i32,
    duration_ms: u64,
    /// Errors and warnings of the build.
    #[serde(flatten)]
    pub problems: BuildProblems,
    /// The output of the runner, where it explains the outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tests: Option<TestsReport>,
    /// Why the run has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<AnswerError>,
    /// Number of runs that have ended, if the call asked for several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,
}

/// Errors and warnings of a build.
#[derive(Debug, Clone, Default, Serialize)]
pub struct BuildProblems {
    /// Number of errors, if there is any problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warnings: Option<u64>,
    /// The errors and warnings by file, when the build failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<FileDiagnostics>,
    /// Diagnostics that are not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<u64>,
}

/// Counts and results of tests.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TestsReport {
    total: u64,
    /// Number of tests that passed.
    pub passed: u64,
    /// Number of tests that failed.
    pub failed: u64,
    skipped: u64,
    /// The failed tests, as many as fit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<ResultSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failures_omitted: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skips: Vec<SkippedTest>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    passes: Vec<ResultSummary>,
}

/// A test that was skipped, with the reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
struct SkippedTest {
    name: String,
    reason: String,
}

/// One result, as an agent reads it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultSummary {
    name: String,
    /// The id of the test, if it differs from the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Why it failed or was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(flatten)]
    compared: ComparedValues,
    /// The source, relative to the folder of the project if it is in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    /// Calls of the user's own code.
    #[serde(skip_serializing_if = "Option::is_none")]
    stack: Option<String>,
    /// The end of the test's own output.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    framework: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
}

impl TestRunAnswer {
    /// The answer with a failure as its `error`.
    pub fn with_error(self, failure: Failure) -> Self {
        Self { error: Some(failure.into()), ..self }
    }
}

/// Builds the answer of a run.
pub(crate) fn of(ran: &RunSummary<'_>, written: FinishedReport, results: &TestResults) -> TestRunAnswer {
    let counts = results.counts();
    let explained =
        counts.failed > 0 && results.stored_results().failures.iter().all(|one| !one.message.is_empty());
    let quiet = counts.total() > 0 && counts.failed == 0 && !ran.broken && ran.exit_code == 0;
    let output = if quiet { end_of(&written.output, MAX_QUIET_BYTES) } else { written.output.as_str() };
    let is_output_shown = !output.is_empty() && (!explained || ran.broken);
    TestRunAnswer {
        tool: ran.tool.to_owned(),
        command: ran.command.clone(),
        folder: ran.folder.to_owned(),
        exit_code: ran.exit_code,
        duration_ms: ran.duration_ms,
        output: is_output_shown.then(|| output.to_owned()),
        tests: (counts.total() > 0).then(|| tests(ran.folder, results)),
        error: error(ran, (written.errors, written.warnings), results),
        runs: None,
        problems: BuildProblems::of(written, ran.broken),
    }
}

impl BuildProblems {
    fn of(written: FinishedReport, broken: bool) -> Self {
        let has_any = written.errors + written.warnings > 0;
        // Warnings of a build that succeeded are what `build` is called for.
        let are_listed = written.errors > 0 || broken;
        Self {
            errors: has_any.then_some(written.errors),
            warnings: has_any.then_some(written.warnings),
            diagnostics: are_listed.then_some(written.diagnostics),
            omitted: Some(written.omitted).filter(|omitted| are_listed && *omitted > 0),
        }
    }
}

fn error(ran: &RunSummary<'_>, (errors, warnings): (u64, u64), results: &TestResults) -> Option<AnswerError> {
    let counts = results.counts();
    let ended = ProcessExit { code: ran.exit_code };
    let (code, what, hint) = if counts.failed > 0 {
        let missing = Some(results.missing_counts().0).filter(|missing| *missing > 0 && !ran.debugged);
        let left = missing.map(|missing| format!("; {missing} others did not run")).unwrap_or_default();
        let what = format!("{} of {} tests failed{left}", counts.failed, counts.total());
        (ErrorCode::TestsFailed, what, "debug_launch_test stops where one fails")
    } else if ran.broken {
        let what = match ran.command.as_str() {
            // A user would not type the commands that list tests.
            "" => format!("the tests cannot be listed: {errors} errors, {warnings} warnings"),
            command => format!("`{command}` failed with {ended}: {errors} errors, {warnings} warnings"),
        };
        let hint = match errors {
            0 => "`output` says why",
            _ => "`diagnostics` says what and where (LSP: lines from 0)",
        };
        (ErrorCode::BuildFailed, what, hint)
    } else if ran.exit_code != 0 && counts.total() == counts.skipped {
        let what = format!("`{}` failed with {ended} before any test ran", ran.command);
        (ErrorCode::BuildFailed, what, "`output` says why")
    } else if ran.exit_code != 0 && !ran.debugged {
        let what = format!("`{}` ended with {ended}, though no test failed", ran.command);
        (ErrorCode::CommandFailed, what, "`output` says why; tests may be missing")
    } else if let (missing @ 1.., planned) = results.missing_counts()
        && !ran.debugged
    {
        let what =
            format!("{missing} of {planned} tests did not run: `{}` ended before its last test", ran.command);
        (ErrorCode::CommandFailed, what, "a test, or code that runs after it, may end the process")
    } else {
        return None;
    };
    Some(AnswerError::new(code, what, hint))
}

/// Counts and results of the tests of a run.
pub fn tests(folder: &str, results: &TestResults) -> TestsReport {
    let (counts, kept) = (results.counts(), results.stored_results());
    let shown = kept.failures.len().clamp(1, MAX_FAILURES);
    let room = (MAX_FAILURES_BYTES / shown).clamp(MESSAGE_BYTES_BOUNDS.0, MESSAGE_BYTES_BOUNDS.1);
    let summary = |result: &TestResult| summarize_result(result, folder, room);
    let failures: Vec<ResultSummary> = kept.failures.iter().take(MAX_FAILURES).map(summary).collect();
    let missing = counts.failed.saturating_sub(failures.len() as u64);
    let are_skips_listed = counts.failed <= MAX_LISTED_TESTS;
    let skips = kept.skips.iter().take(MAX_SKIPS).filter(|_| are_skips_listed).map(|one| SkippedTest {
        name: one.display_name().to_owned(),
        reason: beginning_of(&one.message, MESSAGE_BYTES_BOUNDS.0),
    });
    let are_passes_listed = counts.total() <= MAX_LISTED_TESTS;
    let passes = kept.passes.iter().filter(|_| are_passes_listed).map(summary);
    TestsReport {
        total: counts.total(),
        passed: counts.passed,
        failed: counts.failed,
        skipped: counts.skipped,
        failures_omitted: Some(missing).filter(|missing| *missing > 0),
        failures,
        skips: skips.collect(),
        passes: passes.collect(),
    }
}

/// One result, as an agent reads it. `room`: bytes of its message.
fn summarize_result(result: &TestResult, folder: &str, room: usize) -> ResultSummary {
    let begins = |text: &str| beginning_of(text, room);
    // A message mostly has them.
    let is_in_message =
        |value: &Option<String>| value.as_ref().is_none_or(|value| result.message.contains(value.as_str()));
    let ComparedValues { expected, actual } = &result.compared;
    let compared = match is_in_message(expected) && is_in_message(actual) {
        true => ComparedValues::default(),
        false => ComparedValues {
            expected: Some(begins(expected.as_deref().unwrap_or_default())),
            actual: Some(begins(actual.as_deref().unwrap_or_default())),
        },
    };
    let mut calls: Vec<&str> = Vec::new();
    for line in result.stack.lines().filter(|line| line.contains(folder)) {
        // NUnit numbers and repeats them.
        let line = line.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ')').trim();
        if calls.len() < MAX_CALLS && !calls.contains(&line) {
            calls.push(line);
        }
    }
    let output = result.output.trim_end();
    ResultSummary {
        name: result.display_name().to_owned(),
        id: result.name.as_ref().filter(|name| **name != result.id).map(|_| result.id.clone()),
        message: (!result.message.is_empty()).then(|| begins(result.message.trim())),
        compared,
        file: result.file.as_deref().map(|file| relative(file, folder).to_owned()),
        line: result.line,
        stack: (calls.len() > 1).then(|| calls.join("\n").replace(&format!("{folder}/"), "")),
        output: (!output.is_empty()).then(|| end_of(output, MAX_OUTPUT_BYTES).to_owned()),
        duration_ms: result.duration_ms,
        framework: result.framework.clone(),
        project: result.project.clone(),
    }
}

/// A file as an agent finds it: relative to the folder when it is in it.
pub(crate) fn relative<'a>(file: &'a str, folder: &str) -> &'a str {
    file.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')).unwrap_or(file)
}

fn beginning_of(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most);
    format!("{}… ({} bytes left out)", text.get(..end).unwrap_or_default(), text.len() - end)
}

fn end_of(text: &str, most: usize) -> &str {
    text.get(text.ceil_char_boundary(text.len().saturating_sub(most))..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TestStatus;

    #[test]
    fn many_long_failures_stay_bounded_and_are_counted() {
        let results = TestResults::default();
        for number in 0..1000 {
            results.finish_test(TestResult {
                id: format!("test {number}"),
                outcome: TestStatus::Failed,
                message: "é".repeat(20_000),
                output: "x".repeat(50_000),
                ..TestResult::default()
            });
        }
        let tests = tests("/w", &results);
        let size = serde_json::to_string(&tests).unwrap().len();
        assert!(size < 120_000, "{size}");
        assert_eq!((tests.failed, tests.failures_omitted), (1000, Some(950)));
    }

    #[test]
    fn a_run_without_a_failure_succeeds_only_if_all_its_tests_ran() {
        let error = |exit_code: i32, debugged: bool, planned: u64, passed: u64| {
            let results = TestResults::default();
            results.plan(planned);
            for number in 0..passed {
                results.finish_test(TestResult { id: format!("test {number}"), ..TestResult::default() });
            }
            let command = "pytest".to_owned();
            let (tool, folder, duration_ms, broken) = ("pytest", "/w", 1, false);
            let ran = RunSummary { tool, command, folder, exit_code, duration_ms, broken, debugged };
            let report = tandem_workspace::build::report::BuildReport::new(std::path::Path::new("/w"), 100);
            let error = of(&ran, report.finish(), &results).error;
            error.map(|error| format!("{}: {}", error.code, error.message))
        };
        assert_eq!(error(0, false, 2, 2), None);
        let expected = "COMMAND_FAILED: `pytest` ended with exit code 137 (SIGKILL), though no test failed";
        assert_eq!(error(137, false, 0, 2).as_deref(), Some(expected));
        let expected = "COMMAND_FAILED: 1 of 3 tests did not run: `pytest` ended before its last test";
        assert_eq!(error(0, false, 3, 2).as_deref(), Some(expected));
        // An adapter may not know the exit code, and a user may end the session.
        assert_eq!((error(-1, true, 0, 2), error(0, true, 3, 2)), (None, None));
        let before = "BUILD_FAILED: `pytest` failed with exit code 3 before any test ran";
        assert_eq!(error(3, false, 0, 0).as_deref(), Some(before));
    }

    #[test]
    fn a_runner_that_ends_at_the_first_failure_leaves_tests_that_did_not_run() {
        for (planned, debugged, expected) in [
            (3, false, "1 of 1 tests failed; 2 others did not run"),
            (3, true, "1 of 1 tests failed"),
            (1, false, "1 of 1 tests failed"),
        ] {
            let results = TestResults::default();
            results.plan(planned);
            let outcome = TestStatus::Failed;
            results.finish_test(TestResult { id: "a".into(), outcome, ..TestResult::default() });
            let command = "pytest -x".to_owned();
            let (tool, folder, duration_ms, broken, exit_code) = ("pytest", "/w", 1, false, 1);
            let ran = RunSummary { tool, command, folder, exit_code, duration_ms, broken, debugged };
            let report = tandem_workspace::build::report::BuildReport::new(std::path::Path::new("/w"), 100);
            let error = of(&ran, report.finish(), &results).error.unwrap();
            assert_eq!(error.message, expected);
        }
    }

    #[test]
    fn details_in_the_message_are_not_repeated() {
        let mut result = TestResult {
            id: "a".into(),
            message: "Expected: 4\nActual: 3".into(),
            compared: ComparedValues { expected: Some("4".into()), actual: Some("3".into()) },
            file: Some("/w/src/a.cs".into()),
            stack: "at A() in /w/src/a.cs:line 3\nat B() in /lib/b.cs:line 4\nat C() in /w/c.cs:line 5"
                .into(),
            ..TestResult::default()
        };
        let shown = summarize_result(&result, "/w", 1000);
        assert_eq!((shown.compared.expected, shown.file.as_deref()), (None, Some("src/a.cs")));
        assert_eq!(shown.stack.as_deref(), Some("at A() in src/a.cs:line 3\nat C() in c.cs:line 5"));
        result.message = "differs".into();
        assert_eq!(summarize_result(&result, "/w", 1000).compared.expected.as_deref(), Some("4"));
    }
}
