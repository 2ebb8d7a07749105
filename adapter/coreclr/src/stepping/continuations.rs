//! Ends of steps in awaiting code: where the awaiter of a method that a step leaves resumes, or the consumer
//! of a stream. That is the `await` where it waits or, if the item comes before it waits, the code after the
//! `await` that it is about to reach on another thread. Reads only; no code of the program runs.

use clr_metadata::il;
use cordebug::frame::Frame;
use cordebug::thread::Thread;
use cordebug::value::{Value as ClrValue, element};

use crate::active_step::{ActiveStep, AwaitBreakpoints, StateMachineRef, StepKind, own_argument};
use crate::bare_value::bare;
use crate::code_position::{CodePosition, MAX_FRAMES};
use crate::debuggee::ClrDebuggee;
use crate::session::ClrSession;
use crate::stack::async_callers::{Continuation, ITEM};
use crate::stop_context::StopContext;
use crate::types::ClrTypeSystem;
use crate::value_store::AwaitingMethod;

/// Most threads whose stacks are searched.
const MAX_THREADS: usize = 256;
/// Most fields of a state machine that are searched.
const MAX_FIELDS: usize = 512;

impl ClrSession {
    /// Where a step ends in the code that awaits the async method on top. `None` if the stepper finds that
    /// code itself, if it is on this stack, or if it is not known. If no step can end there, users are
    /// notified, and there is nothing to wait for.
    pub(super) fn caller(&mut self, thread: &Thread) -> Option<AwaitBreakpoints> {
        let frames = thread.frames(MAX_FRAMES).ok()?;
        if self.program.types.is_called_by_its_beginning(&frames) {
            return None;
        }
        let machine = own_argument(thread)?;
        match self.at_stop().continuation_of(&self.options, &machine) {
            Continuation::In(waiting, machine) => resumes(&waiting, &machine),
            Continuation::Nowhere => {
                let (loaded, method) = self.program.types.method_of(frames.first()?)?;
                let name = loaded.method_display(method);
                self.hub.outbox.note_lost_step(&format!(
                    "The step out of `{name}` ends nowhere: none of your code awaits it. The program runs on."
                ));
                Some(AwaitBreakpoints::Nothing)
            }
            Continuation::Directly | Continuation::Unknown => None,
        }
    }

    /// Prepares a step that leaves the last user method on a stack, which a library has called. It ends where
    /// the user code that waits for that library resumes; a stepper would end in whatever the thread runs
    /// next. `false` if it leaves no such method.
    pub(super) fn prepare_end(
        &mut self,
        step: &mut ActiveStep,
        thread: &Thread,
        from: &CodePosition,
    ) -> bool {
        if !self.options.just_my_code || step.target.is_some() || !from.leaves_method(step.way) {
            return false;
        }
        let frames = thread.frames(MAX_FRAMES).unwrap_or_default();
        let is_known = |frame: &Frame| self.program.types.method_of(frame).is_some();
        // The program's `Main` has no caller; a truncated stack may lead to anything.
        if frames.len() >= MAX_FRAMES || !frames.iter().skip(1).any(is_known) {
            return false;
        }
        let is_users = |frame: &Frame| {
            self.program
                .types
                .method_of(frame)
                .is_some_and(|(loaded, method)| self.program.types.modules.is_users(&loaded, method))
        };
        if frames.iter().skip(1).any(is_users) {
            return false;
        }
        let waits = self
            .at_stop()
            .find_waiting_method(&self.options, &frames)
            .and_then(|(waiting, machine)| resumes(&waiting, &machine));
        if waits.is_none()
            && let Some(task) = self.program.types.task_on(&frames)
        {
            // Code that will await it may only be about to do so.
            match self.notify_when_awaited(step, task) {
                Ok(()) => return true,
                Err(failure) => tracing::debug!(%failure, "no notice of the task's completion"),
            }
        }
        if waits.is_none() {
            let name = from.loaded.method_display(from.method);
            self.hub.outbox.note_lost_step(&format!(
                "The step out of `{name}` ends nowhere: a library has called it, and none of your code is \
                    known to wait for that. The program \
                 runs on."
            ));
        }
        step.awaiting = waits.unwrap_or(AwaitBreakpoints::Nothing);
        true
    }
}

impl ClrTypeSystem {
    /// Whether the method on top is an async iterator.
    pub(super) fn is_async_iterator(&self, thread: &Thread) -> bool {
        own_argument(thread).is_some_and(|machine| self.field_named(&machine, ITEM).is_some())
    }

    /// The resume point of a consumer that does not wait yet, because it runs on another thread.
    fn find_running_consumer(&self, debuggee: &ClrDebuggee, thread: &Thread) -> Option<AwaitBreakpoints> {
        let (own, stream) = (thread.id().ok()?, address_of(&own_argument(thread)?)?);
        let others = debuggee.process().ok()?.threads().ok()?;
        let others = others.into_iter().filter(|other| other.id() != Ok(own)).take(MAX_THREADS);
        others.into_iter().find_map(|other| self.find_consumer_on(&other, stream))
    }

    /// Searches one thread: the nearest async method below the stream's own, or one that stores the stream.
    fn find_consumer_on(&self, thread: &Thread, stream: u64) -> Option<AwaitBreakpoints> {
        let mut is_called = false;
        for frame in thread.frames(MAX_FRAMES).ok()? {
            let Some(at) = self.modules.position_of(&frame).filter(|at| !at.loaded.is_framework) else {
                continue;
            };
            let Ok(machine) = frame.argument(0) else { continue };
            if address_of(&machine) == Some(stream) {
                is_called = true;
            } else if let Some(ahead) = at.await_ahead()
                && (is_called || self.keeps(&machine, stream))
            {
                let breakpoint = at.break_behind(&ahead)?;
                return Some(AwaitBreakpoints::Consumer {
                    breakpoint,
                    machine: StateMachineRef::of(&machine),
                });
            }
        }
        None
    }

    /// Whether a field of a state machine, or of a struct in one, refers to an object.
    fn keeps(&self, machine: &ClrValue, object: u64) -> bool {
        let fields = self.values_inside(machine);
        fields.iter().any(|field| match field.element_type() {
            Ok(element::VALUETYPE) => self.values_inside(field).iter().any(|inner| refers_to(inner, object)),
            _ => refers_to(field, object),
        })
    }

    fn values_inside(&self, value: &ClrValue) -> Vec<ClrValue> {
        let Some(inner) = bare(value) else { return Vec::new() };
        let members = self.members(&inner).into_iter().take(MAX_FIELDS);
        members.filter_map(|member| self.field_at(&inner, member.step)).collect()
    }
}

impl StopContext<'_> {
    /// Where the consumer of the stream on top resumes. `None` if it is on this stack, or not known.
    pub(super) fn consumer(&self, thread: &Thread) -> Option<AwaitBreakpoints> {
        let frames = thread.frames(MAX_FRAMES).ok()?;
        if self.types.is_called_by_its_beginning(&frames) {
            return None;
        }
        let Some((waiting, machine)) = self.waits_for_item(&frames) else {
            return self.types.find_running_consumer(self.debuggee, thread);
        };
        resumes(&waiting, &machine)
    }
}

impl CodePosition {
    /// Whether a step from here only leaves the method.
    fn leaves_method(&self, way: StepKind) -> bool {
        let is_async = || self.loaded.pdb.as_ref().is_ok_and(|pdb| !pdb.await_steps(self.method).is_empty());
        let Some((_, end)) = self.statement().filter(|_| !is_async()) else { return false };
        let returns = || il::only_returns(&self.function.il_bytes().unwrap_or_default(), self.il, end);
        match way {
            StepKind::Out => true,
            StepKind::Over => returns(),
            StepKind::Into => returns() && self.calls().iter().all(|call| call.il < self.il),
        }
    }
}

/// Where a waiting method resumes.
fn resumes(waiting: &AwaitingMethod, machine: &ClrValue) -> Option<AwaitBreakpoints> {
    let awaits = waiting.loaded.pdb.as_ref().ok()?.await_steps(waiting.method);
    let at = awaits.into_iter().find(|at| Some(at.yield_il) == waiting.il)?;
    let breakpoint = waiting.loaded.module.function(at.method).ok()?.set_breakpoint(at.resume_il).ok()?;
    Some(AwaitBreakpoints::Consumer { breakpoint, machine: StateMachineRef::of(machine) })
}

/// The address of the object that a variable refers to.
fn address_of(value: &ClrValue) -> Option<u64> {
    value.as_reference()?.target().ok().filter(|target| *target != 0)
}

fn refers_to(value: &ClrValue, object: u64) -> bool {
    address_of(value) == Some(object)
}
