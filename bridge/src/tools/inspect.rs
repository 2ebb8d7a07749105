//! Inspection of a stop: variables, stack, expressions, threads, modules, source. Answers are bounded,
//! and say where they end.
//!
//! Not here: assignments ([`super::assignment`]), and a whole stop in one answer ([`super::snapshot`]).

use std::time::Duration;

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::shown_frame::{has_source, shown_frame, stack};
use super::stops::{named_thread, stopped_thread};
use super::values::{MAX_VALUE_LEN, VariableReader};
use super::{assignment, frames};
use crate::bounds::{Budget, cut};
use crate::call::ToolCall;
use crate::session::{AgentSession, REQUEST_TIMEOUT};
use crate::source::{SourceText, absolute, place};
use crate::tool::{Tool, ToolEffect, ToolGroup, run};

/// Rows of one answer, over all depths.
const MAX_ROWS: usize = 400;
/// Maximum number of expressions in one call.
const MAX_EXPRESSIONS: usize = 50;
/// Rows shown of a value that was evaluated.
const MAX_CHILDREN: u64 = 20;
/// Lines of source by default.
const DEFAULT_LINES: u64 = 40;
/// Time limit for a source; agents' clients abort calls after a minute.
const SOURCE_TIMEOUT: Duration = Duration::from_secs(50);

/// Reasons of a stop that is at no exception, as DAP names them.
const NO_EXCEPTION: [&str; 7] =
    ["breakpoint", "function breakpoint", "data breakpoint", "step", "goto", "entry", "pause"];

/// The tools that look at a stop.
pub const GROUP: ToolGroup = ToolGroup {
    name: "inspection",
    tools: &[
        Tool {
            name: "debug_variables",
            core: true,
            effect: ToolEffect::ReadOnly,
            description: "Variables of a frame, or members of one value.",
            input: &[
                "frameId:i",
                "path:s=value to look into",
                "scope:s",
                "depth:i=1",
                "start:i",
                "count:i=100",
                "maxTokens:i",
            ],
            output: &["variables:a", "next:i", "omitted:i"],
            run: run!(variables),
        },
        Tool {
            name: "debug_stacktrace",
            core: false,
            effect: ToolEffect::ReadOnly,
            description: "The call stack: id, function, file, line, source of frames. Runs of library frames \
                are folded; start shows them.",
            input: &["threadId:i", "start:i", "count:i=20"],
            output: &["frames:a", "next:i"],
            run: run!(frames::stacktrace),
        },
        Tool {
            name: "debug_evaluate",
            core: true,
            effect: ToolEffect::Mutating,
            description: "Evaluate an expression, or a list: results has a value or error for each. Also \
                allowSideEffects.",
            input: &["expression:s", "expressions:as", "frameId:i"],
            output: &["result:s", "type:s", "children:a", "results:a"],
            run: run!(evaluate),
        },
        Tool {
            name: "debug_threads",
            core: false,
            effect: ToolEffect::ReadOnly,
            description: "Threads; places adds each one's location.",
            input: &["places:b", "start:i", "count:i=50"],
            output: &["threads:a", "next:i"],
            run: run!(threads),
        },
        Tool {
            name: "debug_exception_info",
            core: false,
            effect: ToolEffect::ReadOnly,
            description: "Type, message, stack, inner exceptions of the exception it stopped at.",
            input: &[],
            output: &["exceptionId:s", "description:s", "breakMode:s", "details:o"],
            run: run!(exception_info),
        },
        Tool {
            name: "debug_set_variable",
            core: false,
            effect: ToolEffect::Idempotent,
            description: "Set a variable, member or element.",
            input: &["name:s!=total, person.Age, numbers[1]", "value:s!", "frameId:i"],
            output: &["value:s", "type:s"],
            run: run!(assignment::set_variable),
        },
        Tool {
            name: "debug_modules",
            core: false,
            effect: ToolEffect::ReadOnly,
            description: "Loaded modules and whether their symbols were found.",
            input: &["name:s=part of it", "start:i", "count:i=100"],
            output: &["modules:a", "next:i"],
            run: run!(modules),
        },
        Tool {
            name: "debug_source",
            core: false,
            effect: ToolEffect::ReadOnly,
            description: "Numbered source lines around a frame, or of a file of the program.",
            input: &["frameId:i", "sourceFile:s", "line:i=first", "start:i", "count:i=40"],
            output: &["file:s", "lines:a", "next:i", "origin:s"],
            run: run!(source),
        },
    ],
};

async fn variables(call: &ToolCall) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let (depth, budget) =
        (call.arguments.number("depth")?.unwrap_or(1).clamp(1, 5), Budget::of(&call.arguments)?);
    let (start, count) = frames::page(call, 100, 300)?;
    let frame = frames::frame_of(call, &session).await?;
    let references = match call.arguments.text("path")? {
        Some(path) => {
            let arguments = json!({ "expression": path, "frameId": frame, "context": "watch" });
            let value = session.ask_or_cancel("evaluate", arguments, REQUEST_TIMEOUT, &call.cancel).await?;
            if value["variablesReference"].as_i64().unwrap_or(0) == 0 {
                let row = json!({ "name": path, "value": cut(&value["result"], MAX_VALUE_LEN),
                    "type": value["type"] });
                return Ok(json!({ "variables": [row] }));
            }
            vec![value["variablesReference"].clone()]
        }
        None => frames::scope(call, &session, &frame).await?,
    };
    let (rows, more) =
        VariableReader::new(&session, MAX_ROWS).read_scopes(&references, start, count, depth).await?;
    let mut answer = json!({});
    if more {
        answer["next"] = json!(start + rows.len() as u64);
    }
    budget.put(&mut answer, "variables", rows, start);
    Ok(answer)
}

async fn evaluate(call: &ToolCall) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let list = call.arguments.texts("expressions")?;
    if list.is_empty() {
        let expression = call.arguments.need_text("expression")?;
        let frame = frames::frame_of(call, &session).await?;
        return evaluate_one(call, &session, &expression, &frame).await;
    }
    if list.len() > MAX_EXPRESSIONS {
        return Err(Failure::invalid(format!(
            "{} expressions; one call takes {MAX_EXPRESSIONS}",
            list.len()
        )));
    }
    let frame = frames::frame_of(call, &session).await?;
    let mut results = Vec::new();
    for expression in list {
        let mut row = match evaluate_one(call, &session, &expression, &frame).await {
            Ok(row) => row,
            Err(failure) if failure.code == ErrorCode::Cancelled => return Err(failure),
            Err(failure) => json!({ "error": { "code": failure.code.as_str(), "message": failure.message } }),
        };
        row["expression"] = json!(expression);
        results.push(row);
    }
    Ok(json!({ "results": results }))
}

async fn evaluate_one(
    call: &ToolCall,
    session: &AgentSession,
    expression: &str,
    frame: &Value,
) -> Result<Value, Failure> {
    let mut arguments = json!({ "expression": expression, "frameId": frame, "context": "watch" });
    if call.arguments.flag("allowSideEffects")? == Some(false) {
        arguments["allowSideEffects"] = json!(false);
    }
    let body = session.ask_or_cancel("evaluate", arguments, REQUEST_TIMEOUT, &call.cancel).await?;
    let mut answer = json!({ "result": cut(&body["result"], MAX_VALUE_LEN) });
    if let Some(kind) = body["type"].as_str() {
        answer["type"] = json!(kind);
    }
    if body["variablesReference"].as_i64().is_some_and(|reference| reference > 0) {
        let mut rows = VariableReader::new(session, MAX_ROWS);
        let (children, more) = rows.read(&body["variablesReference"], 0, MAX_CHILDREN, 1).await?;
        answer["children"] = json!(children);
        if more {
            answer["more"] = json!("debug_variables with this path continues");
        }
    }
    Ok(answer)
}

async fn threads(call: &ToolCall) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let (start, count) = frames::page(call, 50, 500)?;
    let places = call.arguments.flag("places")?.unwrap_or(false);
    let body = session.ask("threads", json!({})).await?;
    let all = body["threads"].as_array().cloned().unwrap_or_default();
    let stopped = stopped_thread(&session).ok();
    let mut shown = Vec::new();
    for thread in all.iter().skip(usize::try_from(start).unwrap_or(usize::MAX)) {
        if shown.len() as u64 == count {
            break;
        }
        let mut row = json!({ "id": thread["id"], "name": thread["name"] });
        if stopped.as_ref() == Some(&thread["id"]) {
            row["stopped"] = json!(true);
        }
        if places && stopped.is_some() {
            // A thread without managed frames has no place.
            if let Ok(stack) = stack(&session, &thread["id"], 0, 1).await
                && let Some(frame) = stack["stackFrames"].get(0)
            {
                place(&mut row, frame);
            }
        }
        shown.push(row);
    }
    let next = start + shown.len() as u64;
    let mut answer = json!({ "threads": shown });
    if next < all.len() as u64 {
        answer["next"] = json!(next);
    }
    Ok(answer)
}

async fn modules(call: &ToolCall) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let (start, count) = frames::page(call, 100, 1000)?;
    let name = call.arguments.text("name")?.unwrap_or_default().to_lowercase();
    let body = session.ask("modules", json!({})).await?;
    let list = body["modules"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|module| module["name"].as_str().unwrap_or_default().to_lowercase().contains(&name));
    let mut rows: Vec<Value> = list
        .skip(usize::try_from(start).unwrap_or(usize::MAX))
        .take(usize::try_from(count).unwrap_or(usize::MAX).saturating_add(1))
        .cloned()
        .collect();
    let mut answer = json!({});
    if rows.len() as u64 > count {
        rows.pop();
        answer["next"] = json!(start + count);
    }
    Budget::of(&call.arguments)?.put(&mut answer, "modules", rows, start);
    Ok(answer)
}

async fn source(call: &ToolCall) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let count = call.arguments.number("count")?.unwrap_or(DEFAULT_LINES).clamp(1, 500);
    let line = call.arguments.number("start")?.or(call.arguments.number("line")?);
    if let Some(file) = call.arguments.text("sourceFile")? {
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
    let requested_frame = call.arguments.number("frameId")?;
    let (at, mut frame) = frame_with_source(&session, requested_frame).await?;
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

async fn exception_info(call: &ToolCall) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let thread = match named_thread(call, &session).await? {
        Some(thread) => thread,
        None => stopped_thread(&session)?,
    };
    let stop = session.snapshot().stop;
    // Some engines make one up, or print to the program's stderr that they have none.
    if let Some(reason) =
        stop["reason"].as_str().filter(|reason| stop["threadId"] == thread && NO_EXCEPTION.contains(reason))
    {
        return Err(Failure::invalid(format!("the program stopped for `{reason}`, not at an exception"))
            .hint("debug_set_exception_breakpoints chooses the exceptions that stop it"));
    }
    session.ask("exceptionInfo", json!({ "threadId": thread })).await
}
