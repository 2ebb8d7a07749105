//! Where whoever awaits the method that a step leaves goes on, and whoever asked a stream for its next item: at the `await` where it
//! waits, or, when the item comes before it waits, behind the `await` that it is coming to on a thread of its own. Everything is read;
//! nothing runs.

use clr_metadata::il;
use clr_metadata::pdb::AwaitStep;
use cordebug::frame::Breakpoint;
use cordebug::thread::Thread;
use cordebug::value::{Value as ClrValue, element};

use super::awaits::{Awaiting, Machine, own_argument};
use super::{MOST_FRAMES, Position};
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::stack::awaiting::{GoesOn, ITEM, Waiting};
use crate::engine::coreclr::values::bare;

/// Most threads whose stacks are looked at.
const MOST_THREADS: usize = 256;
/// Most fields of a state machine that are looked at.
const MOST_FIELDS: usize = 512;

impl Session {
    /// Whether the method on top is that of a stream.
    pub(super) fn gives_items(&self, thread: &Thread) -> bool {
        own_argument(thread).is_some_and(|machine| self.field_named(&machine, ITEM).is_some())
    }

    /// Where whoever wants the next item of the stream on top goes on. None when it is on this stack, or nobody is known.
    pub(super) fn consumer(&mut self, thread: &Thread) -> Option<Awaiting> {
        let frames = thread.frames(MOST_FRAMES).ok()?;
        if self.is_called_by_its_beginning(&frames) {
            return None;
        }
        let Some((waiting, machine)) = self.waits_for_item(&frames) else { return self.coming(thread) };
        resumes(&waiting, &machine)
    }

    /// Where a step ends behind the code that awaits the async method on top. None when that code itself is such a place, is on
    /// this stack, or is not known. Where no step can end, people are told, and there is nothing to wait for.
    pub(super) fn caller(&mut self, thread: &Thread) -> Option<Awaiting> {
        let frames = thread.frames(MOST_FRAMES).ok()?;
        if self.is_called_by_its_beginning(&frames) {
            return None;
        }
        let machine = own_argument(thread)?;
        match self.goes_on_behind(&machine) {
            GoesOn::In(waiting, machine) => resumes(&waiting, &machine),
            GoesOn::Nowhere => {
                let (loaded, method) = self.method_of(frames.first()?)?;
                let name = self.method_display(&loaded, method);
                self.note(&format!(
                    "The step out of `{name}` ends nowhere: none of your code awaits it. The program runs on."
                ));
                Some(Awaiting::Nothing)
            }
            GoesOn::Directly | GoesOn::Unknown => None,
        }
    }

    /// The same, of a consumer that does not wait yet: it runs on another thread.
    fn coming(&self, thread: &Thread) -> Option<Awaiting> {
        let (own, stream) = (thread.id().ok()?, place(&own_argument(thread)?)?);
        let others = self.process().ok()?.threads().ok()?;
        let others = others.into_iter().filter(|other| other.id() != Ok(own)).take(MOST_THREADS);
        others.into_iter().find_map(|other| self.coming_on(&other, stream))
    }

    /// Looks for it on one thread: the nearest async method below the stream's own, or one that keeps the stream.
    fn coming_on(&self, thread: &Thread, stream: u64) -> Option<Awaiting> {
        let mut is_called = false;
        for frame in thread.frames(MOST_FRAMES).ok()? {
            let Some(at) = self.position_of(&frame).filter(|at| !at.loaded.is_framework) else { continue };
            let Ok(machine) = frame.argument(0) else { continue };
            if place(&machine) == Some(stream) {
                is_called = true;
            } else if let Some(ahead) = at.await_ahead()
                && (is_called || self.keeps(&machine, stream))
            {
                let breakpoint = at.break_behind(&ahead)?;
                return Some(Awaiting::Consumer { breakpoint, machine: Machine::of(&machine) });
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
        let members = self.members(&inner).into_iter().take(MOST_FIELDS);
        members.filter_map(|member| self.field_at(&inner, member.step)).collect()
    }
}

impl Position {
    /// The `await` that the method here comes to next; none where it is no async method, or behind the last.
    fn await_ahead(&self) -> Option<AwaitStep> {
        let awaits = self.loaded.pdb.as_ref().ok()?.await_steps(self.method);
        awaits.into_iter().filter(|at| at.resume_il > self.il).min_by_key(|at| at.resume_il)
    }

    /// A breakpoint where the method goes on behind an `await`, whether it had to wait there or not.
    fn break_behind(&self, at: &AwaitStep) -> Option<Breakpoint> {
        // What is complete already is not waited for: a branch leads past the wait.
        let passes = |branch: &&il::Branch| branch.il < at.yield_il && branch.target > at.resume_il;
        let branches = il::branches(&self.function.il_bytes().ok()?);
        let past = branches.iter().filter(passes).max_by_key(|branch| branch.il).map(|branch| branch.target);
        let behind = past.and_then(|il| self.function.set_breakpoint(il).ok());
        behind.or_else(|| self.function.set_breakpoint(at.resume_il).ok())
    }
}

/// Where a method goes on that waits.
fn resumes(waiting: &Waiting, machine: &ClrValue) -> Option<Awaiting> {
    let awaits = waiting.loaded.pdb.as_ref().ok()?.await_steps(waiting.method);
    let at = awaits.into_iter().find(|at| Some(at.yield_il) == waiting.il)?;
    let breakpoint = waiting.loaded.module.function(at.method).ok()?.set_breakpoint(at.resume_il).ok()?;
    Some(Awaiting::Consumer { breakpoint, machine: Machine::of(machine) })
}

/// The address of the object that a variable refers to.
fn place(value: &ClrValue) -> Option<u64> {
    value.as_reference()?.target().ok().filter(|target| *target != 0)
}

fn refers_to(value: &ClrValue, object: u64) -> bool {
    place(value) == Some(object)
}
