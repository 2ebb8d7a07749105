//! `debug_source`: numbered lines around a frame, or of a source of the program, also of one that only the
//! engine can read.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::types::{DapSourceArguments, Source, StackFrame};
use tandem_wire::{ErrorCode, Failure};

use super::answer;
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

/// The answer of `debug_source`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SourceAnswer {
    file: String,
    total_lines: u64,
    lines: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
    /// Where the text comes from, if that is not the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
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
            None if is_known => {
                let source = Source { path: Some(path.clone()), ..Source::default() };
                let arguments = DapSourceArguments { source: Some(source), ..DapSourceArguments::default() };
                Some(text_of(call, &session, arguments).await?)
            }
            read => read,
        };
        return answer(&lines(&path, read, line.unwrap_or(1), count, 0)?);
    }
    let (at, mut frame) = frame_with_source(&session, arguments.frame_id).await?;
    let read = match SourceText::read(&path_of(&frame)) {
        Some(read) => read,
        // The file is not on this disk: the engine may have its text, or know how to get it.
        None => {
            let read = text_of(call, &session, source_of(&frame)).await?;
            if !has_source(&frame) {
                // Where it is in what was made just now is known only now.
                let stack = stack(&session, stopped_thread(&session)?, 0, 200).await?;
                frame = stack.stack_frames.into_iter().nth(at).unwrap_or(frame);
            }
            read
        }
    };
    let at = u64::try_from(frame.line).ok().filter(|at| *at > 0).unwrap_or(1);
    let first = line.unwrap_or_else(|| at.saturating_sub(count / 2).max(1));
    let shown = lines(&path_of(&frame), Some(read), first, count, at)?;
    answer(&SourceAnswer { origin: frame.source.and_then(|source| source.origin), ..shown })
}

fn path_of(frame: &StackFrame) -> String {
    frame.source.as_ref().and_then(|source| source.path.clone()).unwrap_or_default()
}

/// The request for the source of a frame; a frame without one has at least a module.
fn source_of(frame: &StackFrame) -> DapSourceArguments {
    let mut arguments = DapSourceArguments {
        source_reference: frame
            .source
            .as_ref()
            .and_then(|source| source.source_reference)
            .unwrap_or_default(),
        source: frame.source.clone(),
        ..DapSourceArguments::default()
    };
    if let Some(module) = &frame.module_id {
        arguments.rest.insert("moduleId".into(), module.clone());
    }
    arguments
}

/// The requested frame, else the one that tools show at the stop if it has a source, else the nearest that
/// has one; and its position in the stack.
async fn frame_with_source(
    session: &AgentSession,
    requested_frame: Option<u64>,
) -> Result<(usize, StackFrame), Failure> {
    let thread = stopped_thread(session)?;
    let frame_id = match requested_frame {
        Some(id) => Some(id),
        None => {
            let shown = shown_frame(session, thread).await?.map(|(_, shown)| shown).filter(has_source);
            shown.and_then(|shown| u64::try_from(shown.id).ok())
        }
    };
    let frames = stack(session, thread, 0, 200).await?.stack_frames;
    // Code without source has a name at most.
    let names_one = |frame: &StackFrame| {
        frame.source.as_ref().is_some_and(|source| {
            source.path.is_some() || source.source_reference.is_some_and(|reference| reference != 0)
        })
    };
    let place = match frame_id {
        Some(id) => frames.iter().position(|frame| u64::try_from(frame.id) == Ok(id)),
        None => frames.iter().position(has_source).or_else(|| frames.iter().position(names_one)),
    };
    let found = place.and_then(|at| Some((at, frames.get(at)?.clone())));
    let has_one = |(_, frame): &(usize, StackFrame)| {
        names_one(frame) || frame.module_id.as_ref().is_some_and(|module| !module.is_null())
    };
    found.filter(has_one).ok_or_else(|| Failure::invalid("this frame has no source"))
}

/// The session's text of a source. Fetching or decompiling it may take a while.
async fn text_of(
    call: &ToolCall,
    session: &AgentSession,
    arguments: DapSourceArguments,
) -> Result<SourceText, Failure> {
    let body = session.send_or_cancel(&arguments, SOURCE_TIMEOUT, &call.cancel).await;
    body.map(|body| SourceText::of(body.content)).map_err(|failure| match failure.code {
        ErrorCode::Timeout => failure.hint("call again for its result; the work continues"),
        _ => failure,
    })
}

fn lines(
    path: &str,
    read: Option<SourceText>,
    first: u64,
    count: u64,
    marked: u64,
) -> Result<SourceAnswer, Failure> {
    let source = read.ok_or_else(|| {
        Failure::new(ErrorCode::IoFailed, format!("the source `{path}` cannot be read on this machine"))
    })?;
    let total = source.len();
    Ok(SourceAnswer {
        file: path.to_owned(),
        total_lines: total,
        lines: source.numbered_lines(first, count, marked),
        next: Some(first + count).filter(|next| *next <= total),
        origin: None,
    })
}
