//! What the runtime tells: each callback is answered by exactly one resume, now or when the clients let the program run.

use std::sync::mpsc::Receiver;

use cordebug::callback::Callback;
use cordebug::frame::Breakpoint;
use cordebug::thread::Thread;
use serde_json::{Value, json};

use super::breakpoints::Verdict;
use super::session::{Input, Run, Session};
use crate::engine::hit_condition::CONDITION_FAILED;

impl Session {
    pub(super) fn called_back(&mut self, callback: Callback, inputs: &Receiver<Input>) {
        if matches!(callback, Callback::ExitProcess) {
            return self.process_ended();
        }
        self.threads.forget_list();
        match self.run {
            Run::Over => return,
            Run::Running => {}
            // The program stands: this happened before it did, and is dealt with when it goes on.
            Run::None | Run::Held | Run::Stopped { .. } => return self.deferred.push_back(callback),
        }
        if self.of_left_call(&callback) {
            if self.make_due_step(inputs) {
                return;
            }
        } else {
            self.deal_with(callback, inputs);
        }
        if self.run == Run::Running
            && let Some(process) = &self.process
            && let Err(error) = process.resume()
        {
            tracing::warn!(%error, "the program could not go on after a callback");
        }
    }

    /// Acts on one callback; leaves `run` as it is when the program shall go on.
    fn deal_with(&mut self, callback: Callback, inputs: &Receiver<Input>) {
        // It may have been deferred, and a list been made since.
        self.threads.forget_list();
        match callback {
            Callback::Breakpoint { thread, breakpoint } => self.hit(&thread, &breakpoint, inputs),
            Callback::StepComplete { thread, stepper, reason } => {
                self.step_completed(&thread, &stepper, reason, inputs);
            }
            // The step was asked for where it calls this: that is no news.
            Callback::Break { thread } if self.steps_over_here(&thread) => {}
            Callback::Break { thread } => {
                self.stop_at(&thread, "breakpoint", json!({ "description": "Debugger.Break()" }))
            }
            Callback::Exception { thread, frame, il, kind } => {
                self.thrown(&thread, frame.as_ref().map(|frame| (frame, il)), kind);
            }
            Callback::CreateThread { thread } => self.thread_event(&thread, "started"),
            Callback::ExitThread { thread } => self.thread_event(&thread, "exited"),
            Callback::LoadModule { module } => self.module_loaded(module),
            Callback::UnloadModule { module } => self.module_unloaded(&module),
            Callback::UpdateModuleSymbols { module, symbols } => self.symbols_given(&module, &symbols),
            Callback::LogMessage { category, message } => {
                let prefix = if category.is_empty() { String::new() } else { format!("{category}: ") };
                self.tell("output", json!({ "category": "console", "output": format!("{prefix}{message}") }));
            }
            Callback::DebuggerError { hresult } => {
                self.note(&format!("The runtime's debugging services report an error: 0x{hresult:08x}"));
            }
            Callback::EvalComplete { .. } | Callback::EvalException { .. } => {}
            Callback::ExitProcess | Callback::Other(_) => {}
        }
    }

    /// What must be noticed even while code of the program runs for an evaluation.
    pub(super) fn bookkeeping(&mut self, callback: Callback) {
        self.threads.forget_list();
        match callback {
            Callback::CreateThread { thread } => self.thread_event(&thread, "started"),
            Callback::ExitThread { thread } => self.thread_event(&thread, "exited"),
            Callback::LoadModule { module } => self.module_loaded(module),
            Callback::UpdateModuleSymbols { module, symbols } => self.symbols_given(&module, &symbols),
            _ => {}
        }
    }

    fn thread_event(&mut self, thread: &Thread, reason: &str) {
        if let Ok(id) = thread.id() {
            if reason == "exited" {
                self.threads.known.borrow_mut().remove(&id);
            } else {
                self.beginners.has_begun(id);
            }
            self.tell("thread", json!({ "reason": reason, "threadId": id }));
        }
    }

    pub(super) fn stop_at(&mut self, thread: &Thread, reason: &str, more: Value) {
        self.stopped(reason, thread.id().unwrap_or(0), more);
    }

    fn hit(&mut self, thread: &Thread, breakpoint: &Breakpoint, inputs: &Receiver<Input>) {
        if self.step_breakpoint(thread, breakpoint, inputs) || self.call_returned(thread, breakpoint) {
            return;
        }
        if self.breakpoints.take_entry(breakpoint) {
            return self.stop_at(thread, "entry", Value::Null);
        }
        if self.is_heard(breakpoint) {
            return self.about_to_be_heard(thread);
        }
        if self.breakpoints.asked.as_ref().is_some_and(|own| own.is(breakpoint)) {
            return self.asked_to_stop(thread);
        }
        let id = thread.id().unwrap_or(0);
        match self.judge(id, breakpoint, inputs) {
            // What a condition ran had the other threads go on.
            Verdict::GoOn => self.hold_others_again(),
            Verdict::Stop { hit, failed } => {
                let mut more = json!({ "hitBreakpointIds": hit });
                if !failed.is_empty() {
                    more["description"] = json!(CONDITION_FAILED);
                    more["text"] = json!(failed.join("\n"));
                }
                self.stopped("breakpoint", id, more);
            }
        }
    }

    pub(super) fn process_ended(&mut self) {
        if let Some(debugger) = self.debugger.take() {
            self.references.clear();
            self.step = None;
            self.deferred.clear();
            self.process = None;
            if let Err(error) = debugger.terminate() {
                tracing::debug!(%error, "the debugging library did not end in order");
            }
        }
        // A program we started is over when its exit code is known.
        if self.child.is_none() {
            self.end(None);
        }
    }
}
