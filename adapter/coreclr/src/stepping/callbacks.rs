//! Lambdas and methods that a statement passes to a library, which may call them on another thread
//! (`Task.Run`, `ContinueWith`): a step into the statement ends in the first one that is entered. On the
//! step's own thread the runtime's stepper finds them.
//!
//! Not here: callbacks of the runtime ([`super::super::callbacks`]).

use clr_metadata::il;
use cordebug::frame::RuntimeBreakpoint;
use cordebug::thread::Thread;
use tandem_wire::types::StoppedEventBody;

use crate::active_step::{ActiveStep, StepKind};
use crate::code_position::CodePosition;
use crate::session::ClrSession;
use crate::types::ClrTypeSystem;

/// Most methods of a statement that get a breakpoint.
const MAX_METHODS: usize = 20;

impl ClrSession {
    /// A breakpoint was hit. `true` if it is one in a passed method, and so has no other meaning.
    pub(crate) fn callback_entered(&mut self, thread: &Thread, hit: &RuntimeBreakpoint) -> bool {
        let is_own = |step: &ActiveStep| step.callbacks.is_hit_by(hit);
        let Some(step) = self.stepping.step.as_ref().filter(|step| is_own(step)) else { return false };
        let stepper_comes = step.stepper.is_some() && thread.id() == Ok(step.thread);
        if !stepper_comes {
            self.stop_at(thread, StoppedEventBody::because("step"));
        }
        true
    }
}

impl ClrTypeSystem {
    /// Sets breakpoints in the methods that the rest of a statement passes to a library. Those of an earlier
    /// preparation for the same statement stay.
    pub(super) fn await_callbacks(&self, step: &mut ActiveStep, from: &CodePosition) {
        if !step.callbacks.start(from) {
            return;
        }
        if step.way != StepKind::Into || step.target.is_some() {
            return;
        }
        let Some((_, end)) = from.statement() else { return };
        let body = from.function.il_bytes().unwrap_or_default();
        let passed = il::method_pointers(&body).into_iter().filter(|at| (from.il..end).contains(&at.il));
        step.callbacks.arm(passed.take(MAX_METHODS).filter_map(|at| self.break_in(from, at.token)));
    }

    /// A breakpoint at the first statement of a user method, or of its state machine.
    fn break_in(&self, from: &CodePosition, token: u32) -> Option<RuntimeBreakpoint> {
        let (_, _, method) = from.loaded.image()?.metadata.call_target(token)?;
        let pdb = from.loaded.pdb.as_ref().ok()?;
        let body = pdb.move_next(method?).or(method)?;
        let first = pdb.first_statement(body).filter(|_| self.modules.is_users(&from.loaded, body))?;
        let function = from.loaded.module.function(body).ok()?;
        function
            .set_breakpoint(first.il)
            .inspect_err(|error| tracing::debug!(%error, "a lambda is not waited for"))
            .ok()
    }
}
