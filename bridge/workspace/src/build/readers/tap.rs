//! TAP 13 and 14, as `node --test` prints it: `ok`, `not ok`, an indented YAML block with the reason, and counts at the end.
//! Lines that are not TAP are read as a compiler's.

use super::compiler;
use crate::build::report::{Failed, Report, Tests};

/// Reads one run.
#[derive(Debug, Default)]
pub struct Tap {
    counted: Tests,
    /// Node's own counts, which leave suites out.
    told: Tests,
    failing: Option<Failing>,
}

#[derive(Debug, Default)]
struct Failing {
    failed: Failed,
    /// Inside its YAML block, deeper than this.
    yaml: bool,
    /// A block scalar (`error: |-`) is being read.
    text: bool,
    /// The stack is being read, whose first frame in the test's own file is the place.
    stack: bool,
    suite: bool,
}

impl Tap {
    /// Reads a line of the output.
    pub fn line(&mut self, line: &str, report: &mut Report) {
        report.say(line);
        let trimmed = line.trim_start();
        if self.failing.as_ref().is_some_and(|failing| failing.yaml) {
            return self.yaml(trimmed, report);
        }
        if let Some(rest) = trimmed.strip_prefix("not ok ") {
            self.flush(report);
            let (name, directive) = name(rest);
            if directive.is_empty() {
                self.counted.failed += 1;
                let failed = Failed { name, ..Failed::default() };
                self.failing = Some(Failing { failed, ..Failing::default() });
            } else {
                self.counted.skipped += 1;
            }
        } else if let Some(rest) = trimmed.strip_prefix("ok ") {
            self.flush(report);
            let skipped = !name(rest).1.is_empty();
            *(if skipped { &mut self.counted.skipped } else { &mut self.counted.passed }) += 1;
        } else if trimmed == "---" {
            if let Some(failing) = &mut self.failing {
                failing.yaml = true;
            }
        } else if let Some(count) = line.strip_prefix("# ") {
            self.count(count);
        } else {
            compiler::line(line, "test", report);
        }
    }

    fn yaml(&mut self, line: &str, report: &mut Report) {
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

    /// `tests 5`, `pass 3` and so on.
    fn count(&mut self, text: &str) {
        let Some((word, number)) = text.split_once(' ') else { return };
        let Ok(number) = number.parse::<u64>() else { return };
        match word {
            "tests" => self.told.total = number,
            "pass" => self.told.passed = number,
            "fail" => self.told.failed = number,
            "skipped" | "todo" | "cancelled" => self.told.skipped += number,
            _ => {}
        }
    }

    fn flush(&mut self, report: &mut Report) {
        if let Some(failing) = self.failing.take() {
            if failing.suite {
                // What failed is inside it.
                self.counted.failed -= 1;
            } else {
                report.fail(failing.failed);
            }
        }
    }

    /// The run has ended.
    pub fn end(&mut self, report: &mut Report) {
        self.flush(report);
        let mut counted =
            std::mem::take(if self.told.total > 0 { &mut self.told } else { &mut self.counted });
        if counted.total == 0 {
            counted.total = counted.passed + counted.failed + counted.skipped;
        }
        if counted.total > 0 {
            let failures = std::mem::take(&mut report.tests().failures);
            *report.tests() = Tests { failures, ..counted };
        }
    }
}

/// `3 - name # SKIP reason`: the name, and the directive.
fn name(rest: &str) -> (String, &str) {
    let rest = rest.trim_start_matches(|one: char| one.is_ascii_digit()).trim_start();
    let rest = rest.strip_prefix("- ").unwrap_or(rest);
    let (name, directive) = rest.split_once(" # ").unwrap_or((rest, ""));
    let known = ["SKIP", "TODO"].iter().any(|word| directive.to_ascii_uppercase().starts_with(word));
    (name.to_owned(), if known { directive } else { "" })
}
