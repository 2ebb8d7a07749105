//! Parser for the output of `ctest --output-on-failure`: a line when a test begins, one when it ends, and the
//! output of one that failed.
//!
//! Not here: GoogleTest programs, which run without ctest ([`super::googletest`]).

use std::sync::LazyLock;

use regex::Regex;
use tandem_workspace::build::report::BuildReport;
use tandem_workspace::process::OutputStream;

use crate::model::{TestItem, TestResult, TestStatus};
use crate::results::TestResults;
use crate::run::output::OutputReader;

/// Lines kept of one failed test.
const MAX_LINES: usize = 500;

static BEGAN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*Start\s+\d+: (?P<name>.+)$").expect("the pattern is a constant, and tested")
});
static ENDED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^\s*\d+/\d+ Test\s+#\d+: (?P<name>.+?) \.{3,}\s*(?P<how>\*{3})?",
        r"(?P<what>[A-Z][A-Za-z: ()]*?)\s+(?P<seconds>[\d.]+) sec",
    ))
    .expect("the pattern is a constant, and tested")
});

/// Parser for the output of one run.
pub(super) struct Ctest {
    tests: Vec<TestItem>,
    failed: Option<(TestResult, Vec<String>)>,
}

impl Ctest {
    /// A parser for the output of these tests.
    pub(super) fn new(tests: &[TestItem]) -> Self {
        Self { tests: tests.to_vec(), failed: None }
    }

    fn flush(&mut self, results: &TestResults) {
        let Some((mut result, lines)) = self.failed.take() else { return };
        let text = lines.join("\n").trim().to_owned();
        // Its output is all that it says.
        result.message = match text.is_empty() {
            true => result.message,
            false => text,
        };
        results.finish_test(result);
    }
}

impl OutputReader for Ctest {
    fn line(&mut self, _: OutputStream, line: &str, _: &mut BuildReport, results: &TestResults) {
        if let Some(found) = BEGAN.captures(line) {
            self.flush(results);
            results.start_test(&found["name"]);
            return;
        }
        let Some(found) = ENDED.captures(line) else {
            if line.contains("% tests passed,") {
                self.flush(results);
            } else if let Some((_, lines)) = self.failed.as_mut().filter(|(_, lines)| lines.len() < MAX_LINES)
            {
                lines.push(line.to_owned());
            }
            return;
        };
        self.flush(results);
        let name = &found["name"];
        let what = found["what"].trim().to_owned();
        let outcome = match what.as_str() {
            "Passed" => TestStatus::Passed,
            "Skipped" | "Not Run (Disabled)" => TestStatus::Skipped,
            _ => TestStatus::Failed,
        };
        let place =
            self.tests.iter().find(|test| test.id == *name).and_then(|test| test.file.clone().zip(test.line));
        let seconds: f64 = found["seconds"].parse().unwrap_or(0.0);
        let (file, line) = place.filter(|_| outcome == TestStatus::Failed).unzip();
        let result = TestResult {
            id: name.to_owned(),
            outcome,
            message: match what.as_str() {
                "Passed" => String::new(),
                "Not Run" => "its program was not found".to_owned(),
                "Timeout" => format!("ran longer than {seconds} s; it was ended"),
                what => what
                    .strip_prefix("Exception: ")
                    .map_or(what.to_owned(), |why| format!("its program crashed: {why}")),
            },
            file,
            line,
            duration_ms: Some((seconds * 1000.0).round() as u64),
            ..TestResult::default()
        };
        match outcome {
            TestStatus::Failed => self.failed = Some((result, Vec::new())),
            TestStatus::Passed | TestStatus::Skipped => results.finish_test(result),
        }
    }

    fn end(&mut self, results: &TestResults) {
        self.flush(results);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_ctest_become_results() {
        let (results, mut reader) = (TestResults::default(), Ctest::new(&[]));
        let mut report = BuildReport::new(std::path::Path::new("/w"), 1000);
        let text = "    Start 1: good\n1/5 Test #1: good .............................   Passed    0.01 \
            sec\n    Start 2: bad\n\
            2/5 Test #2: bad ..............................***Failed    0.00 sec\nit is bad\n\
            \n    Start 3: crashes\n\
            3/5 Test #3: crashes ..........................***Exception: SegFault  0.10 sec\n\
            \n    Start 4: off\n\
            4/5 Test #4: off ..............................***Not Run (Disabled)   0.00 sec\n    Start 5: \
            missing\n\
            Could not find executable no_such_program\nLooked in the following places:\nno_such_program\n\
            5/5 Test #5: missing ..........................***Not Run   0.00 sec\n\n\
            40% tests passed, 3 tests failed out of 5\n";
        for line in text.lines() {
            reader.line(OutputStream::Out, line, &mut report, &results);
        }
        reader.end(&results);
        let counts = results.counts();
        assert_eq!((counts.passed, counts.failed, counts.skipped), (1, 3, 1));
        let failed = results.stored_results().failures;
        assert_eq!(failed[2].message, "its program was not found");
        assert_eq!(
            (failed[0].message.as_str(), failed[1].message.as_str()),
            ("it is bad", "its program crashed: SegFault")
        );
        assert!(results.running().is_empty());
    }
}
