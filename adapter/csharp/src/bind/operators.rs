//! Operators (language specification, 12.4.5 and 12.9 to 12.14): user-defined and built-in ones. Both are
//! chosen by overload resolution, which considers user-defined conversions.
//!
//! Not here: `&&` and `||` ([`super::logical`]), equality without a user-defined operator
//! ([`super::equality`]).

use std::cmp::Ordering;
use std::rc::Rc;

use super::binder::{Bind, Binder, leave_to_compiler, reject};
use super::overloads::{OverloadCandidate, SourceArgument, SourceArgumentValue};
use super::system::{Member, Method};
use super::typed::{ConversionKind, PassedArgument, Typed, TypedArgument, TypedCall, TypedKind};
use crate::constant::Constant;
use crate::operators::{BinaryOp, OperatorError, Overflow, UnaryOp, compute, compute_unary};
use crate::syntax::Span;
use crate::syntax::tree::{ArgumentMode, Expr};
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
    fn to_runtime_type(&self, value: Typed) -> Bind<Typed> {
        if !self.is_dynamic_value(&value) {
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

    /// A part of a concatenated string: the result of `ToString`. Numbers, Booleans, enums and their
    /// nullables are formatted in the debugger.
    pub(super) fn as_text(&self, part: Typed) -> Typed {
        if part.ty == STRING || part.is_null() {
            return part;
        }
        let inside = self.types.inside(&part.ty);
        let here = inside != OBJECT && self.types.is_built_in(&inside);
        let span = part.span;
        Typed::new(TypedKind::Text(part.boxed(), here), STRING, span)
    }

    /// Binds an operator that the type of an operand defines.
    fn user_defined_binary(&mut self, op: BinaryOp, a: &Typed, b: &Typed, span: Span) -> Bind<Option<Typed>> {
        let is_plain =
            |value: &Typed| value.is_null() || self.types.is_built_in(&self.types.inside(&value.ty));
        if is_plain(a) && is_plain(b) {
            return Ok(None);
        }
        let methods = self.operator_methods(op.method(), &[a, b]);
        if methods.is_empty() {
            return Ok(None);
        }
        self.user_defined_operator(&methods, &[a, b], Some(op), span)
    }

    /// Operator methods of this name that the types of the operands declare.
    pub(super) fn operator_methods(&self, name: &str, operands: &[&Typed]) -> Vec<(Rc<Method>, Ty)> {
        let mut owners: Vec<Ty> = Vec::new();
        for operand in operands {
            let ty = self.types.inside(&operand.ty);
            if !matches!(ty, Ty::Named(_)) || self.types.is_built_in(&ty) {
                continue;
            }
            for owner in self.types.chain(&ty) {
                if owner != OBJECT && !owners.contains(&owner) {
                    owners.push(owner);
                }
            }
        }
        let mut methods = Vec::new();
        for owner in owners {
            let Some(def) = self.types.def(&owner) else { continue };
            let declared = |name: &str| -> Vec<Rc<Method>> {
                let all = self.types.system.members(def, name);
                let fits =
                    |method: &Rc<Method>| method.is_static && method.parameters.len() == operands.len();
                let methods = all.iter().filter_map(|member| match member {
                    Member::Method(method) => Some(method.clone()),
                    _ => None,
                });
                methods.filter(fits).collect()
            };
            // In `checked`, the checked operators hide the others with the same operands (12.8.20).
            let checked = match (self.overflow, checked_name(name)) {
                (Overflow::Fails, Some(name)) => declared(&name),
                _ => Vec::new(),
            };
            let types =
                |method: &Method| -> Vec<Ty> { method.parameters.iter().map(|one| one.ty.clone()).collect() };
            let mut plain = declared(name);
            plain.retain(|method| checked.iter().all(|hides| types(hides) != types(method)));
            methods.extend(checked.into_iter().chain(plain).map(|method| (method, owner.clone())));
        }
        methods
    }

    /// The call of the best of these operators, which is lifted if operands are nullable.
    pub(super) fn user_defined_operator(
        &mut self,
        methods: &[(Rc<Method>, Ty)],
        operands: &[&Typed],
        op: Option<BinaryOp>,
        span: Span,
    ) -> Bind<Option<Typed>> {
        let given = |lifted: bool| -> Vec<SourceArgument<'static>> {
            let one = |operand: &&Typed| {
                let value = match self.types.nullable(&operand.ty).filter(|_| lifted) {
                    Some(inner) => Typed::new(TypedKind::Default, inner, operand.span),
                    None => (*operand).clone(),
                };
                SourceArgument {
                    name: None,
                    mode: ArgumentMode::Value,
                    span: operand.span,
                    value: SourceArgumentValue::Value(value),
                }
            };
            operands.iter().map(one).collect()
        };
        let plain = given(false);
        if let Some(best) = self.best(self.applicable(methods, &[], &plain), &plain, span)? {
            let arguments = self.pass_arguments(&best, &plain, span)?;
            return Ok(Some(static_call(best, arguments, span)));
        }
        let lifted = given(true);
        let Some(best) = self.best(self.applicable(methods, &[], &lifted), &lifted, span)? else {
            return Ok(None);
        };
        self.lifted_operator(best, operands, op, span).map(Some)
    }

    /// A lifted operator: the result is null if an operand is null; equality compares nulls.
    fn lifted_operator(
        &mut self,
        best: OverloadCandidate,
        operands: &[&Typed],
        op: Option<BinaryOp>,
        span: Span,
    ) -> Bind<Typed> {
        let (mut bindings, mut inner, mut nulls) = (Vec::new(), Vec::new(), Vec::new());
        for operand in operands {
            let slot = self.slot();
            let kept = Typed::new(TypedKind::Slot(slot), operand.ty.clone(), operand.span);
            bindings.push((slot, (*operand).clone()));
            match self.types.nullable(&operand.ty) {
                Some(ty) => {
                    nulls.push(Typed::new(TypedKind::IsNull(kept.clone().boxed()), BOOL, span));
                    inner.push(Typed::new(
                        TypedKind::Convert(kept.boxed(), ConversionKind::Unwrap),
                        ty,
                        operand.span,
                    ));
                }
                None => inner.push(kept),
            }
        }
        let given: Vec<SourceArgument<'_>> = inner
            .into_iter()
            .map(|value| SourceArgument {
                name: None,
                mode: ArgumentMode::Value,
                span: value.span,
                value: SourceArgumentValue::Value(value),
            })
            .collect();
        let arguments = self.pass_arguments(&best, &given, span)?;
        let call = static_call(best, arguments, span);
        let any_null =
            nulls.iter().cloned().reduce(|a, b| Typed::new(TypedKind::Or(a.boxed(), b.boxed()), BOOL, span));
        let any_null = any_null.unwrap_or_else(|| self.truth_value(false, span));
        let (ty, otherwise, call) = match op {
            Some(op) if op.compares() => {
                let all_null = (nulls.len() == operands.len()).then(|| {
                    nulls
                        .into_iter()
                        .reduce(|a, b| Typed::new(TypedKind::And(a.boxed(), b.boxed()), BOOL, span))
                });
                let all_null = all_null.flatten().unwrap_or_else(|| self.truth_value(false, span));
                let otherwise = match op {
                    BinaryOp::Equal => all_null,
                    BinaryOp::NotEqual => self.negated(all_null, span),
                    _ => self.truth_value(false, span),
                };
                (BOOL, otherwise, call)
            }
            _ => {
                let ty = self.types.nullable_of(&call.ty);
                let wrapped = match ty == call.ty {
                    true => call,
                    false => {
                        Typed::new(TypedKind::Convert(call.boxed(), ConversionKind::Wrap), ty.clone(), span)
                    }
                };
                (ty.clone(), Typed::new(TypedKind::Default, ty, span), wrapped)
            }
        };
        let chosen = TypedKind::Choice(any_null.boxed(), otherwise.boxed(), call.boxed());
        let mut whole = Typed::new(chosen, ty.clone(), span);
        for (slot, value) in bindings.into_iter().rev() {
            whole = Typed::new(TypedKind::Let(slot, value.boxed(), whole.boxed()), ty.clone(), span);
        }
        Ok(whole)
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
    fn as_number(&self, value: Typed, to: &Ty) -> Bind<Typed> {
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
                    _ => self.better_type(one, other),
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
        let divides = matches!(op, BinaryOp::Divide | BinaryOp::Remainder);
        let is_zero = match b.constant() {
            Some(Constant::Int(_, 0)) => true,
            Some(Constant::Decimal(value)) => value.is_zero(),
            _ => false,
        };
        if divides && is_zero {
            return reject("CS0020", "Division by constant zero", span);
        }
        Ok(Typed::new(TypedKind::Binary(op, a.boxed(), b.boxed(), self.overflow), ty, span))
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
        let beats = |one: &Ty, other: &Ty| self.better_type(one, other) == Ordering::Greater;
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

/// The name of an operator's checked method; `None` if the operator has none.
fn checked_name(name: &str) -> Option<String> {
    const CHECKED: [&str; 7] =
        ["Addition", "Subtraction", "Multiply", "Division", "UnaryNegation", "Increment", "Decrement"];
    let operator = name.strip_prefix("op_").filter(|operator| CHECKED.contains(operator))?;
    Some(format!("op_Checked{operator}"))
}

fn static_call(best: OverloadCandidate, arguments: Vec<PassedArgument>, span: Span) -> Typed {
    let ty = best.method.result.direct().clone();
    let call = TypedCall { of: None, method: best.method, arguments, is_base: false };
    Typed::new(TypedKind::Call(Box::new(call)), ty, span)
}

/// The values as positional arguments.
pub(super) fn positional_arguments(values: Vec<Typed>) -> Vec<PassedArgument> {
    let one = |(turn, value)| PassedArgument { value: TypedArgument::Value(value), turn };
    values.into_iter().enumerate().map(one).collect()
}
