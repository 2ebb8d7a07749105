//! Conversions (language specification, 10) and their nodes. Constants are converted immediately.
//!
//! Not here: conversions that types define ([`super::user_conversions`]).

use super::anonymous_types::{require_convertible, require_own_type};
use super::binder::{Bind, Binder, leave_to_compiler, reject};
use super::classification::Classification;
use super::typed::{ConversionKind, Typed, TypedKind};
use crate::constant::{Constant, fits};
use crate::operators::Overflow;
use crate::syntax::Span;
use crate::syntax::tree::{Expr, ExprKind, TypeName};
use crate::types::{OBJECT, STRING, Ty, casts_to_pointer, is_integral, kind, widens};

/// The steps of a conversion, from the inside out, each with its result type.
pub(super) type ConversionSteps = Vec<(ConversionKind, Ty)>;

/// Maximum depth of nested conversions, for example of tuples in nullables in tuples.
const MAX_DEPTH: usize = 6;

impl Binder<'_> {
    /// Binds an expression and converts it to a type, as for an assignment.
    pub(super) fn convert_expr(&mut self, expr: &Expr, to: &Ty) -> Bind<Typed> {
        if *to == Ty::Null || *to == Ty::Other {
            return self.value(expr);
        }
        match &expr.kind {
            ExprKind::Paren(of) => return self.convert_expr(of, to),
            ExprKind::New { ty: None, arguments, initializer } => {
                let made = self.types.inside(to);
                let value = self.creation(&made, arguments, initializer.as_ref(), expr.span)?;
                return self.convert(value, to);
            }
            ExprKind::Default(None) => return Ok(self.default_of(to, expr.span)),
            ExprKind::Choice(condition, a, b) => {
                return self.choice((condition, a, b), Some(to), expr.span);
            }
            ExprKind::Switch(of, arms) => return self.switch(of, arms, Some(to), expr.span),
            ExprKind::Throw(of) => return self.throw(of, to.clone(), expr.span),
            ExprKind::Tuple(elements) => {
                if let Some(types) = self.types.tuple(to)
                    && types.len() == elements.len()
                {
                    let mut values = Vec::new();
                    for ((_, value), ty) in elements.iter().zip(&types) {
                        values.push(self.convert_expr(value, ty)?);
                    }
                    return Ok(Typed::new(TypedKind::Tuple(values), to.clone(), expr.span));
                }
            }
            ExprKind::Collection(_) => return leave_to_compiler("a collection expression", expr.span),
            ExprKind::Lambda(_) => return leave_to_compiler("a lambda", expr.span),
            _ => {}
        }
        if self.types.is_delegate(to)
            && let ExprKind::Name(_) | ExprKind::Member(..) = &expr.kind
            && let Classification::Group(_) = self.part(expr)?
        {
            return leave_to_compiler("a method as a delegate", expr.span);
        }
        let value = self.value(expr)?;
        self.convert(value, to)
    }

    /// Converts a value to a type. Refused if no implicit conversion exists.
    pub(super) fn convert(&mut self, value: Typed, to: &Ty) -> Bind<Typed> {
        let to = to.direct();
        require_convertible(&value, to)?;
        match self.implicit_conversion(&value, to) {
            Some(steps) => self.apply(value, steps),
            None => self.reject_conversion(&value, to),
        }
    }

    pub(super) fn reject_conversion<T>(&self, value: &Typed, to: &Ty) -> Bind<T> {
        let (from, name) = (self.type_text(&value.ty), self.type_text(to));
        if value.is_null() {
            let code = if to.is_value() { "CS0037" } else { "CS0029" };
            return reject(
                code,
                format!("Cannot convert null to '{name}' because it is a non-nullable value type"),
                value.span,
            );
        }
        if let Some(constant) = value.constant()
            && is_number_type(&value.ty)
            && is_number_type(to)
            && matches!(constant, Constant::Int(..))
            && value.ty == crate::types::INT
            && *to != crate::types::CHAR
        {
            return reject(
                "CS0031",
                format!("Constant value '{}' cannot be converted to a '{name}'", constant.invariant_text()),
                value.span,
            );
        }
        if self.explicit_conversion(value, to).is_some() {
            return reject(
                "CS0266",
                format!(
                    "Cannot implicitly convert type '{from}' to '{name}'. An explicit conversion exists \
                        (are you missing a cast?)"
                ),
                value.span,
            );
        }
        reject("CS0029", format!("Cannot implicitly convert type '{from}' to '{name}'"), value.span)
    }

    /// The implicit conversion of a value to a type, if it exists.
    pub(super) fn implicit_conversion(&self, value: &Typed, to: &Ty) -> Option<ConversionSteps> {
        self.standard_conversion(value, to).or_else(|| self.user_defined_conversion(value, to, false))
    }

    /// An implicit conversion that is not user-defined (10.4).
    pub(super) fn standard_conversion(&self, value: &Typed, to: &Ty) -> Option<ConversionSteps> {
        if let TypedKind::Throw(_) = value.kind {
            return Some(Vec::new());
        }
        if let Some(constant) = value.constant()
            && let Some(steps) = self.constant_conversion(constant, &value.ty, to)
        {
            return Some(steps);
        }
        if value.is_null() {
            return match to {
                Ty::Pointer(_) => Some(vec![(ConversionKind::Same, to.clone())]),
                to if !to.is_value() || self.types.nullable(to).is_some() => {
                    Some(vec![(ConversionKind::Same, to.clone())])
                }
                _ => None,
            };
        }
        self.implicit_of_types(&value.ty, to, MAX_DEPTH).or_else(|| self.tuple_conversion(value, to))
    }

    /// A constant of type `int` converts to each integer type that contains its value; 0
    /// converts to any enum.
    fn constant_conversion(&self, constant: &Constant, from: &Ty, to: &Ty) -> Option<ConversionSteps> {
        let inside = self.types.inside(to);
        let fits_into = match (from, constant, &inside) {
            (Ty::Primitive(kind::I4), Constant::Int(_, value), Ty::Primitive(kind)) => {
                is_integral(*kind) && *kind != kind::CHAR && fits(*kind, *value)
            }
            (Ty::Primitive(kind::I8), Constant::Int(_, value), Ty::Primitive(kind::U8)) => *value >= 0,
            (Ty::Primitive(_), Constant::Int(_, 0), inside) if from.number().is_some() => {
                self.types.enum_storage(inside).is_some()
            }
            _ => false,
        };
        if !fits_into || inside == *from {
            return None;
        }
        let mut steps = vec![(ConversionKind::Number { checked: false }, inside.clone())];
        if inside != *to {
            steps.push((ConversionKind::Wrap, to.clone()));
        }
        Some(steps)
    }

    /// The implicit conversion between two types, for any value.
    pub(super) fn implicit_of_types(&self, from: &Ty, to: &Ty, deeper: usize) -> Option<ConversionSteps> {
        if from == to {
            // Tuples with other element names are the same type.
            return Some(if from.names().is_some() || to.names().is_some() {
                vec![(ConversionKind::Same, to.clone())]
            } else {
                Vec::new()
            });
        }
        let deeper = deeper.checked_sub(1)?;
        let types = &self.types;
        if let (Some(a), Some(b)) = (from.number(), to.number()) {
            return widens(a, b).then(|| vec![(ConversionKind::Number { checked: false }, to.clone())]);
        }
        if from.number().is_some_and(|kind| !matches!(kind, kind::R4 | kind::R8)) && types.is_decimal(to) {
            return Some(vec![(ConversionKind::Number { checked: false }, to.clone())]);
        }
        if let Some(inner) = types.nullable(to) {
            if let Some(own) = types.nullable(from) {
                let steps = self.implicit_of_types(&own, &inner, deeper)?;
                return Some(vec![(ConversionKind::Lift(steps.into()), to.clone())]);
            }
            let mut steps = self.implicit_of_types(from, &inner, deeper)?;
            steps.push((ConversionKind::Wrap, to.clone()));
            return Some(steps);
        }
        if let (Some(own), Some(target)) = (types.tuple(from), types.tuple(to)) {
            if own.len() != target.len() {
                return None;
            }
            let elements = own.iter().zip(&target).map(|(from, to)| self.implicit_of_types(from, to, deeper));
            let elements: Vec<ConversionSteps> = elements.collect::<Option<_>>()?;
            return Some(vec![(ConversionKind::Tuple(elements.into()), to.clone())]);
        }
        if !types.widens(from, to) {
            return None;
        }
        let how = match from {
            Ty::Pointer(_) => ConversionKind::Number { checked: false },
            from if from.is_value() && !to.is_value() => ConversionKind::Box,
            _ => ConversionKind::Same,
        };
        Some(vec![(how, to.clone())])
    }

    /// The explicit conversion for a cast.
    pub(super) fn explicit_conversion(&self, value: &Typed, to: &Ty) -> Option<ConversionSteps> {
        if let Some(steps) = self.standard_conversion(value, to) {
            return Some(steps);
        }
        self.explicit_of_types(&value.ty, to, MAX_DEPTH)
            .or_else(|| self.user_defined_conversion(value, to, true))
    }

    pub(super) fn explicit_of_types(&self, from: &Ty, to: &Ty, deeper: usize) -> Option<ConversionSteps> {
        if let Some(steps) = self.implicit_of_types(from, to, deeper) {
            return Some(steps);
        }
        let deeper = deeper.checked_sub(1)?;
        let types = &self.types;
        let is_number =
            |ty: &Ty| is_number_type(ty) || types.enum_storage(ty).is_some() || types.is_decimal(ty);
        if is_number(from) && is_number(to) {
            return Some(vec![(
                ConversionKind::Number { checked: self.overflow == Overflow::Fails },
                to.clone(),
            )]);
        }
        let is_pointer = |ty: &Ty| matches!(ty, Ty::Pointer(_));
        let is_address = |ty: &Ty| is_pointer(ty) || ty.number().is_some_and(casts_to_pointer);
        if (is_pointer(from) || is_pointer(to)) && is_address(from) && is_address(to) {
            return Some(vec![(ConversionKind::Number { checked: false }, to.clone())]);
        }
        match (types.nullable(from), types.nullable(to)) {
            (Some(own), Some(inner)) => {
                let steps = self.explicit_of_types(&own, &inner, deeper)?;
                return Some(vec![(ConversionKind::Lift(steps.into()), to.clone())]);
            }
            (Some(own), None) if to.is_value() => {
                let mut steps = vec![(ConversionKind::Unwrap, own.clone())];
                steps.extend(self.explicit_of_types(&own, to, deeper)?);
                return Some(steps);
            }
            (None, Some(inner)) if from.is_value() => {
                let mut steps = self.explicit_of_types(from, &inner, deeper)?;
                steps.push((ConversionKind::Wrap, to.clone()));
                return Some(steps);
            }
            _ => {}
        }
        if from.is_value() {
            if let (Some(own), Some(target)) = (types.tuple(from), types.tuple(to))
                && own.len() == target.len()
            {
                let elements =
                    own.iter().zip(&target).map(|(from, to)| self.explicit_of_types(from, to, deeper));
                let elements: Vec<ConversionSteps> = elements.collect::<Option<_>>()?;
                return Some(vec![(ConversionKind::Tuple(elements.into()), to.clone())]);
            }
            return None;
        }
        // From a reference: unboxing, or a cast to a derived type.
        if to.is_value() {
            let inner = types.inside(to);
            let holds = *from == OBJECT
                || types.is_interface(from) && types.derives(&inner, from)
                || types.derives(&inner, from);
            return (holds && *from != STRING && !matches!(to, Ty::Pointer(_)))
                .then(|| vec![(ConversionKind::Unbox, to.clone())]);
        }
        let is_open = |ty: &Ty| types.is_interface(ty) || types.is_delegate(ty);
        let related = types.derives(to, from)
            || is_open(from)
            || is_open(to)
            || matches!((from, to), (Ty::Vector(_), Ty::Vector(_)));
        (related && *from != STRING || types.derives(to, from))
            .then(|| vec![(ConversionKind::Down, to.clone())])
    }

    /// Wraps a value in the nodes of its conversion.
    pub(super) fn apply(&self, value: Typed, steps: ConversionSteps) -> Bind<Typed> {
        steps.into_iter().try_fold(value, |value, (how, to)| self.apply_one(value, how, to))
    }

    fn apply_one(&self, value: Typed, how: ConversionKind, to: Ty) -> Bind<Typed> {
        let span = value.span;
        if value.ty == to && matches!(how, ConversionKind::Same) && to.names().is_none() {
            return Ok(value);
        }
        let known = value.constant().filter(|constant| **constant != Constant::Null);
        if let (Some(constant), ConversionKind::Number { .. }) = (known, &how) {
            return self.fold_number(constant, &value, to, span);
        }
        // A constant stays one after a reference conversion: a string or null.
        if let (Some(constant), ConversionKind::Same) = (value.constant(), &how)
            && (*constant == Constant::Null || to == STRING)
        {
            return Ok(Typed::new(TypedKind::Constant(constant.clone()), to, span));
        }
        Ok(Typed::new(TypedKind::Convert(value.boxed(), how), to, span))
    }

    fn fold_number(&self, constant: &Constant, value: &Typed, to: Ty, span: Span) -> Bind<Typed> {
        if self.types.is_decimal(&to) {
            return match constant.to_decimal(true) {
                Some(folded) => Ok(Typed::new(TypedKind::Constant(Constant::Decimal(folded)), to, span)),
                None => self.reject_overflow(constant, &to, span),
            };
        }
        let Some(kind) = to.number().or_else(|| self.types.enum_storage(&to)) else {
            return Ok(Typed::new(
                TypedKind::Convert(value.clone().boxed(), ConversionKind::Number { checked: false }),
                to,
                span,
            ));
        };
        let checked = self.overflow != Overflow::Ignored;
        match constant.cast(kind, checked) {
            Some(folded) => Ok(Typed::new(TypedKind::Constant(folded), to, span)),
            // An unchecked cast of a floating-point number is computed, or refused, when it runs.
            None if !checked => Ok(Typed::new(
                TypedKind::Convert(value.clone().boxed(), ConversionKind::Number { checked: false }),
                to,
                span,
            )),
            None => self.reject_overflow(constant, &to, span),
        }
    }

    fn reject_overflow<T>(&self, constant: &Constant, to: &Ty, span: Span) -> Bind<T> {
        let name = self.type_text(to);
        let message = format!(
            "Constant value '{}' cannot be converted to a '{name}' (use 'unchecked' syntax to override)",
            constant.invariant_text()
        );
        reject("CS0221", message, span)
    }

    pub(super) fn cast_value(&mut self, value: Typed, to: &Ty, span: Span) -> Bind<Typed> {
        require_convertible(&value, to)?;
        match self.explicit_conversion(&value, to) {
            Some(steps) => {
                // After a cast to its own type a constant stays constant; the cast of an object stays in the
                // tree.
                let value = self.apply(value, steps)?;
                Ok(Typed { span, ..value })
            }
            None => {
                let (from, name) = (self.type_text(&value.ty), self.type_text(to));
                reject("CS0030", format!("Cannot convert type '{from}' to '{name}'"), span)
            }
        }
    }

    /// Binds the conversion `value as Type`.
    pub(super) fn as_type(&mut self, of: &Expr, ty: &TypeName, span: Span) -> Bind<Typed> {
        let (value, to) = (self.value(of)?, self.type_of_name(ty)?);
        require_own_type(&value)?;
        if to.is_value() && self.types.nullable(&to).is_none() {
            let name = self.type_text(&to);
            return reject(
                "CS0077",
                format!(
                    "The as operator must be used with a reference type or nullable type ('{name}' is a \
                        non-nullable value type)"
                ),
                span,
            );
        }
        Ok(Typed::new(TypedKind::As(value.boxed()), to, span))
    }

    /// Whether a value of one type may match a pattern of another: numbers are not converted (11.2.2).
    pub(super) fn may_match(&self, from: &Ty, to: &Ty) -> bool {
        if self.types.is_by_ref(from) {
            return true;
        }
        let (from, to) = (self.types.inside(from), self.types.inside(to));
        match (&from, &to) {
            (Ty::Vector(own), Ty::Vector(other)) if own.is_value() || other.is_value() => own == other,
            (own, other) if own.is_value() && other.is_value() => own == other,
            (own, _) if own.is_value() => self.implicit_of_types(&from, &to, MAX_DEPTH).is_some(),
            _ => self.may_be(&from, &to),
        }
    }

    /// Whether an explicit conversion between two types may exist, for type tests.
    pub(super) fn may_be(&self, from: &Ty, to: &Ty) -> bool {
        *from == Ty::Null
            || self.explicit_of_types(from, to, MAX_DEPTH).is_some()
            || self.explicit_of_types(&self.types.inside(from), &self.types.inside(to), MAX_DEPTH).is_some()
    }
}

fn is_number_type(ty: &Ty) -> bool {
    ty.number().is_some()
}
