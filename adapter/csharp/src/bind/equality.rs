//! Equality of operands without a user-defined operator: null, references, delegates, tuples (language
//! specification, 12.12).

use std::rc::Rc;

use super::anonymous_types::require_own_type;
use super::binder::{Bind, Binder};
use super::typed::{Typed, TypedKind};
use crate::constant::Constant;
use crate::operators::{BinaryOp, Overflow};
use crate::syntax::Span;
use crate::syntax::tree::{Expr, ExprKind};
use crate::types::{BOOL, STRING, Ty};

impl Binder<'_> {
    fn negate_if_unequal(&self, value: Typed, op: BinaryOp, span: Span) -> Typed {
        if op == BinaryOp::NotEqual { self.negated(value, span) } else { value }
    }

    /// Comparison with the literal `null`.
    pub(super) fn null_equality(&self, op: BinaryOp, a: &Typed, b: &Typed, span: Span) -> Option<Typed> {
        let is_nothing = |value: &Typed| value.is_null() || value.constant() == Some(&Constant::Null);
        let of = match (is_nothing(a), is_nothing(b)) {
            (true, true) => return Some(self.truth_value(op == BinaryOp::Equal, span)),
            (false, true) => a,
            (true, false) => b,
            (false, false) => return None,
        };
        let may_be_null =
            !of.ty.is_value() || self.types.nullable(&of.ty).is_some() || matches!(of.ty, Ty::Pointer(_));
        // A class may have an operator that handles null differently.
        let has_own = matches!(of.ty, Ty::Named(_))
            && !self.types.is_delegate(&of.ty)
            && self.types.chain(&of.ty).iter().any(|owner| {
                self.types
                    .def(owner)
                    .is_some_and(|def| !self.types.system.members(def, op.method()).is_empty())
            });
        if !may_be_null || has_own {
            return None;
        }
        let is_null = Typed::new(TypedKind::IsNull(of.clone().boxed()), BOOL, span);
        Some(self.negate_if_unequal(is_null, op, span))
    }

    /// Compares strings by their content, objects and delegates by identity, and pointers by their address.
    pub(super) fn reference_equality(
        &mut self,
        op: BinaryOp,
        a: &Typed,
        b: &Typed,
        span: Span,
    ) -> Bind<Option<Typed>> {
        if a.ty == STRING && b.ty == STRING {
            if let (Some(first), Some(second)) = (a.constant(), b.constant()) {
                return Ok(Some(self.truth_value((first == second) == (op == BinaryOp::Equal), span)));
            }
            let kind = TypedKind::Binary(op, a.clone().boxed(), b.clone().boxed(), Overflow::Wraps);
            return Ok(Some(Typed::new(kind, BOOL, span)));
        }
        let is_reference = |value: &Typed| !value.ty.is_value() && value.ty != Ty::Other;
        let is_pointer = |value: &Typed| matches!(value.ty, Ty::Pointer(_)) || value.is_null();
        let alike = is_reference(a)
            && is_reference(b)
            && (self.types.derives(&a.ty, &b.ty)
                || self.types.derives(&b.ty, &a.ty)
                || self.types.is_interface(&a.ty)
                || self.types.is_interface(&b.ty));
        if !(alike || is_pointer(a) && is_pointer(b)) {
            return Ok(None);
        }
        let same = Typed::new(TypedKind::Same(a.clone().boxed(), b.clone().boxed()), BOOL, span);
        Ok(Some(self.negate_if_unequal(same, op, span)))
    }

    /// Binds `(a, b) == pair` for each element (12.12.11); `None` if the operands are not tuples.
    pub(super) fn tuple_equality(
        &mut self,
        op: BinaryOp,
        a: &Expr,
        b: &Expr,
        span: Span,
    ) -> Bind<Option<Typed>> {
        if !op.is_equality() {
            return Ok(None);
        }
        if let (Some(first), Some(second)) = (elements_of(a), elements_of(b)) {
            let (mut left, mut right, mut all) = (Slots::new(), Slots::new(), Vec::new());
            self.compare_elements((first, second), (&mut left, &mut right), &mut all, span)?;
            left.extend(right);
            return Ok(Some(with_slots(left, self.all_of(all, op, span), span)));
        }
        let (Some(elements), is_first) = (match (elements_of(a), elements_of(b)) {
            (Some(elements), _) => (Some(elements), true),
            (_, elements) => (elements, false),
        }) else {
            return Ok(None);
        };
        // A tuple literal is compared with a tuple value: no tuple needs to be created.
        let value = self.value(if is_first { b } else { a })?;
        require_own_type(&value)?;
        let Some(types) = self.types.tuple(&value.ty).filter(|types| types.len() == elements.len()) else {
            return Ok(None);
        };
        let slot = self.slot();
        let kept = Typed::new(TypedKind::Slot(slot), value.ty.clone(), value.span);
        let (mut before, mut all) = (Vec::new(), Vec::new());
        for (at, ((_, element), ty)) in elements.iter().zip(types).enumerate() {
            let own = Typed::new(TypedKind::TupleElement(kept.clone().boxed(), at), ty, span);
            let other = self.value(element)?;
            let other = self.keep(other, &mut before);
            let (one, other) = if is_first { (other, own) } else { (own, other) };
            all.push(self.binary(BinaryOp::Equal, one, other, span)?);
        }
        let at = if is_first { before.len() } else { 0 };
        before.insert(at, (slot, value));
        Ok(Some(with_slots(before, self.all_of(all, op, span), span)))
    }

    /// Compares the elements of two tuple literals, and of nested ones. All elements of the left one are
    /// evaluated into slots, then all of the right one, before the first comparison.
    fn compare_elements(
        &mut self,
        (first, second): (&[Element], &[Element]),
        (left, right): (&mut Slots, &mut Slots),
        all: &mut Vec<Typed>,
        span: Span,
    ) -> Bind<()> {
        if first.len() != second.len() {
            return super::binder::reject(
                "CS8384",
                format!(
                    "Tuple types used as operands of an == or != operator must have matching cardinalities. \
                        But this operator has tuple types of cardinality {} on the left and {} on the right",
                    first.len(),
                    second.len()
                ),
                span,
            );
        }
        for ((_, one), (_, other)) in first.iter().zip(second) {
            match (elements_of(one), elements_of(other)) {
                (Some(one), Some(other)) => {
                    self.compare_elements((one, other), (&mut *left, &mut *right), all, span)?;
                }
                (None, None) if !one.kind.takes_type() && !other.kind.takes_type() => {
                    let (one, other) = (self.value(one)?, self.value(other)?);
                    let (one, other) = (self.keep(one, left), self.keep(other, right));
                    all.push(self.binary(BinaryOp::Equal, one, other, span)?);
                }
                _ => all.push(self.binary_expr(BinaryOp::Equal, one, other, span)?),
            }
        }
        Ok(())
    }

    /// Evaluates a value into a slot, unless its evaluation has no effect.
    fn keep(&mut self, value: Typed, slots: &mut Slots) -> Typed {
        if value.is_null() || value.constant().is_some() {
            return value;
        }
        let slot = self.slot();
        let kept = Typed::new(TypedKind::Slot(slot), value.ty.clone(), value.span);
        slots.push((slot, value));
        kept
    }

    /// Compares two tuple values, element by element.
    pub(super) fn tuple_values_equal(
        &mut self,
        op: BinaryOp,
        a: Typed,
        b: Typed,
        span: Span,
    ) -> Bind<Option<Typed>> {
        let (Some(first), Some(second)) = (self.types.tuple(&a.ty), self.types.tuple(&b.ty)) else {
            return Ok(None);
        };
        if first.len() != second.len() {
            return Ok(None);
        }
        let (left_slot, right_slot) = (self.slot(), self.slot());
        let element = |slot: u32, of: &Typed, at: usize, ty: &Ty| {
            let kept = Typed::new(TypedKind::Slot(slot), of.ty.clone(), of.span);
            Typed::new(TypedKind::TupleElement(kept.boxed(), at), ty.clone(), span)
        };
        let mut all = Vec::new();
        for (at, (one, other)) in first.iter().zip(&second).enumerate() {
            let (one, other) = (element(left_slot, &a, at, one), element(right_slot, &b, at, other));
            all.push(match self.tuple_values_equal(BinaryOp::Equal, one.clone(), other.clone(), span)? {
                Some(inner) => inner,
                None => self.binary(BinaryOp::Equal, one, other, span)?,
            });
        }
        let whole = self.all_of(all, op, span);
        let inner = Typed::new(TypedKind::Let(right_slot, b.boxed(), whole.boxed()), BOOL, span);
        Ok(Some(Typed::new(TypedKind::Let(left_slot, a.boxed(), inner.boxed()), BOOL, span)))
    }

    fn all_of(&self, all: Vec<Typed>, op: BinaryOp, span: Span) -> Typed {
        let joined =
            all.into_iter().reduce(|a, b| Typed::new(TypedKind::And(a.boxed(), b.boxed()), BOOL, span));
        let joined = joined.unwrap_or_else(|| self.truth_value(true, span));
        self.negate_if_unequal(joined, op, span)
    }
}

/// An element of a tuple literal: its name and its value.
type Element = (Option<Rc<str>>, Expr);

/// Slots, and the value that is evaluated into each.
type Slots = Vec<(u32, Typed)>;

/// The elements of a tuple literal; `None` for another expression.
fn elements_of(expr: &Expr) -> Option<&[Element]> {
    match &unparenthesized(expr).kind {
        ExprKind::Tuple(elements) => Some(elements),
        _ => None,
    }
}

/// Evaluates the slots before a condition.
fn with_slots(slots: Slots, truth: Typed, span: Span) -> Typed {
    slots.into_iter().rev().fold(truth, |truth, (slot, value)| {
        Typed::new(TypedKind::Let(slot, value.boxed(), truth.boxed()), BOOL, span)
    })
}

/// The expression without its parentheses.
pub(super) fn unparenthesized(expr: &Expr) -> &Expr {
    let mut inner = expr;
    while let ExprKind::Paren(of) = &inner.kind {
        inner = of;
    }
    inner
}
