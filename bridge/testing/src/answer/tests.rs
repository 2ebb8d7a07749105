//! Tests of answers of runs.

use super::*;
use crate::model::TestStatus;

/// A run of this command that ended with this exit code, and that nothing else is known of.
fn summary(command: &str, exit_code: i32) -> RunSummary<'static> {
    RunSummary {
        tool: "pytest",
        command: command.to_owned(),
        folder: "/w",
        exit_code,
        duration_ms: 1,
        broken: false,
        debugged: false,
        printed: "",
        late_failure: None,
    }
}

fn answer_of(ran: &RunSummary<'_>, results: &TestResults) -> TestRunAnswer {
    let report = tandem_workspace::build::report::BuildReport::new(std::path::Path::new("/w"), 100);
    of(ran, report.finish(), results)
}

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
fn output_that_may_be_of_a_failed_test_is_shown() {
    let shown = |own: &str| {
        let results = TestResults::default();
        let (message, output, outcome) = ("no".to_owned(), own.to_owned(), TestStatus::Failed);
        results.finish_test(TestResult { id: "a".into(), outcome, message, output, ..TestResult::default() });
        let late_failure = Some("the end failed");
        let ran = RunSummary { printed: "printed\n", late_failure, ..summary("dotnet test", 2) };
        answer_of(&ran, &results)
    };
    let answer = shown("");
    assert_eq!(answer.output.as_deref(), Some("printed"));
    assert_eq!(answer.error.unwrap().message, "1 of 1 tests failed; the end failed");
    assert_eq!(shown("its own").output, None);
}

#[test]
fn a_run_without_a_failure_succeeds_only_if_all_its_tests_ran() {
    let error = |exit_code: i32, debugged: bool, planned: u64, passed: u64| {
        let results = TestResults::default();
        results.plan(planned);
        for number in 0..passed {
            results.finish_test(TestResult { id: format!("test {number}"), ..TestResult::default() });
        }
        let error = answer_of(&RunSummary { debugged, ..summary("pytest", exit_code) }, &results).error;
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
        let ran = RunSummary { debugged, ..summary("pytest -x", 1) };
        let error = answer_of(&ran, &results).error.unwrap();
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
        stack: "at A() in /w/src/a.cs:line 3\nat B() in /lib/b.cs:line 4\nat C() in /w/c.cs:line 5".into(),
        ..TestResult::default()
    };
    let shown = summarize_result(&result, "/w", 1000);
    assert_eq!((shown.compared.expected, shown.file.as_deref()), (None, Some("src/a.cs")));
    assert_eq!(shown.stack.as_deref(), Some("at A() in src/a.cs:line 3\nat C() in c.cs:line 5"));
    let installed = "/w/.venv/lib/python3.11/site-packages/_pytest/python.py:187: in pytest_pyfunc_call\n\
        at callFn (/w/node_modules/mocha/lib/runnable.js:394:21)\n/w/vendor/ruby/gems/rspec/a.rb:1:in `run'";
    result.stack = format!("/w/test_a.py:20: in test_a\n{installed}");
    assert_eq!(summarize_result(&result, "/w", 1000).stack, None);
    result.message = "differs".into();
    assert_eq!(summarize_result(&result, "/w", 1000).compared.expected.as_deref(), Some("4"));
}
