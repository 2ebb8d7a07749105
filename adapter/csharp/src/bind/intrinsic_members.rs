//! Members that the language itself defines: lengths and ranks of arrays, members of nullables, elements of
//! tuples. They need no lookup in the metadata of a type.
//!
//! Not here: members that a type declares ([`super::members`]).

use super::relations::TypeRelations;
use super::typed::{ConversionKind, Typed, TypedKind};
use crate::constant::Constant;
use crate::syntax::Span;
use crate::types::{BOOL, INT, Ty, kind};

/// Members that need no lookup: lengths, members of nullables, elements of tuples.
pub(super) fn intrinsic_member(
    types: TypeRelations<'_>,
    of: &Typed,
    name: &str,
    span: Span,
) -> Option<Typed> {
    let int = |value| Typed::new(TypedKind::Constant(Constant::int(value)), INT, span);
    let boxed = || of.clone().boxed();
    match (&of.ty, name) {
        (Ty::Vector(_) | Ty::Array(..) | Ty::Primitive(kind::STRING), "Length") => {
            // The length of a constant is not a constant.
            return Some(Typed::new(TypedKind::Length(boxed()), INT, span));
        }
        (Ty::Vector(_) | Ty::Array(..), "LongLength") => {
            let length = Typed::new(TypedKind::Length(boxed()), INT, span);
            let how = ConversionKind::Number { checked: false };
            return Some(Typed::new(TypedKind::Convert(length.boxed(), how), Ty::Primitive(kind::I8), span));
        }
        (Ty::Vector(_), "Rank") => return Some(int(1)),
        (Ty::Array(_, rank), "Rank") => return Some(int(i32::try_from(*rank).unwrap_or(1))),
        _ => {}
    }
    if let Some(inner) = types.nullable(&of.ty) {
        return match name {
            "HasValue" => Some(Typed::new(TypedKind::HasValue(boxed()), BOOL, span)),
            "Value" => Some(Typed::new(TypedKind::Convert(boxed(), ConversionKind::Unwrap), inner, span)),
            _ => None,
        };
    }
    let elements = types.tuple(&of.ty)?;
    let named = of.ty.names().and_then(|names| names.position(name));
    let at = named.or_else(|| name.strip_prefix("Item")?.parse::<usize>().ok()?.checked_sub(1))?;
    let ty = elements.get(at)?.clone();
    Some(Typed::new(TypedKind::TupleElement(boxed(), at), ty, span))
}
