//! The program at a stop, for whoever reads its values or writes them in place. Nothing of it runs for that: what does is a call.

use super::debuggee::Debuggee;
use super::types::TypeSystem;
use super::values::Values;

/// What it takes to go the way to a value, and to say what is there.
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
