//! Query expressions over sequences in memory. Each clause processes rows of range variables, which are
//! slots.
//!
//! Queries over `IQueryable` and group joins are left to the compiler. Not here: calls of sequence methods
//! ([`super::sequences`]).

use super::binder::{Bind, Binder, DeclaredLocal, leave_to_compiler, reject};
use super::typed::{Typed, TypedKind, TypedQuery, TypedQueryClause};
use crate::syntax::Span;
use crate::syntax::tree::{self, Expr, QueryEnd, TypeName};
use crate::types::{INT, Ty};

impl Binder<'_> {
    pub(super) fn query(&mut self, query: &tree::Query, span: Span) -> Bind<Typed> {
        self.within(|binder| {
            let mut clauses = Vec::new();
            let mut ty = binder.query_part(query, &mut clauses, span)?;
            let mut rest = query.into.as_ref();
            while let Some((name, next)) = rest {
                let Some(item) = binder.types.item_of(&ty) else { break };
                let slot = binder.declare(name, item);
                clauses.push(TypedQueryClause::Into(slot));
                ty = binder.query_part(next, &mut clauses, span)?;
                rest = next.into.as_ref();
            }
            Ok(Typed::new(TypedKind::Query(Box::new(TypedQuery { clauses })), ty, span))
        })
    }

    /// Binds the clauses of a query up to its end. Returns the type of the result.
    fn query_part(
        &mut self,
        query: &tree::Query,
        clauses: &mut Vec<TypedQueryClause>,
        span: Span,
    ) -> Bind<Ty> {
        for clause in &query.clauses {
            self.clause(clause, clauses)?;
        }
        let ty = match &query.end {
            QueryEnd::Select(value) => {
                let value = self.value(value)?;
                let item = if value.is_null() { crate::types::OBJECT } else { value.ty.clone() };
                clauses.push(TypedQueryClause::Select(value));
                self.types.sequence(&item)
            }
            QueryEnd::Group(element, key) => {
                let (element, key) = (self.value(element)?, self.value(key)?);
                let group =
                    self.types.named("System.Linq.IGrouping`2", vec![key.ty.clone(), element.ty.clone()]);
                clauses.push(TypedQueryClause::Group(element, key));
                group.and_then(|group| self.types.sequence(&group))
            }
        };
        match ty {
            Some(ty) => Ok(ty),
            None => reject(
                "CS1935",
                "Could not find an implementation of the query pattern: System.Linq is not loaded",
                span,
            ),
        }
    }

    fn clause(&mut self, clause: &tree::QueryClause, clauses: &mut Vec<TypedQueryClause>) -> Bind<()> {
        match clause {
            tree::QueryClause::From { ty, name, of } => {
                let (of, slot, value) = self.range_of(ty.as_ref(), name, of)?;
                clauses.push(TypedQueryClause::From { of, slot, value });
            }
            tree::QueryClause::Let { name, value } => {
                let value = self.value(value)?;
                let slot = self.declare(name, value.ty.clone());
                clauses.push(TypedQueryClause::Let(slot, value));
            }
            tree::QueryClause::Where(condition) => {
                let condition = self.condition(condition)?;
                clauses.push(TypedQueryClause::Where(condition));
            }
            tree::QueryClause::OrderBy(keys) => {
                let mut all = Vec::new();
                for (key, is_descending) in keys {
                    all.push((self.value(key)?, *is_descending));
                }
                clauses.push(TypedQueryClause::OrderBy(all));
            }
            tree::QueryClause::Join(join) => self.join_clause(join, clauses)?,
        }
        Ok(())
    }

    /// Binds `Type name in of`: the sequence, the slot of its items, and the slot of the variable
    /// if it has another type.
    #[allow(clippy::type_complexity, reason = "three parts of one clause")]
    fn range_of(
        &mut self,
        ty: Option<&TypeName>,
        name: &std::rc::Rc<str>,
        of: &Expr,
    ) -> Bind<(Typed, u32, Option<(u32, Typed)>)> {
        let of = self.value(of)?;
        if self.types.as_interface(&of.ty, "System.Linq.IQueryable").is_some() {
            return leave_to_compiler(
                format!("a query over a query (`{}`), which is an expression tree,", self.type_text(&of.ty)),
                of.span,
            );
        }
        let item = match (self.types.item_of(&of.ty), ty) {
            (Some(item), _) => item,
            // `from T x in xs` casts each item, so any sequence is accepted.
            (None, Some(_))
                if self.types.as_interface(&of.ty, "System.Collections.IEnumerable").is_some() =>
            {
                crate::types::OBJECT
            }
            _ => {
                let name = self.type_text(&of.ty);
                return reject(
                    "CS1936",
                    format!("Could not find an implementation of the query pattern for source type '{name}'"),
                    of.span,
                );
            }
        };
        let slot = self.slot();
        let value = match ty {
            None => {
                self.locals.push(DeclaredLocal { name: name.clone(), slot, ty: item });
                None
            }
            Some(ty) => {
                let ty = self.type_of_name(ty)?;
                let raw = Typed::new(TypedKind::Slot(slot), item, of.span);
                let value = self.cast_value(raw, &ty, of.span)?;
                Some((self.declare(name, ty), value))
            }
        };
        Ok((of, slot, value))
    }

    fn join_clause(&mut self, join: &tree::Join, clauses: &mut Vec<TypedQueryClause>) -> Bind<()> {
        // The outer key may use the earlier range variables, the inner one only its own item.
        let outer = self.value(&join.outer)?;
        let before = self.locals.len();
        let (of, slot, value) = self.range_of(join.ty.as_ref(), &join.name, &join.of)?;
        if value.is_some() {
            return leave_to_compiler("a join with a type", of.span);
        }
        let inner = self.value(&join.inner)?;
        let common = self.common_type(&[outer.clone(), inner.clone()]);
        let Some(key) = common else {
            return reject(
                "CS1941",
                "The type of one of the expressions in the join clause is incorrect",
                join.inner.span,
            );
        };
        let (outer, inner) = (self.convert(outer, &key)?, self.convert(inner, &key)?);
        let into = match &join.into {
            None => None,
            Some(name) => {
                self.locals.truncate(before);
                let item = self.types.item_of(&of.ty).unwrap_or(INT);
                let Some(sequence) = self.types.sequence(&item) else {
                    return leave_to_compiler("a group join", of.span);
                };
                Some(self.declare(name, sequence))
            }
        };
        clauses.push(TypedQueryClause::Join { of, slot, outer, inner, into });
        Ok(())
    }
}
