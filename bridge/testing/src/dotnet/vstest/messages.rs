//! The messages of VSTest's console program: those that we send, and what we read of those that it sends.
//!
//! Reading is lenient: a field of another type counts as absent. Not here: the conversation ([`super`]).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tandem_wire::types;

/// A message of either side.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct VstestMessage {
    #[serde(deserialize_with = "types::required")]
    pub(super) version: u64,
    #[serde(deserialize_with = "types::required")]
    pub(super) message_type: String,
    pub(super) payload: Value,
}

/// Asks for the tests of assemblies.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct DiscoveryRequest<'a> {
    pub(super) sources: [&'a std::path::Path; 1],
    pub(super) run_settings: &'a str,
    pub(super) test_platform_options: PlatformOptions,
}

/// Asks for the results of tests.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ExecutionRequest<'a> {
    pub(super) test_cases: &'a [Value],
    pub(super) run_settings: &'a str,
    pub(super) keep_alive: bool,
    pub(super) debugging_enabled: bool,
    pub(super) test_platform_options: PlatformOptions,
}

/// Options of each request: neither metrics nor a choice of adapters.
#[derive(Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct PlatformOptions {
    collect_metrics: bool,
    skip_default_adapters: bool,
}

/// Answers a [`HostLaunch`].
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct HostLaunched {
    /// The id of the process, or -1.
    pub(super) host_process_id: i64,
    pub(super) error_message: Option<&'static str>,
}

/// Asks us to start the process that runs the tests.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct HostLaunch {
    #[serde(deserialize_with = "types::optional")]
    pub(super) file_name: Option<String>,
    #[serde(deserialize_with = "types::required")]
    pub(super) arguments: String,
    #[serde(deserialize_with = "types::optional")]
    pub(super) working_directory: Option<String>,
    #[serde(deserialize_with = "types::required")]
    pub(super) environment_variables: Map<String, Value>,
}

/// The last message about a list of tests.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct DiscoveryEnd {
    #[serde(deserialize_with = "types::list")]
    pub(super) last_discovered_tests: Vec<Value>,
    #[serde(deserialize_with = "types::required")]
    pub(super) is_aborted: bool,
}

/// Tests that have begun, and results.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct RunStatistics {
    #[serde(deserialize_with = "types::list")]
    pub(super) active_tests: Vec<Value>,
    #[serde(deserialize_with = "types::list")]
    pub(super) new_test_results: Vec<VstestResult>,
}

/// The last message about a run of tests.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct ExecutionEnd {
    #[serde(deserialize_with = "types::required")]
    pub(super) last_run_tests: RunStatistics,
    #[serde(deserialize_with = "types::required")]
    pub(super) test_run_complete_args: CompletionDetails,
}

/// The way in which a run ended.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct CompletionDetails {
    #[serde(deserialize_with = "types::required")]
    pub(super) is_aborted: bool,
    #[serde(deserialize_with = "types::required")]
    pub(super) error: RunError,
}

/// The reason why a run was aborted.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct RunError {
    #[serde(deserialize_with = "types::optional")]
    pub(super) message: Option<String>,
}

/// A message for the user.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct UserMessage {
    /// 0 for information, 1 for a warning, 2 for an error.
    #[serde(deserialize_with = "types::optional")]
    pub(super) message_level: Option<i64>,
    #[serde(deserialize_with = "types::required")]
    pub(super) message: String,
}

/// The result of a test.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct VstestResult {
    pub(super) test_case: Value,
    #[serde(deserialize_with = "types::required")]
    pub(super) display_name: String,
    #[serde(deserialize_with = "types::list")]
    pub(super) messages: Vec<ResultMessage>,
    #[serde(flatten)]
    pub(super) object: VstestObject,
}

/// A part of the output of a test.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct ResultMessage {
    #[serde(deserialize_with = "types::required")]
    pub(super) category: String,
    #[serde(deserialize_with = "types::optional")]
    pub(super) text: Option<String>,
}

/// A test case or a result: an object with properties of any name.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct VstestObject {
    #[serde(deserialize_with = "types::list")]
    properties: Vec<ObjectProperty>,
    /// Newer versions of the protocol write the usual properties beside each other.
    #[serde(flatten)]
    fields: Map<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct ObjectProperty {
    #[serde(deserialize_with = "types::required")]
    key: PropertyKey,
    value: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct PropertyKey {
    #[serde(deserialize_with = "types::required")]
    id: String,
}

/// A trait of a test: a name and a value.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct TestTrait {
    #[serde(deserialize_with = "types::required")]
    key: String,
    #[serde(deserialize_with = "types::required")]
    value: String,
}

impl VstestObject {
    /// A property by the name of its field, or by its id.
    fn property(&self, name: &str, id: &str) -> &Value {
        let field = self.fields.get(name).filter(|field| !field.is_null());
        let of_id = || self.properties.iter().find(|property| property.key.id == id);
        field.or_else(|| of_id().map(|property| &property.value)).unwrap_or(&Value::Null)
    }

    /// A property that is a string; empty if there is none.
    pub(super) fn text(&self, name: &str, id: &str) -> String {
        self.property(name, id).as_str().unwrap_or_default().to_owned()
    }

    /// A property that is a number.
    pub(super) fn number(&self, name: &str, id: &str) -> Option<u64> {
        self.property(name, id).as_u64()
    }

    /// A property that is a list of strings.
    pub(super) fn texts(&self, id: &str) -> Vec<&str> {
        self.property("", id).as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The traits: pairs of a name and a value.
    pub(super) fn traits(&self) -> Vec<(String, String)> {
        let list = self.property("Traits", "TestObject.Traits").as_array().into_iter().flatten();
        list.map(types::read::<TestTrait>).map(|one| (one.key, one.value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_has_its_properties_in_either_form() {
        let property = |id: &str, value: Value| json!({ "Key": { "Id": id }, "Value": value });
        let older = json!({ "Properties": [
            property("TestCase.FullyQualifiedName", json!("A.B")),
            property("TestCase.LineNumber", json!(7)),
            property("TestObject.Traits", json!([{ "Key": "Category", "Value": "slow" }])),
        ] });
        let newer = json!({ "FullyQualifiedName": "A.B", "LineNumber": 7, "Properties": null,
            "Traits": [{ "Key": "Category", "Value": "slow" }] });
        for object in [older, newer] {
            let read: VstestObject = types::read(&object);
            assert_eq!(read.text("FullyQualifiedName", "TestCase.FullyQualifiedName"), "A.B", "{object}");
            assert_eq!(read.number("LineNumber", "TestCase.LineNumber"), Some(7), "{object}");
            assert_eq!(read.traits(), [("Category".to_owned(), "slow".to_owned())], "{object}");
        }
    }

    #[test]
    fn a_result_has_its_own_fields_and_those_of_its_object() {
        let statistics: RunStatistics = types::read(&json!({ "ActiveTests": null, "NewTestResults": [{
            "TestCase": { "DisplayName": "a" }, "Outcome": 2, "DisplayName": "a(1)", "ErrorMessage": "no",
            "Messages": [{ "Category": "StdOutMsgs", "Text": "hi" }, { "Category": null }],
        }] }));
        let result = &statistics.new_test_results[0];
        assert_eq!((result.display_name.as_str(), &result.test_case["DisplayName"]), ("a(1)", &json!("a")));
        assert_eq!(result.object.number("Outcome", ""), Some(2));
        assert_eq!(result.object.text("ErrorMessage", ""), "no");
        assert_eq!(result.messages[0].text.as_deref(), Some("hi"));
        assert_eq!(result.messages[1].text, None);
    }
}
