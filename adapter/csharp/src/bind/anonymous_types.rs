//! Checks of values whose anonymous type the program does not have: a tuple with their members replaces them.
//!
//! Not here: the creation of these values ([`super::anonymous_objects`]).

use super::binder::{Bind, leave_to_compiler};
use super::typed::Typed;
use crate::syntax::Span;
use crate::types::Ty;

/// What only the compiler can create.
pub(super) const MISSING: &str = "an object of an anonymous type that the program does not have";

/// Leaves a value whose type a tuple replaces to the compiler.
pub(super) fn require_own_type(value: &Typed) -> Bind<()> {
    match value.ty.replaces_anonymous() {
        true => leave_to_compiler(MISSING, value.span),
        false => Ok(()),
    }
}

/// The same for a conversion to a type.
pub(super) fn require_convertible(value: &Typed, to: &Ty) -> Bind<()> {
    if to.replaces_anonymous() { Ok(()) } else { require_own_type(value) }
}

/// The same for an access to a member: the tuple has those of the object's properties.
pub(super) fn require_member(of: &Typed, name: &str) -> Bind<()> {
    match of.ty.names().is_some_and(|names| names.position(name).is_some()) {
        true => Ok(()),
        false => require_own_type(of),
    }
}

/// The same for the type arguments of a call.
pub(super) fn require_type_arguments(types: &[Ty], span: Span) -> Bind<()> {
    match types.iter().any(Ty::contains_anonymous) {
        true => leave_to_compiler(MISSING, span),
        false => Ok(()),
    }
}
