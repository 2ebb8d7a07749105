//! Running, stepping and waiting: each tool answers with the location of the stop, or that the program
//! still runs.
//!
//! Not here: the wait ([`super::waiting`]), the answer about a stop ([`super::stops`]).

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{SessionInfoArguments, StoppedEventBody};
use tokio::time::Instant;

use super::answer;
use super::run_answer::RunAnswer;
use super::shown_frame::stack;
use super::stops::{add_other_stops, add_started, named_thread, report, report_related};
use super::waiting::{
    INPUT_CHECK_TIMEOUT, STEP_INPUT_CHECK_TIMEOUT, limit, may_continue, wait_for_news, wait_longer,
};
use crate::arguments::schema::{ArgumentSchema, ObjectOrText};
use crate::breakpoint_requests::{BreakpointArguments, Purpose};
use crate::call::ToolCall;
use crate::session::AgentSession;
use crate::session::requests::ReadOutputArguments;
use crate::snapshot::ProgramState;
use crate::source::ShownPlace;
use crate::tool::{AnswerField, StopUse, Tool, ToolEffect, ToolGroup, run};

/// Time that a plain continue waits for a program that waits for input.
const INPUT_WAIT_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of steps in one call.
const MAX_STEPS: u64 = 100;
/// The first words of an answer with a stop that the agent did not know.
const UNSEEN_STOP_PREFIX: &str =
    "nothing was run: the program was already stopped here, and you had not seen it; call again to continue";
/// Fields of every answer of these tools.
const RUN_OUTPUT: &[AnswerField] =
    &[AnswerField::text("state"), AnswerField::object("event"), AnswerField::flag("pending")];
/// For tools whose description says that they answer as `debug_continue`: listing the fields would cost a
/// model tokens in each conversation.
const SAME_AS_CONTINUE: &[AnswerField] = &[];

/// The tools that resume the program and wait.
pub const GROUP: ToolGroup = ToolGroup {
    name: "execution",
    tools: &[
        Tool {
            name: "debug_continue",
            core: true,
            effect: ToolEffect::Mutating,
            stop: StopUse::Resumes,
            description: "Resume, to a line, text or function if given, and wait (30 s) for the next event: \
                breakpointHit, stopped, \
                    exception, exited or waitingForInput, with place, lines, variables, new output. \
                    pending: still running, call \
                    again. Runs nothing at a stop you have not seen (event.unseen). Steps, pause and wait \
                    answer alike. All that \
                    wait take trigger.",
            input: ArgumentSchema::of::<RunToArguments>,
            output: RUN_OUTPUT,
            run: run!(resume),
        },
        Tool {
            name: "debug_step",
            core: true,
            effect: ToolEffect::Mutating,
            stop: StopUse::Steps,
            description: "Run the current line (over), enter its call (into), or run to the caller (out).",
            input: ArgumentSchema::of::<StepKindArguments>,
            output: SAME_AS_CONTINUE,
            run: run!(step),
        },
        Tool {
            name: "debug_step_over",
            core: false,
            effect: ToolEffect::Mutating,
            stop: StopUse::Steps,
            description: "Run the current line without entering calls.",
            input: ArgumentSchema::of::<StepArguments>,
            output: SAME_AS_CONTINUE,
            run: run!(run, "next"),
        },
        Tool {
            name: "debug_step_into",
            core: false,
            effect: ToolEffect::Mutating,
            stop: StopUse::Steps,
            description: "Step into the call on this line.",
            input: ArgumentSchema::of::<StepArguments>,
            output: SAME_AS_CONTINUE,
            run: run!(run, "stepIn"),
        },
        Tool {
            name: "debug_step_out",
            core: false,
            effect: ToolEffect::Mutating,
            stop: StopUse::Steps,
            description: "Run until this function returns.",
            input: ArgumentSchema::of::<StepArguments>,
            output: SAME_AS_CONTINUE,
            run: run!(run, "stepOut"),
        },
        Tool {
            name: "debug_pause",
            core: true,
            effect: ToolEffect::Mutating,
            stop: StopUse::Awaits,
            description: "Pause the running program.",
            input: ArgumentSchema::of::<PauseArguments>,
            output: SAME_AS_CONTINUE,
            run: run!(pause),
        },
        Tool {
            name: "debug_wait",
            core: true,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Awaits,
            description: "Wait for the next event, of any client; answers at once at a stop.",
            input: ArgumentSchema::of::<WaitArguments>,
            output: SAME_AS_CONTINUE,
            run: run!(wait),
        },
        Tool {
            name: "debug_run_to",
            core: false,
            effect: ToolEffect::Mutating,
            stop: StopUse::Resumes,
            description: "Continue to a line, a text or a function, once. event.reached: it got there.",
            input: ArgumentSchema::of::<RunToArguments>,
            output: SAME_AS_CONTINUE,
            run: run!(run_to),
        },
    ],
};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-unlisted" = ["condition", "hitCondition", "logMessage", "dllPath", "threadId"]))]
struct RunToArguments {
    #[serde(flatten)]
    to: BreakpointArguments,
    // Read by `crate::trigger_action`; this tool lists it for all that wait.
    #[schemars(description = "started meanwhile: {url}, {input} or {command}")]
    #[serde(rename = "trigger")]
    _trigger: Option<ObjectOrText>,
    timeout_ms: Option<u64>,
    thread_id: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct StepArguments {
    #[schemars(extend("default" = 1))]
    count: Option<u64>,
    thread_id: Option<u64>,
    timeout_ms: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-unlisted" = ["timeoutMs"]))]
struct StepKindArguments {
    kind: Option<String>,
    count: Option<u64>,
    thread_id: Option<u64>,
    timeout_ms: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-unlisted" = ["threadId", "timeoutMs"]))]
struct PauseArguments {
    thread_id: Option<u64>,
    timeout_ms: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WaitArguments {
    timeout_ms: Option<u64>,
}

/// `debug_continue`, which may name a place to run to.
async fn resume(call: &ToolCall, arguments: RunToArguments) -> Result<Value, Failure> {
    if arguments.to.place.is_given() {
        return run_to(call, arguments).await;
    }
    let RunToArguments { timeout_ms, thread_id, .. } = arguments;
    run(call, StepArguments { count: None, thread_id, timeout_ms }, "continue").await
}

async fn step(call: &ToolCall, arguments: StepKindArguments) -> Result<Value, Failure> {
    let StepKindArguments { kind, count, thread_id, timeout_ms } = arguments;
    let command = match kind.as_deref() {
        None | Some("over") => "next",
        Some("into") => "stepIn",
        Some("out") => "stepOut",
        Some(other) => {
            return Err(Failure::invalid(format!("`kind` is `{other}`; it must be over, into or out")));
        }
    };
    run(call, StepArguments { count, thread_id, timeout_ms }, command).await
}

async fn run(call: &ToolCall, arguments: StepArguments, command: &str) -> Result<Value, Failure> {
    let session = call.session().await?;
    let StepArguments { count, thread_id, timeout_ms } = arguments;
    let until = Instant::now() + limit(timeout_ms);
    let count = count.unwrap_or(1);
    if !(1..=MAX_STEPS).contains(&count) {
        return Err(Failure::invalid(format!("`count` is {count}; it must be 1 to {MAX_STEPS}")));
    }
    let now = session.snapshot();
    // The same call resumes the wait; if the program is running already, the call only waits. Not every
    // adapter reports that its program has started.
    let runs = matches!(now.state, ProgramState::Running | ProgramState::Idle) || may_continue(&session);
    if runs && (session.agent_view.pending() || command == "continue") {
        let until = limit_input_wait(timeout_ms, &session, until).await?;
        let seen = if may_continue(&session) { session.agent_view.last_reported() } else { now.news };
        return answer(&wait_for_news(call, &session, seen, until).await?);
    }
    let resumes = command == "continue" && session.agent_view.pending();
    if let Some(mut unseen) = unseen_event(&session).await {
        // The outcome that it waits for is its result.
        if resumes {
            unseen.lead = None;
            if let Some(event) = &mut unseen.event {
                event.unseen = false;
            }
        }
        return answer(&unseen);
    }
    let mut walked = Vec::new();
    call.fire();
    loop {
        let before = session.snapshot();
        let thread = thread(thread_id, &session, &before.stop).await?;
        session.control(command, thread, &call.cancel).await?;
        let is_last = walked.len() as u64 + 1 == count;
        let outcome = if is_last {
            let brief = if command == "continue" { INPUT_CHECK_TIMEOUT } else { STEP_INPUT_CHECK_TIMEOUT };
            Some(wait_longer(call, &session, before.news, until, brief).await?)
        } else {
            wait_brief(call, &session, before.news, until).await?
        };
        if let Some(mut outcome) = outcome {
            if let Some(event) = &mut outcome.event {
                event.walked = walked;
            }
            return answer(&outcome);
        }
        walked.push(line_of(&session).await);
    }
}

/// The number and text of the line where a step ended; the function where there is no source.
async fn line_of(session: &AgentSession) -> String {
    let thread = session.snapshot().stop.thread_id.unwrap_or_default();
    let stack = stack(session, thread, 0, 1).await;
    let frame = stack.ok().and_then(|stack| stack.stack_frames.into_iter().next());
    match frame.as_ref().map(ShownPlace::from).unwrap_or_default() {
        ShownPlace { line: Some(line), source: Some(source), .. } => format!("{line} {source}"),
        ShownPlace { function, .. } => function.unwrap_or_default(),
    }
}

/// Limits the wait for a running program that was reported as waiting for input, and still is:
/// it seldom continues without. `debug_wait`, or a `timeoutMs`, waits in full for its other
/// threads, or for a person's input.
async fn limit_input_wait(
    timeout_ms: Option<u64>,
    session: &AgentSession,
    until: Instant,
) -> Result<Instant, Failure> {
    let session = session.root();
    if !session.agent_view.has_reported_input_wait() || timeout_ms.is_some() {
        return Ok(until);
    }
    let since = session.agent_view.cursor();
    let read = session.send(&ReadOutputArguments { since, ..ReadOutputArguments::default() }).await;
    let waits = read.is_ok_and(|read| read.wait.waiting_for_input);
    Ok(if waits { until.min(Instant::now() + INPUT_WAIT_TIMEOUT) } else { until })
}

/// The stop or end that was not reported to the agent yet: it came after a wait timed out, or
/// another client caused it. Resuming could skip the stop that the agent waits for, so the stop is
/// reported and nothing runs.
pub(super) async fn unseen_event(session: &AgentSession) -> Option<RunAnswer> {
    let now = session.snapshot();
    let is_stopped = matches!(now.state, ProgramState::Stopped | ProgramState::Exited);
    if !is_stopped || !session.agent_view.holds_back(now.news) {
        return None;
    }
    let mut unseen = report(session).await;
    if let Some(event) = &mut unseen.event {
        event.unseen = true;
    }
    Some(unseen.with_lead(UNSEEN_STOP_PREFIX))
}

async fn thread(
    thread_id: Option<u64>,
    session: &AgentSession,
    stop: &StoppedEventBody,
) -> Result<i64, Failure> {
    Ok(named_thread(thread_id, session).await?.or(stop.thread_id).unwrap_or_default())
}

/// Between two steps of one call: nothing is reported if the step ended as a step.
async fn wait_brief(
    call: &ToolCall,
    session: &AgentSession,
    seen: u64,
    until: Instant,
) -> Result<Option<RunAnswer>, Failure> {
    let mut snapshot = session.watch_snapshot();
    let news = snapshot.wait_for(|snapshot| snapshot.news > seen);
    if tokio::time::timeout_at(until.min(Instant::now() + STEP_INPUT_CHECK_TIMEOUT), news).await.is_err() {
        return wait_for_news(call, session, seen, until).await.map(Some);
    }
    let now = session.snapshot();
    let continues = now.state == ProgramState::Stopped && now.stop.reason == "step" && Instant::now() < until;
    Ok(if continues { None } else { Some(report(session).await) })
}

async fn pause(call: &ToolCall, arguments: PauseArguments) -> Result<Value, Failure> {
    let PauseArguments { thread_id, timeout_ms } = arguments;
    let session = call.session().await?;
    let before = session.snapshot();
    // The program is stopped already.
    if before.state == ProgramState::Stopped {
        return answer(&report(&session).await);
    }
    let thread = thread(thread_id, &session, &before.stop).await?;
    session.control("pause", thread, &call.cancel).await?;
    // Some engines pause a program that reads its input only once it has read it.
    let until = limit_input_wait(timeout_ms, &session, Instant::now() + limit(timeout_ms)).await?;
    answer(&wait_for_news(call, &session, before.news, until).await?)
}

async fn wait(call: &ToolCall, WaitArguments { timeout_ms }: WaitArguments) -> Result<Value, Failure> {
    let mut session = call.session().await?;
    // Another client may have resumed the program a moment ago: its event comes before this response. A
    // session that is gone has already reported its end.
    if session.snapshot().state == ProgramState::Stopped
        && let Err(failure) = session.send(&SessionInfoArguments::default()).await
    {
        tracing::debug!(%failure, "the session is gone");
    }
    // It may have ended meanwhile.
    if let Some(root) = session.root_after_end().filter(|_| !call.names_session()) {
        session = root;
    }
    let now = session.snapshot();
    if may_continue(&session) {
        let until = Instant::now() + limit(timeout_ms);
        let seen = session.agent_view.last_reported();
        return answer(&wait_for_news(call, &session, seen, until).await?);
    }
    // Not every adapter reports that its program has begun.
    if !matches!(now.state, ProgramState::Running | ProgramState::Idle) {
        // An agent that knows this stop waits for one of the other programs.
        let news = call.bridge.relative_with_news(&session).filter(|_| session.agent_view.knows(now.news));
        let mut known = match news {
            Some(found) => report_related(call, &found).await,
            None => report(&session).await,
        };
        add_other_stops(&mut known, call, &session);
        add_started(&mut known, &session);
        return answer(&known);
    }
    answer(&wait_for_news(call, &session, now.news, Instant::now() + limit(timeout_ms)).await?)
}

async fn run_to(call: &ToolCall, arguments: RunToArguments) -> Result<Value, Failure> {
    let session = call.session().await?;
    let RunToArguments { to, timeout_ms, thread_id, .. } = arguments;
    let request = session.request(&to, &call.bridge.options.roots).await?;
    let until = Instant::now() + limit(timeout_ms);
    if let Some(unseen) = unseen_event(&session).await {
        return answer(&unseen);
    }
    let before = session.snapshot();
    // Refused before anything is set.
    super::stops::stopped_thread(&session)?;
    let (file, id) = (request.file.clone(), call.bridge.next_breakpoint());
    session.with_requested(|requested| requested.add(request, id, Purpose::RunTo));
    let resumed = async {
        session.send_breakpoints(&file).await?;
        let thread = thread(thread_id, &session, &before.stop).await?;
        session.control("continue", thread, &call.cancel).await
    };
    if let Err(failure) = resumed.await {
        session.drop_breakpoints(Purpose::RunTo).await?;
        return Err(failure);
    }
    answer(&wait_for_news(call, &session, before.news, until).await?)
}
