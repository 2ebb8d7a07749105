//! Stops at exceptions: when the runtime reports one, its handlers are about to run, or a library requests a
//! stop. Not here: filters and details ([`super::exceptions`]), and the other callbacks
//! ([`super::callbacks`]).

mod fatal_error;

use cordebug::callback::exception;
use cordebug::frame::Frame;
use cordebug::thread::Thread;
use cordebug::value::Handle;
use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{self, StoppedEventBody};

use super::debuggee::RunState;
use super::exceptions::{ExceptionStage, FATAL};
use super::outbox::Outbox;
use super::session::ClrSession;
use super::types::ClrTypeSystem;

impl ClrSession {
    /// The runtime reports one point of an exception's life.
    pub(super) fn on_exception(&mut self, thread: &Thread, place: Option<(&Frame, u32)>, kind: u32) {
        let just_my_code = self.options.just_my_code;
        if matches!(kind, exception::FIRST_CHANCE | exception::USER_FIRST_CHANCE) {
            let process = self.program.debuggee.process.as_deref();
            self.exceptions.watch(process, &self.program.types, &mut self.breakpoints, just_my_code);
            if let Ok(thrown) = thread.current_exception() {
                self.at_stop().note_failed_class(&thrown);
            }
        }
        if kind == exception::FIRST_CHANCE && self.options.logging.exceptions {
            note_thrown(&self.program.types, &self.hub.outbox, thread, place.map(|(frame, _)| frame));
        }
        let at = self.exceptions.stage_of(
            &self.program.debuggee,
            &self.program.types,
            just_my_code,
            thread,
            place,
            kind,
        );
        if let Some(at) = at {
            self.stop_if_filtered(thread, at);
        }
    }

    /// Handlers are about to run for an exception; or code of the program calls the same
    /// method for other purposes.
    pub(super) fn on_handler_search(&mut self, thread: &Thread) {
        let Ok(id) = thread.id() else { return };
        let Some((thrown, below)) = self.exceptions.exception_before_handlers(thread) else { return };
        self.stop_if_filtered(thread, ExceptionStage::Unhandled);
        if self.program.debuggee.run != RunState::Running && self.exceptions.keep_report(id, &thrown) {
            self.program.debuggee.threads.exception_thrown_below(below);
        }
    }

    /// A library requests a stop at an exception.
    pub(super) fn on_requested_stop(&mut self, thread: &Thread) {
        let frames = thread.frames(1).unwrap_or_default();
        let Some(thrown) = frames.first().and_then(|frame| frame.argument(0).ok()) else { return };
        if let Some(handle) = self.exceptions.accept_request(&self.program.types, &thrown) {
            self.stop_with_exception(thread, ExceptionStage::UserUnhandled, Some(handle));
        }
    }

    /// `setExceptionBreakpoints`.
    pub(super) fn set_exception_filters(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let response = self.exceptions.filters.set(arguments);
        let is_to_hear = self.exceptions.lacks_reports(self.options.just_my_code);
        if is_to_hear || self.program.debuggee.process.is_some() && self.exceptions.is_to_watch_for_requests()
        {
            self.while_stopped(|session| {
                session
                    .exceptions
                    .watch_for_requested_stops(&session.program.types, &mut session.breakpoints);
                if !is_to_hear {
                    return Ok(());
                }
                let process = session.program.debuggee.process()?;
                session.exceptions.report_all_exceptions(&process)
            })?;
        }
        Ok(types::body(&response))
    }

    /// Stops the program at this point of an exception's life, if a filter matches.
    fn stop_if_filtered(&mut self, thread: &Thread, at: ExceptionStage) {
        if !self.exceptions.filters.has_filter_for(at) {
            return;
        }
        let lineage = thread
            .current_exception()
            .map(|thrown| self.program.types.exception_types(&thrown))
            .unwrap_or_default();
        if self.exceptions.filters.stop(at, &lineage) {
            self.stop_with_exception(thread, at, None);
        }
    }

    /// `given`: the exception, if the thread throws none.
    fn stop_with_exception(&mut self, thread: &Thread, at: ExceptionStage, given: Option<Handle>) {
        let id = thread.id().unwrap_or(0);
        self.exceptions.begin_stop(id, at);
        self.program.debuggee.threads.stop_at_exception(id, given);
        let (name, mut message) = self.program.types.exception_summary(&self.program.debuggee, thread);
        let is_fatal = at == ExceptionStage::Unhandled && name == FATAL;
        if is_fatal {
            let reason =
                fatal_error::reason(&self.program.debuggee.broker.stderr_tail(fatal_error::MAX_OUTPUT_BYTES));
            self.exceptions.keep_fatal_reason(reason.clone());
            message = reason.or(message);
        }
        let description = match at {
            _ if is_fatal => "The program fails fast",
            ExceptionStage::Thrown => "Exception",
            ExceptionStage::UserUnhandled => "User-unhandled exception",
            ExceptionStage::Unhandled => "Unhandled exception",
        };
        let text = message.map_or_else(|| name.clone(), |message| format!("{name}: {message}"));
        let text = match self.exceptions.origin_line(
            &self.program.debuggee,
            &self.program.types,
            &self.sources.locator,
            id,
        ) {
            Some(origin) => format!("{text}\n{origin}"),
            None => text,
        };
        let (description, text) = (Some(format!("{description}: {name}")), Some(text));
        self.report_stop(
            id,
            StoppedEventBody { description, text, ..StoppedEventBody::because("exception") },
        );
    }
}

/// Prints to the console that an exception is thrown, and in which module.
fn note_thrown(types: &ClrTypeSystem, outbox: &Outbox, thread: &Thread, frame: Option<&Frame>) {
    let thrown = thread.current_exception().map(|thrown| types.exception_types(&thrown)).unwrap_or_default();
    let module = frame.and_then(|frame| types.modules.of(&frame.function().ok()?.module().ok()?));
    let place = module.map(|loaded| format!(" in {}", loaded.name())).unwrap_or_default();
    outbox.note(&format!("Exception thrown: `{}`{place}.", thrown.first().map_or("unknown", String::as_str)));
}
