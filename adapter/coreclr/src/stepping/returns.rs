//! Return values of the calls in a statement that is stepped over, and of a method that is stepped out of: an
//! internal breakpoint after each call of user code, where ICorDebug can still read the value. Values that
//! cannot be read are left out. Not here: their rows ([`crate::values`]).

use std::mem;

use cordebug::callback::step;
use cordebug::frame::{Frame, RuntimeBreakpoint};
use cordebug::thread::Thread;
use cordebug::value::element;

use crate::active_step::{ActiveStep, CallSite, MAX_SHOWN, StepKind};
use crate::code_position::CodePosition;
use crate::methods;
use crate::session::ClrSession;
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::value_store::{Returned, ValueStore};
use crate::values::UNNAMED;

/// Most calls of a statement that are considered.
const MAX_LOOKED_AT: usize = 40;

impl ClrSession {
    /// A breakpoint was hit. `true` if it follows a call of the step, and so belongs to nothing else.
    pub(crate) fn call_returned(&mut self, thread: &Thread, hit: &RuntimeBreakpoint) -> bool {
        let is_own = |step: &ActiveStep| step.returns.is_hit_by(hit);
        let Some(mut step) = self.stepping.step.take_if(|step| is_own(step)) else { return false };
        if !self.read_returns(&mut step, thread) {
            step.returns.count_other_hit();
        }
        self.stepping.step = Some(step);
        true
    }

    /// Reads return values when a step has completed: right after a call, or outside the called method.
    pub(super) fn read_return_values(
        &mut self,
        step: &mut ActiveStep,
        thread: &Thread,
        at: &CodePosition,
        reason: u32,
    ) {
        self.read_returns(step, thread);
        if reason != step::RETURN {
            return;
        }
        let top = thread.frames(1).ok().and_then(|frames| frames.into_iter().next());
        let Some(frame) = top else { return };
        for call in self.program.types.calls_with_values(at) {
            if self.read_return(step, &frame, &call) {
                return;
            }
        }
    }

    /// Reads the return value of the call that the statement's frame is right after.
    /// `false` in any other frame.
    fn read_returns(&mut self, step: &mut ActiveStep, thread: &Thread) -> bool {
        if step.returns.armed.is_empty() || thread.id() != Ok(step.thread) {
            return false;
        }
        let top = thread.frames(1).ok().and_then(|frames| frames.into_iter().next());
        let home = step.origin.as_ref().and_then(|origin| origin.frame);
        let is_home = |frame: &Frame| home.is_some() && frame.stack_range().ok().map(|(_, end)| end) == home;
        let Some(frame) = top.filter(is_home) else { return false };
        let armed = mem::take(&mut step.returns.armed);
        for (_, call) in &armed {
            if self.read_return(step, &frame, call) {
                break;
            }
        }
        step.returns.armed = armed;
        true
    }

    /// Reads the return value of a call, if a frame is right after it.
    fn read_return(&mut self, step: &mut ActiveStep, frame: &Frame, call: &CallSite) -> bool {
        // The runtime refuses to read it anywhere else.
        let Ok(value) = frame.return_value(call.il) else { return false };
        let kind = value.element_type().unwrap_or(element::VOID);
        let is_enum = || self.program.types.enum_storage(&self.program.types.declared_ty(&value)).is_some();
        // Structs may be returned in several registers, or in none: the runtime then reads something else.
        let is_readable = match kind {
            element::VOID | element::BYREF => false,
            element::VALUETYPE => is_enum(),
            _ => true,
        };
        if is_readable {
            match self.at_stop().wrap_result(Some(value), &Ty::Other, UNNAMED) {
                Ok(val) => step.returns.add(Returned { il: call.il, name: call.name.clone(), val }),
                Err(failure) => tracing::debug!(%failure, "what a call returned is not shown"),
            }
        }
        true
    }
}

impl ClrTypeSystem {
    /// Prepares to read the return values of the rest of a statement's calls.
    pub(super) fn await_returns(&self, step: &mut ActiveStep, thread: &Thread, from: &CodePosition) {
        if step.way != StepKind::Over {
            return;
        }
        let mut calls = self.calls_with_values(from);
        calls.retain(|call| call.il >= from.il);
        if calls.is_empty() {
            return;
        }
        let top = thread.frames(1).ok().and_then(|frames| frames.into_iter().next());
        let Some((code, _)) = top.and_then(|frame| frame.native().ok()) else { return };
        for call in calls {
            // A `void` call has no such offset.
            for offset in code.return_value_offsets(call.il).unwrap_or_default() {
                match code.set_breakpoint(offset) {
                    Ok(breakpoint) => {
                        step.returns
                            .armed
                            .push((breakpoint, CallSite { il: call.il, name: call.name.clone() }));
                    }
                    Err(error) => tracing::debug!(%error, "what a call returns is not shown"),
                }
            }
        }
    }

    /// The calls of a statement that lead to user code.
    fn calls_with_values(&self, at: &CodePosition) -> Vec<CallSite> {
        let Some(image) = at.loaded.image() else { return Vec::new() };
        let shown = |call: clr_metadata::il::CallInstruction| {
            let (_, name, _) = image.metadata.call_target(call.token)?;
            if name.starts_with('.') {
                return None;
            }
            self.call_label(&at.loaded, call.token)?;
            Some(CallSite { il: call.il, name: methods::short_name(name) })
        };
        at.calls().into_iter().take(MAX_LOOKED_AT).filter_map(shown).take(MAX_SHOWN).collect()
    }
}

impl ValueStore {
    /// The step is over: its return values are shown until the program resumes.
    pub(super) fn show_returns(&mut self, step: &mut ActiveStep) {
        let values = step.returns.take_values();
        self.references.returned = (!values.is_empty()).then_some((step.thread, values));
    }
}
