//! The first stop of a test run: whether it is where the test failed, and which parts of its answer are
//! details of the runner.
//!
//! Does not decide which tests failed: the framework reports that.

use std::sync::Arc;

use tandem_testing::run::options::KnownException;
use tandem_wire::Failure;

use super::run_answer::{RunAnswer, RunEvent};
use super::test_processes::{self, RunStart, leave};
use crate::call::ToolCall;
use crate::program_event::{StopEvent, StopKind, TestsOutcome, TopFrame, VariableChange};
use crate::repeat::Repeat;
use crate::session::AgentSession;
use crate::snapshot::ProgramState;

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
    answer: &mut RunAnswer,
) -> Result<FirstStop, Failure> {
    let Some(run) = session.test_run().filter(|run| !run.is_answered() && !answer.is_pending()) else {
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
            RunStart::Answer(instead) => *answer = *instead,
        }
        return Ok(FirstStop::Answer);
    }
    run.mark_answered();
    let current = call.bridge.current().filter(|current| current.root().id == session.id);
    let current = current.as_deref().unwrap_or(session);
    answer.describe_session(current);
    if let Some(event) = &mut answer.event {
        remove_runner_details(event, current);
    }
    let outcome = answer.exit().and_then(|exit| exit.outcome);
    let (passed, failed) = (outcome == Some(TestsOutcome::Passed), outcome == Some(TestsOutcome::Failed));
    let note = session.with_plan(|plan| plan.stops.as_ref().and_then(|stops| stops.note));
    let known = run.request.options.known.as_ref().filter(|_| run.repeat.is_none() || passed);
    match (known, note) {
        (Some(known), _) if passed => {
            let failed = known.message.lines().next().unwrap_or_default();
            answer.set_message(format!(
                "flaky: a run before failed with `{failed}` and stopped nowhere; this one passed"
            ));
        }
        (_, Some(note)) if failed => answer.set_message(format!("it stopped nowhere: {note}")),
        (Some(_), _) => answer.set_message(RUN_TWICE_NOTE.to_owned()),
        (None, _) => {}
    }
    Ok(FirstStop::Answer)
}

/// Whether a stop is at another exception than the one that is known.
fn is_another(answer: &RunAnswer, known: &KnownException) -> bool {
    answer.stop().is_some_and(|stop| {
        stop.kind == StopKind::Exception
            && !known.is(stop.exception_type(), stop.message().unwrap_or_default())
    })
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
fn remove_runner_details(event: &mut RunEvent, session: &AgentSession) {
    let has_own_folder = session.own_folder().is_some();
    // The process that runs the test is the runner's business; the answer names its session.
    if let Some(program) = event.program.as_mut().filter(|_| has_own_folder) {
        (program.session, program.program) = (None, None);
    }
    if let Some(stop) = event.stop_mut() {
        remove_runner_frames(stop, session, has_own_folder);
    }
    let begins = session.root().with_plan(|plan| plan.stops.as_ref().map_or(&[][..], |stops| stops.preamble));
    let message = event.stop().and_then(StopEvent::message).unwrap_or_default().to_owned();
    let noise = |line: &str| {
        let line = line.trim();
        line.is_empty() || begins.iter().any(|begin| line.starts_with(begin)) || message.contains(line)
    };
    let Some(output) = event.output.as_mut().filter(|_| !begins.is_empty()) else { return };
    for stream in [&mut output.stdout, &mut output.stderr] {
        let kept = stream
            .take()
            .map(|text| text.split_inclusive('\n').filter(|line| !noise(line)).collect::<String>());
        *stream = kept.filter(|kept| !kept.is_empty());
    }
}

/// Removes the fields of a stop that say nothing in a test: the runner handles every exception.
fn remove_runner_frames(stop: &mut StopEvent, session: &AgentSession, has_own_folder: bool) {
    if let Some(exception) = &mut stop.exception {
        // Python's passes it to the debugger as unhandled.
        if exception.is_unhandled == Some(false) || session.engine == "debugpy" {
            exception.is_unhandled = None;
        }
    }
    // An assertion's own frame says no more than its message.
    let thrown = stop.exception_type();
    if has_own_folder || thrown.contains("Assert") || thrown.starts_with("Xunit.Sdk.") {
        stop.frame.top_frame = None;
    }
    if let Some(locals) = stop.frame.locals.as_mut().filter(|_| has_own_folder) {
        let is_imported = |row: &VariableChange| row.name.starts_with(IMPORT_VARIABLE_PREFIX);
        locals.retain(|row| !is_imported(row) && !is_code(&row.value));
    }
}

/// The exception at a stop that came too late: the frames that threw it have ended, and a framework throws it
/// again. A second run with this exception stops where it is thrown.
fn rethrown_exception(answer: &RunAnswer) -> Option<KnownException> {
    let stop = answer.stop()?;
    let exception = stop.exception.as_ref().filter(|exception| exception.is_user_unhandled)?;
    let library = stop.file().is_none_or(|file| !std::path::Path::new(file).is_file());
    let rethrown = match &stop.frame.top_frame {
        Some(TopFrame::Other { function, .. }) => function.contains(RETHROW),
        _ => false,
    };
    (library || rethrown).then(|| KnownException {
        kind: exception.exception_type.clone(),
        message: stop.message().unwrap_or_default().to_owned(),
    })
}

/// The failure of a test that failed without a stop, because the framework catches its exception in code
/// that counts as the user's.
fn caught_exception(answer: &RunAnswer, session: &AgentSession) -> Option<KnownException> {
    let retries = session.with_plan(|plan| plan.stops.as_ref().is_some_and(|stops| stops.retries));
    let exit = answer.exit().filter(|_| retries && answer.state == Some(ProgramState::Exited))?;
    let has_failed = exit.outcome == Some(TestsOutcome::Failed);
    let tests = exit.tests.as_ref().filter(|_| has_failed)?;
    let message = tests.failures.first()?.message.clone()?;
    Some(KnownException { kind: String::new(), message })
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
