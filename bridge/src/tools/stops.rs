//! Where the program stands, as every running tool answers it: place with the lines around it, the variables that
//! changed, new output.

use std::time::Duration;

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use crate::call::Call;
use crate::observer::{Snapshot, State};
use crate::session::Session;
use crate::source::{Source, place};
use crate::wishes::Purpose;

/// New output in an answer, bytes per stream; more is read with `process_read_output`.
const OUTPUT: usize = 4096;
/// Lines on each side of a stop.
const AROUND: u64 = 2;
/// Most variables looked at for changes.
const LOOKED_AT: u64 = 60;
/// Most variables told.
const TOLD: usize = 20;
/// How far down the first frame with a source is looked for.
const DEEP: u64 = 20;
/// How long the picture may take to follow an answer.
const SOON: Duration = Duration::from_secs(5);

/// `state` and `event`: where the program stands, and why. The agent has then been told.
pub(super) async fn report(session: &Session) -> Value {
    let picture = session.snapshot();
    let mut answer = json!({ "state": picture.state.as_str() });
    let mut event = match picture.state {
        State::Stopped => {
            // The engine works one by one; the output is the host's and does not wait for it.
            let (event, output) = tokio::join!(stop_event(session, &picture), session.new_output(OUTPUT));
            return told(session, &picture, answer, event, output).await;
        }
        State::Exited => exit_event(&picture),
        State::Idle | State::Running => {
            add_output(&mut answer, session.new_output(OUTPUT).await);
            return answer;
        }
    };
    add_output(&mut event, session.new_output(OUTPUT).await);
    session.memory.told(picture.news);
    answer["event"] = event;
    answer
}

async fn told(
    session: &Session,
    picture: &Snapshot,
    mut answer: Value,
    mut event: Value,
    output: Value,
) -> Value {
    add_output(&mut event, output);
    session.memory.told(picture.news);
    // What was only there to get here has served.
    if let Err(failure) = session.drop_breakpoints(Purpose::RunTo).await {
        tracing::debug!(%failure, "a breakpoint could not be taken out");
    }
    answer["event"] = event;
    answer
}

/// Adds what the program printed, if it did.
pub(super) fn add_output(target: &mut Value, output: Value) {
    if output.as_object().is_some_and(|output| !output.is_empty()) {
        target["output"] = output;
    }
}

/// The output since the agent last saw it.
pub(super) async fn output(session: &Session) -> Value {
    session.new_output(OUTPUT).await
}

fn exit_event(picture: &Snapshot) -> Value {
    let mut event = json!({ "type": "exited" });
    if let Some(code) = picture.exit_code {
        event["exitCode"] = json!(code);
    }
    if picture.lost {
        event["message"] = json!("the debug adapter went away; the program was ended with it");
    }
    event
}

async fn stop_event(session: &Session, picture: &Snapshot) -> Value {
    if let Some(event) = session.memory.event(picture.news) {
        return event;
    }
    let stop = &picture.stop;
    let kind = match stop["reason"].as_str() {
        Some("breakpoint" | "function breakpoint") => "breakpointHit",
        Some("exception") => "exception",
        _ => "stopped",
    };
    let mut event = json!({ "type": kind, "reason": stop["reason"], "threadId": stop["threadId"] });
    if let Some(text) = stop["text"].as_str() {
        event["message"] = json!(text);
    }
    name_breakpoint(session, stop, &mut event);
    if let Some(by) = &picture.resumed_by
        && *by != session.client
    {
        event["resumedBy"] = json!(by);
    }
    let mut whole = true;
    if kind == "exception" {
        match session.ask("exceptionInfo", json!({ "threadId": stop["threadId"] })).await {
            Ok(info) => name_exception(&info, &mut event),
            Err(_) => whole = false,
        }
    }
    match add_place(session, &stop["threadId"], &mut event).await {
        Ok(()) if whole => session.memory.keep_event(picture.news, &event),
        Ok(()) => {}
        Err(failure) => tracing::debug!(%failure, "the program went on before it was looked at"),
    }
    event
}

/// The agent's own id for what was hit, or whose it is.
fn name_breakpoint(session: &Session, stop: &Value, event: &mut Value) {
    let hits: Vec<i64> =
        stop["hitBreakpointIds"].as_array().into_iter().flatten().filter_map(Value::as_i64).collect();
    if hits.is_empty() {
        return;
    }
    let own = session.with_wishes(|wishes| {
        let mut all = wishes.all();
        all.find(|(_, wanted)| wanted.dap.is_some_and(|id| hits.contains(&id)))
            .map(|(_, wanted)| (wanted.id, wanted.purpose))
    });
    match own {
        Some((id, Purpose::Stop)) => event["breakpointId"] = json!(id),
        Some(_) => event["reached"] = json!(true),
        None => event["byOther"] = json!(true),
    }
}

fn name_exception(info: &Value, event: &mut Value) {
    event["exceptionType"] = info["exceptionId"].clone();
    if !info["description"].is_null() {
        event["message"] = info["description"].clone();
    }
    event["isUnhandled"] = json!(info["breakMode"] == "unhandled" || info["breakMode"] == "userUnhandled");
    let mut causes = Vec::new();
    let mut inner = &info["details"]["innerException"][0];
    while inner.is_object() && causes.len() < 5 {
        causes.push(json!({ "type": inner["fullTypeName"], "message": inner["message"] }));
        inner = &inner["innerException"][0];
    }
    if !causes.is_empty() {
        event["causes"] = json!(causes);
    }
}

/// The top frame of a thread, and the one that is shown: the nearest with a source, for inside the framework or native code
/// that is what helps; else the top one.
///
/// # Errors
/// The session's own.
pub(super) async fn shown_frame(session: &Session, thread: &Value) -> Result<(Value, Value), Failure> {
    let top = stack(session, thread, 0, 1).await?["stackFrames"][0].clone();
    if !top["source"]["path"].is_null() {
        return Ok((top.clone(), top));
    }
    let deeper = stack(session, thread, 0, DEEP).await?;
    let mut frames = deeper["stackFrames"].as_array().into_iter().flatten();
    let shown = frames.find(|frame| !frame["source"]["path"].is_null()).unwrap_or(&top).clone();
    Ok((top, shown))
}

/// Place, lines around it and changed variables of the frame that is shown.
async fn add_place(session: &Session, thread: &Value, event: &mut Value) -> Result<(), Failure> {
    let (top, frame) = shown_frame(session, thread).await?;
    event["topFrame"] = json!({ "id": top["id"], "function": top["name"] });
    place(event, &frame);
    for key in ["file", "line"] {
        if !top["source"]["path"].is_null() {
            event["topFrame"][key] = event[key].clone();
        }
    }
    let read = frame["source"]["path"].as_str().and_then(Source::read);
    if let (Some(source), Some(line)) = (read, frame["line"].as_u64()) {
        event["lines"] = json!(source.around(line, AROUND));
    }
    let details = json!({ "function": event["function"], "file": event["file"], "line": event["line"] });
    session.observed.journal(|journal| journal.complete(&["stopped", "exception"], details));
    add_variables(session, &frame, event).await
}

async fn add_variables(session: &Session, frame: &Value, event: &mut Value) -> Result<(), Failure> {
    let scopes = session.ask("scopes", json!({ "frameId": frame["id"] })).await?;
    let Some(reference) = locals_scope(&scopes) else { return Ok(()) };
    let arguments = json!({ "variablesReference": reference, "start": 0, "count": LOOKED_AT });
    let rows = session.ask("variables", arguments).await?;
    let mut rows = rows["variables"].as_array().cloned().unwrap_or_default();
    // Groups an adapter makes up (`special variables`) have no value that could change.
    rows.retain(|row| row["value"] != "" || row["variablesReference"].as_i64().unwrap_or(0) == 0);
    let (mut told, same) = session.memory.changed(frame["name"].as_str().unwrap_or_default(), &rows);
    if told.len() > TOLD {
        event["more"] = json!(format!("{} more: debug_variables", told.len() - TOLD));
        told.truncate(TOLD);
    }
    if !told.is_empty() {
        event[if same { "changed" } else { "locals" }] = json!(told);
    }
    Ok(())
}

/// The scope with arguments and locals.
pub(super) fn locals_scope(scopes: &Value) -> Option<Value> {
    let list = scopes["scopes"].as_array()?;
    let locals = list.iter().find(|scope| scope["presentationHint"] == "locals");
    locals.or(list.first()).map(|scope| scope["variablesReference"].clone())
}

/// `levels` frames of a thread from `start` on.
pub(super) async fn stack(
    session: &Session,
    thread: &Value,
    start: u64,
    levels: u64,
) -> Result<Value, Failure> {
    session.ask("stackTrace", json!({ "threadId": thread, "startFrame": start, "levels": levels })).await
}

/// The thread that stopped.
///
/// # Errors
/// `NOT_STOPPED`, `NO_SESSION`.
pub(super) fn stopped_thread(session: &Session) -> Result<Value, Failure> {
    let picture = session.snapshot();
    match picture.state {
        State::Stopped => Ok(picture.stop["threadId"].clone()),
        State::Exited => Err(Failure::new(ErrorCode::NoSession, "the program has ended")
            .hint("its output can still be read (process_read_output); debug_restart or debug_launch starts it again")),
        other => Err(Failure::new(
            ErrorCode::NotStopped,
            format!("the program is {}, not stopped", other.as_str()),
        )
        .hint("use debug_pause, or debug_wait for the next stop")),
    }
}

/// The thread that `threadId` names, if it names one. Not every engine refuses one that is not there: some answer that they
/// resume it, and never do.
///
/// # Errors
/// `INVALID_PARAMETER` when the program has no such thread.
pub(super) async fn named_thread(call: &Call, session: &Session) -> Result<Option<Value>, Failure> {
    let Some(wanted) = call.arguments.number("threadId")? else { return Ok(None) };
    let stopped = session.snapshot().stop["threadId"].as_u64();
    if stopped != Some(wanted)
        && let Ok(told) = session.ask("threads", json!({})).await
    {
        let threads = told["threads"].as_array().into_iter().flatten();
        let ids: Vec<u64> = threads.filter_map(|thread| thread["id"].as_u64()).collect();
        if !ids.is_empty() && !ids.contains(&wanted) {
            let some: Vec<String> = ids.iter().take(10).map(u64::to_string).collect();
            return Err(Failure::invalid(format!("the program has no thread {wanted}"))
                .hint(format!("debug_threads lists them: {}", some.join(", "))));
        }
    }
    Ok(Some(json!(wanted)))
}

/// Waits a moment until the program stands or has ended.
pub(super) async fn settled(session: &Session, limit: Duration) {
    let mut picture = session.picture();
    let stands = picture.wait_for(|picture| matches!(picture.state, State::Stopped | State::Exited));
    drop(tokio::time::timeout(limit.max(SOON), stands).await);
}
