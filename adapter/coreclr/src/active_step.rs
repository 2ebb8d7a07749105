//! The step under way, with the breakpoints that it has set for itself, the targets offered at a stop, and
//! the thread that runs alone. Begins and ends no step ([`super::stepping`]).

mod await_breakpoints;
mod callbacks;
mod return_values;
mod targets;

use cordebug::debugger::Process;
use cordebug::thread::{Stepper, Thread};
use serde_json::Value;
use tandem_wire::Failure;

use super::code_position::{CodePosition, StepOrigin, StepStart};
use super::cor;
use super::debuggee::ClrDebuggee;
use super::modules::Modules;
pub(super) use await_breakpoints::{AwaitBreakpoints, StateMachineRef, own_argument};
pub(super) use callbacks::Callbacks;
pub(super) use return_values::{CallSite, MAX_SHOWN, ReturnValues};
pub(super) use targets::ExecutionTarget;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepKind {
    Over,
    Into,
    Out,
}

/// A step that has begun and not ended, with the breakpoints that it has set for itself.
pub(super) struct ActiveStep {
    pub(super) way: StepKind,
    pub(super) thread: u32,
    pub(super) stepper: Option<Stepper>,
    pub(super) start: Option<StepStart>,
    pub(super) origin: Option<StepOrigin>,
    /// It covers one machine instruction, and ends wherever that leads.
    pub(super) is_instruction: bool,
    /// The call to go into, by its IL offset in the statement.
    pub(super) target: Option<u32>,
    /// It began in an async method.
    pub(super) is_async: bool,
    /// It is leaving code that it must not end in, back to the statement where it began.
    pub(super) returning: bool,
    pub(super) awaiting: AwaitBreakpoints,
    pub(super) returns: ReturnValues,
    pub(super) callbacks: Callbacks,
}

impl ActiveStep {
    /// Removes its breakpoints and stepper from the program.
    pub(super) fn give_up(mut self) {
        if let Some(stepper) = &self.stepper {
            // Deactivating a completed stepper fails harmlessly.
            stepper.deactivate().unwrap_or_default();
        }
        self.returns.disarm();
        self.callbacks.disarm();
        self.awaiting.clear();
    }
}

/// The current step, and the targets offered at this stop.
#[derive(Default)]
pub(super) struct Stepping {
    pub(super) step: Option<ActiveStep>,
    /// Calls and statements that clients were offered at this stop.
    targets: Vec<ExecutionTarget>,
    /// The thread that runs alone until the next stop.
    pub(super) only_thread: Option<u32>,
}

impl Stepping {
    /// The program resumes: its targets belong to the last stop.
    pub(super) fn forget_targets(&mut self) {
        self.targets.clear();
    }

    /// Drops the step: the program has ended.
    pub(super) fn forget(&mut self) {
        self.step = None;
    }

    /// Whether a thread is in a call of the very statement that it steps over or into.
    pub(super) fn steps_over_here(&self, modules: &Modules, thread: &Thread) -> bool {
        let Some(step) = self.step.as_ref().filter(|step| step.way != StepKind::Out) else { return false };
        let place = modules.calling_statement(thread).as_ref().and_then(CodePosition::step_start);
        step.thread == thread.id().unwrap_or(0)
            && step.start.as_ref().zip(place).is_some_and(|(start, at)| {
                (start.module, start.method, start.point, start.frame)
                    == (at.module, at.method, at.point, at.frame)
            })
    }

    /// Cancels the current step: another stop has come first, or it is over.
    pub(super) fn give_up(&mut self, process: Option<&Process>) {
        if let Some(step) = self.step.take() {
            step.give_up();
        }
        self.release_others(process);
    }

    /// Suspends the other threads, if a request asks for that.
    pub(super) fn hold_others(&mut self, debuggee: &ClrDebuggee, arguments: &Value) -> Result<(), Failure> {
        match &arguments["singleThread"] {
            Value::Null | Value::Bool(false) => Ok(()),
            Value::Bool(true) => {
                self.only_thread = Some(debuggee.thread_of(arguments)?);
                self.hold(debuggee)
            }
            other => Err(Failure::invalid(format!("`singleThread` must be true or false, not {other}"))),
        }
    }

    /// Suspends them again, after something else resumed them.
    pub(super) fn hold_others_again(&self, debuggee: &ClrDebuggee) {
        if let Err(failure) = self.hold(debuggee) {
            tracing::debug!(%failure, "the other threads run");
        }
    }

    fn hold(&self, debuggee: &ClrDebuggee) -> Result<(), Failure> {
        let Some(only_thread) = self.only_thread else { return Ok(()) };
        let thread = debuggee.thread(only_thread)?;
        debuggee.process()?.suspend_others(&thread, true).map_err(cor("hold the other threads"))
    }

    /// Releases all threads: the program is stopped or detached from.
    pub(super) fn release_others(&mut self, process: Option<&Process>) {
        if let Some(process) = process.filter(|_| self.only_thread.is_some())
            && let Err(error) = process.unsuspend_all()
        {
            tracing::debug!(%error, "the other threads stay held");
        }
        self.only_thread = None;
    }
}
