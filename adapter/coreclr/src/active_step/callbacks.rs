//! Breakpoints in the lambdas and methods that a statement passes to a library. Not here: which methods those
//! are (`stepping::callbacks`).

use cordebug::frame::RuntimeBreakpoint;

use crate::code_position::CodePosition;

/// Breakpoints at the first statements of the methods that a statement passes to a library.
#[derive(Default)]
pub(crate) struct Callbacks {
    breakpoints: Vec<RuntimeBreakpoint>,
    /// The statement, by its method and IL range.
    statement: Option<(u32, (u32, u32))>,
}

impl Callbacks {
    /// Removes the breakpoints from the program.
    pub(crate) fn disarm(&mut self) {
        for breakpoint in self.breakpoints.drain(..) {
            breakpoint.remove().unwrap_or_default();
        }
    }

    pub(crate) fn is_hit_by(&self, hit: &RuntimeBreakpoint) -> bool {
        self.breakpoints.iter().any(|breakpoint| breakpoint.is(hit))
    }

    /// Removes the breakpoints of another statement than the one at a position; `false` if they are those of
    /// this statement, and stay.
    pub(crate) fn start(&mut self, from: &CodePosition) -> bool {
        let statement = from.statement().map(|statement| (from.method, statement));
        if statement.is_some() && statement == self.statement {
            return false;
        }
        self.disarm();
        self.statement = statement;
        true
    }

    pub(crate) fn arm(&mut self, breakpoints: impl IntoIterator<Item = RuntimeBreakpoint>) {
        self.breakpoints.extend(breakpoints);
    }
}
