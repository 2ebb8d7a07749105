//! Types in the evaluator's form: plain data that outlives every resume, read from metadata signatures or
//! from the runtime's types, and converted back for a call. Not here: C#'s conversions and overloads
//! ([`tandem_csharp`]).
//!
//! In reading order: [`ty`] (from signatures, and display), [`lookup`] (by name), [`relations`] (bases,
//! interfaces, conversions), [`members`] (methods and properties), [`library`] (definitions for the binder),
//! [`runtime`] (to and from ICorDebugType).

pub(super) mod library;
pub(super) mod lookup;
pub(super) mod members;
pub(super) mod relations;
pub(super) mod runtime;
pub(super) mod ty;

pub(super) use ty::{NamedType, Ty};

use std::cell::RefCell;
use std::collections::HashMap;

use super::modules::Modules;
use library::Library;

/// A type's module and TypeDef token.
type TypeKey = (usize, u32);

/// The program's types, as the metadata of its modules defines them, with caches: loaded
/// modules never change.
#[derive(Default)]
pub(super) struct ClrTypeSystem {
    pub(super) modules: Modules,
    /// (module, TypeRef) to (module, TypeDef).
    references: RefCell<HashMap<TypeKey, TypeKey>>,
    /// Full name to (module, TypeDef), or the number of modules when it was not found.
    names: RefCell<HashMap<String, Result<TypeKey, usize>>>,
    /// Definitions and members for the binder.
    pub(super) library: RefCell<Library>,
    /// IL of short getters; `None` for a getter that cannot be interpreted.
    pub(super) getters: RefCell<HashMap<TypeKey, Option<Vec<u8>>>>,
}
