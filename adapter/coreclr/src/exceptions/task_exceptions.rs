//! Exceptions carried by tasks: an async method catches an exception that it does not handle, stores it in
//! its task, and the code that awaits the task throws it again. Decides whether such an exception, or any
//! other, has left the user's code. Does not find the awaiting code.
//!
//! For an exception that passed user code the runtime reports only the first handler. .NET 9 and later report
//! all handlers of chosen exceptions; before, Tandem has the runtime report those of every exception while a
//! task carries one.

use clr_metadata::il::{self, CatchClause};
use cordebug::frame::{Frame, Function};
use cordebug::thread::Thread;
use cordebug::value::{Handle, Value as ClrValue};

use super::unhandled::{is_same_object, object};
use super::{ExceptionStage, MAX_STACK_DEPTH};
use crate::breakpoints::Breakpoints;
use crate::debuggee::ClrDebuggee;
use crate::exceptions::Exceptions;
use crate::types::ClrTypeSystem;

/// Most exceptions that are remembered; the oldest is dropped.
const MAX_KEPT: usize = 32;
/// Most other exceptions that are reported because of one.
const MAX_OTHERS: u32 = 200;
/// Most bytes of a method's exception clauses that are read.
const MAX_SECTION_BYTES: u32 = 64 * 1024;
/// The exception that ends a task without a failure.
const CANCELLATION: &str = "System.OperationCanceledException";
/// Attribute on methods of libraries that catch exceptions which do not concern the user.
const UNCONCERNED: &str = "System.Diagnostics.DebuggerDisableUserUnhandledExceptionsAttribute";
/// Code in which assertions catch the exceptions that they expect: the outermost class, or a namespace that
/// ends in a dot. Other exceptions of tests are caught elsewhere in their frameworks.
const EXPECTING: [&str; 10] = [
    "Xunit.Assert",
    "Xunit.Record",
    "NUnit.Framework.Assert",
    "NUnit.Framework.Internal.ExceptionHelper",
    "NUnit.Framework.Constraints.",
    "Microsoft.VisualStudio.TestTools.UnitTesting.Assert",
    "TUnit.Assertions.",
    "FluentAssertions.",
    "AwesomeAssertions.",
    "Shouldly.",
];
/// Code in which reflection catches the exceptions of a called method to wrap them; a call of a delegate of
/// unknown type uses it.
const REFLECTION: &str = "System.Reflection.";
/// Frames below reflection's that may be an assertion's.
const MAX_CALLERS: usize = 24;
/// The method by which a library requests a stop at an exception, by class and name.
const REQUEST: (&str, &str) = ("System.Diagnostics.Debugger", "BreakForUserUnhandledException");

/// An exception that may be thrown again, or was reported.
struct RememberedException {
    /// Weak: most are never thrown again.
    exception: Handle,
    /// The runtime reports all its handlers.
    is_forced: bool,
    is_reported: bool,
}

/// The remembered exceptions.
#[derive(Default)]
pub(super) struct RememberedExceptions {
    list: Vec<RememberedException>,
    /// How many other exceptions were reported since the last one was added.
    others: u32,
    /// The breakpoint was set, or setting it is impossible.
    is_watched: bool,
}

impl RememberedExceptions {
    /// Whether one needs reports of all exceptions.
    pub(super) fn is_unforced(&self) -> bool {
        self.list.iter().any(|one| !one.is_forced && !one.is_reported)
    }

    /// Counts a reported exception that may be any.
    pub(super) fn count_other_exception(&mut self) {
        self.others = self.others.saturating_add(1);
        if self.others > MAX_OTHERS {
            self.list.retain(|one| one.is_forced || one.is_reported);
        }
    }

    /// Forgets them all, and has the runtime do the same; the program is stopped.
    pub(super) fn forget_all(&mut self) {
        self.list.drain(..).for_each(RememberedException::forget);
    }

    fn position(&self, thrown: &ClrValue) -> Option<usize> {
        let is_this = |one: &RememberedException| {
            one.exception.value().is_ok_and(|value| is_same_object(&value, thrown) == Some(true))
        };
        self.list.iter().position(is_this)
    }

    fn add(&mut self, one: RememberedException) {
        if self.list.len() >= MAX_KEPT {
            self.list.remove(0).forget();
        }
        self.others = 0;
        self.list.push(one);
    }
}

impl RememberedException {
    fn forget(self) {
        if self.is_forced
            && let Some(object) = self.exception.value().ok().as_ref().and_then(object)
            && let Err(error) = object.report_each_handler(false)
        {
            tracing::debug!(%error, "each handler of an exception is still told");
        }
        self.exception.dispose().unwrap_or_default();
    }
}

impl ClrTypeSystem {
    /// Whether a handler rethrows the exceptions that it catches: that of an async method stores them in the
    /// task; that of a `finally` with an `await`, which catches every object, throws it at its end.
    fn rethrows(&self, debuggee: &ClrDebuggee, frame: &Frame, il: u32) -> bool {
        let keeps = || {
            let function = frame.function().ok()?;
            let loaded = self.modules.of(&function.module().ok()?)?;
            let metadata = &loaded.image()?.metadata;
            let catch = debuggee.catches(&function)?.into_iter().find(|catch| catch.il == il)?;
            if metadata.referenced_type(catch.class) == "System.Object" {
                return Some(true);
            }
            let body = function.il_bytes().ok()?;
            let calls = il::calls(&body);
            let mut inside = calls.iter().filter(|call| (catch.il..catch.end).contains(&call.il));
            Some(inside.any(|call| {
                let called = metadata.call_target(call.token);
                called.is_some_and(|(class, name, _)| name == "SetException" && keeps_in_task(&class))
            }))
        };
        keeps().unwrap_or(false)
    }

    /// Whether the method of a frame, or its source method, is marked as catching exceptions that do not
    /// concern the user, or is an assertion that expects them.
    fn is_unconcerned(&self, frame: &Frame) -> bool {
        let Some((loaded, method)) = self.method_of(frame) else { return false };
        let Some(metadata) = loaded.image().map(|image| &image.metadata) else { return false };
        let is_marked = |method: u32| metadata.has_attribute(method, UNCONCERNED);
        let kickoff = metadata.kickoff(method);
        is_marked(method)
            || kickoff.is_some_and(is_marked)
            || self.frame_class(frame).is_some_and(|class| expects(&class))
    }

    /// Whether reflection catches it in a call by an assertion that expects it.
    fn is_wrapped_for_assertion(&self, thread: &Thread, frame: &Frame) -> bool {
        if !self.frame_class(frame).is_some_and(|class| class.starts_with(REFLECTION)) {
            return false;
        }
        let Ok((_, end)) = frame.stack_range() else { return false };
        let frames = thread.frames(MAX_STACK_DEPTH).unwrap_or_default();
        let callers = frames.iter().skip_while(|frame| frame.stack_range().is_ok_and(|(_, at)| at <= end));
        let mut callers =
            callers.take(MAX_CALLERS).take_while(|frame| self.modules.is_user_frame(frame) != Some(true));
        callers.any(|frame| self.frame_class(frame).is_some_and(|class| expects(&class)))
    }

    /// The full name of the class whose method a frame runs.
    fn frame_class(&self, frame: &Frame) -> Option<String> {
        let (loaded, method) = self.method_of(frame)?;
        let metadata = &loaded.image()?.metadata;
        Some(metadata.type_name(metadata.owner_of(method)))
    }
}

impl Exceptions {
    /// Whether library code finally catches an exception that passed user code. `il`: where the handler
    /// begins. `passed`: the exception has passed user code on this stack.
    pub(super) fn is_caught_outside(
        &mut self,
        debuggee: &ClrDebuggee,
        types: &ClrTypeSystem,
        thread: &Thread,
        frame: &Frame,
        il: u32,
        passed: bool,
    ) -> bool {
        if !self.filters.has_filter_for(ExceptionStage::UserUnhandled)
            || !passed && self.thrown.task_exceptions.list.is_empty()
        {
            return false;
        }
        let (Some(is_users), Ok(thrown)) = (types.modules.is_user_frame(frame), thread.current_exception())
        else {
            return false;
        };
        let known = self.thrown.task_exceptions.position(&thrown);
        if !passed && known.is_none() {
            return false;
        }
        // An exception that leaves user code on this very stack is reported while its frames exist, wherever
        // the library releases it.
        if (is_users || !passed) && types.rethrows(debuggee, frame, il) {
            if known.is_none() {
                self.remember_task_exception(debuggee, types, &thrown);
            }
            return false;
        }
        if is_users {
            known
                .map(|at| self.thrown.task_exceptions.list.remove(at))
                .into_iter()
                .for_each(RememberedException::forget);
            return false;
        }
        if types.is_unconcerned(frame) || types.is_wrapped_for_assertion(thread, frame) {
            return false;
        }
        let was_reported = match known.and_then(|at| self.thrown.task_exceptions.list.get_mut(at)) {
            Some(one) => std::mem::replace(&mut one.is_reported, true),
            None => {
                self.remember(&thrown, false, true);
                false
            }
        };
        !was_reported
    }

    /// The exception at which a library requests a stop; `None` if it was reported already, or no filter
    /// matches.
    pub(crate) fn accept_request(&mut self, types: &ClrTypeSystem, thrown: &ClrValue) -> Option<Handle> {
        let object = object(thrown)?;
        let known = self.thrown.task_exceptions.position(thrown);
        let one = known.and_then(|at| self.thrown.task_exceptions.list.get_mut(at));
        let was_reported = one.is_some_and(|one| std::mem::replace(&mut one.is_reported, true));
        if was_reported || !self.filters.stop(ExceptionStage::UserUnhandled, &types.exception_types(thrown)) {
            return None;
        }
        if known.is_none() {
            self.remember(thrown, false, true);
        }
        object.handle().ok()
    }

    /// Remembers an exception that is stored in a task.
    fn remember_task_exception(&mut self, debuggee: &ClrDebuggee, types: &ClrTypeSystem, thrown: &ClrValue) {
        let lineage = types.exception_types(thrown);
        let cancels = lineage.iter().any(|name| name == CANCELLATION);
        if cancels || !self.filters.stop(ExceptionStage::UserUnhandled, &lineage) {
            return;
        }
        let is_forced = match object(thrown).map(|object| object.report_each_handler(true)) {
            Some(Ok(())) => true,
            Some(Err(error)) => {
                tracing::debug!(%error, "all exceptions are reported because of one that a task carries");
                false
            }
            None => return,
        };
        self.remember(thrown, is_forced, false);
        if !is_forced
            && let Err(failure) = debuggee.process().and_then(|process| self.report_all_exceptions(&process))
        {
            tracing::debug!(%failure, "the handlers of a carried exception are not reported");
        }
    }

    /// Sets the breakpoint where libraries request a stop, the first time it matters; the program is stopped.
    pub(crate) fn watch_for_requested_stops(&mut self, types: &ClrTypeSystem, breakpoints: &mut Breakpoints) {
        if !self.is_to_watch_for_requests() {
            return;
        }
        // If the framework is not loaded yet, this is tried again.
        let Some((loaded, class)) = types.type_named(REQUEST.0) else { return };
        self.thrown.task_exceptions.is_watched = true;
        let metadata = loaded.image().map(|image| &image.metadata);
        let found = metadata.and_then(|metadata| {
            metadata.methods(class).find(|method| metadata.method_name(*method) == REQUEST.1)
        });
        let function = found.and_then(|found| loaded.module.function(found).ok());
        breakpoints.requested_stop = function.and_then(|function| function.set_breakpoint(0).ok());
    }

    fn remember(&mut self, thrown: &ClrValue, is_forced: bool, is_reported: bool) {
        match object(thrown).map(|object| object.weak_handle()) {
            Some(Ok(exception)) => {
                self.thrown.task_exceptions.add(RememberedException { exception, is_forced, is_reported })
            }
            Some(Err(error)) => tracing::debug!(%error, "an exception cannot be kept in mind"),
            None => {}
        }
    }

    /// Whether libraries' requests for a stop matter, and nothing would report them yet.
    pub(crate) fn is_to_watch_for_requests(&self) -> bool {
        !self.thrown.task_exceptions.is_watched && self.filters.has_filter_for(ExceptionStage::UserUnhandled)
    }
}

impl ClrDebuggee {
    /// The exception types that a method catches. The debugging library has only the IL; the exception
    /// clauses lie around it in the program.
    fn catches(&self, function: &Function) -> Option<Vec<CatchClause>> {
        let (process, code) = (self.process.as_ref()?, function.il_address().ok()?);
        let size = u64::from(function.il_size().ok()?);
        let header = process.read_memory(code.checked_sub(il::FAT_HEADER.into())?, il::FAT_HEADER).ok()?;
        if !il::has_clauses(&header) {
            return None;
        }
        let section = code.checked_add(size)?.checked_next_multiple_of(4)?;
        let size = il::section_size(&process.read_memory(section, 4).ok()?)?;
        Some(il::catch_clauses(&process.read_memory(section, size.min(MAX_SECTION_BYTES)).ok()?))
    }
}

/// Whether a class, or the one that contains it, has methods that assert exceptions.
fn expects(class: &str) -> bool {
    EXPECTING.iter().any(|known| {
        let rest = class.strip_prefix(known);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || known.ends_with('.'))
    })
}

/// Whether a class with a method `SetException` stores the outcome of async methods.
fn keeps_in_task(class: &str) -> bool {
    let name = class.split(['<', '`']).next().unwrap_or(class);
    name.ends_with("MethodBuilder") || name.ends_with("ManualResetValueTaskSourceCore")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assertions_that_expect_exceptions_are_distinguished_from_runners() {
        for class in [
            "Xunit.Assert",
            "Xunit.Record.<ExceptionAsync>d__2",
            "NUnit.Framework.Constraints.ThrowsConstraint",
            "TUnit.Assertions.Conditions.ThrowsAssertion`1",
        ] {
            assert!(expects(class), "{class}");
        }
        for class in
            ["Xunit.Assertions", "Xunit.v3.TestRunner`2", "NUnit.Framework.Internal.Reflect", "Shop.Assert"]
        {
            assert!(!expects(class), "{class}");
        }
    }
}
