//! Statements in the braces of a lambda: variables, conditions, calls and `return`. No loops, and a variable keeps its value.

use dap_wire::Failure;
use tree_sitter::Node as Syntax;

use super::walk::{child, inner};
use super::{Found, Scope, Val, failed};
use crate::engine::coreclr::session::Session;

impl Session {
    /// What a lambda with statements gives.
    pub(super) fn block(&mut self, block: Syntax<'_>, scope: &Scope<'_>) -> Result<Found, Failure> {
        Ok(self.statement(block, scope)?.unwrap_or(Found::Nothing))
    }

    /// What it returns, if it is or has in it the `return` that ends the lambda.
    fn statement(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Option<Found>, Failure> {
        match node.kind() {
            "block" => {
                for statement in inner(node) {
                    if let Some(found) = self.statement(statement, scope)? {
                        return Ok(Some(found));
                    }
                }
                Ok(None)
            }
            "return_statement" => Ok(Some(match inner(node).pop() {
                Some(value) => self.walk(value, scope).map(|found| self.lifted(found, value, scope))?,
                None => Found::Nothing,
            })),
            "expression_statement" => {
                let of = inner(node).pop().ok_or_else(|| failed("a statement is empty"))?;
                self.walk(of, scope).map(|_| None)
            }
            "local_declaration_statement" => {
                for declaration in inner(node) {
                    self.declare(declaration, scope)?;
                }
                Ok(None)
            }
            "if_statement" => {
                let chosen = match self.truth(child(node, "condition")?, scope)? {
                    true => Some(child(node, "consequence")?),
                    false => node.child_by_field_name("alternative"),
                };
                chosen.map_or(Ok(None), |chosen| self.statement(chosen, scope))
            }
            "empty_statement" => Ok(None),
            kind => Err(failed(format!("a lambda with a {} is not supported", kind.replace('_', " ")))),
        }
    }

    /// `var a = …, b = …`.
    fn declare(&mut self, declaration: Syntax<'_>, scope: &Scope<'_>) -> Result<(), Failure> {
        let written = child(declaration, "type")?;
        let ty = match scope.of(written) {
            "var" => None,
            _ => Some(self.type_at(written, scope)?),
        };
        for declarator in inner(declaration).into_iter().filter(|part| part.kind() == "variable_declarator") {
            let name = child(declarator, "name")?;
            let value = inner(declarator).pop().filter(|value| *value != name);
            let value = value.ok_or_else(|| failed(format!("`{}` needs a value", scope.of(name))))?;
            let mut val: Val = self.value(value, scope)?;
            if let Some(ty) = &ty {
                val = self.converted(val, ty, scope)?;
            }
            scope.bindings.borrow_mut().push((scope.of(name).to_owned(), val));
        }
        Ok(())
    }
}
