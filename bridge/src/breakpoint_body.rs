//! Breakpoints as tools answer them.
//!
//! Not here: the lists of an agent ([`crate::breakpoint_requests`]), breakpoints of other clients
//! (`tools::other_breakpoints`).

use serde::Serialize;

/// A breakpoint as tools answer it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakpointBody {
    /// The agent's id for it.
    pub id: u64,
    /// The name of its function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The source that it is in, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its line, where it bound or where it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    /// Whether the engine has bound it to code.
    pub verified: bool,
    #[serde(flatten)]
    pub(crate) conditions: RequestedConditions,
    /// The text at its line.
    #[serde(flatten)]
    pub text: BreakpointText,
    /// What to know about its state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The conditions of a breakpoint, by the names of the arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestedConditions {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) condition: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hit_condition: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) log_message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dll_path: Option<String>,
}

/// The text of the sources at a breakpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct BreakpointText {
    /// The line where it bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The requested line, if it bound at another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<RequestedLine>,
    /// The lines around the requested one, if the engine refuses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Vec<String>>,
    /// The sources in which it binds, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<String>>,
}

/// A line that was requested, with its text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RequestedLine {
    /// The number of the line, from 1.
    pub line: u64,
    /// Its text, if the source has it.
    pub source: Option<String>,
}
