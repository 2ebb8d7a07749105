//! The program's stdin and output.
//!
//! Stores no output: the session's host does. Not here: lines that breakpoints log ([`crate::logpoints`]).

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::ReadOutputBody;

use super::answer;
use super::waiting::suspended_message;
use crate::arguments::schema::ArgumentSchema;
use crate::call::ToolCall;
use crate::session::REQUEST_TIMEOUT;
use crate::session::requests::{ReadOutputArguments, WriteInputArguments};
use crate::tool::{AnswerField, StopUse, Tool, ToolEffect, ToolGroup, run};

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
            stop: StopUse::Independent,
            description: "Write to the program's stdin.",
            input: ArgumentSchema::of::<InputArguments>,
            output: &[AnswerField::integer("bytesWritten"), AnswerField::flag("stdinClosed")],
            run: run!(write),
        },
        Tool {
            name: "process_read_output",
            core: true,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Independent,
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

/// The answer of `process_write_input`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WrittenInput {
    bytes_written: usize,
    stdin_closed: bool,
}

/// The answer of `process_read_output` about the screen of a terminal.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScreenAnswer {
    screen: Option<String>,
    cursor: String,
    waiting_for_input: bool,
}

/// The answer of `process_read_output`.
#[derive(Serialize)]
struct OutputAnswer {
    #[serde(flatten)]
    read: ReadOutputBody,
    /// How to read the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<&'static str>,
    /// Why the program does not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// Faults of the program's input and output that the agent has not seen before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

async fn write(call: &ToolCall, arguments: InputArguments) -> Result<Value, Failure> {
    let session = call.session().await?;
    // A program that another one started reads what that one was given.
    let session = session.root();
    let InputArguments { data, close_after, encoding } = arguments;
    let input = WriteInputArguments { data, close_after, encoding };
    // A program that does not read lets its writers wait.
    let writing = session.send_or_cancel(&input, REQUEST_TIMEOUT, &call.cancel);
    let body = call.progress.during("the program does not read its input", None, writing).await?;
    session.agent_view.forget_input_wait();
    answer(&WrittenInput { bytes_written: body.bytes_written, stdin_closed: body.stdin_closed })
}

async fn read(call: &ToolCall, arguments: OutputArguments) -> Result<Value, Failure> {
    let session = call.session().await?;
    let session = session.root();
    let OutputArguments { stream, clear, since, wait_for, timeout_ms, max_bytes, screen } = arguments;
    let most = max_bytes.unwrap_or(MAX_OUTPUT);
    // A call that names where to begin, or what to wait for, reads on from there. Any other call wants the
    // newest output: the oldest part would be the same each time.
    let newest = since.is_none() && clear.is_none() && wait_for.is_none();
    let request = ReadOutputArguments {
        max_bytes: if screen { 0 } else { most },
        screen,
        stream: stream.clone(),
        since: since.clone(),
        wait_for,
        clear,
        newest,
        timeout_ms,
    };
    let deadline = Duration::from_millis(timeout_ms.unwrap_or(0)).saturating_add(REQUEST_TIMEOUT * 2);
    let reading = session.send_or_cancel(&request, deadline, &call.cancel);
    let mut read = call.progress.during("waiting for output", None, reading).await?;
    // For waits; it would only cost an agent tokens.
    read.wait.wait_id = None;
    if screen {
        let ReadOutputBody { screen, cursor, wait, .. } = read;
        return answer(&ScreenAnswer { screen, cursor, waiting_for_input: wait.waiting_for_input });
    }
    session.agent_view.read_up_to(&read.cursor, since.as_deref(), stream.as_deref());
    // A character may not have fitted any more.
    let is_full = |bytes: &Option<usize>| bytes.is_some_and(|bytes| bytes > 0 && bytes as u64 + 4 > most);
    let more = if read.skipped > 0 {
        Some("this is the newest; since: \"o0.e0\" reads from the start")
    } else if !newest && (is_full(&read.stdout_bytes) || is_full(&read.stderr_bytes)) {
        Some("perhaps: read on with since: cursor")
    } else {
        None
    };
    let message = read.suspended_process.map(suspended_message);
    answer(&OutputAnswer { read, more, message, warnings: session.listener.take_warnings() })
}
