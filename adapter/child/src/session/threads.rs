//! Threads that the adapter has reported. A step of an unknown thread is refused here: debugpy's request
//! thread crashes on thread 0, and the session with it. Other adapters answer such a step with success and do
//! nothing. A step that the adapter cannot make because it keeps another one is refused, too. Steps that it
//! would complete in a `continue` are discarded.
//!
//! Not here: the list of known threads (`state::knowledge`).

use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::command::{Execution, execution};
use tandem_wire::types::{self, StackTraceResponseBody, ThreadRequestArguments};
use tokio_util::sync::CancellationToken;

use super::{AdapterSession, console};

impl AdapterSession {
    /// Whether the adapter keeps an interrupted step of the thread that this request steps, so that
    /// `continue` does what it asks for.
    ///
    /// # Errors
    /// When it keeps the step of another thread, and cannot step this one.
    pub(super) fn resumes_kept_step(&self, command: &str, arguments: &Value) -> Result<bool, Failure> {
        let ThreadRequestArguments { thread_id } = types::read(arguments);
        let thread = thread_id.filter(|_| execution(command) == Execution::Step);
        let stepping = self.with_knowledge(|known| known.step.interrupted());
        let (Some(thread), Some(stepping)) = (thread, stepping) else { return Ok(false) };
        match self.profile.refusal_of_step(thread, stepping) {
            Some(failure) if thread != stepping => Err(failure),
            refusal => Ok(refusal.is_some()),
        }
    }

    /// Has the adapter forget the steps that stops have interrupted, before the program resumes without one.
    pub(super) async fn discard_kept_steps(&self, cancel: &CancellationToken) {
        let Some(console) = self.profile.console() else { return };
        for thread in self.learn(|known| known.step.take_interrupted()) {
            // A thread that has ended has no frame and no step.
            let stack = self.ask("stackTrace", types::top_frames(Some(thread), 1), cancel).await;
            let stack: StackTraceResponseBody = types::read(&stack.unwrap_or_default());
            let Some(frame) = stack.stack_frames.first() else { continue };
            let discarded = console::run(self, console, console.discard_of_steps(), Some(frame.id), cancel);
            if let Err(failure) = discarded.await {
                tracing::debug!(%failure, thread, "the adapter may complete an interrupted step");
            }
        }
    }

    /// The thread that is to go somewhere and that the adapter has not named yet.
    pub(super) fn unknown_thread(&self, command: &str, arguments: &Value) -> Option<i64> {
        let moves = matches!(execution(command), Execution::Step | Execution::Move);
        let ThreadRequestArguments { thread_id } = types::read(arguments);
        thread_id.filter(|_| moves).filter(|id| !self.with_knowledge(|known| known.threads.have(*id)))
    }

    /// Requests the adapter's threads if it has not named this one yet: not all adapters report
    /// when a thread starts.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` if the adapter does not list the thread.
    pub(super) async fn verify_thread(&self, id: i64, cancel: &CancellationToken) -> Result<(), Failure> {
        // Without a list from the adapter, the thread may exist.
        let Ok(answer) = self.ask("threads", Value::Null, cancel).await else { return Ok(()) };
        self.learn(|known| known.threads.learn_all(&answer));
        if self.with_knowledge(|known| known.threads.have(id)) {
            return Ok(());
        }
        Err(Failure::invalid(format!("there is no thread {id}")).hint("`threads` lists them"))
    }
}
