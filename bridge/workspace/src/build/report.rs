//! The report of a build: diagnostics by file, tests, and the output as text. All of it is bounded;
//! omitted parts are counted.
//!
//! Not here: the readers of output ([`super::readers`]).

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use lsp_types::{Diagnostic, DiagnosticSeverity, NumberOrString, Position, Range};
use serde::Serialize;
pub use tandem_cargo_messages::CargoArtifact;

use crate::process::output::BoundedOutput;

/// Diagnostics of one answer.
const MAX_DIAGNOSTICS: usize = 100;
/// Failed tests of one answer.
const MAX_FAILURES: usize = 50;
/// Bytes of output in an answer that lists failed tests with their messages, which the output repeats.
const MAX_BRIEF_BYTES: usize = 2 << 10;
/// Bytes of one message.
const MAX_MESSAGE: usize = 4 << 10;

/// Diagnostics by file, relative to the folder; those without a file have an empty key.
pub type FileDiagnostics = BTreeMap<String, Vec<Diagnostic>>;

/// A diagnostic, as its tool places it: lines and columns from 1, 0 when unknown.
#[derive(Debug, Clone, Default)]
pub struct BuildDiagnostic<'a> {
    /// Path in the spelling of the tool; empty for none.
    pub file: &'a str,
    /// Line, from 1; 0 when unknown.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
    /// Last line, from 1; 0 when unknown.
    pub end_line: u32,
    /// Column after the last one of the range, or 0.
    pub end_column: u32,
    /// Whether it is an error; else a warning.
    pub error: bool,
    /// The tool's id for this kind of diagnostic.
    pub code: &'a str,
    /// Message, as the tool prints it.
    pub message: &'a str,
    /// Name of the tool that reports it.
    pub source: &'a str,
}

/// Counts and failures of the tests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TestSummary {
    /// Number of tests found.
    pub total: u64,
    /// Number of tests that passed.
    pub passed: u64,
    /// Number of tests that failed.
    pub failed: u64,
    /// Number of tests that were skipped.
    pub skipped: u64,
    /// The bad ones; the first 50.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailedTest>,
}

/// A failed test with its message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FailedTest {
    /// Its name, as its tool takes it.
    pub name: String,
    /// Message of the failure, shortened when long.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Source file of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line of the failure, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// Grows while a tool runs.
#[derive(Debug)]
pub struct BuildReport {
    folder: PathBuf,
    /// The output of the tool as text.
    pub output: BoundedOutput,
    /// A shorter version of `output`.
    brief: BoundedOutput,
    last: String,
    diagnostics: FileDiagnostics,
    seen: HashSet<String>,
    listed: usize,
    errors: u64,
    warnings: u64,
    /// Counts and failures of the tests, once one has ended.
    pub tests: Option<TestSummary>,
    /// Why the results of the tests are not complete.
    pub incomplete: Option<String>,
    /// Programs that Cargo built.
    pub artifacts: Vec<CargoArtifact>,
}

/// The report in the form of an answer.
#[derive(Debug, Serialize)]
pub struct FinishedReport {
    /// The tool's own output, with a note where a part is missing.
    pub output: String,
    /// The errors and warnings of the tool.
    pub diagnostics: FileDiagnostics,
    /// Number of errors, including those not listed.
    pub errors: u64,
    /// Number of warnings, including those not listed.
    pub warnings: u64,
    /// Diagnostics not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted: u64,
    /// Counts and failures of the tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestSummary>,
    /// Why the results of the tests are not complete.
    #[serde(skip)]
    pub incomplete: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl BuildReport {
    /// An empty one, for a project in this folder.
    pub fn new(folder: &Path, output_bytes: usize) -> Self {
        Self {
            folder: folder.to_owned(),
            output: BoundedOutput::new(output_bytes),
            brief: BoundedOutput::new(output_bytes.min(MAX_BRIEF_BYTES)),
            last: String::new(),
            diagnostics: BTreeMap::new(),
            seen: HashSet::new(),
            listed: 0,
            errors: 0,
            warnings: 0,
            tests: None,
            incomplete: None,
            artifacts: Vec::new(),
        }
    }

    /// Adds a line to the output.
    pub fn say(&mut self, line: &str) {
        for kept in [&mut self.output, &mut self.brief] {
            kept.push(line.as_bytes());
            kept.push(b"\n");
        }
        let line = line.trim();
        if !line.is_empty() {
            self.last.clear();
            self.last.push_str(line.get(..line.floor_char_boundary(200)).unwrap_or_default());
        }
    }

    /// The last line that is not empty.
    pub fn last_line(&self) -> Option<&str> {
        Some(self.last.as_str()).filter(|last| !last.is_empty())
    }

    /// Adds a diagnostic once: tools repeat them for each target and in a summary.
    pub fn add_diagnostic(&mut self, diagnostic: &BuildDiagnostic<'_>) {
        let file = self.relative(diagnostic.file);
        let key = format!(
            "{file}\0{}\0{}\0{}\0{}",
            diagnostic.line, diagnostic.column, diagnostic.code, diagnostic.message
        );
        // Bounded: beyond it, repetitions are counted again.
        if self.seen.len() < 100_000 && !self.seen.insert(key) {
            return;
        }
        *(if diagnostic.error { &mut self.errors } else { &mut self.warnings }) += 1;
        // Errors push warnings out.
        if self.listed >= MAX_DIAGNOSTICS && !(diagnostic.error && self.drop_warning()) {
            return;
        }
        self.listed += 1;
        let start = Position::new(diagnostic.line.saturating_sub(1), diagnostic.column.saturating_sub(1));
        let end = match diagnostic.end_line {
            0 => start,
            line => Position::new(line - 1, diagnostic.end_column.saturating_sub(1)),
        };
        let diagnostic = Diagnostic {
            range: Range::new(start, end.max(start)),
            severity: Some(if diagnostic.error {
                DiagnosticSeverity::ERROR
            } else {
                DiagnosticSeverity::WARNING
            }),
            code: Some(diagnostic.code)
                .filter(|code| !code.is_empty())
                .map(|code| NumberOrString::String(code.into())),
            source: Some(diagnostic.source.to_owned()),
            message: shorten(diagnostic.message),
            ..Diagnostic::default()
        };
        self.diagnostics.entry(file).or_default().push(diagnostic);
    }

    fn drop_warning(&mut self) -> bool {
        let warning = |one: &Diagnostic| one.severity == Some(DiagnosticSeverity::WARNING);
        let Some(list) = self.diagnostics.values_mut().find(|list| list.iter().any(warning)) else {
            return false;
        };
        if let Some(at) = list.iter().rposition(warning) {
            list.remove(at);
        }
        self.diagnostics.retain(|_, list| !list.is_empty());
        self.listed -= 1;
        true
    }

    /// The tests' counts, to be changed.
    pub fn tests(&mut self) -> &mut TestSummary {
        self.tests.get_or_insert_default()
    }

    /// The results of the tests end early; the first reason counts.
    pub fn cut(&mut self, why: impl Into<String>) {
        self.incomplete.get_or_insert_with(|| why.into());
    }

    /// A test that failed; does not count it.
    pub fn fail(&mut self, mut failed: FailedTest) {
        failed.message = shorten(failed.message.trim());
        failed.file = failed.file.filter(|file| !file.is_empty()).map(|file| self.relative(&file));
        let failures = &mut self.tests().failures;
        if failures.len() < MAX_FAILURES {
            failures.push(failed);
        }
    }

    /// A file as an agent finds it: relative to the project's folder when it is in it.
    fn relative(&self, file: &str) -> String {
        let file = file.strip_prefix("./").unwrap_or(file);
        let path = Path::new(file);
        let inside = path.strip_prefix(&self.folder).ok();
        inside.unwrap_or(path).display().to_string()
    }

    /// Converts the report into the form of an answer.
    pub fn finish(self) -> FinishedReport {
        let all_failures_listed = self.tests.as_ref().is_some_and(|tests| {
            tests.failed > 0
                && tests.failures.len() as u64 == tests.failed
                && tests.failures.iter().all(|one| !one.message.is_empty())
        });
        let output = match self.tests.as_ref().filter(|_| all_failures_listed) {
            Some(tests) => without_reported(&self.brief.text(), tests),
            None => self.output.text(),
        };
        FinishedReport {
            output,
            omitted: self.errors + self.warnings - self.listed as u64,
            diagnostics: self.diagnostics,
            errors: self.errors,
            warnings: self.warnings,
            tests: self.tests,
            incomplete: self.incomplete,
        }
    }
}

/// The output without the lines that the failures' messages contain.
fn without_reported(output: &str, tests: &TestSummary) -> String {
    let messages = tests.failures.iter().flat_map(|failed| failed.message.lines());
    let lines: HashSet<&str> = messages.map(str::trim).filter(|line| !line.is_empty()).collect();
    output.split_inclusive('\n').filter(|line| !lines.contains(line.trim())).collect()
}

fn shorten(text: &str) -> String {
    if text.len() <= MAX_MESSAGE {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MAX_MESSAGE);
    format!("{}… ({} bytes left out)", text.get(..end).unwrap_or_default(), text.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_a_failed_test_is_not_repeated() {
        let report = |message: &str| {
            let mut report = BuildReport::new(Path::new("/w"), 10_000);
            for line in ["== FAILURES ==", "E   assert 1 == 2", "printed by the test", "== 1 failed =="] {
                report.say(line);
            }
            report.tests().failed = 1;
            report.fail(FailedTest {
                name: "test_bad".into(),
                message: message.into(),
                ..FailedTest::default()
            });
            report.finish().output
        };
        assert_eq!(
            report("test_a.py:3: in test_bad\nE   assert 1 == 2"),
            "== FAILURES ==\nprinted by the test\n== 1 failed ==\n"
        );
        // Without another reason, the output explains the failure.
        assert!(report("").contains("assert"));
    }
}
