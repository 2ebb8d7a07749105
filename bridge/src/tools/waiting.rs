//! Waits for the next event of a program: a stop, its end, a wait for input, an address that it serves; and
//! for the run that follows. Nothing is resumed here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Deserialize;
use tandem_wire::types::{self, InputWaitBody, ReadOutputBody};
use tandem_wire::{ErrorCode, Failure};
use tokio::time::Instant;

use super::run_answer::{EventDetails, OtherEvent, RunAnswer, RunEvent, UnfinishedWait};
use super::stops::{add_other_stops, add_started, output, report, report_related};
use super::test_stops::FirstStop;
use super::{repeats, server_urls, test_processes, test_stops};
use crate::agent_view::InputWait;
use crate::call::ToolCall;
use crate::session::requests::ReadOutputArguments;
use crate::session::{AgentSession, REQUEST_TIMEOUT};
use crate::snapshot::ProgramState;

/// Waits end before clients cut calls.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest `timeoutMs`.
pub(super) const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 3600);
/// Time limit for the entry stop after the program is attached.
pub(super) const ENTRY_STOP_TIMEOUT: Duration = Duration::from_secs(30);
/// Only longer waits check whether the program waits for input.
pub(super) const INPUT_CHECK_TIMEOUT: Duration = Duration::from_millis(250);
/// The same for a step, which ends sooner even on a busy machine, unless it is the read itself: another
/// thread that keeps reading does not end it.
pub(super) const STEP_INPUT_CHECK_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a server must do nothing else after it has printed that it listens: it may print
/// several addresses, or stop.
const SERVING_SETTLE_TIMEOUT: Duration = Duration::from_secs(1);
/// The first words of an answer to a wait whose trigger has ended.
const TRIGGER_ENDED: &str = "the trigger has ended, and the program has not stopped: it is still running";

/// The time that a call may wait: `timeoutMs`, or 30 s.
pub(super) fn limit(timeout_ms: Option<u64>) -> Duration {
    timeout_ms.map_or(DEFAULT_TIMEOUT, |ms| Duration::from_millis(ms).min(MAX_TIMEOUT))
}

/// Waits for a stop or end after `seen`, or for the program to ask for input or to serve.
pub(super) async fn wait_for_news(
    call: &ToolCall,
    session: &AgentSession,
    seen: u64,
    until: Instant,
) -> Result<RunAnswer, Failure> {
    wait_longer(call, session, seen, until, INPUT_CHECK_TIMEOUT).await
}

/// Whether a run has ended or stopped between two calls, and another may follow it,
/// which the caller must check.
pub(super) fn may_continue(session: &AgentSession) -> bool {
    let root = session.root();
    let now = session.snapshot();
    let follows = root.with_plan(|plan| plan.repeat.is_some()) || root.test_run().is_some();
    let is_stopped = matches!(now.state, ProgramState::Stopped | ProgramState::Exited);
    follows && is_stopped && session.agent_view.pending() && !session.agent_view.knows(now.news)
}

/// As [`wait_for_news`], but a wait of the program for input counts only after this time. A step is
/// followed for the same time before the stop of another program counts. If another run follows,
/// the wait continues in that.
pub(super) async fn wait_longer(
    call: &ToolCall,
    session: &AgentSession,
    seen: u64,
    until: Instant,
    brief: Duration,
) -> Result<RunAnswer, Failure> {
    call.fire();
    let mut after: Option<(Arc<AgentSession>, u64)> = None;
    loop {
        let (session, seen, brief) = match &after {
            Some((next, seen)) => (&**next, *seen, INPUT_CHECK_TIMEOUT),
            None => (session, seen, brief),
        };
        match wait_once(call, session, seen, until, brief).await? {
            NextWait::Answer(answer) => return Ok(*answer),
            NextWait::Wait(next, seen) => after = Some((next, seen)),
        }
    }
}

/// Next action after a wait.
enum NextWait {
    Answer(Box<RunAnswer>),
    /// Wait in another session, for events after this number.
    Wait(Arc<AgentSession>, u64),
}

async fn wait_once(
    call: &ToolCall,
    session: &AgentSession,
    seen: u64,
    until: Instant,
    brief: Duration,
) -> Result<NextWait, Failure> {
    let (mut snapshot, mut steps) = (session.watch_snapshot(), session.watch_snapshot());
    // A program that was started reads what the one that started it was given.
    let knows = AtomicBool::new(false);
    let idles = async {
        tokio::time::sleep(brief).await;
        wait_until_idle(call, session.root(), until, &knows).await
    };
    let relative = async {
        if brief > INPUT_CHECK_TIMEOUT {
            tokio::time::sleep(brief).await;
        }
        call.bridge.stop_of_a_relative(session).await
    };
    let outcome = async {
        let news = async { snapshot.wait_for(|snapshot| snapshot.news > seen).await.is_ok() };
        let step_is_lost = async {
            if brief == INPUT_CHECK_TIMEOUT
                || steps.wait_for(|steps| steps.advice.step_lost == Some(seen)).await.is_err()
            {
                std::future::pending::<()>().await;
            }
            // The program may end or stop elsewhere at once, which says more.
            tokio::time::sleep(INPUT_CHECK_TIMEOUT).await;
        };
        tokio::select! {
            biased;
            () = call.cancel.cancelled() => Err(Failure::cancelled()),
            _ = news => Ok(WaitOutcome::News),
            () = step_is_lost => Ok(WaitOutcome::InVain),
            found = relative => Ok(WaitOutcome::Relative(found)),
            waited = idles => waited,
            printed = wait_for_match(call, session, until) => printed.map(WaitOutcome::Printed),
            () = wait_for_trigger(call) => Ok(WaitOutcome::Triggered),
            () = tokio::time::sleep_until(until) => Ok(WaitOutcome::InVain),
        }
    };
    let waited = call.progress.during("the program runs", None, outcome).await?;
    let ended = matches!(waited, WaitOutcome::News) && session.snapshot().state == ProgramState::Exited;
    if ended && let Some(next) = test_processes::next_process(call, session).await? {
        return Ok(NextWait::Wait(next, 0));
    }
    if let Some(root) = session.root_after_end().filter(|_| ended && !call.names_session()) {
        let seen = root.agent_view.last_reported();
        return Ok(NextWait::Wait(root, seen));
    }
    let mut answer = format_outcome(session, &waited, knows.into_inner(), call).await;
    add_other_stops(&mut answer, call, session);
    add_started(&mut answer, session);
    if let FirstStop::Wait(next, seen) =
        test_stops::handle_first_event(call, session.root(), &mut answer).await?
    {
        return Ok(NextWait::Wait(next, seen));
    }
    Ok(match repeats::start_next_run(call, session.root(), &mut answer).await? {
        Some(next) => NextWait::Wait(next, 0),
        None => NextWait::Answer(Box::new(answer)),
    })
}

/// Returns when the program has read all its input and waits for more, or has printed that it listens. A
/// call with `waitFor` ignores the latter. If the agent already knows of the wait for input, this sets
/// `knows` and keeps waiting.
async fn wait_until_idle(
    call: &ToolCall,
    session: &AgentSession,
    until: Instant,
    knows: &AtomicBool,
) -> Result<WaitOutcome, Failure> {
    loop {
        let waited = wait_until_idle_once(call, session, until).await?;
        let is_known =
            matches!(&waited, WaitOutcome::Input { wait, .. } if session.agent_view.knows_input_wait(wait));
        knows.store(is_known, Ordering::Relaxed);
        if !is_known {
            return Ok(waited);
        }
        tokio::time::sleep(INPUT_CHECK_TIMEOUT).await;
    }
}

async fn wait_until_idle_once(
    call: &ToolCall,
    session: &AgentSession,
    until: Instant,
) -> Result<WaitOutcome, Failure> {
    let left = until.saturating_duration_since(Instant::now());
    let requested = call.shared.wait_for.as_deref();
    let pattern = requested.unwrap_or(server_urls::LISTENING_PATTERN);
    let arguments = wait_for_output(session, pattern, left);
    match session.send_or_cancel(&arguments, left + REQUEST_TIMEOUT, &call.cancel).await {
        // The program may wait for input right behind the match, which `wait_for_match` returns.
        Ok(read) if read.matched.is_some() && requested.is_some() => std::future::pending().await,
        Ok(read) if read.matched.is_some() => {
            tokio::time::sleep(SERVING_SETTLE_TIMEOUT).await;
            Ok(WaitOutcome::Serving)
        }
        Ok(ReadOutputBody {
            wait: InputWaitBody { waiting_for_input: true, takes_keys, wait_id }, ..
        }) => {
            let wait = InputWait { news: session.snapshot().news, id: wait_id.unwrap_or_default() };
            Ok(WaitOutcome::Input { keys: takes_keys, wait })
        }
        Ok(ReadOutputBody { suspended_process: Some(_), .. }) => Ok(WaitOutcome::InVain),
        // Its output is not readable here, or it has ended: only the events count.
        _ => std::future::pending().await,
    }
}

/// The process that a signal has suspended, if the program does not answer because of that.
async fn suspended_process(session: &AgentSession) -> Option<u32> {
    match session.send(&ReadOutputArguments::default()).await {
        Ok(read) => read.suspended_process,
        Err(refusal) => types::read::<RefusedRead>(&refusal.data).suspended_process,
    }
}

/// `data` of a refused `processReadOutput`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RefusedRead {
    suspended_process: Option<u32>,
}

/// A read that returns no output, and ends when something matches, the program waits for input or the time is
/// over.
fn wait_for_output(session: &AgentSession, pattern: &str, limit: Duration) -> ReadOutputArguments {
    ReadOutputArguments {
        since: session.agent_view.cursor(),
        wait_for: Some(pattern.to_owned()),
        timeout_ms: Some(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
        ..ReadOutputArguments::default()
    }
}

/// Returns when what the call triggered has ended, and nothing else has happened for a moment.
pub(super) async fn wait_for_trigger(call: &ToolCall) {
    let Some(trigger) = &call.trigger else { return std::future::pending().await };
    trigger.wait_until_ended().await;
    tokio::time::sleep(SERVING_SETTLE_TIMEOUT).await;
}

/// Returns what of the output matches the call's `waitFor`, if it has one.
async fn wait_for_match(call: &ToolCall, session: &AgentSession, until: Instant) -> Result<String, Failure> {
    let session = session.root();
    let Some(pattern) = &call.shared.wait_for else { return std::future::pending().await };
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let arguments = wait_for_output(session, pattern, left);
        match session.send_or_cancel(&arguments, left + REQUEST_TIMEOUT, &call.cancel).await {
            Ok(ReadOutputBody { matched: Some(matched), .. }) => return Ok(matched),
            // It may print more after it has read something.
            Ok(read) if read.wait.waiting_for_input => tokio::time::sleep(INPUT_CHECK_TIMEOUT).await,
            Err(failure) if failure.code == ErrorCode::InvalidParameter => return Err(failure),
            // Its output is not readable here, or it has ended: only the events count.
            _ => return std::future::pending().await,
        }
    }
}

/// Formats the result of a wait as the tools answer it.
async fn format_outcome(
    session: &AgentSession,
    waited: &WaitOutcome,
    knows: bool,
    call: &ToolCall,
) -> RunAnswer {
    let agent_view = &session.root().agent_view;
    let event = match waited {
        WaitOutcome::News => return report(session).await,
        WaitOutcome::Relative(found) => return report_related(call, found).await,
        WaitOutcome::Printed(matched) => OtherEvent::Output { matched: matched.clone() },
        WaitOutcome::Serving => {
            let since = agent_view.cursor();
            let urls =
                server_urls::addresses(session, since.as_deref().unwrap_or(server_urls::OUTPUT_START)).await;
            session.agent_view.set_pending(true);
            OtherEvent::Listening { urls }
        }
        WaitOutcome::Input { keys, wait } => {
            let screen = if *keys { session.root().screen().await } else { None };
            session.agent_view.set_pending(true);
            agent_view.record_input_wait(wait.clone());
            OtherEvent::WaitingForInput { screen }
        }
        WaitOutcome::InVain | WaitOutcome::Triggered => {
            let is_triggered = matches!(waited, WaitOutcome::Triggered);
            return unfinished(session, is_triggered, knows).await;
        }
    };
    let event = RunEvent::new(EventDetails::Other(event), output(session).await);
    RunAnswer::with_event(ProgramState::Running, event)
}

/// The answer to a wait that has ended before anything happened.
async fn unfinished(session: &AgentSession, is_triggered: bool, knows: bool) -> RunAnswer {
    let now = session.snapshot();
    // Why it does not stop, if the engine knows: a step waits for a call to end, say.
    let suspended = match now.state {
        ProgramState::Running => suspended_process(session.root()).await,
        ProgramState::Idle | ProgramState::Stopped | ProgramState::Exited => None,
    };
    let console = Some(now.advice.console).filter(|console| !console.is_empty() && !is_triggered);
    let message = match suspended {
        Some(pid) => Some(suspended_message(pid)),
        None => console.map(|console| format!("last message on the debug console: {console}")),
    };
    let wait = UnfinishedWait::because(message);
    let wait = if knows { wait.for_input() } else { wait };
    let mut answer = RunAnswer::pending(now.state, wait);
    if is_triggered {
        answer = answer.with_lead(TRIGGER_ENDED);
    }
    session.agent_view.set_pending(now.state == ProgramState::Running);
    answer.output = output(session).await.some();
    answer
}

/// Why the program does not answer, and what to do.
pub(super) fn suspended_message(pid: u32) -> String {
    format!("a signal (SIGSTOP or Ctrl+Z) has suspended process {pid}; resume it with `kill -CONT {pid}`")
}

enum WaitOutcome {
    /// A stop or the end of the program.
    News,
    /// A stop of another program with the same root session.
    Relative(Arc<AgentSession>),
    /// The program waits for input.
    Input { keys: bool, wait: InputWait },
    /// The program has said where it listens.
    Serving,
    /// The program printed what `waitFor` matches.
    Printed(String),
    /// The trigger has ended, and the program has not stopped.
    Triggered,
    /// The timeout has passed.
    InVain,
}
