//! The first stop of a test run: whether it is where the test failed, and which parts of its answer are
//! details of the runner.
//!
//! Does not decide which tests failed: the framework reports that.

use std::sync::Arc;

use dap_wire::Failure;
use serde_json::{Value, json};
use test_frameworks::run::KnownException;

use super::session_summary::describe;
use super::test_processes::{self, RunStart, leave};
use crate::call::ToolCall;
use crate::repeat::Repeat;
use crate::session::AgentSession;

/// .NET method that rethrows an exception after its frames have ended.
const RETHROW: &str = "ExceptionDispatchInfo.Throw";
/// Prefix of the variables that a JavaScript compiler adds for imports.
const IMPORT_VARIABLE_PREFIX: &str = "__vite_ssr_";
/// Exceptions that are passed on the way to the one that is known.
const MAX_PASSED: u64 = 1000;
/// Note in the answer when the tests were run twice.
const RUN_TWICE_NOTE: &str = "run twice: the first run did not stop where it failed";

/// Next step after the first event of a run.
pub(super) enum FirstStop {
    Answer,
    /// The wait continues in this session, after these news.
    Wait(Arc<AgentSession>, u64),
}

/// Handles the first event of a test run. If the stop came too late, or a test failed without a stop,
/// the tests run once more and stop where that exception is thrown. `session` is that of the process
/// that the run has started.
///
/// # Errors
/// When a process cannot be started, or resumed.
pub(super) async fn handle_first_event(
    call: &ToolCall,
    session: &AgentSession,
    answer: &mut Value,
) -> Result<FirstStop, Failure> {
    let Some(run) = session.test_run().filter(|run| !run.is_answered() && answer["pending"] != true) else {
        return Ok(FirstStop::Answer);
    };
    let stopped = call.bridge.current();
    if let Some(known) = &run.request.options.known {
        // The stop may be in a program that the runner started.
        let at = stopped.filter(|at| at.root().id == session.id);
        if let Some(at) =
            at.filter(|_| is_another(answer, known) && run.count_passed_exception() <= MAX_PASSED)
        {
            let before = at.snapshot();
            let thread = before.stop.thread_id.unwrap_or_default();
            at.control("continue", thread, &call.cancel).await?;
            return Ok(FirstStop::Wait(at, before.news));
        }
    } else if let Some(known) = rethrown_exception(answer).or_else(|| caught_exception(answer, session)) {
        leave(call, session).await;
        let again = run.again(Some(known), run.repeat.map(Repeat::with_unseen_failure));
        match test_processes::begin(call, again, test_processes::results_deadline()).await? {
            RunStart::Session(session) => return Ok(FirstStop::Wait(session, 0)),
            RunStart::Answer(instead) => *answer = instead,
        }
        return Ok(FirstStop::Answer);
    }
    run.mark_answered();
    let current = call.bridge.current().filter(|current| current.root().id == session.id);
    let current = current.as_deref().unwrap_or(session);
    describe(answer, current);
    remove_runner_details(&mut answer["event"], current);
    let passed = answer["event"]["outcome"] == "passed";
    let failed = answer["event"]["outcome"] == "failed";
    let note = session.with_plan(|plan| plan.stops.as_ref().and_then(|stops| stops.note));
    let known = run.request.options.known.as_ref().filter(|_| run.repeat.is_none() || passed);
    match (known, note) {
        (Some(known), _) if passed => {
            let failed = known.message.lines().next().unwrap_or_default();
            answer["message"] = json!(format!(
                "flaky: a run before failed with `{failed}` and stopped nowhere; this one passed"
            ));
        }
        (_, Some(note)) if failed => answer["message"] = json!(format!("it stopped nowhere: {note}")),
        (Some(_), _) => answer["message"] = json!(RUN_TWICE_NOTE),
        (None, _) => {}
    }
    Ok(FirstStop::Answer)
}

/// Whether a stop is at another exception than the one that is known.
fn is_another(answer: &Value, known: &KnownException) -> bool {
    let event = &answer["event"];
    let text = |key: &str| event[key].as_str().unwrap_or_default();
    event["type"] == "exception" && !known.is(text("exceptionType"), text("message"))
}

/// Whether a JavaScript value is a function or a class: every test sees those of its module,
/// and they explain nothing.
fn is_code(value: &str) -> bool {
    let parameters = |text: &str| {
        text.chars().all(|letter| letter.is_alphanumeric() || "_$, (){}=.".contains(letter))
            && !text.is_empty()
    };
    ["ƒ ", "async ƒ", "class "].iter().any(|begin| value.starts_with(begin))
        || value.split_once("=>").is_some_and(|(before, _)| parameters(before))
}

/// Removes the runner's own output, fields that repeat the message of the stop, and the framework's frames.
fn remove_runner_details(event: &mut Value, session: &AgentSession) {
    // The test runner handles every exception of a test; Python's passes it to the debugger as unhandled.
    if (event["isUnhandled"] == false || session.engine == "debugpy")
        && let Some(event) = event.as_object_mut()
    {
        event.shift_remove("isUnhandled");
    }
    // An assertion's own frame says no more than its message.
    let thrown = event["exceptionType"].as_str().unwrap_or_default();
    if (thrown.contains("Assert") || thrown.starts_with("Xunit.Sdk."))
        && let Some(event) = event.as_object_mut()
    {
        event.shift_remove("topFrame");
    }
    if session.own_folder().is_some()
        && let Some(event) = event.as_object_mut()
    {
        event.shift_remove("topFrame");
        // The process that runs the test is the runner's business; the answer names its session.
        for name in ["session", "program"] {
            event.shift_remove(name);
        }
        if let Some(locals) = event.get_mut("locals").and_then(Value::as_array_mut) {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            locals.retain(|row| {
                !text(&row["name"]).starts_with(IMPORT_VARIABLE_PREFIX) && !is_code(&text(&row["value"]))
            });
        }
    }
    let begins = session.root().with_plan(|plan| plan.stops.as_ref().map_or(&[][..], |stops| stops.preamble));
    let message = event["message"].as_str().unwrap_or_default().to_owned();
    let noise = |line: &str| {
        let line = line.trim();
        line.is_empty() || begins.iter().any(|begin| line.starts_with(begin)) || message.contains(line)
    };
    if event["output"] == json!({})
        && let Some(event) = event.as_object_mut()
    {
        event.shift_remove("output");
    }
    for stream in ["stdout", "stderr"] {
        let Some(text) = event["output"][stream].as_str().filter(|_| !begins.is_empty()) else { continue };
        let kept = text.split_inclusive('\n').filter(|line| !noise(line)).collect::<String>();
        if !kept.is_empty() {
            event["output"][stream] = json!(kept);
        } else if let Some(output) = event["output"].as_object_mut() {
            output.shift_remove(stream);
        }
    }
}

/// The exception at a stop that came too late: the frames that threw it have ended, and a framework throws it
/// again. A second run with this exception stops where it is thrown.
fn rethrown_exception(answer: &Value) -> Option<KnownException> {
    let event = &answer["event"];
    let library = event["file"].as_str().is_none_or(|file| !std::path::Path::new(file).is_file());
    let rethrown = event["topFrame"]["function"].as_str().is_some_and(|name| name.contains(RETHROW));
    let late = (library || rethrown) && event["isUserUnhandled"] == true;
    let kind = event["exceptionType"].as_str().filter(|_| late)?;
    Some(KnownException {
        kind: kind.to_owned(),
        message: event["message"].as_str().unwrap_or_default().to_owned(),
    })
}

/// The failure of a test that failed without a stop, because the framework catches its exception in code
/// that counts as the user's.
fn caught_exception(answer: &Value, session: &AgentSession) -> Option<KnownException> {
    let event = &answer["event"];
    let retries = session.with_plan(|plan| plan.stops.as_ref().is_some_and(|stops| stops.retries));
    let failed = retries && answer["state"] == "exited" && event["outcome"] == "failed";
    let message = event["tests"]["failures"][0]["message"].as_str().filter(|_| failed)?;
    Some(KnownException { kind: String::new(), message: message.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_javascript_are_distinguished_from_values() {
        for code in [
            "ƒ price(name) {\n}",
            "time => new Promise(done => 1)",
            "(a, b) => a",
            "async (x) => x",
            "class A {}",
        ] {
            assert!(is_code(code), "{code}");
        }
        for value in ["3", "'a => b'", "{total: 3}", "[1, 2]", "undefined", ""] {
            assert!(!is_code(value), "{value}");
        }
    }
}
