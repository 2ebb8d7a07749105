//! Real output of tools, as they printed it.

use std::path::Path;

use lsp_types::DiagnosticSeverity;

use super::*;

fn read(mut reader: OutputParser, text: &str) -> crate::build::report::FinishedReport {
    let mut report = BuildReport::new(Path::new("/src/app"), 1 << 20);
    text.lines().for_each(|line| reader.line(line, &mut report));
    reader.end(&mut report);
    report.finish()
}

/// `file line:column severity code message`, places from 0 as LSP has them.
fn diagnostics_of(text: &str) -> Vec<String> {
    let written = read(OutputParser::compiler("test"), text);
    let each = written.diagnostics.iter().flat_map(|(file, list)| list.iter().map(move |one| (file, one)));
    let line = |(file, one): (&String, &lsp_types::Diagnostic)| {
        let severity = if one.severity == Some(DiagnosticSeverity::ERROR) { "error" } else { "warning" };
        let code = match &one.code {
            Some(lsp_types::NumberOrString::String(code)) => code.clone(),
            _ => "-".into(),
        };
        let at = one.range.start;
        format!("{file} {}:{} {severity} {code} {}", at.line, at.character, one.message)
    };
    each.map(line).collect()
}

#[test]
fn lines_of_compilers_are_findings_once() {
    for (text, expected) in [
        (
            "/src/app/Program.cs(5,21): error CS0029: Cannot implicitly convert type 'string' to 'int' \
                [/src/app/app.csproj]",
            "Program.cs 4:20 error CS0029 Cannot implicitly convert type 'string' to 'int'",
        ),
        (
            "     2>Sub/A.cs(7,9,7,12): warning CS0168: The variable 'x' [y] is declared \
                [/src/app/b.csproj::TargetFramework=net9.0]",
            "Sub/A.cs 6:8 warning CS0168 The variable 'x' [y] is declared",
        ),
        (
            "CSC : error CS5001: Program does not contain a static 'Main' method [/src/app/app.csproj]",
            "app.csproj 0:0 error CS5001 Program does not contain a static 'Main' method",
        ),
        (
            "/src/app/app.csproj : error NU1101: Unable to find package x. [/src/app/app.sln]",
            "app.csproj 0:0 error NU1101 Unable to find package x.",
        ),
        (
            "MSBUILD : error MSB1009: Project file does not exist.",
            " 0:0 error MSB1009 Project file does not exist.",
        ),
        (
            "src/a b.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.",
            "src/a b.ts 2:4 error TS2322 Type 'string' is not assignable to type 'number'.",
        ),
        (
            "main.c:3:13: error: 'x' undeclared (first use in this function)",
            "main.c 2:12 error - 'x' undeclared (first use in this function)",
        ),
        (
            "./src/main.c:4:5: warning: unused variable 'y' [-Wunused-variable]",
            "src/main.c 3:4 warning -Wunused-variable unused variable 'y'",
        ),
        (
            "main.cpp:1:10: fatal error: none.h: No such file or directory",
            "main.cpp 0:9 error - none.h: No such file or directory",
        ),
        ("./main.go:4:2: undefined: x", "main.go 3:1 error - undefined: x"),
        ("vet: ./main.go:4:2: undefined: x", "main.go 3:1 error - undefined: x"),
        ("Makefile:2: *** missing separator.  Stop.", "Makefile 1:0 error - missing separator"),
    ] {
        assert_eq!(diagnostics_of(&format!("{text}\nsomething else\n{text}\n")), [expected]);
    }
    for text in [
        "make: *** [Makefile:3: all] Error 1",
        "    0 Error(s)",
        "12:30:01 error: late",
        "note: a.c:3:4: here",
        "http://x:80: error: no",
        "",
    ] {
        assert!(diagnostics_of(text).is_empty(), "{text}: {:?}", diagnostics_of(text));
    }
}

#[test]
fn cmake_says_what_is_wrong_behind_the_place() {
    let text = "CMake Error at CMakeLists.txt:1 (cmake_minimum_required):\n  Compatibility with CMake < 3.5 \
        has been\n-- Configuring done\n  \
        removed from CMake.\n\n  Update the VERSION argument.\n\n\n\
        -- Configuring incomplete, errors occurred!\n\
        main.c:3:13: error: 'x' undeclared\nCMake Warning (dev) at sub/a.cmake:7 (set):\n\
        Call Stack:\n  CMakeLists.txt:4 (include)\n";
    let written = read(OutputParser::cmake(), text);
    let one = &written.diagnostics["CMakeLists.txt"][0];
    let message = "cmake_minimum_required: Compatibility with CMake < 3.5 has been removed from CMake.\n\
        Update the VERSION argument.";
    assert_eq!((one.message.as_str(), one.range.start.line), (message, 0));
    assert_eq!(written.diagnostics["main.c"][0].message, "'x' undeclared");
    assert_eq!(written.diagnostics["sub/a.cmake"][0].message, "set");
    assert_eq!((written.errors, written.warnings), (2, 1));
    assert_eq!(written.output, text);
}

#[test]
fn findings_are_bounded_and_errors_go_first() {
    let mut text: String = (1..=150).map(|line| format!("a.c:{line}:1: warning: w\n")).collect();
    text += "b.c:1:1: error: e\n";
    let written = read(OutputParser::compiler("gcc"), &text);
    assert_eq!((written.errors, written.warnings, written.omitted), (1, 150, 51));
    assert_eq!((written.diagnostics["b.c"].len(), written.diagnostics["a.c"].len()), (1, 99));
}

#[test]
fn rustc_speaks_json() {
    let message = concat!(
        r#"{"reason":"compiler-message","manifest_path":"/src/app/Cargo.toml","message":{"#,
        r#""rendered":"error[E0308]: mismatched types\n","level":"error","code":{"code":"E0308"},"#,
        r#""message":"mismatched types","spans":[{"file_name":"src/main.rs","line_start":2,"line_end":2,"#,
        r#""column_start":18,"column_end":21,"is_primary":true,"label":"expected `u32`"}],"children":[]}}"#,
    );
    let text = format!("{message}\n{{\"reason\":\"build-finished\",\"success\":false}}\n");
    let written = read(OutputParser::cargo(Path::new("/src/app")), &text);
    let one = &written.diagnostics["src/main.rs"][0];
    assert_eq!(one.message, "mismatched types\nexpected `u32`");
    assert_eq!((one.range.start.line, one.range.start.character, one.range.end.character), (1, 17, 20));
    assert_eq!(written.output, "error[E0308]: mismatched types\n");
}

#[test]
fn tap_has_reasons_and_places() {
    let text = "TAP version 13\n# Subtest: good\nok 1 - good\n  ---\n  duration_ms: 1\n  ...\n\
        # Subtest: group\n    # Subtest: bad\n    \
        not ok 1 - bad\n      ---\n      type: 'test'\n      location: '/src/app/a.test.js:6:3'\n      \
        failureType: 'testCodeFailure'\n      \
        error: |-\n        Expected values to be strictly equal:\n        \n        1 !== 2\n        \
        \n      code: 'ERR_ASSERTION'\n      \
        ...\n    1..1\nnot ok 2 - group\n  ---\n  type: 'suite'\n  location: '/src/app/a.test.js:5:1'\n  \
        failureType: 'subtestsFailed'\n  \
        error: '1 subtest failed'\n  ...\nok 3 - off # SKIP\n1..3\n# tests 3\n# suites 1\n# pass 1\n\
        # fail 1\n# cancelled 0\n# skipped 1\n# todo 0\n";
    let tests = read(OutputParser::tap(), text).tests.unwrap();
    assert_eq!((tests.total, tests.passed, tests.failed, tests.skipped), (3, 1, 1, 1));
    assert_eq!(tests.failures.len(), 1);
    let failed = &tests.failures[0];
    assert_eq!(
        (failed.name.as_str(), failed.file.as_deref(), failed.line),
        ("bad", Some("a.test.js"), Some(6))
    );
    assert!(failed.message.ends_with("1 !== 2"), "{failed:?}");
    assert!(read(OutputParser::tap(), "hello\n").tests.is_none());
}

/// The counts, the errors by file, and why the results are not complete.
fn counts_of(reader: OutputParser, text: &str) -> (Option<[u64; 4]>, Vec<String>, Option<String>) {
    let written = read(reader, text);
    let tests = written.tests.map(|tests| [tests.total, tests.passed, tests.failed, tests.skipped]);
    let errors = written.diagnostics.iter().flat_map(|(file, list)| list.iter().map(move |one| (file, one)));
    let errors =
        errors.map(|(file, one)| format!("{file}:{} {}", one.range.start.line, one.message)).collect();
    (tests, errors, written.incomplete)
}

/// The counts that `node --test` prints at the end, for these numbers of all, passed,
/// failed and skipped tests.
fn summary([total, passed, failed, skipped]: [u64; 4]) -> String {
    format!(
        "# tests {total}\n# suites 0\n# pass {passed}\n# fail {failed}\n# cancelled 0\n# skipped {skipped}\n\
            # todo 0\n# duration_ms 81.4\n"
    )
}

#[test]
fn a_file_without_a_test_is_none_of_the_tests_of_node() {
    // A filter that matches nothing: Node 20.18, and Node 22.20 and 24.19.
    let text = "TAP version 13\n# Subtest: good\nok 1 - good # SKIP test name does not match pattern\n  \
        ---\n  duration_ms: 0.85\n  ...\n1..1\n";
    let (tests, ..) = counts_of(OutputParser::tap(), &format!("{text}{}", summary([1, 0, 0, 1])));
    assert_eq!(tests, Some([1, 0, 0, 1]));
    let text = "TAP version 13\n1..0\n# Subtest: add.test.js\n\
        ok 1 - add.test.js\n  ---\n  duration_ms: 98.4\n  type: 'test'\n  ...\n1..1\n";
    let found = counts_of(OutputParser::tap(), &format!("{text}{}", summary([1, 1, 0, 0])));
    assert_eq!(found, (Some([0; 4]), Vec::new(), None));
    // Files without tests: Node 20.18, and Node 24.19.
    for name in ["/src/app/c.test.js", "c.test.js"] {
        let text = format!(
            "TAP version 13\n# Subtest: good\nok 1 - good\n  ---\n  duration_ms: 0.9\n  ...\n# no tests\n\
                # Subtest: {name}\nok 2 - {name}\n  ---\n  \
             duration_ms: 45.2\n  ...\n1..2\n{}",
            summary([2, 2, 0, 0])
        );
        assert_eq!(counts_of(OutputParser::tap(), &text), (Some([1, 1, 0, 0]), Vec::new(), None));
    }
}

#[test]
fn a_file_that_node_cannot_run_is_an_error_of_the_file() {
    let text = "TAP version 13\n# Subtest: good\nok 1 - good\n  ---\n  duration_ms: 0.5\n  type: 'test'\n  \
        ...\n# /src/app/b.test.js:1\n# const x = ;\n\
        #           ^\n# SyntaxError: Unexpected token ';'\n#     at wrapSafe \
        (node:internal/modules/cjs/loader:1804:18)\n# Node.js v24.19.0\n\
        # Subtest: b.test.js\nnot ok 2 - b.test.js\n  ---\n  duration_ms: 85.7\n  type: 'test'\n  location: \
        '/src/app/b.test.js:1:1'\n  \
        failureType: 'testCodeFailure'\n  exitCode: 1\n  signal: ~\n  error: 'test failed'\n  code: \
        'ERR_TEST_FAILURE'\n  ...\n\
        # Subtest: e.test.js\nnot ok 3 - e.test.js\n  ---\n  duration_ms: 41.4\n  type: 'test'\n  location: \
        '/src/app/e.test.js:1:1'\n  \
        failureType: 'testCodeFailure'\n  exitCode: ~\n  signal: 'SIGKILL'\n  error: 'test failed'\n  code: \
        'ERR_TEST_FAILURE'\n  ...\n1..3\n";
    let (tests, errors, incomplete) =
        counts_of(OutputParser::tap(), &format!("{text}{}", summary([3, 1, 2, 0])));
    assert_eq!((tests, incomplete), (Some([1, 1, 0, 0]), None));
    assert_eq!(
        errors,
        ["b.test.js:0 SyntaxError: Unexpected token ';'", "e.test.js:0 its process ended with SIGKILL"]
    );
}

#[test]
fn tap_that_ends_early_is_incomplete() {
    let why = |text: &str| counts_of(OutputParser::tap(), text).2;
    for (text, expected) in [
        ("TAP version 13\n1..3\nok 1 - a\n", Some("1 of 3 planned tests have a result")),
        ("TAP version 13\n1..3\nok 1 - a\nBail out! no database\n", Some("the run bailed out: no database")),
        ("TAP version 13\n# Subtest: a\nok 1 - a\n", Some("the output has no plan")),
        ("TAP version 13\n", Some("the output has no plan")),
        ("1..1\nok 1 - a\n1..2\nok 1 - b\nok 2 - c\n", None),
        // No TAP.
        ("1..3\n", None),
        ("ok 1 - a\n", None),
    ] {
        assert_eq!(why(text).as_deref(), expected, "{text}");
    }
    // A plan without tests means that there are none; with a reason, that they are skipped.
    assert_eq!(counts_of(OutputParser::tap(), "TAP version 13\n1..0\n").0, Some([0; 4]));
    assert_eq!(
        counts_of(OutputParser::tap(), "TAP version 13\n1..0 # SKIP no display\n").0,
        Some([1, 0, 0, 1])
    );
    assert_eq!(counts_of(OutputParser::tap(), "hello\n").0, None);
}

#[test]
fn results_that_are_missing_or_cut_are_incomplete() -> std::io::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("results");
    let path = || file.clone();
    let none = r#"{ "stats": { "suites": 0, "tests": 0, "passes": 0, "pending": 0, "failures": 0 },
        "failures": [] }"#;
    let junit = concat!(
        r#"<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" tests="1">"#,
        r#"<testcase classname="a" name="b" /></testsuite></testsuites>"#,
    );
    for (results, whole) in [
        (ResultFiles::Mocha(path()), none),
        (ResultFiles::Jest(path()), "{}"),
        (ResultFiles::Rspec(path()), "{}"),
        (ResultFiles::Junit(path()), junit),
    ] {
        let mut reads = Vec::new();
        for text in [None, Some(""), whole.get(..whole.len() - 1), Some(whole)] {
            drop(std::fs::remove_file(&file));
            if let Some(text) = text {
                std::fs::write(&file, text)?;
            }
            let mut report = BuildReport::new(Path::new("/src/app"), 1000);
            results.read(&mut report);
            reads.push(report.finish().incomplete.is_none());
        }
        assert_eq!(reads, [false, false, false, true], "{results:?}");
    }
    // Old versions of mocha print their results.
    drop(std::fs::remove_file(&file));
    assert_eq!(counts_of(OutputParser::compiler("npm").with(ResultFiles::Mocha(path())), none).2, None);
    Ok(())
}

#[test]
fn minitest_and_test_unit_without_counts_are_incomplete() {
    // A test calls `exit!(0)`: test-unit 3.5, minitest 5.15.
    for text in [
        "Loaded suite -e\nStarted\nA: \n  test_good:\t\t\t\t\t\t.: (0.000152)\n  test_x:\t\t\t\t\t\t\n",
        "Run options: --verbose --seed 1\n\n# Running:\n\nATest#test_good = 0.00 s = .\n",
    ] {
        assert_eq!(
            counts_of(OutputParser::minitest(), text).2.as_deref(),
            Some("the run ended before its counts")
        );
    }
    let whole = "Loaded suite -e\nStarted\n\nFinished in 0.000316766 seconds.\n\
        1 tests, 1 assertions, 0 failures, 0 errors, 0 pendings, 0 omissions, 0 notifications\n100% passed\n";
    assert_eq!(counts_of(OutputParser::minitest(), whole), (Some([1, 1, 0, 0]), Vec::new(), None));
    // A file that fails to load prevents all tests from running; the exit code reports it.
    assert_eq!(counts_of(OutputParser::minitest(), "-e:1:in `require': syntax error\n").2, None);
}

#[test]
fn files_of_test_runners_are_read() {
    let junit = r#"<testsuites><testsuite>
<testcase classname="test_a" name="test_good" file="test_a.py" line="0"/>
<testcase classname="test_a" name="test_bad" file="test_a.py" line="3">
<failure message="assert 1 == 2">test_a.py:6: in test_bad
    assert 1 == 2
E   assert 1 == 2</failure></testcase>
<testcase classname="test_a" name="test_off" file="test_a.py" line="9"><skipped message="no"/></testcase>
</testsuite></testsuites>"#;
    let mut report = BuildReport::new(Path::new("/src/app"), 100);
    results::xml(junit, &mut report);
    let tests = report.finish().tests.unwrap();
    assert_eq!((tests.total, tests.passed, tests.failed, tests.skipped), (3, 1, 1, 1));
    let failed = &tests.failures[0];
    let message = "test_a.py:6: in test_bad\n    assert 1 == 2\nE   assert 1 == 2";
    assert_eq!((failed.name.as_str(), failed.message.as_str()), ("test_a.test_bad", message));
    assert_eq!((failed.file.as_deref(), failed.line), (Some("test_a.py"), Some(6)));
    // A truncated file is read up to its end.
    for end in 0..junit.len() {
        results::xml(&junit[..end], &mut BuildReport::new(Path::new("/src/app"), 100));
    }
}

#[test]
fn python_says_where_it_does_not_compile() {
    let text = "*** Error compiling './bad.py'...\n  File \"./bad.py\", line 3\n    x = (\n        ^\n\
        SyntaxError: '(' was never closed\n";
    let written = read(OutputParser::python(), text);
    let one = &written.diagnostics["bad.py"][0];
    assert_eq!((one.range.start.line, one.message.as_str()), (2, "'(' was never closed"));
}

#[test]
fn minitest_is_counted_and_placed() {
    let text = "Run options: --verbose --seed 1\n\n# Running:\n\nAddTest#test_bad = 0.00 s = F\n\
        \n  1) Error:\nAddTest#test_err:\n\
        RuntimeError: boom\n    /src/app/test/add_test.rb:8:in `test_err'\n\n  2) Skipped:\n\
        AddTest#test_off [/src/app/test/add_test.rb:7]:\n\
        no\n\n  3) Failure:\nAddTest#test_bad [/src/app/test/add_test.rb:5]:\nExpected: 4\n  Actual: 3\n\n\
        4 runs, 2 assertions, 1 failures, 1 errors, 1 skips\n";
    let tests = read(OutputParser::minitest(), text).tests.unwrap();
    assert_eq!((tests.total, tests.passed, tests.failed, tests.skipped), (4, 1, 2, 1));
    let failed: Vec<_> = tests
        .failures
        .iter()
        .map(|one| (one.name.as_str(), one.message.as_str(), one.file.as_deref(), one.line))
        .collect();
    assert_eq!(
        failed,
        [
            (
                "AddTest#test_err",
                "RuntimeError: boom\n    /src/app/test/add_test.rb:8:in `test_err'",
                Some("test/add_test.rb"),
                Some(8)
            ),
            ("AddTest#test_bad", "Expected: 4\n  Actual: 3", Some("test/add_test.rb"), Some(5)),
        ]
    );
}

#[test]
fn output_of_a_failed_ctest_is_its_message() {
    let text = r#"<testsuite><testcase name="bad" classname="bad" status="fail">
<failure message="Failed"></failure>
<system-out>main.c:3: x is 4</system-out></testcase></testsuite>"#;
    let mut report = BuildReport::new(Path::new("/src/app"), 100);
    results::xml(text, &mut report);
    let tests = report.finish().tests.unwrap();
    assert_eq!(tests.failures[0].message, "main.c:3: x is 4");
}
