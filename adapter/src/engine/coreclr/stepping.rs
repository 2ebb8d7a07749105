//! Steps: over, into and out of statements of user code, on one thread or across threads.
//!
//! A step is one [`Step`] from the request to its stop. The runtime's stepper does the plain part; where it comes down
//! is judged ([`landing`]) and may need another go; an `await` ([`awaits`]) leads through breakpoints of our own. Any other
//! stop gives the step up.

mod alone;
mod awaits;
mod goto;
mod landing;
mod targets;

use std::rc::Rc;
use std::sync::mpsc::Receiver;

use cordebug::frame::{Frame, Function};
use cordebug::thread::{Stepper, Thread};
use dap_wire::Failure;
use serde_json::Value;

use super::cor;
use super::modules::Loaded;
use super::session::{Input, Session};
use awaits::Awaiting;
pub(super) use targets::Target;

/// How deep a statement is looked for below code without source.
const MOST_FRAMES: usize = 200;

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Over,
    Into,
    Out,
}

/// The statement a step began in.
struct Origin {
    module: usize,
    method: u32,
    /// Its IL range.
    statement: (u32, u32),
    /// Where its frame ends on the stack: a recursive call has another.
    frame: Option<u64>,
}

/// A step under way.
pub(super) struct Step {
    way: Way,
    thread: u32,
    stepper: Option<Stepper>,
    origin: Option<Origin>,
    /// Of one machine instruction: it ends wherever it comes down.
    is_instruction: bool,
    /// The call to go into, by its IL offset in the statement.
    target: Option<u32>,
    /// It began in an async method.
    is_async: bool,
    /// It is on its way out of code it shall not end in, back to the statement where it began.
    returning: bool,
    awaiting: Awaiting,
}

impl Step {
    /// Takes what it needed out of the program.
    pub(super) fn give_up(self) {
        if let Some(stepper) = &self.stepper {
            // One that is complete does not mind.
            stepper.deactivate().unwrap_or_default();
        }
        self.awaiting.clear();
    }
}

/// Where a thread stands.
struct Position {
    loaded: Rc<Loaded>,
    function: Function,
    method: u32,
    il: u32,
    /// Size of the method's IL; 0 without symbols.
    size: u32,
    frame: Option<u64>,
}

impl Position {
    /// The IL range of its statement; none where there is no source.
    fn statement(&self) -> Option<(u32, u32)> {
        let pdb = self.loaded.pdb.as_ref().ok()?;
        pdb.point_at(self.method, self.il)?;
        Some(pdb.statement(self.method, self.il, self.size))
    }

    fn origin(&self) -> Option<Origin> {
        Some(Origin {
            module: self.loaded.id,
            method: self.method,
            statement: self.statement()?,
            frame: self.frame,
        })
    }

    /// What a step from here must leave: the statement, and whatever in the method has no source. In an async method
    /// that may be another await, which is a step of its own.
    fn ranges(&self, is_async: bool) -> Vec<(u32, u32)> {
        let Ok(pdb) = &self.loaded.pdb else { return Vec::new() };
        let mut ranges = vec![pdb.statement(self.method, self.il, self.size)];
        if !is_async {
            ranges.extend(pdb.hidden_ranges(self.method, self.size));
        }
        ranges
    }
}

impl Session {
    /// `next`, `stepIn`, `stepOut`.
    pub(super) fn step(
        &mut self,
        command: &str,
        arguments: &Value,
        inputs: &Receiver<Input>,
    ) -> Result<Value, Failure> {
        let id = self.thread_of(arguments)?;
        let thread = self.thread(id)?;
        let way = match command {
            "next" => Way::Over,
            "stepIn" => Way::Into,
            _ => Way::Out,
        };
        let mut step = Step {
            way,
            thread: id,
            stepper: None,
            origin: None,
            is_instruction: way != Way::Out && arguments["granularity"] == "instruction",
            target: self.chosen_call(arguments, id)?,
            is_async: false,
            returning: false,
            awaiting: Awaiting::Nothing,
        };
        match self.position(&thread) {
            _ if step.is_instruction => step.stepper = Some(instruction_stepper(&thread, way)?),
            Some(position) if position.statement().is_some() => {
                self.set_out(&mut step, &thread, &position, inputs)?;
            }
            _ => {
                // Code without source has no statements: it is left, for the rest of the statement that called it.
                step.origin = self.calling_statement(&thread).as_ref().and_then(Position::origin);
                step.returning = way != Way::Out && step.origin.is_some();
                step.stepper = Some(self.stepper_out(&thread)?);
            }
        }
        self.hold_others(arguments)?;
        self.step = Some(step);
        self.go_on(inputs)?;
        Ok(Value::Null)
    }

    /// Prepares a step from a place in the source.
    fn set_out(
        &mut self,
        step: &mut Step,
        thread: &Thread,
        from: &Position,
        inputs: &Receiver<Input>,
    ) -> Result<(), Failure> {
        step.origin = from.origin();
        (step.is_async, step.returning) = (false, false);
        // What the preparation runs makes every frame stale, but neither the thread nor `from`.
        if !self.prepare_awaits(step, thread, from, inputs) {
            step.stepper = Some(match step.way {
                Way::Out => self.stepper_out(thread)?,
                way => self.stepper(thread, way, from, step.is_async)?,
            });
        }
        Ok(())
    }

    /// A stepper of the runtime that leaves a place, over or into what it calls.
    fn stepper(
        &self,
        thread: &Thread,
        way: Way,
        from: &Position,
        is_async: bool,
    ) -> Result<Stepper, Failure> {
        // Code that was optimised before we came is none the runtime counts as the user's: from there it steps anywhere.
        let only_users = self.just_my_code || from.loaded.is_marked.get();
        let stepper = thread.create_stepper(only_users).map_err(cor("prepare a step"))?;
        stepper.step_ranges(way == Way::Into, &from.ranges(is_async)).map_err(cor("step"))?;
        Ok(stepper)
    }

    /// A stepper that leaves the method on top, to whatever can be stopped in.
    fn stepper_out(&self, thread: &Thread) -> Result<Stepper, Failure> {
        let is_marked =
            || self.position(thread).is_none_or(|at| at.loaded.is_framework || at.loaded.is_marked.get());
        let only_users = self.just_my_code || is_marked();
        let stepper = thread.create_stepper(only_users).map_err(cor("prepare a step"))?;
        stepper.step_out().map_err(cor("step"))?;
        Ok(stepper)
    }

    /// The step under way is overtaken by another stop, or over.
    pub(super) fn give_up_step(&mut self) {
        if let Some(step) = self.step.take() {
            step.give_up();
        }
        self.let_others_go();
    }

    fn position(&self, thread: &Thread) -> Option<Position> {
        // The active frame is found through chains, which cost milliseconds; a stack walk does not.
        self.position_of(&thread.frames(1).ok()?.into_iter().next()?)
    }

    /// The statement of the user's that leads to where a thread stands.
    fn calling_statement(&self, thread: &Thread) -> Option<Position> {
        let frames = thread.frames(MOST_FRAMES).ok()?;
        let positions = frames.iter().filter_map(|frame| self.position_of(frame));
        let mut own = positions.filter(|at| self.is_users(&at.loaded, at.method));
        own.next().filter(|at| at.statement().is_some())
    }

    fn position_of(&self, frame: &Frame) -> Option<Position> {
        let function = frame.function().ok()?;
        let loaded = self.modules.of(&function.module().ok()?)?;
        let size = if loaded.pdb.is_ok() { function.il_size().unwrap_or(0) } else { 0 };
        let (method, il) = (function.token().ok()?, frame.il_offset().ok()?);
        let frame = frame.stack_range().ok().map(|(_, end)| end);
        Some(Position { loaded, method, il, size, frame, function })
    }
}

/// A stepper of the runtime that goes one machine instruction on, over or into what it calls.
fn instruction_stepper(thread: &Thread, way: Way) -> Result<Stepper, Failure> {
    let stepper = thread.create_stepper(false).map_err(cor("prepare a step"))?;
    stepper.step_instruction(way == Way::Into).map_err(cor("step"))?;
    Ok(stepper)
}
