//! Runtime callbacks: each is answered by exactly one resume, now or when the clients resume the program.
//!
//! Not here: methods that a library calls back, in a step into a statement (`stepping::callbacks`).

use cordebug::callback::Callback;
use cordebug::frame::RuntimeBreakpoint;
use cordebug::thread::Thread;
use tandem_wire::types::{OutputEventBody, StoppedEventBody, ThreadEventBody};

use super::breakpoint_hits::HitOutcome;
use super::debuggee::RunState;
use super::session::ClrSession;
use tandem_engine::hit_condition::CONDITION_FAILED;

impl ClrSession {
    pub(super) fn on_callback(&mut self, callback: Callback) {
        if matches!(callback, Callback::ExitProcess) {
            return self.on_process_ended();
        }
        self.program.debuggee.threads.forget_list();
        match self.program.debuggee.run {
            RunState::Over => return,
            RunState::Running => {}
            // The program is stopped: this happened before the stop, and is handled when the program resumes.
            RunState::None | RunState::Held | RunState::Stopped { .. } => {
                return self.hub.inbox.defer(callback);
            }
        }
        if self.calls.stuck.of_abandoned_call(&mut self.program.debuggee.threads, &callback) {
            if self.make_due_step() {
                return;
            }
        } else {
            self.handle_callback(callback);
        }
        if self.program.debuggee.run == RunState::Running
            && let Some(process) = &self.program.debuggee.process
            && let Err(error) = process.resume()
        {
            tracing::warn!(%error, "the program could not be resumed after a callback");
        }
    }

    /// Makes the step whose turn has come, at a callback. Returns whether there was one.
    fn make_due_step(&mut self) -> bool {
        let Some((thread, command, arguments)) = self.calls.stuck.take_due_step() else { return false };
        self.program.debuggee.run = RunState::Stopped { thread };
        if let Err(failure) = self.step(&command, &arguments) {
            self.hub.outbox.note(&format!("The step failed: {failure}"));
            self.report_stop(thread, StoppedEventBody::because("step"));
        }
        true
    }

    /// Handles one callback; leaves `run` unchanged if the program is to continue.
    fn handle_callback(&mut self, callback: Callback) {
        // The callback may have been deferred, and a thread list cached since.
        self.program.debuggee.threads.forget_list();
        match callback {
            Callback::Breakpoint { thread, breakpoint } => self.on_breakpoint_hit(&thread, &breakpoint),
            Callback::StepComplete { thread, stepper, reason } => {
                self.on_step_complete(&thread, &stepper, reason);
            }
            // The step was requested at this very call, so reporting it would be redundant.
            Callback::Break { thread }
                if self.stepping.steps_over_here(&self.program.types.modules, &thread) => {}
            Callback::Break { thread } => {
                let description = Some("Debugger.Break()".to_owned());
                self.stop_at(
                    &thread,
                    StoppedEventBody { description, ..StoppedEventBody::because("breakpoint") },
                )
            }
            Callback::Exception { thread, frame, il, kind } => {
                self.on_exception(&thread, frame.as_ref().map(|frame| (frame, il)), kind);
            }
            Callback::CreateThread { thread } => self.thread_event(&thread, "started"),
            Callback::ExitThread { thread } => self.thread_event(&thread, "exited"),
            Callback::LoadModule { module } => self.on_module_loaded(module),
            Callback::UnloadModule { module } => self.on_module_unloaded(&module),
            Callback::UpdateModuleSymbols { module, symbols } => self.on_symbols_updated(&module, &symbols),
            Callback::LogMessage { category, message } => {
                let prefix = if category.is_empty() { String::new() } else { format!("{category}: ") };
                let output = format!("{prefix}{message}");
                let body = OutputEventBody::console_line("").from_writer("program");
                self.hub.outbox.send(&OutputEventBody { output, ..body });
            }
            Callback::DebuggerError { hresult } => {
                self.hub
                    .outbox
                    .note(&format!("The runtime's debugging services report an error: 0x{hresult:08x}"));
            }
            Callback::EvalComplete { .. } | Callback::EvalException { .. } => {}
            Callback::ExitProcess | Callback::Other(_) => {}
        }
    }

    /// Records changes that matter even while code of the program runs for an evaluation.
    pub(super) fn record_changes(&mut self, callback: Callback) {
        self.program.debuggee.threads.forget_list();
        match callback {
            Callback::CreateThread { thread } => self.thread_event(&thread, "started"),
            Callback::ExitThread { thread } => self.thread_event(&thread, "exited"),
            Callback::LoadModule { module } => self.on_module_loaded(module),
            Callback::UpdateModuleSymbols { module, symbols } => self.on_symbols_updated(&module, &symbols),
            _ => {}
        }
    }

    fn thread_event(&mut self, thread: &Thread, reason: &str) {
        if let Ok(id) = thread.id() {
            if reason == "exited" {
                if self.options.logging.thread_exit {
                    self.hub.outbox.note(&format!("Thread {id} has ended."));
                }
                self.program.debuggee.threads.known.borrow_mut().remove(&id);
            } else {
                self.calls.first_calls.has_begun(id);
            }
            let (reason, thread_id) = (reason.to_owned(), i64::from(id));
            self.hub.outbox.send(&ThreadEventBody { reason, thread_id, ..ThreadEventBody::default() });
        }
    }

    /// Stops the program at a callback of a thread, and notifies clients.
    pub(super) fn stop_at(&mut self, thread: &Thread, stop: StoppedEventBody) {
        self.report_stop(thread.id().unwrap_or(0), stop);
    }

    fn on_breakpoint_hit(&mut self, thread: &Thread, breakpoint: &RuntimeBreakpoint) {
        if self.step_breakpoint(thread, breakpoint)
            || self.call_returned(thread, breakpoint)
            || self.callback_entered(thread, breakpoint)
        {
            return;
        }
        if self.breakpoints.take_entry(breakpoint) {
            return self.stop_at(thread, StoppedEventBody::because("entry"));
        }
        if self.breakpoints.is_handler_breakpoint(breakpoint) {
            return self.on_handler_search(thread);
        }
        if self.breakpoints.requested_stop.as_ref().is_some_and(|own| own.is(breakpoint)) {
            return self.on_requested_stop(thread);
        }
        let id = thread.id().unwrap_or(0);
        match self.evaluate_hit(id, breakpoint) {
            // Evaluating a condition may have resumed the other threads.
            HitOutcome::Continue => self.stepping.hold_others_again(&self.program.debuggee),
            HitOutcome::Stop { hit, failed } => {
                let mut stop = StoppedEventBody::because("breakpoint");
                stop.hit_breakpoint_ids = Some(hit);
                if !failed.is_empty() {
                    stop.description = Some(CONDITION_FAILED.to_owned());
                    stop.text = Some(failed.join("\n"));
                }
                self.report_stop(id, stop);
            }
        }
    }

    pub(super) fn on_process_ended(&mut self) {
        if let Some(debugger) = self.program.debuggee.debugger.take() {
            self.program.values.references.clear();
            self.stepping.forget();
            self.hub.inbox.forget_deferred();
            self.program.debuggee.process = None;
            if let Err(error) = debugger.terminate() {
                tracing::debug!(%error, "the debugging library did not end in order");
            }
        }
        // A program that Tandem has started is over when its exit code is known.
        if self.program.debuggee.child.is_none() {
            self.on_program_exited(None);
        }
    }
}
