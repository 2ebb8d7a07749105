//! Running, stepping and waiting: each answers with where the program stands then, or that it still runs.

use std::time::Duration;

use dap_wire::Failure;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::call::Call;
use crate::observer::{Snapshot, State};
use crate::session::{DEADLINE, Session};
use crate::tool::{Effect, Family, Tool, run};

/// Waits end before clients cut calls.
const WAIT: Duration = Duration::from_secs(30);
/// New output in an answer, bytes per stream; more is read with `process_read_output`.
const OUTPUT: usize = 4096;
/// Matches nothing: the read ends early only when the program waits for input, or ends.
const NEVER: &str = r"[^\s\S]";

/// Running and waiting.
pub const FAMILY: Family = Family {
    name: "execution",
    of_session: true,
    tools: &[
        Tool {
            name: "debug_continue",
            core: true,
            effect: Effect::Acts,
            about: "Resume the program. Waits (30 s) for the next stop, exit or request for input; `pending: true` means still \
                    running: call debug_wait.",
            takes: &["threadId:i", "timeoutMs:i"],
            gives: &["state:s", "event:o", "pending:b", "output:o"],
            run: run!(run, "continue"),
        },
        Tool {
            name: "debug_step_over",
            core: true,
            effect: Effect::Acts,
            about: "Run the current line, not entering calls. Returns where it stands then.",
            takes: &["threadId:i", "timeoutMs:i"],
            gives: &["state:s", "event:o", "pending:b", "output:o"],
            run: run!(run, "next"),
        },
        Tool {
            name: "debug_step_into",
            core: true,
            effect: Effect::Acts,
            about: "Step into the call on the current line.",
            takes: &["threadId:i", "timeoutMs:i"],
            gives: &["state:s", "event:o", "pending:b", "output:o"],
            run: run!(run, "stepIn"),
        },
        Tool {
            name: "debug_step_out",
            core: true,
            effect: Effect::Acts,
            about: "Run until the current function returns.",
            takes: &["threadId:i", "timeoutMs:i"],
            gives: &["state:s", "event:o", "pending:b", "output:o"],
            run: run!(run, "stepOut"),
        },
        Tool {
            name: "debug_pause",
            core: true,
            effect: Effect::Acts,
            about: "Stop a running program where it is.",
            takes: &["threadId:i", "timeoutMs:i"],
            gives: &["state:s", "event:o", "pending:b", "output:o"],
            run: run!(run, "pause"),
        },
        Tool {
            name: "debug_wait",
            core: true,
            effect: Effect::Looks,
            about: "Wait (30 s) for the next stop, exit or request for input; `pending: true` means still running: call \
                    it again.",
            takes: &["timeoutMs:i"],
            gives: &["state:s", "event:o", "pending:b", "output:o"],
            run: run!(wait),
        },
    ],
};

fn limit(call: &Call) -> Result<Duration, Failure> {
    Ok(call.arguments.number("timeoutMs")?.map_or(WAIT, Duration::from_millis))
}

pub(super) async fn run(call: &Call, command: &str) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let limit = limit(call)?;
    let before = session.snapshot();
    let thread = match call.arguments.number("threadId")? {
        Some(thread) => json!(thread),
        None if before.stop["threadId"].is_null() => json!(0),
        None => before.stop["threadId"].clone(),
    };
    let arguments = json!({ "threadId": thread });
    if command == "pause" {
        session.ask_or_cancel(command, arguments, DEADLINE, &call.cancel).await?;
    } else {
        session.resume(command, arguments, &call.cancel).await?;
    }
    wait_for_news(&session, before.news, limit, &call.cancel).await
}

pub(super) async fn wait(call: &Call) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    // Somebody else may have resumed the program a moment ago. A session that is gone has told its end already.
    if let Err(failure) = session.sync().await {
        tracing::debug!(%failure, "the session is gone");
    }
    let now = session.snapshot();
    if now.state != State::Running {
        return Ok(report(&session).await);
    }
    wait_for_news(&session, now.news, limit(call)?, &call.cancel).await
}

/// Waits for a stop or end after `seen`, or for the program to ask for input.
async fn wait_for_news(
    session: &Session,
    seen: u64,
    limit: Duration,
    cancel: &CancellationToken,
) -> Result<Value, Failure> {
    let mut picture = session.picture();
    let reading = CancellationToken::new();
    let _stop_reading = reading.clone().drop_guard();
    let asks_for_input = async {
        let since = session.cursor();
        let arguments =
            json!({ "since": since, "waitFor": NEVER, "timeoutMs": limit.as_millis() as u64, "maxBytes": 0 });
        let read = session.ask_or_cancel("processReadOutput", arguments, limit + DEADLINE, &reading).await;
        match read {
            Ok(read) if read["waitingForInput"] == true => {}
            // Not ours to read, or over: only the events count.
            _ => std::future::pending().await,
        }
    };
    let news = async { picture.wait_for(|picture| picture.news > seen).await.is_ok() };
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Failure::cancelled()),
        _ = news => Ok(report(session).await),
        () = asks_for_input => {
            let mut answer = json!({ "state": "running", "event": { "type": "waitingForInput" } });
            add_output(session, &mut answer["event"]).await;
            Ok(answer)
        }
        () = tokio::time::sleep(limit) => {
            let mut answer = json!({ "state": "running", "pending": true });
            add_output(session, &mut answer).await;
            Ok(answer)
        }
    }
}

async fn add_output(session: &Session, target: &mut Value) {
    let output = session.new_output(OUTPUT).await;
    if output.as_object().is_some_and(|output| !output.is_empty()) {
        target["output"] = output;
    }
}

/// `state` and `event`: where the program stands, and why.
pub(super) async fn report(session: &Session) -> Value {
    let picture = session.snapshot();
    let mut answer = json!({ "state": picture.state.as_str() });
    let mut event = match picture.state {
        State::Stopped => stop_event(session, &picture).await,
        State::Exited => {
            let mut event = json!({ "type": "exited" });
            if let Some(code) = picture.exit_code {
                event["exitCode"] = json!(code);
            }
            event
        }
        State::Idle | State::Running => {
            add_output(session, &mut answer).await;
            return answer;
        }
    };
    add_output(session, &mut event).await;
    answer["event"] = event;
    answer
}

async fn stop_event(session: &Session, picture: &Snapshot) -> Value {
    let stop = &picture.stop;
    let kind = match stop["reason"].as_str() {
        Some("breakpoint") => "breakpointHit",
        Some("exception") => "exception",
        _ => "stopped",
    };
    let mut event = json!({ "type": kind, "reason": stop["reason"], "threadId": stop["threadId"] });
    if let Some(text) = stop["text"].as_str() {
        event["message"] = json!(text);
    }
    if let Some(hit) = stop["hitBreakpointIds"][0].as_i64() {
        let own = session.with_wishes(|wishes| {
            wishes.values().flatten().find(|wanted| wanted.dap == Some(hit)).map(|wanted| wanted.id)
        });
        match own {
            Some(own) => event["breakpointId"] = json!(own),
            None => event["byOther"] = json!(true),
        }
    }
    let arguments = json!({ "threadId": stop["threadId"], "startFrame": 0, "levels": 1 });
    if let Ok(stack) = session.ask("stackTrace", arguments).await {
        place(&mut event, &stack["stackFrames"][0]);
    }
    event
}

/// File, line, function and the source line of a frame.
pub(super) fn place(target: &mut Value, frame: &Value) {
    target["function"] = frame["name"].clone();
    if let Some(path) = frame["source"]["path"].as_str() {
        target["file"] = json!(path);
        target["line"] = frame["line"].clone();
        let wanted = frame["line"].as_u64().and_then(|line| usize::try_from(line).ok()?.checked_sub(1));
        let text = std::fs::read_to_string(path).ok();
        if let Some(line) = wanted.and_then(|wanted| text.as_deref()?.lines().nth(wanted)) {
            target["source"] = json!(line.trim());
        }
    }
}
