//! The messages of Microsoft.Testing.Platform in server mode: those that we send, and what we read of those
//! that the program of the tests sends.
//!
//! Reading is lenient: a field of another type counts as absent. Not here: the conversation ([`super`]).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tandem_wire::types;

use super::super::build::{DotnetTest, DotnetTestKey};
use crate::model::TestItem;

/// The version of JSON-RPC.
const VERSION: &str = "2.0";
/// JSON-RPC's code for a method that is not offered.
const METHOD_NOT_FOUND: i64 = -32601;

/// A request or a notification.
#[derive(Serialize)]
pub(super) struct JsonRpcCall<T> {
    jsonrpc: &'static str,
    /// The number of a request; a notification has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'static str,
    params: T,
}

/// The answer to a request that is not offered.
#[derive(Serialize)]
pub(super) struct JsonRpcRefusal {
    jsonrpc: &'static str,
    id: Value,
    error: JsonRpcError,
}

#[derive(Serialize)]
struct JsonRpcError {
    code: i64,
    message: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InitializeParams {
    pub(super) process_id: u32,
    pub(super) client_info: ClientInfo,
    pub(super) capabilities: OfferedCapabilities,
}

#[derive(Serialize)]
pub(super) struct ClientInfo {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
}

#[derive(Serialize)]
pub(super) struct OfferedCapabilities {
    pub(super) testing: TestingCapabilities,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TestingCapabilities {
    /// Whether this client attaches a debugger when the program asks for one.
    pub(super) debugger_provider: bool,
}

/// Which tests to list or to run.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkParams<'a> {
    pub(super) run_id: &'static str,
    /// All tests when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tests: Option<Vec<RequestedNode<'a>>>,
}

/// A test that the program is to run.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct RequestedNode<'a> {
    uid: Option<&'a Value>,
    display_name: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct NoParams {}

/// A message of the program.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ProgramMessage {
    pub(super) id: Value,
    #[serde(deserialize_with = "types::optional")]
    pub(super) method: Option<String>,
    #[serde(deserialize_with = "types::required")]
    pub(super) error: ProgramError,
    #[serde(deserialize_with = "types::required")]
    pub(super) params: TestUpdates,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ProgramError {
    #[serde(deserialize_with = "types::optional")]
    pub(super) message: Option<String>,
}

/// Changes of the states of tests.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct TestUpdates {
    #[serde(deserialize_with = "types::list")]
    pub(super) changes: Vec<TestChange>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct TestChange {
    #[serde(deserialize_with = "types::required")]
    pub(super) node: TestNode,
}

/// A test, or a group of tests, with its state.
#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct TestNode {
    pub(super) uid: Value,
    #[serde(deserialize_with = "types::required")]
    pub(super) display_name: String,
    #[serde(rename = "node-type", deserialize_with = "types::required")]
    pub(super) kind: String,
    #[serde(deserialize_with = "types::required")]
    pub(super) execution_state: String,
    #[serde(flatten)]
    pub(super) location: TestLocation,
    /// Objects with one trait or several each.
    #[serde(deserialize_with = "types::list")]
    pub(super) traits: Vec<Map<String, Value>>,
    #[serde(flatten)]
    pub(super) failure: TestFailure,
    #[serde(rename = "standardOutput", deserialize_with = "types::required")]
    pub(super) standard_output: String,
    #[serde(rename = "standardError", deserialize_with = "types::required")]
    pub(super) standard_error: String,
    #[serde(rename = "time.duration-ms", deserialize_with = "types::optional")]
    pub(super) duration_ms: Option<f64>,
}

/// The place of a test in the sources.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct TestLocation {
    #[serde(rename = "location.type", deserialize_with = "types::required")]
    pub(super) class: String,
    #[serde(rename = "location.method", deserialize_with = "types::required")]
    pub(super) method: String,
    #[serde(rename = "location.file", deserialize_with = "types::required")]
    pub(super) file: String,
    #[serde(rename = "location.line-start", deserialize_with = "types::optional")]
    pub(super) line_start: Option<u32>,
}

/// The reason why a test failed.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct TestFailure {
    #[serde(rename = "error.message", deserialize_with = "types::required")]
    pub(super) message: String,
    #[serde(rename = "error.stacktrace", deserialize_with = "types::required")]
    pub(super) stacktrace: String,
    #[serde(rename = "assert.expected", deserialize_with = "types::required")]
    pub(super) expected: String,
    #[serde(rename = "assert.actual", deserialize_with = "types::required")]
    pub(super) actual: String,
}

impl<T> JsonRpcCall<T> {
    /// A request with this number.
    pub(super) fn request(id: u64, method: &'static str, params: T) -> Self {
        Self { jsonrpc: VERSION, id: Some(id), method, params }
    }
}

impl JsonRpcCall<NoParams> {
    /// The notification that ends the program.
    pub(super) fn exit() -> Self {
        Self { jsonrpc: VERSION, id: None, method: "exit", params: NoParams {} }
    }
}

impl JsonRpcRefusal {
    /// Refuses a request with this number.
    pub(super) fn new(id: Value, message: String) -> Self {
        Self { jsonrpc: VERSION, id, error: JsonRpcError { code: METHOD_NOT_FOUND, message } }
    }
}

impl<'a> RequestedNode<'a> {
    /// The node of a test from a list.
    pub(super) fn of(test: &'a TestItem) -> Self {
        let key = test.handle.get::<DotnetTest>().map(|handle| &handle.key);
        match key {
            Some(DotnetTestKey::Platform { uid, shown }) => {
                Self { uid: Some(uid), display_name: Some(shown) }
            }
            _ => Self { uid: None, display_name: None },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_node_is_read_and_a_field_of_another_type_counts_as_absent() {
        let message: ProgramMessage =
            types::read(&json!({ "method": "testing/testUpdates/tests", "params": {
            "changes": [{ "parent": null, "node": { "uid": "u1", "display-name": "a", "node-type": "action",
                "execution-state": "failed", "location.type": "A", "location.line-start": 7,
                "location.file": null, "traits": [{ "slow": "" }], "error.message": "no",
                "time.duration-ms": 3, "standardOutput": 5 } }],
        } }));
        let TestChange { node } = &message.params.changes[0];
        assert_eq!(
            (&node.uid, node.display_name.as_str(), node.kind.as_str()),
            (&json!("u1"), "a", "action")
        );
        assert_eq!((node.location.class.as_str(), node.location.line_start), ("A", Some(7)));
        assert_eq!((node.failure.message.as_str(), node.duration_ms), ("no", Some(3.0)));
        assert_eq!((node.location.file.as_str(), node.standard_output.as_str()), ("", ""));
        assert_eq!(node.traits[0].keys().collect::<Vec<_>>(), ["slow"]);
        assert!(message.id.is_null() && message.error.message.is_none());
    }

    #[test]
    fn a_test_that_is_run_is_named_as_the_program_named_it() {
        let call = JsonRpcCall::request(2, "testing/runTests", WorkParams { run_id: "r", tests: None });
        let expected = json!({ "jsonrpc": "2.0", "id": 2, "method": "testing/runTests",
            "params": { "runId": "r" } });
        assert_eq!(types::body(&call), expected);
        let project = Default::default();
        let key = DotnetTestKey::Platform { uid: json!("u1"), shown: "a".into() };
        let handle = crate::model::TestHandle::new(DotnetTest { project, key });
        let test = TestItem { handle, ..TestItem::default() };
        let node = types::body(&RequestedNode::of(&test));
        assert_eq!(node, json!({ "uid": "u1", "display-name": "a" }));
    }
}
