//! The program that the engine inspects, as its values are read: the process, its types, and the values that
//! clients hold. Nothing is read here ([`super::stop_context`]), and nothing runs ([`super::calls`]).

use super::debuggee::ClrDebuggee;
use super::types::ClrTypeSystem;
use super::value_store::ValueStore;

/// The owners that every read of a value needs.
pub(super) struct InspectedProgram {
    pub(super) debuggee: ClrDebuggee,
    pub(super) types: ClrTypeSystem,
    pub(super) values: ValueStore,
}

impl InspectedProgram {
    pub(super) fn new(debuggee: ClrDebuggee) -> Self {
        Self { debuggee, types: ClrTypeSystem::default(), values: ValueStore::default() }
    }
}
