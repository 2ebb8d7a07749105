//! Query expressions, which are evaluated clause by clause over rows of range variables.
//!
//! Not here: methods of sequences ([`super::sequences`]).

use std::rc::Rc;

use super::EvaluationTarget;
use super::evaluator::{Evaluator, MAX_ITEMS, Res};
use super::values::SortKeys;
use super::values::{LocalSequence, ValueOrSequence};
use crate::bind::typed::{Typed, TypedQuery, TypedQueryClause};

/// The values of the range variables that clauses have bound so far.
type Row<P> = Vec<(u32, ValueOrSequence<P>)>;

impl<T: EvaluationTarget> Evaluator<'_, T> {
    pub(crate) fn query(&mut self, query: &TypedQuery, of: &Typed) -> Res<T, ValueOrSequence<T::Location>> {
        let mut rows: Vec<Row<T::Location>> = vec![Vec::new()];
        let mut result: Option<ValueOrSequence<T::Location>> = None;
        for clause in &query.clauses {
            match clause {
                TypedQueryClause::From { of, slot, value } => {
                    rows = self.rows_from(rows, of, *slot, value.as_ref())?
                }
                TypedQueryClause::Let(slot, value) => {
                    for row in &mut rows {
                        self.enter(row)?;
                        let value = self.value(value)?;
                        row.push((*slot, value));
                    }
                }
                TypedQueryClause::Where(condition) => {
                    let mut kept = Vec::new();
                    for row in rows {
                        self.enter(&row)?;
                        if self.truth(condition)? {
                            kept.push(row);
                        }
                    }
                    rows = kept;
                }
                TypedQueryClause::OrderBy(keys) => {
                    let mut levels: Vec<SortKeys<T::Location>> = Vec::new();
                    for (key, is_descending) in keys {
                        let mut all = Vec::new();
                        for row in &rows {
                            self.enter(row)?;
                            all.push(self.val(key)?);
                        }
                        levels.push(SortKeys { keys: all, is_descending: *is_descending, comparer: None });
                    }
                    let order = self.order(rows.len(), &levels)?;
                    rows = order.into_iter().filter_map(|at| rows.get(at).cloned()).collect();
                }
                TypedQueryClause::Join { of, slot, outer, inner, into } => {
                    rows = self.joined_rows(rows, (of, *slot), (outer, inner), *into)?;
                }
                TypedQueryClause::Select(value) => {
                    let mut made = Vec::new();
                    for row in &rows {
                        self.enter(row)?;
                        made.push(self.value(value)?);
                    }
                    result = Some(ValueOrSequence::items(made, of.ty.clone()));
                }
                TypedQueryClause::Group(element, key) => {
                    let (mut elements, mut keys) = (Vec::new(), Vec::new());
                    for row in &rows {
                        self.enter(row)?;
                        elements.push(self.value(element)?);
                        keys.push(self.val(key)?);
                    }
                    let groups = self.group(elements, keys, None)?;
                    result =
                        Some(ValueOrSequence::Local(Rc::new(LocalSequence::Lookup(groups)), of.ty.clone()));
                }
                TypedQueryClause::Into(slot) => {
                    let Some(before) = result.take() else { return self.fail("`into` follows nothing") };
                    let items = self.items_of(&before, "")?.list;
                    rows = items.into_iter().map(|item| vec![(*slot, item)]).collect();
                }
            }
        }
        match result {
            Some(result) => Ok(result),
            None => self.fail("a query ends with `select` or `group`"),
        }
    }

    /// Stores the values of a row in their slots.
    fn enter(&mut self, row: &Row<T::Location>) -> Res<T, ()> {
        self.target.check_cancellation()?;
        for (slot, value) in row {
            self.set(*slot, value.clone());
        }
        Ok(())
    }

    fn rows_from(
        &mut self,
        rows: Vec<Row<T::Location>>,
        of: &Typed,
        slot: u32,
        value: Option<&(u32, Typed)>,
    ) -> Res<T, Vec<Row<T::Location>>> {
        let mut all = Vec::new();
        for row in rows {
            self.enter(&row)?;
            for item in self.all_items_of(of)? {
                let mut row = row.clone();
                row.push((slot, item.clone()));
                if let Some((own, value)) = value {
                    self.set(slot, item);
                    let value = self.value(value)?;
                    row.push((*own, value));
                }
                all.push(row);
                if all.len() > MAX_ITEMS {
                    return self.too_many();
                }
            }
        }
        Ok(all)
    }

    fn joined_rows(
        &mut self,
        rows: Vec<Row<T::Location>>,
        (of, slot): (&Typed, u32),
        (outer, inner): (&Typed, &Typed),
        into: Option<u32>,
    ) -> Res<T, Vec<Row<T::Location>>> {
        let items = self.all_items_of(of)?;
        let mut keys = Vec::new();
        for row in &rows {
            self.enter(row)?;
            keys.push(self.val(outer)?);
        }
        for item in &items {
            self.set(slot, item.clone());
            keys.push(self.val(inner)?);
        }
        let fitting = self.matches(&keys, rows.len())?;
        let sequence = self.types().sequence(&self.types().item_of(&of.ty).unwrap_or(crate::Ty::Other));
        let mut all = Vec::new();
        for (row, fitting) in rows.into_iter().zip(fitting) {
            let fitting: Vec<ValueOrSequence<T::Location>> =
                fitting.into_iter().filter_map(|at| items.get(at).cloned()).collect();
            match into {
                Some(into) => {
                    let mut row = row;
                    row.push((
                        into,
                        ValueOrSequence::items(fitting, sequence.clone().unwrap_or(crate::Ty::Other)),
                    ));
                    all.push(row);
                }
                None => all.extend(
                    fitting.into_iter().map(|item| row.iter().cloned().chain([(slot, item)]).collect()),
                ),
            }
            if all.len() > MAX_ITEMS {
                return self.too_many();
            }
        }
        Ok(all)
    }
}
