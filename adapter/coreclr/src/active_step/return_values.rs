//! Return values of a step's calls, and the breakpoints where they can be read. Reads none
//! (`stepping::returns`).

use std::mem;

use cordebug::frame::RuntimeBreakpoint;

use crate::value_store::Returned;

/// Most calls of a statement whose values are shown.
pub(crate) const MAX_SHOWN: usize = 10;
/// How often other threads and deeper calls may hit the breakpoints before they are removed: each hit costs
/// the program a stop, and a statement may call its own method a million times.
const MAX_OTHER_HITS: usize = 32;

/// A call, by its IL offset, and the called method.
pub(crate) struct CallSite {
    pub(crate) il: u32,
    pub(crate) name: String,
}

/// The return values of a step's calls.
#[derive(Default)]
pub(crate) struct ReturnValues {
    /// Breakpoints at which one can be read.
    pub(crate) armed: Vec<(RuntimeBreakpoint, CallSite)>,
    other_hits: usize,
    values: Vec<Returned>,
}

impl ReturnValues {
    /// Removes its breakpoints from the program.
    pub(crate) fn disarm(&mut self) {
        for (breakpoint, _) in self.armed.drain(..) {
            breakpoint.remove().unwrap_or_default();
        }
    }

    /// Another thread, or a deeper call, has hit one: removes them if that happens too often.
    pub(crate) fn count_other_hit(&mut self) {
        self.other_hits += 1;
        if self.other_hits >= MAX_OTHER_HITS {
            tracing::debug!("other code hits the breakpoints after the calls of a step too often");
            self.disarm();
        }
    }

    pub(crate) fn is_hit_by(&self, hit: &RuntimeBreakpoint) -> bool {
        self.armed.iter().any(|(breakpoint, _)| breakpoint.is(hit))
    }

    pub(crate) fn take_values(&mut self) -> Vec<Returned> {
        mem::take(&mut self.values)
    }

    pub(crate) fn add(&mut self, value: Returned) {
        // A statement may make a call repeatedly: the last value counts.
        self.values.retain(|known| known.il != value.il);
        if self.values.len() < MAX_SHOWN {
            self.values.push(value);
        }
    }
}
