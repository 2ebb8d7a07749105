//! `debug_follow`: the program runs to a call, and the session follows it statement by statement.
//!
//! Takes no step: the session's host does (`followCall`). Not here: the text of the answer ([`super::life`]).

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::{ErrorCode, Failure};
use tokio::time::Instant;

use super::execution::unseen_event;
use super::run_answer::{EventDetails, OtherEvent, RunAnswer, RunEvent};
use super::stops::{report, stopped_thread};
use super::waiting::{limit, wait_for_news};
use super::{answer, life};
use crate::agent_view::FollowedCall;
use crate::arguments::schema::ArgumentSchema;
use crate::bounds::Budget;
use crate::breakpoint_requests::{BreakpointArguments, Purpose, RequestedBreakpoint};
use crate::call::ToolCall;
use crate::functions;
use crate::program_event::HitBreakpoint;
use crate::session::requests::FollowCallArguments;
use crate::session::{AgentSession, REQUEST_TIMEOUT};
use crate::snapshot::ProgramState;
use crate::tool::{AnswerField, StopUse, Tool, ToolEffect, ToolGroup, run};

/// Tokens of an answer by default.
const DEFAULT_TOKENS: u64 = 1500;
/// Bytes that everything but the lines costs.
const FRAME_BYTES: usize = 800;
/// Default time for following a call (`timeoutMs`).
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// The tools that follow a call.
pub const GROUP: ToolGroup = ToolGroup {
    name: "following",
    tools: &[Tool {
        name: "debug_follow",
        core: true,
        effect: ToolEffect::Mutating,
        stop: StopUse::Resumes,
        description: "Life of a call in one answer: runs to the call-th call of a function (or line; \
            default: the current call) where condition holds, then each statement with what it changed, \
            loops folded, calls with arguments and value (depth: their statements too), result or exception.",
        input: ArgumentSchema::of::<FollowArguments>,
        output: &[
            AnswerField::text("call"),
            AnswerField::texts("life"),
            AnswerField::text("ended"),
            AnswerField::integer("next"),
        ],
        run: run!(follow),
    }],
};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-unlisted" = ["hitCondition", "logMessage", "dllPath", "timeoutMs", "maxSteps"]))]
struct FollowArguments {
    #[serde(flatten)]
    to: BreakpointArguments,
    #[schemars(extend("default" = 1))]
    call: Option<u64>,
    depth: Option<u64>,
    next: Option<u64>,
    #[schemars(extend("default" = DEFAULT_TOKENS))]
    max_tokens: Option<u64>,
    timeout_ms: Option<u64>,
    max_steps: Option<u64>,
}

async fn follow(call: &ToolCall, arguments: FollowArguments) -> Result<Value, Failure> {
    let session = call.session().await?;
    let budget = bytes(arguments.max_tokens);
    if let Some(from) = arguments.next {
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        return continue_following(call, &arguments, &session, from, budget).await;
    }
    let named = arguments.to.place.is_given();
    if session.snapshot().state == ProgramState::Exited {
        stopped_thread(&session)?;
    }
    if let Some(unseen) = unseen_event(&session).await.filter(|_| named) {
        return answer(&unseen);
    }
    if named && let Some(instead) = run_to_call(call, &arguments, &session).await? {
        return answer(&instead);
    }
    follow_call(call, &arguments, &session, budget).await
}

/// Bytes that the lines may cost.
fn bytes(max_tokens: Option<u64>) -> usize {
    let budget = Budget::of(max_tokens.or(Some(DEFAULT_TOKENS)));
    budget.bytes().saturating_sub(FRAME_BYTES).max(400)
}

/// Runs to the call; the answer when that was not reached.
async fn run_to_call(
    call: &ToolCall,
    arguments: &FollowArguments,
    session: &AgentSession,
) -> Result<Option<RunAnswer>, Failure> {
    let number = arguments.call.unwrap_or(1);
    if number == 0 {
        return Err(Failure::invalid("`call` is 0; calls are counted from 1"));
    }
    let until = Instant::now() + limit(arguments.timeout_ms);
    let before = session.snapshot();
    let resumed = async {
        set_breakpoint(call, &arguments.to, session, number).await?;
        if before.state == ProgramState::Stopped {
            let thread = before.stop.thread_id.unwrap_or_default();
            session.control("continue", thread, &call.cancel).await?;
        }
        wait_for_news(call, session, before.news, until).await
    };
    let outcome = resumed.await;
    session.drop_breakpoints(Purpose::RunTo).await.or_else(|failure| match session.snapshot().state {
        ProgramState::Exited => Ok(()),
        _ => Err(failure),
    })?;
    let answer = outcome?;
    let breakpoint = answer.stop().and_then(|stop| stop.breakpoint);
    if matches!(breakpoint, Some(HitBreakpoint::Target { .. })) {
        return Ok(None);
    }
    let what = match answer.event.as_ref().map(|event| &event.details) {
        Some(EventDetails::Other(OtherEvent::Exited(_))) => "the program ended before that call",
        Some(_) => "the program did something else before that call",
        None => "the call has not come yet; the program runs on",
    };
    Ok(Some(answer.with_lead(what)))
}

/// Sets the breakpoint at the call with this number: by the function's name where the engine knows it, else
/// on the first line of its body in the sources.
async fn set_breakpoint(
    call: &ToolCall,
    arguments: &BreakpointArguments,
    session: &AgentSession,
    number: u64,
) -> Result<(), Failure> {
    let roots = &call.bridge.options.roots;
    let function = arguments.place.function.clone();
    if function.is_none() || session.can("supportsFunctionBreakpoints") {
        let id = add(call, session, session.request(arguments, roots).await?, number).await?;
        let bound = session.with_requested(|requested| {
            requested.find(id).is_some_and(|(_, breakpoint)| breakpoint.state.verified)
        });
        if function.is_none() || bound {
            return session.check_accepted(id);
        }
    }
    let function = function.unwrap_or_default();
    match functions::find(&function, &session.source_files().await) {
        Some((file, line)) => {
            session.drop_breakpoints(Purpose::RunTo).await?;
            let arguments = arguments.at_line(file, line);
            let id = add(call, session, session.request(&arguments, roots).await?, number).await?;
            session.check_accepted(id)
        }
        // It may be in code that is loaded later.
        None if session.can("supportsFunctionBreakpoints") => Ok(()),
        None => Err(Failure::new(
            ErrorCode::NotFound,
            format!("no function `{function}` in the sources of the program"),
        )
        .hint("pass `sourceFile` with the `text` or `line` of its first statement")),
    }
}

async fn add(
    call: &ToolCall,
    session: &AgentSession,
    mut request: RequestedBreakpoint,
    number: u64,
) -> Result<u64, Failure> {
    if number > 1 {
        request.dap.hit_condition = Some(number.to_string());
    }
    let (file, id) = (request.file.clone(), call.bridge.next_breakpoint());
    session.with_requested(|requested| requested.add(request, id, Purpose::RunTo));
    session.send_breakpoints(&file).await?;
    Ok(id)
}

/// Follows the call in which the program is stopped.
async fn follow_call(
    call: &ToolCall,
    arguments: &FollowArguments,
    session: &AgentSession,
    budget: usize,
) -> Result<Value, Failure> {
    let thread = stopped_thread(session)?;
    let time = arguments.timeout_ms.map_or(DEFAULT_TIMEOUT, Duration::from_millis);
    let request = FollowCallArguments {
        thread_id: thread,
        timeout_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
        depth: arguments.depth,
        max_steps: arguments.max_steps,
    };
    call.fire();
    let following = session.follow_call(&request, time + REQUEST_TIMEOUT, &call.cancel);
    let body = call.progress.during("following the call", None, following).await?;
    let (head, lines) = (life::head(&body.call), life::lines(&body, budget));
    let can_go_on = matches!(body.ended.as_str(), "steps" | "timeout");
    let open = can_go_on.then(|| session.snapshot().news);
    session.agent_view.with_followed(|followed| *followed = FollowedCall { lines, head, open });
    let mut followed = page(session, 0, budget);
    let steps = body.statements.len();
    let outcome = FollowOutcome { ended: body.ended, returned: body.returned, message: body.message, steps };
    followed.outcome = Some(outcome);
    add_event(session, &mut followed).await;
    answer(&followed)
}

/// The answer of `debug_follow`.
#[derive(Default, Serialize)]
struct FollowAnswer {
    call: String,
    life: Vec<String>,
    /// The number of the line where the rest begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<usize>,
    #[serde(flatten)]
    outcome: Option<FollowOutcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<ProgramState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<RunEvent>,
}

/// How a call ended that was followed.
#[derive(Serialize)]
struct FollowOutcome {
    ended: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    returned: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// The number of statements.
    steps: usize,
}

/// The lines from one on, as many as fit.
fn page(session: &AgentSession, from: usize, budget: usize) -> FollowAnswer {
    session.agent_view.with_followed(|followed| {
        let mut cost = 0;
        let rest = followed.lines.iter().skip(from);
        let shown: Vec<String> = rest
            .take_while(|line| {
                cost += line.len() + 3;
                cost <= budget
            })
            .cloned()
            .collect();
        let end = from + shown.len();
        let has_more = end < followed.lines.len() || followed.open.is_some();
        let (call, next) = (followed.head.clone(), has_more.then_some(end));
        FollowAnswer { call, life: shown, next, ..FollowAnswer::default() }
    })
}

/// Adds a short form of where the program is stopped: the lines contain the rest.
async fn add_event(session: &AgentSession, followed: &mut FollowAnswer) {
    let mut status = report(session).await;
    if let Some(stop) = status.event.as_mut().and_then(RunEvent::stop_mut) {
        stop.frame.remove_contents();
        stop.frame.returned.clear();
        stop.thread_id = None;
    }
    (followed.state, followed.event) = (status.state, status.event);
}

/// The rest of the last answer; when all of it was shown, continues to follow the call.
async fn continue_following(
    call: &ToolCall,
    arguments: &FollowArguments,
    session: &AgentSession,
    from: usize,
    budget: usize,
) -> Result<Value, Failure> {
    let (known, open) = session.agent_view.with_followed(|followed| (followed.lines.len(), followed.open));
    if from < known {
        return answer(&page(session, from, budget));
    }
    match open {
        Some(news) if news == session.snapshot().news => follow_call(call, arguments, session, budget).await,
        Some(_) => Err(Failure::invalid("the program has run since: the call cannot be followed on")
            .hint("call debug_follow with a `function`")),
        None => Err(Failure::invalid(format!("`next` is {from}, but there is nothing more"))),
    }
}
