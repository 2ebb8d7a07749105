//! The end of a step: whether it ends the request, or continues because users do not want to stop there.
//!
//! Not here: starting a step ([`super`]), steps across `await` ([`super::awaits`]).

use cordebug::callback::step;
use cordebug::thread::{Stepper, Thread};
use tandem_wire::Failure;
use tandem_wire::types::StoppedEventBody;

use crate::active_step::{ActiveStep, StepKind};
use crate::code_position::{CodePosition, StepStart};
use crate::options::SessionOptions;
use crate::session::ClrSession;
use crate::types::ClrTypeSystem;

/// The action after a completed step.
enum StepAction {
    Stop,
    /// A step of this kind, from here.
    Go(StepKind),
    /// The step again from its beginning, for the rest of its statement.
    SetOut,
}

impl ClrSession {
    /// The runtime reports that a step is complete.
    pub(crate) fn on_step_complete(&mut self, thread: &Thread, stepper: &Stepper, reason: u32) {
        let is_current = |step: &ActiveStep| step.stepper.as_ref().is_some_and(|own| own.is(stepper));
        // It belongs to a step that was cancelled before it completed.
        let Some(mut step) = self.stepping.step.take_if(|step| is_current(step)) else { return };
        if !step.is_instruction
            && let Some(position) = self.program.types.modules.position(thread)
        {
            tracing::trace!(reason, method = position.method, il = position.il, "a step completed");
            self.read_return_values(&mut step, thread, &position, reason);
            match self.continue_step(&mut step, thread, &position, reason) {
                Ok(true) => return self.stepping.step = Some(step),
                Ok(false) => {}
                Err(failure) => tracing::debug!(%failure, "the step stops early"),
            }
        }
        self.program.values.show_returns(&mut step);
        self.stepping.step = Some(step);
        self.stop_at(thread, StoppedEventBody::because("step"));
    }

    /// Continues from a position where the step must not end; `false` if it may end there.
    fn continue_step(
        &mut self,
        step: &mut ActiveStep,
        thread: &Thread,
        at: &CodePosition,
        reason: u32,
    ) -> Result<bool, Failure> {
        let is_call = !matches!(reason, step::NORMAL | step::RETURN);
        if is_call
            && step.way == StepKind::Into
            && self.program.types.skips_method(&self.options, step, thread, at)
        {
            step.returning = true;
            step.stepper = Some(self.program.types.stepper_through(&self.options, thread, at)?);
            return Ok(true);
        }
        match next_move(step, at, reason) {
            StepAction::Stop => return Ok(false),
            StepAction::Go(StepKind::Out) => {
                step.stepper = Some(self.program.types.stepper_out(&self.options, thread)?)
            }
            StepAction::Go(way) => step.stepper = Some(self.options.stepper(thread, way, at, false)?),
            // It has left the method already.
            StepAction::SetOut if step.way == StepKind::Out => {
                step.stepper = Some(self.options.stepper(thread, StepKind::Over, at, step.is_async)?);
            }
            StepAction::SetOut => self.set_out(step, thread, at)?,
        }
        Ok(true)
    }
}

impl ClrTypeSystem {
    /// Whether a step into calls skips the reached method: another call than the chosen one; without a
    /// choice, accessors and operators.
    fn skips_method(
        &self,
        options: &SessionOptions,
        step: &ActiveStep,
        thread: &Thread,
        at: &CodePosition,
    ) -> bool {
        if let (Some(target), Some(origin)) = (step.target, &step.origin) {
            return self.call_under_way(thread, origin).is_some_and(|call| call != target);
        }
        let image = at.loaded.image();
        options.step_filters && image.is_some_and(|image| image.metadata.is_accessor_or_operator(at.method))
    }
}

fn next_move(step: &mut ActiveStep, at: &CodePosition, reason: u32) -> StepAction {
    let Ok(pdb) = &at.loaded.pdb else { return StepAction::Stop };
    let Some(first) = pdb.first_statement(at.method) else {
        // Compiler-generated: the constructor of a closure, the `Main` around an async one. The target of a
        // step into may still lie ahead: a state machine is created before it is started.
        step.returning = step.way == StepKind::Into;
        return StepAction::Go(if step.returning { StepKind::Into } else { StepKind::Out });
    };
    if at.il < first.il {
        // A state machine evaluates its state before it reaches a statement.
        return StepAction::Go(StepKind::Over);
    }
    let is_hidden = at.is_hidden(reason == step::NORMAL);
    let is_home =
        step.origin.as_ref().is_some_and(|home| (home.module, home.method) == (at.loaded.id, at.method));
    if let Some(home) = step.origin.as_ref().filter(|_| is_home)
        // A thread that was stopped on its way into a call returns from it, into the statement that it never
        // left.
        && (step.returning || step.way != StepKind::Out && home.frame.is_some() && home.frame == at.frame)
        && (is_hidden || reason != step::NORMAL)
        && at.il >= home.statement.0
        && at.il < home.statement.1
    {
        return StepAction::SetOut;
    }
    if reason == step::RETURN && step.start.as_ref().is_some_and(|start| at.is_finally(start)) {
        return if step.way == StepKind::Out { StepAction::Go(StepKind::Out) } else { StepAction::SetOut };
    }
    let is_same = |start: &StepStart| at.is_later_piece_of(start, step.is_async);
    let is_no_place = is_hidden || reason == step::NORMAL && at.only_jump_remains();
    match is_no_place || step.start.as_ref().is_some_and(is_same) {
        true => StepAction::SetOut,
        false => StepAction::Stop,
    }
}
