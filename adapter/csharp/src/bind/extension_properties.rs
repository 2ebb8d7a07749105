//! Extension properties, `extension(string text) { int Words => …; }`: the compiler makes their getters
//! static methods with the receiver as their parameter.
//!
//! Not here: static extension members, extension operators and assignments, which are left to the compiler;
//! extension methods ([`super::calls`]).

use super::binder::{Bind, Binder};
use super::classification::MethodGroup;
use super::typed::{Typed, TypedKind};
use crate::syntax::Span;

/// The value of an extension property; `None` if the value has none of this name.
pub(super) fn extension_property(
    binder: &mut Binder<'_>,
    of: &Typed,
    name: &str,
    span: Span,
) -> Bind<Option<Typed>> {
    let getters = binder.types.system.extension_getters(binder.place(), name);
    if getters.is_empty() {
        return Ok(None);
    }
    let (found, _) = binder.extension_methods(getters, of, &[], &[], span)?;
    let Some((getter, given)) = found else { return Ok(None) };
    let owner = getter.method.owner.clone();
    let group = MethodGroup { name: name.into(), of: None, owner, types: Vec::new(), is_base: false, span };
    let mut value = binder.call_candidate(getter, &group, &given, span)?;
    if let TypedKind::Call(call) = &mut value.kind {
        call.is_getter = true;
    }
    Ok(Some(value))
}
