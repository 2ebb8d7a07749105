//! Lambdas whose parameters' types are known: their bodies, and what they return.

use super::binder::{Bind, Binder, Group, left, wrong};
use super::overloads::{Given, GivenValue};
use super::typed::{Body, Kind, Lambda, Typed};
use crate::syntax::Span;
use crate::syntax::tree::{self, LambdaBody, Mode};
use crate::types::{OBJECT, Ty, VOID};

/// The result that a lambda must have.
#[derive(Debug, Clone)]
pub(super) enum Wanted {
    /// A value of this type.
    Of(Ty),
    /// Any value: the type is what the caller wants to know.
    Any,
    /// Nothing, or whatever it is.
    Nothing,
}

impl Binder<'_> {
    /// A lambda with parameters of these types.
    pub(super) fn lambda(
        &mut self,
        lambda: &tree::Lambda,
        parameters: &[Ty],
        wanted: &Wanted,
        span: Span,
    ) -> Bind<Lambda> {
        if let Some(what) = lambda.special {
            return left(what, span);
        }
        if lambda.parameters.len() != parameters.len() {
            let count = lambda.parameters.len();
            return wrong("CS1593", format!("Delegate does not take {count} arguments"), span);
        }
        self.within(|binder| {
            let mut slots = Vec::new();
            for ((name, written), ty) in lambda.parameters.iter().zip(parameters) {
                if let Some(written) = written {
                    let own = binder.type_of_name(written)?;
                    if own != *ty {
                        let (own, ty) = (binder.spelled(&own), binder.spelled(ty));
                        return wrong(
                            "CS1678",
                            format!("Parameter is declared as type '{own}' but should be '{ty}'"),
                            span,
                        );
                    }
                }
                slots.push(binder.declare(name, ty.clone()));
            }
            let (body, result) = match &lambda.body {
                LambdaBody::Value(value) => binder.value_body(value, wanted)?,
                LambdaBody::Block(block) => binder.block_body(block, wanted, span)?,
            };
            Ok(Lambda { slots, body, result })
        })
    }

    fn value_body(&mut self, value: &tree::Expr, wanted: &Wanted) -> Bind<(Body, Ty)> {
        let bound = match wanted {
            Wanted::Of(ty) => self.converted_expr(value, ty)?,
            Wanted::Any => self.value(value)?,
            Wanted::Nothing => {
                let part = self.part(value)?;
                self.valued(part, value.span)?
            }
        };
        let ty = if bound.is_null() { OBJECT } else { bound.ty.clone() };
        Ok((Body::Value(Box::new(bound)), ty))
    }

    fn block_body(&mut self, block: &[tree::Stmt], wanted: &Wanted, span: Span) -> Bind<(Body, Ty)> {
        let expected = match wanted {
            Wanted::Of(ty) => Some(ty.clone()),
            Wanted::Any | Wanted::Nothing => None,
        };
        let (statements, returned) = self.block(block, expected.as_ref())?;
        match wanted {
            Wanted::Of(ty) if returned.is_empty() => {
                let name = self.spelled(ty);
                wrong(
                    "CS1643",
                    format!("Not all code paths return a value in a lambda expression of type '{name}'"),
                    span,
                )
            }
            Wanted::Of(ty) => Ok((Body::Block(statements), ty.clone())),
            Wanted::Nothing => Ok((Body::Block(statements), VOID)),
            Wanted::Any => {
                let Some(ty) = self.common_type(&returned) else {
                    return wrong(
                        "CS8917",
                        "The delegate type could not be inferred: the lambda returns nothing",
                        span,
                    );
                };
                if returned.iter().all(|value| value.ty == ty) {
                    return Ok((Body::Block(statements), ty));
                }
                // They return several types: once more, each converted to the one all come to.
                let (statements, _) = self.block(block, Some(&ty))?;
                Ok((Body::Block(statements), ty))
            }
        }
    }

    /// A method in a lambda's place: `char.IsDigit`.
    pub(super) fn method_as_lambda(
        &mut self,
        group: &Group,
        parameters: &[Ty],
        wanted: &Wanted,
        span: Span,
    ) -> Bind<Lambda> {
        let mut slots = Vec::new();
        let mut given: Vec<Given<'_>> = Vec::new();
        for ty in parameters {
            let slot = self.slot();
            slots.push(slot);
            let value = Typed::new(Kind::Slot(slot), ty.clone(), span);
            given.push(Given { name: None, mode: Mode::Value, value: GivenValue::Value(value), span });
        }
        let call = self.call_given(group, &given, span)?;
        let call = match wanted {
            Wanted::Of(ty) => self.converted(call, ty)?,
            Wanted::Any if call.is_void() => {
                return wrong("CS0407", format!("'{}' has the wrong return type", group.name), span);
            }
            Wanted::Any | Wanted::Nothing => call,
        };
        let result = call.ty.clone();
        Ok(Lambda { slots, body: Body::Value(Box::new(call)), result })
    }
}
