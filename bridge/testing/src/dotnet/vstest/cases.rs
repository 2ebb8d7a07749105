//! Tests and results out of VSTest's messages.
//!
//! Not here: their names ([`names`]).

use std::collections::HashMap;

use serde_json::Value;
use tandem_wire::types;

use super::messages::{VstestObject, VstestResult};
use crate::dotnet::build::{DotnetTest, DotnetTestKey, TestProject};
use crate::dotnet::{names, restore_number};
use crate::model::{TestHandle, TestItem, TestResult, TestStatus};

/// The test that a test case represents.
pub(super) fn test_of(case: &Value, project: &TestProject) -> TestItem {
    let object: VstestObject = types::read(case);
    let qualified = object.text("FullyQualifiedName", "TestCase.FullyQualifiedName");
    let shown = object.text("DisplayName", "TestCase.DisplayName");
    let (class, method) = names::split_shown(&qualified, &shown);
    let line = object.number("LineNumber", "TestCase.LineNumber");
    let mut traits: Vec<String> = Vec::new();
    for (name, value) in object.traits() {
        traits.push(if value.is_empty() { name } else { format!("{name}={value}") });
    }
    for category in
        ["MSTestDiscoverer.TestCategory", "NUnit.TestCategory"].map(|id| object.texts(id)).concat()
    {
        // NUnit lists them as traits, too.
        if !traits.iter().any(|one| one.split_once('=').map_or(one.as_str(), |(_, value)| value) == category)
        {
            traits.push(category.to_owned());
        }
    }
    let named = |text: String| Some(text).filter(|text| !text.is_empty());
    TestItem {
        file: named(object.text("CodeFilePath", "TestCase.CodeFilePath")),
        line: line.and_then(|line| u32::try_from(line).ok()).filter(|line| *line > 0),
        skipped: named(object.text("", "XunitSkipReason")),
        traits,
        framework: project.framework.clone(),
        id: names::id(class, method, &shown),
        class: class.to_owned(),
        handle: TestHandle::new(DotnetTest {
            project: project.clone(),
            key: DotnetTestKey::Vstest(case.clone()),
        }),
        ..TestItem::default()
    }
}

/// The id that VSTest has given to a test case.
pub(in crate::dotnet) fn identity(case: &Value) -> String {
    types::read::<VstestObject>(case).text("Id", "TestCase.Id")
}

/// The test of a result or of a running case, by its listed id where it has one.
pub(super) fn listed_test_of(case: &Value, project: &TestProject, ids: &HashMap<String, String>) -> TestItem {
    let mut test = test_of(case, project);
    restore_number(&mut test, ids.get(&identity(case)));
    test
}

/// A result as every framework reports it.
pub(super) fn result_of(
    result: &VstestResult,
    project: &TestProject,
    ids: &HashMap<String, String>,
) -> TestResult {
    let (test, object) = (listed_test_of(&result.test_case, project, ids), &result.object);
    let outcome = match object.number("Outcome", "TestResult.Outcome") {
        Some(1) => TestStatus::Passed,
        Some(2) => TestStatus::Failed,
        _ => TestStatus::Skipped,
    };
    let message = object.text("ErrorMessage", "TestResult.ErrorMessage");
    let stack = object.text("ErrorStackTrace", "TestResult.ErrorStackTrace");
    let compared = names::compared_values(&message);
    let place = (outcome == TestStatus::Failed).then(|| names::place(&stack)).flatten();
    let (file, line) = place.or(test.file.zip(test.line)).unzip();
    let printed = result.messages.iter().filter(|one| one.category != "AdditionalInfo");
    let printed: Vec<&str> = printed.filter_map(|one| one.text.as_deref()).collect();
    // Rows that the framework discovers only during the run have separate names.
    let shown = &result.display_name;
    let (class, method) = names::split(&test.id);
    let rows = !shown.is_empty() && !test.id.contains('(') && shown.contains('(');
    let id = if rows { names::id(class, method, shown) } else { test.id.clone() };
    TestResult {
        id,
        outcome,
        message,
        compared,
        file,
        line,
        stack,
        output: printed.join("\n").trim().to_owned(),
        duration_ms: milliseconds(&object.text("Duration", "TestResult.Duration")),
        framework: test.framework,
        project: project.name.clone(),
        ..TestResult::default()
    }
}

/// Parses a time span such as `00:00:01.0230000`.
fn milliseconds(span: &str) -> Option<u64> {
    let mut seconds = 0.0;
    for part in span.split(':') {
        seconds = seconds * 60.0 + part.parse::<f64>().ok()?;
    }
    Some((seconds * 1000.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_category_that_ends_like_another_is_kept() {
        let case = json!({ "FullyQualifiedName": "A.B", "Properties": [
            { "Key": { "Id": "TestObject.Traits" }, "Value": [{ "Key": "Category", "Value": "night" }] },
            { "Key": { "Id": "MSTestDiscoverer.TestCategory" }, "Value": ["very slow", "slow", "night"] },
        ] });
        let test = test_of(&case, &TestProject::default());
        assert_eq!(test.traits, ["Category=night", "very slow", "slow"]);
    }

    #[test]
    fn a_duration_is_read_in_milliseconds() {
        assert_eq!(milliseconds("00:01:02.5000000"), Some(62_500));
        assert_eq!(milliseconds("soon"), None);
    }
}
