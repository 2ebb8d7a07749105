//! Calls that could not be ended: .NET 5 and later cannot wake a waiting or sleeping thread, so a call that
//! blocks stays on its thread. On .NET Core, a call that waits repeatedly stays as well, because aborting it
//! is unsafe.
//!
//! The session continues with it. Tandem hides the frames of such a call, nothing in it stops the program,
//! and the thread's own frames stay readable. When the program resumes, so does the call. As soon as its wait
//! is over, the runtime aborts it; on .NET Core it ends by itself. Then the thread is back at its stop, and a
//! step that was requested in the meantime starts there.

use cordebug::callback::Callback;
use cordebug::thread::Thread;
use serde_json::Value;
use tandem_wire::{ErrorCode, Failure};

use crate::managed_threads::{ManagedThreads, StackRange};
use crate::outbox::Outbox;

struct AbandonedCall {
    thread: u32,
    what: String,
}

/// The calls that are still on their threads.
#[derive(Default)]
pub(crate) struct StuckCalls {
    calls: Vec<AbandonedCall>,
    /// A step that waits for such a call to end: its thread, command and arguments.
    step: Option<(u32, String, Value)>,
    /// The thread of the step whose turn has come.
    due: bool,
}

impl StuckCalls {
    fn abandoned_on(&self, thread: u32) -> Option<&AbandonedCall> {
        self.calls.iter().find(|left| left.thread == thread)
    }

    /// Whether such a call is still on a thread.
    pub(crate) fn holds(&self, thread: u32) -> bool {
        self.abandoned_on(thread).is_some()
    }

    /// Descriptions of the calls, for users.
    pub(crate) fn describe(&self) -> String {
        self.calls.iter().map(|left| format!("`{}`", left.what)).collect::<Vec<_>>().join(", ")
    }

    /// Drops the waiting step, because a client requested something else.
    pub(crate) fn forget_step(&mut self) {
        self.step = None;
    }

    /// Why no code can be run on a thread.
    pub(crate) fn refusal(&self, thread: u32, expression: &str) -> Option<Failure> {
        let what = &self.abandoned_on(thread)?.what;
        Some(
            Failure::new(
                ErrorCode::EvaluationFailed,
                format!(
                    "`{expression}` cannot run: thread {thread} is still in `{what}`, which could not be \
                    aborted"
                ),
            )
            .hint(
                "variables and fields can be read; after the program is resumed, the call ends when its \
                wait ends",
            ),
        )
    }

    /// Leaves a call on its thread, above this frame. The program is stopped.
    pub(crate) fn leave(&mut self, threads: &mut ManagedThreads, thread: u32, below: StackRange, what: &str) {
        threads.leave_call(thread, below);
        self.calls.push(AbandonedCall { thread, what: what.to_owned() });
    }

    fn end(&mut self, threads: &mut ManagedThreads, thread: u32) {
        threads.forget_call(thread);
        self.calls.retain(|left| left.thread != thread);
    }

    /// Whether a callback comes from such a call, and must not reach clients. Also
    /// records the end of the call.
    pub(crate) fn of_abandoned_call(&mut self, threads: &mut ManagedThreads, callback: &Callback) -> bool {
        let on = |thread: &Thread| thread.id().ok().filter(|id| self.holds(*id));
        match callback {
            Callback::EvalComplete { thread, .. } | Callback::EvalException { thread, .. } => {
                let Some(id) = on(thread) else { return false };
                self.end(threads, id);
                self.due = self.step.as_ref().is_some_and(|(of, ..)| *of == id);
                true
            }
            Callback::ExitThread { thread } => {
                if let Some(id) = on(thread) {
                    self.end(threads, id);
                }
                false
            }
            Callback::Breakpoint { thread, .. }
            | Callback::StepComplete { thread, .. }
            | Callback::Break { thread }
            | Callback::Exception { thread, .. } => on(thread).is_some(),
            _ => false,
        }
    }

    /// Postpones a step on a thread until such a call has ended.
    pub(crate) fn step_when_call_ends(
        &mut self,
        outbox: &Outbox,
        thread: u32,
        command: &str,
        arguments: &Value,
    ) {
        let what = self.abandoned_on(thread).map(|left| left.what.clone()).unwrap_or_default();
        outbox.note(&format!(
            "Thread {thread} is still in `{what}`, which an evaluation began and which could not be \
                aborted. The step \
             is made when that ends; `pause` stops before."
        ));
        self.step = Some((thread, command.to_owned(), arguments.clone()));
    }

    /// The step whose turn has come: its thread, command and arguments.
    pub(crate) fn take_due_step(&mut self) -> Option<(u32, String, Value)> {
        std::mem::take(&mut self.due).then(|| self.step.take()).flatten()
    }
}
