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
mod single_thread;
mod step_complete;
mod targets;

use std::rc::Rc;

use clr_metadata::il;
use clr_metadata::pdb::{AwaitStep, SequencePoint};
use cordebug::debugger::Process;
use cordebug::frame::{Frame, Function};
use cordebug::thread::{Stepper, Thread};
use dap_wire::Failure;
use serde_json::Value;

use super::cor;
use super::modules::{LoadedModule, Modules};
use super::session::ClrSession;
use crate::options::SessionOptions;
use crate::types::ClrTypeSystem;
use awaits::AwaitBreakpoints;
use callbacks::Callbacks;
use returns::ReturnValues;
use targets::ExecutionTarget;

/// How many frames below code without source are searched for a statement.
const MAX_FRAMES: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepKind {
    Over,
    Into,
    Out,
}

/// Start of a step: the step must not end there again as if it were the next statement.
struct StepStart {
    module: usize,
    method: u32,
    point: SequencePoint,
    frame: Option<u64>,
}

/// The statement that a step began in, or continues from.
struct StepOrigin {
    module: usize,
    method: u32,
    /// The statement's IL range.
    statement: (u32, u32),
    /// Start of its frame on the stack: a recursive call has another.
    frame: Option<u64>,
}

/// A step that has begun and not ended, with the breakpoints that it has set for itself.
pub(super) struct ActiveStep {
    way: StepKind,
    thread: u32,
    stepper: Option<Stepper>,
    start: Option<StepStart>,
    origin: Option<StepOrigin>,
    /// It covers one machine instruction, and ends wherever that leads.
    is_instruction: bool,
    /// The call to go into, by its IL offset in the statement.
    target: Option<u32>,
    /// It began in an async method.
    is_async: bool,
    /// It is leaving code that it must not end in, back to the statement where it began.
    returning: bool,
    awaiting: AwaitBreakpoints,
    returns: ReturnValues,
    callbacks: Callbacks,
    /// Method and statement of the callbacks.
    callbacks_of: Option<(u32, (u32, u32))>,
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
    step: Option<ActiveStep>,
    /// Calls and statements that clients were offered at this stop.
    targets: Vec<ExecutionTarget>,
    /// The thread that runs alone until the next stop.
    only_thread: Option<u32>,
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
}

/// A thread's current position in code.
struct CodePosition {
    loaded: Rc<LoadedModule>,
    function: Function,
    method: u32,
    il: u32,
    /// Size of the method's IL; 0 without symbols.
    size: u32,
    frame: Option<u64>,
}

impl CodePosition {
    /// The IL range of its statement; `None` if there is no source.
    fn statement(&self) -> Option<(u32, u32)> {
        let pdb = self.loaded.pdb.as_ref().ok()?;
        pdb.point_at(self.method, self.il)?;
        Some(pdb.statement(self.method, self.il, self.size))
    }

    /// Whether the code here has no source, so that no step ends in it. The code after an `await` has none
    /// either; but a thread that returns there from a call is in the rest of the statement. `jumped`: the
    /// thread did not return from a call.
    fn is_hidden(&self, jumped: bool) -> bool {
        let Ok(pdb) = &self.loaded.pdb else { return false };
        let range = pdb.hidden_range(self.method, self.il, self.size);
        range.is_some_and(|(start, _)| {
            let is_behind = |at: &AwaitStep| (start..=self.il).contains(&at.yield_il);
            jumped || !pdb.await_steps(self.method).iter().any(is_behind)
        })
    }

    /// Whether control has reached the middle of a statement, where only a jump is left, or the call of an
    /// iterator's `finally`: `break` leads there out of a loop, `yield break` out of an iterator.
    fn only_jump_remains(&self) -> bool {
        let Ok(pdb) = &self.loaded.pdb else { return false };
        let (start, end) = pdb.visible_part(self.method, self.il, self.size);
        let body = || self.function.il_bytes().unwrap_or_default();
        let is_inside = (start + 1..end).contains(&self.il);
        is_inside && (il::only_branches(&body(), self.il, end) || self.finally_ahead().is_some())
    }

    fn step_start(&self) -> Option<StepStart> {
        let point = self.loaded.pdb.as_ref().ok()?.point_at(self.method, self.il)?;
        Some(StepStart { module: self.loaded.id, method: self.method, point, frame: self.frame })
    }

    /// Whether the source here is the statement where a step began, whose code the compiler split into
    /// several pieces: control has moved from an earlier piece to a later one. It reaches an earlier piece,
    /// or the same one, through a loop.
    fn is_later_piece_of(&self, start: &StepStart, is_async: bool) -> bool {
        let point = self.loaded.pdb.as_ref().ok().and_then(|pdb| pdb.point_at(self.method, self.il));
        let place = |at: &SequencePoint| (at.document, at.line, at.column, at.end_line, at.end_column);
        (self.loaded.id, self.method) == (start.module, start.method)
            && (is_async || self.frame.is_some() && self.frame == start.frame)
            && point.is_some_and(|point| point.il > start.point.il && place(&point) == place(&start.point))
    }

    fn origin(&self) -> Option<StepOrigin> {
        Some(StepOrigin {
            module: self.loaded.id,
            method: self.method,
            statement: self.statement()?,
            frame: self.frame,
        })
    }

    /// The code that a step from here must leave: the statement, and code without source. In an async method
    /// only what is next to the statement: other code may contain another await, which is a separate step.
    /// Code that leads back to the beginning of the statement is excluded: a loop enters the statement again.
    fn ranges(&self, is_async: bool) -> Vec<(u32, u32)> {
        let Ok(pdb) = &self.loaded.pdb else { return Vec::new() };
        let mut hidden = pdb.hidden_ranges(self.method, self.size);
        if let Some(here) = pdb.hidden_range(self.method, self.il, self.size) {
            hidden.retain(|range| !is_async || *range == here);
            return hidden;
        }
        let (start, end) = pdb.visible_part(self.method, self.il, self.size);
        let statement = pdb.statement(self.method, self.il, self.size);
        hidden.retain(|(from, _)| !is_async || (start..statement.1).contains(from));
        if !hidden.is_empty() {
            let branches = il::branches(&self.function.il_bytes().unwrap_or_default());
            let leads_back = |(from, to): (u32, u32)| {
                to == start || branches.iter().any(|at| at.target == start && (from..to).contains(&at.il))
            };
            hidden.retain(|range| !leads_back(*range));
        }
        hidden.insert(0, (start, end));
        hidden
    }
}

impl ClrSession {
    /// `next`, `stepIn`, `stepOut`.
    pub(super) fn step(&mut self, command: &str, arguments: &Value) -> Result<Value, Failure> {
        let id = self.debuggee.thread_of(arguments)?;
        let thread = self.debuggee.thread(id)?;
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
            callbacks_of: None,
        };
        match self.types.modules.position(&thread) {
            _ if step.is_instruction => step.stepper = Some(instruction_stepper(&thread, way)?),
            Some(position) if position.statement().is_some() => {
                step.start = position.step_start();
                self.set_out(&mut step, &thread, &position)?;
            }
            _ => {
                // Code without source has no statements: the step leaves it, for the rest of the calling
                // statement.
                step.origin =
                    self.types.modules.calling_statement(&thread).as_ref().and_then(CodePosition::origin);
                step.returning = way != StepKind::Out && step.origin.is_some();
                step.stepper = Some(self.types.stepper_out(&self.options, &thread)?);
            }
        }
        self.stepping.hold_others(&self.debuggee, arguments)?;
        self.stepping.step = Some(step);
        self.resume()?;
        Ok(Value::Null)
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
                StepKind::Out => self.types.stepper_out(&self.options, thread)?,
                way => self.options.stepper(thread, way, from, step.is_async)?,
            });
        }
        self.types.await_returns(step, thread, from);
        self.types.await_callbacks(step, from);
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

impl Modules {
    fn position(&self, thread: &Thread) -> Option<CodePosition> {
        // Finding the active frame through chains costs milliseconds; a stack walk does not.
        self.position_of(&thread.frames(1).ok()?.into_iter().next()?)
    }

    /// The statement of user code that leads to a thread's current position.
    fn calling_statement(&self, thread: &Thread) -> Option<CodePosition> {
        let frames = thread.frames(MAX_FRAMES).ok()?;
        let positions = frames.iter().filter_map(|frame| self.position_of(frame));
        let mut own = positions.filter(|at| self.is_users(&at.loaded, at.method));
        own.next().filter(|at| at.statement().is_some())
    }

    fn position_of(&self, frame: &Frame) -> Option<CodePosition> {
        let function = frame.function().ok()?;
        let loaded = self.of(&function.module().ok()?)?;
        let size = if loaded.pdb.is_ok() { function.il_size().unwrap_or(0) } else { 0 };
        let (method, il) = (function.token().ok()?, frame.il_offset().ok()?);
        let frame = frame.stack_range().ok().map(|(_, end)| end);
        Some(CodePosition { loaded, method, il, size, frame, function })
    }
}

/// A runtime stepper that executes one machine instruction, over a call or into it.
fn instruction_stepper(thread: &Thread, way: StepKind) -> Result<Stepper, Failure> {
    let stepper = thread.create_stepper(false).map_err(cor("prepare a step"))?;
    stepper.step_instruction(way == StepKind::Into).map_err(cor("step"))?;
    Ok(stepper)
}
