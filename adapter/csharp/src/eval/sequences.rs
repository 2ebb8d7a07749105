//! Sequences: their items, and the methods that are evaluated on them.
//!
//! Not here: the code of the methods ([`crate::linq`]), query expressions ([`super::queries`]).

use std::rc::Rc;

use super::EvaluationTarget;
use super::evaluator::{Evaluator, MAX_ITEMS, Res};
use super::values::{Grouping, SortKeys};
use super::values::{LocalSequence, TypedValue, ValueLocation, ValueOrSequence};
use crate::bind::typed::{Linq, LinqArgument, Typed, TypedLambda};
use crate::constant::Constant;
use crate::linq::Intrinsic;
use crate::types::{CHAR, OBJECT};

/// Items of a sequence, and whether there are more than [`MAX_ITEMS`].
pub(crate) struct Items<P> {
    pub(crate) list: Vec<ValueOrSequence<P>>,
    pub(crate) is_cut: bool,
}

impl<T: EvaluationTarget> Evaluator<'_, T> {
    pub(crate) fn items_of(
        &mut self,
        value: &ValueOrSequence<T::Location>,
        source: &str,
    ) -> Res<T, Items<T::Location>> {
        match value {
            ValueOrSequence::Local(local, _) => Ok(match local.as_ref() {
                LocalSequence::Items(list, is_cut) => Items { list: list.clone(), is_cut: *is_cut },
                LocalSequence::Ordered(list, levels) => {
                    Items { list: self.sort_items(list, levels)?, is_cut: false }
                }
                LocalSequence::Group(group) => Items { list: group.items.clone(), is_cut: false },
                LocalSequence::Lookup(groups) => {
                    let ty = self.types().item_of(&self.type_of(value)).unwrap_or(crate::Ty::Other);
                    let one = |group: &Rc<Grouping<T::Location>>| {
                        ValueOrSequence::Local(Rc::new(LocalSequence::Group(group.clone())), ty.clone())
                    };
                    Items { list: groups.iter().map(one).collect(), is_cut: false }
                }
            }),
            ValueOrSequence::Value(val) => {
                if self.target.is_null(val)? {
                    return self.fail(format!("ArgumentNullException: the sequence `{source}` is null"));
                }
                let text = match &val.data {
                    ValueLocation::Constant(Constant::Text(text)) => Some(text.clone()),
                    ValueLocation::At(_) if val.ty == crate::types::STRING => match self.target.load(val)? {
                        Some(Constant::Text(text)) => Some(text),
                        _ => None,
                    },
                    _ => None,
                };
                if let Some(text) = text {
                    let unit = |unit| {
                        TypedValue::constant_of(
                            Constant::Int(crate::types::kind::CHAR, i128::from(unit)),
                            CHAR,
                        )
                        .into()
                    };
                    let list: Vec<ValueOrSequence<T::Location>> =
                        text.encode_utf16().take(MAX_ITEMS + 1).map(unit).collect();
                    let is_cut = list.len() > MAX_ITEMS;
                    return Ok(Items { list, is_cut });
                }
                let (list, is_cut) = self.target.items(val, MAX_ITEMS)?;
                Ok(Items { list: list.into_iter().map(ValueOrSequence::Value).collect(), is_cut })
            }
        }
    }

    /// All items of a sequence; too many are refused.
    pub(crate) fn all_items_of(&mut self, of: &Typed) -> Res<T, Vec<ValueOrSequence<T::Location>>> {
        let value = self.value(of)?;
        let source = self.source(of);
        let items = self.items_of(&value, source)?;
        if items.is_cut { self.too_many() } else { Ok(items.list) }
    }

    /// Items in the order of their keys.
    pub(crate) fn sort_items(
        &mut self,
        items: &[ValueOrSequence<T::Location>],
        levels: &[SortKeys<T::Location>],
    ) -> Res<T, Vec<ValueOrSequence<T::Location>>> {
        let order = self.order(items.len(), levels)?;
        Ok(order.into_iter().filter_map(|at| items.get(at).cloned()).collect())
    }

    /// Evaluates a method of a sequence.
    pub(crate) fn linq(&mut self, linq: &Linq, of: &Typed) -> Res<T, ValueOrSequence<T::Location>> {
        let sequence = self.value(&linq.of)?;
        if let (Some(call), ValueOrSequence::Value(_)) = (&linq.otherwise, &sequence) {
            return self.value(call);
        }
        let mut lambdas: Vec<Rc<TypedLambda>> = Vec::new();
        let mut values: Vec<ValueOrSequence<T::Location>> = Vec::new();
        for argument in &linq.arguments {
            match argument {
                LinqArgument::Lambda(lambda) => lambdas.push(lambda.clone()),
                LinqArgument::Value(value) => values.push(self.value(value)?),
            }
        }
        if matches!(linq.intrinsic, Intrinsic::Sort | Intrinsic::RemoveAll) {
            return self.in_place(linq, sequence, &lambdas);
        }
        let ordered = match (&sequence, linq.intrinsic) {
            (ValueOrSequence::Local(local, _), Intrinsic::ThenBy | Intrinsic::ThenByDescending) => {
                Some(local.clone())
            }
            (_, Intrinsic::ThenBy | Intrinsic::ThenByDescending) => {
                return self.fail("`ThenBy` must follow its `OrderBy` in the same expression");
            }
            _ => None,
        };
        let source = self.source(&linq.of);
        let items = match &ordered {
            Some(local) => match local.as_ref() {
                LocalSequence::Ordered(items, _) => Items { list: items.clone(), is_cut: false },
                _ => {
                    return self.fail("`ThenBy` must follow its `OrderBy` in the same expression");
                }
            },
            None => self.items_of(&sequence, source)?,
        };
        let given = crate::linq::LinqCall {
            intrinsic: linq.intrinsic,
            lambdas,
            values,
            item: linq.item.clone(),
            ty: of.ty.clone(),
        };
        self.intrinsic(&given, items, ordered)
    }

    /// Converts to a value in the program or a constant.
    pub(crate) fn plain(&mut self, value: ValueOrSequence<T::Location>) -> Res<T, TypedValue<T::Location>> {
        self.create_in_program(value)
    }

    /// Converts a local sequence to a value in the program.
    pub(crate) fn create_in_program(
        &mut self,
        value: ValueOrSequence<T::Location>,
    ) -> Res<T, TypedValue<T::Location>> {
        let (local, ty) = match value {
            ValueOrSequence::Value(val) => return Ok(val),
            ValueOrSequence::Local(local, ty) => (local, ty),
        };
        let item = self.types().item_of(&ty).unwrap_or(OBJECT);
        let (items, is_cut) = match local.as_ref() {
            LocalSequence::Items(items, is_cut) => (items.clone(), *is_cut),
            LocalSequence::Ordered(items, levels) => (self.sort_items(items, levels)?, false),
            LocalSequence::Group(group) => return self.target.new_groups(&ty, std::slice::from_ref(group)),
            LocalSequence::Lookup(groups) => return self.target.new_groups(&ty, groups),
        };
        let group = |item: &ValueOrSequence<T::Location>| match item {
            ValueOrSequence::Local(local, _) => match local.as_ref() {
                LocalSequence::Group(group) => Some(group.clone()),
                _ => None,
            },
            ValueOrSequence::Value(_) => None,
        };
        let groups: Option<Vec<_>> = items.iter().map(group).collect();
        if let Some(groups) = groups.filter(|groups| !groups.is_empty() && !is_cut) {
            return self.target.new_groups(&ty, &groups);
        }
        if is_cut {
            return self.too_many();
        }
        let mut vals = Vec::new();
        for one in items {
            vals.push(self.create_in_program(one)?);
        }
        let length = i64::try_from(vals.len()).unwrap_or(i64::MAX);
        let array = self.target.new_array(&item, &[length], Some(vals))?;
        if self.types().is_named(&ty, "System.Collections.Generic.List`1") {
            return self.target.new_list(&ty, array);
        }
        // A lazy sequence of C# becomes an array.
        Ok(array)
    }

    pub(crate) fn too_many<V>(&self) -> Res<T, V> {
        self.fail(format!(
            "the sequence has more than {MAX_ITEMS} items; a lambda is not evaluated for so many"
        ))
    }
}
