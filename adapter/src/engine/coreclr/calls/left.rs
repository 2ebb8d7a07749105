//! Calls that nothing could end: .NET 5 and later cannot wake a thread that waits, for a lock or asleep, so a call that
//! blocks stays on its thread. On .NET Core one that waits again and again stays, which it is not safe to abort.
//!
//! The session lives with it. The frames of such a call are not shown, nothing of it stops the program, and the thread's own
//! frames stay readable. When the program goes on, so does the call; as soon as its wait is over the runtime aborts it, or, on .NET
//! Core, when it ends by itself; and the thread stands again where it stood at the stop: a step that was asked for meanwhile is made from there.

use cordebug::callback::Callback;
use cordebug::frame::Frame;
use cordebug::thread::Thread;
use dap_wire::{ErrorCode, Failure};
use serde_json::Value;

use crate::engine::coreclr::session::{Run, Session};
use std::sync::mpsc::Receiver;

use crate::engine::coreclr::session::Input;

/// Lowest and highest address of a frame.
type Range = (u64, u64);

struct Left {
    thread: u32,
    /// Of the frame that was on top before the call.
    below: Range,
    what: String,
}

/// The calls that are still on their threads.
#[derive(Default)]
pub(crate) struct LeftCalls {
    calls: Vec<Left>,
    /// A step that waits for such a call to end: its thread, command and arguments.
    step: Option<(u32, String, Value)>,
    /// The thread of the step whose turn has come.
    due: bool,
}

impl LeftCalls {
    fn on(&self, thread: u32) -> Option<&Left> {
        self.calls.iter().find(|left| left.thread == thread)
    }

    /// Whether a thread is still in such a call.
    pub(crate) fn holds(&self, thread: u32) -> bool {
        self.on(thread).is_some()
    }

    /// What they are, for people.
    pub(crate) fn named(&self) -> String {
        self.calls.iter().map(|left| format!("`{}`", left.what)).collect::<Vec<_>>().join(", ")
    }

    /// Somebody wants something else now.
    pub(crate) fn forget_step(&mut self) {
        self.step = None;
    }

    /// Why no code can be run on a thread.
    pub(crate) fn refusal(&self, thread: u32, wanted: &str) -> Option<Failure> {
        let what = &self.on(thread)?.what;
        Some(
            Failure::new(
                ErrorCode::EvaluationFailed,
                format!("`{wanted}` cannot run: thread {thread} is still in `{what}`, which could not be aborted"),
            )
            .hint("variables and fields can be read; the call ends when what it waits for comes, after the program goes on"),
        )
    }
}

impl Session {
    /// A call stays where it is. The program stands.
    pub(super) fn leave(&mut self, thread: u32, below: Range, what: &str) {
        self.left.calls.push(Left { thread, below, what: what.to_owned() });
    }

    /// The frame a thread's own stack begins with, where there are others above it.
    pub(crate) fn own_top(&self, thread: u32) -> Option<Range> {
        self.left.on(thread).map(|left| left.below).or_else(|| self.thrown_below(thread))
    }

    /// Frames of a call that could not be ended are not the program's own: they are left out. So are those of a runtime that is
    /// about to tell handlers of an exception.
    pub(crate) fn without_left(&self, thread: u32, frames: Vec<Frame>) -> Vec<Frame> {
        let Some(top) = self.own_top(thread) else { return frames };
        match frames.iter().position(|frame| frame.stack_range() == Ok(top)) {
            Some(at) => frames.into_iter().skip(at).collect(),
            None => frames,
        }
    }

    /// Whether a callback is about code that runs in such a call, which is not the clients'. Its end is noted here.
    pub(crate) fn of_left_call(&mut self, callback: &Callback) -> bool {
        let on = |thread: &Thread| thread.id().ok().filter(|id| self.left.holds(*id));
        match callback {
            Callback::EvalComplete { thread, .. } | Callback::EvalException { thread, .. } => {
                let Some(id) = on(thread) else { return false };
                self.left.calls.retain(|left| left.thread != id);
                self.left.due = self.left.step.as_ref().is_some_and(|(of, ..)| *of == id);
                true
            }
            Callback::ExitThread { thread } => {
                if let Some(id) = on(thread) {
                    self.left.calls.retain(|left| left.thread != id);
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

    /// A step on a thread that must end such a call first.
    pub(crate) fn step_when_call_ends(&mut self, thread: u32, command: &str, arguments: &Value) {
        let what = self.left.on(thread).map(|left| left.what.clone()).unwrap_or_default();
        self.note(&format!(
            "Thread {thread} is still in `{what}`, which an evaluation began and which could not be aborted. The step \
             is made when that ends; `pause` stops before."
        ));
        self.left.step = Some((thread, command.to_owned(), arguments.clone()));
    }

    /// Makes the step whose turn has come; the program stands for a callback. Says whether there was one.
    pub(crate) fn make_due_step(&mut self, inputs: &Receiver<Input>) -> bool {
        if !std::mem::take(&mut self.left.due) {
            return false;
        }
        let Some((thread, command, arguments)) = self.left.step.take() else { return false };
        self.run = Run::Stopped { thread };
        if let Err(failure) = self.step(&command, &arguments, inputs) {
            self.note(&format!("The step could not be made: {failure}"));
            self.stopped("step", thread, Value::Null);
        }
        true
    }
}
