//! Anonymous objects, `new { A = 1, b.Name }` (language specification, 12.8.17.4).
//!
//! A compiler declares one type in an assembly for all anonymous objects with the same property names, and
//! the debugger creates objects of it. No type can be declared in a stopped program: if it has none with
//! these names, a tuple replaces the object. That has the members, but it is not equal to an object and has
//! another text, so everything else is left to the compiler.
//!
//! Not here: what is left to the compiler ([`super::anonymous_types`]), tuples, and objects of types with
//! names ([`super::creation`]).

use std::rc::Rc;

use super::anonymous_types::MISSING;
use super::binder::{Bind, Binder, leave_to_compiler, reject};
use super::operators::positional_arguments;
use super::system::Member;
use super::typed::{MethodRef, Typed, TypedKind};
use crate::syntax::Span;
use crate::syntax::tree::{Expr, ExprKind};
use crate::types::{TupleNames, Ty};

/// Binds an anonymous object with these properties.
pub(super) fn anonymous_object(
    binder: &mut Binder<'_>,
    properties: &[(Option<Rc<str>>, Expr)],
    span: Span,
) -> Bind<Typed> {
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for (name, expr) in properties {
        let Some(name) = name.clone().or_else(|| inferred_name(expr)) else {
            return reject(
                "CS0746",
                "Invalid anonymous type member declarator. Anonymous type members must be declared with a \
                    member assignment, simple name or member access.",
                expr.span,
            );
        };
        if names.contains(&name) {
            return reject(
                "CS0833",
                "An anonymous type cannot have multiple properties with the same name",
                expr.span,
            );
        }
        let value = binder.value(expr)?;
        if value.is_null() || binder.types.is_by_ref(&value.ty) || matches!(value.ty, Ty::Pointer(_)) {
            let name = binder.type_text(&value.ty);
            return reject("CS0828", format!("Cannot assign '{name}' to anonymous type property"), expr.span);
        }
        names.push(name);
        values.push(value);
    }
    match constructor(binder, &names, &values) {
        Some(constructor) => {
            let ty = constructor.owner.clone();
            let kind = TypedKind::New(Box::new(constructor), positional_arguments(values));
            Ok(Typed::new(kind, ty, span))
        }
        None if values.is_empty() => leave_to_compiler(MISSING, span),
        None => binder.tuple_with(values, TupleNames::anonymous(names), span),
    }
}

/// The constructor of the program's anonymous type with these properties.
fn constructor(binder: &Binder<'_>, names: &[Rc<str>], values: &[Typed]) -> Option<MethodRef> {
    // The type of a property may be one that the program does not have.
    if values.iter().any(|value| value.ty.contains_anonymous()) {
        return None;
    }
    let def = binder.types.system.anonymous_type(binder.place(), names)?;
    let ty = binder.types.make(def, values.iter().map(|value| value.ty.clone()).collect());
    let constructors = binder.types.system.members(def, ".ctor");
    constructors.iter().find_map(|member| match member {
        Member::Method(method) if !method.is_static && method.parameters.len() == values.len() => {
            Some(binder.method_ref(method, &ty, Vec::new()))
        }
        _ => None,
    })
}

/// The name that an element or a property gets from its value: `b` of `a.b`.
pub(super) fn inferred_name(value: &Expr) -> Option<Rc<str>> {
    match &value.kind {
        ExprKind::Name(name) | ExprKind::Member(_, name) => Some(name.text.clone()),
        ExprKind::Conditional(_, then) => match &then.kind {
            ExprKind::Member(_, name) => Some(name.text.clone()),
            _ => None,
        },
        _ => None,
    }
}
