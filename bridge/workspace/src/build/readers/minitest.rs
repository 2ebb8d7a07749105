//! minitest and test-unit: the numbered list of what failed, and the counts at the end. Neither has a format
//! for machines. Where they have begun and there are no counts, a test has ended the process.

use std::sync::LazyLock;

use regex::Regex;

use super::compiler;
use super::test_unit::TestUnitEntry;
use crate::build::report::{BuildReport, FailedTest};

/// Lines kept of one failure.
const MAX_LINES: usize = 60;

static COUNTS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^(?P<total>\d+) (?:runs|tests), \d+ assertions, ",
        r"(?P<failures>\d+) failures, (?P<errors>\d+) errors(?P<rest>.*)",
    ))
    .expect("the pattern is a constant, and tested")
});
static NUMBERED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s+\d+\) (?P<kind>Failure|Error|Skipped):$").expect("the pattern is a constant, and tested")
});
static TEST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?P<name>[\w:]+#.+?)(?: \[(?P<file>[^\]]+):(?P<line>\d+)\])?:$")
        .expect("the pattern is a constant, and tested")
});
static FRAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s+(?P<file>[^:]+\.rb):(?P<line>\d+):in ").expect("the pattern is a constant, and tested")
});

/// Parser for the output of one run.
#[derive(Debug, Default)]
pub struct MinitestParser {
    /// The entry of the list that is being printed, with its lines; none for one that was skipped.
    entry: Option<Vec<String>>,
    /// The failure that test-unit prints.
    unit: Option<TestUnitEntry>,
    /// The tests have begun, and their counts have not come.
    runs: bool,
}

impl MinitestParser {
    /// Reads a line of the output.
    pub fn line(&mut self, line: &str, report: &mut BuildReport) {
        report.say(line);
        self.runs |= matches!(line, "# Running:" | "Started");
        if let Some(unit) = &mut self.unit {
            if !unit.line(line) {
                unit.failure().into_iter().for_each(|failed| report.fail(failed));
                self.unit = None;
            }
        } else if let Some(unit) = TestUnitEntry::begin(line).filter(|_| self.runs) {
            self.unit = Some(unit);
        } else if let Some(found) = NUMBERED.captures(line) {
            self.end(report);
            self.entry = (&found["kind"] != "Skipped").then(Vec::new);
        } else if let Some(found) = COUNTS.captures(line) {
            self.end(report);
            self.runs = false;
            let number = |name: &str| found.name(name).and_then(|part| part.as_str().parse::<u64>().ok());
            // `1 skips`, or `1 pendings, 1 omissions, 0 notifications`.
            let rest = found.name("rest").map_or("", |rest| rest.as_str()).split(", ");
            let unrun =
                rest.filter(|part| ["skip", "pending", "omission"].iter().any(|word| part.contains(word)));
            let skipped = unrun.filter_map(|part| part.split(' ').next()?.parse::<u64>().ok()).sum();
            let failed = number("failures").unwrap_or(0).saturating_add(number("errors").unwrap_or(0));
            let tests = report.tests();
            tests.total = number("total").unwrap_or(0);
            (tests.failed, tests.skipped) = (failed, skipped);
            tests.passed = tests.total.saturating_sub(failed.saturating_add(skipped));
        } else if let Some(lines) = &mut self.entry {
            if lines.len() < MAX_LINES {
                lines.push(line.to_owned());
            }
        } else {
            compiler::line(line, "ruby", report);
        }
    }

    /// Completes the report when the run has ended.
    pub fn finish(&mut self, report: &mut BuildReport) {
        self.end(report);
        if self.runs {
            report.cut("the run ended before its counts");
        }
    }

    /// An entry, or the run, has ended.
    fn end(&mut self, report: &mut BuildReport) {
        let Some(lines) = self.entry.take() else { return };
        let Some((test, lines)) = lines.split_first() else { return };
        let Some(found) = TEST.captures(test) else { return };
        let frame = lines.iter().find_map(|line| FRAME.captures(line));
        let place = |name: &str| {
            let own = found.name(name).or_else(|| frame.as_ref()?.name(name))?;
            Some(own.as_str().to_owned())
        };
        let (file, line) = (place("file"), place("line").and_then(|line| line.parse().ok()));
        report.fail(FailedTest { name: found["name"].to_owned(), message: lines.join("\n"), file, line });
    }
}
