//! Looking at a stop: variables, stack, expressions, everything at once. Answers are bounded, and say where they end.

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::execution::{self, place};
use crate::call::Call;
use crate::observer::State;
use crate::session::Session;
use crate::tool::{Effect, Family, Tool, run};

/// Rows of one answer, over all depths.
const MOST_ROWS: usize = 400;
/// Longest value, characters.
const LONGEST: usize = 400;
/// Lines around the place of a stop.
const AROUND: usize = 4;

/// Looking at a stop.
pub const FAMILY: Family = Family {
    name: "inspection",
    of_session: true,
    tools: &[
        Tool {
            name: "debug_snapshot",
            core: true,
            effect: Effect::Looks,
            about: "Everything at this stop in one call: place with source lines, stack, variables, exception, new output.",
            takes: &["depth:i=1"],
            gives: &["state:s", "event:o", "lines:x", "frames:a", "variables:a", "exception:o"],
            run: run!(snapshot),
        },
        Tool {
            name: "debug_variables",
            core: true,
            effect: Effect::Looks,
            about: "Arguments and locals of a frame (the top one by default), or the members of one value.",
            takes: &[
                "frameId:i",
                "path:s=expression whose members to list",
                "depth:i=1",
                "start:i",
                "count:i=100",
            ],
            gives: &["variables:a", "next:i"],
            run: run!(variables),
        },
        Tool {
            name: "debug_stacktrace",
            core: true,
            effect: Effect::Looks,
            about: "The call stack: frames with id, function, file, line.",
            takes: &["threadId:i", "start:i", "count:i=20"],
            gives: &["frames:a", "threadId:i", "totalFrames:x"],
            run: run!(stacktrace),
        },
        Tool {
            name: "debug_evaluate",
            core: true,
            effect: Effect::Acts,
            about: "Evaluate a C# expression at the stop: names, members, indexers, calls, operators.",
            takes: &["expression:s!", "frameId:i"],
            gives: &["result:s", "type:x", "children:a"],
            run: run!(evaluate),
        },
        Tool {
            name: "debug_threads",
            core: false,
            effect: Effect::Looks,
            about: "The program's threads.",
            takes: &[],
            gives: &["threads:a"],
            run: run!(pass, "threads"),
        },
        Tool {
            name: "debug_exception_info",
            core: false,
            effect: Effect::Looks,
            about: "Type, message and inner exceptions of the exception it stopped at.",
            takes: &["threadId:i"],
            gives: &["exceptionId:s", "description:x"],
            run: run!(exception_info),
        },
        Tool {
            name: "debug_set_variable",
            core: false,
            effect: Effect::Sets,
            about: "Change a variable at the stop.",
            takes: &["name:s!=variable of the frame", "value:s!=C# literal or expression", "frameId:i"],
            gives: &["name:s", "value:s"],
            run: run!(set_variable),
        },
        Tool {
            name: "debug_modules",
            core: false,
            effect: Effect::Looks,
            about: "Loaded modules and whether their symbols were found.",
            takes: &[],
            gives: &["modules:a"],
            run: run!(pass, "modules"),
        },
    ],
};

fn stopped_thread(session: &Session) -> Result<Value, Failure> {
    let picture = session.snapshot();
    if picture.state == State::Stopped {
        return Ok(picture.stop["threadId"].clone());
    }
    Err(Failure::new(
        ErrorCode::NotStopped,
        format!("the program is {}, not stopped", picture.state.as_str()),
    )
    .hint("use debug_pause, or debug_wait for the next stop"))
}

async fn frame_of(call: &Call, session: &Session) -> Result<Value, Failure> {
    if let Some(frame) = call.arguments.number("frameId")? {
        return Ok(json!(frame));
    }
    let arguments = json!({ "threadId": stopped_thread(session)?, "startFrame": 0, "levels": 1 });
    let stack = session.ask("stackTrace", arguments).await?;
    Ok(stack["stackFrames"][0]["id"].clone())
}

pub(super) async fn variables(call: &Call) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let depth = call.arguments.number("depth")?.unwrap_or(1).min(5);
    let (start, count) = (
        call.arguments.number("start")?.unwrap_or(0),
        call.arguments.number("count")?.unwrap_or(100).clamp(1, 300),
    );
    let frame = frame_of(call, &session).await?;
    let reference = match call.arguments.text("path")? {
        Some(path) => {
            let arguments = json!({ "expression": path, "frameId": frame, "context": "watch" });
            let value = session.ask("evaluate", arguments).await?;
            if value["variablesReference"] == 0 {
                let row = json!({ "name": path, "value": value["result"], "type": value["type"] });
                return Ok(json!({ "variables": [row] }));
            }
            value["variablesReference"].clone()
        }
        None => {
            let scopes = session.ask("scopes", json!({ "frameId": frame })).await?;
            scopes["scopes"][0]["variablesReference"].clone()
        }
    };
    let mut budget = MOST_ROWS;
    let (rows, more) = rows(&session, &reference, start, count, depth, &mut budget).await?;
    let mut answer = json!({ "variables": rows });
    if more {
        answer["next"] = json!(start + count);
    }
    Ok(answer)
}

/// Rows behind a reference, and whether there are more.
async fn rows(
    session: &Session,
    reference: &Value,
    start: u64,
    count: u64,
    depth: u64,
    budget: &mut usize,
) -> Result<(Vec<Value>, bool), Failure> {
    let arguments = json!({ "variablesReference": reference, "start": start, "count": count + 1 });
    let told = session.ask("variables", arguments).await?;
    let list = told["variables"].as_array().cloned().unwrap_or_default();
    let more = list.len() as u64 > count;
    let mut found = Vec::new();
    for row in list.into_iter().take(usize::try_from(count).unwrap_or(usize::MAX)) {
        if *budget == 0 {
            return Ok((found, true));
        }
        *budget -= 1;
        let mut shown = json!({ "name": row["name"], "value": cut(&row["value"]), "type": row["type"] });
        let inner = &row["variablesReference"];
        let lazy = row["presentationHint"]["lazy"] == true || row["presentationHint"]["kind"] == "virtual";
        if lazy {
            shown["value"] = json!("(ask for it by its path)");
        } else if inner.as_i64().is_some_and(|inner| inner > 0) {
            if depth > 1 {
                let (children, more) = Box::pin(rows(session, inner, 0, 20, depth - 1, budget)).await?;
                shown["children"] = json!(children);
                if more {
                    shown["more"] = json!(true);
                }
            } else {
                shown["expandable"] = json!(true);
            }
        }
        found.push(shown);
    }
    Ok((found, more))
}

fn cut(value: &Value) -> Value {
    match value.as_str() {
        Some(text) if text.chars().count() > LONGEST => {
            let head: String = text.chars().take(LONGEST).collect();
            json!(format!("{head}… ({} characters)", text.chars().count()))
        }
        _ => value.clone(),
    }
}

pub(super) async fn stacktrace(call: &Call) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let thread = match call.arguments.number("threadId")? {
        Some(thread) => json!(thread),
        None => stopped_thread(&session)?,
    };
    let start = call.arguments.number("start")?.unwrap_or(0);
    let count = call.arguments.number("count")?.unwrap_or(20).clamp(1, 200);
    let arguments = json!({ "threadId": thread, "startFrame": start, "levels": count });
    let stack = session.ask("stackTrace", arguments).await?;
    Ok(json!({ "threadId": thread, "frames": frames(&stack), "totalFrames": stack["totalFrames"] }))
}

fn frames(stack: &Value) -> Vec<Value> {
    let list = stack["stackFrames"].as_array().into_iter().flatten();
    list.map(|frame| {
        let mut shown = json!({ "id": frame["id"] });
        place(&mut shown, frame);
        shown
    })
    .collect()
}

pub(super) async fn evaluate(call: &Call) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let expression = call.arguments.need_text("expression")?;
    let frame = frame_of(call, &session).await?;
    let arguments = json!({ "expression": expression, "frameId": frame, "context": "watch" });
    let told = session.ask_or_cancel("evaluate", arguments, crate::session::DEADLINE, &call.cancel).await?;
    let mut answer = json!({ "result": cut(&told["result"]), "type": told["type"] });
    if told["variablesReference"].as_i64().is_some_and(|reference| reference > 0) {
        let mut budget = 50;
        let (children, more) = rows(&session, &told["variablesReference"], 0, 20, 1, &mut budget).await?;
        answer["children"] = json!(children);
        if more {
            answer["more"] = json!(true);
        }
    }
    Ok(answer)
}

pub(super) async fn snapshot(call: &Call) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let mut answer = execution::report(&session).await;
    if session.snapshot().state != State::Stopped {
        return Ok(answer);
    }
    let thread = stopped_thread(&session)?;
    let stack =
        session.ask("stackTrace", json!({ "threadId": thread, "startFrame": 0, "levels": 10 })).await?;
    answer["frames"] = json!(frames(&stack));
    answer["totalFrames"] = stack["totalFrames"].clone();
    let frame = &stack["stackFrames"][0];
    if let Some(path) = frame["source"]["path"].as_str() {
        answer["lines"] = around(path, frame["line"].as_u64().unwrap_or(0));
    }
    let scopes = session.ask("scopes", json!({ "frameId": frame["id"] })).await?;
    let depth = call.arguments.number("depth")?.unwrap_or(1).min(5);
    let mut budget = MOST_ROWS;
    let (rows, _) =
        rows(&session, &scopes["scopes"][0]["variablesReference"], 0, 100, depth, &mut budget).await?;
    answer["variables"] = json!(rows);
    if answer["event"]["type"] == "exception" {
        answer["exception"] = session.ask("exceptionInfo", json!({ "threadId": thread })).await?;
    }
    Ok(answer)
}

/// Numbered source lines around a place.
fn around(path: &str, line: u64) -> Value {
    let Ok(text) = std::fs::read_to_string(path) else { return Value::Null };
    let line = usize::try_from(line).unwrap_or(0);
    let first = line.saturating_sub(AROUND + 1);
    let numbered = text.lines().enumerate().skip(first).take(2 * AROUND + 1);
    json!(
        numbered
            .map(|(at, text)| format!("{}{:>5} {text}", if at + 1 == line { '>' } else { ' ' }, at + 1))
            .collect::<Vec<_>>()
    )
}

pub(super) async fn pass(call: &Call, command: &str) -> Result<Value, Failure> {
    call.bridge.session(&call.arguments).await?.ask(command, json!({})).await
}

pub(super) async fn exception_info(call: &Call) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let thread = match call.arguments.number("threadId")? {
        Some(thread) => json!(thread),
        None => stopped_thread(&session)?,
    };
    session.ask("exceptionInfo", json!({ "threadId": thread })).await
}

pub(super) async fn set_variable(call: &Call) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let (name, value) = (call.arguments.need_text("name")?, call.arguments.need_text("value")?);
    let frame = frame_of(call, &session).await?;
    let scopes = session.ask("scopes", json!({ "frameId": frame })).await?;
    let reference = &scopes["scopes"][0]["variablesReference"];
    let set = json!({ "variablesReference": reference, "name": name, "value": value });
    let told = session.ask("setVariable", set).await?;
    Ok(json!({ "name": name, "value": told["value"], "type": told["type"] }))
}
