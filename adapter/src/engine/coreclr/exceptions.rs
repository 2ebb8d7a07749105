//! Exceptions: when one stops the program, and what is known of the one that did.

mod carried;
mod fatal;
mod filters;
mod heard;
mod origin;
mod silence;

use carried::Carried;
pub(super) use filters::{Filters, When};
use heard::Heard;
pub(super) use origin::Place;
pub(super) use silence::Silence;

use std::collections::HashSet;

use cordebug::callback::exception;
use cordebug::frame::Frame;
use cordebug::thread::Thread;
use cordebug::value::{Handle, Value as ClrValue};
use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::cor;
use super::session::Session;
use super::values::bare;

/// How far a chain of inner exceptions is followed.
const DEEPEST: usize = 10;
/// The same where there are several.
const DEEPEST_OF_SEVERAL: usize = 2;
/// Most inner exceptions of one that are told.
const MOST_INNER: u32 = 16;
/// Deepest line of base types.
const DEEPEST_BASE: usize = 64;
/// What the runtime throws, in a way, when a program ends itself by `Environment.FailFast` or a fatal error ends it.
const FATAL: &str = "System.ExecutionEngineException";
/// How deep a handler is looked for.
const DEEPEST_STACK: usize = 1000;
/// Most frames of a stack as text.
const MOST_FRAMES: usize = 100;

/// What is under way on the threads.
#[derive(Default)]
pub(super) struct Thrown {
    /// Threads whose exception has passed user code on its search for a handler.
    passed_user_code: HashSet<u32>,
    heard: Heard,
    carried: Carried,
    /// What a stop is about where the thread throws nothing: the program has caught it already.
    given: Option<Handle>,
    /// Why the program fails fast, once it does.
    reason: Option<String>,
    /// The runtime was asked to tell nothing of what no user code sees: each exception told costs the program a stop.
    is_only_users: bool,
}

impl Session {
    /// The runtime tells of one point of an exception's life.
    pub(super) fn thrown(&mut self, thread: &Thread, place: Option<(&Frame, u32)>, kind: u32) {
        let id = thread.id().unwrap_or(0);
        if matches!(kind, exception::FIRST_CHANCE | exception::USER_FIRST_CHANCE) {
            self.watch_for_handlers();
            self.watch_for_requested_stops();
            self.hear_of_users_only();
        }
        let at = match kind {
            exception::FIRST_CHANCE => {
                self.thrown.passed_user_code.remove(&id);
                self.thrown.carried.another_is_thrown();
                if self.just_my_code {
                    return;
                }
                When::Thrown
            }
            exception::USER_FIRST_CHANCE => {
                self.thrown.passed_user_code.insert(id);
                if !self.just_my_code {
                    return;
                }
                When::Thrown
            }
            exception::CATCH_HANDLER_FOUND => {
                let passed = self.thrown.passed_user_code.remove(&id);
                let frame = place.map(|(frame, _)| frame);
                let passed = passed && (self.just_my_code || self.passes_users(thread, frame));
                // A handler we know nothing of is better not complained of.
                if !place.is_some_and(|(frame, il)| self.is_caught_outside(thread, frame, il, passed)) {
                    return;
                }
                When::UserUnhandled
            }
            exception::UNHANDLED if self.was_heard(thread) => return,
            exception::UNHANDLED => When::Unhandled,
            _ => return,
        };
        self.throws(thread, at);
    }

    /// `setExceptionBreakpoints`.
    pub(super) fn set_exception_filters(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let answer = self.filters.set(arguments);
        let is_to_hear = self.thrown.is_only_users && self.minds_all_exceptions();
        if is_to_hear || self.process.is_some() && self.is_to_watch_for_requests() {
            self.while_standing(|session| {
                session.watch_for_requested_stops();
                if is_to_hear { session.hear_of_all_exceptions() } else { Ok(()) }
            })?;
        }
        Ok(answer)
    }

    /// Whether it matters that something is thrown which no user code sees.
    fn minds_all_exceptions(&self) -> bool {
        let thrown = !self.just_my_code && self.filters.mind(When::Thrown);
        thrown || self.is_to_watch_for_handlers() || self.thrown.carried.is_unforced()
    }

    /// From now on the runtime tells of all exceptions; the program stands. What a debugger before us asked for holds until then.
    pub(super) fn hear_of_all_exceptions(&mut self) -> Result<(), Failure> {
        let process = self.process()?;
        process.tell_exceptions_outside_user_code(true).map_err(cor("hear of all exceptions"))?;
        self.thrown.is_only_users = false;
        Ok(())
    }

    /// The same for those that user code sees, unless others matter; the program stands.
    fn hear_of_users_only(&mut self) {
        if self.thrown.is_only_users || self.minds_all_exceptions() {
            return;
        }
        let Some(process) = &self.process else { return };
        match process.tell_exceptions_outside_user_code(false) {
            Ok(_) => self.thrown.is_only_users = true,
            Err(error) => tracing::debug!(%error, "exceptions that matter to nobody are told"),
        }
    }

    /// Whether there is code of the user's between where an exception is thrown and its handler. Without just-my-code the
    /// runtime takes everything with symbols for the user's.
    fn passes_users(&self, thread: &Thread, handler: Option<&Frame>) -> bool {
        let end = handler.and_then(|handler| handler.stack_range().ok()).map_or(u64::MAX, |(_, end)| end);
        let frames = thread.frames(DEEPEST_STACK).unwrap_or_default();
        let mut above = frames.iter().take_while(|frame| frame.stack_range().is_ok_and(|(_, at)| at < end));
        above.any(|frame| self.is_user_frame(frame) == Some(true))
    }

    /// Stops the program where an exception is at this point of its life, if that is asked for.
    fn throws(&mut self, thread: &Thread, at: When) {
        if !self.filters.mind(at) {
            return;
        }
        let lineage =
            thread.current_exception().map(|thrown| self.exception_types(&thrown)).unwrap_or_default();
        if self.filters.stop(at, &lineage) {
            self.stopped_at_exception(thread, at, None);
        }
    }

    /// `given`: the exception, where the thread throws none.
    fn stopped_at_exception(&mut self, thread: &Thread, at: When, given: Option<Handle>) {
        let id = thread.id().unwrap_or(0);
        self.throwing = Some((id, at));
        if let Some(before) = std::mem::replace(&mut self.thrown.given, given) {
            before.dispose().unwrap_or_default();
        }
        self.thrown.heard.begin();
        let (name, mut message) = self.exception_summary(thread);
        let is_fatal = at == When::Unhandled && name == FATAL;
        if is_fatal {
            self.thrown.reason = fatal::reason(&self.broker.last_words(fatal::LOOKED_AT));
            message = self.thrown.reason.clone().or(message);
        }
        let description = match at {
            _ if is_fatal => "The program fails fast",
            When::Thrown => "Exception",
            When::UserUnhandled => "User-unhandled exception",
            When::Unhandled => "Unhandled exception",
        };
        let text = message.map_or_else(|| name.clone(), |message| format!("{name}: {message}"));
        let text = match self.origin_line(id) {
            Some(origin) => format!("{text}\n{origin}"),
            None => text,
        };
        self.stopped(
            "exception",
            id,
            json!({ "description": format!("{description}: {name}"), "text": text }),
        );
    }

    /// Full names of an object's type and its base types.
    fn exception_types(&self, object: &ClrValue) -> Vec<String> {
        let inner = object.as_reference().and_then(|reference| reference.dereference().ok());
        let mut kind = inner.as_ref().unwrap_or(object).exact_type().ok();
        let mut names = Vec::new();
        while let Some(current) = kind.filter(|_| names.len() < DEEPEST_BASE) {
            let class = self.class_of(&current);
            names.extend(class.and_then(|(loaded, token)| Some(loaded.image()?.metadata.type_name(token))));
            kind = current.base().ok();
        }
        names
    }

    /// The exception a thread throws, or has stopped at.
    pub(super) fn exception_of(&self, thread: &Thread) -> cordebug::Result<ClrValue> {
        let is_its = || self.throwing.is_some_and(|(at, _)| thread.id() == Ok(at));
        match self.thrown.given.as_ref().filter(|_| is_its()) {
            Some(given) => given.value(),
            None => thread.current_exception(),
        }
    }

    /// Type and message of the exception a thread throws.
    pub(super) fn exception_summary(&self, thread: &Thread) -> (String, Option<String>) {
        let Ok(thrown) = self.exception_of(thread) else { return ("an exception".into(), None) };
        (self.type_of(&thrown), self.text_field(&thrown, "_message"))
    }

    pub(super) fn exception_info(&self, arguments: &Value) -> Result<Value, Failure> {
        let id = self.thread_of(arguments)?;
        let Some((_, at)) = self.throwing.filter(|(thread, _)| *thread == id) else {
            return Err(Failure::new(
                ErrorCode::InvalidParameter,
                format!("thread {id} did not stop at an exception"),
            )
            .quiet());
        };
        let thread = self.thread(id)?;
        let thrown = self.exception_of(&thread).map_err(cor("read the exception"))?;
        let mut details = self.details(&thrown, DEEPEST);
        if details["stackTrace"].is_null() {
            // It has only just been thrown: where the thread stands is where it comes from.
            let frames = thread.frames(MOST_FRAMES).unwrap_or_default();
            let lines: Vec<String> = frames.iter().filter_map(|frame| self.stack_line(frame)).collect();
            details["stackTrace"] = json!(lines.join("\n"));
        }
        if let Some(reason) = self.thrown.reason.as_ref().filter(|_| details["fullTypeName"] == FATAL) {
            details["message"] = json!(reason);
        }
        details["evaluateName"] = json!("$exception");
        let mode = match at {
            When::Thrown => "always",
            When::UserUnhandled => "userUnhandled",
            When::Unhandled => "unhandled",
        };
        Ok(json!({ "exceptionId": details["fullTypeName"], "description": details["message"],
            "breakMode": mode, "details": details }))
    }

    fn details(&self, thrown: &ClrValue, deeper: usize) -> Value {
        let full = self.type_of(thrown);
        let mut details = json!({ "typeName": full.rsplit('.').next(), "fullTypeName": full });
        if let Some(message) = self.text_field(thrown, "_message") {
            details["message"] = json!(message);
        }
        if let Some(stack) = self.stack_of(thrown) {
            details["stackTrace"] = json!(stack);
        }
        let inner = if deeper > 0 { self.inner_exceptions(thrown) } else { Vec::new() };
        if !inner.is_empty() {
            // Of several, none may have several in turn as deep as one alone: they would multiply.
            let deeper = if inner.len() > 1 { (deeper - 1).min(DEEPEST_OF_SEVERAL) } else { deeper - 1 };
            let inner: Vec<Value> = inner.iter().map(|inner| self.details(inner, deeper)).collect();
            details["innerException"] = json!(inner);
        }
        details
    }

    /// What an exception was thrown because of: one, or of an `AggregateException` several.
    fn inner_exceptions(&self, thrown: &ClrValue) -> Vec<ClrValue> {
        // An array; before .NET 6 a collection around one.
        let list = self
            .field_named(thrown, "_innerExceptions")
            .or_else(|| self.field_named(&self.field_named(thrown, "m_innerExceptions")?, "list"));
        let array = list.as_ref().and_then(bare).and_then(|list| list.as_array());
        let several: Vec<ClrValue> = array.map_or_else(Vec::new, |array| {
            let count = array.count().unwrap_or(0).min(MOST_INNER);
            (0..count).filter_map(|at| array.element(at).ok()).filter(|inner| !self.is_null(inner)).collect()
        });
        if !several.is_empty() {
            return several;
        }
        let one = self.field_named(thrown, "_innerException").filter(|inner| !self.is_null(inner));
        one.into_iter().collect()
    }

    /// The stack an exception carries, as places.
    fn stack_of(&self, thrown: &ClrValue) -> Option<String> {
        if let Some(text) = self.text_field(thrown, "_stackTraceString") {
            return Some(text);
        }
        let places = self.places_of(thrown);
        let lines: Vec<String> =
            places.iter().map(|place| self.place_line(&place.loaded, place.method, place.il)).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn stack_line(&self, frame: &Frame) -> Option<String> {
        let function = frame.function().ok()?;
        let loaded = self.modules.of(&function.module().ok()?)?;
        Some(self.place_line(&loaded, function.token().ok()?, frame.il_offset().ok()))
    }

    /// One line of a stack trace, as .NET writes it.
    fn place_line(&self, loaded: &super::modules::Loaded, method: u32, il: Option<u32>) -> String {
        let name = self.method_display(loaded, method);
        let point = loaded.pdb.as_ref().ok().zip(il).and_then(|(pdb, il)| {
            let point = pdb.point_at(method, il)?;
            Some((self.sources.local(pdb.document(point.document)), point.line))
        });
        match point {
            Some((path, line)) => format!("   at {name} in {path}:line {line}"),
            None => format!("   at {name}"),
        }
    }
}
