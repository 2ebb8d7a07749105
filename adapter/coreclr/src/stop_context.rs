//! The stopped program, for code that reads its values or writes them in place. Nothing runs in the program
//! here: running code is a call.

use super::debuggee::ClrDebuggee;
use super::inspected_program::InspectedProgram;
use super::types::ClrTypeSystem;
use super::value_store::ValueStore;

/// The parts of a session that walk to a value and read it.
#[derive(Clone, Copy)]
pub(super) struct StopContext<'a> {
    pub(super) debuggee: &'a ClrDebuggee,
    pub(super) types: &'a ClrTypeSystem,
    pub(super) values: &'a ValueStore,
}

impl<'a> StopContext<'a> {
    pub(super) fn new(program: &'a InspectedProgram) -> Self {
        Self { debuggee: &program.debuggee, types: &program.types, values: &program.values }
    }
}
