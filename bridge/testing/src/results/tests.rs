//! Tests of results as they come.

use super::*;

fn result(id: &str, outcome: TestStatus) -> TestResult {
    TestResult { id: id.into(), outcome, ..TestResult::default() }
}

#[test]
fn a_test_counts_once_and_its_worst_result_holds() {
    let results = TestResults::default();
    for outcome in [TestStatus::Passed, TestStatus::Passed, TestStatus::Failed, TestStatus::Passed] {
        results.finish_test(result("a", outcome));
    }
    results.finish_test(TestResult { framework: Some("net8.0".into()), ..result("a", TestStatus::Passed) });
    assert_eq!(results.counts(), Counts { passed: 1, failed: 1, skipped: 0 });
    assert_eq!((results.stored_results().failures.len(), results.stored_results().passes.len()), (1, 1));
    // So does a test of this name in another project.
    for project in ["a.csproj", "b.csproj"] {
        let project = Some(project.to_owned());
        results.finish_test(TestResult { project, ..result("a", TestStatus::Failed) });
    }
    assert_eq!((results.counts().failed, results.stored_results().failures.len()), (3, 3));
}

#[test]
fn tests_with_one_id_count_each() {
    let results = TestResults::default();
    for outcome in [TestStatus::Passed, TestStatus::Failed, TestStatus::Passed] {
        results.start_test("a");
        results.start_test("a");
        results.finish_test(result("a", outcome));
    }
    // What cleans up after the last one fails.
    results.finish_test(result("a", TestStatus::Failed));
    assert_eq!(results.counts(), Counts { passed: 1, failed: 2, skipped: 0 });
    assert_eq!(results.stored_results().failures.len(), 2);
    assert!(results.has_any("a") && results.running().is_empty());
}

#[test]
fn a_plan_is_compared_with_all_results_that_were_reported() {
    let results = TestResults::default();
    assert!(!results.is_planned());
    results.plan(2);
    results.plan(1);
    // Two examples may have one description.
    for _ in 0..2 {
        results.finish_test(result("spec/a_spec.rb::A is valid", TestStatus::Passed));
    }
    assert_eq!((results.counts().total(), results.missing_counts()), (1, (1, 3)));
    results.finish_test(result("tests/test_a.py::test_rows[a-1]", TestStatus::Passed));
    assert_eq!((results.is_planned(), results.missing_counts()), (true, (0, 3)));
    for (id, expected) in [
        ("tests/test_a.py::test_rows", true),
        ("/w/tests/test_a.py::test_rows", true),
        ("tests/test_a.py::test_other", false),
    ] {
        assert_eq!(results.has_any(id), expected, "{id}");
    }
}

#[test]
fn a_test_whose_process_ends_has_failed() {
    let results = TestResults::default();
    results.start_test("a");
    results.enter(TestScope { project: Some("b.csproj".into()), ..TestScope::default() });
    results.start_test("b");
    results.finish_test(result("a", TestStatus::Passed));
    assert_eq!(results.overdue(Duration::ZERO).as_deref(), Some("b"));
    results.fail_running("exit code 139 (SIGSEGV)", "out of memory");
    let failed = results.stored_results().failures;
    assert_eq!((failed[0].id.as_str(), failed[0].output.as_str()), ("b", "out of memory"));
    assert_eq!(failed[0].project.as_deref(), Some("b.csproj"));
    assert_eq!(failed[0].message, "exit code 139 (SIGSEGV)");
    assert!(results.running().is_empty());
}

#[test]
fn a_failure_without_a_place_gets_that_of_its_test() {
    let results = TestResults::default();
    let place = |line| Some(("/w/test_a.py".to_owned(), line));
    for (id, line) in [("a", 3), ("b", 7), ("c", 9)] {
        results.start_test_at(id, place(line));
    }
    results.finish_test(result("a", TestStatus::Failed));
    let own =
        TestResult { file: Some("/w/cart.py".into()), line: Some(1), ..result("b", TestStatus::Failed) };
    results.finish_test(own);
    results.fail_running("exit code 3", "");
    let failures = results.stored_results().failures;
    let places: Vec<_> = failures.iter().map(|one| (one.file.as_deref(), one.line)).collect();
    let test = |line| (Some("/w/test_a.py"), Some(line));
    assert_eq!(places, [test(3), (Some("/w/cart.py"), Some(1)), test(9)]);
}

#[test]
fn a_long_text_keeps_its_beginning_and_its_end() {
    let results = TestResults::default();
    let output = format!("first{}last", "é".repeat(1 << 20));
    results.finish_test(TestResult { output, ..result("a", TestStatus::Failed) });
    let kept = &results.stored_results().failures[0].output;
    assert!(kept.len() < 70_000 && kept.starts_with("first") && kept.ends_with("last"));
}
