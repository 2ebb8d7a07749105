//! Running, stepping and waiting: each answers with where the program stands then, or that it still runs.

use std::sync::Arc;
use std::time::Duration;

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::serving;
use super::stops::{add_output, add_standing, begin_with, named_thread, output, report, report_relative};
use crate::call::Call;
use crate::observer::State;
use crate::session::{DEADLINE, Session};
use crate::tool::{Effect, Family, Tool, run};
use crate::wishes::Purpose;

/// Waits end before clients cut calls.
const WAIT: Duration = Duration::from_secs(30);
/// Longest wait that can be asked for.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// Only waits longer than this ask whether the program wants input.
const BRIEF: Duration = Duration::from_millis(250);
/// The same for a step, which is over sooner even on a busy machine, unless it is the read itself: another thread that reads
/// all the while is no reason to end it.
const STEPPING: Duration = Duration::from_secs(1);
/// How long a run that only goes on waits for a program that waits for input.
const STILL: Duration = Duration::from_secs(2);
/// How long nothing else happens to a server that listens until that is the news: it may have several addresses, or stop.
const SETTLED: Duration = Duration::from_secs(1);
/// Most steps in one call.
const STEPS: u64 = 100;
/// The first words of an answer with a stop that the agent did not know.
const UNSEEN: &str = "nothing was run: the program stood here before you called, and you had not been told; call again to go on";
/// Matches nothing: the read ends early only when the program waits for input, or ends.
const NEVER: &str = r"[^\s\S]";

/// What every one of them gives.
const GIVES: &[&str] = &["state:s", "event:o", "pending:b"];
/// The same, where the description says so: a schema costs a model tokens in each conversation.
const AS_CONTINUE: &[&str] = &[];

/// Running and waiting.
pub const FAMILY: Family = Family {
    name: "execution",
    of_session: true,
    tools: &[
        Tool {
            name: "debug_continue",
            core: true,
            effect: Effect::Acts,
            about: "Resume and wait (30 s) for the next event: breakpointHit, stopped, exception, exited or waitingForInput, \
                    with place, lines, variables, new output. pending: still running, call again. Runs nothing at a stop you have not \
                    seen (event.unseen). event.session: a program it started. Steps, pause, wait and \
                    run_to answer alike.",
            takes: &["threadId:i", "timeoutMs:i"],
            gives: GIVES,
            run: run!(run, "continue"),
        },
        Tool {
            name: "debug_step_over",
            core: true,
            effect: Effect::Acts,
            about: "Run the current line without entering calls.",
            takes: &["count:i=1", "threadId:i", "timeoutMs:i"],
            gives: AS_CONTINUE,
            run: run!(run, "next"),
        },
        Tool {
            name: "debug_step_into",
            core: true,
            effect: Effect::Acts,
            about: "Step into the call on this line.",
            takes: &["count:i", "threadId:i", "timeoutMs:i"],
            gives: AS_CONTINUE,
            run: run!(run, "stepIn"),
        },
        Tool {
            name: "debug_step_out",
            core: false,
            effect: Effect::Acts,
            about: "Run until this function returns.",
            takes: &["count:i", "threadId:i", "timeoutMs:i"],
            gives: AS_CONTINUE,
            run: run!(run, "stepOut"),
        },
        Tool {
            name: "debug_pause",
            core: true,
            effect: Effect::Acts,
            about: "Stop a running program where it is.",
            takes: &["threadId:i", "timeoutMs:i"],
            gives: AS_CONTINUE,
            run: run!(pause),
        },
        Tool {
            name: "debug_wait",
            core: true,
            effect: Effect::Looks,
            about: "Wait for the next event, whoever causes it; at a stop it answers at once.",
            takes: &["timeoutMs:i"],
            gives: AS_CONTINUE,
            run: run!(wait),
        },
        Tool {
            name: "debug_run_to",
            core: true,
            effect: Effect::Acts,
            about: "Continue to a line, a text or a function, once. event.reached: it got there.",
            takes: &["sourceFile:s", "line:i", "text:s", "function:s", "timeoutMs:i"],
            gives: AS_CONTINUE,
            run: run!(run_to),
        },
    ],
};

/// `timeoutMs`, or 30 s.
pub(super) fn limit(call: &Call) -> Result<Duration, Failure> {
    Ok(call.arguments.number("timeoutMs")?.map_or(WAIT, |ms| Duration::from_millis(ms).min(LONGEST)))
}

pub(super) async fn run(call: &Call, command: &str) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let until = Instant::now() + limit(call)?;
    let count = call.arguments.number("count")?.filter(|_| command != "continue").unwrap_or(1);
    if !(1..=STEPS).contains(&count) {
        return Err(Failure::invalid(format!("`count` is {count}; it must be 1 to {STEPS}")));
    }
    let now = session.snapshot();
    // The same call resumes the wait; and of a program that runs already, waiting is what is left to do.
    if now.state == State::Running && (session.memory.pending() || command == "continue") {
        let until = patience(call, &session, until).await?;
        return wait_for_news(call, &session, now.news, until).await;
    }
    let resumes = command == "continue" && session.memory.pending();
    if let Some(mut answer) = unseen(&session).await {
        // The outcome of what it waits for is what it asked for.
        if resumes {
            for (part, key) in [("/event", "unseen"), ("", "message")] {
                if let Some(part) = answer.pointer_mut(part).and_then(Value::as_object_mut) {
                    part.shift_remove(key);
                }
            }
        }
        return Ok(answer);
    }
    let mut step = 1;
    loop {
        let before = session.snapshot();
        let thread = thread(call, &session, &before.stop).await?;
        session.resume(command, json!({ "threadId": thread }), &call.cancel).await?;
        if step == count {
            let brief = if command == "continue" { BRIEF } else { STEPPING };
            return wait_longer(call, &session, before.news, until, brief).await;
        }
        let outcome = wait_brief(call, &session, before.news, until).await?;
        if let Some(answer) = outcome {
            return Ok(answer);
        }
        step += 1;
    }
}

/// Until when to wait for a program that runs already. One that was told to wait for input, and still does, seldom goes on
/// without: `debug_wait`, or a `timeoutMs`, waits for the other threads it may have, or for what a person types.
async fn patience(call: &Call, session: &Session, until: Instant) -> Result<Instant, Failure> {
    let session = session.root();
    if !session.memory.asked() || call.arguments.number("timeoutMs")?.is_some() {
        return Ok(until);
    }
    let read =
        session.ask("processReadOutput", json!({ "since": session.memory.cursor(), "maxBytes": 0 })).await;
    let waits = read.is_ok_and(|read| read["waitingForInput"] == true);
    Ok(if waits { until.min(Instant::now() + STILL) } else { until })
}

/// The stop or end the agent was not told of: it came after a wait in vain, or somebody else led to it. Running on from
/// there would skip what may be just what the agent waits for, so that is told, and nothing is run.
pub(super) async fn unseen(session: &Session) -> Option<Value> {
    let now = session.snapshot();
    let stands = matches!(now.state, State::Stopped | State::Exited);
    if !stands || !session.memory.holds_back(now.news) {
        return None;
    }
    let mut answer = report(session).await;
    answer["event"]["unseen"] = json!(true);
    Some(begin_with(UNSEEN, answer))
}

async fn thread(call: &Call, session: &Session, stop: &Value) -> Result<Value, Failure> {
    Ok(match named_thread(call, session).await? {
        Some(thread) => thread,
        None if stop["threadId"].is_null() => json!(0),
        None => stop["threadId"].clone(),
    })
}

/// Between two steps of one call: nothing is told when the step ended as a step.
async fn wait_brief(
    call: &Call,
    session: &Session,
    seen: u64,
    until: Instant,
) -> Result<Option<Value>, Failure> {
    let mut picture = session.picture();
    let news = picture.wait_for(|picture| picture.news > seen);
    if tokio::time::timeout_at(until.min(Instant::now() + STEPPING), news).await.is_err() {
        return wait_for_news(call, session, seen, until).await.map(Some);
    }
    let now = session.snapshot();
    let goes_on = now.state == State::Stopped && now.stop["reason"] == "step" && Instant::now() < until;
    Ok(if goes_on { None } else { Some(report(session).await) })
}

async fn pause(call: &Call) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let before = session.snapshot();
    // What is wanted is the case already.
    if before.state == State::Stopped {
        return Ok(report(&session).await);
    }
    let thread = thread(call, &session, &before.stop).await?;
    session.ask_or_cancel("pause", json!({ "threadId": thread }), DEADLINE, &call.cancel).await?;
    // Some engines pause a program that reads its input only once it has read it.
    let until = patience(call, &session, Instant::now() + limit(call)?).await?;
    wait_for_news(call, &session, before.news, until).await
}

async fn wait(call: &Call) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    // Somebody else may have resumed the program a moment ago. A session that is gone has told its end already.
    if let Err(failure) = session.sync().await {
        tracing::debug!(%failure, "the session is gone");
    }
    let now = session.snapshot();
    if now.state != State::Running {
        // Who knows this stop asks for one of the other programs.
        let news = call.bridge.relative_with_news(&session).filter(|_| session.memory.knows(now.news));
        let mut answer = match news {
            Some(found) => report_relative(call, &found).await,
            None => report(&session).await,
        };
        add_standing(&mut answer, call, &session);
        return Ok(answer);
    }
    wait_for_news(call, &session, now.news, Instant::now() + limit(call)?).await
}

async fn run_to(call: &Call) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let wish = session.wish(&call.arguments, &call.bridge.options.roots).await?;
    let until = Instant::now() + limit(call)?;
    if let Some(answer) = unseen(&session).await {
        return Ok(answer);
    }
    let before = session.snapshot();
    // Refused before anything is set.
    super::stops::stopped_thread(&session)?;
    let (file, id) = (wish.file.clone(), call.bridge.next_breakpoint());
    session.with_wishes(|wishes| wishes.add(wish, id, Purpose::RunTo));
    let resumed = async {
        session.send_breakpoints(&file).await?;
        let thread = thread(call, &session, &before.stop).await?;
        session.resume("continue", json!({ "threadId": thread }), &call.cancel).await
    };
    if let Err(failure) = resumed.await {
        session.drop_breakpoints(Purpose::RunTo).await?;
        return Err(failure);
    }
    wait_for_news(call, &session, before.news, until).await
}

/// Waits for a stop or end after `seen`, or for the program to ask for input or to serve.
pub(super) async fn wait_for_news(
    call: &Call,
    session: &Session,
    seen: u64,
    until: Instant,
) -> Result<Value, Failure> {
    wait_longer(call, session, seen, until, BRIEF).await
}

/// The same; whether the program asks for input counts only after this long. A step is followed for as long before the stop of
/// another program counts.
async fn wait_longer(
    call: &Call,
    session: &Session,
    seen: u64,
    until: Instant,
    brief: Duration,
) -> Result<Value, Failure> {
    let mut picture = session.picture();
    // A program that was started reads what the one that started it was given.
    let knows = session.root().memory.asked();
    let idles = async {
        if knows {
            return std::future::pending().await;
        }
        tokio::time::sleep(brief).await;
        idles(call, session.root(), until).await
    };
    let relative = async {
        if brief > BRIEF {
            tokio::time::sleep(brief).await;
        }
        call.bridge.stop_of_a_relative(session).await
    };
    let outcome = async {
        let news = async { picture.wait_for(|picture| picture.news > seen).await.is_ok() };
        tokio::select! {
            biased;
            () = call.cancel.cancelled() => Err(Failure::cancelled()),
            _ = news => Ok(Waited::News),
            found = relative => Ok(Waited::Relative(found)),
            waited = idles => waited,
            printed = prints(call, session, until) => printed.map(Waited::Printed),
            () = tokio::time::sleep_until(until) => Ok(Waited::InVain),
        }
    };
    let waited = call.progress.during("the program runs", None, outcome).await?;
    // A worker that ends is no news of the program that was launched: it goes on, and what it does next is.
    let ended = matches!(waited, Waited::News) && session.snapshot().state == State::Exited;
    if let Some(root) =
        session.kin.root.as_ref().filter(|_| ended && call.arguments.value("session").is_null())
    {
        let root = root.clone();
        return Box::pin(wait_longer(call, &root, root.memory.known(), until, BRIEF)).await;
    }
    let mut answer = told(session, &waited, knows, call).await;
    add_standing(&mut answer, call, session);
    Ok(answer)
}

/// Returns when the program has read all its input and waits for more, or has said that it serves. Who waits for something
/// that it prints is not told the latter.
async fn idles(call: &Call, session: &Session, until: Instant) -> Result<Waited, Failure> {
    let left = until.saturating_duration_since(Instant::now());
    let pattern = if call.arguments.text("waitFor")?.is_some() { NEVER } else { serving::LISTENS };
    let arguments = json!({ "since": session.memory.cursor(), "waitFor": pattern, "maxBytes": 0,
        "timeoutMs": u64::try_from(left.as_millis()).unwrap_or(u64::MAX) });
    match session.ask_or_cancel("processReadOutput", arguments, left + DEADLINE, &call.cancel).await {
        Ok(read) if !read["matched"].is_null() => {
            tokio::time::sleep(SETTLED).await;
            Ok(Waited::Serving)
        }
        Ok(read) if read["waitingForInput"] == true => Ok(Waited::Input { keys: read["takesKeys"] == true }),
        // Not ours to read, or over: only the events count.
        _ => std::future::pending().await,
    }
}

/// Returns what of the output matches the call's `waitFor`, if it has one.
async fn prints(call: &Call, session: &Session, until: Instant) -> Result<Value, Failure> {
    let session = session.root();
    let Some(pattern) = call.arguments.text("waitFor")? else { return std::future::pending().await };
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let arguments = json!({ "since": session.memory.cursor(), "waitFor": pattern, "maxBytes": 0,
            "timeoutMs": u64::try_from(left.as_millis()).unwrap_or(u64::MAX) });
        let read = session.ask_or_cancel("processReadOutput", arguments, left + DEADLINE, &call.cancel).await;
        match read {
            Ok(read) if !read["matched"].is_null() => return Ok(read["matched"].clone()),
            // It may print more after it has read something.
            Ok(read) if read["waitingForInput"] == true => tokio::time::sleep(BRIEF).await,
            Err(failure) if failure.code == ErrorCode::InvalidParameter => return Err(failure),
            // Not ours to read, or over: the events tell the rest.
            _ => return std::future::pending().await,
        }
    }
}

/// What a wait ended with, as the tools answer it.
async fn told(session: &Session, waited: &Waited, knows: bool, call: &Call) -> Value {
    let memory = &session.root().memory;
    match waited {
        Waited::News => report(session).await,
        Waited::Relative(found) => report_relative(call, found).await,
        Waited::Printed(matched) => {
            let mut answer = json!({ "state": "running", "event": { "type": "output", "matched": matched } });
            add_output(&mut answer["event"], output(session).await);
            answer
        }
        Waited::Serving => {
            let since = memory.cursor();
            let urls = serving::addresses(session, since.as_deref().unwrap_or(serving::START)).await;
            let mut answer = json!({ "state": "running", "event": { "type": "listening", "urls": urls } });
            session.memory.set_pending(true);
            add_output(&mut answer["event"], output(session).await);
            answer
        }
        Waited::Input { keys } => {
            let mut answer = json!({ "state": "running", "event": { "type": "waitingForInput" } });
            if *keys && let Some(screen) = session.root().screen().await {
                answer["event"]["screen"] = json!(screen);
            }
            session.memory.set_pending(true);
            memory.set_asked(true);
            add_output(&mut answer["event"], output(session).await);
            answer
        }
        Waited::InVain => {
            let now = session.snapshot();
            let mut answer = json!({ "state": now.state.as_str(), "pending": true });
            if knows {
                answer["waitingForInput"] =
                    json!("told before: write it with process_write_input; debug_wait waits on");
            }
            // Why it does not stop, if the engine knows: a step waits for a call to end, say.
            if !now.said.is_empty() {
                answer["message"] = json!(format!("the debug console said last: {}", now.said));
            }
            session.memory.set_pending(now.state == State::Running);
            add_output(&mut answer, output(session).await);
            answer
        }
    }
}

/// How a wait ended.
enum Waited {
    /// With a stop or the end of the program.
    News,
    /// With the stop of another program of the family.
    Relative(Arc<Session>),
    /// The program waits for input.
    Input { keys: bool },
    /// The program has said where it listens.
    Serving,
    /// The program printed what `waitFor` matches.
    Printed(Value),
    /// Its time is up.
    InVain,
}
