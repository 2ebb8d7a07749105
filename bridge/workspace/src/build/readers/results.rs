//! Files that test runners leave: JUnit XML (ctest), the JSON of jest, vitest, mocha and RSpec.
//!
//! Does not choose the file: [`crate::build::steps`] does.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use regex::Regex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
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
            Self::Rspec(file) => json(file).map(|results| rspec(results, report)).is_some(),
        };
        if !is_whole {
            report.cut("the runner ended before it had written its results");
        }
    }
}

fn text(file: &Path) -> Option<String> {
    bounded::read(file, MAX_RESULTS_BYTES).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn json<T: DeserializeOwned>(file: &Path) -> Option<T> {
    serde_json::from_str(&text(file)?).ok()
}

/// Reads a field; one of another type counts as absent.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(field: D) -> Result<T, D::Error> {
    let value = Value::deserialize(field)?;
    Ok(T::deserialize(value).unwrap_or_default())
}

/// Reads a list; an element of another type is skipped.
fn lenient_list<'de, D: Deserializer<'de>, T: DeserializeOwned>(field: D) -> Result<Vec<T>, D::Error> {
    let Value::Array(elements) = Value::deserialize(field)? else { return Ok(Vec::new()) };
    Ok(elements.into_iter().filter_map(|element| T::deserialize(element).ok()).collect())
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
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct JestResults {
    #[serde(deserialize_with = "lenient")]
    num_total_tests: u64,
    #[serde(deserialize_with = "lenient")]
    num_passed_tests: u64,
    #[serde(deserialize_with = "lenient")]
    num_failed_tests: u64,
    #[serde(deserialize_with = "lenient")]
    num_pending_tests: u64,
    #[serde(deserialize_with = "lenient")]
    num_todo_tests: u64,
    #[serde(deserialize_with = "lenient_list")]
    test_results: Vec<JestFile>,
}

/// The tests of one file.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct JestFile {
    #[serde(deserialize_with = "lenient")]
    name: String,
    #[serde(deserialize_with = "lenient_list")]
    assertion_results: Vec<JestResult>,
}

/// A test of jest or vitest.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct JestResult {
    #[serde(deserialize_with = "lenient")]
    status: String,
    #[serde(deserialize_with = "lenient")]
    full_name: String,
    #[serde(deserialize_with = "lenient_list")]
    failure_messages: Vec<String>,
}

fn jest(results: &JestResults, report: &mut BuildReport) {
    let tests = report.tests();
    tests.total += results.num_total_tests;
    tests.passed += results.num_passed_tests;
    tests.failed += results.num_failed_tests;
    tests.skipped += results.num_pending_tests + results.num_todo_tests;
    for file in &results.test_results {
        for one in file.assertion_results.iter().filter(|one| one.status == "failed") {
            node_failed(&one.full_name, one.failure_messages.join("\n"), &file.name, report);
        }
    }
}

/// The results that mocha writes.
#[derive(Default, Deserialize)]
#[serde(default)]
struct MochaResults {
    #[serde(deserialize_with = "lenient")]
    stats: MochaCounts,
    #[serde(deserialize_with = "lenient_list")]
    failures: Vec<MochaFailure>,
}

/// The number of tests by outcome.
#[derive(Default, Deserialize)]
#[serde(default)]
struct MochaCounts {
    #[serde(deserialize_with = "lenient")]
    tests: u64,
    #[serde(deserialize_with = "lenient")]
    passes: u64,
    #[serde(deserialize_with = "lenient")]
    failures: u64,
    #[serde(deserialize_with = "lenient")]
    pending: u64,
}

/// A failed test of mocha.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MochaFailure {
    #[serde(deserialize_with = "lenient")]
    full_title: String,
    #[serde(deserialize_with = "lenient")]
    file: String,
    #[serde(deserialize_with = "lenient")]
    err: MochaError,
}

/// The exception of a failed test.
#[derive(Default, Deserialize)]
#[serde(default)]
struct MochaError {
    #[serde(deserialize_with = "lenient")]
    message: String,
    #[serde(deserialize_with = "lenient")]
    stack: String,
}

fn mocha(results: &MochaResults, report: &mut BuildReport) {
    let (stats, tests) = (&results.stats, report.tests());
    tests.total += stats.tests;
    tests.passed += stats.passes;
    tests.failed += stats.failures;
    tests.skipped += stats.pending;
    for one in &results.failures {
        let message = format!("{}\n{}", one.err.message, one.err.stack);
        node_failed(&one.full_title, message, &one.file, report);
    }
}

/// The results that RSpec writes.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct RspecResults {
    #[serde(deserialize_with = "lenient")]
    summary: RspecCounts,
    #[serde(deserialize_with = "lenient_list")]
    examples: Vec<RspecExample>,
}

/// The number of examples by outcome.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RspecCounts {
    #[serde(deserialize_with = "lenient")]
    example_count: u64,
    #[serde(deserialize_with = "lenient")]
    failure_count: u64,
    #[serde(deserialize_with = "lenient")]
    pending_count: u64,
}

/// A test as RSpec describes it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RspecExample {
    #[serde(deserialize_with = "lenient")]
    status: String,
    #[serde(deserialize_with = "lenient")]
    full_description: String,
    #[serde(deserialize_with = "lenient")]
    exception: RspecException,
    #[serde(deserialize_with = "lenient")]
    file_path: String,
    #[serde(deserialize_with = "lenient")]
    line_number: Option<u32>,
}

/// The exception of an example.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RspecException {
    #[serde(deserialize_with = "lenient")]
    message: String,
}

pub(super) fn rspec(results: RspecResults, report: &mut BuildReport) {
    let RspecCounts { example_count, failure_count, pending_count } = results.summary;
    let tests = report.tests();
    tests.total += example_count;
    tests.passed += example_count.saturating_sub(failure_count.saturating_add(pending_count));
    tests.failed += failure_count;
    tests.skipped += pending_count;
    for one in results.examples.into_iter().filter(|one| one.status == "failed") {
        report.fail(FailedTest {
            name: one.full_description,
            message: one.exception.message,
            file: Some(one.file_path),
            line: one.line_number,
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
