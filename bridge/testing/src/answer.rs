//! The answers of runs and lists: counts, failures first, everything bounded.
//!
//! Not here: the results during a run ([`crate::results`]).

use dap_wire::{ErrorCode, Failure};
use serde_json::{Map, Value, json};
use workspace_tools::build::report::FinishedReport;
use workspace_tools::process::ProcessExit;

use crate::model::TestResult;
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
pub struct RunSummary<'a> {
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

/// Builds the answer of a run.
pub fn of(ran: &RunSummary<'_>, written: FinishedReport, results: &TestResults) -> Value {
    let counts = results.counts();
    let tests = tests(ran.folder, results);
    let explained =
        counts.failed > 0 && results.stored_results().failures.iter().all(|one| !one.message.is_empty());
    let mut answer = json!({ "tool": ran.tool, "command": ran.command, "folder": ran.folder,
        "exitCode": ran.exit_code, "durationMs": ran.duration_ms });
    if written.errors + written.warnings > 0 {
        answer["errors"] = json!(written.errors);
        answer["warnings"] = json!(written.warnings);
    }
    // Warnings of a build that succeeded are what `build` is called for.
    if written.errors > 0 || ran.broken {
        answer["diagnostics"] = json!(written.diagnostics);
        if written.omitted > 0 {
            answer["omitted"] = json!(written.omitted);
        }
    }
    let quiet = counts.total() > 0 && counts.failed == 0 && !ran.broken && ran.exit_code == 0;
    let output = if quiet { end_of(&written.output, MAX_QUIET_BYTES) } else { written.output.as_str() };
    if !output.is_empty() && (!explained || ran.broken) {
        answer["output"] = json!(output);
    }
    if counts.total() > 0 {
        answer["tests"] = tests;
    }
    if let Some(error) = error(ran, &read_counts(&answer), results) {
        answer["error"] = error;
    }
    answer
}

fn read_counts(answer: &Value) -> (u64, u64) {
    (answer["errors"].as_u64().unwrap_or(0), answer["warnings"].as_u64().unwrap_or(0))
}

fn error(ran: &RunSummary<'_>, (errors, warnings): &(u64, u64), results: &TestResults) -> Option<Value> {
    let counts = results.counts();
    let ended = ProcessExit { code: ran.exit_code };
    let (code, what, hint) = if counts.failed > 0 {
        let what = format!("{} of {} tests failed", counts.failed, counts.total());
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
    Some(json!({ "code": code.as_str(), "message": what, "hint": hint }))
}

/// Counts and results of the tests as JSON.
pub fn tests(folder: &str, results: &TestResults) -> Value {
    let (counts, kept) = (results.counts(), results.stored_results());
    let mut tests = json!({ "total": counts.total(), "passed": counts.passed, "failed": counts.failed,
        "skipped": counts.skipped });
    let shown = kept.failures.len().clamp(1, MAX_FAILURES);
    let room = (MAX_FAILURES_BYTES / shown).clamp(MESSAGE_BYTES_BOUNDS.0, MESSAGE_BYTES_BOUNDS.1);
    let failures: Vec<Value> =
        kept.failures.iter().take(MAX_FAILURES).map(|one| summarize_result(one, folder, room)).collect();
    if !failures.is_empty() {
        tests["failures"] = json!(failures);
    }
    let missing = counts.failed.saturating_sub(failures.len() as u64);
    if missing > 0 {
        tests["failuresOmitted"] = json!(missing);
    }
    let skips: Vec<Value> = kept
        .skips
        .iter()
        .take(MAX_SKIPS)
        .map(|one| {
            json!({ "name": one.display_name(), "reason": beginning_of(&one.message,
            MESSAGE_BYTES_BOUNDS.0) })
        })
        .collect();
    if !skips.is_empty() && counts.failed <= MAX_LISTED_TESTS {
        tests["skips"] = json!(skips);
    }
    if counts.total() <= MAX_LISTED_TESTS && !kept.passes.is_empty() {
        tests["passes"] = kept.passes.iter().map(|one| summarize_result(one, folder, room)).collect();
    }
    tests
}

/// One result, as an agent reads it. `room`: bytes of its message.
pub fn summarize_result(result: &TestResult, folder: &str, room: usize) -> Value {
    let mut brief = Map::new();
    brief.insert("name".into(), json!(result.display_name()));
    if result.name.as_ref().is_some_and(|name| *name != result.id) {
        brief.insert("id".into(), json!(result.id));
    }
    let mut put = |key: &str, value: Value| drop(brief.insert(key.into(), value));
    if !result.message.is_empty() {
        put("message", json!(beginning_of(result.message.trim(), room)));
    }
    // A message mostly has them.
    let is_in_message = |value: &String| value.is_empty() || result.message.contains(value.as_str());
    if !(result.compared.expected.as_ref().is_none_or(is_in_message)
        && result.compared.actual.as_ref().is_none_or(is_in_message))
    {
        put("expected", json!(beginning_of(result.compared.expected.as_deref().unwrap_or_default(), room)));
        put("actual", json!(beginning_of(result.compared.actual.as_deref().unwrap_or_default(), room)));
    }
    if let Some(file) = &result.file {
        put("file", json!(relative(file, folder)));
    }
    if let Some(line) = result.line {
        put("line", json!(line));
    }
    let mut calls: Vec<&str> = Vec::new();
    for line in result.stack.lines().filter(|line| line.contains(folder)) {
        // NUnit numbers and repeats them.
        let line = line.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ')').trim();
        if calls.len() < MAX_CALLS && !calls.contains(&line) {
            calls.push(line);
        }
    }
    if calls.len() > 1 {
        put("stack", json!(calls.join("\n").replace(&format!("{folder}/"), "")));
    }
    if !result.output.trim().is_empty() {
        put("output", json!(end_of(result.output.trim_end(), MAX_OUTPUT_BYTES)));
    }
    if let Some(duration) = result.duration_ms {
        put("durationMs", json!(duration));
    }
    if let Some(framework) = &result.framework {
        put("framework", json!(framework));
    }
    if let Some(project) = &result.project {
        put("project", json!(project));
    }
    Value::Object(brief)
}

/// A file as an agent finds it: relative to the folder when it is in it.
pub fn relative<'a>(file: &'a str, folder: &str) -> &'a str {
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

/// A failure as the `error` of an answer, with what the run has to say besides.
pub fn with_error(mut answer: Value, failure: &Failure) -> Value {
    answer["error"] = json!({ "code": failure.code.as_str(), "message": failure.message });
    if let Some(hint) = &failure.hint {
        answer["error"]["hint"] = json!(hint);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ComparedValues, TestStatus};

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
        let size = tests.to_string().len();
        assert!(size < 120_000, "{size}");
        assert_eq!((&tests["failed"], &tests["failuresOmitted"]), (&json!(1000), &json!(950)));
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
            let report = workspace_tools::build::report::BuildReport::new(std::path::Path::new("/w"), 100);
            let error = of(&ran, report.finish(), &results)["error"].clone();
            error["code"].as_str().map(|code| format!("{code}: {}", error["message"].as_str().unwrap_or("")))
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
        assert_eq!((&shown["expected"], &shown["file"]), (&Value::Null, &json!("src/a.cs")));
        assert_eq!(shown["stack"], "at A() in src/a.cs:line 3\nat C() in c.cs:line 5");
        result.message = "differs".into();
        assert_eq!(summarize_result(&result, "/w", 1000)["expected"], "4");
    }
}
