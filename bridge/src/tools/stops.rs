//! The stop in the answer of each tool that runs the program: why it stopped, at whose breakpoint, new
//! output, other programs.
//!
//! Not here: the location and the variables ([`super::shown_frame`]).

use std::sync::Arc;
use std::time::Duration;

use tandem_wire::types::{ChildProgram, StopDetails, StoppedEventBody};
use tandem_wire::{ErrorCode, Failure};

use super::run_answer::{EventDetails, OtherEvent, ReportedChild, RunAnswer, RunEvent, StoppedProgram};
use super::shown_frame::read_frame;
use super::stop_exception::{exception_of, read_exception};
use super::unreadable::UnreadableParts;
use crate::breakpoint_requests::{AgentBreakpoint, Purpose};
use crate::call::ToolCall;
use crate::new_output::NewOutput;
use crate::program_event::{ExitEvent, HitBreakpoint, StopEvent, StopKind, StoppedProcess, TopFrame};
use crate::session::AgentSession;
use crate::session::requests::DapThreadsArguments;
use crate::snapshot::{ProgramState, Snapshot};

/// New output in an answer, bytes per stream; more is read with `process_read_output`.
const MAX_OUTPUT_BYTES: usize = 4096;
/// Maximum number of started programs in one answer.
const MAX_STARTED: usize = 10;
/// Time limit for the snapshot to follow a response.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Explains a stop without frames, such as a pause of an event loop that waits.
const NO_FRAMES_HINT: &str = "no code of the user is on the stack of this thread: it is in a library or the \
    runtime. A function that awaits is on no stack; debug_threads lists the other threads";

/// `state` and `event`: where the program is stopped, and why. This counts as reported to the agent.
pub(super) async fn report(session: &AgentSession) -> RunAnswer {
    let snapshot = session.snapshot();
    let event = match snapshot.state {
        ProgramState::Stopped => {
            // The engine works one by one; the output is the host's and does not wait for it.
            let (stop, output) = tokio::join!(stop_event(session, &snapshot), output(session));
            let event = RunEvent::new(EventDetails::Stop(Box::new(stop)), output);
            return finish_report(session, &snapshot, event).await;
        }
        ProgramState::Exited => {
            let mut exit = exit_event(&snapshot);
            if let Some(run) = session.test_run() {
                run.describe(&mut exit).await;
            }
            EventDetails::Other(OtherEvent::Exited(Box::new(exit)))
        }
        ProgramState::Idle | ProgramState::Running => {
            let mut answer = RunAnswer::new(snapshot.state);
            answer.output = output(session).await.some();
            return answer;
        }
    };
    let event = RunEvent::new(event, output(session).await);
    session.agent_view.record_report(snapshot.news);
    RunAnswer::with_event(snapshot.state, event)
}

async fn finish_report(session: &AgentSession, snapshot: &Snapshot, mut event: RunEvent) -> RunAnswer {
    session.agent_view.record_report(snapshot.news);
    // Breakpoints that were set only to get here have served their purpose.
    if let Err(failure) = session.drop_breakpoints(Purpose::RunTo).await {
        tracing::debug!(%failure, "a breakpoint could not be taken out");
    }
    // With several programs, the answer says which one this is.
    if session.relation.root.is_some() {
        event.name_program(session);
    }
    RunAnswer::with_event(snapshot.state, event)
}

/// A stop in another session with the same root: of a program that was started, or of the one that started
/// it. Unless the call named a session, the one that stopped is the current one from now on.
pub(super) async fn report_related(call: &ToolCall, found: &Arc<AgentSession>) -> RunAnswer {
    let mut answer = report(found).await;
    let named = call.names_session();
    if let Some(event) = &mut answer.event {
        event.name_program(found);
    }
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
    answer.with_lead(&format!("{what}: session {} ({}); {next}", found.id, found.relation.title))
}

/// Adds the other stopped sessions with the same root: waiting for one program may never end
/// while another is stopped.
pub(super) fn add_other_stops(answer: &mut RunAnswer, call: &ToolCall, session: &AgentSession) {
    let program = answer.event.as_ref().and_then(|event| event.program.as_ref());
    let stopped_session = program.and_then(|program| program.session.as_ref()).unwrap_or(&session.id);
    let related =
        call.bridge.joined_sessions().into_iter().filter(|other| other.root().id == session.root().id);
    let others = related.filter(|other| other.id != *stopped_session);
    let stopped = others.filter_map(|other| stopped_program(&other)).collect();
    answer.related.also_stopped = stopped;
}

/// A session in one line, if its program is stopped.
fn stopped_program(session: &AgentSession) -> Option<StoppedProgram> {
    let snapshot = session.snapshot();
    if snapshot.state != ProgramState::Stopped {
        return None;
    }
    let event = session.agent_view.event(snapshot.news).unwrap_or_default();
    let pid = snapshot.stop_details().process_id.or(snapshot.process_id());
    Some(StoppedProgram {
        session: session.id.clone(),
        program: session.relation.title.clone(),
        reason: snapshot.stop.reason,
        pid,
        file: event.file().map(str::to_owned),
        line: event.line(),
    })
}

/// Adds the programs that were started since the last report, and how to debug those without a debugger.
pub(super) fn add_started(answer: &mut RunAnswer, session: &AgentSession) {
    let root = session.root();
    let (newest, count) = root.snapshot().started;
    let new = usize::try_from(root.agent_view.record_started(count)).unwrap_or(usize::MAX);
    let shown = new.min(MAX_STARTED);
    if shown == 0 {
        return;
    }
    answer.related.started_programs =
        newest.iter().rev().take(shown).rev().cloned().map(ReportedChild::from).collect();
    answer.related.started_more = Some(new - shown).filter(|more| *more > 0);
    let is_not_debugged = newest.iter().rev().take(new).any(|child| child.session.is_none());
    if is_not_debugged && !answer.has_message() && root.agent_view.record_explanation() {
        let message =
            "a .NET program that this one started is not debugged; use debug_launch {followChildren: true}";
        answer.set_message(message.to_owned());
    }
}

impl From<ChildProgram> for ReportedChild {
    fn from(child: ChildProgram) -> Self {
        let (program, process_id) = (child.name, child.process_id);
        match child.session {
            Some(session) => Self::Session { program, session },
            None => Self::Process { program, process_id, debugged: false },
        }
    }
}

/// The output since the agent last saw it.
pub(super) async fn output(session: &AgentSession) -> NewOutput {
    NewOutput::take(session, MAX_OUTPUT_BYTES).await
}

fn exit_event(snapshot: &Snapshot) -> ExitEvent {
    let lost = "the debug adapter went away; the program was ended with it";
    ExitEvent {
        exit_code: snapshot.end.exit_code,
        signal: snapshot.end.signal.clone(),
        message: snapshot.end.is_lost.then_some(lost),
        hint: snapshot.advice.hint.clone(),
        ..ExitEvent::default()
    }
}

async fn stop_event(session: &AgentSession, snapshot: &Snapshot) -> StopEvent {
    if let Some(event) = session.agent_view.event(snapshot.news) {
        return event;
    }
    let stop = &snapshot.stop;
    let mut event = StopEvent {
        kind: StopKind::of(&stop.reason),
        reason: stop.reason.clone(),
        thread_id: Some(stop.thread_id),
        message: stop.text.clone(),
        process: StoppedProcess::from(snapshot.stop_details()),
        resumed_by: snapshot.resumed_by.clone().filter(|by| *by != session.client),
        ..StopEvent::default()
    };
    name_breakpoint(session, stop, &mut event);
    let thread = stop.thread_id.unwrap_or_default();
    let (mut whole, mut unreadable) = (true, UnreadableParts::default());
    if event.kind == StopKind::Exception {
        let info = session.send(&exception_of(thread)).await;
        match unreadable.take(session, "exception", info) {
            Ok(Some(info)) => event.add_exception(read_exception(info)),
            Ok(None) | Err(_) => whole = false,
        }
        if let Some(hint) = &snapshot.advice.hint {
            event.add_hint(hint);
        }
    }
    let read = read_frame(session, thread, &mut event.frame, &mut unreadable).await;
    explain_missing_frame(&mut event);
    unreadable.put(&mut event.unreadable);
    // A location that is shown anyway is not repeated.
    event.remove_repeated_place();
    name_by_place(session, stop, &mut event);
    match read {
        Ok(()) if whole => session.agent_view.keep_event(snapshot.news, &event),
        Ok(()) => {}
        Err(failure) => tracing::debug!(%failure, "the program was resumed before the stop was read"),
    }
    event
}

/// Adds a hint to a stop whose thread has no frame that is shown.
fn explain_missing_frame(event: &mut StopEvent) {
    let is_missing = matches!(event.frame.top_frame, Some(TopFrame::Absent { .. }));
    if is_missing && event.exception.is_none() {
        event.add_hint(NO_FRAMES_HINT);
    }
}

impl From<StopDetails> for StoppedProcess {
    fn from(details: StopDetails) -> Self {
        Self { pid: details.process_id, signal: details.signal }
    }
}

/// The agent's own id for what was hit, or whose it is.
fn name_breakpoint(session: &AgentSession, stop: &StoppedEventBody, event: &mut StopEvent) {
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
        None => event.breakpoint = Some(HitBreakpoint::Foreign { by_other: true }),
    }
}

fn name_own(id: u64, purpose: Purpose, event: &mut StopEvent) {
    match purpose {
        Purpose::Stop => event.breakpoint = Some(HitBreakpoint::Own { breakpoint_id: id }),
        Purpose::RunTo => event.breakpoint = Some(HitBreakpoint::Target { reached: true }),
        // The table says that it ended here.
        Purpose::Trace => {}
        Purpose::Failure => event.reason = "test failed".to_owned(),
    }
}

/// Names the agent's breakpoint at the line of a stop without an id of the agent's: breakpoints in a child
/// session have other ids, and some adapters (bash-dap, rdbg) report no ids.
fn name_by_place(session: &AgentSession, stop: &StoppedEventBody, event: &mut StopEvent) {
    let inherited = matches!(event.breakpoint, Some(HitBreakpoint::Foreign { .. }));
    let unnamed = event.kind == StopKind::BreakpointHit && stop.hit_breakpoint_ids.is_none();
    let owner = match &session.relation.root {
        Some(root) if inherited || unnamed => &**root,
        None if unnamed => session,
        _ => return,
    };
    let found = owner.with_requested(|requested| {
        let here = |(file, breakpoint): &(&str, &AgentBreakpoint)| {
            event.file() == Some(file) && event.line() == breakpoint.line()
        };
        requested.all().find(here).map(|(_, breakpoint)| (breakpoint.id, breakpoint.purpose))
    });
    if let Some((id, purpose)) = found {
        event.breakpoint = None;
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
