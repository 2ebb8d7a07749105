//! The stop in the answer of each tool that runs the program: its location with the lines around it, the
//! variables that changed, new output.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::values::{MAX_VALUE_LEN, add_visible};
use crate::bounds::cut;
use crate::breakpoint_requests::{AgentBreakpoint, Purpose};
use crate::call::ToolCall;
use crate::event_listener::{ProgramState, Snapshot};
use crate::session::AgentSession;
use crate::source::{SourceText, place};

/// New output in an answer, bytes per stream; more is read with `process_read_output`.
const MAX_OUTPUT_BYTES: usize = 4096;
/// Lines on each side of a stop.
const LINES_AROUND: u64 = 2;
/// Maximum number of variables that are compared.
const MAX_COMPARED_VARIABLES: u64 = 60;
/// Maximum number of scopes of a frame that are read.
const MAX_SCOPES: usize = 8;
/// Maximum number of started programs in one answer.
const MAX_STARTED: usize = 10;
/// Maximum number of inner exceptions in one answer.
const MAX_CAUSES: usize = 5;
/// Maximum number of variables in one answer.
const MAX_VARIABLES: usize = 20;
/// Suffix of the .NET engine after the name of a method, to show what it returned.
const RETURNED: &str = " returned";
/// Number of frames searched for the first one with a source: a web server's handlers may
/// be dozens of frames down.
const MAX_FRAME_DEPTH: u64 = 200;
/// Time limit for the snapshot to follow a response.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// `state` and `event`: where the program is stopped, and why. This counts as reported to the agent.
pub(super) async fn report(session: &AgentSession) -> Value {
    let snapshot = session.snapshot();
    let mut answer = json!({ "state": snapshot.state.as_str() });
    let mut event = match snapshot.state {
        ProgramState::Stopped => {
            // The engine works one by one; the output is the host's and does not wait for it.
            let (event, output) =
                tokio::join!(stop_event(session, &snapshot), session.new_output(MAX_OUTPUT_BYTES));
            return finish_report(session, &snapshot, answer, event, output).await;
        }
        ProgramState::Exited => {
            let mut event = exit_event(&snapshot);
            if let Some(run) = session.test_run() {
                run.describe(&mut event).await;
            }
            event
        }
        ProgramState::Idle | ProgramState::Running => {
            add_output(&mut answer, session.new_output(MAX_OUTPUT_BYTES).await);
            return answer;
        }
    };
    add_output(&mut event, session.new_output(MAX_OUTPUT_BYTES).await);
    session.agent_view.record_report(snapshot.news);
    answer["event"] = event;
    answer
}

async fn finish_report(
    session: &AgentSession,
    snapshot: &Snapshot,
    mut answer: Value,
    mut event: Value,
    output: Value,
) -> Value {
    add_output(&mut event, output);
    session.agent_view.record_report(snapshot.news);
    // Breakpoints that were set only to get here have served their purpose.
    if let Err(failure) = session.drop_breakpoints(Purpose::RunTo).await {
        tracing::debug!(%failure, "a breakpoint could not be taken out");
    }
    // With several programs, the answer says which one this is.
    if session.relation.root.is_some() {
        name_program(session, &mut event);
    }
    answer["event"] = event;
    answer
}

/// Names the session, the program and the process of an event.
fn name_program(session: &AgentSession, event: &mut Value) {
    event["session"] = json!(session.id);
    event["program"] = json!(session.relation.title);
    let pid = &session.snapshot().process["systemProcessId"];
    // A forked process that shares the session has been named already.
    if event["pid"].is_null() && !pid.is_null() {
        event["pid"] = pid.clone();
    }
}

/// An answer that begins with what is most important to know about it.
pub(super) fn prepend_message(message: &str, answer: Value) -> Value {
    let mut first = json!({ "message": message });
    if let (Some(first), Value::Object(answer)) = (first.as_object_mut(), answer) {
        first.extend(answer);
    }
    first
}

/// A stop in another session with the same root: of a program that was started, or of the one that started
/// it. Unless the call named a session, the one that stopped is the current one from now on.
pub(super) async fn report_related(call: &ToolCall, found: &Arc<AgentSession>) -> Value {
    let mut answer = report(found).await;
    let named = !call.arguments.value("session").is_null();
    name_program(found, &mut answer["event"]);
    let what = match found.relation.root {
        Some(_) => "a program that was started stopped",
        None => "the program that was launched stopped",
    };
    let next = match named {
        true => format!("pass session: \"{}\" to inspect and continue it", found.id),
        false => {
            call.bridge.select(&found.id);
            "it is the current session now".to_owned()
        }
    };
    prepend_message(&format!("{what}: session {} ({}); {next}", found.id, found.relation.title), answer)
}

/// Adds the other stopped sessions with the same root: waiting for one program may never end
/// while another is stopped.
pub(super) fn add_other_stops(answer: &mut Value, call: &ToolCall, session: &AgentSession) {
    let stopped_session = answer["event"]["session"].as_str().unwrap_or(&session.id).to_owned();
    let mut stopped = Vec::new();
    let related =
        call.bridge.joined_sessions().into_iter().filter(|other| other.root().id == session.root().id);
    for other in related.filter(|other| other.id != stopped_session) {
        let snapshot = other.snapshot();
        if snapshot.state != ProgramState::Stopped {
            continue;
        }
        let mut one = json!({ "session": other.id, "program": other.relation.title,
            "reason": snapshot.stop["reason"] });
        let pid = [&snapshot.stop["processId"], &snapshot.process["systemProcessId"]];
        if let Some(pid) = pid.into_iter().find(|pid| !pid.is_null()) {
            one["pid"] = pid.clone();
        }
        let event = other.agent_view.event(snapshot.news);
        for key in ["file", "line"] {
            if let Some(value) = event.as_ref().map(|event| &event[key]).filter(|value| !value.is_null()) {
                one[key] = value.clone();
            }
        }
        stopped.push(one);
    }
    if !stopped.is_empty() {
        answer["alsoStopped"] = json!(stopped);
    }
}

/// Adds the programs that were started since the last report, and how to debug those without a debugger.
pub(super) fn add_started(answer: &mut Value, session: &AgentSession) {
    let root = session.root();
    let (newest, count) = root.snapshot().started;
    let new = usize::try_from(root.agent_view.record_started(count)).unwrap_or(usize::MAX);
    let shown = new.min(MAX_STARTED);
    if shown == 0 {
        return;
    }
    answer["startedPrograms"] = newest.iter().rev().take(shown).rev().map(describe_started).collect();
    if new > shown {
        answer["startedMore"] = json!(new - shown);
    }
    let is_not_debugged = newest.iter().rev().take(new).any(|child| child["session"].is_null());
    if is_not_debugged && answer["message"].is_null() && root.agent_view.record_explanation() {
        answer["message"] = json!(
            "a .NET program that this one started is not debugged; use debug_launch {followChildren: true}"
        );
    }
}

fn describe_started(child: &Value) -> Value {
    match child["session"].as_str() {
        Some(session) => json!({ "program": child["name"], "session": session }),
        None => json!({ "program": child["name"], "processId": child["processId"], "debugged": false }),
    }
}

/// Adds what the program printed, if it did.
pub(super) fn add_output(target: &mut Value, output: Value) {
    if output.as_object().is_some_and(|output| !output.is_empty()) {
        target["output"] = output;
    }
}

/// The output since the agent last saw it.
pub(super) async fn output(session: &AgentSession) -> Value {
    session.new_output(MAX_OUTPUT_BYTES).await
}

fn exit_event(snapshot: &Snapshot) -> Value {
    let mut event = json!({ "type": "exited" });
    if let Some(code) = snapshot.exit_code {
        event["exitCode"] = json!(code);
    }
    if let Some(signal) = &snapshot.end_signal {
        event["signal"] = json!(signal);
    }
    if snapshot.lost {
        event["message"] = json!("the debug adapter went away; the program was ended with it");
    }
    if let Some(hint) = &snapshot.hint {
        event["hint"] = json!(hint);
    }
    event
}

async fn stop_event(session: &AgentSession, snapshot: &Snapshot) -> Value {
    if let Some(event) = session.agent_view.event(snapshot.news) {
        return event;
    }
    let stop = &snapshot.stop;
    let kind = match stop["reason"].as_str() {
        Some("breakpoint" | "function breakpoint") => "breakpointHit",
        Some("exception") => "exception",
        _ => "stopped",
    };
    let mut event = json!({ "type": kind, "reason": stop["reason"], "threadId": stop["threadId"] });
    if let Some(text) = stop["text"].as_str() {
        event["message"] = json!(text);
    }
    if let Some(pid) = stop["processId"].as_u64() {
        event["pid"] = json!(pid);
    }
    if let Some(signal) = stop["signal"].as_str() {
        event["signal"] = json!(signal);
    }
    name_breakpoint(session, stop, &mut event);
    if let Some(by) = &snapshot.resumed_by
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
    if kind == "exception"
        && let Some(hint) = &snapshot.hint
    {
        event["hint"] = json!(hint);
    }
    let placed = add_place(session, &stop["threadId"], &mut event).await;
    // A location that is shown anyway is not repeated.
    let is_here = ["file", "line"].iter().all(|key| event["thrownAt"][*key] == event[*key]);
    if let Some(fields) = event.as_object_mut().filter(|_| is_here) {
        fields.shift_remove("thrownAt");
    }
    name_by_place(session, stop, &mut event);
    match placed {
        Ok(()) if whole => session.agent_view.keep_event(snapshot.news, &event),
        Ok(()) => {}
        Err(failure) => tracing::debug!(%failure, "the program was resumed before the stop was read"),
    }
    event
}

/// The agent's own id for what was hit, or whose it is.
fn name_breakpoint(session: &AgentSession, stop: &Value, event: &mut Value) {
    let hits: Vec<i64> =
        stop["hitBreakpointIds"].as_array().into_iter().flatten().filter_map(Value::as_i64).collect();
    if hits.is_empty() {
        return;
    }
    let own = session.with_requested(|requested| {
        let mut all = requested.all();
        all.find(|(_, breakpoint)| breakpoint.dap.is_some_and(|id| hits.contains(&id)))
            .map(|(_, breakpoint)| (breakpoint.id, breakpoint.purpose))
    });
    match own {
        Some((id, purpose)) => name_own(id, purpose, event),
        None => event["byOther"] = json!(true),
    }
}

fn name_own(id: u64, purpose: Purpose, event: &mut Value) {
    match purpose {
        Purpose::Stop => event["breakpointId"] = json!(id),
        Purpose::RunTo => event["reached"] = json!(true),
        // The table says that it ended here.
        Purpose::Trace => {}
        Purpose::Failure => event["reason"] = json!("test failed"),
    }
}

/// Names the agent's breakpoint at the line of a stop without an id of the agent's: breakpoints in a child
/// session have other ids, and some adapters (bash-dap, rdbg) report no ids.
fn name_by_place(session: &AgentSession, stop: &Value, event: &mut Value) {
    let inherited = event["byOther"] == true;
    let unnamed = event["type"] == "breakpointHit" && stop["hitBreakpointIds"].is_null();
    let owner = match &session.relation.root {
        Some(root) if inherited || unnamed => &**root,
        None if unnamed => session,
        _ => return,
    };
    let found = owner.with_requested(|requested| {
        let here = |(file, breakpoint): &(&str, &AgentBreakpoint)| {
            let line = if breakpoint.state["line"].is_null() {
                &breakpoint.request["line"]
            } else {
                &breakpoint.state["line"]
            };
            event["file"].as_str() == Some(file) && event["line"] == *line
        };
        requested.all().find(here).map(|(_, breakpoint)| (breakpoint.id, breakpoint.purpose))
    });
    if let Some((id, purpose)) = found {
        if let Some(event) = event.as_object_mut() {
            event.shift_remove("byOther");
        }
        name_own(id, purpose, event);
    }
}

fn name_exception(info: &Value, event: &mut Value) {
    event["exceptionType"] = info["exceptionId"].clone();
    if !info["description"].is_null() {
        event["message"] = info["description"].clone();
    }
    event["isUnhandled"] = json!(info["breakMode"] == "unhandled");
    if info["breakMode"] == "userUnhandled" {
        event["isUserUnhandled"] = json!(true);
    }
    if info["hint"].is_string() {
        event["hint"] = info["hint"].clone();
    }
    if info["thrownAt"].is_object() {
        let mut thrown = json!({});
        place(&mut thrown, &info["thrownAt"]);
        event["thrownAt"] = thrown;
    }
    let mut causes = Vec::new();
    let mut waiting = VecDeque::from([&info["details"]]);
    while let Some(outer) = waiting.pop_front() {
        for inner in outer["innerException"].as_array().into_iter().flatten().take(MAX_CAUSES - causes.len())
        {
            causes.push(json!({ "type": inner["fullTypeName"], "message": inner["message"] }));
            waiting.push_back(inner);
        }
    }
    if !causes.is_empty() {
        event["causes"] = json!(causes);
    }
}

/// The top frame of a thread, and the frame to show: the nearest with a readable source, in the user's own
/// code if there is one, because frames of a framework, a library or native code explain little; else the
/// nearest that names a source; else the top one.
///
/// # Errors
/// The error that the session responds with.
pub(super) async fn shown_frame(session: &AgentSession, thread: &Value) -> Result<(Value, Value), Failure> {
    let top = stack(session, thread, 0, 1).await?["stackFrames"][0].clone();
    let own = session.own_folder();
    if has_source(&top) && own.as_ref().map_or_else(|| !is_library(&top), |own| is_project_frame(&top, own)) {
        return Ok((top.clone(), top));
    }
    let deeper = stack(session, thread, 0, MAX_FRAME_DEPTH).await?;
    let frames = deeper["stackFrames"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(shown) = own.and_then(|own| frames.iter().find(|frame| is_project_frame(frame, &own))) {
        return Ok((top, shown.clone()));
    }
    let shown = nearest(frames).unwrap_or(&top).clone();
    Ok((top, shown))
}

/// The frame of these that helps most. A library's frame may name a source of the machine it was built on.
fn nearest(frames: &[Value]) -> Option<&Value> {
    let is_users = |frame: &&Value| has_source(frame) && !is_library(frame);
    let named = |frame: &&Value| !frame["source"]["path"].is_null();
    let readable = || frames.iter().find(|frame| has_source(frame));
    frames.iter().find(is_users).or_else(readable).or_else(|| frames.iter().find(named))
}

/// Whether a frame is outside the user's code. Some adapters mark only its source.
fn is_library(frame: &Value) -> bool {
    frame["presentationHint"] == "subtle" || frame["source"]["presentationHint"] == "deemphasize"
}

/// Folders of a project that have others' sources.
const LIBRARY_FOLDERS: [&str; 3] = ["node_modules", "site-packages", "vendor"];

/// Whether a frame is in a source below a folder, and of the project's own.
fn is_project_frame(frame: &Value, folder: &Path) -> bool {
    let path = frame["source"]["path"].as_str().unwrap_or_default();
    let own = |below: &Path| !below.iter().any(|part| LIBRARY_FOLDERS.iter().any(|name| part == *name));
    has_source(frame) && Path::new(path).strip_prefix(folder).is_ok_and(own)
}

/// Whether the lines of a frame can be read here at once: some sources must be fetched or decompiled first.
pub(super) fn has_source(frame: &Value) -> bool {
    frame["source"]["path"].as_str().is_some_and(|path| Path::new(path).is_file())
        || frame["source"]["sourceReference"].as_i64().unwrap_or(0) > 0
            && frame["source"]["adapterData"]["notHere"] != true
}

/// Whether the method of a frame has ended, so that it has no variables: it threw an exception that
/// another stack throws again.
pub(super) fn has_ended(frame: &Value) -> bool {
    frame["hasEnded"] == true
}

/// Place, lines around it and changed variables of the frame that is shown.
async fn add_place(session: &AgentSession, thread: &Value, event: &mut Value) -> Result<(), Failure> {
    let (top, frame) = shown_frame(session, thread).await?;
    event["topFrame"] = json!({ "id": top["id"] });
    place(event, &frame);
    // If the top frame is the one that is shown, its function and file are already in the answer.
    if top["source"]["path"].is_null() || top["id"] != frame["id"] {
        event["topFrame"]["function"] = top["name"].clone();
    } else {
        event["topFrame"]["line"] = event["line"].clone();
    }
    let read = frame["source"]["path"].as_str().and_then(SourceText::read);
    if let (Some(source), Some(line)) = (read, frame["line"].as_u64()) {
        event["lines"] = json!(source.around(line, LINES_AROUND));
    }
    let details = json!({ "function": event["function"], "file": event["file"], "line": event["line"] });
    session.listener.event_log(|event_log| event_log.complete(&["stopped", "exception"], details));
    if has_ended(&frame) {
        event["hasEnded"] = json!(true);
        return Ok(());
    }
    add_variables(session, &frame, event).await
}

async fn add_variables(session: &AgentSession, frame: &Value, event: &mut Value) -> Result<(), Failure> {
    let scopes = session.ask("scopes", json!({ "frameId": frame["id"] })).await?;
    let (mut rows, mut returned) = (Vec::new(), Vec::new());
    for reference in locals_scopes(&scopes) {
        let arguments =
            json!({ "variablesReference": reference, "start": 0, "count": MAX_COMPARED_VARIABLES });
        let body = session.ask("variables", arguments).await?;
        let mut variables = body["variables"].as_array().cloned().unwrap_or_default();
        // Of one name there may be several, and none hides another.
        returned.extend(take_returned(&mut variables));
        add_visible(&mut rows, variables);
    }
    // Code without a source rarely has readable variables, so an error says nothing about the stop.
    if !has_source(frame) {
        let failed = |row: &Value| {
            let attributes = row["presentationHint"]["attributes"].as_array().into_iter().flatten();
            attributes.clone().any(|attribute| attribute == "failedEvaluation")
        };
        rows.retain(|row| !failed(row));
    }
    // Groups an adapter makes up (`special variables`) have no value that could change, nor have static
    // members.
    let is_group = |row: &Value| row["value"] == "" || row["presentationHint"]["kind"] == "class";
    rows.retain(|row| !is_group(row) || row["variablesReference"].as_i64().unwrap_or(0) == 0);
    // Variables that pytest adds to explain an assertion.
    rows.retain(|row| !row["name"].as_str().is_some_and(|name| name.starts_with("@py_")));
    if !returned.is_empty() {
        event["returned"] = json!(returned);
    }
    let (mut comparison, same) =
        session.agent_view.compare_variables(frame["name"].as_str().unwrap_or_default(), &rows);
    if comparison.len() > MAX_VARIABLES {
        event["more"] = json!(format!("{} more: debug_variables", comparison.len() - MAX_VARIABLES));
        comparison.truncate(MAX_VARIABLES);
    }
    if !comparison.is_empty() {
        event[if same { "changed" } else { "locals" }] = json!(comparison);
    }
    Ok(())
}

/// Removes the values that the calls of a step returned from the variables of a frame: rows such as `Total
/// returned`, which is not a valid variable name.
fn take_returned(rows: &mut Vec<Value>) -> Vec<Value> {
    let name = |row: &Value| row["name"].as_str()?.strip_suffix(RETURNED).map(str::to_owned);
    let taken = rows.extract_if(.., |row| name(row).is_some());
    taken
        .map(|row| {
            json!({ "name": name(&row), "value": cut(&row["value"], MAX_VALUE_LEN),
            "type": row["type"] })
        })
        .collect()
}

/// The scopes with arguments and locals, the innermost first: JavaScript has one for each block, and gdb
/// keeps arguments apart.
pub(super) fn locals_scopes(scopes: &Value) -> Vec<Value> {
    let list = scopes["scopes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_local = |scope: &&Value| {
        matches!(scope["presentationHint"].as_str(), Some("locals" | "arguments"))
            && scope["expensive"] != true
    };
    let mut found: Vec<&Value> = list.iter().filter(is_local).take(MAX_SCOPES).collect();
    if found.is_empty() {
        found.extend(list.first());
    }
    found.into_iter().map(|scope| scope["variablesReference"].clone()).collect()
}

/// `levels` frames of a thread from `start` on.
pub(super) async fn stack(
    session: &AgentSession,
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
pub(super) fn stopped_thread(session: &AgentSession) -> Result<Value, Failure> {
    let snapshot = session.snapshot();
    match snapshot.state {
        ProgramState::Stopped => Ok(snapshot.stop["threadId"].clone()),
        ProgramState::Exited => Err(Failure::new(ErrorCode::NoSession, "the program has ended").hint(
            "its output can still be read (process_read_output); debug_restart or debug_launch starts \
                it again",
        )),
        other => Err(Failure::new(
            ErrorCode::NotStopped,
            format!("the program is {}, not stopped", other.as_str()),
        )
        .hint("use debug_pause, or debug_wait for the next stop")),
    }
}

/// The thread that `threadId` names, if it names one. Not every engine refuses one that is not there: some
/// answer that they resume it, and never do.
///
/// # Errors
/// `INVALID_PARAMETER` when the program has no such thread.
pub(super) async fn named_thread(call: &ToolCall, session: &AgentSession) -> Result<Option<Value>, Failure> {
    let Some(thread_id) = call.arguments.number("threadId")? else { return Ok(None) };
    let stopped = session.snapshot().stop["threadId"].as_u64();
    if stopped != Some(thread_id)
        && let Ok(body) = session.ask("threads", json!({})).await
    {
        let threads = body["threads"].as_array().into_iter().flatten();
        let ids: Vec<u64> = threads.filter_map(|thread| thread["id"].as_u64()).collect();
        if !ids.is_empty() && !ids.contains(&thread_id) {
            let some: Vec<String> = ids.iter().take(10).map(u64::to_string).collect();
            return Err(Failure::invalid(format!("the program has no thread {thread_id}"))
                .hint(format!("debug_threads lists them: {}", some.join(", "))));
        }
    }
    Ok(Some(json!(thread_id)))
}

/// Waits a moment until the program is stopped or has ended.
pub(super) async fn wait_until_settled(session: &AgentSession, limit: Duration) {
    let mut snapshot = session.watch_snapshot();
    let stopped =
        snapshot.wait_for(|snapshot| matches!(snapshot.state, ProgramState::Stopped | ProgramState::Exited));
    drop(tokio::time::timeout(limit.max(STOP_TIMEOUT), stopped).await);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_that_is_shown_is_the_nearest_of_the_users_whose_source_is_here() {
        let here = std::env::current_exe().unwrap().display().to_string();
        let at = |id: u64, path: &str, hint: Value| {
            json!({ "id": id, "source": { "path": path },
            "presentationHint": hint })
        };
        let shown = |frames: &[Value]| nearest(frames).map(|frame| frame["id"].clone()).unwrap_or_default();
        let (bare, gone) = (json!({ "id": 1 }), at(2, "/_/src/EqualityAsserts.cs", Value::Null));
        let (library, own) = (at(3, &here, json!("subtle")), at(4, &here, Value::Null));
        assert_eq!(shown(&[bare.clone(), gone.clone(), library.clone(), own.clone()]), 4);
        let mut runtime = at(5, &here, Value::Null);
        runtime["source"]["presentationHint"] = json!("deemphasize");
        assert_eq!(shown(&[runtime, own]), 4);
        assert_eq!(
            shown(&[bare.clone(), gone.clone(), library]),
            3,
            "a library's source is better than none"
        );
        assert_eq!(
            shown(&[bare.clone(), gone]),
            2,
            "sources of another machine: the name of one is better than none"
        );
        assert_eq!(shown(&[bare]), Value::Null);
        let remote = json!({ "source": { "path": "/_/a.cs", "sourceReference": 3, "adapterData": {
            "notHere": true } } });
        assert!(!has_source(&remote));
        let embedded = json!({ "source": { "path": "/_/a.cs", "sourceReference": 3 } });
        assert!(has_source(&embedded) && !has_source(&json!({ "source": { "path": "/_/a.cs" } })));
    }
}
