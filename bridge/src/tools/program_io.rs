//! The program's stdin and output.

use std::time::Duration;

use dap_wire::Failure;
use serde_json::{Value, json};

use crate::call::Call;
use crate::session::DEADLINE;
use crate::tool::{Effect, Family, Tool, run};

/// Most output in one answer unless asked otherwise, bytes per stream.
const MOST: u64 = 64 * 1024;

/// The program's own input and output.
pub const FAMILY: Family = Family {
    name: "program I/O",
    of_session: true,
    tools: &[
        Tool {
            name: "process_write_input",
            core: true,
            effect: Effect::Acts,
            about: "Write to the program's stdin.",
            takes: &["data:s!=end lines with \\n", "closeAfter:b=then send EOF"],
            gives: &["bytesWritten:i", "stdinClosed:b"],
            run: run!(write),
        },
        Tool {
            name: "process_read_output",
            core: true,
            effect: Effect::Looks,
            about: "Read what the program printed, also after its end; wait for a text with waitFor.",
            takes: &[
                "stream:s=stdout, stderr or both",
                "clear:b=start behind this next time",
                "since:s=cursor",
                "waitFor:s=regular expression",
                "timeoutMs:i",
                "maxBytes:i",
            ],
            gives: &["stdout:s", "stderr:s", "stdoutBytes:i", "stderrBytes:i", "cursor:s"],
            run: run!(read),
        },
    ],
};

pub(super) async fn write(call: &Call) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let data = call.arguments.need_text("data")?;
    let close = call.arguments.flag("closeAfter")?.unwrap_or(false);
    let told = session.ask("processWriteInput", json!({ "data": data, "closeAfter": close })).await?;
    Ok(json!({ "bytesWritten": told["bytesWritten"], "stdinClosed": told["stdinClosed"] }))
}

pub(super) async fn read(call: &Call) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let mut arguments = json!({ "maxBytes": call.arguments.number("maxBytes")?.unwrap_or(MOST) });
    for key in ["stream", "since", "waitFor"] {
        if let Some(text) = call.arguments.text(key)? {
            arguments[key] = json!(text);
        }
    }
    if let Some(clear) = call.arguments.flag("clear")? {
        arguments["clear"] = json!(clear);
    }
    let timeout = call.arguments.number("timeoutMs")?;
    if let Some(timeout) = timeout {
        arguments["timeoutMs"] = json!(timeout);
    }
    let deadline = Duration::from_millis(timeout.unwrap_or(0)) + DEADLINE * 2;
    session.ask_or_cancel("processReadOutput", arguments, deadline, &call.cancel).await
}
