//! Variables of `foreach` and `using` statements, which C# code cannot assign: a call that may change such a
//! struct gets a copy. Metadata and symbols do not say so, but code and sequence points do.
//!
//! Not here: `ref readonly` variables, which neither tells from `ref` variables, and parameters
//! ([`super::scope`]).

use std::rc::Rc;

use clr_metadata::dynamic_operations::is_field;
use clr_metadata::il::{self, IlVariable};
use clr_metadata::metadata::Metadata;
use clr_metadata::signature::Signature;

use crate::modules::LoadedModule;
use crate::names::is_generated;
use crate::value_path::{Path, PathRoot, PathSegment};

/// Most methods that are searched for the assignment of a captured variable.
const MAX_METHODS: usize = 1000;

/// The variables that one method uses.
pub(super) struct MethodVariables<'m> {
    pub(super) loaded: &'m Rc<LoadedModule>,
    pub(super) method: u32,
}

impl MethodVariables<'_> {
    /// Whether a path is the variable of a `foreach` or `using` statement.
    pub(super) fn is_read_only(&self, path: &Path) -> bool {
        let Some(variable) = self.storage_of(path) else { return false };
        let mut methods = self.assigning_methods(variable).into_iter().take(MAX_METHODS);
        methods.find_map(|method| self.is_assigned_once(method, variable)).unwrap_or(false)
    }

    /// The methods that may assign a variable: this one, and for a captured variable those of the class
    /// around, because a lambda or local function uses variables of the method around it.
    fn assigning_methods(&self, variable: IlVariable) -> Vec<u32> {
        let mut all = vec![self.method];
        let Some(image) = self.loaded.image().filter(|_| matches!(variable, IlVariable::Field(_))) else {
            return all;
        };
        let metadata = &image.metadata;
        let mut class = metadata.owner_of(self.method);
        while is_generated(metadata.simple_name(class))
            && let Some(outer) = metadata.enclosing_type(class)
        {
            class = outer;
        }
        let generated =
            metadata.nested_types(class).filter(|inner| is_generated(metadata.simple_name(*inner)));
        all.extend([class].into_iter().chain(generated).flat_map(|class| metadata.methods(class)));
        all
    }

    /// Whether a method assigns a variable in a `foreach` or `using` statement; `None` if it does not assign
    /// it.
    fn is_assigned_once(&self, method: u32, variable: IlVariable) -> Option<bool> {
        let metadata = &self.loaded.image()?.metadata;
        let body = self.loaded.module.function(method).ok()?.il_bytes().ok()?;
        let size = u32::try_from(body.len()).ok()?;
        let is_it = |used| is_same(metadata, used, variable);
        let stores = il::stores(&body, is_it);
        (!stores.is_empty()).then_some(())?;
        let foreach = self.loaded.pdb.as_ref().ok()?.foreach_assignments(method, size);
        let is_foreach = stores.iter().any(|il| foreach.iter().any(|(from, end)| (*from..*end).contains(il)));
        let is_using = || {
            let called = il::constrained_calls(&body, is_it);
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

/// Whether an instruction uses this variable.
fn is_same(metadata: &Metadata, used: IlVariable, variable: IlVariable) -> bool {
    match (used, variable) {
        (IlVariable::Field(used), IlVariable::Field(field)) => is_field(metadata, used, field),
        _ => used == variable,
    }
}
