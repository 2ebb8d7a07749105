//! Steps: over, into and out of statements of user code, on one thread or across threads.
//!
//! A step is one [`ActiveStep`] from the request to its stop. The runtime's stepper does the plain part; each
//! completed step is checked ([`step_complete`]) and may need another go; an `await` ([`awaits`]) uses
//! internal breakpoints, and so do return values of calls ([`returns`]) and methods that calls receive
//! ([`callbacks`]). Any other stop cancels the step. Not here: breakpoints of clients
//! ([`super::breakpoints`]).

mod awaits;
mod callbacks;
mod continuations;
mod goto;
mod returns;
mod step_complete;
mod targets;

use cordebug::thread::{Stepper, Thread};
use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{self, ContinueResponseBody};

use super::active_step::{ActiveStep, AwaitBreakpoints, Callbacks, ReturnValues, StepKind};
use super::code_position::CodePosition;
use super::cor;
use super::session::ClrSession;
use crate::options::SessionOptions;
use crate::types::ClrTypeSystem;

impl ClrSession {
    /// `next`, `stepIn`, `stepOut`.
    pub(super) fn step(&mut self, command: &str, arguments: &Value) -> Result<Value, Failure> {
        let id = self.program.debuggee.thread_of(arguments)?;
        let thread = self.program.debuggee.thread(id)?;
        let position = self.program.types.modules.position(&thread);
        if position.is_none() && thread.frames(1).is_ok_and(|frames| frames.is_empty()) {
            return Err(Failure::invalid(format!("thread {id} runs no managed code, so it cannot step"))
                .hint("step another thread, or continue"));
        }
        let way = match command {
            "next" => StepKind::Over,
            "stepIn" => StepKind::Into,
            _ => StepKind::Out,
        };
        let mut step = ActiveStep {
            way,
            thread: id,
            stepper: None,
            start: None,
            origin: None,
            is_instruction: way != StepKind::Out && arguments["granularity"] == "instruction",
            target: self.stepping.chosen_call(arguments, id)?,
            is_async: false,
            returning: false,
            awaiting: AwaitBreakpoints::Nothing,
            returns: ReturnValues::default(),
            callbacks: Callbacks::default(),
        };
        match position {
            _ if step.is_instruction => step.stepper = Some(instruction_stepper(&thread, way)?),
            Some(position) if position.statement().is_some() => {
                step.start = position.step_start();
                self.set_out(&mut step, &thread, &position)?;
            }
            _ => {
                // Code without source has no statements: the step leaves it, for the rest of the calling
                // statement.
                step.origin = self
                    .program
                    .types
                    .modules
                    .calling_statement(&thread)
                    .as_ref()
                    .and_then(CodePosition::origin);
                step.returning = way != StepKind::Out && step.origin.is_some();
                step.stepper = Some(self.program.types.stepper_out(&self.options, &thread)?);
            }
        }
        self.stepping.hold_others(&self.program.debuggee, arguments)?;
        self.stepping.step = Some(step);
        self.resume()?;
        Ok(Value::Null)
    }

    /// `continue` of all threads, or of one.
    pub(super) fn continue_request(&mut self, arguments: &Value) -> Result<Value, Failure> {
        self.stepping.hold_others(&self.program.debuggee, arguments)?;
        let is_single = self.stepping.only_thread.is_some();
        self.resume()?;
        let all_threads_continued = Some(!is_single);
        Ok(types::body(&ContinueResponseBody { all_threads_continued, ..ContinueResponseBody::default() }))
    }

    /// Prepares a step from a position in the source.
    fn set_out(
        &mut self,
        step: &mut ActiveStep,
        thread: &Thread,
        from: &CodePosition,
    ) -> Result<(), Failure> {
        step.origin = from.origin();
        (step.is_async, step.returning) = (false, false);
        std::mem::replace(&mut step.awaiting, AwaitBreakpoints::Nothing).clear();
        step.returns.disarm();
        if step.way == StepKind::Over
            && let Some(call) = from.finally_ahead()
        {
            (step.way, step.target) = (StepKind::Into, Some(call));
        }
        // Preparing may run code, which makes every frame stale, but neither the thread nor `from`.
        if !self.prepare_awaits(step, thread, from) && !self.prepare_end(step, thread, from) {
            step.stepper = Some(match step.way {
                StepKind::Out => self.program.types.stepper_out(&self.options, thread)?,
                way => self.options.stepper(thread, way, from, step.is_async)?,
            });
        }
        self.program.types.await_returns(step, thread, from);
        self.program.types.await_callbacks(step, from);
        Ok(())
    }
}

impl SessionOptions {
    /// A runtime stepper that leaves a position, over calls or into them.
    fn stepper(
        &self,
        thread: &Thread,
        way: StepKind,
        from: &CodePosition,
        is_async: bool,
    ) -> Result<Stepper, Failure> {
        // The runtime does not count code that was optimised before the attach as user code: from there it
        // steps anywhere.
        let only_users = self.just_my_code || from.loaded.is_marked.get();
        let stepper = thread.create_stepper(only_users).map_err(cor("prepare a step"))?;
        stepper.step_ranges(way == StepKind::Into, &from.ranges(is_async)).map_err(cor("step"))?;
        Ok(stepper)
    }
}

impl ClrTypeSystem {
    /// A stepper that leaves the method on top, to the nearest code that can stop.
    fn stepper_out(&self, options: &SessionOptions, thread: &Thread) -> Result<Stepper, Failure> {
        let is_marked = || {
            self.modules.position(thread).is_none_or(|at| at.loaded.is_framework || at.loaded.is_marked.get())
        };
        let only_users = options.just_my_code || is_marked();
        let stepper = thread.create_stepper(only_users).map_err(cor("prepare a step"))?;
        stepper.step_out().map_err(cor("step"))?;
        Ok(stepper)
    }

    /// A stepper that runs through the rest of a method, over its calls, to its caller, or to the next method
    /// that a calling library calls: a stepper out would miss that.
    fn stepper_through(
        &self,
        options: &SessionOptions,
        thread: &Thread,
        at: &CodePosition,
    ) -> Result<Stepper, Failure> {
        if at.size == 0 {
            return self.stepper_out(options, thread);
        }
        let stepper = thread.create_stepper(options.just_my_code).map_err(cor("prepare a step"))?;
        stepper.step_ranges(false, &[(0, at.size)]).map_err(cor("step"))?;
        Ok(stepper)
    }
}

/// A runtime stepper that executes one machine instruction, over a call or into it.
fn instruction_stepper(thread: &Thread, way: StepKind) -> Result<Stepper, Failure> {
    let stepper = thread.create_stepper(false).map_err(cor("prepare a step"))?;
    stepper.step_instruction(way == StepKind::Into).map_err(cor("step"))?;
    Ok(stepper)
}
