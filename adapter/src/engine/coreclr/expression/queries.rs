//! Query syntax: `from x in xs where … orderby … select …`. Each row is the names that its clauses bind; what goes by keys is
//! [`super::keyed`]'s.

use dap_wire::Failure;
use tree_sitter::Node as Syntax;

use super::items::{LONGEST, too_many};
use super::walk::inner;
use super::{Scope, Val, failed};
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::ty::OBJECT;

/// The names that clauses have bound so far, with their values.
type Row = Vec<(String, Val)>;

impl Session {
    pub(super) fn query(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Val, Failure> {
        let (mut rows, mut result): (Vec<Row>, Option<Val>) = (vec![Vec::new()], None);
        for clause in inner(node) {
            match clause.kind() {
                "from_clause" => rows = self.rows_from(rows, clause, scope)?,
                "where_clause" => {
                    let condition = last(clause)?;
                    let mut kept = Vec::new();
                    for row in rows {
                        if self.in_row(&row, scope, |session| session.truth(condition, scope))? {
                            kept.push(row);
                        }
                    }
                    rows = kept;
                }
                "let_clause" => {
                    let name = scope.of(first(clause)?).to_owned();
                    for row in &mut rows {
                        let val = self.row_value(row, last(clause)?, scope)?;
                        row.push((name.clone(), val));
                    }
                }
                "order_by_clause" => rows = self.ordered_rows(rows, clause, scope)?,
                "join_clause" => rows = self.rows_joined(rows, clause, scope)?,
                "select_clause" => {
                    let mut made = Vec::new();
                    for row in &rows {
                        made.push(self.row_value(row, last(clause)?, scope)?);
                    }
                    result = Some(self.array_of_made(made, &OBJECT, scope)?);
                }
                "group_clause" => {
                    let (element, key) = (first(clause)?, last(clause)?);
                    let (mut elements, mut keys) = (Vec::new(), Vec::new());
                    for row in &rows {
                        elements.push(self.row_value(row, element, scope)?);
                        keys.push(self.row_value(row, key, scope)?);
                    }
                    result = Some(self.groups_of(elements, keys, scope)?);
                }
                // `into g`: what came of it so far is gone through anew.
                "identifier" => {
                    let groups = result.take().ok_or_else(|| failed("`into` follows nothing"))?;
                    let name = scope.of(clause).to_owned();
                    let items = self.items_of(&groups, scope)?.whole()?.into_iter();
                    rows = items.map(|item| vec![(name.clone(), self.named_as_in(item, &groups))]).collect();
                }
                "comment" => {}
                other => {
                    return Err(failed(format!(
                        "a query with a {} is not supported",
                        other.replace('_', " ")
                    )));
                }
            }
        }
        result.ok_or_else(|| failed("a query ends with `select` or `group`"))
    }

    /// Does something with a row's names in sight.
    fn in_row<T>(
        &mut self,
        row: &Row,
        scope: &Scope<'_>,
        what: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.still_in_time(0, scope)?;
        let before = scope.bindings.borrow().len();
        scope.bindings.borrow_mut().extend(row.iter().cloned());
        let done = what(self);
        scope.bindings.borrow_mut().truncate(before);
        done
    }

    fn row_value(&mut self, row: &Row, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Val, Failure> {
        self.in_row(row, scope, |session| session.value(node, scope))
    }

    /// `from [Type] x in xs`: for each row so far one for each item.
    fn rows_from(
        &mut self,
        rows: Vec<Row>,
        clause: Syntax<'_>,
        scope: &Scope<'_>,
    ) -> Result<Vec<Row>, Failure> {
        let name = clause.child_by_field_name("name").ok_or_else(|| failed("`from` needs a name"))?;
        let ty = clause.child_by_field_name("type").map(|ty| self.type_at(ty, scope)).transpose()?;
        let mut all = Vec::new();
        for row in rows {
            let of = self.row_value(&row, last(clause)?, scope)?;
            self.not_remote(&of, "Select")?;
            for item in self.items_of(&of, scope)?.whole()? {
                let item = self.named_as_in(item, &of);
                let item = match &ty {
                    Some(ty) => self.cast(item, ty, scope)?,
                    None => item,
                };
                let mut row = row.clone();
                row.push((scope.of(name).to_owned(), item));
                all.push(row);
                if all.len() > LONGEST {
                    return Err(too_many());
                }
            }
        }
        Ok(all)
    }

    /// `orderby a, b descending`.
    fn ordered_rows(
        &mut self,
        rows: Vec<Row>,
        clause: Syntax<'_>,
        scope: &Scope<'_>,
    ) -> Result<Vec<Row>, Failure> {
        let mut levels: Vec<(bool, Vec<Val>)> = Vec::new();
        let mut cursor = clause.walk();
        for part in clause.children(&mut cursor) {
            match part.kind() {
                "descending" => {
                    if let Some((falls, _)) = levels.last_mut() {
                        *falls = true;
                    }
                }
                _ if part.is_named() && part.kind() != "comment" => {
                    let keys = rows.iter().map(|row| self.row_value(row, part, scope));
                    levels.push((false, keys.collect::<Result<_, _>>()?));
                }
                _ => {}
            }
        }
        let order = self.order_of(rows.len(), levels, scope)?;
        Ok(order.into_iter().filter_map(|at| rows.get(at).cloned()).collect())
    }

    /// `join y in ys on a equals b [into g]`.
    fn rows_joined(
        &mut self,
        rows: Vec<Row>,
        clause: Syntax<'_>,
        scope: &Scope<'_>,
    ) -> Result<Vec<Row>, Failure> {
        let ty = clause.child_by_field_name("type");
        let parts: Vec<Syntax<'_>> = inner(clause).into_iter().filter(|part| Some(*part) != ty).collect();
        let [name, of, outer, own, rest @ ..] = parts.as_slice() else {
            return Err(failed("a join is `join y in ys on a equals b`"));
        };
        let of = self.value(*of, scope)?;
        let inners = self.items_of(&of, scope)?;
        let (inner_ty, mut ready) = (inners.of.clone(), Vec::new());
        for item in inners.whole()? {
            ready.push(vec![(scope.of(*name).to_owned(), self.named_as_in(item, &of))]);
        }
        let mut keys = Vec::new();
        for row in &ready {
            keys.push(self.row_value(row, *own, scope)?);
        }
        let lookup = self.lookup_of(keys, scope)?;
        let mut all = Vec::new();
        for row in rows {
            let key = self.row_value(&row, *outer, scope)?;
            let fitting: Vec<Row> = self
                .at_key(&lookup, key, scope)?
                .into_iter()
                .filter_map(|at| ready.get(at).cloned())
                .collect();
            if let [into, ..] = rest {
                let items = fitting.into_iter().flatten().map(|(_, item)| item).collect();
                let group = self.array_with(&inner_ty, items, scope)?;
                let mut row = row.clone();
                row.push((scope.of(last(*into)?).to_owned(), self.named_as_in(group, &of)));
                all.push(row);
                continue;
            }
            for own in fitting {
                all.push(row.iter().cloned().chain(own).collect());
                if all.len() > LONGEST {
                    return Err(too_many());
                }
            }
        }
        Ok(all)
    }
}

fn first(clause: Syntax<'_>) -> Result<Syntax<'_>, Failure> {
    inner(clause).into_iter().next().ok_or_else(|| failed("a clause is empty"))
}

fn last(clause: Syntax<'_>) -> Result<Syntax<'_>, Failure> {
    inner(clause).pop().ok_or_else(|| failed("a clause is empty"))
}
