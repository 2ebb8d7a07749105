//! A session as a whole: its state, restarting its program, leaving it.
//!
//! Not here: launching and attaching ([`super::launch`]), other live sessions ([`super::session_list`]).

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::{ErrorCode, Failure, types};
use tokio::time::Instant;

use super::session_state::{SessionState, query_state};
use super::session_summary::SessionSummary;
use super::waiting::{self, ENTRY_STOP_TIMEOUT};
use super::{answer, launch, stops, test_launch};
use crate::arguments::attributes::LaunchFlags;
use crate::arguments::schema::{ArgumentSchema, NoArguments};
use crate::call::ToolCall;
use crate::repeat::Repeat;
use crate::session::{AgentSession, LAUNCH_TIMEOUT};
use crate::snapshot::ProgramState;
use crate::tool::{AnswerField, StopUse, Tool, ToolEffect, ToolGroup, run};

/// Time limit for the events of a restart after its response.
const RESTART_TIMEOUT: Duration = Duration::from_secs(5);

/// The tools for sessions as a whole.
pub const GROUP: ToolGroup = ToolGroup {
    name: "sessions",
    tools: &[
        Tool {
            name: "debug_status",
            core: false,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Inspects,
            description: "idle, running, stopped (reason, place) or exited, and the session's clients.",
            input: ArgumentSchema::of::<NoArguments>,
            output: &[
                AnswerField::text("state"),
                AnswerField::text("session"),
                AnswerField::text("reason"),
                AnswerField::object("place"),
                AnswerField::list("clients"),
            ],
            run: run!(status),
        },
        Tool {
            name: "debug_disconnect",
            core: true,
            effect: ToolEffect::DestructiveIdempotent,
            stop: StopUse::Leaves,
            description: "End the session you launched, or leave one you joined.",
            input: ArgumentSchema::of::<LeaveArguments>,
            output: &[AnswerField::text("state")],
            run: run!(disconnect),
        },
        Tool {
            name: "debug_restart",
            core: true,
            effect: ToolEffect::Destructive,
            stop: StopUse::Restarts,
            description: "Rebuild and restart with all breakpoints. Answers like debug_launch; how: restart \
                (same session) \
                    or newSession.",
            input: ArgumentSchema::of::<RestartArguments>,
            output: &[
                AnswerField::text("state"),
                AnswerField::text("session"),
                AnswerField::text("how"),
                AnswerField::object("event"),
                AnswerField::flag("pending"),
            ],
            run: run!(restart),
        },
    ],
};

/// How long an agent that leaves waits for a program that it has requested to end.
const END_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Deserialize, JsonSchema)]
struct LeaveArguments {
    terminate: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-unlisted" = ["stopAtEntry"]))]
struct RestartArguments {
    #[serde(default)]
    run: bool,
    timeout_ms: Option<u64>,
    stop_at_entry: Option<bool>,
}

/// The arguments of DAP's `restart`.
#[derive(Serialize)]
struct RestartRequest {
    /// The attributes of the launch; absent for another client's program.
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Value>,
}

impl RestartArguments {
    fn stops_at_entry(&self) -> bool {
        !self.run && self.stop_at_entry.unwrap_or(true)
    }
}

async fn status(call: &ToolCall, _: NoArguments) -> Result<Value, Failure> {
    let named = call.names_session();
    if !named && call.bridge.current().is_none() {
        return answer(&SessionState::idle());
    }
    let session = call.session().await?;
    let (mut state, news) = query_state(&session).await;
    state.parent.clone_from(&session.relation.parent);
    let related = call.bridge.related_sessions(&session);
    state.related = related.iter().map(|other| SessionSummary::of(other)).collect();
    // An agent that received the place has seen the stop.
    if state.place.is_some() {
        session.agent_view.record_seen(news);
    }
    answer(&state)
}

/// The state of a session in the form of `debug_status`.
///
/// # Errors
/// None at present: a session that is gone is `exited`.
pub async fn state_of(session: &AgentSession) -> Result<Value, Failure> {
    answer(&query_state(session).await.0)
}

/// Starts the program again: in the same session when that can be, so that every client and every breakpoint
/// stays; else in a new one, by the plan of the old.
async fn restart(call: &ToolCall, arguments: RestartArguments) -> Result<Value, Failure> {
    let session = call.session().await?;
    // Restarting the first program restarts those that it starts.
    let session = session.relation.root.clone().unwrap_or(session);
    if let Some(run) = session.test_run() {
        return test_launch::restart(call, &session, &run, arguments.timeout_ms).await;
    }
    let own = session.launched && session.with_plan(|plan| !plan.attach);
    let repeats = session.with_plan(|plan| {
        plan.repeat = plan.repeat.map(Repeat::reset);
        plan.repeat.is_some()
    });
    let lives = session.snapshot().state != ProgramState::Exited;
    if lives && !repeats && session.can("supportsRestartRequest") {
        match restart_here(call, &arguments, &session, own).await {
            // It has just ended: treat it as if it had ended before.
            Err(failure) if failure.code == ErrorCode::NoSession && own => {}
            outcome => return outcome,
        }
    }
    if !own {
        let why = match lives {
            true => format!("session `{}` cannot be started again in place", session.id),
            false => format!("the program of session `{}` has ended", session.id),
        };
        return Err(Failure::new(ErrorCode::Unsupported, format!("{why}, and you did not launch it"))
            .hint("ask the client that launched it, or use debug_launch for your own session"));
    }
    let runs = arguments.run || repeats;
    let mut plan = session.with_plan(|plan| plan.clone());
    // Breakpoints and filters that were set since the program ended apply to its next run.
    let early = call.bridge.with_early_requests(|early| early.clone());
    plan.requested.extend(early.requested);
    plan.filters = early.filters.or(plan.filters);
    plan.requested = plan.requested.for_next_program();
    LaunchFlags::stopping_on_entry(!runs && arguments.stops_at_entry()).set_in(&mut plan.attributes);
    // A session that is already gone does not prevent a new one.
    if let Err(failure) = session.leave(None).await {
        tracing::debug!(%failure, "left a session that was gone");
    }
    // The session is replaced only when the new program has started: if a build fails, the
    // same call works after a fix.
    let mut launched = launch::start(call, plan, runs, arguments.timeout_ms).await?;
    call.bridge.forget(&session.id);
    launched.launch.how = Some("newSession");
    answer(&launched)
}

/// Restarts with DAP `restart`. Another client's program starts with that client's arguments; our own may
/// stop at entry or not.
async fn restart_here(
    call: &ToolCall,
    arguments: &RestartArguments,
    session: &AgentSession,
    own: bool,
) -> Result<Value, Failure> {
    let until = Instant::now() + waiting::limit(arguments.timeout_ms);
    let stops = own && arguments.stops_at_entry();
    let request = RestartRequest {
        arguments: own.then(|| {
            session.with_plan(|plan| {
                LaunchFlags::stopping_on_entry(stops).set_in(&mut plan.attributes);
                plan.attributes.clone()
            })
        }),
    };
    let files = session.with_requested(|requested| {
        let files = requested.files();
        requested.relocate();
        files
    });
    for file in files {
        session.send_breakpoints(&file).await?;
    }
    let before = session.snapshot();
    let asking = session.ask_or_cancel("restart", types::body(&request), LAUNCH_TIMEOUT, &call.cancel);
    let what = "starting again (building first, if it is a project)";
    call.progress.during(what, Some(session.listener.events()), asking).await?;
    let mut snapshot = session.watch_snapshot();
    // Reports about the old program no longer hold; an adapter other than Tandem does not announce the new
    // one.
    let begun = snapshot.wait_for(|snapshot| {
        snapshot.restarts.count > before.restarts.count || snapshot.state == ProgramState::Exited
    });
    drop(tokio::time::timeout(RESTART_TIMEOUT, begun).await);
    let now = session.snapshot();
    let seen = if now.restarts.count > before.restarts.count { now.restarts.news } else { before.news };
    session.agent_view.forget_run(seen);
    let mut restarted = if stops {
        let stopped = snapshot.wait_for(|snapshot| snapshot.news > seen);
        drop(tokio::time::timeout(ENTRY_STOP_TIMEOUT, stopped).await);
        stops::report(session).await
    } else {
        waiting::wait_for_news(call, session, seen, until).await?
    };
    restarted.describe_session(session);
    restarted.launch.how = Some("restart");
    answer(&restarted)
}

async fn disconnect(call: &ToolCall, arguments: LeaveArguments) -> Result<Value, Failure> {
    let session = match call.session().await {
        Ok(session) => session,
        // Having nothing to leave is a success.
        Err(_) if !call.names_session() => return answer(&LeftSession::idle(None)),
        Err(failure) => return Err(failure),
    };
    // Without `session`, the agent leaves the program and its children; with it, only that one.
    let named = call.names_session();
    let session = session.relation.root.clone().filter(|_| !named).unwrap_or(session);
    let terminate = arguments.terminate;
    let mut refuses = None;
    if terminate == Some(true) && !session.launched && session.snapshot().state != ProgramState::Exited {
        session.terminate().await?;
        let mut snapshot = session.watch_snapshot();
        let ended = snapshot.wait_for(|snapshot| snapshot.state == ProgramState::Exited);
        if tokio::time::timeout(END_TIMEOUT, ended).await.is_err() {
            refuses = Some(format!(
                "{} was asked to end and has not ended yet: it has the time that its launch allows \
                    (`terminateTimeout`, usually 30 s), not counting stops",
                session.id
            ));
        }
    }
    // The agent chose which exceptions stop a program, so the next program keeps that choice.
    if let Some(chosen) = session.with_plan(|plan| plan.filters.clone()).filter(|_| session.launched) {
        call.bridge.with_early_requests(|early| {
            early.filters.get_or_insert(chosen);
        });
    }
    let outcome = session.leave(terminate).await;
    if session.relation.root.is_none() {
        for child in call.bridge.related_sessions(&session) {
            drop(child.leave(None).await);
            call.bridge.forget(&child.id);
        }
    }
    call.bridge.forget(&session.id);
    outcome?;
    let with = |left: Option<String>| {
        let words: Vec<String> = left.into_iter().chain(refuses.clone()).collect();
        (!words.is_empty()).then(|| words.join("; "))
    };
    // A remaining session becomes the current one.
    answer(&match call.bridge.current() {
        Some(now) => {
            let message = format!(
                "left {}; the current session is now {} ({})",
                session.id, now.id, now.relation.title
            );
            LeftSession {
                state: now.snapshot().state.as_str(),
                session: Some(now.id.clone()),
                left: Some(session.id.clone()),
                message: with(Some(message)),
            }
        }
        None => LeftSession::idle(with(None)),
    })
}

/// The answer of `debug_disconnect`.
#[derive(Serialize)]
struct LeftSession {
    /// The state of the session that is the current one now.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl LeftSession {
    /// The answer when no session is left.
    fn idle(message: Option<String>) -> Self {
        Self { state: ProgramState::Idle.as_str(), session: None, left: None, message }
    }
}
