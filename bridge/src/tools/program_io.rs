//! The program's stdin and output.
//!
//! Stores no output: the session's host does. Not here: lines that breakpoints log ([`crate::logpoints`]).

use std::time::Duration;

use dap_wire::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::arguments::schema::ArgumentSchema;
use crate::call::ToolCall;
use crate::session::REQUEST_TIMEOUT;
use crate::tool::{AnswerField, Tool, ToolEffect, ToolGroup, run};

/// Output in one answer by default, bytes per stream: some 4,000 tokens.
const MAX_OUTPUT: u64 = 16 * 1024;

/// The program's own input and output.
pub const GROUP: ToolGroup = ToolGroup {
    name: "program I/O",
    tools: &[
        Tool {
            name: "process_write_input",
            core: true,
            effect: ToolEffect::Mutating,
            description: "Write to the program's stdin.",
            input: ArgumentSchema::of::<InputArguments>,
            output: &[AnswerField::integer("bytesWritten"), AnswerField::flag("stdinClosed")],
            run: run!(write),
        },
        Tool {
            name: "process_read_output",
            core: true,
            effect: ToolEffect::ReadOnly,
            description: "The program's output (the newest), also after its end; waitFor waits.",
            input: ArgumentSchema::of::<OutputArguments>,
            output: &[AnswerField::text("stdout"), AnswerField::text("stderr"), AnswerField::text("cursor")],
            run: run!(read),
        },
    ],
};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-unlisted" = ["encoding"]))]
struct InputArguments {
    #[schemars(description = "lines end with \\n", length(min = 0))]
    data: String,
    #[schemars(description = "EOF")]
    #[serde(default)]
    close_after: bool,
    encoding: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OutputArguments {
    #[schemars(description = "stdout, stderr or both")]
    stream: Option<String>,
    #[schemars(description = "next time the new")]
    clear: Option<bool>,
    #[schemars(description = "cursor, o0.e0: the start")]
    since: Option<String>,
    #[schemars(description = "regex")]
    wait_for: Option<String>,
    timeout_ms: Option<u64>,
    max_bytes: Option<u64>,
    #[schemars(description = "a pty as text")]
    #[serde(default)]
    screen: bool,
}

/// Arguments of the session's `processReadOutput`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OutputRequest<'a> {
    max_bytes: u64,
    screen: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_for: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clear: Option<bool>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    newest: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
}

async fn write(call: &ToolCall, arguments: InputArguments) -> Result<Value, Failure> {
    let session = call.session().await?;
    // A program that another one started reads what that one was given.
    let session = session.root();
    let mut input = json!({ "data": arguments.data, "closeAfter": arguments.close_after });
    if let Some(encoding) = arguments.encoding {
        input["encoding"] = json!(encoding);
    }
    // A program that does not read lets its writers wait.
    let writing = session.ask_or_cancel("processWriteInput", input, REQUEST_TIMEOUT, &call.cancel);
    let body = call.progress.during("the program does not read its input", None, writing).await?;
    session.agent_view.forget_input_wait();
    Ok(json!({ "bytesWritten": body["bytesWritten"], "stdinClosed": body["stdinClosed"] }))
}

async fn read(call: &ToolCall, arguments: OutputArguments) -> Result<Value, Failure> {
    let session = call.session().await?;
    let session = session.root();
    let OutputArguments { stream, clear, since, wait_for, timeout_ms, max_bytes, screen } = arguments;
    let most = max_bytes.unwrap_or(MAX_OUTPUT);
    // A call that names where to begin, or what to wait for, reads on from there. Any other call wants the
    // newest output: the oldest part would be the same each time.
    let newest = since.is_none() && clear.is_none() && wait_for.is_none();
    let request = OutputRequest {
        max_bytes: if screen { 0 } else { most },
        screen,
        stream: stream.as_deref(),
        since: since.as_deref(),
        wait_for: wait_for.as_deref(),
        clear,
        newest,
        timeout_ms,
    };
    let deadline = Duration::from_millis(timeout_ms.unwrap_or(0)).saturating_add(REQUEST_TIMEOUT * 2);
    let reading =
        session.ask_or_cancel("processReadOutput", super::answer(&request)?, deadline, &call.cancel);
    let mut body = call.progress.during("waiting for output", None, reading).await?;
    if let Some(body) = body.as_object_mut() {
        // For waits; it would only cost an agent tokens.
        body.shift_remove("waitId");
    }
    if screen {
        return Ok(json!({ "screen": body["screen"], "cursor": body["cursor"],
                "waitingForInput": body["waitingForInput"] }));
    }
    if let Some(cursor) = body["cursor"].as_str() {
        session.agent_view.read_up_to(cursor, since.as_deref(), stream.as_deref());
    }
    // A character may not have fitted any more.
    let full = |key: &str| body[key].as_u64().is_some_and(|bytes| bytes > 0 && bytes + 4 > most);
    if body["skipped"].is_u64() {
        body["more"] = json!("this is the newest; since: \"o0.e0\" reads from the start");
    } else if !newest && (full("stdoutBytes") || full("stderrBytes")) {
        body["more"] = json!("perhaps: read on with since: cursor");
    }
    Ok(body)
}
