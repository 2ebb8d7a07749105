//! `&&` and `||` (language specification, 12.14), for `bool` and for types that define operators.
//!
//! Not here: `??` ([`super::conditional`]), `&` and `|` ([`super::operators`]).

use super::binder::{Bind, Binder, reject};
use super::typed::{Typed, TypedKind};
use crate::constant::Constant;
use crate::operators::BinaryOp;
use crate::syntax::Span;
use crate::syntax::tree::{Expr, Logical};
use crate::types::BOOL;

impl Binder<'_> {
    /// Binds `&&`, `||` and `??`.
    pub(super) fn logical(&mut self, op: Logical, a: &Expr, b: &Expr, span: Span) -> Bind<Typed> {
        if op == Logical::Coalesce {
            return self.coalesce(a, b, span);
        }
        let first = self.value(a)?;
        if let Some(value) = self.user_defined_logical(op, &first, b, span)? {
            return Ok(value);
        }
        let second = self.value(b)?;
        let (Some(to_first), Some(to_second)) =
            (self.implicit_conversion(&first, &BOOL), self.implicit_conversion(&second, &BOOL))
        else {
            let operator = if op == Logical::And { "&&" } else { "||" };
            let (a, b) = (self.type_text(&first.ty), self.type_text(&second.ty));
            return reject(
                "CS0019",
                format!("Operator '{operator}' cannot be applied to operands of type '{a}' and '{b}'"),
                span,
            );
        };
        let (first, second) = (self.apply(first, to_first)?, self.apply(second, to_second)?);
        if let (Some(Constant::Bool(a)), Some(Constant::Bool(b))) = (first.constant(), second.constant()) {
            let value = if op == Logical::And { *a && *b } else { *a || *b };
            return Ok(self.truth_value(value, span));
        }
        let kind = match op {
            Logical::And => TypedKind::And(first.boxed(), second.boxed()),
            _ => TypedKind::Or(first.boxed(), second.boxed()),
        };
        Ok(Typed::new(kind, BOOL, span))
    }

    /// Binds user-defined conditional operators (12.14.3): `x && y` is `false(x) ? x : x & y`, `x || y` is
    /// `true(x) ? x : x | y`.
    fn user_defined_logical(&mut self, op: Logical, a: &Typed, b: &Expr, span: Span) -> Bind<Option<Typed>> {
        let (decides, joins) = match op {
            Logical::And => ("op_False", BinaryOp::And),
            _ => ("op_True", BinaryOp::Or),
        };
        let methods = self.operator_methods(decides, &[a]);
        if methods.is_empty() {
            return Ok(None);
        }
        let slot = self.slot();
        let kept = Typed::new(TypedKind::Slot(slot), a.ty.clone(), a.span);
        let Some(decided) = self.user_defined_operator(&methods, &[&kept], None, span)? else {
            return Ok(None);
        };
        let b = self.value(b)?;
        let both = self.binary(joins, kept.clone(), b, span)?;
        if both.ty != a.ty {
            let (ty, operator) = (self.type_text(&a.ty), joins.text());
            return reject(
                "CS0217",
                format!(
                    "In order to be applicable as a short circuit operator a user-defined logical operator \
                        ('operator {operator}' of '{ty}') must have the same return type and parameter types"
                ),
                span,
            );
        }
        let choice = TypedKind::Choice(decided.boxed(), kept.boxed(), both.boxed());
        let choice = Typed::new(choice, a.ty.clone(), span);
        Ok(Some(Typed::new(TypedKind::Let(slot, a.clone().boxed(), choice.boxed()), a.ty.clone(), span)))
    }
}
