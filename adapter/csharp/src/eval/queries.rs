//! Query expressions: clause by clause over rows of range variables.

use std::rc::Rc;

use super::Target;
use super::evaluator::{Evaluator, MAX_ITEMS, Res};
use super::values::Level;
use super::values::{Local, Value};
use crate::bind::typed::{Clause, Query, Typed};

/// The values of the range variables that clauses have bound so far.
type Row<P> = Vec<(u32, Value<P>)>;

impl<T: Target> Evaluator<'_, T> {
    pub(crate) fn query(&mut self, query: &Query, of: &Typed) -> Res<T, Value<T::Place>> {
        let mut rows: Vec<Row<T::Place>> = vec![Vec::new()];
        let mut result: Option<Value<T::Place>> = None;
        for clause in &query.clauses {
            match clause {
                Clause::From { of, slot, value } => rows = self.rows_from(rows, of, *slot, value.as_ref())?,
                Clause::Let(slot, value) => {
                    for row in &mut rows {
                        self.enter(row)?;
                        let value = self.value(value)?;
                        row.push((*slot, value));
                    }
                }
                Clause::Where(condition) => {
                    let mut kept = Vec::new();
                    for row in rows {
                        self.enter(&row)?;
                        if self.truth(condition)? {
                            kept.push(row);
                        }
                    }
                    rows = kept;
                }
                Clause::OrderBy(keys) => {
                    let mut levels: Vec<Level<T::Place>> = Vec::new();
                    for (key, falls) in keys {
                        let mut all = Vec::new();
                        for row in &rows {
                            self.enter(row)?;
                            all.push(self.val(key)?);
                        }
                        levels.push(Level { keys: all, falls: *falls, comparer: None });
                    }
                    let order = self.order(rows.len(), &levels)?;
                    rows = order.into_iter().filter_map(|at| rows.get(at).cloned()).collect();
                }
                Clause::Join { of, slot, outer, inner, into } => {
                    rows = self.joined_rows(rows, (of, *slot), (outer, inner), *into)?;
                }
                Clause::Select(value) => {
                    let mut made = Vec::new();
                    for row in &rows {
                        self.enter(row)?;
                        made.push(self.value(value)?);
                    }
                    result = Some(Value::items(made, of.ty.clone()));
                }
                Clause::Group(element, key) => {
                    let (mut elements, mut keys) = (Vec::new(), Vec::new());
                    for row in &rows {
                        self.enter(row)?;
                        elements.push(self.value(element)?);
                        keys.push(self.val(key)?);
                    }
                    let groups = self.grouped(elements, keys, None)?;
                    result = Some(Value::Local(Rc::new(Local::Lookup(groups)), of.ty.clone()));
                }
                Clause::Into(slot) => {
                    let Some(before) = result.take() else { return self.failed("`into` follows nothing") };
                    let items = self.items_of(&before, "")?.list;
                    rows = items.into_iter().map(|item| vec![(*slot, item)]).collect();
                }
            }
        }
        match result {
            Some(result) => Ok(result),
            None => self.failed("a query ends with `select` or `group`"),
        }
    }

    /// Puts the values of a row into their slots.
    fn enter(&mut self, row: &Row<T::Place>) -> Res<T, ()> {
        self.target.proceed()?;
        for (slot, value) in row {
            self.set(*slot, value.clone());
        }
        Ok(())
    }

    fn rows_from(
        &mut self,
        rows: Vec<Row<T::Place>>,
        of: &Typed,
        slot: u32,
        value: Option<&(u32, Typed)>,
    ) -> Res<T, Vec<Row<T::Place>>> {
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
        rows: Vec<Row<T::Place>>,
        (of, slot): (&Typed, u32),
        (outer, inner): (&Typed, &Typed),
        into: Option<u32>,
    ) -> Res<T, Vec<Row<T::Place>>> {
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
            let fitting: Vec<Value<T::Place>> =
                fitting.into_iter().filter_map(|at| items.get(at).cloned()).collect();
            match into {
                Some(into) => {
                    let mut row = row;
                    row.push((into, Value::items(fitting, sequence.clone().unwrap_or(crate::Ty::Other))));
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
