//! Unary operators (language specification, 12.9): casts, `+`, `-`, `!` and `~`.
//!
//! Not here: operators that a type defines ([`super::user_operators`]), the conversions of casts
//! ([`super::conversions`]).

use std::cmp::Ordering;

use super::binder::{Bind, Binder, reject};
use super::receivers::without_place;
use super::typed::{Typed, TypedKind};
use crate::constant::Constant;
use crate::operators::{OperatorError, Overflow, UnaryOp, compute_unary};
use crate::syntax::Span;
use crate::syntax::tree::{Expr, ExprKind, TypeName};
use crate::types::{BOOL, Ty, kind};

impl Binder<'_> {
    /// Binds the cast `(Type)value`.
    pub(super) fn cast(&mut self, ty: &TypeName, of: &Expr, span: Span) -> Bind<Typed> {
        let to = self.type_of_name(ty)?;
        let mut inner = of;
        while let ExprKind::Paren(deeper) = &inner.kind {
            inner = deeper;
        }
        if inner.kind.takes_type()
            || matches!(inner.kind, ExprKind::Throw(_) | ExprKind::Collection(_) | ExprKind::Lambda(_))
        {
            let value = self.convert_expr(of, &to)?;
            return Ok(Typed { span, ..value });
        }
        let value = self.value(of)?;
        self.cast_value(value, &to, span).map(without_place)
    }

    pub(super) fn unary(&mut self, op: UnaryOp, of: &Expr, span: Span) -> Bind<Typed> {
        let value = self.value(of)?;
        let value = self.to_runtime_type(value)?;
        let methods = self.operator_methods(op.method(), &[&value]);
        if !methods.is_empty()
            && let Some(value) = self.user_defined_operator(&methods, &[&value], None, span)?
        {
            return Ok(value);
        }
        let no_operator = |binder: &Self| {
            let name = binder.type_text(&value.ty);
            reject(
                "CS0023",
                format!("Operator '{}' cannot be applied to operand of type '{name}'", op.text()),
                span,
            )
        };
        if op == UnaryOp::Not {
            let lifted = self.types.nullable(&value.ty).is_some();
            let ty = if lifted { self.types.nullable_of(&BOOL) } else { BOOL };
            let Some(steps) = self.implicit_conversion(&value, &ty) else { return no_operator(self) };
            let value = self.apply(value, steps)?;
            return self.built_in_unary(op, value, ty, span);
        }
        if self.types.enum_storage(&self.types.inside(&value.ty)).is_some() {
            if op != UnaryOp::Complement {
                return no_operator(self);
            }
            let ty = value.ty.clone();
            let storage = self.types.enum_storage(&self.types.inside(&ty)).unwrap_or(kind::I4);
            let small = matches!(storage, kind::I1 | kind::U1 | kind::I2 | kind::U2);
            let working = Ty::Primitive(if small { kind::I4 } else { storage });
            let working =
                if self.types.nullable(&ty).is_some() { self.types.nullable_of(&working) } else { working };
            let number = self.as_number(value, &working)?;
            let value = self.built_in_unary(op, number, working, span)?;
            let back = std::mem::replace(&mut self.overflow, Overflow::Ignored);
            let value = self.as_number(value, &ty);
            self.overflow = back;
            return value;
        }
        // `-2147483648` is an int.
        if op == UnaryOp::Minus
            && let Some(Constant::Int(kind @ (kind::U4 | kind::U8), number)) = value.constant()
            && (*kind, *number) != (kind::U4, 0)
            && let Ok(folded @ Constant::Int(kind::I4 | kind::I8, _)) =
                compute_unary(op, &Constant::Int(*kind, *number), true, self.overflow)
            && (*number == 1 << 31 || *number == 1 << 63)
        {
            let ty = folded.ty();
            return Ok(Typed::new(TypedKind::Constant(folded), ty, span));
        }
        match self.unary_operand_type(op, &value) {
            Some(ty) => {
                let value = self.convert(value, &ty)?;
                self.built_in_unary(op, value, ty, span)
            }
            None => no_operator(self),
        }
    }

    /// The type in which a unary operator is computed.
    fn unary_operand_type(&self, op: UnaryOp, value: &Typed) -> Option<Ty> {
        use kind::{I, I4, I8, R4, R8, U, U4, U8};
        let kinds: &[u32] = match op {
            UnaryOp::Minus => &[I4, I8, I, R4, R8],
            UnaryOp::Plus => &[I4, U4, I8, U8, I, U, R4, R8],
            _ => &[I4, U4, I8, U8, I, U],
        };
        let mut targets: Vec<Ty> = kinds.iter().map(|kind| Ty::Primitive(*kind)).collect();
        if op != UnaryOp::Complement {
            targets.push(self.types.decimal());
        }
        let lifted = self.types.nullable(&value.ty).is_some();
        let wrap = |ty: &Ty| if lifted { self.types.nullable_of(ty) } else { ty.clone() };
        let inside = self.types.inside(&value.ty);
        if targets.contains(&inside) {
            return Some(value.ty.clone());
        }
        let fitting: Vec<&Ty> = targets
            .iter()
            .filter(|ty| {
                !matches!(ty, Ty::Primitive(I | U)) && self.implicit_conversion(value, &wrap(ty)).is_some()
            })
            .collect();
        let beats = |one: &Ty, other: &Ty| self.types.better_type(one, other) == Ordering::Greater;
        let best = fitting.iter().find(|one| fitting.iter().all(|other| *one == other || beats(one, other)));
        best.map(|ty| wrap(ty))
    }

    fn built_in_unary(&self, op: UnaryOp, value: Typed, ty: Ty, span: Span) -> Bind<Typed> {
        if let Some(constant) = value.constant() {
            return match compute_unary(op, constant, true, self.overflow) {
                Ok(constant) => Ok(Typed::new(TypedKind::Constant(constant), ty, span)),
                Err(OperatorError::Overflow) => {
                    reject("CS0220", "The operation overflows at compile time in checked mode", span)
                }
                Err(_) => {
                    let name = self.type_text(&value.ty);
                    reject(
                        "CS0023",
                        format!("Operator '{}' cannot be applied to operand of type '{name}'", op.text()),
                        span,
                    )
                }
            };
        }
        Ok(Typed::new(TypedKind::Unary(op, value.boxed(), self.overflow), ty, span))
    }
}
