//! Statements in the braces of a lambda (language specification, 13). Their variables are slots of the
//! expression, not variables of the program.

use super::binder::{Bind, Binder, leave_to_compiler, reject};
use super::typed::{Typed, TypedKind, TypedStmt};
use crate::syntax::Span;
use crate::syntax::tree::{self, Expr, TypeName, TypeNameKind};
use crate::types::Ty;

/// The `return` statements of a lambda: the expected type, and the types found.
struct LambdaReturns<'t> {
    return_type: Option<&'t Ty>,
    found: Vec<Typed>,
}

impl Binder<'_> {
    /// Binds statements, and collects the values that they return.
    pub(super) fn block(
        &mut self,
        block: &[tree::Stmt],
        return_type: Option<&Ty>,
    ) -> Bind<(Vec<TypedStmt>, Vec<Typed>)> {
        let mut returns = LambdaReturns { return_type, found: Vec::new() };
        let statements = self.statements(block, &mut returns)?;
        Ok((statements, returns.found))
    }

    fn statements(&mut self, all: &[tree::Stmt], returns: &mut LambdaReturns<'_>) -> Bind<Vec<TypedStmt>> {
        self.within(|binder| {
            let mut bound = Vec::new();
            for one in all {
                binder.statement(one, returns, &mut bound)?;
            }
            Ok(bound)
        })
    }

    fn embedded_statement(
        &mut self,
        stmt: &tree::Stmt,
        returns: &mut LambdaReturns<'_>,
    ) -> Bind<Box<TypedStmt>> {
        self.statements(std::slice::from_ref(stmt), returns).map(|all| Box::new(TypedStmt::Block(all)))
    }

    fn statement(
        &mut self,
        stmt: &tree::Stmt,
        returns: &mut LambdaReturns<'_>,
        bound: &mut Vec<TypedStmt>,
    ) -> Bind<()> {
        match stmt {
            tree::Stmt::Empty => {}
            tree::Stmt::Block(all) => {
                let inner = self.statements(all, returns)?;
                bound.push(TypedStmt::Block(inner));
            }
            tree::Stmt::Value(value) => bound.push(TypedStmt::Value(self.effect(value)?)),
            tree::Stmt::Locals(ty, all) => {
                for (name, value) in all {
                    let local = self.local(ty, name, value.as_ref())?;
                    bound.push(local);
                }
            }
            tree::Stmt::If(condition, then, other) => {
                let condition = self.condition(condition)?;
                let then = self.embedded_statement(then, returns)?;
                let other =
                    other.as_ref().map(|other| self.embedded_statement(other, returns)).transpose()?;
                bound.push(TypedStmt::If(condition, then, other));
            }
            tree::Stmt::While(condition, body) => {
                let condition = Some(self.condition(condition)?);
                let body = self.embedded_statement(body, returns)?;
                bound.push(TypedStmt::Loop { condition, updates: Vec::new(), body, asks_first: true });
            }
            tree::Stmt::Do(body, condition) => {
                let body = self.embedded_statement(body, returns)?;
                let condition = Some(self.condition(condition)?);
                bound.push(TypedStmt::Loop { condition, updates: Vec::new(), body, asks_first: false });
            }
            tree::Stmt::For { first, condition, updates, body } => {
                let looped = self.within(|binder| {
                    let mut all = Vec::new();
                    for one in first {
                        binder.statement(one, returns, &mut all)?;
                    }
                    let condition =
                        condition.as_ref().map(|condition| binder.condition(condition)).transpose()?;
                    let updates = updates.iter().map(|update| binder.effect(update)).collect::<Bind<_>>()?;
                    let body = binder.embedded_statement(body, returns)?;
                    all.push(TypedStmt::Loop { condition, updates, body, asks_first: true });
                    Ok(all)
                })?;
                bound.push(TypedStmt::Block(looped));
            }
            tree::Stmt::ForEach { ty, name, of, body } => {
                let each = self.foreach_statement(ty, name, of, body, returns)?;
                bound.push(each);
            }
            tree::Stmt::Return(value) => {
                let value = match (value, returns.return_type) {
                    (None, _) => None,
                    (Some(value), Some(ty)) => Some(self.convert_expr(value, ty)?),
                    (Some(value), None) => Some(self.value(value)?),
                };
                returns.found.extend(value.clone());
                bound.push(TypedStmt::Return(value));
            }
            tree::Stmt::Break => bound.push(TypedStmt::Break),
            tree::Stmt::Continue => bound.push(TypedStmt::Continue),
            tree::Stmt::Throw(Some(value)) => {
                let thrown = self.throw(value, Ty::Null, value.span)?;
                match thrown.kind {
                    TypedKind::Throw(of) => bound.push(TypedStmt::Throw(*of)),
                    _ => bound.push(TypedStmt::Value(thrown)),
                }
            }
            tree::Stmt::Throw(None) => {
                return reject(
                    "CS0156",
                    "A throw statement with no arguments is not allowed outside of a catch clause",
                    Span::default(),
                );
            }
            tree::Stmt::Other(what) => {
                return leave_to_compiler(format!("{what} in a lambda"), Span::default());
            }
        }
        Ok(())
    }

    /// Binds an expression statement: a call, an assignment.
    fn effect(&mut self, value: &Expr) -> Bind<Typed> {
        let part = self.part(value)?;
        self.require_value(part, value.span)
    }

    fn local(&mut self, ty: &TypeName, name: &std::rc::Rc<str>, value: Option<&Expr>) -> Bind<TypedStmt> {
        let (ty, value) = match (&ty.kind, value) {
            (TypeNameKind::Inferred, Some(value)) => {
                let value = self.value(value)?;
                if value.is_null() {
                    return reject(
                        "CS0815",
                        "Cannot assign <null> to an implicitly-typed variable",
                        value.span,
                    );
                }
                (value.ty.clone(), Some(value))
            }
            (TypeNameKind::Inferred, None) => {
                return reject("CS0818", "Implicitly-typed variables must be initialized", ty.span);
            }
            (_, value) => {
                let ty = self.type_of_name(ty)?;
                let value = value.map(|value| self.convert_expr(value, &ty)).transpose()?;
                (ty, value)
            }
        };
        let slot = self.declare(name, ty.clone());
        Ok(TypedStmt::Local(slot, ty, value))
    }

    fn foreach_statement(
        &mut self,
        ty: &TypeName,
        name: &std::rc::Rc<str>,
        of: &Expr,
        body: &tree::Stmt,
        returns: &mut LambdaReturns<'_>,
    ) -> Bind<TypedStmt> {
        let of = self.value(of)?;
        let item = match self.types.item_of(&of.ty) {
            Some(item) => item,
            None => {
                let name = self.type_text(&of.ty);
                return reject(
                    "CS1579",
                    format!(
                        "foreach statement cannot operate on variables of type '{name}' because it does not \
                            contain a public definition for 'GetEnumerator'"
                    ),
                    of.span,
                );
            }
        };
        let slot = self.slot();
        self.within(|binder| {
            let raw = Typed::new(TypedKind::Slot(slot), item.clone(), of.span);
            let item = match &ty.kind {
                TypeNameKind::Inferred => {
                    binder.locals.push(super::binder::DeclaredLocal { name: name.clone(), slot, ty: item });
                    None
                }
                _ => {
                    let ty = binder.type_of_name(ty)?;
                    let value = binder.cast_value(raw, &ty, of.span)?;
                    let own = binder.declare(name, ty);
                    Some((own, value))
                }
            };
            let body = binder.embedded_statement(body, returns)?;
            Ok(TypedStmt::ForEach { slot, of, item, body })
        })
    }
}
