//! The answers of runs and lists: counts, failures first, everything bounded.
//!
//! Not here: the results during a run ([`crate::results`]).

use serde::Serialize;
use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::answer_error::AnswerError;
use tandem_workspace::build::report::{FileDiagnostics, FinishedReport};
use tandem_workspace::process::ProcessExit;

use crate::installed::is_in_package;
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
    /// Output of the tests that their framework does not assign to them.
    pub printed: &'a str,
    /// Why code that ran after tests failed, although no test did.
    pub late_failure: Option<&'a str>,
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
    // It may be that of a failed test.
    let is_unassigned = || results.stored_results().failures.iter().any(|one| one.output.is_empty());
    let printed = Some(ran.printed.trim_end()).filter(|printed| !printed.is_empty() && is_unassigned());
    TestRunAnswer {
        tool: ran.tool.to_owned(),
        command: ran.command.clone(),
        folder: ran.folder.to_owned(),
        exit_code: ran.exit_code,
        duration_ms: ran.duration_ms,
        output: match is_output_shown {
            true => Some(output.to_owned()),
            false => printed.map(|printed| end_of(printed, MAX_OUTPUT_BYTES).to_owned()),
        },
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
        let late = ran.late_failure.map(|late| format!("; {late}")).unwrap_or_default();
        let what = format!("{} of {} tests failed{left}{late}", counts.failed, counts.total());
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
    } else if let Some(late) = ran.late_failure {
        let hint = "correct the code that runs once after all tests of the class";
        (ErrorCode::CommandFailed, format!("no test failed, but {late}"), hint)
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
    // The part below the folder decides, because the folder itself may be in a package.
    let is_own = |line: &&str| line.split_once(folder).is_some_and(|(_, below)| !is_in_package(below));
    for line in result.stack.lines().filter(is_own) {
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
mod tests;
