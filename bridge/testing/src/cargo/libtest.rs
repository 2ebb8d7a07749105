//! Parser for the output of a libtest program: a line for each test, and the output of failed tests at the
//! end. Its JSON format is not stable; this one is documented.
//!
//! Not here: where a test is written ([`super::sources`]).

use std::sync::LazyLock;
use std::time::Instant;

use regex::Regex;
use tandem_workspace::build::report::BuildReport;
use tandem_workspace::process::OutputStream;

use crate::model::{TestResult, TestStatus};
use crate::results::TestResults;
use crate::run::output::OutputReader;

/// Lines kept of one failed test.
const MAX_LINES: usize = 400;

static PANIC: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"panicked at (?P<file>[^:]+):(?P<line>\d+):\d+:?$")
        .expect("the pattern is a constant, and tested")
});
static THREAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^thread '(?P<name>[^']+)'.* panicked at ").expect("the pattern is a constant, and tested")
});
static RESULT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^test (?P<name>.+?)(?: - should panic)? \.\.\. (?P<how>ok|FAILED|ignored.*)?(?: <[\d.]+s>)?$",
    )
    .expect("the pattern is a constant, and tested")
});
static COMPARED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^ *left: (?P<left>.*)\n *right: (?P<right>.*)$")
        .expect("the pattern is a constant, and tested")
});

/// Parser for one program's output.
pub(super) struct Libtest {
    program: String,
    /// The test whose line has no result yet: with one thread it is printed before the test runs.
    begun: Option<(String, Instant)>,
    /// Failed tests, until what they printed is known.
    failed: Vec<TestResult>,
    /// The section of a failed test.
    section: Option<(String, Vec<String>)>,
    /// Output of a running test, when nothing captures it.
    printed: Vec<String>,
    /// Names of the tests that count; all if empty.
    selected: Vec<String>,
    /// Errors that tests returned, when nothing captures them.
    errors: Vec<String>,
    /// Panics that nothing captures, by their threads, which are named like the tests.
    panics: Vec<(String, Vec<String>)>,
    /// Tests have begun, and the line that sums them up has not come.
    runs: bool,
}

impl Libtest {
    /// A reader for a test program of this name.
    pub(super) fn new(program: &str) -> Self {
        Self {
            program: program.to_owned(),
            begun: None,
            failed: Vec::new(),
            section: None,
            printed: Vec::new(),
            selected: Vec::new(),
            errors: Vec::new(),
            panics: Vec::new(),
            runs: false,
        }
    }

    /// Whether the program has ended before it summed its tests up.
    pub(super) fn is_cut(&self) -> bool {
        self.runs
    }

    /// Counts only these tests: rustdoc runs more tests than its filter names.
    pub(super) fn restrict_to(mut self, names: Vec<String>) -> Self {
        self.selected = names;
        self
    }

    fn id(&self, name: &str) -> String {
        format!("{} {name}", self.program)
    }

    fn result(&mut self, name: &str, how: &str, results: &TestResults) {
        if !self.selected.is_empty() && !self.selected.iter().any(|test| test == name) {
            return;
        }
        let began = self.begun.take().filter(|(begun, _)| begun == name);
        let duration = began.map(|(_, since)| u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX));
        let printed = std::mem::take(&mut self.printed);
        let mut result = TestResult {
            id: self.id(name),
            name: Some(name.to_owned()),
            duration_ms: duration,
            ..TestResult::default()
        };
        match how {
            "ok" => results.finish_test(result),
            "FAILED" => {
                explain(&mut result, &printed);
                self.failed.push(result);
            }
            how => {
                result.outcome = TestStatus::Skipped;
                how.strip_prefix("ignored")
                    .unwrap_or_default()
                    .trim_start_matches([',', ' '])
                    .clone_into(&mut result.message);
                results.finish_test(result);
            }
        }
    }

    /// The section of a failed test has ended.
    fn flush(&mut self) {
        let Some((name, lines)) = self.section.take() else { return };
        if let Some(result) = self.failed.iter_mut().find(|result| result.name.as_deref() == Some(&name)) {
            explain(result, &lines);
        }
    }

    /// Without capture, panics go to stderr.
    fn error_line(&mut self, line: &str) {
        if let Some(found) = THREAD.captures(line) {
            self.panics.push((found["name"].to_owned(), vec![line.to_owned()]));
        } else if line.starts_with("Error: ") {
            self.errors.push(line.to_owned());
        } else if let Some((_, lines)) = self.panics.last_mut()
            && lines.len() < MAX_LINES
        {
            lines.push(line.to_owned());
        }
    }

    fn begin(&mut self, name: &str, results: &TestResults) {
        if self.begun.as_ref().is_none_or(|(begun, _)| begun != name) {
            results.start_test(&self.id(name));
            self.begun = Some((name.to_owned(), Instant::now()));
        }
    }
}

/// The name of a test that starts, and what it has printed on the same line.
fn parse_test_start(line: &str) -> Option<(String, String)> {
    let (name, printed) = line.strip_prefix("test ")?.split_once(" ... ")?;
    Some((name.strip_suffix(" - should panic").unwrap_or(name).to_owned(), printed.to_owned()))
}

/// Message, place and output out of what a failed test printed.
fn explain(result: &mut TestResult, lines: &[String]) {
    let panic = lines.iter().position(|line| PANIC.is_match(line));
    let note = |line: &&String| {
        line.starts_with("note: run with `RUST_BACKTRACE") || line.starts_with("stack backtrace:")
    };
    result.outcome = TestStatus::Failed;
    let Some(at) = panic else {
        // `Error: ParseIntError { kind: InvalidDigit }`
        let own: Vec<&str> = lines.iter().filter(|line| !note(line)).map(String::as_str).collect();
        if !own.is_empty() {
            result.message = own.join("\n").trim().to_owned();
        }
        return;
    };
    let found = lines.get(at).and_then(|line| PANIC.captures(line));
    result.file = found.as_ref().and_then(|found| Some(found.name("file")?.as_str().to_owned()));
    result.line = found.as_ref().and_then(|found| found.name("line")?.as_str().parse().ok());
    let after: Vec<&str> =
        lines.iter().skip(at + 1).take_while(|line| !note(line)).map(String::as_str).collect();
    result.message = after.join("\n").trim().to_owned();
    if let Some(compared) = COMPARED.captures(&result.message) {
        result.compared.actual = Some(compared["left"].to_owned());
        result.compared.expected = Some(compared["right"].to_owned());
    }
    let before: Vec<&str> = lines.iter().take(at).map(String::as_str).collect();
    result.output = before.join("\n").trim().to_owned();
}

impl OutputReader for Libtest {
    fn line(&mut self, stream: OutputStream, line: &str, _: &mut BuildReport, results: &TestResults) {
        if stream == OutputStream::Err {
            return self.error_line(line);
        }
        if line.starts_with("test result: ") {
            self.runs = false;
        } else if line.starts_with("running ") && (line.ends_with(" test") || line.ends_with(" tests")) {
            self.runs = true;
        }
        if let Some((_, lines)) = &mut self.section
            && line != "failures:"
            && !line.starts_with("---- ")
        {
            if lines.len() < MAX_LINES {
                lines.push(line.to_owned());
            }
            return;
        }
        if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            self.flush();
            self.section = Some((name.to_owned(), Vec::new()));
        } else if line == "failures:" {
            self.flush();
        } else if let Some(found) = RESULT.captures(line) {
            let name = found["name"].to_owned();
            match found.name("how") {
                Some(how) => self.result(&name, how.as_str(), results),
                None => self.begin(&name, results),
            }
        } else if let Some((name, printed)) = parse_test_start(line).filter(|_| self.begun.is_none()) {
            // Nothing captures what the test prints: it follows its name.
            self.begin(&name, results);
            self.printed.push(printed);
        } else if let Some((name, _)) = &self.begun {
            let name = name.clone();
            // Output of the test may appear between its name and its result.
            match ["ok", "FAILED"]
                .into_iter()
                .find(|how| line.ends_with(how) && (line == *how || !line.contains(' ')))
            {
                Some(how) => self.result(&name, how, results),
                None if self.printed.len() < MAX_LINES => self.printed.push(line.to_owned()),
                None => {}
            }
        }
    }

    fn partial_line(&mut self, text: &str, results: &TestResults) {
        if let Some(found) = RESULT.captures(text).filter(|found| found.name("how").is_none()) {
            let name = found["name"].to_owned();
            self.begin(&name, results);
        } else if let Some((name, _)) =
            parse_test_start(text).filter(|_| !text.ends_with("ok") && self.begun.is_none())
        {
            self.begin(&name, results);
        }
    }

    fn wants_partial_lines(&self) -> bool {
        true
    }

    fn end(&mut self, results: &TestResults) {
        self.flush();
        for mut result in self.failed.drain(..) {
            let own = self.panics.iter().find(|(name, _)| result.name.as_ref() == Some(name));
            let only = self.panics.first().filter(|_| self.panics.len() == 1);
            if let Some((_, lines)) = own.or(only).filter(|_| result.file.is_none()) {
                explain(&mut result, lines);
            }
            if let (true, [error]) = (result.message.is_empty(), self.errors.as_slice()) {
                result.message.clone_from(error);
            }
            results.finish_test(result);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> TestResults {
        let (results, mut reader) = (TestResults::default(), Libtest::new("calc"));
        let mut report = BuildReport::new(std::path::Path::new("/w"), 1000);
        for line in text.lines() {
            reader.line(OutputStream::Out, line, &mut report, &results);
        }
        reader.end(&results);
        results
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
    fn a_program_that_ends_before_its_summary_is_known() {
        let (results, mut reader) = (TestResults::default(), Libtest::new("calc"));
        let mut report = BuildReport::new(std::path::Path::new("/w"), 1000);
        // A test calls `std::process::exit(0)` while another one waits.
        for line in ["", "running 3 tests", "test good ... ok"] {
            reader.line(OutputStream::Out, line, &mut report, &results);
        }
        assert!(reader.is_cut());
        let summary =
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        reader.line(OutputStream::Out, summary, &mut report, &results);
        assert!(!reader.is_cut());
        for line in ["running 0 tests", "", "test result: ok. 0 passed; 0 failed"] {
            reader.line(OutputStream::Out, line, &mut report, &results);
        }
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
}
