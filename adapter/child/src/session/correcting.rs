//! Attaching to a debugger inside a program that stops the program when a client connects, reports that
//! several times, and has to be corrected before it is configured
//! ([`correction`](super::super::profile::Profile::correction)). It is sent `launch`, because its `attach`
//! stops the program once more, and no `configurationDone`, which would resume the program. The client gets
//! one stop, after it has configured.
//!
//! A debugger that only resumes the program wrongly is corrected before the first time.
//!
//! If the program does not stop in time (it is in native code that no signal interrupts), breakpoints are
//! refused until it has.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tandem_wire::command::{Execution, execution};
use tandem_wire::types::{
    self, EvaluateResponseBody, StackTraceResponseBody, StoppedEventBody, ThreadRequestArguments,
};
use tokio_util::sync::CancellationToken;

use super::super::state::{ChildEvent, ChildState, Correction};
use super::super::translate;
use super::AdapterSession;

/// How long a program may take to stop after the connection.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);
/// The same before a breakpoint is refused.
const RETRY_TIMEOUT: Duration = Duration::from_millis(500);
/// The thread in which signals are handled.
const MAIN_THREAD: i64 = 1;

impl AdapterSession {
    /// Corrects the debugger in a program that is attached to, if it needs that before it is configured;
    /// returns whether it does.
    pub(super) async fn correct_attached(self: &Arc<Self>) -> bool {
        let capabilities = self.capabilities();
        let ours = self.live().as_ref().is_none_or(|live| live.plan.launched);
        let Some(correction) = self.profile.correction(&capabilities).filter(|_| !ours) else { return false };
        if correction.refusal.is_none() {
            self.learn(|known| known.correction = Correction::DueBeforeResuming);
            return false;
        }
        self.learn(|known| known.correction = Correction::Due);
        if self.correct(MAIN_THREAD, STOP_TIMEOUT).await {
            self.handle(ChildEvent::StoppedAtConnection);
        }
        true
    }

    /// Reports the stop at the connection; returns whether the program had one, or will, so that it
    /// must not be resumed now.
    pub(super) fn stays_stopped(self: &Arc<Self>) -> bool {
        let stops =
            self.with_knowledge(|known| matches!(known.correction, Correction::Due | Correction::Made));
        if !stops {
            return false;
        }
        self.handle(ChildEvent::Configured);
        if self.state(ChildState::is_stopped_at_connection) {
            let stop = StoppedEventBody {
                reason: "pause".into(),
                thread_id: Some(MAIN_THREAD),
                all_threads_stopped: Some(true),
                ..StoppedEventBody::default()
            };
            self.handle(ChildEvent::Stopped { stop, failed: None });
        }
        true
    }

    /// The answer to a request for breakpoints or filters of exceptions, which an uncorrected debugger would
    /// not remove again, unless it can be corrected now.
    pub(super) async fn refusal_of_uncorrected(
        self: &Arc<Self>,
        command: &str,
        arguments: &Value,
    ) -> Option<Value> {
        if self.with_knowledge(|known| known.correction != Correction::Due) {
            return None;
        }
        let names: &[&str] = match command {
            "setBreakpoints" => &["breakpoints"],
            "setExceptionBreakpoints" => &["filters", "filterOptions"],
            _ => return None,
        };
        let count: usize = names.iter().map(|name| arguments[*name].as_array().map_or(0, Vec::len)).sum();
        let correction = self.profile.correction(&self.capabilities())?;
        if count > 0 && self.correct(MAIN_THREAD, RETRY_TIMEOUT).await {
            return None;
        }
        Some(translate::refuse_all(count, correction.refusal?))
    }

    /// Corrects a debugger that resumes the program wrongly before the first time. If that fails, the program
    /// stops at a wrong place at worst, and the next request tries again.
    pub(super) async fn correct_before_resuming(self: &Arc<Self>, command: &str, arguments: &Value) {
        let resumes = matches!(execution(command), Execution::Step | Execution::Continue);
        if !resumes || self.with_knowledge(|known| known.correction != Correction::DueBeforeResuming) {
            return;
        }
        let ThreadRequestArguments { thread_id } = types::read(arguments);
        if !self.correct(thread_id.unwrap_or(MAIN_THREAD), RETRY_TIMEOUT).await {
            tracing::debug!(command, "the debugger in the program could not be corrected before it resumes");
        }
    }

    /// Evaluates the correction in the first frame of a thread; returns whether that worked.
    async fn correct(self: &Arc<Self>, thread: i64, limit: Duration) -> bool {
        let Some(correction) = self.profile.correction(&self.capabilities()) else { return true };
        let never = CancellationToken::new();
        let correcting = async {
            // It is answered when the program is stopped.
            let stack = self.ask("stackTrace", types::of_thread(Some(thread)), &never).await.ok()?;
            let stack: StackTraceResponseBody = types::read(&stack);
            // A frame of native code cannot evaluate.
            let arguments = types::watch(correction.expression, Some(stack.stack_frames.last()?.id));
            let answer = self.ask("evaluate", arguments, &never).await.ok()?;
            let EvaluateResponseBody { result, .. } = types::read(&answer);
            // The debugger already waits for the next request, in its old way.
            self.ask("threads", Value::Null, &never).await.ok()?;
            let version = result.trim_matches('"');
            version.starts_with(|first: char| first.is_ascii_digit()).then(|| version.to_owned())
        };
        let Ok(Some(version)) = tokio::time::timeout(limit, correcting).await else { return false };
        tracing::debug!(version, "corrected the debugger in the program");
        self.learn(|known| known.correction = Correction::Made);
        true
    }
}
