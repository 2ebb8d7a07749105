//! Arguments and bodies of the requests that Tandem adds to DAP.
//!
//! Not here: DAP's own types ([`super::generated`]), the table of these requests ([`crate::extensions`]).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Source, optional, required};

/// Arguments of `sessionInfo`, a request of Tandem.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionInfoArguments {
    /// Whether the client gets `sessionChanged` and `inputClosed` events from now on; absent changes nothing.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub subscribe: Option<bool>,
    /// Whether a subscriber shows its user the sessions of child processes, so that a stop in one of them is
    /// noticed. Tandem's client in a child session passes on what holds for the parent session.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub notices_children: Option<bool>,
}

/// Body of `processWriteInput`. For a line that a user types into the debug console it is the body of
/// `evaluate`, too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WriteInputBody {
    /// The number of bytes that the program's stdin accepted.
    pub bytes_written: usize,
    /// Whether stdin is closed now.
    pub stdin_closed: bool,
    /// The text for the debug console: empty.
    pub result: String,
    /// A line has no children in the debug console.
    pub variables_reference: i64,
}

/// Body of `processReadOutput`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReadOutputBody {
    /// The cursor with which the next read continues.
    pub cursor: String,
    /// Requested bytes that are no longer kept.
    pub dropped: u64,
    /// Whether the program waits for input, and how.
    #[serde(flatten)]
    pub wait: InputWaitBody,
    /// The process that a signal has suspended, if the program does not answer because of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspended_process: Option<u32>,
    /// Whether the program has ended and all its output has arrived.
    pub exited: bool,
    /// The screen of the program's terminal, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screen: Option<String>,
    /// The length of `stdout` in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout_bytes: Option<usize>,
    /// The text of stdout, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// The length of `stderr` in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr_bytes: Option<usize>,
    /// The text of stderr, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Bytes that were passed over for newer ones.
    #[serde(skip_serializing_if = "is_zero")]
    pub skipped: u64,
    /// The text that matched the pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched: Option<String>,
}

/// The fields of [`ReadOutputBody`] about a program that waits for input.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InputWaitBody {
    /// Whether the program waits for input.
    pub waiting_for_input: bool,
    /// Whether it waits for single keys instead of a line.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub takes_keys: bool,
    /// Identifies this wait for input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_id: Option<String>,
}

/// Body of `processReadInput`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReadInputBody {
    /// The total number of bytes that clients have written.
    pub bytes: u64,
    /// Whether a client has closed stdin.
    pub closed: bool,
    /// Whether `data` has all of them.
    pub complete: bool,
    /// The beginning of the input.
    pub data: String,
    /// `utf8`, or `base64` if it is not text.
    pub encoding: String,
}

/// Body of `followCall`, for a call that was followed to its end or to a limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FollowCallBody {
    /// The call that was followed.
    pub call: FollowedFunction,
    /// The statements in their order.
    pub statements: Vec<FollowedStatement>,
    /// The value that the call has returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returned: Option<String>,
    /// The reason why following ended.
    pub ended: String,
    /// The failure that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A call that is followed, or that a statement makes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FollowedFunction {
    /// The name of the function.
    pub name: String,
    /// The line of its first statement.
    pub line: i64,
    /// The source of the function, by its path only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The variables as it begins.
    pub variables: Vec<NamedValue>,
    /// Whether its statements follow.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub followed: bool,
    /// The value that it has returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returned: Option<String>,
}

/// A statement of a call that is followed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FollowedStatement {
    /// The line of the statement, from 1.
    pub line: i64,
    /// Its source, if that is not the one of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// How many followed calls it is below the first.
    #[serde(skip_serializing_if = "is_top_level")]
    pub depth: usize,
    /// Whether it is the first of its call.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub begins: bool,
    /// The variables that it has changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ValueChange>,
    /// The calls that it has made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<FollowedFunction>,
}

/// A variable: its name and the engine's text for its value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NamedValue {
    /// The name of the variable.
    pub name: String,
    /// The text that the engine shows.
    pub value: String,
}

/// A variable that a statement has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ValueChange {
    /// The name of the variable.
    pub name: String,
    /// The text of its new value.
    pub value: String,
    /// The text of the value before; none for a new variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
}

/// Body of `sessionInfo`, as one client gets it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionInfoBody {
    /// The id of the session.
    pub id: String,
    /// `idle`, `running`, `stopped` or `exited`.
    pub state: String,
    /// The access that agents have.
    pub agent_access: String,
    /// The connected clients; none for an agent without access.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<Vec<SessionClient>>,
    /// The name of the engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// The body of the event `process`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<Value>,
    /// The newest programs that this one has started.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Value>,
    /// The stop, if the program is stopped.
    #[serde(flatten)]
    pub stop: Option<SessionStop>,
    /// `exitCode` and `signal` of a program that has ended.
    #[serde(flatten)]
    pub end: Map<String, Value>,
}

/// A client of a session, as `sessionInfo` lists it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionClient {
    /// Its number in the session.
    pub id: u64,
    /// The name that it gave in `initialize`.
    pub name: String,
    /// Its kind: `editor` or `agent`.
    pub kind: String,
    /// The access that it has now.
    pub access: String,
    /// Whether it launched or attached.
    pub launched: bool,
    /// Whether it is the client that asks.
    pub you: bool,
    /// Its breakpoints, as it requested them.
    pub breakpoints: Vec<Value>,
}

/// The stop of a session, as `sessionInfo` describes it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionStop {
    /// The reason of the `stopped` event.
    pub reason: String,
    /// The thread that stopped.
    pub thread_id: Option<i64>,
    /// The frame on top, if the client may see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<SessionPlace>,
}

/// The frame at which a session is stopped.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionPlace {
    /// The name of the function.
    pub name: String,
    /// The file that it is in.
    pub source: Option<Source>,
    /// The line of the statement, from 1.
    pub line: i64,
    /// The column of the statement, from 1.
    pub column: i64,
}

/// `Source.adapterData` of the .NET engine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SourceAvailability {
    /// Whether the text must be fetched or decompiled first.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub not_here: Option<bool>,
}

/// The field that Tandem adds to the arguments of `evaluate`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EvaluationEffects {
    /// Whether the evaluation may change the program; absent means yes.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub allow_side_effects: Option<bool>,
}

/// The field that Tandem adds to the body of `exceptionInfo`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExceptionOrigin {
    /// Where user code threw the exception, if the thread's stack does not show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thrown_at: Option<ThrowPlace>,
}

/// A statement that has thrown an exception: a DAP `StackFrame` without an id, because its method has ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ThrowPlace {
    /// The name of the method.
    pub name: String,
    /// The source of the method.
    pub source: Option<Source>,
    /// The line of the statement, from 1.
    pub line: i64,
}

/// Data of a failed evaluation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExpressionErrorData {
    /// The columns of the first error.
    #[serde(flatten)]
    pub columns: ErrorColumns,
    /// All errors that the compiler reports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<ExpressionDiagnostic>,
    /// Fields of other failures.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The columns of an error in an expression, in UTF-16 units from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ErrorColumns {
    /// The first column of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The column after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<usize>,
}

/// An error that a compiler reports for an expression.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExpressionDiagnostic {
    /// The error code, such as `CS0103`; absent for the location alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The text of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The columns of the text that is wrong.
    #[serde(flatten)]
    pub columns: ErrorColumns,
}

/// Body of `attach` to a .NET program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AttachBody {
    /// The version of the program's runtime.
    pub runtime_version: String,
}

/// The field that Tandem adds to a `StackFrame`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EndedFrame {
    /// Whether the method has thrown the exception of the stop and ended: it has no variables any more.
    #[serde(deserialize_with = "required")]
    pub has_ended: bool,
}

/// The field that Tandem adds to the arguments of `source`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SourceOfModule {
    /// The module of a frame without a source: the answer is its code, or the reason why there is none.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub module_id: Option<i64>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn is_top_level(depth: &usize) -> bool {
    *depth == 0
}
