//! Members of `dynamic` objects that bind their members themselves (`IDynamicMetaObjectProvider`).
//!
//! Not here: members of all other values ([`super::members`]).

use super::binder::{Bind, Binder, leave_to_compiler};
use super::classification::Classification;
use super::scope::Scope;
use super::source_argument::{SourceArgument, SourceArgumentValue};
use super::typed::{Typed, TypedKind};
use crate::constant::Constant;
use crate::syntax::Span;
use crate::syntax::tree::ArgumentMode;
use crate::types::{OBJECT, STRING, Ty};

/// The interface of objects that bind their members dynamically; the framework's base class for them, whose
/// declared members are preferred; and the one that is a dictionary.
const DYNAMIC_PROVIDER: &str = "System.Dynamic.IDynamicMetaObjectProvider";
const DYNAMIC_OBJECT: &str = "System.Dynamic.DynamicObject";
const EXPANDO_OBJECT: &str = "System.Dynamic.ExpandoObject";
const DICTIONARY: &str = "System.Collections.Generic.IDictionary`2";

/// A member of a `dynamic` value that binds its members itself; `None` for any other value. C#'s runtime
/// binder asks such a value first, unless it is a `DynamicObject`, whose declared members are preferred.
pub(super) fn member_of_dynamic(
    binder: &mut Binder<'_>,
    of: &Typed,
    name: &str,
    types: &[Ty],
    span: Span,
) -> Bind<Option<Classification>> {
    let Some(narrow) = binder.narrow(of) else { return Ok(None) };
    let chain = binder.types.chain(&narrow.ty);
    let is = |ty: &Ty, name: &str| binder.types.is_named(ty, name);
    if !chain.iter().any(|base| binder.types.interfaces(base).iter().any(|ty| is(ty, DYNAMIC_PROVIDER))) {
        return Ok(None);
    }
    if chain.iter().any(|base| is(base, DYNAMIC_OBJECT))
        && let Some(part) = binder.own_member(&narrow, name, types, span)?
    {
        return Ok(Some(part));
    }
    // Its members are the entries of a dictionary: reading one runs no other code.
    if is(&narrow.ty, EXPANDO_OBJECT)
        && let Some(dictionary) = binder.types.named(DICTIONARY, vec![STRING, OBJECT])
    {
        let entries = binder.cast_value(narrow, &dictionary, span)?;
        let key = binder.literal(Constant::Text(name.to_owned()), span);
        let given = [SourceArgument {
            name: None,
            mode: ArgumentMode::Value,
            value: SourceArgumentValue::Value(key),
            span,
        }];
        return Ok(Some(Classification::Value(binder.element_access(entries, &given, span)?)));
    }
    leave_to_compiler("a member of a `dynamic` object", span)
}

/// Whether an argument is declared as `dynamic`.
pub(super) fn is_dynamic_argument(scope: &Scope, given: &SourceArgument<'_>) -> bool {
    match &given.value {
        SourceArgumentValue::Value(value) => is_dynamic_value(scope, value),
        _ => false,
    }
}

pub(super) fn is_dynamic_value(scope: &Scope, value: &Typed) -> bool {
    match &value.kind {
        TypedKind::Variable(at) => {
            scope.variables.get(*at as usize).is_some_and(|variable| variable.is_dynamic)
        }
        _ => false,
    }
}
