//! Parser for the output of `go test`: JSON events, a line each, or the plain output of a test program that
//! runs without it, with `-test.v`. The output of a test has its messages, with their places.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use tandem_workspace::build::readers::compiler;
use tandem_workspace::build::report::{BuildDiagnostic, BuildReport};
use tandem_workspace::build::steps::GoModules;
use tandem_workspace::process::OutputStream;

use super::crash::{end_message, is_crash, is_stack, last_line};
use super::declarations;
use super::messages::GoEvent;
use crate::model::{TestResult, TestStatus};
use crate::results::TestResults;
use crate::run::output::OutputReader;

/// Bytes kept of one test's output.
const MAX_OUTPUT: usize = 32 << 10;
/// Tests whose output is kept at once.
const MAX_TESTS: usize = 10_000;

static MESSAGE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s+(?P<file>[^\s:]+\.go):(?P<line>\d+): ?(?P<text>.*)$")
        .expect("the pattern is a constant, and tested")
});
static FRAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s+(?P<file>/[^:]+\.go):(?P<line>\d+)").expect("the pattern is a constant, and tested")
});
static ENDED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*--- (?P<how>PASS|FAIL|SKIP): (?P<name>.+) \((?P<seconds>[\d.]+)s\)$")
        .expect("the pattern is a constant, and tested")
});
static BEGAN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^=== (?P<what>RUN|PAUSE|CONT|NAME)\s+(?P<name>.+)$")
        .expect("the pattern is a constant, and tested")
});
static EXPECTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^\s*expected\s*: (?P<value>.*)$").expect("the pattern is a constant, and tested")
});
static ACTUAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^\s*actual\s*: (?P<value>.*)$").expect("the pattern is a constant, and tested")
});

/// Parser for the events of one run.
pub(super) struct GoTestEvents {
    folder: PathBuf,
    modules: GoModules,
    /// The package of a program that runs by itself, and its folder.
    program: Option<(String, PathBuf)>,
    /// The test that prints, in such a program.
    current: String,
    output: HashMap<(String, String), Vec<String>>,
    /// The tests of each package that have not ended.
    running: HashMap<String, Vec<String>>,
    /// Subtests that failed.
    failed: Vec<String>,
    /// A package does not compile.
    pub(super) broken: bool,
}

impl GoTestEvents {
    /// A reader for a module in this folder.
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            modules: GoModules::of(folder),
            program: None,
            current: String::new(),
            output: HashMap::new(),
            running: HashMap::new(),
            failed: Vec::new(),
            broken: false,
        }
    }

    /// A reader for the test program of a package.
    pub(super) fn of_program(folder: &Path, package: &str, own: &Path) -> Self {
        Self { program: Some((package.to_owned(), own.to_owned())), ..Self::new(folder) }
    }

    fn folder(&self, package: &str) -> PathBuf {
        match &self.program {
            Some((own, folder)) if own == package => folder.clone(),
            _ => self.modules.folder_of(package),
        }
    }

    fn keep(&mut self, package: &str, test: &str, line: &str) {
        if self.output.len() >= MAX_TESTS {
            return;
        }
        let kept = self.output.entry((package.to_owned(), test.to_owned())).or_default();
        if kept.iter().map(String::len).sum::<usize>() + line.len() < MAX_OUTPUT {
            kept.push(line.to_owned());
        }
    }

    fn start_test(&mut self, package: &str, test: &str, results: &TestResults) {
        results.start_test(&format!("{package} {test}"));
        let running = self.running.entry(package.to_owned()).or_default();
        if !running.iter().any(|one| one == test) {
            running.push(test.to_owned());
        }
    }

    fn end_test(
        &mut self,
        package: &str,
        test: &str,
        how: TestStatus,
        seconds: Option<f64>,
        results: &TestResults,
    ) {
        if let Some(running) = self.running.get_mut(package) {
            running.retain(|one| one != test);
        }
        let output = self.output.remove(&(package.to_owned(), test.to_owned())).unwrap_or_default();
        let mut result = TestResult {
            id: format!("{package} {test}"),
            name: Some(test.to_owned()),
            outcome: how,
            duration_ms: seconds.map(|seconds| (seconds * 1000.0).round() as u64),
            ..TestResult::default()
        };
        self.explain(&mut result, package, &output);
        if how == TestStatus::Failed {
            let below = self.failed.iter().filter(|id| id.starts_with(&format!("{}/", result.id))).count();
            let package_output = self.output.get(&(package.to_owned(), String::new()));
            if below > 0 && result.message.is_empty() {
                result.message = format!("{below} of its subtests failed");
            } else if let Some(package_output) = package_output.filter(|_| result.message.is_empty()) {
                let panics = package_output.iter().skip_while(|line| !is_crash(line));
                let panics: Vec<String> = panics.cloned().collect();
                self.explain(&mut result, package, &panics);
            }
            if result.message.is_empty() {
                result.message = "it failed without a message".into();
            }
            self.failed.push(result.id.clone());
        }
        self.finish(result, package, test, results);
    }

    /// A failure whose output has no place gets that of the test's function.
    fn finish(&self, mut result: TestResult, package: &str, test: &str, results: &TestResults) {
        if result.outcome == TestStatus::Failed && result.file.is_none() {
            (result.file, result.line) = declarations::find(&self.folder(package), test).unzip();
        }
        results.finish_test(result);
    }

    /// Message, place and output out of what a test printed.
    fn explain(&self, result: &mut TestResult, package: &str, lines: &[String]) {
        let (mut message, mut output, mut in_message) = (Vec::new(), Vec::new(), false);
        for (at, line) in lines.iter().enumerate() {
            let is_fatal = || {
                let rest = lines.get(at..).unwrap_or_default();
                is_crash(line) && (line.starts_with("panic: ") || rest.iter().any(|line| is_stack(line)))
            };
            if line.starts_with("=== ") || ENDED.is_match(line) {
                in_message = false;
            } else if let Some(found) =
                MESSAGE.captures(line).filter(|_| result.outcome != TestStatus::Passed)
            {
                if result.file.is_none() {
                    result.file = Some(self.folder(package).join(&found["file"]).display().to_string());
                    result.line = found["line"].parse().ok();
                }
                message.push(found["text"].to_owned());
                in_message = true;
            } else if in_message && line.starts_with("        ") {
                message.push(line.trim().to_owned());
            } else if result.outcome == TestStatus::Failed && is_fatal() {
                message.push(
                    line.trim_end_matches(" [recovered, repanicked]")
                        .trim_end_matches(" [recovered]")
                        .to_owned(),
                );
                let frames = lines.iter().filter_map(|line| FRAME.captures(line));
                let own =
                    frames.into_iter().find(|found| Path::new(&found["file"]).starts_with(&self.folder));
                if let Some(found) = own.filter(|_| result.file.is_none()) {
                    result.file = Some(found["file"].to_owned());
                    result.line = found["line"].parse().ok();
                }
                // The rest is its stack.
                break;
            } else {
                in_message = false;
                output.push(line.as_str());
            }
        }
        result.message = message.join("\n").trim().to_owned();
        // An example that prints something else ends in `got:`, its output, `want:` and the expected one.
        let compared = output.iter().position(|line| *line == "got:").filter(|at| {
            result.outcome == TestStatus::Failed
                && message.is_empty()
                && output.iter().skip(*at).any(|line| line.starts_with("want"))
        });
        if let Some(at) = compared {
            result.message = output.split_off(at).join("\n").trim().to_owned();
        }
        result.output = output.join("\n").trim_end().to_owned();
        let value =
            |pattern: &Regex| pattern.captures(&result.message).map(|found| found["value"].trim().to_owned());
        (result.compared.expected, result.compared.actual) = (value(&EXPECTED), value(&ACTUAL));
    }

    /// A package has ended, and some of its tests have not: its process did. Of a benchmark, Go reports only
    /// the failure. Returns the output that belongs to none of them.
    fn end_package(&mut self, package: &str, has_passed: bool, results: &TestResults) -> Vec<String> {
        let measured = |test: &String, output: &[String]| {
            test.starts_with("Benchmark") && (has_passed || output.iter().any(|line| line.contains(" ns/op")))
        };
        for test in self.running.get(package).cloned().unwrap_or_default() {
            let output = self.output.get(&(package.to_owned(), test.clone()));
            if measured(&test, output.map_or(&[], Vec::as_slice)) {
                self.end_test(package, &test, TestStatus::Passed, None, results);
            }
        }
        let lost = self.running.remove(package).unwrap_or_default();
        let package_output = self.output.remove(&(package.to_owned(), String::new())).unwrap_or_default();
        // A test with subtests is not the one that ran.
        let is_parent = |test: &String| lost.iter().any(|other| other.starts_with(&format!("{test}/")));
        for test in &lost {
            let own = self.output.remove(&(package.to_owned(), test.clone())).unwrap_or_default();
            let mut result = TestResult {
                id: format!("{package} {test}"),
                name: Some(test.clone()),
                outcome: TestStatus::Failed,
                ..TestResult::default()
            };
            let all: Vec<String> = own.into_iter().chain(package_output.iter().cloned()).collect();
            self.explain(&mut result, package, &all);
            if is_parent(test) {
                result.message = "the process of the tests ended while its subtest ran".into();
            } else if result.message.is_empty() {
                result.message = end_message(&all, &result.output);
                result.output = all.join("\n");
            }
            self.failed.push(result.id.clone());
            self.finish(result, package, test, results);
        }
        package_output
    }

    /// A package whose code outside of tests fails, such as its `TestMain`, has no failed test that says why.
    fn report_package(&self, package: &str, output: &[String], report: &mut BuildReport) {
        let has_failed_test = self.failed.iter().any(|id| id.split(' ').next() == Some(package));
        let is_unbuilt = |line: &String| line.ends_with(" failed]") && line.starts_with("FAIL");
        if has_failed_test || output.iter().any(is_unbuilt) {
            return;
        }
        let why =
            last_line(output.iter().map(String::as_str)).map(|line| format!("; its last line is: {line}"));
        let message =
            format!("`{package}` failed, although none of its tests did{}", why.unwrap_or_default());
        let (file, line) = declarations::find(&self.folder(package), "TestMain").unzip();
        report.add_diagnostic(&BuildDiagnostic {
            file: &file.unwrap_or_else(|| self.folder(package).display().to_string()),
            line: line.unwrap_or_default(),
            error: true,
            message: &message,
            source: "go",
            ..BuildDiagnostic::default()
        });
    }

    fn event(&mut self, event: &GoEvent, report: &mut BuildReport, results: &TestResults) {
        let GoEvent { action, package, test, output, elapsed } = event;
        match action.as_str() {
            "output" | "build-output" => {
                let line = output.trim_end_matches('\n');
                report.say(line);
                if test.is_empty() && action == "build-output" {
                    return compiler::line(line, "go", report);
                }
                self.keep(package, test, line);
            }
            "build-fail" => self.broken = true,
            "run" => self.start_test(package, test, results),
            action @ ("pass" | "fail" | "skip") if !test.is_empty() => {
                let how = match action {
                    "pass" => TestStatus::Passed,
                    "fail" => TestStatus::Failed,
                    _ => TestStatus::Skipped,
                };
                self.end_test(package, test, how, *elapsed, results);
            }
            action @ ("pass" | "fail") => {
                let output = self.end_package(package, action == "pass", results);
                if action == "fail" {
                    self.report_package(package, &output, report);
                }
            }
            _ => {}
        }
    }

    /// A line of a program that runs by itself. A test that prints no line break leaves its output before the
    /// program's lines.
    fn program_line(&mut self, package: &str, line: &str, results: &TestResults) {
        let (before, line) = line.split_at(self.line_start(package, line));
        if !before.trim().is_empty() {
            let current = self.current.clone();
            self.keep(package, &current, before);
        }
        if let Some(found) = BEGAN.captures(line) {
            let name = found["name"].to_owned();
            if &found["what"] == "RUN" {
                self.start_test(package, &name, results);
            }
            self.current = name;
        } else if let Some(found) = ENDED.captures(line) {
            let how = match &found["how"] {
                "PASS" => TestStatus::Passed,
                "FAIL" => TestStatus::Failed,
                _ => TestStatus::Skipped,
            };
            let name = found["name"].to_owned();
            self.end_test(package, &name, how, found["seconds"].parse().ok(), results);
        } else {
            let current = self.current.clone();
            self.keep(package, &current, line);
        }
    }

    /// Where the words of the test program begin in a line; 0 if they are the whole line, or none of it.
    fn line_start(&self, package: &str, line: &str) -> usize {
        let running = self.running.get(package).map_or(&[][..], Vec::as_slice);
        let is_own = |at: usize| {
            let rest = line.get(at..).unwrap_or_default();
            let ended = || {
                ENDED.captures(rest).is_some_and(|found| running.iter().any(|test| *test == found["name"]))
            };
            let printed = || MESSAGE.captures(rest).is_some_and(|found| found["file"].ends_with("_test.go"));
            BEGAN.is_match(rest)
                || rest.starts_with("--- ") && ended()
                || rest.starts_with("    ") && printed()
        };
        let starts = ["=== ", "--- ", "    "].iter().flat_map(|mark| line.match_indices(mark));
        starts.map(|(at, _)| at).filter(|at| is_own(*at)).min().unwrap_or_default()
    }
}

impl OutputReader for GoTestEvents {
    fn line(&mut self, stream: OutputStream, line: &str, report: &mut BuildReport, results: &TestResults) {
        if let Some((package, _)) = self.program.clone() {
            return self.program_line(&package, line, results);
        }
        let event = serde_json::from_str::<GoEvent>(line).ok().filter(|event| !event.action.is_empty());
        match event {
            Some(event) => self.event(&event, report, results),
            None => {
                compiler::line(line, "go", report);
                self.broken |= stream == OutputStream::Err && line.contains("[build failed]");
            }
        }
    }

    fn hides(&self, line: &str) -> bool {
        self.program.is_none() && line.starts_with("{\"")
    }

    fn end(&mut self, results: &TestResults) {
        if let Some((package, _)) = self.program.clone() {
            self.end_package(&package, false, results);
        }
    }
}

#[cfg(test)]
mod tests;
