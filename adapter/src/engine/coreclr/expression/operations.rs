//! Operators on values of any type: computed here for primitives, by the types' own operators for the rest.

use cordebug::value::element;
use dap_wire::Failure;
use tree_sitter::Node as Syntax;

use super::objects::takes_type;
use super::operators::{Overflow, Problem, compute, compute_unary};
use super::walk::child;
use super::{Constant, Data, Found, Scope, Val, failed};
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::types::relations::numeric;
use crate::engine::coreclr::types::ty::{OBJECT, STRING};

/// The method that overloads an operator.
fn method_of(operator: &str, unary: bool) -> Option<&'static str> {
    Some(match (operator, unary) {
        ("+", false) => "op_Addition",
        ("-", false) => "op_Subtraction",
        ("*", false) => "op_Multiply",
        ("/", _) => "op_Division",
        ("%", _) => "op_Modulus",
        ("&", _) => "op_BitwiseAnd",
        ("|", _) => "op_BitwiseOr",
        ("^", _) => "op_ExclusiveOr",
        ("<<", _) => "op_LeftShift",
        (">>", _) => "op_RightShift",
        ("==", _) => "op_Equality",
        ("!=", _) => "op_Inequality",
        ("<", _) => "op_LessThan",
        (">", _) => "op_GreaterThan",
        ("<=", _) => "op_LessThanOrEqual",
        (">=", _) => "op_GreaterThanOrEqual",
        ("-", true) => "op_UnaryNegation",
        ("+", true) => "op_UnaryPlus",
        ("!", true) => "op_LogicalNot",
        ("~", true) => "op_OnesComplement",
        ("++", true) => "op_Increment",
        ("--", true) => "op_Decrement",
        _ => return None,
    })
}

impl Session {
    pub(super) fn binary(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Found, Failure> {
        let (left, right) = (child(node, "left")?, child(node, "right")?);
        let operator = scope.of(child(node, "operator")?).to_owned();
        match operator.as_str() {
            "&&" | "||" => {
                let is_and = operator == "&&";
                let first = self.truth(left, scope)?;
                if first != is_and {
                    self.check_names(right, scope)?;
                    return Ok(Found::Val(Val::bool(first)));
                }
                return self.truth(right, scope).map(|second| Found::Val(Val::bool(second)));
            }
            "??" => return self.coalesced(left, right, scope),
            "as" => return Err(failed("`as` needs a type behind it")),
            _ => {}
        }
        // `id == default`: the other side says of what type.
        let (left, right) = match (takes_type(left), takes_type(right)) {
            (true, false) => {
                let right = self.value(right, scope)?;
                (self.value_for(&right.ty, left, scope)?, right)
            }
            _ => {
                let left = self.value(left, scope)?;
                let right = self.value_for(&left.ty, right, scope)?;
                (left, right)
            }
        };
        self.operate(&operator, left, right, scope).map(Found::Val)
    }

    /// A binary operator on two values.
    pub(super) fn operate(
        &mut self,
        operator: &str,
        left: Val,
        right: Val,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        // What is no number and meets nothing is joined to it as text.
        let joins_null = |a: &Val, b: &Val| a.ty == Ty::Null && !self.adds(&b.ty);
        if operator == "+"
            && (left.ty == STRING
                || right.ty == STRING
                || joins_null(&left, &right)
                || joins_null(&right, &left))
        {
            let mut text = self.text_of(&left, scope)?;
            text.push_str(&self.text_of(&right, scope)?);
            return Ok(Val { literal: left.literal && right.literal, ..Val::text(text) });
        }
        if let (Ty::Pointer(_), _) | (_, Ty::Pointer(_)) = (&left.ty, &right.ty) {
            return self.on_pointers(operator, &left, &right);
        }
        if matches!(operator, "==" | "!=")
            && let Some(alike) = self.identical(&left, &right)?
        {
            return Ok(Val::bool(alike == (operator == "==")));
        }
        let (first, second) = (self.load(&left)?, self.load(&right)?);
        if let (Some(first), Some(second)) = (&first, &second) {
            let mixed = matches!(
                (first, second),
                (Constant::Text(_), Constant::Int(..) | Constant::Bool(_))
                    | (Constant::Int(..) | Constant::Bool(_), Constant::Text(_))
            );
            if !mixed {
                return self.on_constants(operator, (&left, first), (&right, second), scope);
            }
        }
        // Types that bring operators of their own; null never does.
        if let Some(method) = method_of(operator, false)
            && let Some(val) = self.own_operator(method, &[left.clone(), right.clone()], operator, scope)?
        {
            return Ok(val);
        }
        // The built-in ones take what the types of the operands convert themselves to.
        if left.ty != Ty::Null && right.ty != Ty::Null {
            let converted = (self.built_in_of(&left, scope)?, self.built_in_of(&right, scope)?);
            let fits = |converted: &Option<Val>, own: &Val| {
                let inside = self.nullable(&own.ty).unwrap_or_else(|| own.ty.clone());
                converted.is_some() || self.is_built_in(&inside)
            };
            let is_any = converted.0.is_some() || converted.1.is_some();
            if is_any && fits(&converted.0, &left) && fits(&converted.1, &right) {
                let (left, right) = (converted.0.unwrap_or(left), converted.1.unwrap_or(right));
                return self.operate(operator, left, right, scope);
            }
        }
        if matches!(operator, "==" | "!=") {
            let alike = self.same(&left, &right, scope)?;
            if let Some(alike) = alike {
                return Ok(Val::bool(alike == (operator == "==")));
            }
        }
        Err(self.no_operator(operator, &left, &right))
    }

    /// Whether a type has a `+` that is not the one of texts.
    fn adds(&self, ty: &Ty) -> bool {
        let inside = self.nullable(ty).unwrap_or_else(|| ty.clone());
        match &inside {
            Ty::Primitive(kind) => numeric(*kind),
            Ty::Pointer(_) | Ty::Null => true,
            other => {
                self.enum_storage(other).is_some()
                    || self.chain(other).iter().any(|owner| self.has_method(owner, "op_Addition", true))
            }
        }
    }

    fn no_unary(&self, operator: &str, shown: &str, ty: &Ty) -> Failure {
        failed(format!("`{operator}` does not go with `{shown}`, which is `{}`", self.csharp(ty)))
    }

    pub(super) fn no_operator(&self, operator: &str, left: &Val, right: &Val) -> Failure {
        failed(format!(
            "`{operator}` does not go with `{}` and `{}`",
            self.csharp(&left.ty),
            self.csharp(&right.ty)
        ))
    }

    fn on_constants(
        &mut self,
        operator: &str,
        (left, first): (&Val, &Constant),
        (right, second): (&Val, &Constant),
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let literals = (left.literal, right.literal);
        let mut computed = compute(operator, first, second, literals, scope.overflow.get());
        if scope.site.supposes && matches!(computed, Err(Problem::Overflow | Problem::DividesByZero)) {
            computed = compute(operator, &first.one(), &second.one(), literals, Overflow::Ignored);
        }
        let constant = computed.map_err(|problem| match problem {
            Problem::NoOperator => self.no_operator(operator, left, right),
            Problem::Overflow => failed(format!(
                "OverflowException: {} {operator} {} overflows",
                first.plain(),
                second.plain()
            )),
            Problem::DividesByZero => {
                failed(format!("DivideByZeroException: {} {operator} {}", first.plain(), second.plain()))
            }
        })?;
        let literal = left.literal && right.literal;
        // Enums stay enums but for differences and comparisons; nullables stay nullable.
        let inside = |ty: &Ty| self.nullable(ty).unwrap_or_else(|| ty.clone());
        let (left_ty, right_ty) = (inside(&left.ty), inside(&right.ty));
        // The literal 0 is every enum's, also in a difference.
        let is_zero = |val: &Val, constant: &Constant, storage: u32| {
            val.literal && matches!(constant, Constant::Int(kind, 0) if *kind != storage)
        };
        let mut difference = None;
        let enumeration = match (self.enum_storage(&left_ty), self.enum_storage(&right_ty)) {
            (Some(kind), None) if operator == "-" && is_zero(right, second, kind) => {
                difference = Some(kind);
                None
            }
            (None, Some(kind)) if operator == "-" && is_zero(left, first, element::OBJECT) => {
                difference = Some(kind);
                None
            }
            (Some(kind), Some(_)) if operator == "-" => {
                difference = Some(kind);
                None
            }
            (Some(kind), _) => Some((left_ty.clone(), kind)),
            (_, Some(kind)) => Some((right_ty.clone(), kind)),
            _ => None,
        };
        // Differences of enums are of the type they are stored as.
        let constant = match difference {
            Some(kind) if constant != Constant::Null => {
                let fails =
                    scope.overflow.get().of_constants(left.literal && right.literal) == Overflow::Fails;
                constant.cast(kind, fails).ok_or_else(|| {
                    failed(format!(
                        "OverflowException: {} {operator} {} overflows",
                        first.plain(),
                        second.plain()
                    ))
                })?
            }
            _ => constant,
        };
        let is_lifted = self.nullable(&left.ty).is_some() || self.nullable(&right.ty).is_some();
        let plain = match (&constant, enumeration.clone()) {
            // Three-valued logic stays nullable; comparisons do not.
            (Constant::Bool(_), _) if !(is_lifted && matches!(operator, "&" | "|" | "^")) => {
                return Ok(Val { literal, ..Val::plain(constant) });
            }
            (constant, Some((ty, kind))) if *constant != Constant::Null => {
                let constant = constant.cast(kind, false).unwrap_or(Constant::Null);
                Val::constant_of(constant, ty)
            }
            (Constant::Decimal(_), _) => {
                let ty = self.ty_named("System.Decimal").unwrap_or(OBJECT);
                Val::constant_of(constant, ty)
            }
            (Constant::Null, _) => {
                // The type it would have with something in it.
                let sample = |ty: &Ty| match self.sample(ty).data {
                    Data::Constant(Constant::Null | Constant::Text(_)) | Data::At(_) => None,
                    Data::Constant(constant) => Some(constant),
                };
                let (a, b) = (sample(&left_ty), sample(&right_ty));
                let computed = match (a.clone().or(b.clone()), b.or(a)) {
                    (Some(a), Some(b)) => compute(operator, &a, &b, (false, false), Overflow::Ignored).ok(),
                    _ => None,
                };
                let ty = match (difference, enumeration, computed) {
                    (Some(kind), ..) => Ty::Primitive(kind),
                    (_, Some((ty, _)), _) => ty,
                    (.., Some(Constant::Decimal(_))) => self.ty_named("System.Decimal").unwrap_or(left_ty),
                    (.., Some(sum)) => sum.ty(),
                    _ => left_ty,
                };
                let ty = if ty == Ty::Null || !ty.is_value() {
                    ty
                } else {
                    self.ty_generic("System.Nullable`1", vec![ty.clone()]).unwrap_or(ty)
                };
                return Ok(Val::constant_of(Constant::Null, ty));
            }
            _ => Val::plain(constant),
        };
        let ty = if is_lifted {
            self.ty_generic("System.Nullable`1", vec![plain.ty.clone()]).unwrap_or(plain.ty.clone())
        } else {
            plain.ty.clone()
        };
        Ok(Val { ty, literal, ..plain })
    }

    /// An operator that one of the operands' types defines.
    fn own_operator(
        &mut self,
        method: &str,
        operands: &[Val],
        operator: &str,
        scope: &Scope<'_>,
    ) -> Result<Option<Val>, Failure> {
        let mut owners: Vec<Ty> = Vec::new();
        for operand in operands {
            let ty = self.nullable(&operand.ty).unwrap_or_else(|| operand.ty.clone());
            for owner in self.chain(&ty) {
                if !owners.contains(&owner) && owner != OBJECT {
                    owners.push(owner);
                }
            }
        }
        let mut methods = Vec::new();
        for owner in &owners {
            methods.extend(self.methods_named(owner, method));
        }
        if methods.is_empty() {
            return Ok(None);
        }
        let mut lifted = Vec::new();
        for operand in operands {
            if self.nullable(&operand.ty).is_some() {
                if self.is_null_val(operand)? {
                    let both =
                        operands.iter().map(|val| self.is_null_val(val)).collect::<Result<Vec<_>, _>>()?;
                    return Ok(Some(match operator {
                        "==" => Val::bool(both.iter().all(|null| *null)),
                        "!=" => Val::bool(!both.iter().all(|null| *null)),
                        "<" | ">" | "<=" | ">=" => Val::bool(false),
                        _ => Val::constant_of(Constant::Null, operand.ty.clone()),
                    }));
                }
                lifted.push(self.out_of_nullable(operand.clone())?);
            } else {
                lifted.push(operand.clone());
            }
        }
        let Some((method, _)) = self.best(methods, &lifted) else { return Ok(None) };
        let mut arguments = Vec::new();
        for (operand, parameter) in lifted.into_iter().zip(&method.parameters) {
            arguments.push(self.converted(operand, parameter, scope)?);
        }
        self.call(&scope.site, &method, None, &arguments, &format!("operator {operator}")).map(Some)
    }

    fn on_pointers(&mut self, operator: &str, left: &Val, right: &Val) -> Result<Val, Failure> {
        let number = |session: &Self, val: &Val| -> Result<Option<u64>, Failure> {
            match (&val.data, &val.ty) {
                (_, Ty::Pointer(_) | Ty::Null) => session.address(val),
                _ => Ok(None),
            }
        };
        let (Some(first), Some(second)) = (number(self, left)?, number(self, right)?) else {
            return Err(self.no_operator(operator, left, right));
        };
        match operator {
            "==" => Ok(Val::bool(first == second)),
            "!=" => Ok(Val::bool(first != second)),
            _ => Err(self.no_operator(operator, left, right)),
        }
    }

    pub(super) fn prefix(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Found, Failure> {
        let operator = node.child(0).map(|sign| scope.of(sign).to_owned()).unwrap_or_default();
        let operand = node.child(1).ok_or_else(|| failed(format!("`{operator}` stands alone")))?;
        match operator.as_str() {
            "++" | "--" => return self.step_by_one(node, operator == "++", true, scope),
            "*" => {
                let val = self.value(operand, scope)?;
                return self.behind(&val).map(Found::Val);
            }
            "^" => {
                let val = self.value(operand, scope)?;
                let Some(Constant::Int(_, from_end)) = self.load(&val)? else {
                    return Err(failed("`^` needs a number"));
                };
                let _ = from_end;
                return Err(failed("`^` is for indexes: `list[^1]`"));
            }
            "&" => {
                let val = self.value(operand, scope)?;
                let address = match val.path() {
                    Some(path) => self.fetch(path)?.address().unwrap_or(0),
                    None => 0,
                };
                if address == 0 {
                    return Err(failed(format!("`{}` has no address", scope.of(operand))));
                }
                let ty = Ty::Pointer(Box::new(val.ty));
                return Ok(Found::Val(Val::constant_of(Constant::Int(element::U8, i128::from(address)), ty)));
            }
            _ => {}
        }
        let val = self.value(operand, scope)?;
        let shown = scope.of(operand).to_owned();
        self.unary(&operator, val, &shown, scope).map(Found::Val)
    }

    pub(super) fn unary(
        &mut self,
        operator: &str,
        val: Val,
        shown: &str,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        if let Some(constant) = self.load(&val)? {
            let inside = self.nullable(&val.ty).unwrap_or_else(|| val.ty.clone());
            if operator != "~" && self.enum_storage(&inside).is_some() {
                return Err(self.no_unary(operator, shown, &val.ty));
            }
            let computed = compute_unary(operator, &constant, val.literal, scope.overflow.get());
            let constant = computed.map_err(|problem| match problem {
                Problem::Overflow => {
                    failed(format!("OverflowException: {operator}{} overflows", constant.plain()))
                }
                _ => self.no_unary(operator, shown, &val.ty),
            })?;
            let inner = self.nullable(&val.ty).unwrap_or_else(|| val.ty.clone());
            let ty = match self.enum_storage(&inner) {
                Some(_) => val.ty.clone(),
                None if matches!(constant, Constant::Decimal(_)) || constant == Constant::Null => {
                    val.ty.clone()
                }
                None if inner != val.ty => {
                    self.ty_generic("System.Nullable`1", vec![constant.ty()]).unwrap_or_else(|| inner.clone())
                }
                None => constant.ty(),
            };
            let constant = match self.enum_storage(&inner) {
                Some(kind) => constant.cast(kind, false).unwrap_or(constant),
                None => constant,
            };
            return Ok(Val { data: Data::Constant(constant), ty, literal: val.literal });
        }
        let defined = match method_of(operator, true) {
            Some(method) => self.own_operator(method, std::slice::from_ref(&val), operator, scope)?,
            None => None,
        };
        match defined {
            Some(val) => Ok(val),
            None => match self.built_in_of(&val, scope)? {
                Some(converted) => self.unary(operator, converted, shown, scope),
                None => Err(self.no_unary(operator, shown, &val.ty)),
            },
        }
    }
}
