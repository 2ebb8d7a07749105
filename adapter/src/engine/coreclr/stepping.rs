//! Steps: over, into and out of statements of user code, on one thread or across threads.
//!
//! A step is one [`Step`] from the request to its stop. The runtime's stepper does the plain part; where it comes down
//! is judged ([`landing`]) and may need another go; an `await` ([`awaits`]) leads through breakpoints of our own. Any other
//! stop gives the step up.

mod awaits;
mod landing;

use std::rc::Rc;
use std::sync::mpsc::Receiver;

use cordebug::frame::{Frame, Function};
use cordebug::thread::Stepper;
use dap_wire::Failure;
use serde_json::Value;

use super::cor;
use super::modules::Loaded;
use super::session::{Input, Session};
use awaits::Awaiting;

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
}

/// A step under way.
pub(super) struct Step {
    way: Way,
    thread: u32,
    stepper: Option<Stepper>,
    origin: Option<Origin>,
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
}

impl Position {
    /// The IL range of its statement; none where there is no source.
    fn statement(&self) -> Option<(u32, u32)> {
        let pdb = self.loaded.pdb.as_ref().ok()?;
        pdb.point_at(self.method, self.il)?;
        Some(pdb.statement(self.method, self.il, self.function.il_size().ok()?))
    }

    fn origin(&self) -> Option<Origin> {
        Some(Origin { module: self.loaded.id, method: self.method, statement: self.statement()? })
    }

    /// What a step from here must leave: the statement, and whatever in the method has no source. In an async method
    /// that may be another await, which is a step of its own.
    fn ranges(&self, is_async: bool) -> Vec<(u32, u32)> {
        let (Ok(pdb), Ok(size)) = (&self.loaded.pdb, self.function.il_size()) else { return Vec::new() };
        let mut ranges = vec![pdb.statement(self.method, self.il, size)];
        if !is_async {
            ranges.extend(pdb.hidden_ranges(self.method, size));
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
        let thread = self.thread_of(arguments)?;
        let way = match command {
            "next" => Way::Over,
            "stepIn" => Way::Into,
            _ => Way::Out,
        };
        let mut step = Step {
            way,
            thread,
            stepper: None,
            origin: None,
            is_async: false,
            returning: false,
            awaiting: Awaiting::Nothing,
        };
        match self.position(thread) {
            Some(position) if position.statement().is_some() => {
                self.set_out(&mut step, &position, inputs)?;
            }
            _ => {
                // Code without source has no statements: it is left, for the rest of the statement that called it.
                step.origin = self.calling_statement(thread).as_ref().and_then(Position::origin);
                step.returning = way != Way::Out && step.origin.is_some();
                step.stepper = Some(self.stepper(thread, Way::Out, &[])?);
            }
        }
        self.step = Some(step);
        self.go_on(inputs)?;
        Ok(Value::Null)
    }

    /// Prepares a step from a place in the source.
    fn set_out(&mut self, step: &mut Step, from: &Position, inputs: &Receiver<Input>) -> Result<(), Failure> {
        step.origin = from.origin();
        (step.is_async, step.returning) = (false, false);
        // What the preparation runs makes everything stale that is known of the thread, but not `from`.
        if !self.prepare_awaits(step, from, inputs) {
            step.stepper = Some(self.stepper(step.thread, step.way, &from.ranges(step.is_async))?);
        }
        Ok(())
    }

    /// A stepper of the runtime, set.
    fn stepper(&self, thread: u32, way: Way, ranges: &[(u32, u32)]) -> Result<Stepper, Failure> {
        let stepper =
            self.thread(thread)?.create_stepper(self.just_my_code).map_err(cor("prepare a step"))?;
        let set = match way {
            Way::Out => stepper.step_out(),
            Way::Over | Way::Into => stepper.step_ranges(way == Way::Into, ranges),
        };
        set.map_err(cor("step"))?;
        Ok(stepper)
    }

    /// The step under way is overtaken by another stop, or over.
    pub(super) fn give_up_step(&mut self) {
        if let Some(step) = self.step.take() {
            step.give_up();
        }
    }

    fn position(&self, thread: u32) -> Option<Position> {
        // The active frame is found through chains, which cost milliseconds; a stack walk does not.
        self.position_of(&self.frame_at(thread, 0).ok()?)
    }

    /// The statement of the user's that leads to where a thread stands.
    fn calling_statement(&self, thread: u32) -> Option<Position> {
        let frames = self.thread(thread).ok()?.frames(MOST_FRAMES).ok()?;
        let positions = frames.iter().filter_map(|frame| self.position_of(frame));
        let mut own = positions.filter(|at| self.is_users(&at.loaded, at.method));
        own.next().filter(|at| at.statement().is_some())
    }

    fn position_of(&self, frame: &Frame) -> Option<Position> {
        let function = frame.function().ok()?;
        let loaded = self.modules.of(&function.module().ok()?)?;
        Some(Position { loaded, method: function.token().ok()?, il: frame.il_offset().ok()?, function })
    }
}
