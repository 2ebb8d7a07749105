//! The requests that the bridge sends: the arguments of each determine its command and the type of its body.
//!
//! Not here: sending them ([`super::AgentSession`]); types that other clients use as well
//! (`tandem_wire::types`).

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Map;
use tandem_wire::types::{
    BreakpointRequest, DapModulesArguments, DapSourceArguments, EvaluateArguments, EvaluateResponseBody,
    ExceptionInfoArguments, ExceptionInfoResponseBody, FollowCallBody, GotoTargetsArguments,
    GotoTargetsResponseBody, LoadedSourcesResponseBody, ModulesResponseBody, ReadInputBody, ReadOutputBody,
    ScopesArguments, ScopesResponseBody, SessionInfoArguments, SessionInfoBody, SetBreakpointsResponseBody,
    SetExceptionBreakpointsArguments, SetExceptionBreakpointsResponseBody, SetVariableArguments,
    SetVariableResponseBody, Source, SourceResponseBody, StackTraceArguments, StackTraceResponseBody,
    ThreadsResponseBody, VariablesArguments, VariablesResponseBody, WriteInputBody,
};

/// The arguments of a request of DAP, or of Tandem's own.
pub trait DapRequest: Serialize {
    /// The command of the request.
    const COMMAND: &'static str;
    /// The body of its response.
    type Body: DeserializeOwned + Default;
}

/// Declares the command and the body that belong to arguments.
macro_rules! requests {
    ($($arguments:ty => $command:literal -> $body:ty,)*) => {
        $(impl DapRequest for $arguments {
            const COMMAND: &'static str = $command;
            type Body = $body;
        })*
    };
}

requests! {
    DapModulesArguments => "modules" -> ModulesResponseBody,
    DapSourceArguments => "source" -> SourceResponseBody,
    EvaluateArguments => "evaluate" -> EvaluateResponseBody,
    ExceptionInfoArguments => "exceptionInfo" -> ExceptionInfoResponseBody,
    FollowCallArguments => "followCall" -> FollowCallBody,
    GotoArguments => "goto" -> EmptyBody,
    GotoTargetsArguments => "gotoTargets" -> GotoTargetsResponseBody,
    LoadedSourcesArguments => "loadedSources" -> LoadedSourcesResponseBody,
    ReadInputArguments => "processReadInput" -> ReadInputBody,
    ReadOutputArguments => "processReadOutput" -> ReadOutputBody,
    ScopesArguments => "scopes" -> ScopesResponseBody,
    SessionInfoArguments => "sessionInfo" -> SessionInfoBody,
    SetBreakpointsArguments => "setBreakpoints" -> SetBreakpointsResponseBody,
    SetExceptionBreakpointsArguments => "setExceptionBreakpoints" -> SetExceptionBreakpointsResponseBody,
    SetExpressionArguments => "setExpression" -> SetVariableResponseBody,
    SetFunctionBreakpointsArguments => "setFunctionBreakpoints" -> SetBreakpointsResponseBody,
    SetVariableArguments => "setVariable" -> SetVariableResponseBody,
    StackTraceArguments => "stackTrace" -> StackTraceResponseBody,
    DapThreadsArguments => "threads" -> ThreadsResponseBody,
    VariablesArguments => "variables" -> VariablesResponseBody,
    WriteInputArguments => "processWriteInput" -> WriteInputBody,
}

/// A body without fields that matter.
pub type EmptyBody = Map<String, serde_json::Value>;

/// Arguments of `threads`: none.
#[derive(Debug, Default, Serialize)]
pub struct DapThreadsArguments {}

/// Arguments of `loadedSources`: none.
#[derive(Debug, Default, Serialize)]
pub struct LoadedSourcesArguments {}

/// Arguments of `processReadInput`: none.
#[derive(Debug, Default, Serialize)]
pub struct ReadInputArguments {}

/// Arguments of `setBreakpoints`.
#[derive(Debug, Serialize)]
pub struct SetBreakpointsArguments {
    /// The source, by its path.
    pub source: Source,
    /// All breakpoints of this client in it.
    pub breakpoints: Vec<BreakpointRequest>,
}

/// Arguments of `setFunctionBreakpoints`.
#[derive(Debug, Serialize)]
pub struct SetFunctionBreakpointsArguments {
    /// All function breakpoints of this client.
    pub breakpoints: Vec<BreakpointRequest>,
}

/// Arguments of `setExpression`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetExpressionArguments {
    /// The variable, member or element.
    pub expression: String,
    /// The expression of its new value.
    pub value: String,
    /// The frame in which both are evaluated.
    pub frame_id: Option<i64>,
}

/// Arguments of `goto`, which moves a thread.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GotoArguments {
    /// The thread that continues elsewhere.
    pub thread_id: i64,
    /// The target, from `gotoTargets`.
    pub target_id: i64,
}

/// Arguments of `followCall`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FollowCallArguments {
    /// The thread whose innermost call is followed.
    pub thread_id: i64,
    /// Time limit in milliseconds.
    pub timeout_ms: u64,
    /// How many calls below it are followed as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
    /// Maximum number of statements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u64>,
}

/// Arguments of `processWriteInput`.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteInputArguments {
    /// The input, in the encoding.
    pub data: String,
    /// Whether stdin is closed afterwards.
    pub close_after: bool,
    /// `utf8` if absent, or `base64`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
}

/// Arguments of `processReadOutput`.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadOutputArguments {
    /// Maximum number of bytes of each stream.
    pub max_bytes: u64,
    /// Whether the screen of the program's terminal is requested.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub screen: bool,
    /// `stdout`, `stderr` or `both`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// The cursor from which to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// A pattern of output that ends the wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_for: Option<String>,
    /// Whether the client's start moves to the end of this read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clear: Option<bool>,
    /// Whether the newest output is requested instead of the oldest.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub newest: bool,
    /// Time limit of the wait in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}
