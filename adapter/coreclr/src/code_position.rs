//! Positions in code: the statement of a thread or frame, and what is ahead of it in the method. Makes no
//! step ([`super::stepping`]).

use std::rc::Rc;

use clr_metadata::il::{self, CallInstruction};
use clr_metadata::metadata::Metadata;
use clr_metadata::pdb::{AwaitStep, SequencePoint};
use cordebug::frame::{Frame, Function, RuntimeBreakpoint};
use cordebug::thread::Thread;

use super::modules::{LoadedModule, Modules};

/// How many frames below code without source are searched for a statement.
pub(super) const MAX_FRAMES: usize = 200;
/// The compiler's name of an iterator's `finally`.
const FINALLY: &str = "<>m__Finally";

/// Start of a step: the step must not end there again as if it were the next statement.
pub(super) struct StepStart {
    pub(super) module: usize,
    pub(super) method: u32,
    pub(super) point: SequencePoint,
    pub(super) frame: Option<u64>,
}

/// The statement that a step began in, or continues from.
pub(super) struct StepOrigin {
    pub(super) module: usize,
    pub(super) method: u32,
    /// The statement's IL range.
    pub(super) statement: (u32, u32),
    /// Start of its frame on the stack: a recursive call has another.
    pub(super) frame: Option<u64>,
}

/// A thread's current position in code.
pub(super) struct CodePosition {
    pub(super) loaded: Rc<LoadedModule>,
    pub(super) function: Function,
    pub(super) method: u32,
    pub(super) il: u32,
    /// Size of the method's IL; 0 without symbols.
    pub(super) size: u32,
    pub(super) frame: Option<u64>,
}

impl CodePosition {
    /// The IL range of its statement; `None` if there is no source.
    pub(super) fn statement(&self) -> Option<(u32, u32)> {
        let pdb = self.loaded.pdb.as_ref().ok()?;
        pdb.point_at(self.method, self.il)?;
        Some(pdb.statement(self.method, self.il, self.size))
    }

    /// Whether the code here has no source, so that no step ends in it. The code after an `await` has none
    /// either; but a thread that returns there from a call is in the rest of the statement. `jumped`: the
    /// thread did not return from a call.
    pub(super) fn is_hidden(&self, jumped: bool) -> bool {
        let Ok(pdb) = &self.loaded.pdb else { return false };
        let range = pdb.hidden_range(self.method, self.il, self.size);
        range.is_some_and(|(start, _)| {
            let is_behind = |at: &AwaitStep| (start..=self.il).contains(&at.yield_il);
            jumped || !pdb.await_steps(self.method).iter().any(is_behind)
        })
    }

    /// Whether control has reached the middle of a statement, where only a jump is left, or the call of an
    /// iterator's `finally`: `break` leads there out of a loop, `yield break` out of an iterator.
    pub(super) fn only_jump_remains(&self) -> bool {
        let Ok(pdb) = &self.loaded.pdb else { return false };
        let (start, end) = pdb.visible_part(self.method, self.il, self.size);
        let body = || self.function.il_bytes().unwrap_or_default();
        let is_inside = (start + 1..end).contains(&self.il);
        is_inside && (il::only_branches(&body(), self.il, end) || self.finally_ahead().is_some())
    }

    pub(super) fn step_start(&self) -> Option<StepStart> {
        let point = self.loaded.pdb.as_ref().ok()?.point_at(self.method, self.il)?;
        Some(StepStart { module: self.loaded.id, method: self.method, point, frame: self.frame })
    }

    /// Whether the source here is the statement where a step began, whose code the compiler split into
    /// several pieces: control has moved from an earlier piece to a later one. It reaches an earlier piece,
    /// or the same one, through a loop.
    pub(super) fn is_later_piece_of(&self, start: &StepStart, is_async: bool) -> bool {
        let point = self.loaded.pdb.as_ref().ok().and_then(|pdb| pdb.point_at(self.method, self.il));
        let place = |at: &SequencePoint| (at.document, at.line, at.column, at.end_line, at.end_column);
        (self.loaded.id, self.method) == (start.module, start.method)
            && (is_async || self.frame.is_some() && self.frame == start.frame)
            && point.is_some_and(|point| point.il > start.point.il && place(&point) == place(&start.point))
    }

    pub(super) fn origin(&self) -> Option<StepOrigin> {
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
    pub(super) fn ranges(&self, is_async: bool) -> Vec<(u32, u32)> {
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

    /// The calls of its statement, in the order of execution.
    pub(super) fn calls(&self) -> Vec<CallInstruction> {
        let Some((start, end)) = self.statement() else { return Vec::new() };
        let mut calls = il::calls(&self.function.il_bytes().unwrap_or_default());
        calls.retain(|call| call.il >= start && call.il < end);
        calls
    }

    /// The call in progress, or the one that has just returned. Machine code is mapped to IL after each call,
    /// so that the return address counts as whatever follows the previous call.
    pub(super) fn current_call(&self) -> Option<u32> {
        self.calls().into_iter().find(|call| call.il >= self.il).map(|call| call.il)
    }

    /// Whether a step began in a `finally` of the method here: that of an iterator is a separate method.
    pub(super) fn is_finally(&self, start: &StepStart) -> bool {
        let is_finally = |metadata: &Metadata| metadata.method_name(start.method).starts_with(FINALLY);
        start.module == self.loaded.id && self.loaded.image().is_some_and(|image| is_finally(&image.metadata))
    }

    /// The call of such a `finally` in the rest of the statement, if there is source in it.
    pub(super) fn finally_ahead(&self) -> Option<u32> {
        let pdb = self.loaded.pdb.as_ref().ok().filter(|pdb| pdb.kickoff(self.method).is_some())?;
        let metadata = &self.loaded.image()?.metadata;
        let is_finally = |call: &CallInstruction| {
            let own = metadata.call_target(call.token).and_then(|(_, _, own)| own);
            own.is_some_and(|method| {
                metadata.method_name(method).starts_with(FINALLY) && pdb.first_statement(method).is_some()
            })
        };
        self.calls().into_iter().find(|call| call.il >= self.il && is_finally(call)).map(|call| call.il)
    }

    /// The next `await` of the method here; `None` if it is not an async method, or past the last one.
    pub(super) fn await_ahead(&self) -> Option<AwaitStep> {
        let awaits = self.loaded.pdb.as_ref().ok()?.await_steps(self.method);
        awaits.into_iter().filter(|at| at.resume_il > self.il).min_by_key(|at| at.resume_il)
    }

    /// A breakpoint where the method continues after an `await`, whether it had to wait there or not.
    pub(super) fn break_behind(&self, at: &AwaitStep) -> Option<RuntimeBreakpoint> {
        // A completed task is not waited for: a branch leads past the wait.
        let passes =
            |branch: &&il::BranchInstruction| branch.il < at.yield_il && branch.target > at.resume_il;
        let branches = il::branches(&self.function.il_bytes().ok()?);
        let past = branches.iter().filter(passes).max_by_key(|branch| branch.il).map(|branch| branch.target);
        let behind = past.and_then(|il| self.function.set_breakpoint(il).ok());
        behind.or_else(|| self.function.set_breakpoint(at.resume_il).ok())
    }
}

impl Modules {
    pub(super) fn position(&self, thread: &Thread) -> Option<CodePosition> {
        // Finding the active frame through chains costs milliseconds; a stack walk does not.
        self.position_of(&thread.frames(1).ok()?.into_iter().next()?)
    }

    /// The statement of user code that leads to a thread's current position.
    pub(super) fn calling_statement(&self, thread: &Thread) -> Option<CodePosition> {
        let frames = thread.frames(MAX_FRAMES).ok()?;
        let positions = frames.iter().filter_map(|frame| self.position_of(frame));
        let mut own = positions.filter(|at| self.is_users(&at.loaded, at.method));
        own.next().filter(|at| at.statement().is_some())
    }

    pub(super) fn position_of(&self, frame: &Frame) -> Option<CodePosition> {
        let function = frame.function().ok()?;
        let loaded = self.of(&function.module().ok()?)?;
        let size = if loaded.pdb.is_ok() { function.il_size().unwrap_or(0) } else { 0 };
        let (method, il) = (function.token().ok()?, frame.il_offset().ok()?);
        let frame = frame.stack_range().ok().map(|(_, end)| end);
        Some(CodePosition { loaded, method, il, size, frame, function })
    }
}
