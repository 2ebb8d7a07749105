//! Binary operators (language specification, 12.4.7 and 12.10 to 12.14): which of them applies, and the
//! built-in ones. They are chosen by overload resolution, which considers user-defined conversions.
//!
//! Not here: operators that a type defines ([`super::user_operators`]), [`super::unary`], `&&` and `||`
//! ([`super::logical`]), equality without a user-defined operator ([`super::equality`]).

use std::cmp::Ordering;

use super::anonymous_types::require_own_type;
use super::binder::{Bind, Binder, leave_to_compiler, reject};
use super::typed::{PassedArgument, Typed, TypedArgument, TypedKind};
use crate::constant::Constant;
use crate::operators::{BinaryOp, OperatorError, Overflow, UnaryOp, compute};
use crate::syntax::Span;
use crate::syntax::tree::Expr;
use crate::types::{BOOL, INT, OBJECT, STRING, Ty, kind};

impl Binder<'_> {
    pub(super) fn binary_expr(&mut self, op: BinaryOp, a: &Expr, b: &Expr, span: Span) -> Bind<Typed> {
        // `id == default`: the other operand determines the type.
        let (a, b) = match (a.kind.takes_type(), b.kind.takes_type()) {
            (true, false) => {
                let b = self.value(b)?;
                (self.convert_expr(a, &b.ty)?, b)
            }
            (false, true) => {
                let a = self.value(a)?;
                let b = self.convert_expr(b, &a.ty)?;
                (a, b)
            }
            _ => {
                if let Some(value) = self.tuple_equality(op, a, b, span)? {
                    return Ok(value);
                }
                (self.value(a)?, self.value(b)?)
            }
        };
        self.binary(op, a, b, span)
    }

    pub(super) fn binary(&mut self, op: BinaryOp, a: Typed, b: Typed, span: Span) -> Bind<Typed> {
        let (a, b) = (self.to_runtime_type(a)?, self.to_runtime_type(b)?);
        if op.is_equality()
            && let Some(value) = self.null_equality(op, &a, &b, span)
        {
            return Ok(value);
        }
        require_own_type(&a)?;
        require_own_type(&b)?;
        if op.is_equality()
            && let Some(value) = self.tuple_values_equal(op, a.clone(), b.clone(), span)?
        {
            return Ok(value);
        }
        if let Some(value) = self.user_defined_binary(op, &a, &b, span)? {
            return Ok(value);
        }
        if op == BinaryOp::Add && self.joins_text(&a, &b) {
            return Ok(self.concat(a, b, span));
        }
        if let Some(value) = self.enum_binary(op, &a, &b, span)? {
            return Ok(value);
        }
        if let Some(value) = self.boolean_binary(op, &a, &b, span)? {
            return Ok(value);
        }
        if let Some(value) = self.number_binary(op, &a, &b, span)? {
            return Ok(value);
        }
        if let Some(value) = super::pointers::pointer_binary(self, op, &a, &b, span)? {
            return Ok(value);
        }
        if op.is_equality()
            && let Some(value) = self.reference_equality(op, &a, &b, span)?
        {
            return Ok(value);
        }
        if self.types.is_delegate(&a.ty) && matches!(op, BinaryOp::Add | BinaryOp::Subtract) {
            return leave_to_compiler("an operator on delegates", span);
        }
        self.no_binary(op, &a, &b, span)
    }

    /// Converts a `dynamic` value to its run-time type.
    pub(super) fn to_runtime_type(&self, value: Typed) -> Bind<Typed> {
        if !super::dynamic_members::is_dynamic_value(self.scope, &value) {
            return Ok(value);
        }
        match self.narrow(&value) {
            Some(narrow) => Ok(narrow),
            None => leave_to_compiler("an operator on a `dynamic` value", value.span),
        }
    }

    pub(super) fn no_binary<T>(&self, op: BinaryOp, a: &Typed, b: &Typed, span: Span) -> Bind<T> {
        let (a, b) = (self.type_text(&a.ty), self.type_text(&b.ty));
        reject(
            "CS0019",
            format!("Operator '{}' cannot be applied to operands of type '{a}' and '{b}'", op.text()),
            span,
        )
    }

    /// Whether `+` is string concatenation: an operand is a string, or null is added to a type
    /// that is not a number.
    fn joins_text(&self, a: &Typed, b: &Typed) -> bool {
        let is_text = |value: &Typed| value.ty == STRING;
        let is_object = |value: &Typed| !value.ty.is_value() && !value.is_null();
        is_text(a) || is_text(b) || a.is_null() && is_object(b) || b.is_null() && is_object(a)
    }

    fn concat(&self, a: Typed, b: Typed, span: Span) -> Typed {
        let text = |value: &Typed| match value.constant() {
            Some(Constant::Text(text)) => Some(text.clone()),
            Some(Constant::Null) => Some(String::new()),
            _ => None,
        };
        if let (Some(a), Some(b)) = (text(&a), text(&b)) {
            return self.literal(Constant::Text(a + &b), span);
        }
        let mut parts = Vec::new();
        for part in [a, b] {
            match part.kind {
                TypedKind::Concat(inner) => parts.extend(inner),
                _ => parts.push(self.as_text(part)),
            }
        }
        Typed::new(TypedKind::Concat(parts), STRING, span)
    }

    /// A part of an interpolated string, which is formatted or converted to text.
    pub(super) fn text_part(&self, part: Typed, is_formatted: bool) -> Bind<Typed> {
        require_own_type(&part)?;
        Ok(if is_formatted { part } else { self.as_text(part) })
    }

    /// A part of a concatenated string: the result of `ToString`. Numbers, Booleans, enums and their
    /// nullables are formatted in the debugger.
    fn as_text(&self, part: Typed) -> Typed {
        if part.ty == STRING || part.is_null() {
            return part;
        }
        let inside = self.types.inside(&part.ty);
        let here = inside != OBJECT && self.types.is_built_in(&inside);
        let span = part.span;
        Typed::new(TypedKind::Text(part.boxed(), here), STRING, span)
    }

    pub(super) fn negated(&self, value: Typed, span: Span) -> Typed {
        match value.constant() {
            Some(Constant::Bool(holds)) => self.truth_value(!holds, span),
            _ => Typed::new(TypedKind::Unary(UnaryOp::Not, value.boxed(), Overflow::Wraps), BOOL, span),
        }
    }

    /// Binds `&`, `|`, `^` and equality of `bool`, with three values for `bool?`.
    fn boolean_binary(&mut self, op: BinaryOp, a: &Typed, b: &Typed, span: Span) -> Bind<Option<Typed>> {
        if !matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Equal | BinaryOp::NotEqual)
        {
            return Ok(None);
        }
        let is_truth = |value: &Typed| self.types.inside(&value.ty) == BOOL;
        if !is_truth(a) && !is_truth(b) {
            return Ok(None);
        }
        let lifts = |value: &Typed| self.types.nullable(&value.ty).is_some() || value.is_null();
        let lifted = lifts(a) || lifts(b);
        let ty = if lifted { self.types.nullable_of(&BOOL) } else { BOOL };
        let (Some(first), Some(second)) =
            (self.implicit_conversion(a, &ty), self.implicit_conversion(b, &ty))
        else {
            return Ok(None);
        };
        let (a, b) = (self.apply(a.clone(), first)?, self.apply(b.clone(), second)?);
        let result = if op.compares() { BOOL } else { ty };
        self.built_in(op, a, b, result, span).map(Some)
    }

    /// Binds operators of enums (12.10.5, 12.12.6, 12.13.3).
    fn enum_binary(&mut self, op: BinaryOp, a: &Typed, b: &Typed, span: Span) -> Bind<Option<Typed>> {
        let inside = |value: &Typed| self.types.inside(&value.ty);
        let (left_ty, right_ty) = (inside(a), inside(b));
        let (left_kind, right_kind) = (self.types.enum_storage(&left_ty), self.types.enum_storage(&right_ty));
        let (Some(storage), enumeration) = (match (left_kind, right_kind) {
            (Some(kind), _) => (Some(kind), left_ty.clone()),
            (None, Some(kind)) => (Some(kind), right_ty.clone()),
            _ => (None, Ty::Other),
        }) else {
            return Ok(None);
        };
        let both = left_kind.is_some() && right_kind.is_some();
        if both && left_ty != right_ty {
            return self.no_binary(op, a, b, span);
        }
        let is_zero = |value: &Typed| matches!(value.constant(), Some(Constant::Int(_, 0)));
        let number = Ty::Primitive(storage);
        // The type to which both operands are converted, and the type of the result.
        let (left_as, right_as, result) = match op {
            BinaryOp::Add if !both => match left_kind {
                Some(_) => (enumeration.clone(), number, enumeration),
                None => (number, enumeration.clone(), enumeration),
            },
            BinaryOp::Subtract if both => (enumeration.clone(), enumeration, number),
            BinaryOp::Subtract if left_kind.is_some() => match is_zero(b) && b.ty != number {
                true => (enumeration.clone(), enumeration, number),
                false => (enumeration.clone(), number, enumeration),
            },
            BinaryOp::Subtract if is_zero(a) => (enumeration.clone(), enumeration, number),
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                (enumeration.clone(), enumeration.clone(), enumeration)
            }
            op if op.compares() => (enumeration.clone(), enumeration, BOOL),
            _ => return self.no_binary(op, a, b, span),
        };
        let lifts = |value: &Typed| self.types.nullable(&value.ty).is_some() || value.is_null();
        let lifted = lifts(a) || lifts(b);
        let wrap = |ty: Ty| if lifted { self.types.nullable_of(&ty) } else { ty };
        let (Some(first), Some(second)) =
            (self.implicit_conversion(a, &wrap(left_as)), self.implicit_conversion(b, &wrap(right_as)))
        else {
            return self.no_binary(op, a, b, span);
        };
        let (a, b) = (self.apply(a.clone(), first)?, self.apply(b.clone(), second)?);
        // They are computed in their underlying type, or as `int` if that type is smaller.
        let small = matches!(storage, kind::I1 | kind::U1 | kind::I2 | kind::U2 | kind::CHAR);
        let working = wrap(Ty::Primitive(if small { kind::I4 } else { storage }));
        let (a, b) = (self.as_number(a, &working)?, self.as_number(b, &working)?);
        let raw = if op.compares() { BOOL } else { working };
        let value = self.built_in(op, a, b, raw, span)?;
        if op.compares() {
            return Ok(Some(value));
        }
        let back = std::mem::replace(&mut self.overflow, Overflow::Ignored);
        let value = self.as_number(value, &wrap(result));
        self.overflow = back;
        value.map(Some)
    }

    /// Converts a number, an enum or a nullable of one to another number type.
    pub(super) fn as_number(&self, value: Typed, to: &Ty) -> Bind<Typed> {
        match self.explicit_of_types(&value.ty, to, 4) {
            Some(steps) => self.apply(value, steps),
            None => Ok(value),
        }
    }

    /// Binds an operator of numbers: the one to whose operand types both operands convert (12.4.7).
    fn number_binary(&mut self, op: BinaryOp, a: &Typed, b: &Typed, span: Span) -> Bind<Option<Typed>> {
        use kind::{I, I4, I8, R4, R8, U, U4, U8};
        let native = |value: &Typed| matches!(self.types.inside(&value.ty), Ty::Primitive(I | U));
        let mut kinds = vec![I4, U4, I8, U8];
        if native(a) || native(b) {
            kinds.extend([I, U]);
        }
        let whole_only = op.shifts() || matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
        if !whole_only {
            kinds.extend([R4, R8]);
        }
        let mut targets: Vec<Ty> = kinds.into_iter().map(Ty::Primitive).collect();
        if !whole_only {
            targets.push(self.types.decimal());
        }
        let lifts = |value: &Typed| self.types.nullable(&value.ty).is_some() || value.is_null();
        let lifted = lifts(a) || lifts(b);
        let types = self.types;
        let wrap = |ty: &Ty| if lifted { types.nullable_of(ty) } else { ty.clone() };
        let right_of = |ty: &Ty| if op.shifts() { INT } else { ty.clone() };
        let fitting: Vec<Ty> = targets
            .into_iter()
            .filter(|ty| {
                self.implicit_conversion(a, &wrap(ty)).is_some()
                    && self.implicit_conversion(b, &wrap(&right_of(ty))).is_some()
            })
            .collect();
        let beats = |one: &Ty, other: &Ty| {
            let by = |value: &Typed| {
                let inside = self.types.inside(&value.ty);
                match (inside == *one, inside == *other) {
                    (true, false) => Ordering::Greater,
                    (false, true) => Ordering::Less,
                    _ => self.types.better_type(one, other),
                }
            };
            let (first, second) = (by(a), if op.shifts() { Ordering::Equal } else { by(b) });
            first != Ordering::Less
                && second != Ordering::Less
                && (first, second) != (Ordering::Equal, Ordering::Equal)
        };
        let best = fitting.iter().find(|one| fitting.iter().all(|other| *one == other || beats(one, other)));
        let Some(best) = best else {
            return match fitting.is_empty() {
                true => Ok(None),
                false => {
                    let (a, b) = (self.type_text(&a.ty), self.type_text(&b.ty));
                    reject(
                        "CS0034",
                        format!("Operator '{}' is ambiguous on operands of type '{a}' and '{b}'", op.text()),
                        span,
                    )
                }
            };
        };
        let ty = wrap(best);
        let a = self.convert(a.clone(), &ty)?;
        let b = self.convert(b.clone(), &wrap(&right_of(best)))?;
        let result = if op.compares() { BOOL } else { ty };
        self.built_in(op, a, b, result, span).map(Some)
    }

    /// A built-in operator on operands of its type. It is folded if both are constants.
    pub(super) fn built_in(&self, op: BinaryOp, a: Typed, b: Typed, ty: Ty, span: Span) -> Bind<Typed> {
        if let (Some(first), Some(second)) = (a.constant(), b.constant()) {
            return match compute(op, first, second, (true, true), self.overflow) {
                Ok(constant) => Ok(Typed::new(TypedKind::Constant(constant), ty, span)),
                Err(OperatorError::Overflow) => {
                    reject("CS0220", "The operation overflows at compile time in checked mode", span)
                }
                Err(OperatorError::DividesByZero) => reject("CS0020", "Division by constant zero", span),
                Err(OperatorError::NoOperator) => self.no_binary(op, &a, &b, span),
            };
        }
        Ok(Typed::new(TypedKind::Binary(op, a.boxed(), b.boxed(), self.overflow), ty, span))
    }
}

/// The values as positional arguments.
pub(super) fn positional_arguments(values: Vec<Typed>) -> Vec<PassedArgument> {
    let one = |(turn, value)| PassedArgument { value: TypedArgument::Value(value), turn };
    values.into_iter().enumerate().map(one).collect()
}
