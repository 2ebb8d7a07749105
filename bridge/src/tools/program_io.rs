//! The program's stdin and output.

use std::time::Duration;

use dap_wire::Failure;
use serde_json::{Value, json};

use crate::call::ToolCall;
use crate::session::REQUEST_TIMEOUT;
use crate::tool::{Tool, ToolEffect, ToolGroup, run};

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
            input: &["data:s0!=lines end with \\n", "closeAfter:b=EOF"],
            output: &["bytesWritten:i", "stdinClosed:b"],
            run: run!(write),
        },
        Tool {
            name: "process_read_output",
            core: true,
            effect: ToolEffect::ReadOnly,
            description: "The program's output (the newest), also after its end; waitFor waits.",
            input: &[
                "stream:s=stdout, stderr or both",
                "clear:b=next time the new",
                "since:s=cursor, o0.e0: the start",
                "waitFor:s=regex",
                "timeoutMs:i",
                "maxBytes:i",
                "screen:b=a pty as text",
            ],
            output: &["stdout:s", "stderr:s", "cursor:s"],
            run: run!(read),
        },
    ],
};

async fn write(call: &ToolCall) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    // A program that another one started reads what that one was given.
    let session = session.root();
    let data = call.arguments.need_content("data")?;
    let mut arguments =
        json!({ "data": data, "closeAfter": call.arguments.flag("closeAfter")?.unwrap_or(false) });
    if let Some(encoding) = call.arguments.text("encoding")? {
        arguments["encoding"] = json!(encoding);
    }
    // A program that does not read lets its writers wait.
    let writing = session.ask_or_cancel("processWriteInput", arguments, REQUEST_TIMEOUT, &call.cancel);
    let body = call.progress.during("the program does not read its input", None, writing).await?;
    session.agent_view.forget_input_wait();
    Ok(json!({ "bytesWritten": body["bytesWritten"], "stdinClosed": body["stdinClosed"] }))
}

async fn read(call: &ToolCall) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let session = session.root();
    let most = call.arguments.number("maxBytes")?.unwrap_or(MAX_OUTPUT);
    let screen = call.arguments.flag("screen")?.unwrap_or(false);
    let mut arguments = json!({ "maxBytes": if screen { 0 } else { most }, "screen": screen });
    for key in ["stream", "since", "waitFor"] {
        if let Some(text) = call.arguments.text(key)? {
            arguments[key] = json!(text);
        }
    }
    if let Some(clear) = call.arguments.flag("clear")? {
        arguments["clear"] = json!(clear);
    }
    // A call that names where to begin, or what to wait for, reads on from there. Any other call wants the
    // newest output: the oldest part would be the same each time.
    if ["since", "clear", "waitFor"].iter().all(|key| arguments[*key].is_null()) {
        arguments["newest"] = json!(true);
    }
    let timeout = call.arguments.number("timeoutMs")?;
    if let Some(timeout) = timeout {
        arguments["timeoutMs"] = json!(timeout);
    }
    let arguments_go_on = arguments["newest"].is_null();
    let deadline = Duration::from_millis(timeout.unwrap_or(0)).saturating_add(REQUEST_TIMEOUT * 2);
    let reading = session.ask_or_cancel("processReadOutput", arguments, deadline, &call.cancel);
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
        let (since, stream) = (call.arguments.text("since")?, call.arguments.text("stream")?);
        session.agent_view.read_up_to(cursor, since.as_deref(), stream.as_deref());
    }
    // A character may not have fitted any more.
    let full = |key: &str| body[key].as_u64().is_some_and(|bytes| bytes > 0 && bytes + 4 > most);
    if body["skipped"].is_u64() {
        body["more"] = json!("this is the newest; since: \"o0.e0\" reads from the start");
    } else if arguments_go_on && (full("stdoutBytes") || full("stderrBytes")) {
        body["more"] = json!("perhaps: read on with since: cursor");
    }
    Ok(body)
}
