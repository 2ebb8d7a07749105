//! Refusals whose code depends on more than the place where they arise. Not here: all others, which are made
//! where a rule of C# is broken.

use super::binder::{Bind, Binder, reject};
use super::system::Member;
use super::typed::Typed;
use crate::syntax::Span;
use crate::types::{BOOL, STRING, Ty};

/// A type has no such member; or it has one that needs an object where none is given, or the reverse.
pub(super) fn reject_missing<T>(
    binder: &Binder<'_>,
    owner: &Ty,
    name: &str,
    (code, has_object): (&'static str, bool),
    at: Span,
) -> Bind<T> {
    let is_other = |member: &Member| match member {
        Member::Field(field) => field.is_static == has_object,
        Member::Property(property) => property.is_static == has_object,
        Member::Method(method) => method.is_static == has_object,
    };
    let mut defs = binder.types.lineage(owner).into_iter().filter_map(|owner| binder.types.def(&owner));
    let has_other = defs.any(|def| binder.types.system.members(def, name).iter().any(is_other));
    let owner = binder.type_text(owner);
    match (has_other, has_object) {
        (true, true) => reject(
            "CS0176",
            format!(
                "Member '{owner}.{name}' cannot be accessed with an instance reference; qualify it with \
                    a type name instead"
            ),
            at,
        ),
        (true, false) => reject(
            "CS0120",
            format!(
                "An object reference is required for the non-static field, method, or property \
                    '{owner}.{name}'"
            ),
            at,
        ),
        (false, _) => reject(code, format!("'{owner}' does not contain a definition for '{name}'"), at),
    }
}

/// Refuses a constant that a relational pattern cannot compare with.
pub(super) fn require_ordered(binder: &Binder<'_>, to: &Typed, at: Span) -> Bind<()> {
    if !to.is_null() && to.ty != STRING && to.ty != BOOL {
        return Ok(());
    }
    let ty = binder.type_text(&to.ty);
    reject("CS8781", format!("Relational patterns may not be used for a value of type '{ty}'"), at)
}
