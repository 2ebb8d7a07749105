//! Types as the evaluator reasons with them: plain data that outlives every resume, made from signatures of the metadata
//! or from the runtime's own types, and turned back into those for a call.
//!
//! In reading order: [`ty`] (what a type is), [`lookup`] (by name), [`relations`] (bases, interfaces, what fits where),
//! [`members`] (methods and properties), [`runtime`] (to and from ICorDebugType).

pub(super) mod lookup;
pub(super) mod members;
pub(super) mod relations;
pub(super) mod runtime;
pub(super) mod ty;

pub(super) use ty::{Named, Ty};

use std::cell::RefCell;
use std::collections::HashMap;

use super::evaluator::Library;
use super::modules::Modules;

/// A type's module and TypeDef token.
type TypeKey = (usize, u32);

/// The program's types, as the metadata of its modules defines them, with what was looked up before: modules never change,
/// new ones only add.
#[derive(Default)]
pub(super) struct TypeSystem {
    pub(super) modules: Modules,
    /// (module, TypeRef) to (module, TypeDef).
    references: RefCell<HashMap<TypeKey, TypeKey>>,
    /// Full name to (module, TypeDef), with how many modules there were when it was not found.
    names: RefCell<HashMap<String, Result<TypeKey, usize>>>,
    /// Definitions and members, as expressions are bound to them.
    pub(super) library: RefCell<Library>,
    /// IL of short getters; `None` for a getter that cannot be interpreted.
    pub(super) getters: RefCell<HashMap<TypeKey, Option<Vec<u8>>>>,
}
