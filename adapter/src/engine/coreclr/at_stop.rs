//! The stopped program, for code that reads its values or writes them in place. Nothing runs in the program
//! here: running code is a call.

use super::debuggee::Debuggee;
use super::types::TypeSystem;
use super::values::Values;

/// The parts of a session that walk to a value and read it.
#[derive(Clone, Copy)]
pub(super) struct AtStop<'a> {
    pub(super) debuggee: &'a Debuggee,
    pub(super) types: &'a TypeSystem,
    pub(super) values: &'a Values,
}

impl<'a> AtStop<'a> {
    pub(super) fn new(debuggee: &'a Debuggee, types: &'a TypeSystem, values: &'a Values) -> Self {
        Self { debuggee, types, values }
    }
}
