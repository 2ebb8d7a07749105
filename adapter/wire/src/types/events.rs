//! Bodies of the events that Tandem adds to DAP, and the fields that it adds to DAP's events.
//!
//! Not here: DAP's own bodies ([`super::generated`]), requests of Tandem ([`super::tandem`]).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{optional, required};

/// The fields that Tandem adds to the event `stopped`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StopDetails {
    /// The process that stopped, if one session debugs several.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub process_id: Option<i64>,
    /// The signal that stopped the program.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
}

/// The fields that Tandem adds to the event `output`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OutputDetails {
    /// The writer of the line, such as `program` or `logMessage`; absent for the engine itself.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Advice about the stop or the end that follows.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether the step under way cannot end.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub step_ends_nowhere: Option<bool>,
    /// Whether the debugger in the program has ended, and the program runs on without one.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub debugger_ended: Option<bool>,
}

/// Body of the event `exited`, with the signal that Tandem adds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProgramExit {
    /// The exit code of the program.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The signal that ended it.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
}

/// Body of the event `sessionChanged`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionChangedBody {
    /// The id of the session.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The kind of change, such as `joined`.
    #[serde(deserialize_with = "required")]
    pub change: String,
    /// The name of the client that caused it.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The number of that client in the session.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<u64>,
    /// The kind of that client.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The access of that client.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    /// The reason why the client left.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The request by which it resumed the program, or that was refused.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The access that agents have now.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub agent_access: Option<String>,
    /// A program that the program has started.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub child: Option<ChildProgram>,
    /// Further fields, which depend on the change.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Body of the event `inputClosed`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InputClosedBody {
    /// The name of the client that closed the program's stdin.
    #[serde(deserialize_with = "required")]
    pub client: String,
}

/// A program that the program of a session has started.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChildProgram {
    /// The name of the program.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The session that debugs it, if one does.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The id of its process.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub process_id: Option<i64>,
    /// Fields that only some sessions report.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}
