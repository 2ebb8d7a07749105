//! Statements in the braces of a lambda: variables, which can be written to, conditions, loops, calls, `return` and `throw`.
//! Their variables live here, not in the program.

use dap_wire::{ErrorCode, Failure};
use tree_sitter::Node as Syntax;

use super::walk::{child, inner};
use super::{Found, Scope, Val, failed};
use crate::engine::coreclr::session::Session;

/// Rounds that all loops of a lambda may make for one item; what takes longer than a call may is given up before.
const MOST_ROUNDS: usize = 1_000_000;

/// How a statement ends.
enum End {
    /// The next one follows.
    Next,
    Break,
    Continue,
    /// The lambda is over.
    Return(Box<Found>),
}

impl Session {
    /// What a lambda with statements gives.
    pub(super) fn block(&mut self, block: Syntax<'_>, scope: &Scope<'_>) -> Result<Found, Failure> {
        match self.statement(block, scope)? {
            End::Return(found) => Ok(*found),
            _ => Ok(Found::Nothing),
        }
    }

    fn statement(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<End, Failure> {
        match node.kind() {
            "block" => {
                let before = scope.bindings.borrow().len();
                let mut end = End::Next;
                for statement in inner(node) {
                    end = self.statement(statement, scope)?;
                    if !matches!(end, End::Next) {
                        break;
                    }
                }
                scope.bindings.borrow_mut().truncate(before);
                Ok(end)
            }
            "return_statement" => Ok(End::Return(Box::new(match inner(node).pop() {
                Some(value) => self.walk(value, scope).map(|found| self.lifted(found, value, scope))?,
                None => Found::Nothing,
            }))),
            "break_statement" => Ok(End::Break),
            "continue_statement" => Ok(End::Continue),
            "expression_statement" => {
                let of = inner(node).pop().ok_or_else(|| failed("a statement is empty"))?;
                self.walk(of, scope).map(|_| End::Next)
            }
            "throw_statement" => Err(self.what_is_thrown(node, scope)?),
            "local_declaration_statement" => {
                for declaration in inner(node) {
                    self.declare(declaration, scope)?;
                }
                Ok(End::Next)
            }
            "if_statement" => {
                let chosen = match self.truth(child(node, "condition")?, scope)? {
                    true => Some(child(node, "consequence")?),
                    false => node.child_by_field_name("alternative"),
                };
                chosen.map_or(Ok(End::Next), |chosen| self.statement(chosen, scope))
            }
            "while_statement" | "do_statement" | "for_statement" => self.looped(node, scope),
            "foreach_statement" => self.each(node, scope),
            "empty_statement" => Ok(End::Next),
            kind => Err(failed(format!("a lambda with a {} is not supported", kind.replace('_', " ")))),
        }
    }

    /// `while`, `do` and `for`.
    fn looped(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<End, Failure> {
        let bound = scope.bindings.borrow().len();
        let parts = |field: &str| {
            let mut cursor = node.walk();
            node.children_by_field_name(field, &mut cursor).filter(Syntax::is_named).collect::<Vec<_>>()
        };
        for first in parts("initializer") {
            match first.kind() {
                "variable_declaration" => self.declare(first, scope)?,
                _ => drop(self.walk(first, scope)?),
            }
        }
        let body = match node.child_by_field_name("body") {
            Some(body) => body,
            None => inner(node).pop().ok_or_else(|| failed("a loop has no body"))?,
        };
        let (condition, updates) = (node.child_by_field_name("condition"), parts("update"));
        let mut is_asked = node.kind() != "do_statement";
        let mut end = End::Next;
        for round in 0.. {
            self.still_in_time(round, scope)?;
            if let Some(condition) = condition
                && is_asked
                && !self.truth(condition, scope)?
            {
                break;
            }
            is_asked = true;
            match self.statement(body, scope)? {
                End::Break => break,
                End::Return(found) => {
                    end = End::Return(found);
                    break;
                }
                End::Next | End::Continue => {}
            }
            for update in &updates {
                self.walk(*update, scope)?;
            }
        }
        scope.bindings.borrow_mut().truncate(bound);
        Ok(end)
    }

    /// `foreach`.
    fn each(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<End, Failure> {
        let (ty, name, body) = (child(node, "type")?, child(node, "left")?, child(node, "body")?);
        let of = self.value(child(node, "right")?, scope)?;
        let ty = match scope.of(ty) {
            "var" => None,
            _ => Some(self.type_at(ty, scope)?),
        };
        for (round, item) in self.items_of(&of, scope)?.whole()?.into_iter().enumerate() {
            self.still_in_time(round, scope)?;
            let bound = scope.bindings.borrow().len();
            let item = self.named_as_in(item, &of);
            let item = match &ty {
                Some(ty) => self.cast(item, ty, scope)?,
                None => item,
            };
            scope.bindings.borrow_mut().push((scope.of(name).to_owned(), item));
            let end = self.statement(body, scope);
            scope.bindings.borrow_mut().truncate(bound);
            match end? {
                End::Break => break,
                End::Return(found) => return Ok(End::Return(found)),
                End::Next | End::Continue => {}
            }
        }
        Ok(End::Next)
    }

    pub(super) fn still_in_time(&self, round: usize, scope: &Scope<'_>) -> Result<(), Failure> {
        if self.cancel.is_cancelled() {
            return Err(Failure::cancelled());
        }
        if round > MOST_ROUNDS || scope.since.elapsed() > scope.site.limit {
            let message =
                format!("a loop did not end within {} ms and {round} rounds", scope.site.limit.as_millis());
            return Err(Failure::new(ErrorCode::EvaluationTimeout, message));
        }
        Ok(())
    }

    /// The exception of a `throw`, as what it says.
    pub(super) fn what_is_thrown(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Failure, Failure> {
        let Some(of) = inner(node).pop() else { return Ok(failed("`throw` has nothing to throw here")) };
        let exception = self.value(of, scope)?;
        if self.is_null_val(&exception)? {
            return Ok(failed("NullReferenceException: what is thrown is null"));
        }
        let name = self.csharp(&self.actual(&exception)?);
        let message = self.member_of(Found::Val(exception), "Message", Vec::new(), scope)?;
        let Found::Val(message) = message else { return Ok(failed(name)) };
        Ok(failed(format!("{name}: {}", self.text_of(&message, scope)?)))
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
            let val: Val = match (value, &ty) {
                (Some(value), Some(ty)) => {
                    let val = self.value_for(ty, value, scope)?;
                    self.converted(val, ty, scope)?
                }
                (Some(value), None) => self.value(value, scope)?,
                (None, Some(ty)) => self.default_of(ty, scope)?,
                (None, None) => return Err(failed(format!("`{}` needs a value", scope.of(name)))),
            };
            // What is in a variable of the program now stays this one's value when that changes.
            let val = self.copied(val)?;
            scope.bindings.borrow_mut().push((scope.of(name).to_owned(), val));
        }
        Ok(())
    }

    /// A value that is here, if it can be.
    pub(super) fn copied(&self, val: Val) -> Result<Val, Failure> {
        if !val.ty.is_value() {
            return Ok(Val { literal: false, ..val });
        }
        Ok(match self.load(&val)? {
            Some(constant) => Val::constant_of(constant, val.ty),
            None => Val { literal: false, ..val },
        })
    }
}
