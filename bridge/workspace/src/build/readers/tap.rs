//! TAP 13 and 14, as `node --test` prints it: `ok`, `not ok`, an indented YAML block with the reason, and
//! counts at the end. Lines that are not TAP are read as a compiler's.
//!
//! Node adds an entry for a file in which no test ran: it has no tests, a filter excludes them, or its
//! process fails. Such an entry does not count as a test; a failed process is an error of the file.

use super::compiler;
use crate::build::report::{BuildDiagnostic, BuildReport, FailedTest, TestSummary};

/// Lines kept of what Node passes on before the entry of a file.
const MAX_COMMENTS: usize = 40;
/// Extensions of source files.
const ENDINGS: [&str; 6] = ["js", "mjs", "cjs", "ts", "mts", "cts"];

/// Parser for the output of one run.
#[derive(Debug, Default)]
pub struct TapParser {
    counted: TestSummary,
    /// Node's own counts, which leave suites out.
    node_counts: TestSummary,
    failing: Option<FailingEntry>,
    /// Files in which no test ran, and files whose process failed.
    files: (u64, u64),
    /// The output says that it is TAP.
    is_tap: bool,
    /// The number of entries that the plans announce, and the number there is.
    plan: Option<u64>,
    entries: u64,
    /// Comments since the last entry.
    comments: Vec<String>,
}

#[derive(Debug, Default)]
struct FailingEntry {
    failed: FailedTest,
    /// Inside its YAML block, deeper than this.
    yaml: bool,
    /// A block scalar (`error: |-`) is being read.
    text: bool,
    /// The stack is being read, whose first frame in the test's own file is the place.
    stack: bool,
    suite: bool,
    /// For an entry of a file: how its process ended.
    exit: Option<String>,
}

impl TapParser {
    /// Reads a line of the output.
    pub fn line(&mut self, line: &str, report: &mut BuildReport) {
        report.say(line);
        let trimmed = line.trim_start();
        if self.failing.as_ref().is_some_and(|failing| failing.yaml) {
            return self.yaml(trimmed, report);
        }
        let is_outer = trimmed.len() == line.len();
        if let Some(rest) = trimmed.strip_prefix("not ok ") {
            self.flush(report);
            self.entries += u64::from(is_outer);
            let (name, directive) = name(rest);
            if directive.is_empty() {
                self.counted.failed += 1;
                let failed = FailedTest { name, ..FailedTest::default() };
                self.failing = Some(FailingEntry { failed, ..FailingEntry::default() });
            } else {
                self.counted.skipped += 1;
            }
        } else if let Some(rest) = trimmed.strip_prefix("ok ") {
            self.flush(report);
            self.entries += u64::from(is_outer);
            self.comments.clear();
            let (name, directive) = name(rest);
            let skipped = !directive.is_empty();
            if is_outer && !skipped && is_source(&name) {
                self.files.0 += 1;
                return;
            }
            *(if skipped { &mut self.counted.skipped } else { &mut self.counted.passed }) += 1;
        } else if trimmed == "---" {
            if let Some(failing) = &mut self.failing {
                failing.yaml = true;
            }
        } else if let Some(comment) = line.strip_prefix("# ") {
            self.count(comment);
            if self.comments.len() < MAX_COMMENTS {
                self.comments.push(comment.to_owned());
            }
        } else if line.starts_with("TAP version ") {
            self.is_tap = true;
        } else if let Some(plan) = line.strip_prefix("1..") {
            self.plan(plan);
        } else if let Some(why) = line.strip_prefix("Bail out!") {
            report.cut(format!("the run bailed out: {}", why.trim()));
        } else {
            compiler::line(line, "test", report);
        }
    }

    fn yaml(&mut self, line: &str, report: &mut BuildReport) {
        let Some(failing) = &mut self.failing else { return };
        let key = line.split_once(": ").filter(|(key, _)| key.chars().all(|one| one.is_ascii_alphabetic()));
        if line == "..." {
            return self.flush(report);
        }
        if failing.stack
            && let Some(rest) = failing.failed.file.as_ref().and_then(|file| line.split_once(file.as_str()))
            && let Some(number) = rest.1.split(':').nth(1).and_then(|number| number.parse().ok())
        {
            failing.failed.line = Some(number);
            failing.stack = false;
        }
        match key {
            Some(("exitCode", code)) if code != "~" => failing.exit = Some(format!("exit code {code}")),
            Some(("signal", signal)) if signal != "~" => {
                failing.exit = Some(signal.trim_matches('\'').to_owned());
            }
            Some(("type", kind)) => failing.suite |= kind.contains("suite"),
            Some(("failureType", kind)) => failing.suite |= kind.contains("subtestsFailed"),
            Some(("location", place)) => {
                let mut parts = place.trim_matches('\'').rsplitn(3, ':');
                let (_, line, file) = (parts.next(), parts.next(), parts.next());
                failing.failed.line = line.and_then(|line| line.parse().ok());
                failing.failed.file = file.map(str::to_owned);
            }
            Some(("stack", _)) => (failing.text, failing.stack) = (false, true),
            Some(("error" | "message", text)) if text.starts_with(['|', '>']) => failing.text = true,
            Some(("error" | "message", text)) => {
                failing.failed.message = text.trim_matches(['\'', '"']).to_owned()
            }
            Some(_) => (failing.text, failing.stack) = (false, false),
            None if failing.text => {
                failing.failed.message.push_str(line);
                failing.failed.message.push('\n');
            }
            None => {}
        }
    }

    /// `3`, or `0 # SKIP reason` of a whole program.
    fn plan(&mut self, text: &str) {
        let (number, directive) = text.split_once(" # ").unwrap_or((text, ""));
        if let Ok(number) = number.trim().parse::<u64>() {
            self.plan = Some(self.plan.unwrap_or(0).saturating_add(number));
            self.counted.skipped += u64::from(directive.to_ascii_uppercase().starts_with("SKIP"));
        }
    }

    /// `tests 5`, `pass 3` and so on.
    fn count(&mut self, text: &str) {
        let Some((word, number)) = text.split_once(' ') else { return };
        let Ok(number) = number.parse::<u64>() else { return };
        match word {
            "tests" => self.node_counts.total = number,
            "pass" => self.node_counts.passed = number,
            "fail" => self.node_counts.failed = number,
            "skipped" | "todo" | "cancelled" => self.node_counts.skipped += number,
            _ => {}
        }
    }

    fn flush(&mut self, report: &mut BuildReport) {
        if let Some(failing) = self.failing.take() {
            let comments = std::mem::take(&mut self.comments);
            if failing.suite {
                // The failed test inside the suite is counted, not the suite.
                self.counted.failed -= 1;
            } else if let Some(exit) = &failing.exit {
                self.counted.failed -= 1;
                self.files.1 += 1;
                find(&failing.failed, exit, &comments, report);
            } else {
                report.fail(failing.failed);
            }
        }
    }

    /// Completes the report when the run has ended.
    pub fn end(&mut self, report: &mut BuildReport) {
        self.flush(report);
        // Any program may print `1..3`.
        let plan = self.plan.filter(|_| self.is_tap || self.entries > 0);
        match plan {
            Some(plan) if self.entries < plan => {
                report.cut(format!("{} of {plan} planned tests have a result", self.entries));
            }
            None if self.is_tap => report.cut("the output has no plan"),
            _ => {}
        }
        let (empty, broken) = self.files;
        let mut counted = std::mem::take(&mut self.counted);
        if self.node_counts.total > 0 {
            counted = std::mem::take(&mut self.node_counts);
            counted.total = counted.total.saturating_sub(empty + broken);
            counted.passed = counted.passed.saturating_sub(empty);
            counted.failed = counted.failed.saturating_sub(broken);
        }
        if counted.total == 0 {
            counted.total = counted.passed + counted.failed + counted.skipped;
        }
        if counted.total > 0 || self.is_tap || plan.is_some() {
            let failures = std::mem::take(&mut report.tests().failures);
            *report.tests() = TestSummary { failures, ..counted };
        }
    }
}

/// A file that Node cannot load, or that ends its process, is an error at the place that Node prints.
fn find(failed: &FailedTest, exit: &str, comments: &[String], report: &mut BuildReport) {
    let place = comments.iter().find_map(|line| {
        let (file, number) = line.strip_prefix("file://").unwrap_or(line).rsplit_once(':')?;
        Some((file.to_owned(), number.parse().ok()?)).filter(|(file, _)| is_source(file))
    });
    let is_error = |line: &&String| {
        let kind = line.split([':', ' ']).next().unwrap_or_default();
        kind.trim_start_matches('[').ends_with("Error")
    };
    let message = comments.iter().find(is_error).cloned();
    let (file, line) = place.unwrap_or_else(|| (failed.name.clone(), 0));
    report.add_diagnostic(&BuildDiagnostic {
        file: &file,
        line,
        error: true,
        message: &message.unwrap_or_else(|| format!("its process ended with {exit}")),
        source: "node",
        ..BuildDiagnostic::default()
    });
}

/// Whether a name is that of a file in which Node looks for tests: absolute up to version 20, then relative.
fn is_source(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or_default();
    let Some((stem, ending)) = file.rsplit_once('.') else { return false };
    let is_test = [".test", "-test", "_test", ".spec"].iter().any(|end| stem.ends_with(end))
        || stem == "test"
        || stem.starts_with("test-")
        || name.split('/').any(|part| part == "test");
    ENDINGS.contains(&ending) && (name.starts_with('/') || is_test && !name.contains(' '))
}

/// `3 - name # SKIP reason`: the name, and the directive.
fn name(rest: &str) -> (String, &str) {
    let rest = rest.trim_start_matches(|one: char| one.is_ascii_digit()).trim_start();
    let rest = rest.strip_prefix("- ").unwrap_or(rest);
    let (name, directive) = rest.split_once(" # ").unwrap_or((rest, ""));
    let known = ["SKIP", "TODO"].iter().any(|word| directive.to_ascii_uppercase().starts_with(word));
    (name.to_owned(), if known { directive } else { "" })
}
