//! `a ? b : c`, `a ?? b`, `a?.b` and `switch` expressions: one type whichever is chosen (language
//! specification, 12.18, 12.15, 12.8.8, 12.11).
//!
//! Not here: the patterns of `switch` arms ([`super::patterns`]), the best common type ([`super::creation`]).

use super::binder::{Bind, Binder, leave_to_compiler, reject};
use super::classification::Classification;
use super::typed::{ConversionKind, Typed, TypedKind, TypedSwitchArm};
use crate::constant::Constant;
use crate::syntax::Span;
use crate::syntax::tree::{self, Expr, ExprKind};
use crate::types::{Ty, is_numeric, kind};

impl Binder<'_> {
    /// Binds `a ? b : c`, with the expected type if there is one.
    pub(super) fn choice(
        &mut self,
        (condition, a, b): (&Expr, &Expr, &Expr),
        target: Option<&Ty>,
        span: Span,
    ) -> Bind<Typed> {
        let condition = self.condition(condition)?;
        let (first, second) = match target {
            Some(ty) => (self.convert_expr(a, ty)?, self.convert_expr(b, ty)?),
            None => self.branches(a, b, span)?,
        };
        let ty = first.ty.clone();
        if let Some(Constant::Bool(holds)) = condition.constant()
            && first.constant().is_some()
            && second.constant().is_some()
        {
            let chosen = if *holds { first } else { second };
            return Ok(Typed { span, ..chosen });
        }
        Ok(Typed::new(TypedKind::Choice(condition.boxed(), first.boxed(), second.boxed()), ty, span))
    }

    /// Both branches, converted to their common type.
    fn branches(&mut self, a: &Expr, b: &Expr, span: Span) -> Bind<(Typed, Typed)> {
        let late = |expr: &Expr| {
            let inner = super::equality::unparenthesized(expr);
            inner.kind.takes_type() || matches!(inner.kind, ExprKind::Throw(_))
        };
        match (late(a), late(b)) {
            (true, true) => reject("CS0173", "Type of conditional expression cannot be determined", span),
            (true, false) => {
                let b = self.value(b)?;
                Ok((self.convert_expr(a, &b.ty)?, b))
            }
            (false, true) => {
                let a = self.value(a)?;
                let b = self.convert_expr(b, &a.ty)?;
                Ok((a, b))
            }
            (false, false) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                match self.common_type(&[a.clone(), b.clone()]) {
                    Some(ty) => Ok((self.convert(a, &ty)?, self.convert(b, &ty)?)),
                    None if a.is_null() && b.is_null() => Ok((a, b)),
                    // As an operand it gets the type that the operator requires.
                    None if a.ty.kind().is_some_and(is_numeric) && b.ty.kind().is_some_and(is_numeric) => {
                        leave_to_compiler("a choice between numbers of no common type", span)
                    }
                    None => {
                        let (a, b) = (self.type_text(&a.ty), self.type_text(&b.ty));
                        reject(
                            "CS0173",
                            format!(
                                "Type of conditional expression cannot be determined because there is no \
                                    implicit conversion between '{a}' and '{b}'"
                            ),
                            span,
                        )
                    }
                }
            }
        }
    }

    /// Binds the null-coalescing `a ?? b`.
    pub(super) fn coalesce(&mut self, a: &Expr, b: &Expr, span: Span) -> Bind<Typed> {
        let of = self.value(a)?;
        let inside = self.types.nullable(&of.ty);
        if of.ty.is_value() && inside.is_none() {
            let name = self.type_text(&of.ty);
            return reject(
                "CS0019",
                format!("Operator '??' cannot be applied to operands of type '{name}': it is never null"),
                of.span,
            );
        }
        if of.is_null() {
            return self.value(b);
        }
        let slot = self.slot();
        let kept = Typed::new(TypedKind::Slot(slot), of.ty.clone(), of.span);
        let inner = inside.clone().unwrap_or_else(|| of.ty.clone());
        let unwrapped = match &inside {
            Some(ty) => Typed::new(
                TypedKind::Convert(kept.clone().boxed(), ConversionKind::Unwrap),
                ty.clone(),
                of.span,
            ),
            None => kept.clone(),
        };
        let late = super::equality::unparenthesized(b);
        if late.kind.takes_type() || matches!(late.kind, ExprKind::Throw(_) | ExprKind::Collection(_)) {
            let other = self.convert_expr(b, &inner)?;
            return Ok(Typed::new(
                TypedKind::Coalesce(of.boxed(), slot, unwrapped.boxed(), other.boxed()),
                inner,
                span,
            ));
        }
        let other = self.value(b)?;
        let (value, other) = if self.implicit_conversion(&other, &inner).is_some() {
            (unwrapped, self.convert(other, &inner)?)
        } else if self.implicit_conversion(&other, &of.ty).is_some() {
            (kept, self.convert(other, &of.ty)?)
        } else if let Some(steps) = self.implicit_conversion(&unwrapped, &other.ty) {
            (self.apply(unwrapped, steps)?, other)
        } else {
            let (a, b) = (self.type_text(&of.ty), self.type_text(&other.ty));
            return reject(
                "CS0019",
                format!("Operator '??' cannot be applied to operands of type '{a}' and '{b}'"),
                span,
            );
        };
        let ty = value.ty.clone();
        Ok(Typed::new(TypedKind::Coalesce(of.boxed(), slot, value.boxed(), other.boxed()), ty, span))
    }

    /// Binds the expression `of switch { … }`.
    pub(super) fn switch(
        &mut self,
        of: &Expr,
        arms: &[tree::SwitchArm],
        target: Option<&Ty>,
        span: Span,
    ) -> Bind<Typed> {
        let of = self.value(of)?;
        let (slot, input) = self.pattern_input(&of);
        let ty = match target {
            Some(ty) => ty.clone(),
            None => {
                let mut values = Vec::new();
                for arm in arms {
                    let late = super::equality::unparenthesized(&arm.value);
                    if late.kind.takes_type() || matches!(late.kind, ExprKind::Throw(_)) {
                        continue;
                    }
                    values.push(self.within(|binder| {
                        binder.pattern(&arm.pattern, &input)?;
                        binder.value(&arm.value)
                    })?);
                }
                match self.common_type(&values) {
                    Some(ty) => ty,
                    None => {
                        return reject("CS8506", "No best type was found for the switch expression", span);
                    }
                }
            }
        };
        let mut bound = Vec::new();
        for arm in arms {
            bound.push(self.within(|binder| {
                let (test, _) = binder.pattern(&arm.pattern, &input)?;
                let when = arm.when.as_ref().map(|when| binder.condition(when)).transpose()?;
                let value = binder.convert_expr(&arm.value, &ty)?;
                Ok(TypedSwitchArm { test, when, value })
            })?);
        }
        Ok(Typed::new(TypedKind::Switch(of.boxed(), slot, bound), ty, span))
    }

    /// Binds `of?.then`: `then` is evaluated if `of` is not null.
    pub(super) fn conditional(
        &mut self,
        of: &Expr,
        span: Span,
        then: impl FnOnce(&mut Self) -> Bind<Classification>,
    ) -> Bind<Typed> {
        let of = self.value(of)?;
        let inside = self.types.nullable(&of.ty);
        if of.ty.is_value() && inside.is_none() {
            let name = self.type_text(&of.ty);
            return reject(
                "CS0023",
                format!("Operator '?' cannot be applied to operand of type '{name}'"),
                of.span,
            );
        }
        let slot = self.slot();
        let ty = inside.unwrap_or_else(|| of.ty.clone());
        self.receivers.push(Typed::new(TypedKind::Slot(slot), ty, of.span));
        let then = then(self).and_then(|part| self.require_value(part, span));
        self.receivers.pop();
        let then = then?;
        if matches!(then.ty, Ty::Pointer(_)) || self.types.is_by_ref(&then.ty) {
            let name = self.type_text(&then.ty);
            return reject("CS8978", format!("'{name}' cannot be made nullable."), span);
        }
        let ty = if then.is_void() { then.ty.clone() } else { self.types.nullable_of(&then.ty) };
        let then = if ty != then.ty {
            Typed::new(TypedKind::Convert(then.boxed(), ConversionKind::Wrap), ty.clone(), span)
        } else {
            then
        };
        Ok(Typed::new(TypedKind::Conditional(of.boxed(), slot, then.boxed()), ty, span))
    }

    /// Binds a condition, which is converted to `bool`.
    pub(super) fn condition(&mut self, expr: &Expr) -> Bind<Typed> {
        self.convert_expr(expr, &Ty::Primitive(kind::BOOLEAN))
    }
}
