//! GoogleTest: the list that a program writes as JSON, with the place of each test, and what it prints while
//! it runs them.
//!
//! Not here: the build and the choice of the program ([`super`]), the output of ctest ([`super::ctest`]).

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;
use tandem_wire::{Failure, types};
use tandem_workspace::bounded;
use tandem_workspace::build::report::{BuildDiagnostic, BuildReport};
use tandem_workspace::process::output::CapturedOutput;
use tandem_workspace::process::{OutputStream, ProcessCommand};

use super::listing::CtestEntry;
use super::{CmakeTest, name_of};
use crate::model::{TestHandle, TestItem, TestResult, TestStatus};
use crate::results::TestResults;
use crate::run::FrameworkRun;
use crate::run::output::OutputReader;

/// A larger list is not read.
const MAX_LIST: u64 = 64 << 20;
/// Lines kept of one test.
const MAX_LINES: usize = 500;
/// Beginnings of GoogleTest's own lines before a test.
pub(super) const PREAMBLE: &[&str] =
    &["Note: Google Test filter", "[==========]", "[----------]", "[ RUN      ]", "Running main()"];

static FAILURE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:unknown file|(?P<file>.+?):(?P<line>\d+)): Failure$")
        .expect("the pattern is a constant, and tested")
});
static ENDED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\[\s+(?P<how>OK|FAILED|SKIPPED)\s+\] (?P<name>\S+?)(?:, where .*)? \((?P<ms>\d+) ms\)$")
        .expect("the pattern is a constant, and tested")
});
static COMPARED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"Expected equality of these values:\n  (?P<left>[^\n]*)\n(?:    Which is: (?P<left_is>[^\n]*)\n)?",
        r"  (?P<right>[^\n]*)(?:\n    Which is: (?P<right_is>[^\n]*))?",
    ))
    .expect("the pattern is a constant, and tested")
});

/// The list that a program writes. A field of another type counts as absent.
#[derive(Default, Deserialize)]
#[serde(default)]
struct GoogleTestList {
    #[serde(deserialize_with = "types::list")]
    testsuites: Vec<GoogleTestSuite>,
}

/// The tests of a class.
#[derive(Default, Deserialize)]
#[serde(default)]
struct GoogleTestSuite {
    #[serde(deserialize_with = "types::required")]
    name: String,
    #[serde(deserialize_with = "types::list")]
    testsuite: Vec<GoogleTestCase>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GoogleTestCase {
    #[serde(deserialize_with = "types::optional")]
    name: Option<String>,
    #[serde(deserialize_with = "types::optional")]
    file: Option<String>,
    #[serde(deserialize_with = "types::optional")]
    line: Option<u32>,
}

/// The tests of a program.
pub(super) async fn list(
    run: &mut FrameworkRun<'_>,
    program: &str,
    listed: &CtestEntry,
) -> Result<Vec<TestItem>, Failure> {
    let file = run.scratch.join("googletest.json");
    drop(std::fs::remove_file(&file));
    let output = format!("--gtest_output=json:{}", file.display());
    let mut command = ProcessCommand::new(program, &listed.folder).args(["--gtest_list_tests", &output]);
    for pair in &listed.env {
        if let Some((name, value)) = pair.split_once('=') {
            command = command.env(name, value);
        }
    }
    let mut printed = CapturedOutput::new(64 << 10, 4 << 10);
    let ended = command.run(&mut printed, run.options.run_limit, run.cancel).await?;
    let text = bounded::read(&file, MAX_LIST).unwrap_or_default();
    let Ok(all) = serde_json::from_slice::<GoogleTestList>(&text) else {
        run.status.broken = true;
        let message = format!("does not list its tests: it ended with {ended}");
        run.report.add_diagnostic(&BuildDiagnostic {
            file: program,
            error: true,
            message: &message,
            source: "googletest",
            ..BuildDiagnostic::default()
        });
        return Ok(Vec::new());
    };
    let mut tests = Vec::new();
    for GoogleTestSuite { name: owner, testsuite } in all.testsuites {
        for one in testsuite {
            let Some(own) = one.name else { continue };
            let name = format!("{owner}.{own}");
            let disabled = owner.contains("DISABLED_") || own.starts_with("DISABLED_");
            let file = one.file.map(|file| listed.folder.join(file).display().to_string());
            tests.push(TestItem {
                id: format!("{} {name}", listed.name),
                name: Some(name.clone()),
                file,
                line: one.line,
                traits: listed.labels.clone(),
                skipped: disabled.then(|| "DISABLED_".to_owned()),
                class: owner.clone(),
                handle: TestHandle::new(CmakeTest {
                    command: vec![program.to_owned()],
                    folder: listed.folder.clone(),
                    env: listed.env.clone(),
                    will_fail: false,
                    name: Some(name),
                }),
                ..TestItem::default()
            });
        }
    }
    Ok(tests)
}

/// Reads what a program prints.
pub(super) struct GoogleTest {
    /// Names inside the program, and ids.
    ids: Vec<(String, TestItem)>,
    current: Option<(String, Vec<String>)>,
}

impl GoogleTest {
    /// A reader for a program that runs these tests.
    pub(super) fn new(tests: &[TestItem]) -> Self {
        let name = |test: &TestItem| name_of(test).unwrap_or_default().to_owned();
        Self { ids: tests.iter().map(|test| (name(test), test.clone())).collect(), current: None }
    }

    fn test(&self, name: &str) -> TestItem {
        let found = self.ids.iter().find(|(own, _)| own == name).map(|(_, test)| test.clone());
        found.unwrap_or_else(|| TestItem { id: name.to_owned(), ..TestItem::default() })
    }
}

/// Message, place and output of a test that failed.
fn explain(result: &mut TestResult, lines: &[String]) {
    let (mut messages, mut output, mut inside): (Vec<String>, Vec<&str>, bool) =
        (Vec::new(), Vec::new(), false);
    for line in lines {
        if let Some(found) = FAILURE.captures(line) {
            if result.file.is_none() {
                // Of an exception no place is known.
                result.file = found.name("file").map(|file| file.as_str().to_owned());
                result.line = found.name("line").and_then(|line| line.as_str().parse().ok());
            }
            messages.push(String::new());
            inside = true;
        } else if line.is_empty() {
            inside = false;
        } else if let Some(message) = messages.last_mut().filter(|_| inside) {
            message.push_str(line);
            message.push('\n');
        } else {
            output.push(line);
        }
    }
    result.message = messages.join("\n").trim_end().to_owned();
    result.output = output.join("\n");
    if let Some(found) = COMPARED.captures(&result.message) {
        let value = |which: &str, text: &str| {
            found.name(which).or_else(|| found.name(text)).map(|part| part.as_str().to_owned())
        };
        result.compared.expected = value("left_is", "left");
        result.compared.actual = value("right_is", "right");
    }
}

impl OutputReader for GoogleTest {
    fn line(&mut self, stream: OutputStream, line: &str, _: &mut BuildReport, results: &TestResults) {
        if let Some(name) = line.strip_prefix("[ RUN      ] ") {
            results.start_listed_test(&self.test(name));
            self.current = Some((name.to_owned(), Vec::new()));
            return;
        }
        // Output of a test may precede its result on the same line.
        let tail = line.find("[       OK ] ").or_else(|| line.find("[  FAILED  ] ")).unwrap_or(0);
        let ended = ENDED.captures(line.get(tail..).unwrap_or_default());
        let Some(found) = ended.filter(|_| self.current.is_some()) else {
            if let Some((_, lines)) = &mut self.current
                && stream == OutputStream::Out
                && lines.len() < MAX_LINES
            {
                lines.push(line.to_owned());
            }
            return;
        };
        let lines = self.current.take().map(|(_, lines)| lines).unwrap_or_default();
        let test = self.test(&found["name"]);
        let mut result = TestResult {
            id: test.id,
            name: test.name,
            outcome: match &found["how"] {
                "OK" => TestStatus::Passed,
                "SKIPPED" => TestStatus::Skipped,
                _ => TestStatus::Failed,
            },
            duration_ms: found["ms"].parse().ok(),
            ..TestResult::default()
        };
        match result.outcome {
            TestStatus::Passed => result.output = lines.join("\n"),
            TestStatus::Failed => explain(&mut result, &lines),
            // `file:line: Skipped`, and the reason.
            TestStatus::Skipped => {
                let reason = lines.iter().skip_while(|line| !line.ends_with(": Skipped")).skip(1);
                result.message = reason.cloned().collect::<Vec<_>>().join("\n").trim().to_owned();
            }
        }
        if let Some(file) = result.file.as_ref().filter(|file| !Path::new(file).is_absolute()) {
            result.file = test.file.filter(|own| own.ends_with(file.trim_start_matches("../")));
        }
        results.finish_test(result);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_a_program_becomes_results() {
        let tests = [TestItem {
            id: "cart Cart.Fails".into(),
            handle: TestHandle::new(CmakeTest { name: Some("Cart.Fails".into()), ..CmakeTest::default() }),
            ..TestItem::default()
        }];
        let (results, mut reader) = (TestResults::default(), GoogleTest::new(&tests));
        let mut report = BuildReport::new(Path::new("/w"), 1000);
        let text = "[ RUN      ] Cart.Fails\nprinted\n/w/cart_test.cc:12: Failure\n\
            Expected equality of these values:\n  4\n  sum\n    Which is: 3\n\n\
            [  FAILED  ] Cart.Fails (2 ms)\n[ RUN      ] Cart.Rows/0\nunknown file: Failure\n\
            C++ exception with description \"no\" thrown in the test body.\n\
            [  FAILED  ] Cart.Rows/0, where GetParam() = 1 (0 ms)\n\
            [ RUN      ] Cart.Off\n/w/cart_test.cc:20: Skipped\nnot yet\n\n[  SKIPPED ] Cart.Off (0 ms)\n\
            [ RUN      ] Cart.Good\nno end of line[       OK ] Cart.Good (0 ms)\n\
            [  FAILED  ] 2 tests, listed below:\n[ RUN      ] Cart.Crashes";
        for line in text.lines() {
            reader.line(OutputStream::Out, line, &mut report, &results);
        }
        let counts = results.counts();
        assert_eq!((counts.passed, counts.failed, counts.skipped), (1, 2, 1));
        let kept = results.stored_results();
        let failed = &kept.failures[0];
        assert_eq!(
            (failed.id.as_str(), failed.line, failed.output.as_str()),
            ("cart Cart.Fails", Some(12), "printed")
        );
        let thrown = &kept.failures[1];
        assert_eq!(
            (thrown.message.as_str(), thrown.file.as_deref()),
            ("C++ exception with description \"no\" thrown in the test body.", None)
        );
        assert_eq!(
            (failed.compared.expected.as_deref(), failed.compared.actual.as_deref()),
            (Some("4"), Some("3"))
        );
        assert_eq!(
            (kept.skips[0].message.as_str(), results.running()),
            ("not yet", vec!["Cart.Crashes".to_owned()])
        );
    }
}
