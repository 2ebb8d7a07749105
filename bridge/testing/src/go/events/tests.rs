//! Tests of the parser with lines as Go prints them.

use super::*;

fn events(lines: &[&str], program: bool) -> TestResults {
    let (results, mut report) = (TestResults::default(), BuildReport::new(Path::new("/w"), 1000));
    let mut reader = match program {
        true => GoTestEvents::of_program(Path::new("/w"), "shop", Path::new("/w")),
        false => GoTestEvents::new(Path::new("/w")),
    };
    for line in lines {
        reader.line(OutputStream::Out, line, &mut report, &results);
    }
    reader.end(&results);
    results
}

#[test]
fn events_become_results_with_places() {
    let results = events(
        &[
            r#"{"Action":"run","Package":"shop","Test":"TestBad"}"#,
            r#"{"Action":"output","Package":"shop","Test":"TestBad","Output":"=== RUN   TestBad\n"}"#,
            r#"{"Action":"output","Package":"shop","Test":"TestBad","Output":"printed\n"}"#,
            r#"{"Action":"output","Package":"shop","Test":"TestBad",
                "Output":"    add_test.go:9: got 3,\n"}"#,
            r#"{"Action":"output","Package":"shop","Test":"TestBad","Output":"        want 4\n"}"#,
            r#"{"Action":"output","Package":"shop","Test":"TestBad",
                "Output":"--- FAIL: TestBad (0.01s)\n"}"#,
            r#"{"Action":"fail","Package":"shop","Test":"TestBad","Elapsed":0.01}"#,
            r#"{"Action":"run","Package":"shop","Test":"TestCrash"}"#,
            r#"{"Action":"output","Package":"shop","Output":"SIGABRT: abort\n"}"#,
            r#"{"Action":"fail","Package":"shop","Elapsed":0.2}"#,
        ],
        false,
    );
    let failed = results.stored_results().failures;
    assert_eq!((failed[0].message.as_str(), failed[0].line), ("got 3,\nwant 4", Some(9)));
    assert_eq!((failed[0].output.as_str(), failed[0].duration_ms), ("printed", Some(10)));
    assert_eq!((failed[1].id.as_str(), failed[1].output.as_str()), ("shop TestCrash", "SIGABRT: abort"));
}

#[test]
fn plain_output_of_a_test_program_parses_to_the_same_results() {
    let results = events(
        &[
            "=== RUN   TestRows",
            "=== RUN   TestRows/a_(x)",
            "    add_test.go:9: got 1",
            "=== NAME  TestRows",
            "--- FAIL: TestRows (0.00s)",
            "    --- FAIL: TestRows/a_(x) (0.00s)",
            "FAIL",
        ],
        true,
    );
    let failed = results.stored_results().failures;
    assert_eq!(failed.len(), 2);
    assert_eq!((failed[1].id.as_str(), failed[1].message.as_str()), ("shop TestRows/a_(x)", "got 1"));
}

#[test]
fn output_without_a_line_break_hides_no_result() {
    let results = events(
        &[
            "=== RUN   TestPass",
            "progress...--- PASS: TestPass (0.00s)",
            "=== RUN   TestFail",
            "half a line    nonl_test.go:9: wrong",
            "--- FAIL: TestFail (0.00s)",
            "=== RUN   TestSub",
            "=== RUN   TestSub/a",
            "in a=== RUN   TestSub/b",
            "in b    nonl_test.go:12: later",
            "--- PASS: TestSub (0.00s)",
            "    --- PASS: TestSub/a (0.00s)",
            "    --- SKIP: TestSub/b (0.00s)",
            "=== RUN   TestQuotes",
            "it said --- FAIL: TestPass (0.00s)",
            "--- PASS: TestQuotes (0.00s)",
            "PASS",
        ],
        true,
    );
    let stored = results.stored_results();
    let failed = &stored.failures[0];
    assert_eq!(
        (failed.message.as_str(), failed.line, failed.output.as_str()),
        ("wrong", Some(9), "half a line")
    );
    let counts = results.counts();
    assert_eq!((counts.passed, counts.failed, counts.skipped), (4, 1, 1));
    assert_eq!(stored.skips[0].message, "later");
}

#[test]
fn a_benchmark_passes_unless_go_reports_that_it_failed() {
    let run = |name: &str| format!(r#"{{"Action":"run","Package":"shop","Test":"{name}"}}"#);
    let output = |name: &str, text: &str| {
        format!(r#"{{"Action":"output","Package":"shop","Test":"{name}","Output":"{text}\n"}}"#)
    };
    let mut lines = vec![run("BenchmarkSum"), output("BenchmarkSum", "BenchmarkSum-2 \\t 10\\t 14.00 ns/op")];
    lines.push(r#"{"Action":"pass","Package":"shop"}"#.to_owned());
    let of = |lines: &[String]| {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let counts = events(&lines, false).counts();
        (counts.passed, counts.failed)
    };
    assert_eq!(of(&lines), (1, 0));
    lines.pop();
    lines.extend([run("BenchmarkBad"), r#"{"Action":"fail","Package":"shop","Test":"BenchmarkBad"}"#.into()]);
    lines.extend([run("BenchmarkEnds"), r#"{"Action":"fail","Package":"shop"}"#.into()]);
    assert_eq!(of(&lines), (1, 2));
}

#[test]
fn a_panic_is_placed_in_the_module() {
    let results = events(
        &[
            "=== RUN   TestThrows",
            "--- FAIL: TestThrows (0.00s)",
            "panic: no price [recovered]",
            "goroutine 7 [running]:",
            "testing.tRunner.func1.2({0x1, 0x2})",
            "\t/usr/lib/go/src/testing/testing.go:1632 +0x3fc",
            "shop.price(...)",
            "\t/w/cart.go:12",
        ],
        true,
    );
    assert_eq!(results.counts().failed, 1);
}

#[test]
fn an_example_that_fails_says_what_it_printed_and_should_have() {
    let event = |action: &str, output: &str| {
        format!(r#"{{"Action":"{action}","Package":"shop","Test":"ExampleAdd","Output":"{output}"}}"#)
    };
    let lines = [
        event("run", ""),
        event("output", "=== RUN   ExampleAdd\\n"),
        event("output", "--- FAIL: ExampleAdd (0.00s)\\n"),
        event("output", "got:\\n"),
        event("output", "3\\n"),
        event("output", "want:\\n"),
        event("output", "4\\n"),
        event("fail", ""),
    ];
    let results = events(&lines.each_ref().map(String::as_str), false);
    assert_eq!(results.stored_results().failures[0].message, "got:\n3\nwant:\n4");
}

#[test]
fn an_end_of_the_process_says_why_and_has_a_place() {
    let folder = tempfile::tempdir().unwrap();
    let source = "package shop\n\nfunc TestMaps(t *testing.T) {}\nfunc TestEnds(t *testing.T) {}\n";
    let file = folder.path().join("shop_test.go").display().to_string();
    std::fs::write(&file, source).unwrap();
    let frame = format!("\t{file}:9 +0x65");
    let ended = |lines: &[&str]| {
        let results = TestResults::default();
        let mut reader = GoTestEvents::of_program(folder.path(), "shop", folder.path());
        let mut report = BuildReport::new(folder.path(), 1000);
        for line in lines {
            reader.line(OutputStream::Out, line, &mut report, &results);
        }
        reader.end(&results);
        let failed = results.stored_results().failures.swap_remove(0);
        assert_eq!(failed.file.as_deref(), Some(file.as_str()));
        (failed.message, failed.line)
    };
    let fatal = "fatal error: concurrent map writes";
    let lines = ["=== RUN   TestMaps", fatal, "", "goroutine 8 [running]:", "shop.TestMaps.func1()", &frame];
    assert_eq!(ended(&lines), (fatal.to_owned(), Some(9)));
    let what =
        "the process of the tests ended (exit status 1) while this test ran; its last line is: no price";
    let lines = ["=== RUN   TestEnds/a", "adds", "no price", "exit status 1", "FAIL\tshop\t0.002s"];
    assert_eq!(ended(&lines), (what.to_owned(), Some(4)));
    let lines = ["=== RUN   TestMaps", "=== RUN   TestMaps/a"];
    let parent = "the process of the tests ended while its subtest ran";
    assert_eq!(ended(&lines), (parent.to_owned(), Some(3)));
    // A test prints such words, and fails without a message.
    let lines = ["=== RUN   TestEnds", "fatal error: no header", "--- FAIL: TestEnds (0.00s)"];
    assert_eq!(ended(&lines), ("it failed without a message".to_owned(), Some(4)));
}

#[test]
fn a_package_that_fails_without_a_failed_test_is_an_error() {
    let mut report = BuildReport::new(Path::new("/w"), 1000);
    let (results, mut reader) = (TestResults::default(), GoTestEvents::new(Path::new("/w")));
    for line in [
        r#"{"Action":"output","Package":"shop/a","Output":"no database\n"}"#,
        r#"{"Action":"output","Package":"shop/a","Output":"FAIL\tshop/a\t0.009s\n"}"#,
        r#"{"Action":"fail","Package":"shop/a"}"#,
        r#"{"Action":"output","Package":"shop/b","Output":"FAIL\tshop/b [build failed]\n"}"#,
        r#"{"Action":"fail","Package":"shop/b"}"#,
        r#"{"Action":"run","Package":"shop/c","Test":"TestBad"}"#,
        r#"{"Action":"fail","Package":"shop/c","Test":"TestBad"}"#,
        r#"{"Action":"fail","Package":"shop/c"}"#,
    ] {
        reader.line(OutputStream::Out, line, &mut report, &results);
    }
    let report = report.finish();
    assert_eq!(report.errors, 1);
    let diagnostics = serde_json::to_string(&report.diagnostics).unwrap();
    assert!(diagnostics.contains("none of its tests did; its last line is: no database"), "{diagnostics}");
}
