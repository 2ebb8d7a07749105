//! Types as the evaluator reasons with them: plain data that outlives every resume, made from signatures of the metadata
//! or from the runtime's own types, and turned back into those for a call.
//!
//! In reading order: [`ty`] (what a type is), [`lookup`] (by name), [`relations`] (bases, interfaces, what fits where),
//! [`runtime`] (to and from ICorDebugType).

pub(super) mod lookup;
pub(super) mod relations;
pub(super) mod runtime;
pub(super) mod ty;

pub(super) use ty::{Named, Ty};
