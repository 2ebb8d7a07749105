//! The answer of a call that failed: what went wrong and, in any case, a hint what to do.
//!
//! Not here: answers of tools that did their work and have bad news.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};
use tandem_wire::{ErrorCode, Failure, types};
use tandem_workspace::answer_error::shorten;

/// Hint for an error that has none.
fn remedy(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::NoSession => "use debug_launch, or debug_sessions to join one",
        ErrorCode::InvalidParameter => "follow the tool's schema",
        ErrorCode::StdinClosed => "restart the program with debug_restart to get a new stdin",
        ErrorCode::IoFailed => "look at debug_status; the program or the file may be gone",
        ErrorCode::IoNotOwned => "launch the program with debug_launch to have its stdin and output",
        ErrorCode::NotStopped => "use debug_pause, or debug_wait for the next stop",
        ErrorCode::NotRunning => "use debug_status to see its state",
        ErrorCode::ProcessNotFound => "check the process id; it may have ended",
        ErrorCode::NotDebuggable => "name the `engine` that can, or start the program with debug_launch",
        ErrorCode::AlreadyAttached => "use debug_sessions to join that session, or debug_disconnect first",
        ErrorCode::LaunchFailed => "check `program`, `cwd` and `env`; process_read_output returns its output",
        ErrorCode::BuildFailed => "correct the errors in `diagnostics`, and call again",
        ErrorCode::EngineNotFound => "install it, or say where it is with `enginePath`",
        ErrorCode::EngineFailed => "see debug_status; debug_restart or debug_launch starts it again",
        ErrorCode::BreakpointNotFound => "debug_list_breakpoints lists yours",
        ErrorCode::EvaluationFailed => "look at the names with debug_variables, or choose another `frameId`",
        ErrorCode::EvaluationTimeout => "evaluate something that runs less code of the program",
        ErrorCode::Timeout => "call again, with a longer `timeoutMs` if the tool takes one",
        ErrorCode::Cancelled => "call again",
        ErrorCode::AccessDenied => {
            "only the client that launched the session, or the user who started tandem-mcp, can allow it"
        }
        ErrorCode::PathNotAllowed => "stay below the roots that tandem-mcp was started with",
        ErrorCode::Unsupported => "use another tool, or another `engine`",
        ErrorCode::NotFound => "list_directory shows what there is",
        ErrorCode::TestsFailed => "look at the failures",
        ErrorCode::CommandFailed => "look at its output",
    }
}

/// The form of [`refusal`].
#[derive(Serialize)]
struct RefusedCall<'a> {
    success: bool,
    error: RefusalError<'a>,
}

/// Why a call failed, with the data of the failure.
#[derive(Serialize)]
pub(crate) struct RefusalError<'a> {
    code: &'static str,
    message: Cow<'a, str>,
    hint: Cow<'a, str>,
    #[serde(flatten)]
    data: Option<&'a Map<String, Value>>,
}

impl<'a> From<&'a Failure> for RefusalError<'a> {
    fn from(failure: &'a Failure) -> Self {
        // A debug console and a list of problems are a person's: an agent has what is wrong in the error
        // itself.
        let has = |key: &str| failure.code == ErrorCode::BuildFailed && failure.data.get(key).is_some();
        let hint = match failure.hint.as_deref() {
            Some(_) if has("output") => {
                "correct what `output`, the end of the build's output, reports, and call again"
            }
            Some(_) if has("diagnostics") => remedy(failure.code),
            hint => hint.unwrap_or_else(|| remedy(failure.code)),
        };
        let data = failure.data.as_object();
        Self { code: failure.code.as_str(), message: shorten(&failure.message), hint: shorten(hint), data }
    }
}

/// The answer of a call that failed: `{success: false, error: {code, message, hint, …data}}`.
pub(crate) fn refusal(failure: &Failure) -> Value {
    types::body(&RefusedCall { success: false, error: failure.into() })
}
