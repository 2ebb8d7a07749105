//! Variables of `foreach` and `using` statements, which C# code cannot assign: a call that may change such a
//! struct gets a copy. Metadata and symbols do not say so, but code and sequence points do.
//!
//! Not here: `ref readonly` variables, which neither tells from `ref` variables, and parameters
//! ([`super::scope`]).

use std::rc::Rc;

use clr_metadata::il::{self, IlVariable};
use clr_metadata::signature::Signature;

use crate::modules::LoadedModule;
use crate::value_path::{Path, PathRoot, PathSegment};

/// The variables that one method declares.
pub(super) struct MethodVariables<'m> {
    pub(super) loaded: &'m Rc<LoadedModule>,
    pub(super) method: u32,
}

impl MethodVariables<'_> {
    /// Whether a path is the variable of a `foreach` or `using` statement of the method.
    pub(super) fn is_read_only(&self, path: &Path) -> bool {
        self.storage_of(path).and_then(|variable| self.is_assigned_once(variable)).unwrap_or(false)
    }

    fn is_assigned_once(&self, variable: IlVariable) -> Option<bool> {
        let metadata = &self.loaded.image()?.metadata;
        let body = self.loaded.module.function(self.method).ok()?.il_bytes().ok()?;
        let size = u32::try_from(body.len()).ok()?;
        let stores = il::stores(&body, variable);
        let foreach = self.loaded.pdb.as_ref().ok()?.foreach_assignments(self.method, size);
        let is_foreach = stores.iter().any(|il| foreach.iter().any(|(from, end)| (*from..*end).contains(il)));
        let is_using = || {
            let called = il::constrained_calls(&body, variable);
            called.into_iter().any(|token| {
                let target = metadata.call_target(token);
                target.is_some_and(|(_, name, _)| matches!(name, "Dispose" | "DisposeAsync"))
            })
        };
        Some(is_foreach || is_using())
    }

    /// The storage of a variable of the method; `None` for a reference, which its members do not change.
    fn storage_of(&self, path: &Path) -> Option<IlVariable> {
        match (&path.root, path.steps.last()) {
            (PathRoot::Local { slot, .. }, None) => {
                let metadata = &self.loaded.image()?.metadata;
                let locals = self.loaded.module.function(self.method).ok()?.locals_token().ok()?;
                let declared = metadata.local_types(locals).into_iter().nth(*slot as usize)?;
                (!matches!(declared, Signature::Reference(_))).then_some(IlVariable::Local(*slot))
            }
            (_, Some(PathSegment::Field { up: 0, token })) => Some(IlVariable::Field(*token)),
            _ => None,
        }
    }
}
