//! Lambdas with known parameter types: their bodies and their results.
//!
//! Not here: inference of parameter types ([`super::sequences`]), statements in braces
//! ([`super::statements`]).

use super::binder::{Bind, Binder, leave_to_compiler, reject};
use super::classification::MethodGroup;
use super::source_argument::SourceArgument;
use super::typed::{Body, Typed, TypedKind, TypedLambda};
use crate::syntax::Span;
use crate::syntax::tree::{self, LambdaBody};
use crate::types::{OBJECT, Ty, VOID};

/// The result that a lambda must have.
#[derive(Debug, Clone)]
pub(super) enum ExpectedResult {
    /// A value of this type.
    Of(Ty),
    /// Any value, whose type the caller uses.
    Any,
    /// No value; a result is ignored.
    Nothing,
}

impl Binder<'_> {
    /// Binds a lambda with parameters of these types.
    pub(super) fn lambda(
        &mut self,
        lambda: &tree::Lambda,
        parameters: &[Ty],
        expected_result: &ExpectedResult,
        span: Span,
    ) -> Bind<TypedLambda> {
        if let Some(what) = lambda.special {
            return leave_to_compiler(what, span);
        }
        if lambda.parameters.len() != parameters.len() {
            let count = lambda.parameters.len();
            return reject("CS1593", format!("Delegate does not take {count} arguments"), span);
        }
        self.within(|binder| {
            let mut slots = Vec::new();
            for ((name, written), ty) in lambda.parameters.iter().zip(parameters) {
                if let Some(written) = written {
                    let own = binder.type_of_name(written)?;
                    if own != *ty {
                        let (own, ty) = (binder.type_text(&own), binder.type_text(ty));
                        return reject(
                            "CS1678",
                            format!("Parameter is declared as type '{own}' but should be '{ty}'"),
                            span,
                        );
                    }
                }
                slots.push(binder.declare(name, ty.clone()));
            }
            let (body, result) = match &lambda.body {
                LambdaBody::Value(value) => binder.value_body(value, expected_result)?,
                LambdaBody::Block(block) => binder.block_body(block, expected_result, span)?,
            };
            Ok(TypedLambda { slots, body, result })
        })
    }

    fn value_body(&mut self, value: &tree::Expr, expected_result: &ExpectedResult) -> Bind<(Body, Ty)> {
        let bound = match expected_result {
            ExpectedResult::Of(ty) => self.convert_expr(value, ty)?,
            ExpectedResult::Any => self.value(value)?,
            ExpectedResult::Nothing => {
                let part = self.part(value)?;
                self.require_value(part, value.span)?
            }
        };
        let ty = if bound.is_null() { OBJECT } else { bound.ty.clone() };
        Ok((Body::Value(Box::new(bound)), ty))
    }

    fn block_body(
        &mut self,
        block: &[tree::Stmt],
        expected_result: &ExpectedResult,
        span: Span,
    ) -> Bind<(Body, Ty)> {
        let expected = match expected_result {
            ExpectedResult::Of(ty) => Some(ty.clone()),
            ExpectedResult::Any | ExpectedResult::Nothing => None,
        };
        let (statements, returned) = self.block(block, expected.as_ref())?;
        match expected_result {
            ExpectedResult::Of(ty) if returned.is_empty() => {
                let name = self.type_text(ty);
                reject(
                    "CS1643",
                    format!("Not all code paths return a value in a lambda expression of type '{name}'"),
                    span,
                )
            }
            ExpectedResult::Of(ty) => Ok((Body::Block(statements), ty.clone())),
            ExpectedResult::Nothing => Ok((Body::Block(statements), VOID)),
            ExpectedResult::Any => {
                let Some(ty) = self.common_type(&returned) else {
                    return reject(
                        "CS8917",
                        "The delegate type could not be inferred: the lambda returns nothing",
                        span,
                    );
                };
                if returned.iter().all(|value| value.ty == ty) {
                    return Ok((Body::Block(statements), ty));
                }
                // With several result types, the body is bound again, and each result is converted to the
                // common type.
                let (statements, _) = self.block(block, Some(&ty))?;
                Ok((Body::Block(statements), ty))
            }
        }
    }

    /// Binds a method group in place of a lambda: `char.IsDigit`.
    pub(super) fn method_as_lambda(
        &mut self,
        group: &MethodGroup,
        parameters: &[Ty],
        expected_result: &ExpectedResult,
        span: Span,
    ) -> Bind<TypedLambda> {
        let mut slots = Vec::new();
        let mut given: Vec<SourceArgument<'_>> = Vec::new();
        for ty in parameters {
            let slot = self.slot();
            slots.push(slot);
            let value = Typed::new(TypedKind::Slot(slot), ty.clone(), span);
            given.push(SourceArgument::of(value));
        }
        let call = self.call_best(group, &given, span)?;
        let call = match expected_result {
            ExpectedResult::Of(ty) => self.convert(call, ty)?,
            ExpectedResult::Any if call.is_void() => {
                return reject("CS0407", format!("'{}' has the wrong return type", group.name), span);
            }
            ExpectedResult::Any | ExpectedResult::Nothing => call,
        };
        let result = call.ty.clone();
        Ok(TypedLambda { slots, body: Body::Value(Box::new(call)), result })
    }
}
