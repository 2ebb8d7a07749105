//! Failures as clients see them: a stable code, a sentence, a hint.
//!
//! One table for both programs: the adapter puts a [`Failure`] into a DAP error response, the bridge reads it
//! back and passes it to the model. [`describe_exit`] has the text for how a process ended. This crate has no
//! DAP messages, so process I/O and the workspace tools depend only on it. Errors of frames, which end a
//! connection, are in `tandem_wire::codec`.

use serde_json::{Value, json};

#[cfg(test)]
mod documented;
mod exit;

pub use exit::{describe_exit, describe_exit_code};

macro_rules! error_codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $id:literal $text:literal;)*) => {
        /// A stable error code. Agents match the text; the number is DAP's `Message.id`.
        /// Numbers never change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode { $($(#[doc = $doc])+ $name,)* }

        impl ErrorCode {
            /// Every code, in the order of its number.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// DAP's numeric `Message.id`.
            pub fn id(self) -> i64 { match self { $(Self::$name => $id,)* } }

            /// The name used in MCP answers and in the `code` variable of a DAP error.
            pub fn as_str(self) -> &'static str { match self { $(Self::$name => $text,)* } }

            /// The doc comment of the code, for the table in `docs/troubleshooting.md`.
            #[cfg(test)]
            fn meaning(self) -> &'static str { match self { $(Self::$name => concat!($($doc),+).trim(),)* } }
        }
    };
}

error_codes! {
    /// The request needs a session, or a program in it, and there is none.
    NoSession = 1001 "NO_SESSION";
    /// An argument is missing, of the wrong type or out of range; also an unknown command's arguments.
    InvalidParameter = 1002 "INVALID_PARAMETER";
    /// The program's stdin is already closed.
    StdinClosed = 1003 "STDIN_CLOSED";
    /// Reading or writing the program's pipes failed.
    IoFailed = 1004 "IO_FAILED";
    /// The program's stdio does not belong to the session (it is a terminal's, or the session has
    /// attached to the program).
    IoNotOwned = 1005 "IO_NOT_OWNED";
    /// Only possible at a stop; also for references of an earlier stop.
    NotStopped = 1006 "NOT_STOPPED";
    /// Only possible while the program runs.
    NotRunning = 1007 "NOT_RUNNING";
    /// No process has this id, name or host.
    ProcessNotFound = 1008 "PROCESS_NOT_FOUND";
    /// The program or process cannot be debugged by this engine.
    NotDebuggable = 1009 "NOT_DEBUGGABLE";
    /// This session, or another debugger, already debugs a program.
    AlreadyAttached = 1010 "ALREADY_ATTACHED";
    /// The program could not be started.
    LaunchFailed = 1011 "LAUNCH_FAILED";
    /// The build before the launch failed.
    BuildFailed = 1012 "BUILD_FAILED";
    /// The engine, or a file it needs, is not installed.
    EngineNotFound = 1013 "ENGINE_NOT_FOUND";
    /// The engine crashed, or refused the request without a more specific code.
    EngineFailed = 1014 "ENGINE_FAILED";
    /// No breakpoint with that id.
    BreakpointNotFound = 1015 "BREAKPOINT_NOT_FOUND";
    /// An expression could not be evaluated.
    EvaluationFailed = 1016 "EVALUATION_FAILED";
    /// An evaluation ran past its deadline and was aborted.
    EvaluationTimeout = 1017 "EVALUATION_TIMEOUT";
    /// A wait passed its deadline.
    Timeout = 1018 "TIMEOUT";
    /// The client cancelled the request.
    Cancelled = 1019 "CANCELLED";
    /// This client may not do that.
    AccessDenied = 1020 "ACCESS_DENIED";
    /// The path lies outside the allowed roots.
    PathNotAllowed = 1021 "PATH_NOT_ALLOWED";
    /// Neither the hub nor the engine knows or offers this.
    Unsupported = 1022 "UNSUPPORTED";
    /// No such file or folder.
    NotFound = 1030 "NOT_FOUND";
    /// Tests ran, and some failed.
    TestsFailed = 1031 "TESTS_FAILED";
    /// A program that a tool ran reported a failure.
    CommandFailed = 1032 "COMMAND_FAILED";
}

impl ErrorCode {
    /// The code with this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A failed request: the action, its object, the reason and the remedy.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The stable code, which clients may match.
    pub code: ErrorCode,
    /// Lower case, no full stop, literals in backticks.
    pub message: String,
    /// The remedy, if there is one.
    pub hint: Option<String>,
    /// Whether an editor should show the failure to its user; `false` for failures that
    /// only concern a program.
    pub show_user: bool,
    /// Data for programs, for example build diagnostics: `body.error.data`. `Null` when there is none.
    pub data: Value,
    /// The error response of a child adapter, which is passed on unchanged.
    pub foreign: Option<Box<ForeignError>>,
}

/// The error response of a foreign adapter.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignError {
    /// `Response.message` of the response.
    pub message: Option<String>,
    /// `Response.body` of the response; `Null` when absent.
    pub body: Value,
}

impl ForeignError {
    /// The body with Tandem's code added for clients that read it, and with Tandem's text if
    /// the adapter sent none.
    fn body(&self, failure: &Failure) -> Value {
        let mut body = if self.body.is_object() { self.body.clone() } else { json!({}) };
        if !body["error"].is_object() {
            body["error"] = failure.own_error();
            return body;
        }
        let variables = &mut body["error"]["variables"];
        if !variables.is_object() {
            *variables = json!({});
        }
        if let Some(variables) = variables.as_object_mut() {
            variables.entry("code").or_insert_with(|| failure.code.as_str().into());
            variables.entry("message").or_insert_with(|| failure.message.as_str().into());
            if let Some(hint) = &failure.hint {
                variables.entry("hint").or_insert_with(|| hint.as_str().into());
            }
        }
        body
    }
}

impl Failure {
    /// Creates a failure without a hint, which editors show.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, show_user: true, data: Value::Null, foreign: None }
    }

    /// Sets the hint, which is the remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Marks the failure as one that an editor does not show in a dialog.
    #[must_use]
    pub fn quiet(mut self) -> Self {
        self.show_user = false;
        self
    }

    /// Sets the data for programs.
    #[must_use]
    pub fn data(mut self, data: Value) -> Self {
        self.data = data;
        self
    }

    /// Creates a failure for an invalid argument: `what` has its name and the reason.
    pub fn invalid(what: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidParameter, what).quiet()
    }

    /// Creates the failure of a request that its client cancelled.
    pub fn cancelled() -> Self {
        Self::new(ErrorCode::Cancelled, "cancelled by the client").quiet()
    }

    /// DAP `Response.message`: a value that DAP defines, if there is one, otherwise the sentence.
    pub fn response_message(&self) -> Option<String> {
        match (&self.foreign, self.code) {
            (Some(foreign), _) => foreign.message.clone(),
            (None, ErrorCode::Cancelled) => Some("cancelled".into()),
            (None, ErrorCode::NotStopped) => Some("notStopped".into()),
            _ => Some(self.message.clone()),
        }
    }

    /// `ErrorResponse.body`: `{error: {id, format, variables: {code, message, hint?}, showUser, data?}}`. The
    /// error of a foreign adapter keeps its body, with Tandem's `code` among the variables.
    pub fn to_body(&self) -> Value {
        match &self.foreign {
            Some(foreign) => foreign.body(self),
            None => json!({ "error": self.own_error() }),
        }
    }

    fn own_error(&self) -> Value {
        let mut variables = json!({ "code": self.code.as_str(), "message": self.message });
        let mut format = "{message}";
        if let Some(hint) = &self.hint {
            variables["hint"] = hint.as_str().into();
            format = "{message}: {hint}";
        }
        let mut error = json!({ "id": self.code.id(), "format": format, "variables": variables,
            "showUser": self.show_user });
        if !self.data.is_null() {
            error["data"] = self.data.clone();
        }
        error
    }

    /// Reads the parts of a DAP error response to `command`. Tandem's are read without loss; those of a
    /// foreign adapter become `EngineFailed` with its message.
    pub fn from_response(command: &str, short: Option<&str>, body: &Value) -> Self {
        let error = &body["error"];
        let variables = &error["variables"];
        let ours = variables["code"].as_str().and_then(ErrorCode::parse);
        let format = error["format"].as_str().map(|format| fill(format, variables));
        let message = variables["message"]
            .as_str()
            .filter(|_| ours.is_some())
            .map(str::to_owned)
            .or(format)
            .or_else(|| short.map(str::to_owned))
            // lldb-dap 19 sends the reason of a refused `setVariable` only here.
            .or_else(|| body["message"].as_str().map(str::to_owned))
            .unwrap_or_else(|| format!("`{command}` failed without a reason"));
        let code = ours.unwrap_or(match short {
            Some("cancelled") => ErrorCode::Cancelled,
            Some("notStopped") => ErrorCode::NotStopped,
            _ => ErrorCode::EngineFailed,
        });
        Self {
            code,
            message,
            hint: variables["hint"].as_str().filter(|_| ours.is_some()).map(str::to_owned),
            // Without `showUser`, the adapter does not want a dialog.
            show_user: error["showUser"].as_bool().unwrap_or(false),
            data: error["data"].clone(),
            foreign: ours
                .is_none()
                .then(|| Box::new(ForeignError { message: short.map(str::to_owned), body: body.clone() })),
        }
    }
}

/// Fills in DAP `Message.format`: `{name}` is replaced by the variable of that name.
fn fill(format: &str, variables: &Value) -> String {
    let mut text = format.to_owned();
    if let Some(variables) = variables.as_object() {
        for (name, value) in variables {
            if let Some(value) = value.as_str() {
                text = text.replace(&format!("{{{name}}}"), value);
            }
        }
    }
    text
}
