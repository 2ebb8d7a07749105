//! Parser for the output of a libtest program: a line for each test, and the output of failed tests at the
//! end. Its JSON format is not stable; this one is documented.
//!
//! Not here: where a test is written ([`super::sources`]).

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Instant;

use regex::Regex;
use tandem_workspace::build::report::BuildReport;
use tandem_workspace::process::{OutputStream, ProcessExit};

use super::own_harness::ONLY_TEST;
use crate::model::{TestResult, TestStatus};
use crate::results::TestResults;
use crate::run::output::OutputReader;

/// Lines kept of one failed test.
const MAX_LINES: usize = 400;

static PANIC: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"panicked at (?P<file>[^:]+):(?P<line>\d+):\d+:?$")
        .expect("the pattern is a constant, and tested")
});
static NO_PANIC: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^note: test did not panic as expected(?: at (?P<file>[^:]+):(?P<line>\d+):\d+)?$")
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
    /// Folders to which a source may be relative: those of the package and its workspace, outer ones first.
    roots: Vec<PathBuf>,
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
    /// The last lines of a program that has not begun tests; `None` once it has.
    before_tests: Option<VecDeque<String>>,
    /// Failed tests whose reasons a program that has ended early did not print; `None` reports them at once.
    unexplained: Option<Vec<TestResult>>,
}

impl Libtest {
    /// A reader for a test program of this name.
    pub(super) fn new(program: &str) -> Self {
        Self {
            program: program.to_owned(),
            roots: Vec::new(),
            begun: None,
            failed: Vec::new(),
            section: None,
            printed: Vec::new(),
            selected: Vec::new(),
            errors: Vec::new(),
            panics: Vec::new(),
            runs: false,
            before_tests: Some(VecDeque::new()),
            unexplained: None,
        }
    }

    /// Keeps failed tests without a reason back, since they will run again if the program ends early.
    pub(super) fn before_another_run(self) -> Self {
        Self { unexplained: Some(Vec::new()), ..self }
    }

    /// The failed tests that were kept back.
    pub(super) fn take_unexplained(&mut self) -> Vec<TestResult> {
        self.unexplained.take().unwrap_or_default()
    }

    /// Whether the program has ended before it summed its tests up.
    pub(super) fn is_cut(&self) -> bool {
        self.runs
    }

    /// The result of a program that is one test and has ended. `None` if it has reported tests.
    pub(super) fn result_of_program(&self, ended: ProcessExit) -> Option<TestResult> {
        let printed = self.before_tests.as_ref()?;
        let mut result =
            TestResult { id: self.id(ONLY_TEST), name: Some(ONLY_TEST.to_owned()), ..TestResult::default() };
        if !ended.success() {
            let lines: Vec<String> = printed.iter().cloned().collect();
            explain(&mut result, &lines);
            result.file = result.file.map(|file| self.resolve(file));
            if result.file.is_none() {
                (result.message, result.output) =
                    (format!("the program ended with {ended}"), lines.join("\n"));
            }
        }
        Some(result)
    }

    /// Resolves the sources that a program of the package in this folder names. They are relative to the
    /// workspace.
    pub(super) fn with_sources_of(mut self, folder: &Path) -> Self {
        let is_package = |folder: &&Path| folder.join("Cargo.toml").is_file();
        self.roots = folder.ancestors().filter(is_package).map(Path::to_owned).collect();
        self.roots.reverse();
        self
    }

    /// The absolute path of a source, if it exists.
    fn resolve(&self, file: String) -> String {
        let known = self.roots.iter().map(|root| root.join(&file)).find(|path| path.is_file());
        known.map_or(file, |path| path.display().to_string())
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
    let place = |found: &regex::Captures<'_>| {
        Some((found.name("file")?.as_str().to_owned(), found.name("line")?.as_str().parse().ok()?))
    };
    let Some(at) = panic else {
        let own: Vec<&str> = lines.iter().filter(|line| !note(line)).map(String::as_str).collect();
        // `Error: ParseIntError { kind: InvalidDigit }`, after what the test printed.
        let why = own.iter().rposition(|line| line.starts_with("Error: ") || NO_PANIC.is_match(line));
        let (printed, message) = own.split_at(why.unwrap_or(0));
        let found = message.first().and_then(|line| NO_PANIC.captures(line));
        (result.file, result.line) = found.as_ref().and_then(place).unzip();
        if !own.is_empty() {
            message.join("\n").trim_start_matches("note: ").trim().clone_into(&mut result.message);
            printed.join("\n").trim().clone_into(&mut result.output);
        }
        return;
    };
    let found = lines.get(at).and_then(|line| PANIC.captures(line));
    (result.file, result.line) = found.as_ref().and_then(place).unzip();
    let mut after: Vec<&str> =
        lines.iter().skip(at + 1).take_while(|line| !note(line)).map(String::as_str).collect();
    // Of a test that should panic with other words.
    let others = lines.iter().skip_while(|line| !line.starts_with("note: panic did not contain"));
    if after.iter().all(|line| !line.starts_with("note: panic did not contain")) {
        after.extend(others.map(String::as_str));
    }
    result.message = after.join("\n").trim().to_owned();
    if let Some(compared) = COMPARED.captures(&result.message) {
        result.compared.actual = Some(compared["left"].to_owned());
        result.compared.expected = Some(compared["right"].to_owned());
    }
    let before: Vec<&str> = lines.iter().take(at).map(String::as_str).collect();
    result.output = before.join("\n").trim().to_owned();
}

/// rustdoc counts the lines of an example from the start of the program that it makes of it. A line above the
/// example, `src/lib.rs - add (line 6)`, is not one of the source.
fn forget_place_in_wrapper(result: &mut TestResult) {
    let begin = result.name.as_deref().and_then(|name| name.strip_suffix(')')?.rsplit_once("(line "));
    let begin = begin.and_then(|(_, line)| line.parse::<u32>().ok());
    if result.line.zip(begin).is_some_and(|(line, begin)| line < begin) {
        (result.file, result.line) = (None, None);
    }
}

impl OutputReader for Libtest {
    fn line(&mut self, stream: OutputStream, line: &str, _: &mut BuildReport, results: &TestResults) {
        if let Some(lines) = &mut self.before_tests {
            lines.extend([line.to_owned()]);
            lines.drain(..lines.len().saturating_sub(MAX_LINES));
        }
        if stream == OutputStream::Err {
            return self.error_line(line);
        }
        if line.starts_with("test result: ") {
            self.runs = false;
        } else if line.starts_with("running ") && (line.ends_with(" test") || line.ends_with(" tests")) {
            (self.runs, self.before_tests) = (true, None);
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
        let errors = std::mem::take(&mut self.errors);
        let mut failed = std::mem::take(&mut self.failed);
        for result in &mut failed {
            let own = self.panics.iter().find(|(name, _)| result.name.as_ref() == Some(name));
            let only = self.panics.first().filter(|_| self.panics.len() == 1);
            if let Some((_, lines)) = own.or(only).filter(|_| result.file.is_none()) {
                explain(result, lines);
            }
        }
        // Tests whose errors nothing captures run one after the other.
        let unexplained = failed.iter_mut().filter(|result| result.message.is_empty());
        for (result, error) in unexplained.zip(errors) {
            result.message = error;
        }
        let is_cut = self.is_cut();
        for mut result in failed {
            if let Some(unexplained) = &mut self.unexplained
                && is_cut
                && result.message.is_empty()
            {
                results.end_without_result(&result.id);
                unexplained.push(result);
                continue;
            }
            forget_place_in_wrapper(&mut result);
            result.file = result.file.map(|file| self.resolve(file));
            results.finish_test(result);
        }
    }
}

#[cfg(test)]
mod tests;
