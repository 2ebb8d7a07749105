//! User-defined operators (language specification, 12.4.3 to 12.4.6): the methods that the types of the
//! operands declare, the best of them, and its lifted form.
//!
//! Not here: built-in operators ([`super::operators`], [`super::unary`]).

use std::rc::Rc;

use super::binder::{Bind, Binder};
use super::candidates::OverloadCandidate;
use super::source_argument::SourceArgument;
use super::system::{Member, Method};
use super::typed::{ConversionKind, PassedArgument, Typed, TypedCall, TypedKind};
use crate::operators::{BinaryOp, Overflow};
use crate::syntax::Span;
use crate::types::{BOOL, OBJECT, Ty};

impl Binder<'_> {
    /// Binds an operator that the type of an operand defines.
    pub(super) fn user_defined_binary(
        &mut self,
        op: BinaryOp,
        a: &Typed,
        b: &Typed,
        span: Span,
    ) -> Bind<Option<Typed>> {
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
                SourceArgument::of(value)
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
        let given: Vec<SourceArgument<'_>> = inner.into_iter().map(SourceArgument::of).collect();
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
    let call = TypedCall { of: None, method: best.method, arguments, is_base: false, is_getter: false };
    Typed::new(TypedKind::Call(Box::new(call)), ty, span)
}
