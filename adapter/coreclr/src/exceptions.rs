//! Exceptions: at which points of their lives they may stop the program, and their details. Not here: the
//! stops themselves ([`super::exception_stops`]).

mod filters;
mod suppression;
mod task_exceptions;
mod throw_site;
mod type_pattern;
mod unhandled;

pub(super) use filters::ExceptionStage;
use filters::Filters;
pub(super) use suppression::ExceptionSuppression;
use task_exceptions::RememberedExceptions;
pub(super) use throw_site::ThrowLocation;
use unhandled::HandlerWatch;

use std::collections::HashSet;

use cordebug::callback::exception;
use cordebug::debugger::Process;
use cordebug::frame::Frame;
use cordebug::thread::Thread;
use cordebug::value::Value as ClrValue;
use serde_json::Value;
use tandem_wire::types::{self, ExceptionDetails, ExceptionInfoResponseBody, ExceptionOrigin};
use tandem_wire::{ErrorCode, Failure};

use super::cor;
use super::names::LIGHTWEIGHT;
use crate::bare_value::bare;
use crate::breakpoints::Breakpoints;
use crate::debuggee::ClrDebuggee;
use crate::sources::{SourceLocator, Sources};
use crate::types::{ClrTypeSystem, Ty};

/// Longest chain of inner exceptions that is followed.
const MAX_DEPTH: usize = 10;
/// The same, if an exception has several inner ones.
const MAX_DEPTH_OF_SEVERAL: usize = 2;
/// Most inner exceptions of one that are reported.
const MAX_INNER: u32 = 16;
/// Deepest line of base types.
const MAX_BASE_DEPTH: usize = 64;
/// The runtime's exception for a program that ends itself by `Environment.FailFast` or
/// ends with a fatal error.
pub(super) const FATAL: &str = "System.ExecutionEngineException";
/// Deepest stack that is searched for a handler.
const MAX_STACK_DEPTH: usize = 1000;
/// Most frames of a stack as text.
const MAX_FRAMES: usize = 100;

/// Which exceptions stop the program, and the state of those that are thrown.
#[derive(Default)]
pub(super) struct Exceptions {
    pub(super) filters: Filters,
    /// The thread that throws, at an exception stop.
    throwing: Option<(u32, ExceptionStage)>,
    thrown: ExceptionsInProgress,
}

/// Exceptions in progress on the threads.
#[derive(Default)]
struct ExceptionsInProgress {
    /// Threads whose exception has passed user code on its search for a handler.
    passed_user_code: HashSet<u32>,
    handler_watch: HandlerWatch,
    task_exceptions: RememberedExceptions,
    /// Why the program fails fast, once it does.
    reason: Option<String>,
    /// The runtime was asked not to report exceptions that no user code sees: each report
    /// costs the program a stop.
    is_only_users: bool,
}

impl SourceLocator {
    /// One line of a stack trace, as .NET writes it.
    fn place_line(&self, loaded: &super::modules::LoadedModule, method: u32, il: Option<u32>) -> String {
        let name = loaded.method_display(method);
        let point = loaded.pdb.as_ref().ok().zip(il).and_then(|(pdb, il)| {
            let point = pdb.point_at(method, il)?;
            Some((self.path_of(pdb, point.document), point.line))
        });
        match point {
            Some((path, line)) => format!("   at {name} in {path}:line {line}"),
            None => format!("   at {name}"),
        }
    }
}

impl Exceptions {
    pub(super) fn exception_info(
        &self,
        debuggee: &ClrDebuggee,
        types: &ClrTypeSystem,
        sources: &Sources,
        arguments: &Value,
    ) -> Result<Value, Failure> {
        let id = debuggee.thread_of(arguments)?;
        let Some((_, at)) = self.throwing.filter(|(thread, _)| *thread == id) else {
            return Err(Failure::new(
                ErrorCode::InvalidParameter,
                format!("thread {id} did not stop at an exception"),
            )
            .quiet());
        };
        let thread = debuggee.thread(id)?;
        let thrown = debuggee.threads.exception_of(&thread).map_err(cor("read the exception"))?;
        let mut details = types.details(debuggee, &sources.locator, &thrown, MAX_DEPTH);
        if details.stack_trace.is_none() {
            // It has only just been thrown: the thread's current stack is its origin.
            let frames = thread.frames(MAX_FRAMES).unwrap_or_default();
            let lines: Vec<String> =
                frames.iter().filter_map(|frame| types.stack_line(&sources.locator, frame)).collect();
            details.stack_trace = Some(lines.join("\n"));
        }
        let is_fatal = details.full_type_name.as_deref() == Some(FATAL);
        if let Some(reason) = self.thrown.reason.as_ref().filter(|_| is_fatal) {
            details.message = Some(reason.clone());
        }
        details.evaluate_name = Some("$exception".to_owned());
        let mode = match at {
            ExceptionStage::Thrown => "always",
            ExceptionStage::UserUnhandled => "userUnhandled",
            ExceptionStage::Unhandled => "unhandled",
        };
        let mut info = types::body(&ExceptionInfoResponseBody {
            exception_id: details.full_type_name.clone().unwrap_or_default(),
            description: details.message.clone(),
            break_mode: mode.to_owned(),
            details: Some(details),
            ..ExceptionInfoResponseBody::default()
        });
        let thrown_at = self.origin_frame(debuggee, types, sources, id);
        types::extend(&mut info, &ExceptionOrigin { thrown_at });
        Ok(info)
    }

    /// An exception was thrown: prepares the reports that the filters need, from the first one on.
    pub(super) fn watch(
        &mut self,
        process: Option<&Process>,
        types: &ClrTypeSystem,
        breakpoints: &mut Breakpoints,
        just_my_code: bool,
    ) {
        self.watch_for_handlers(types, breakpoints);
        self.watch_for_requested_stops(types, breakpoints);
        self.report_user_exceptions_only(process, just_my_code);
    }

    /// The point of an exception's life at which the runtime reports it; `None` if no filter applies there.
    pub(super) fn stage_of(
        &mut self,
        debuggee: &ClrDebuggee,
        types: &ClrTypeSystem,
        just_my_code: bool,
        thread: &Thread,
        place: Option<(&Frame, u32)>,
        kind: u32,
    ) -> Option<ExceptionStage> {
        let id = thread.id().unwrap_or(0);
        match kind {
            exception::FIRST_CHANCE => {
                self.thrown.passed_user_code.remove(&id);
                self.thrown.task_exceptions.count_other_exception();
                (!just_my_code).then_some(ExceptionStage::Thrown)
            }
            exception::USER_FIRST_CHANCE => {
                self.thrown.passed_user_code.insert(id);
                just_my_code.then_some(ExceptionStage::Thrown)
            }
            exception::CATCH_HANDLER_FOUND => {
                let passed = self.thrown.passed_user_code.remove(&id);
                let frame = place.map(|(frame, _)| frame);
                let passed = passed && (just_my_code || types.passes_users(thread, frame));
                // It is better not to report an exception with an unknown handler.
                let (frame, il) = place?;
                let is_caught = self.is_caught_outside(debuggee, types, thread, frame, il, passed);
                is_caught.then_some(ExceptionStage::UserUnhandled)
            }
            exception::UNHANDLED if self.was_reported_before_handlers(thread) => None,
            exception::UNHANDLED => Some(ExceptionStage::Unhandled),
            _ => None,
        }
    }

    /// A thread stops at an exception.
    pub(super) fn begin_stop(&mut self, thread: u32, at: ExceptionStage) {
        self.throwing = Some((thread, at));
    }

    /// Keeps why the program fails fast, for `exceptionInfo`.
    pub(super) fn keep_fatal_reason(&mut self, reason: Option<String>) {
        self.thrown.reason = reason;
    }

    /// Whether the filters need reports of exceptions that the runtime leaves out by now.
    pub(super) fn lacks_reports(&self, just_my_code: bool) -> bool {
        self.thrown.is_only_users && self.wants_all_exceptions(just_my_code)
    }

    /// The program resumes: no thread is at an exception stop.
    pub(super) fn forget_stop(&mut self) {
        self.throwing = None;
    }

    /// Whether exceptions that no user code sees matter.
    fn wants_all_exceptions(&self, just_my_code: bool) -> bool {
        let thrown = !just_my_code && self.filters.has_filter_for(ExceptionStage::Thrown);
        thrown || self.is_to_watch_for_handlers() || self.thrown.task_exceptions.is_unforced()
    }

    /// Has the runtime report all exceptions from now on; the program is stopped. Until then, the request of
    /// an earlier debugger applies.
    pub(super) fn report_all_exceptions(&mut self, process: &Process) -> Result<(), Failure> {
        process.report_exceptions_outside_user_code(true).map_err(cor("enable reports of all exceptions"))?;
        self.thrown.is_only_users = false;
        Ok(())
    }

    /// Has the runtime report only exceptions that user code sees, unless others matter;
    /// the program is stopped.
    fn report_user_exceptions_only(&mut self, process: Option<&Process>, just_my_code: bool) {
        if self.thrown.is_only_users || self.wants_all_exceptions(just_my_code) {
            return;
        }
        let Some(process) = process else { return };
        match process.report_exceptions_outside_user_code(false) {
            Ok(_) => self.thrown.is_only_users = true,
            Err(error) => tracing::debug!(%error, "reports of irrelevant exceptions stay enabled"),
        }
    }
}

impl ClrTypeSystem {
    /// Whether there is user code between the throwing frame and the handler. Without just-my-code, the
    /// runtime counts all code with symbols as the user's.
    fn passes_users(&self, thread: &Thread, handler: Option<&Frame>) -> bool {
        let end = handler.and_then(|handler| handler.stack_range().ok()).map_or(u64::MAX, |(_, end)| end);
        let frames = thread.frames(MAX_STACK_DEPTH).unwrap_or_default();
        let mut above = frames.iter().take_while(|frame| frame.stack_range().is_ok_and(|(_, at)| at < end));
        above.any(|frame| self.modules.is_user_frame(frame) == Some(true))
    }

    /// Type and message of the exception a thread throws.
    pub(super) fn exception_summary(
        &self,
        debuggee: &ClrDebuggee,
        thread: &Thread,
    ) -> (String, Option<String>) {
        let Ok(thrown) = debuggee.threads.exception_of(thread) else { return ("an exception".into(), None) };
        (self.type_of(&thrown), self.text_field(&thrown, "_message"))
    }

    fn details(
        &self,
        debuggee: &ClrDebuggee,
        sources: &SourceLocator,
        thrown: &ClrValue,
        deeper: usize,
    ) -> ExceptionDetails {
        let full = self.type_of(thrown);
        let mut details = ExceptionDetails {
            type_name: Some(type_pattern::simple_name(&full).to_owned()),
            full_type_name: Some(full),
            message: self.text_field(thrown, "_message"),
            stack_trace: self.stack_of(debuggee, sources, thrown),
            ..ExceptionDetails::default()
        };
        let inner = if deeper > 0 { self.inner_exceptions(thrown) } else { Vec::new() };
        if !inner.is_empty() {
            // If there are several, none may have several as deep as a single one: they would multiply.
            let deeper = if inner.len() > 1 { (deeper - 1).min(MAX_DEPTH_OF_SEVERAL) } else { deeper - 1 };
            let inner = inner.iter().map(|inner| self.details(debuggee, sources, inner, deeper));
            details.inner_exception = Some(inner.collect());
        }
        details
    }

    /// The stack of an exception, as locations.
    fn stack_of(&self, debuggee: &ClrDebuggee, sources: &SourceLocator, thrown: &ClrValue) -> Option<String> {
        if let Some(text) = self.text_field(thrown, "_stackTraceString") {
            return Some(text);
        }
        let places = self.places_of(thrown);
        let is_made = |place: &&ThrowLocation| place.method & 0x00ff_ffff == 0;
        let made = places.iter().filter(is_made).count();
        let names = if made > 0 { self.lightweight_places(debuggee, thrown) } else { Vec::new() };
        // They can be matched only if each has one.
        let is_each = names.len() == made || names.len() > made && places.len() == MAX_FRAMES;
        let mut names = if is_each { names } else { Vec::new() }.into_iter();
        let line = |place: &ThrowLocation| match is_made(&place).then(|| names.next().flatten()).flatten() {
            Some(name) => format!("   at {name}"),
            None => sources.place_line(&place.loaded, place.method, place.il),
        };
        let lines: Vec<String> = places.iter().map(line).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn stack_line(&self, sources: &SourceLocator, frame: &Frame) -> Option<String> {
        let Ok(function) = frame.function() else {
            return frame.is_compiled().then(|| format!("   at {LIGHTWEIGHT}"));
        };
        let loaded = self.modules.of(&function.module().ok()?)?;
        Some(sources.place_line(&loaded, function.token().ok()?, frame.il_offset().ok()))
    }

    /// Full names of an object's type and its base types, as C# spells them.
    pub(super) fn exception_types(&self, object: &ClrValue) -> Vec<String> {
        let inner = object.as_reference().and_then(|reference| reference.dereference().ok());
        let mut kind = inner.as_ref().unwrap_or(object).exact_type().ok();
        let mut names = Vec::new();
        while let Some(current) = kind.filter(|_| names.len() < MAX_BASE_DEPTH) {
            let ty = self.ty_of_runtime(&current);
            if !matches!(ty, Ty::Other) {
                names.push(self.csharp(&ty));
            }
            kind = current.base().ok();
        }
        names
    }

    /// The inner exceptions of an exception: one, or several for an `AggregateException`.
    fn inner_exceptions(&self, thrown: &ClrValue) -> Vec<ClrValue> {
        // An array; before .NET 6 a collection that wraps one.
        let list = self
            .field_named(thrown, "_innerExceptions")
            .or_else(|| self.field_named(&self.field_named(thrown, "m_innerExceptions")?, "list"));
        let array = list.as_ref().and_then(bare).and_then(|list| list.as_array());
        let several: Vec<ClrValue> = array.map_or_else(Vec::new, |array| {
            let count = array.count().unwrap_or(0).min(MAX_INNER);
            (0..count).filter_map(|at| array.element(at).ok()).filter(|inner| !self.is_null(inner)).collect()
        });
        if !several.is_empty() {
            return several;
        }
        let one = self.field_named(thrown, "_innerException").filter(|inner| !self.is_null(inner));
        one.into_iter().collect()
    }
}
