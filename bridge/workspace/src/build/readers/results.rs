//! Files that test runners leave: JUnit XML (ctest), the JSON of jest, vitest, mocha and RSpec.
//!
//! Does not choose the file: [`crate::build::steps`] does.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use regex::Regex;
use serde_json::Value;

use crate::bounded;
use crate::build::report::{BuildReport, FailedTest};

/// Larger files are not read.
const MAX_RESULTS_BYTES: u64 = 256 << 20;

static NODE_PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\(?(?:file://)?(?P<file>/[^():]+):(?P<line>\d+):\d+\)?")
        .expect("the pattern is a constant, and tested")
});

/// Result files to read once the step has ended.
#[derive(Debug)]
pub enum ResultFiles {
    /// A file of results in JUnit's XML.
    Junit(PathBuf),
    /// A file of results in jest's JSON.
    Jest(PathBuf),
    /// A file of results in mocha's JSON.
    Mocha(PathBuf),
    /// A file of results in RSpec's JSON.
    Rspec(PathBuf),
}

impl ResultFiles {
    /// Reads them into the report. Where they are missing or end early, the runner did not get that far.
    pub fn read(&self, report: &mut BuildReport) {
        let is_whole = match self {
            Self::Junit(file) => text(file).is_some_and(|text| xml(&text, report)),
            Self::Jest(file) => json(file).map(|results| jest(&results, report)).is_some(),
            // Before 9.2 mocha writes no file, and prints its results.
            Self::Mocha(file) => {
                json(file).map(|results| mocha(&results, report)).is_some()
                    || report.output.text().contains("\"stats\": {")
            }
            Self::Rspec(file) => json(file).map(|results| rspec(&results, report)).is_some(),
        };
        if !is_whole {
            report.cut("the runner ended before it had written its results");
        }
    }
}

fn text(file: &Path) -> Option<String> {
    bounded::read(file, MAX_RESULTS_BYTES).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn json(file: &Path) -> Option<Value> {
    serde_json::from_str(&text(file)?).ok()
}

/// A test while its element is being read.
#[derive(Debug, Default)]
struct TestCase {
    name: String,
    outcome: CaseStatus,
    message: String,
    text: String,
    /// Output of the test: the only reason that ctest reports.
    printed: String,
    file: Option<String>,
    line: Option<u32>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum CaseStatus {
    #[default]
    Passed,
    Failed,
    Skipped,
}

/// Reads JUnit XML; returns whether the document is complete.
pub(super) fn xml(text: &str, report: &mut BuildReport) -> bool {
    let mut reader = Reader::from_str(text);
    let mut case: Option<TestCase> = None;
    let mut inside = Vec::new();
    loop {
        match reader.read_event() {
            Ok(Event::Start(element)) => {
                open(&element, &mut case);
                inside.push(element.local_name().as_ref().to_owned());
            }
            Ok(Event::Empty(element)) => {
                open(&element, &mut case);
                close(element.local_name().as_ref(), &mut case, report);
            }
            Ok(Event::End(element)) => {
                inside.pop();
                close(element.local_name().as_ref(), &mut case, report);
            }
            Ok(Event::Text(part)) => add(&mut case, &inside, &part),
            Ok(Event::CData(part)) => add(&mut case, &inside, &part),
            Ok(Event::GeneralRef(name)) => {
                let name: &str = &name;
                let known = quick_xml::escape::unescape(&format!("&{name};")).map(|text| text.into_owned());
                add(&mut case, &inside, &known.unwrap_or_default());
            }
            // The complete part of a truncated file is still used.
            Ok(Event::Eof) => return inside.is_empty() && case.is_none() && !text.trim().is_empty(),
            Err(_) => return false,
            Ok(_) => {}
        }
    }
}

fn open(element: &BytesStart<'_>, case: &mut Option<TestCase>) {
    let attribute = |name: &str| {
        let found = element.try_get_attribute(name).ok()??;
        Some(
            found
                .normalized_value(quick_xml::XmlVersion::default())
                .map_or_else(|_| String::new(), |value| value.into_owned()),
        )
    };
    let skipped = |case: &mut Option<TestCase>| {
        if let Some(case) = case {
            case.outcome = CaseStatus::Skipped;
        }
    };
    match element.local_name().as_ref() {
        "testcase" => {
            let class = attribute("classname").filter(|class| !class.is_empty());
            let own = attribute("name").unwrap_or_default();
            let name =
                class.filter(|class| *class != own).map_or(own.clone(), |class| format!("{class}.{own}"));
            let line = attribute("line").and_then(|line| line.parse::<u32>().ok()).map(|line| line + 1);
            // ctest says how it went in an attribute, too.
            let skip = attribute("status").is_some_and(|status| status == "notrun" || status == "disabled");
            let outcome = if skip { CaseStatus::Skipped } else { CaseStatus::Passed };
            *case = Some(TestCase { name, outcome, file: attribute("file"), line, ..TestCase::default() });
        }
        "failure" | "error" => {
            if let Some(case) = case {
                case.outcome = CaseStatus::Failed;
                case.message = attribute("message").unwrap_or_default();
            }
        }
        "skipped" => skipped(case),
        _ => {}
    }
}

fn add(case: &mut Option<TestCase>, inside: &[String], text: &str) {
    let Some(case) = case else { return };
    match inside.last().map(String::as_str) {
        Some("failure" | "error") => case.text.push_str(text),
        Some("system-out") => case.printed.push_str(text),
        _ => {}
    }
}

fn close(name: &str, case: &mut Option<TestCase>, report: &mut BuildReport) {
    if name != "testcase" {
        return;
    }
    let Some(mut case) = case.take() else { return };
    let tests = report.tests();
    tests.total += 1;
    match case.outcome {
        CaseStatus::Passed => tests.passed += 1,
        CaseStatus::Skipped => tests.skipped += 1,
        CaseStatus::Failed => {
            tests.failed += 1;
            if case.text.trim().is_empty() && matches!(case.message.as_str(), "" | "Failed") {
                case.text = case.printed;
            }
            let place = python_place(&case.text, case.file.as_deref());
            let (file, line) = place.or(case.file.zip(case.line)).unzip();
            let is_explained = !case.message.is_empty() && case.text.trim().is_empty();
            let message = if is_explained { case.message } else { case.text };
            report.fail(FailedTest { name: case.name, message, file, line });
        }
    }
}

/// pytest ends a failure with `file:line: Kind`: where it failed, not where the test begins.
fn python_place(text: &str, file: Option<&str>) -> Option<(String, u32)> {
    let places = text.lines().rev().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (name, number) = (parts.next()?, parts.next()?.trim().parse().ok()?);
        name.ends_with(".py").then(|| (name.to_owned(), number))
    });
    let mut places = places.collect::<Vec<_>>();
    let own = places.iter().position(|(name, _)| Some(name.as_str()) == file);
    if places.is_empty() { None } else { Some(places.swap_remove(own.unwrap_or(0))) }
}

/// Results of jest and vitest.
fn jest(record: &Value, report: &mut BuildReport) {
    let number = |name: &str| record[name].as_u64().unwrap_or(0);
    let tests = report.tests();
    tests.total += number("numTotalTests");
    tests.passed += number("numPassedTests");
    tests.failed += number("numFailedTests");
    tests.skipped += number("numPendingTests") + number("numTodoTests");
    for file in record["testResults"].as_array().into_iter().flatten() {
        for one in
            file["assertionResults"].as_array().into_iter().flatten().filter(|one| one["status"] == "failed")
        {
            let messages = one["failureMessages"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let message = messages.collect::<Vec<_>>().join("\n");
            let own = file["name"].as_str().unwrap_or_default();
            node_failed(one["fullName"].as_str().unwrap_or_default(), message, own, report);
        }
    }
}

fn mocha(record: &Value, report: &mut BuildReport) {
    let number = |name: &str| record["stats"][name].as_u64().unwrap_or(0);
    let tests = report.tests();
    tests.total += number("tests");
    tests.passed += number("passes");
    tests.failed += number("failures");
    tests.skipped += number("pending");
    for one in record["failures"].as_array().into_iter().flatten() {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let message = [text(&one["err"]["message"]), text(&one["err"]["stack"])].join("\n");
        node_failed(&text(&one["fullTitle"]), message, &text(&one["file"]), report);
    }
}

pub(super) fn rspec(record: &Value, report: &mut BuildReport) {
    let number = |name: &str| record["summary"][name].as_u64().unwrap_or(0);
    let tests = report.tests();
    let bad = number("failure_count").saturating_add(number("pending_count"));
    tests.total += number("example_count");
    tests.passed += number("example_count").saturating_sub(bad);
    tests.failed += number("failure_count");
    tests.skipped += number("pending_count");
    for one in record["examples"].as_array().into_iter().flatten().filter(|one| one["status"] == "failed") {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let line = one["line_number"].as_u64().and_then(|line| u32::try_from(line).ok());
        report.fail(FailedTest {
            name: text(&one["full_description"]),
            message: text(&one["exception"]["message"]),
            file: Some(text(&one["file_path"])),
            line,
        });
    }
}

/// The place is the topmost frame in the test's own file.
fn node_failed(name: &str, message: String, file: &str, report: &mut BuildReport) {
    let at = NODE_PLACE
        .captures_iter(&message)
        .find(|at| at.name("file").is_some_and(|found| found.as_str() == file));
    let line = at.and_then(|at| at.name("line")?.as_str().parse().ok());
    report.fail(FailedTest { name: name.to_owned(), message, file: Some(file.to_owned()), line });
}
