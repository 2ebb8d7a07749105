//! Tests of the parser of libtest's output.

use super::*;

fn read(text: &str) -> TestResults {
    let (results, mut reader) = (TestResults::default(), Libtest::new("calc"));
    print(&mut reader, OutputStream::Out, text, &results);
    reader.end(&results);
    results
}

/// Passes the lines of a text to the reader.
fn print(reader: &mut Libtest, stream: OutputStream, text: &str, results: &TestResults) {
    let mut report = BuildReport::new(std::path::Path::new("/w"), 1000);
    for line in text.lines() {
        reader.line(stream, line, &mut report, results);
    }
}

#[test]
fn results_of_a_captured_run_have_message_place_and_output() {
    let text = "\nrunning 4 tests\ntest tests::good ... ok\ntest tests::off ... ignored, not yet\n\
        test tests::panics - should panic ... ok\ntest tests::bad ... FAILED\n\n\
        failures:\n\n---- tests::bad stdout ----\nprinted é\n\n\
        thread 'tests::bad' (12) panicked at src/lib.rs:16:9:\n\
        assertion `left == right` failed\n  left: 3\n right: 4\n\
        note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n\n\
        failures:\n    tests::bad\n\ntest result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 \
        filtered out; finished in 0.00s\n";
    let results = read(text);
    let counts = results.counts();
    assert_eq!((counts.passed, counts.failed, counts.skipped), (2, 1, 1));
    let kept = results.stored_results();
    let failed = &kept.failures[0];
    assert_eq!((failed.id.as_str(), failed.name.as_deref()), ("calc tests::bad", Some("tests::bad")));
    assert_eq!(failed.message, "assertion `left == right` failed\n  left: 3\n right: 4");
    assert_eq!((failed.file.as_deref(), failed.line), (Some("src/lib.rs"), Some(16)));
    assert_eq!((failed.compared.expected.as_deref(), failed.output.as_str()), (Some("4"), "printed é"));
    assert_eq!(kept.skips[0].message, "not yet");
}

#[test]
fn a_failure_without_a_panic_has_a_message_and_a_place() {
    let text = "\nrunning 2 tests\ntest returns ... FAILED\ntest calm - should panic ... FAILED\n\n\
        failures:\n\n---- returns stdout ----\nprinted\nError: ParseIntError { kind: Empty }\n\n\
        ---- calm stdout ----\nquiet\nnote: test did not panic as expected at src/lib.rs:9:4\n\n\
        failures:\n    calm\n    returns\n\ntest result: FAILED. 0 passed; 2 failed; 0 ignored\n";
    let (results, mut reader) = (TestResults::default(), Libtest::new("calc"));
    results.locate_with(std::sync::Arc::new(|id: &str| (id == "calc returns").then(|| ("a.rs".into(), 7))));
    print(&mut reader, OutputStream::Out, text, &results);
    reader.end(&results);
    let shown = |one: &TestResult| {
        format!("{:?}:{:?} {} [{}]", one.file.as_deref(), one.line, one.message, one.output)
    };
    let failures: Vec<String> = results.stored_results().failures.iter().map(shown).collect();
    assert_eq!(
        failures,
        [
            r#"Some("a.rs"):Some(7) Error: ParseIntError { kind: Empty } [printed]"#,
            r#"Some("src/lib.rs"):Some(9) test did not panic as expected at src/lib.rs:9:4 [quiet]"#,
        ]
    );
}

#[test]
fn a_source_is_relative_to_the_workspace() {
    let workspace = tempfile::tempdir().unwrap();
    let member = workspace.path().join("member");
    std::fs::create_dir_all(member.join("src")).unwrap();
    for file in ["Cargo.toml", "member/Cargo.toml", "member/src/lib.rs"] {
        std::fs::write(workspace.path().join(file), "").unwrap();
    }
    let reader = Libtest::new("member").with_sources_of(&member);
    let source = member.join("src/lib.rs").display().to_string();
    assert_eq!(reader.resolve("member/src/lib.rs".into()), source);
    assert_eq!(reader.resolve("/rustc/x/lib.rs".into()), "/rustc/x/lib.rs");
}

#[test]
fn errors_that_nothing_captures_belong_to_the_tests_in_their_order() {
    let (results, mut reader) = (TestResults::default(), Libtest::new("calc"));
    let tests = "running 2 tests\ntest a ... FAILED\ntest b ... FAILED";
    print(&mut reader, OutputStream::Out, tests, &results);
    print(&mut reader, OutputStream::Err, "Error: \"first\"\nError: \"second\"", &results);
    reader.end(&results);
    let failures = results.stored_results().failures;
    assert_eq!(failures[1].message, "Error: \"second\"");
}

#[test]
fn a_program_that_reports_no_tests_has_the_result_of_its_exit() {
    let (results, mut reader) = (TestResults::default(), Libtest::new("calc::own"));
    print(&mut reader, OutputStream::Out, "Feature: sums", &results);
    let passed = reader.result_of_program(ProcessExit { code: 0 }).unwrap();
    assert_eq!((passed.id.as_str(), passed.outcome), ("calc::own main", TestStatus::Passed));
    let failed = reader.result_of_program(ProcessExit { code: 2 }).unwrap();
    assert_eq!((failed.outcome, failed.line), (TestStatus::Failed, None));
    assert_eq!(failed.message, "the program ended with exit code 2");
    assert_eq!(failed.output, "Feature: sums");
    let panic = "thread 'main' panicked at tests/own.rs:8:9:\nthe total is wrong";
    print(&mut reader, OutputStream::Err, panic, &results);
    let failed = reader.result_of_program(ProcessExit { code: 101 }).unwrap();
    assert_eq!((failed.message.as_str(), failed.line), ("the total is wrong", Some(8)));
    assert_eq!(failed.output, "Feature: sums");
    print(&mut reader, OutputStream::Out, "running 1 test", &results);
    assert!(reader.result_of_program(ProcessExit { code: 0 }).is_none());
}

#[test]
fn a_program_that_ends_before_its_summary_is_known() {
    let (results, mut reader) = (TestResults::default(), Libtest::new("calc"));
    // A test calls `std::process::exit(0)` while another one waits.
    print(&mut reader, OutputStream::Out, "\nrunning 3 tests\ntest good ... ok", &results);
    assert!(reader.is_cut());
    let summary =
        "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
    print(&mut reader, OutputStream::Out, summary, &results);
    assert!(!reader.is_cut());
    let other = "running 0 tests\n\ntest result: ok. 0 passed; 0 failed";
    print(&mut reader, OutputStream::Out, other, &results);
    assert!(!reader.is_cut() && results.counts().total() == 1);
}

#[test]
fn a_test_that_runs_alone_is_known_before_it_ends() {
    let (results, mut reader) = (TestResults::default(), Libtest::new("calc"));
    let mut report = BuildReport::new(std::path::Path::new("/w"), 1000);
    let report = &mut report;
    reader.line(OutputStream::Out, "test a ... ok", report, &results);
    reader.partial_line("test b ... ", &results);
    assert_eq!(results.running(), ["calc b"]);
    reader.line(OutputStream::Out, "test b ... printed by it", report, &results);
    reader.line(OutputStream::Err, "thread 'b' panicked at src/lib.rs:3:5:", report, &results);
    reader.line(OutputStream::Err, "explicit panic", report, &results);
    reader.line(OutputStream::Out, "FAILED", report, &results);
    reader.end(&results);
    let failed = &results.stored_results().failures[0];
    assert_eq!((failed.message.as_str(), failed.line), ("explicit panic", Some(3)));
    reader.line(OutputStream::Out, "test c ... read plums", report, &results);
    reader.line(OutputStream::Out, "ok", report, &results);
    assert_eq!(results.counts().passed, 2);
}

#[test]
fn a_failure_whose_reason_was_not_printed_is_kept_back_for_another_run() {
    let (results, reader) = (TestResults::default(), Libtest::new("calc"));
    let mut reader = reader.before_another_run();
    let mut report = BuildReport::new(std::path::Path::new("/w"), 1000);
    reader.line(OutputStream::Out, "running 3 tests", &mut report, &results);
    reader.partial_line("test bad ... ", &results);
    for line in ["test bad ... FAILED", "test good ... ok"] {
        reader.line(OutputStream::Out, line, &mut report, &results);
    }
    reader.end(&results);
    assert!(results.running().is_empty());
    assert_eq!((results.counts().failed, results.counts().passed), (0, 1));
    let unexplained = reader.take_unexplained();
    assert_eq!((unexplained.len(), unexplained[0].id.as_str()), (1, "calc bad"));
}

#[test]
fn a_line_of_the_program_around_an_example_is_not_one_of_the_source() {
    let place = |line: u32| {
        let name = Some("src/lib.rs - add (line 6)".to_owned());
        let (file, line) = (Some("src/lib.rs".to_owned()), Some(line));
        let mut result = TestResult { name, file, line, ..TestResult::default() };
        forget_place_in_wrapper(&mut result);
        result.line
    };
    assert_eq!((place(5), place(40)), (None, Some(40)));
}
