//! Looking at a stop: variables, stack, expressions, threads, modules, source. Answers are bounded, and say where they
//! end.

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::stops::{has_ended, locals_scopes, named_thread, shown_frame, stack, stopped_thread};
use super::values::{LONGEST, Rows};
use crate::bounds::{Budget, cut};
use crate::call::Call;
use crate::session::{DEADLINE, Session};
use crate::source::{Source, absolute, place};
use crate::tool::{Effect, Family, Tool, run};

/// Rows of one answer, over all depths.
const MOST_ROWS: usize = 400;
/// Most expressions in one call.
const EXPRESSIONS: usize = 50;
/// Rows shown of a value that was evaluated.
const CHILDREN: u64 = 20;
/// Lines of source unless asked otherwise.
const LINES: u64 = 40;

/// Scopes that other engines call so; here they are among the locals.
const AMONG_LOCALS: [&str; 4] = ["locals", "arguments", "args", "this"];
/// Reasons of a stop that is at no exception, as DAP names them.
const NO_EXCEPTION: [&str; 7] =
    ["breakpoint", "function breakpoint", "data breakpoint", "step", "goto", "entry", "pause"];

/// Looking at a stop.
pub const FAMILY: Family = Family {
    name: "inspection",
    of_session: true,
    tools: &[
        Tool {
            name: "debug_variables",
            core: true,
            effect: Effect::Looks,
            about: "Variables of a frame, or what is inside one value.",
            takes: &[
                "frameId:i",
                "path:s=value to look into",
                "scope:s",
                "depth:i=1",
                "start:i",
                "count:i=100",
                "maxTokens:i",
            ],
            gives: &["variables:a", "next:i", "omitted:i"],
            run: run!(variables),
        },
        Tool {
            name: "debug_stacktrace",
            core: false,
            effect: Effect::Looks,
            about: "The call stack: id, function, file, line, source of frames.",
            takes: &["threadId:i", "start:i", "count:i=20"],
            gives: &["frames:a", "next:i"],
            run: run!(stacktrace),
        },
        Tool {
            name: "debug_evaluate",
            core: true,
            effect: Effect::Acts,
            about: "Evaluate an expression at the stop, or a list: results has a value or an error for each.",
            takes: &["expression:s", "expressions:as", "frameId:i"],
            gives: &["result:s", "type:s", "children:a", "results:a"],
            run: run!(evaluate),
        },
        Tool {
            name: "debug_threads",
            core: false,
            effect: Effect::Looks,
            about: "Threads; places adds where each stands.",
            takes: &["places:b", "start:i", "count:i=50"],
            gives: &["threads:a", "next:i"],
            run: run!(threads),
        },
        Tool {
            name: "debug_exception_info",
            core: false,
            effect: Effect::Looks,
            about: "Type, message, stack, inner exceptions of the exception it stopped at.",
            takes: &[],
            gives: &["exceptionId:s", "description:s", "breakMode:s", "details:o"],
            run: run!(exception_info),
        },
        Tool {
            name: "debug_set_variable",
            core: false,
            effect: Effect::Sets,
            about: "Give a variable, member or element another value.",
            takes: &["name:s!=total, person.Age, numbers[1]", "value:s!", "frameId:i"],
            gives: &["value:s", "type:s"],
            run: run!(set_variable),
        },
        Tool {
            name: "debug_modules",
            core: false,
            effect: Effect::Looks,
            about: "Loaded modules and whether their symbols were found.",
            takes: &["name:s=part of it", "start:i", "count:i=100"],
            gives: &["modules:a", "next:i"],
            run: run!(modules),
        },
        Tool {
            name: "debug_source",
            core: false,
            effect: Effect::Looks,
            about: "Numbered source lines around a frame, or of a file of the program.",
            takes: &["frameId:i", "sourceFile:s", "line:i", "count:i=40"],
            gives: &["file:s", "lines:a", "next:i"],
            run: run!(source),
        },
    ],
};

pub(super) async fn frame_of(call: &Call, session: &Session) -> Result<Value, Failure> {
    if let Some(frame) = call.arguments.number("frameId")? {
        return Ok(json!(frame));
    }
    // The frame whose variables and place the agent was shown.
    let (top, shown) = shown_frame(session, &stopped_thread(session)?).await?;
    // A frame that has ended has no variables; `$exception` is the thread's.
    Ok(if has_ended(&shown) { top["id"].clone() } else { shown["id"].clone() })
}

/// `start` and `count`, bounded.
fn page(call: &Call, usual: u64, most: u64) -> Result<(u64, u64), Failure> {
    let count = call.arguments.number("count")?.unwrap_or(usual).clamp(1, most);
    Ok((call.arguments.number("start")?.unwrap_or(0), count))
}

async fn variables(call: &Call) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let (depth, budget) =
        (call.arguments.number("depth")?.unwrap_or(1).clamp(1, 5), Budget::of(&call.arguments)?);
    let (start, count) = page(call, 100, 300)?;
    let frame = frame_of(call, &session).await?;
    let references = match call.arguments.text("path")? {
        Some(path) => {
            let arguments = json!({ "expression": path, "frameId": frame, "context": "watch" });
            let value = session.ask_or_cancel("evaluate", arguments, DEADLINE, &call.cancel).await?;
            if value["variablesReference"].as_i64().unwrap_or(0) == 0 {
                let row =
                    json!({ "name": path, "value": cut(&value["result"], LONGEST), "type": value["type"] });
                return Ok(json!({ "variables": [row] }));
            }
            vec![value["variablesReference"].clone()]
        }
        None => scope(call, &session, &frame).await?,
    };
    let (rows, more) = Rows::new(&session, MOST_ROWS).read_scopes(&references, start, count, depth).await?;
    let mut answer = json!({});
    if more {
        answer["next"] = json!(start + rows.len() as u64);
    }
    budget.put(&mut answer, "variables", rows, start);
    Ok(answer)
}

/// The scope named by `scope`, else those with arguments and locals.
async fn scope(call: &Call, session: &Session, frame: &Value) -> Result<Vec<Value>, Failure> {
    let scopes = session.ask("scopes", json!({ "frameId": frame })).await?;
    let list = scopes["scopes"].as_array().cloned().unwrap_or_default();
    let named = |wanted: &str| {
        list.iter()
            .find(|scope| scope["name"].as_str().is_some_and(|name| name.to_lowercase().starts_with(wanted)))
            .map(|scope| vec![scope["variablesReference"].clone()])
    };
    let wanted = call.arguments.text("scope")?.map(|wanted| wanted.to_lowercase());
    match wanted.filter(|wanted| wanted != "all") {
        Some(wanted) => {
            // Many engines have arguments and `this` among the locals.
            let found = named(&wanted)
                .or_else(|| AMONG_LOCALS.contains(&wanted.as_str()).then(|| locals_scopes(&scopes)));
            found.ok_or_else(|| {
                let names: Vec<&str> = list.iter().filter_map(|scope| scope["name"].as_str()).collect();
                Failure::invalid(format!("this frame has no scope `{wanted}`"))
                    .hint(format!("it has {}", names.join(", ")))
            })
        }
        None => Some(locals_scopes(&scopes))
            .filter(|found| !found.is_empty())
            .ok_or_else(|| Failure::new(ErrorCode::EngineFailed, "this frame has no variables").quiet()),
    }
}

async fn stacktrace(call: &Call) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let thread = match named_thread(call, &session).await? {
        Some(thread) => thread,
        None => stopped_thread(&session)?,
    };
    let ((start, count), budget) = (page(call, 20, 200)?, Budget::of(&call.arguments)?);
    let news = session.snapshot().news;
    let told = stack(&session, &thread, start, count).await?;
    if start == 0 {
        session.memory.seen(news);
    }
    let frames = frames(&told);
    let mut answer = json!({ "threadId": thread });
    if let Some(total) = told["totalFrames"].as_u64() {
        answer["totalFrames"] = json!(total);
        if start + (frames.len() as u64) < total {
            answer["next"] = json!(start + frames.len() as u64);
        }
    }
    budget.put(&mut answer, "frames", frames, start);
    Ok(answer)
}

pub(super) fn frames(stack: &Value) -> Vec<Value> {
    let list = stack["stackFrames"].as_array().into_iter().flatten();
    list.map(|frame| {
        let mut shown = json!({ "id": frame["id"] });
        place(&mut shown, frame);
        shown
    })
    .collect()
}

async fn evaluate(call: &Call) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let list = call.arguments.texts("expressions")?;
    if list.is_empty() {
        let expression = call.arguments.need_text("expression")?;
        let frame = frame_of(call, &session).await?;
        return evaluate_one(call, &session, &expression, &frame).await;
    }
    if list.len() > EXPRESSIONS {
        return Err(Failure::invalid(format!("{} expressions; one call takes {EXPRESSIONS}", list.len())));
    }
    let frame = frame_of(call, &session).await?;
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
    call: &Call,
    session: &Session,
    expression: &str,
    frame: &Value,
) -> Result<Value, Failure> {
    let arguments = json!({ "expression": expression, "frameId": frame, "context": "watch" });
    let told = session.ask_or_cancel("evaluate", arguments, DEADLINE, &call.cancel).await?;
    let mut answer = json!({ "result": cut(&told["result"], LONGEST) });
    if let Some(kind) = told["type"].as_str() {
        answer["type"] = json!(kind);
    }
    if told["variablesReference"].as_i64().is_some_and(|reference| reference > 0) {
        let mut rows = Rows::new(session, MOST_ROWS);
        let (children, more) = rows.read(&told["variablesReference"], 0, CHILDREN, 1).await?;
        answer["children"] = json!(children);
        if more {
            answer["more"] = json!("debug_variables with this path goes on");
        }
    }
    Ok(answer)
}

async fn threads(call: &Call) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let (start, count) = page(call, 50, 500)?;
    let places = call.arguments.flag("places")?.unwrap_or(false);
    let told = session.ask("threads", json!({})).await?;
    let all = told["threads"].as_array().cloned().unwrap_or_default();
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

async fn modules(call: &Call) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let (start, count) = page(call, 100, 1000)?;
    let wanted = call.arguments.text("name")?.unwrap_or_default().to_lowercase();
    let told = session.ask("modules", json!({})).await?;
    let list = told["modules"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|module| module["name"].as_str().unwrap_or_default().to_lowercase().contains(&wanted));
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

async fn source(call: &Call) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let count = call.arguments.number("count")?.unwrap_or(LINES).clamp(1, 500);
    let line = call.arguments.number("line")?;
    if let Some(file) = call.arguments.text("sourceFile")? {
        let known = session.known_source(&file).await?;
        let Some(path) = known.or_else(|| call.bridge.may_read(&absolute(&file)).then(|| absolute(&file)))
        else {
            return Err(Failure::new(
                ErrorCode::PathNotAllowed,
                format!("`{file}` is no source of this program that the debugger has shown"),
            )
            .hint("use a file of a frame (debug_stacktrace), or read_file"));
        };
        let first = line.unwrap_or(1);
        return lines(&path, Source::read(&path), first, count, 0);
    }
    let wanted = call.arguments.number("frameId")?;
    let stack = stack(&session, &stopped_thread(&session)?, 0, 200).await?;
    let frames = stack["stackFrames"].as_array().cloned().unwrap_or_default();
    let frame = match wanted {
        Some(id) => frames.iter().find(|frame| frame["id"].as_u64() == Some(id)),
        // Code without source has a name at most.
        None => frames.iter().find(|frame| {
            !frame["source"]["path"].is_null()
                || frame["source"]["sourceReference"].as_i64().unwrap_or(0) != 0
        }),
    };
    let frame = frame.ok_or_else(|| Failure::invalid("this frame has no source"))?;
    let at = frame["line"].as_u64().unwrap_or(1);
    let first = line.unwrap_or_else(|| at.saturating_sub(count / 2).max(1));
    let path = frame["source"]["path"].as_str().unwrap_or_default().to_owned();
    let read = match Source::read(&path) {
        Some(read) => Some(read),
        // Not on this disk: the engine may have it.
        None => {
            let arguments = json!({ "source": frame["source"],
                "sourceReference": frame["source"]["sourceReference"].as_i64().unwrap_or(0) });
            let told = session.ask("source", arguments).await?;
            told["content"].as_str().map(|text| Source::of(text.to_owned()))
        }
    };
    lines(&path, read, first, count, at)
}

fn lines(path: &str, read: Option<Source>, first: u64, count: u64, marked: u64) -> Result<Value, Failure> {
    let source = read.ok_or_else(|| {
        Failure::new(ErrorCode::IoFailed, format!("the source `{path}` cannot be read on this machine"))
    })?;
    let total = source.len();
    let mut answer =
        json!({ "file": path, "totalLines": total, "lines": source.numbered(first, count, marked) });
    if first + count <= total {
        answer["next"] = json!(first + count);
    }
    Ok(answer)
}

async fn exception_info(call: &Call) -> Result<Value, Failure> {
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

async fn set_variable(call: &Call) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let (name, value) = (call.arguments.need_text("name")?, call.arguments.need_written("value")?);
    let frame = frame_of(call, &session).await?;
    session.memory.forget_event();
    let told = match split(&name) {
        None => {
            let scopes = scope(call, &session, &frame).await?;
            let reference = match holder(&session, &scopes, &name).await? {
                Some(scope) => scope,
                None => {
                    // What a method's object has, an engine may find by its bare name; debugpy would make a new variable of a slip.
                    let arguments = json!({ "expression": name, "frameId": frame, "context": "watch" });
                    session.ask_or_cancel("evaluate", arguments, DEADLINE, &call.cancel).await?;
                    scopes.first().cloned().unwrap_or_default()
                }
            };
            let set = json!({ "variablesReference": reference, "name": name, "value": value });
            session.ask("setVariable", set).await?
        }
        Some(_) if session.can("supportsSetExpression") => {
            let set = json!({ "expression": name, "value": value, "frameId": frame });
            session.ask("setExpression", set).await?
        }
        Some((above, member)) => {
            let arguments = json!({ "expression": above, "frameId": frame, "context": "watch" });
            let parent = session.ask_or_cancel("evaluate", arguments, DEADLINE, &call.cancel).await?;
            let reference = &parent["variablesReference"];
            let set = json!({ "variablesReference": reference, "name": member, "value": value });
            session.ask("setVariable", set).await?
        }
    };
    let mut answer = json!({ "name": name, "value": told["value"] });
    if let Some(kind) = told["type"].as_str() {
        answer["type"] = json!(kind);
    }
    Ok(answer)
}

/// The innermost of these scopes that has a variable of this name.
async fn holder(session: &Session, scopes: &[Value], name: &str) -> Result<Option<Value>, Failure> {
    for scope in scopes {
        let rows = session.ask("variables", json!({ "variablesReference": scope })).await?;
        if rows["variables"].as_array().into_iter().flatten().any(|row| row["name"] == name) {
            return Ok(Some(scope.clone()));
        }
    }
    Ok(None)
}

/// What a name is in, and its own name there: `a.b` and `a->b` are `b` in `a`, `a[1]` is `[1]` in `a`.
fn split(name: &str) -> Option<(&str, &str)> {
    let at = if name.ends_with(']') { name.rfind('[') } else { name.rfind('.').max(name.rfind("->")) };
    let at = at.filter(|at| *at > 0)?;
    let (above, member) = name.split_at(at);
    Some((above, member.strip_prefix('.').or(member.strip_prefix("->")).unwrap_or(member)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_found_in_what_it_is_in() {
        assert_eq!(split("total"), None);
        assert_eq!(split("person.Age"), Some(("person", "Age")));
        assert_eq!(split("a.b[1]"), Some(("a.b", "[1]")));
        assert_eq!(split("a[1].b"), Some(("a[1]", "b")));
        assert_eq!(split("list.head->value"), Some(("list.head", "value")));
    }
}
