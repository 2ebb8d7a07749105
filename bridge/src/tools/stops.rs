//! The stop in the answer of each tool that runs the program: why it stopped, at whose breakpoint, new
//! output, other programs.
//!
//! Not here: the location and the variables ([`super::shown_frame`]).

use std::sync::Arc;
use std::time::Duration;

use dap_wire::types::{self, ChildProgram, StopDetails, StoppedEventBody};
use dap_wire::{ErrorCode, Failure};
use serde::Serialize;
use serde_json::{Value, json};

use super::shown_frame::add_place;
use super::stop_exception::{exception_of, name_exception};
use super::unreadable::UnreadableParts;
use crate::breakpoint_requests::{AgentBreakpoint, Purpose};
use crate::call::ToolCall;
use crate::new_output::NewOutput;
use crate::session::AgentSession;
use crate::session::requests::DapThreadsArguments;
use crate::snapshot::{ProgramState, Snapshot};

/// New output in an answer, bytes per stream; more is read with `process_read_output`.
const MAX_OUTPUT_BYTES: usize = 4096;
/// Maximum number of started programs in one answer.
const MAX_STARTED: usize = 10;
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
                tokio::join!(stop_event(session, &snapshot), NewOutput::take(session, MAX_OUTPUT_BYTES));
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
            add_output(&mut answer, NewOutput::take(session, MAX_OUTPUT_BYTES).await);
            return answer;
        }
    };
    add_output(&mut event, NewOutput::take(session, MAX_OUTPUT_BYTES).await);
    session.agent_view.record_report(snapshot.news);
    answer["event"] = event;
    answer
}

async fn finish_report(
    session: &AgentSession,
    snapshot: &Snapshot,
    mut answer: Value,
    mut event: Value,
    output: NewOutput,
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
    // A forked process that shares the session has been named already.
    if event["pid"].is_null()
        && let Some(pid) = session.snapshot().process_id()
    {
        event["pid"] = json!(pid);
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
    let named = call.names_session();
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
            "reason": snapshot.stop.reason });
        if let Some(pid) = snapshot.stop_details().process_id.or(snapshot.process_id()) {
            one["pid"] = json!(pid);
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
    let is_not_debugged = newest.iter().rev().take(new).any(|child| child.session.is_none());
    if is_not_debugged && answer["message"].is_null() && root.agent_view.record_explanation() {
        answer["message"] = json!(
            "a .NET program that this one started is not debugged; use debug_launch {followChildren: true}"
        );
    }
}

fn describe_started(child: &ChildProgram) -> Value {
    match &child.session {
        Some(session) => json!({ "program": child.name, "session": session }),
        None => json!({ "program": child.name, "processId": child.process_id, "debugged": false }),
    }
}

/// Adds what the program printed, if it did.
pub(super) fn add_output(target: &mut Value, output: NewOutput) {
    if let Some(output) = output.some() {
        target["output"] = json!(output);
    }
}

/// The output since the agent last saw it.
pub(super) async fn output(session: &AgentSession) -> NewOutput {
    NewOutput::take(session, MAX_OUTPUT_BYTES).await
}

fn exit_event(snapshot: &Snapshot) -> Value {
    let mut event = json!({ "type": "exited" });
    if let Some(code) = snapshot.end.exit_code {
        event["exitCode"] = json!(code);
    }
    if let Some(signal) = &snapshot.end.signal {
        event["signal"] = json!(signal);
    }
    if snapshot.end.is_lost {
        event["message"] = json!("the debug adapter went away; the program was ended with it");
    }
    if let Some(hint) = &snapshot.advice.hint {
        event["hint"] = json!(hint);
    }
    event
}

async fn stop_event(session: &AgentSession, snapshot: &Snapshot) -> Value {
    if let Some(event) = session.agent_view.event(snapshot.news) {
        return event;
    }
    let stop = &snapshot.stop;
    let kind = match stop.reason.as_str() {
        "breakpoint" | "function breakpoint" => "breakpointHit",
        "exception" => "exception",
        _ => "stopped",
    };
    let mut event = json!({ "type": kind, "reason": stop.reason, "threadId": stop.thread_id });
    if let Some(text) = &stop.text {
        event["message"] = json!(text);
    }
    types::extend(&mut event, &EventProcess::from(snapshot.stop_details()));
    name_breakpoint(session, stop, &mut event);
    if let Some(by) = &snapshot.resumed_by
        && *by != session.client
    {
        event["resumedBy"] = json!(by);
    }
    let thread = stop.thread_id.unwrap_or_default();
    let (mut whole, mut unreadable) = (true, UnreadableParts::default());
    if kind == "exception" {
        let info = session.send(&exception_of(thread)).await;
        match unreadable.take(session, "exception", info) {
            Ok(Some(info)) => name_exception(info, &mut event),
            Ok(None) | Err(_) => whole = false,
        }
    }
    if kind == "exception"
        && let Some(hint) = &snapshot.advice.hint
    {
        event["hint"] = json!(hint);
    }
    let placed = add_place(session, thread, &mut event).await;
    unreadable.put(&mut event);
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

/// The process and the signal of a stop.
#[derive(Serialize)]
struct EventProcess {
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
}

impl From<StopDetails> for EventProcess {
    fn from(details: StopDetails) -> Self {
        Self { pid: details.process_id, signal: details.signal }
    }
}

/// The agent's own id for what was hit, or whose it is.
fn name_breakpoint(session: &AgentSession, stop: &StoppedEventBody, event: &mut Value) {
    let hits = stop.hit_breakpoint_ids.as_deref().unwrap_or_default();
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
fn name_by_place(session: &AgentSession, stop: &StoppedEventBody, event: &mut Value) {
    let inherited = event["byOther"] == true;
    let unnamed = event["type"] == "breakpointHit" && stop.hit_breakpoint_ids.is_none();
    let owner = match &session.relation.root {
        Some(root) if inherited || unnamed => &**root,
        None if unnamed => session,
        _ => return,
    };
    let found = owner.with_requested(|requested| {
        let here = |(file, breakpoint): &(&str, &AgentBreakpoint)| {
            event["file"].as_str() == Some(file) && event["line"].as_i64() == breakpoint.line()
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

/// The thread that stopped.
///
/// # Errors
/// `NOT_STOPPED`, `NO_SESSION`.
pub(super) fn stopped_thread(session: &AgentSession) -> Result<i64, Failure> {
    let snapshot = session.snapshot();
    match snapshot.state {
        ProgramState::Stopped => Ok(snapshot.stop.thread_id.unwrap_or_default()),
        ProgramState::Exited => Err(Failure::new(ErrorCode::NoSession, "the program has ended").hint(
            "its output can still be read (process_read_output); debug_restart or debug_launch starts \
                it again",
        )),
        other => {
            let hint = match snapshot.advice.debugger_ended {
                true => {
                    "it became another program (exec), which has no debugger here and cannot be paused: use \
                        debug_wait for its end, or debug_sessions if that program has a session"
                }
                false => "use debug_pause, or debug_wait for the next stop",
            };
            let message = format!("the program is {}, not stopped", other.as_str());
            Err(Failure::new(ErrorCode::NotStopped, message).hint(hint))
        }
    }
}

/// The thread with the id that a call names, if it names one. Not every engine refuses one that is not
/// there: some answer that they resume it, and never do.
///
/// # Errors
/// `INVALID_PARAMETER` when the program has no such thread.
pub(super) async fn named_thread(
    thread_id: Option<u64>,
    session: &AgentSession,
) -> Result<Option<i64>, Failure> {
    let Some(thread_id) = thread_id else { return Ok(None) };
    // No program has a thread with a larger id.
    let thread_id = i64::try_from(thread_id).unwrap_or(i64::MAX);
    if session.snapshot().stop.thread_id != Some(thread_id)
        && let Ok(body) = session.send(&DapThreadsArguments {}).await
    {
        let ids: Vec<i64> = body.threads.iter().map(|thread| thread.id).collect();
        if !ids.is_empty() && !ids.contains(&thread_id) {
            let some: Vec<String> = ids.iter().take(10).map(i64::to_string).collect();
            return Err(Failure::invalid(format!("the program has no thread {thread_id}"))
                .hint(format!("debug_threads lists them: {}", some.join(", "))));
        }
    }
    Ok(Some(thread_id))
}

/// Waits a moment until the program is stopped or has ended.
pub(super) async fn wait_until_settled(session: &AgentSession, limit: Duration) {
    let mut snapshot = session.watch_snapshot();
    let stopped =
        snapshot.wait_for(|snapshot| matches!(snapshot.state, ProgramState::Stopped | ProgramState::Exited));
    drop(tokio::time::timeout(limit.max(STOP_TIMEOUT), stopped).await);
}

#[cfg(test)]
mod tests;
