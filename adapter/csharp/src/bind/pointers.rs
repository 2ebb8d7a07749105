//! Arithmetic and order of pointers (language specification, 23.6.6 to 23.6.8), which are computed as
//! addresses.
//!
//! Not here: their equality ([`super::equality`]), their conversions ([`super::conversions`]).

use super::binder::{Bind, Binder, reject};
use super::typed::{ConversionKind, Typed, TypedKind};
use crate::operators::{BinaryOp, Overflow};
use crate::syntax::Span;
use crate::types::{BOOL, Ty, VOID, kind};

/// The type of a distance between addresses.
const LONG: Ty = Ty::Primitive(kind::I8);
/// The type in which addresses are computed.
const ULONG: Ty = Ty::Primitive(kind::U8);

/// Binds `p + n`, `n + p`, `p - n`, `p - q` and `p < q`; `None` for other operators and operands.
pub(super) fn pointer_binary(
    binder: &mut Binder<'_>,
    op: BinaryOp,
    a: &Typed,
    b: &Typed,
    span: Span,
) -> Bind<Option<Typed>> {
    // Addresses wrap around.
    let before = std::mem::replace(&mut binder.overflow, Overflow::Ignored);
    let computed = compute_address(binder, op, (a, b), span);
    binder.overflow = before;
    let pointer = if matches!(a.ty, Ty::Pointer(_)) { &a.ty } else { &b.ty };
    let typed = |value: Typed| if value.ty == ULONG { converted(value, pointer.clone()) } else { value };
    computed.map(|value| value.map(typed))
}

/// The result as a number: `ulong` for a pointer.
fn compute_address(
    binder: &Binder<'_>,
    op: BinaryOp,
    (a, b): (&Typed, &Typed),
    span: Span,
) -> Bind<Option<Typed>> {
    let is_sum = matches!(op, BinaryOp::Add | BinaryOp::Subtract);
    match (&a.ty, &b.ty) {
        (Ty::Pointer(_), Ty::Pointer(_)) if op.compares() && !op.is_equality() => {
            binder.built_in(op, address_of(a), address_of(b), BOOL, span).map(Some)
        }
        (Ty::Pointer(of), _) | (_, Ty::Pointer(of)) if is_sum && **of == VOID => {
            reject("CS0242", "The operation in question is undefined on void pointers", span)
        }
        (Ty::Pointer(of), Ty::Pointer(other)) if op == BinaryOp::Subtract && of == other => {
            distance_between(binder, (a, b), of, span).map(Some)
        }
        (Ty::Pointer(of), _) if is_sum => {
            let offset = offset_in_bytes(binder, b, of, span)?;
            offset.map(|offset| binder.built_in(op, address_of(a), offset, ULONG, span)).transpose()
        }
        (_, Ty::Pointer(of)) if op == BinaryOp::Add => {
            let offset = offset_in_bytes(binder, a, of, span)?;
            offset.map(|offset| binder.built_in(op, offset, address_of(b), ULONG, span)).transpose()
        }
        _ => Ok(None),
    }
}

/// The number of elements between two pointers.
fn distance_between(binder: &Binder<'_>, (a, b): (&Typed, &Typed), of: &Ty, span: Span) -> Bind<Typed> {
    let signed = |value: &Typed| converted(value.clone(), LONG);
    let bytes = binder.built_in(BinaryOp::Subtract, signed(a), signed(b), LONG, span)?;
    let size = binder.size_of_type(of.clone(), span)?;
    binder.built_in(BinaryOp::Divide, bytes, binder.as_number(size, &LONG)?, LONG, span)
}

/// An index as a number of bytes, in the form that is added to an address; `None` if it is not an integer.
fn offset_in_bytes(binder: &Binder<'_>, index: &Typed, of: &Ty, span: Span) -> Bind<Option<Typed>> {
    let kinds = [kind::I4, kind::U4, kind::I8, kind::U8].map(Ty::Primitive);
    let found = kinds.iter().find_map(|kind| binder.implicit_conversion(index, kind));
    let Some(steps) = found else { return Ok(None) };
    let index = binder.as_number(binder.apply(index.clone(), steps)?, &LONG)?;
    let size = binder.as_number(binder.size_of_type(of.clone(), span)?, &LONG)?;
    let bytes = binder.built_in(BinaryOp::Multiply, index, size, LONG, span)?;
    binder.as_number(bytes, &ULONG).map(Some)
}

fn address_of(pointer: &Typed) -> Typed {
    converted(pointer.clone(), ULONG)
}

/// A pointer as a number, or a number as a pointer.
fn converted(value: Typed, to: Ty) -> Typed {
    let span = value.span;
    Typed::new(TypedKind::Convert(value.boxed(), ConversionKind::Number { checked: false }), to, span)
}
