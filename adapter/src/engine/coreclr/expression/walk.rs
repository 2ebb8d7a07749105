//! What each kind of expression means.

use dap_wire::Failure;
use tree_sitter::Node as Syntax;

use super::calling::argument;
use super::constant::{Constant, literal};
use super::operators::compute;
use super::parse::Scope;
use super::{Found, failed};
use crate::engine::coreclr::session::Session;

impl Session {
    pub(crate) fn walk(
        &mut self,
        node: Syntax<'_>,
        scope: &Scope<'_>,
        deeper: usize,
    ) -> Result<Found, Failure> {
        if deeper == 0 {
            return Err(failed("the expression is nested too deeply"));
        }
        let child = |field: &str| {
            node.child_by_field_name(field)
                .ok_or_else(|| failed(format!("`{}` is incomplete", scope.of(node))))
        };
        let text = scope.of(node);
        match node.kind() {
            "identifier" | "this" | "this_expression" => self.name(text, scope),
            "parenthesized_expression" => {
                let inner = node.named_child(0).ok_or_else(|| failed("() is empty"))?;
                self.walk(inner, scope, deeper - 1)
            }
            "member_access_expression" => {
                let (of, name) = (child("expression")?, child("name")?);
                let found = self.walk(of, scope, deeper - 1)?;
                self.member_of(found, scope.of(name), scope)
            }
            "element_access_expression" => {
                let (of, list) = (child("expression")?, child("subscript")?);
                let found = self.walk(of, scope, deeper - 1)?;
                let indexes = self.arguments(list, scope, deeper - 1)?;
                self.element_of(found, indexes, scope)
            }
            "invocation_expression" => {
                let (function, list) = (child("function")?, child("arguments")?);
                if function.kind() != "member_access_expression" {
                    return Err(failed(
                        "only methods of objects can be called so far, like `list.Contains(3)`",
                    ));
                }
                let of = function
                    .child_by_field_name("expression")
                    .ok_or_else(|| failed("a call without an object"))?;
                let name = function.child_by_field_name("name").map(|name| scope.of(name).to_owned());
                let Found::At(path) = self.walk(of, scope, deeper - 1)? else {
                    return Err(failed("only methods of variables can be called so far"));
                };
                let arguments = self.arguments(list, scope, deeper - 1)?;
                let arguments = arguments.into_iter().map(argument).collect::<Result<Vec<_>, _>>()?;
                let made = self.call_method(
                    scope.thread,
                    &path,
                    &name.unwrap_or_default(),
                    &arguments,
                    scope.inputs,
                )?;
                Ok(Found::from(made))
            }
            "prefix_unary_expression" => {
                let operand = node.named_child(0).ok_or_else(|| failed("an operator without an operand"))?;
                let found = self.walk(operand, scope, deeper - 1)?;
                let constant = self.constant(found)?;
                let operator = text.chars().next().unwrap_or(' ');
                match (operator, constant) {
                    ('!', Constant::Bool(value)) => Ok(Found::Constant(Constant::Bool(!value))),
                    ('-', Constant::Int(value)) => value
                        .checked_neg()
                        .map(|value| Found::Constant(Constant::Int(value)))
                        .ok_or_else(|| failed(format!("`{text}` overflows"))),
                    ('-', Constant::Real(value)) => Ok(Found::Constant(Constant::Real(-value))),
                    ('+', value @ (Constant::Int(_) | Constant::Real(_))) => Ok(Found::Constant(value)),
                    _ => Err(failed(format!("`{operator}` does not go with `{}`", scope.of(operand)))),
                }
            }
            "binary_expression" => {
                let (left, right, operator) =
                    (child("left")?, child("right")?, scope.of(child("operator")?).to_owned());
                let left = self.walk(left, scope, deeper - 1)?;
                let left = self.constant(left)?;
                match (operator.as_str(), &left) {
                    ("&&", Constant::Bool(false)) | ("||", Constant::Bool(true)) => {
                        return Ok(Found::Constant(left));
                    }
                    _ => {}
                }
                let right = self.walk(right, scope, deeper - 1)?;
                let right = self.constant(right)?;
                let computed = compute(&operator, &left, &right);
                computed.map(Found::Constant).ok_or_else(|| {
                    failed(format!(
                        "`{operator}` cannot be computed for {} and {}",
                        left.shown().0,
                        right.shown().0
                    ))
                })
            }
            kind => literal(kind, text).map(Found::Constant).ok_or_else(|| {
                failed(format!("`{text}` is not supported yet"))
                    .hint("names, members, indexers, calls, literals and operators on primitives are")
            }),
        }
    }
}
