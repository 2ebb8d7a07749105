//! `debug_source`: numbered lines around a frame, or of a source of the program, also of one that only the
//! engine can read.

use std::time::Duration;

use dap_wire::{ErrorCode, Failure};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::shown_frame::{has_source, shown_frame, stack};
use super::stops::stopped_thread;
use crate::call::ToolCall;
use crate::session::AgentSession;
use crate::source::{SourceText, absolute};

/// Lines of source by default.
const DEFAULT_LINES: u64 = 40;
/// Time limit for a source; agents' clients abort calls after a minute.
const SOURCE_TIMEOUT: Duration = Duration::from_secs(50);

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SourceArguments {
    frame_id: Option<u64>,
    source_file: Option<String>,
    #[schemars(description = "first")]
    line: Option<u64>,
    start: Option<u64>,
    #[schemars(extend("default" = DEFAULT_LINES))]
    count: Option<u64>,
}

pub(super) async fn source(call: &ToolCall, arguments: SourceArguments) -> Result<Value, Failure> {
    let session = call.session().await?;
    let count = arguments.count.unwrap_or(DEFAULT_LINES).clamp(1, 500);
    let line = arguments.start.or(arguments.line);
    if let Some(file) = arguments.source_file {
        let known = session.known_source(&file).await?;
        let is_known = known.is_some();
        let Some(path) = known.or_else(|| call.bridge.may_read(&absolute(&file)).then(|| absolute(&file)))
        else {
            return Err(Failure::new(
                ErrorCode::PathNotAllowed,
                format!("`{file}` is not a source of this program that the debugger has shown"),
            )
            .hint("use a file of a frame (debug_stacktrace), or read_file"));
        };
        let read = match SourceText::read(&path) {
            None if is_known => Some(text_of(call, &session, json!({ "source": { "path": path } })).await?),
            read => read,
        };
        return lines(&path, read, line.unwrap_or(1), count, 0);
    }
    let (at, mut frame) = frame_with_source(&session, arguments.frame_id).await?;
    let path = |frame: &Value| frame["source"]["path"].as_str().unwrap_or_default().to_owned();
    let read = match SourceText::read(&path(&frame)) {
        Some(read) => read,
        // The file is not on this disk: the engine may have its text, or know how to get it.
        None => {
            let arguments = json!({ "source": frame["source"], "moduleId": frame["moduleId"],
                "sourceReference": frame["source"]["sourceReference"].as_i64().unwrap_or(0) });
            let read = text_of(call, &session, arguments).await?;
            if !has_source(&frame) {
                // Where it is in what was made just now is known only now.
                let stack = stack(&session, &stopped_thread(&session)?, 0, 200).await?;
                frame = stack["stackFrames"].get(at).cloned().unwrap_or(frame);
            }
            read
        }
    };
    let at = frame["line"].as_u64().filter(|at| *at > 0).unwrap_or(1);
    let first = line.unwrap_or_else(|| at.saturating_sub(count / 2).max(1));
    let mut answer = lines(&path(&frame), Some(read), first, count, at)?;
    if let Some(origin) = frame["source"]["origin"].as_str() {
        answer["origin"] = json!(origin);
    }
    Ok(answer)
}

/// The requested frame, else the one that tools show at the stop if it has a source, else the nearest that
/// has one; and its position in the stack.
async fn frame_with_source(
    session: &AgentSession,
    requested_frame: Option<u64>,
) -> Result<(usize, Value), Failure> {
    let thread = stopped_thread(session)?;
    let frame_id = match requested_frame {
        Some(id) => Some(id),
        None => {
            let (_, shown) = shown_frame(session, &thread).await?;
            shown["id"].as_u64().filter(|_| has_source(&shown))
        }
    };
    let stack = stack(session, &thread, 0, 200).await?;
    let frames = stack["stackFrames"].as_array().map(Vec::as_slice).unwrap_or_default();
    // Code without source has a name at most.
    let names_one = |frame: &Value| {
        !frame["source"]["path"].is_null() || frame["source"]["sourceReference"].as_i64().unwrap_or(0) != 0
    };
    let place = match frame_id {
        Some(id) => frames.iter().position(|frame| frame["id"].as_u64() == Some(id)),
        None => frames.iter().position(has_source).or_else(|| frames.iter().position(names_one)),
    };
    let found = place.and_then(|at| Some((at, frames.get(at)?.clone())));
    let has_one = |(_, frame): &(usize, Value)| names_one(frame) || !frame["moduleId"].is_null();
    found.filter(has_one).ok_or_else(|| Failure::invalid("this frame has no source"))
}

/// The session's text of a source. Fetching or decompiling it may take a while.
async fn text_of(call: &ToolCall, session: &AgentSession, arguments: Value) -> Result<SourceText, Failure> {
    let body = session.ask_or_cancel("source", arguments, SOURCE_TIMEOUT, &call.cancel).await;
    let body = body.map_err(|failure| match failure.code {
        ErrorCode::Timeout => failure.hint("call again for its result; the work continues"),
        _ => failure,
    })?;
    let no_text = || Failure::new(ErrorCode::IoFailed, "the debugger has no text for this source");
    body["content"].as_str().map(|text| SourceText::of(text.to_owned())).ok_or_else(no_text)
}

fn lines(
    path: &str,
    read: Option<SourceText>,
    first: u64,
    count: u64,
    marked: u64,
) -> Result<Value, Failure> {
    let source = read.ok_or_else(|| {
        Failure::new(ErrorCode::IoFailed, format!("the source `{path}` cannot be read on this machine"))
    })?;
    let total = source.len();
    let mut answer =
        json!({ "file": path, "totalLines": total, "lines": source.numbered_lines(first, count, marked) });
    if first + count <= total {
        answer["next"] = json!(first + count);
    }
    Ok(answer)
}
