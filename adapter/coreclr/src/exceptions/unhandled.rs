//! Unhandled exceptions, and handlers of `AppDomain.UnhandledException`.
//!
//! The runtime reports such an exception after its handlers have returned. A handler that waits, or ends the
//! program, would prevent the report. So the stop is where the handlers are about to be called, before the
//! first of them runs. Before .NET 10 that is optimised code of the framework, so no evaluation can run code
//! there. Without handlers that code is not reached, and the runtime reports immediately ([`super`]).

use cordebug::frame::{Frame, RuntimeBreakpoint};
use cordebug::thread::Thread;
use cordebug::value::{Handle, Value};

use super::ExceptionStage;
use crate::breakpoints::Breakpoints;
use crate::exceptions::Exceptions;
use crate::managed_threads::StackRange;
use crate::types::ClrTypeSystem;

/// Methods on the way to handlers, by class and name, and which of their arguments is the exception. In .NET
/// 10 and later the framework calls the handlers; before, the runtime does, and creates their arguments.
const WAYS: [(&str, &str, u32); 2] =
    [("System.AppContext", "OnUnhandledException", 0), ("System.UnhandledExceptionEventArgs", ".ctor", 1)];

/// Most runtime frames that are searched.
const MAX_RUNTIME_FRAMES: u32 = 4096;

/// State of the watch for handlers.
#[derive(Default)]
pub(super) struct HandlerWatch {
    /// The breakpoint was set, or setting it is impossible.
    is_watched: bool,
    /// Which argument of the method with the breakpoint is the exception.
    exception: u32,
    /// Exceptions that were reported before their handlers ran, by thread.
    reported: Vec<(u32, Handle)>,
}

impl Breakpoints {
    /// Whether a breakpoint is the one on the way to handlers.
    pub(crate) fn is_handler_breakpoint(&self, hit: &RuntimeBreakpoint) -> bool {
        self.handler_breakpoint.as_ref().is_some_and(|own| own.is(hit))
    }
}

impl Exceptions {
    /// An exception was thrown: handlers are watched from the first one on.
    pub(super) fn watch_for_handlers(&mut self, types: &ClrTypeSystem, breakpoints: &mut Breakpoints) {
        if !self.is_to_watch_for_handlers() {
            return;
        }
        self.thrown.handler_watch.is_watched = true;
        let way = WAYS.iter().find_map(|(class, name, exception)| {
            let (loaded, class) = types.type_named(class)?;
            let metadata = &loaded.image()?.metadata;
            let found = metadata.methods(class).find(|method| metadata.method_name(*method) == *name)?;
            Some((loaded.module.function(found).ok()?.set_breakpoint(0).ok()?, *exception))
        });
        match way {
            Some((breakpoint, exception)) => {
                breakpoints.handler_breakpoint = Some(breakpoint);
                self.thrown.handler_watch.exception = exception;
            }
            None => {
                tracing::debug!("an unhandled exception is reported after its handlers have returned")
            }
        }
    }

    /// The exception that a thread throws, whose handlers are about to run, and the frame below them. `None`
    /// if code of the program calls the same method for other purposes.
    pub(crate) fn exception_before_handlers(&self, thread: &Thread) -> Option<(Value, StackRange)> {
        let thrown = thread.current_exception().ok()?;
        let frames = thread.frames(2).unwrap_or_default();
        let exception = self.thrown.handler_watch.exception;
        let is_thrown = |frame: &Frame| is_same_object(&frame.argument(exception).ok()?, &thrown);
        let ranges: Vec<StackRange> = frames.iter().filter_map(|frame| frame.stack_range().ok()).collect();
        let [(_, above), below] = ranges.as_slice() else { return None };
        // Managed callers have no frame of the runtime in between.
        let internal = thread.internal_frames(MAX_RUNTIME_FRAMES).unwrap_or_default();
        let is_runtimes = internal.iter().any(|(_, address)| (*above..below.1).contains(address));
        let is_search = is_runtimes && frames.first().and_then(is_thrown) == Some(true);
        is_search.then_some((thrown, *below))
    }

    /// Keeps that an exception was reported before its handlers run; `false` if it cannot be kept.
    pub(crate) fn keep_report(&mut self, thread: u32, thrown: &Value) -> bool {
        let Some(handle) = object(thrown).and_then(|object| object.handle().ok()) else { return false };
        self.thrown.handler_watch.reported.push((thread, handle));
        true
    }

    /// Whether handlers matter, and nothing would report them yet.
    pub(super) fn is_to_watch_for_handlers(&self) -> bool {
        !self.thrown.handler_watch.is_watched && self.filters.has_filter_for(ExceptionStage::Unhandled)
    }

    /// Whether the exception that a thread throws was reported before its handlers ran.
    pub(super) fn was_reported_before_handlers(&mut self, thread: &Thread) -> bool {
        let (Ok(id), Ok(thrown)) = (thread.id(), thread.current_exception()) else { return false };
        let reported = &mut self.thrown.handler_watch.reported;
        let is_this =
            |handle: &Handle| handle.value().is_ok_and(|value| is_same_object(&value, &thrown) == Some(true));
        let found = reported.iter().position(|(of, handle)| *of == id && is_this(handle));
        found.map(|at| reported.swap_remove(at)).is_some()
    }
}

/// The object that a value refers to.
pub(super) fn object(value: &Value) -> Option<Value> {
    match value.as_reference() {
        Some(reference) => reference.dereference().ok(),
        None => Some(value.clone()),
    }
}

/// Whether both are the same object; `None` if that is unknown.
pub(super) fn is_same_object(one: &Value, other: &Value) -> Option<bool> {
    Some(object(one)?.address().ok()? == object(other)?.address().ok()?)
}
