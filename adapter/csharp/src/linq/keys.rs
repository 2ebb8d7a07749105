//! Methods with keys: ordering, grouping, joining, dictionaries. Numbers and strings are compared in the
//! debugger if the result is the same as in the program; the program compares all other keys.
//!
//! Not here: `List.Sort` and `Array.Sort`, whose lambda compares two items ([`super::selection`]).

use std::cmp::Ordering;
use std::collections::HashMap;
use std::rc::Rc;

use super::{Intrinsic, LinqCall};
use crate::constant::Constant;
use crate::eval::values::{LocalSequence, TypedValue, ValueOrSequence};
use crate::eval::{EvaluationTarget, Evaluator, Grouping, SortKeys};
use crate::types::Ty;

type Res<T, V> = Result<V, <T as EvaluationTarget>::Error>;

/// A key that two values have in common exactly when they are equal.
#[derive(PartialEq, Eq, Hash)]
enum ExactKey {
    Null,
    Bool(bool),
    Int(i128),
    Bits(u64),
    Decimal(rust_decimal::Decimal),
    Text(String),
}

impl<T: EvaluationTarget> Evaluator<'_, T> {
    pub(crate) fn by_keys(
        &mut self,
        given: &LinqCall<T::Location>,
        all: Vec<ValueOrSequence<T::Location>>,
        ordered: Option<Rc<LocalSequence<T::Location>>>,
    ) -> Res<T, ValueOrSequence<T::Location>> {
        use Intrinsic as I;
        let ty = given.ty.clone();
        match given.intrinsic {
            I::OrderBy | I::OrderByDescending | I::ThenBy | I::ThenByDescending => {
                let is_descending = matches!(given.intrinsic, I::OrderByDescending | I::ThenByDescending);
                let level = SortKeys {
                    keys: self.keys(given, 0, &all)?,
                    is_descending,
                    comparer: self.comparer(given)?,
                };
                let mut levels = match ordered.as_deref() {
                    Some(LocalSequence::Ordered(_, levels)) => levels.clone(),
                    _ => Vec::new(),
                };
                levels.push(level);
                Ok(ValueOrSequence::Local(Rc::new(LocalSequence::Ordered(all, levels)), ty))
            }
            I::DistinctBy => {
                let keys = self.keys(given, 0, &all)?;
                let comparer = self.comparer(given)?;
                let mut first: Vec<usize> = self
                    .group_equal_keys(&keys, comparer.as_ref())?
                    .into_iter()
                    .filter_map(|group| group.first().copied())
                    .collect();
                first.sort_unstable();
                Ok(ValueOrSequence::items(
                    first.into_iter().filter_map(|at| all.get(at).cloned()).collect(),
                    ty,
                ))
            }
            I::GroupBy | I::ToLookup => {
                let keys = self.keys(given, 0, &all)?;
                let comparer = self.comparer(given)?;
                let second = given.lambdas.get(1).cloned();
                let result = second.as_ref().filter(|lambda| lambda.slots.len() == 2).cloned();
                let elements = match second.filter(|lambda| lambda.slots.len() == 1) {
                    Some(_) => self.element_values(given, 1, &all)?,
                    None => all,
                };
                let groups = self.group(elements, keys, comparer.as_ref())?;
                let Some(result) = result else {
                    return Ok(ValueOrSequence::Local(Rc::new(LocalSequence::Lookup(groups)), ty));
                };
                let sequence = self.types().sequence(&given.item).unwrap_or(Ty::Other);
                let mut made = Vec::new();
                for group in groups {
                    let items = ValueOrSequence::items(group.items.clone(), sequence.clone());
                    made.push(self.result(&result, vec![group.key.clone().into(), items])?);
                }
                Ok(ValueOrSequence::items(made, ty))
            }
            I::ToDictionary => {
                let keys = self.keys(given, 0, &all)?;
                let comparer = self.comparer(given)?;
                let elements =
                    if given.lambdas.len() > 1 { self.element_values(given, 1, &all)? } else { all };
                let mut pairs = Vec::new();
                for (key, element) in keys.into_iter().zip(elements) {
                    pairs.push((key, self.plain(element)?));
                }
                self.target.new_dictionary(&ty, pairs, comparer.as_ref()).map(ValueOrSequence::Value)
            }
            I::Join | I::GroupJoin => self.join(given, all),
            _ => self.fail("the debugger does not evaluate this method itself"),
        }
    }

    /// Evaluates a lambda for each item.
    fn element_values(
        &mut self,
        given: &LinqCall<T::Location>,
        at: usize,
        all: &[ValueOrSequence<T::Location>],
    ) -> Res<T, Vec<ValueOrSequence<T::Location>>> {
        let Some(lambda) = given.lambdas.get(at).cloned() else { return Ok(all.to_vec()) };
        let mut made = Vec::new();
        for item in all {
            made.push(self.result(&lambda, vec![item.clone()])?);
        }
        Ok(made)
    }

    fn keys(
        &mut self,
        given: &LinqCall<T::Location>,
        at: usize,
        all: &[ValueOrSequence<T::Location>],
    ) -> Res<T, Vec<TypedValue<T::Location>>> {
        let mut keys = Vec::new();
        for key in self.element_values(given, at, all)? {
            keys.push(self.plain(key)?);
        }
        Ok(keys)
    }

    fn comparer(&mut self, given: &LinqCall<T::Location>) -> Res<T, Option<TypedValue<T::Location>>> {
        match given.values.last().cloned() {
            Some(value) => {
                let val = self.plain(value)?;
                Ok(if self.target.is_null(&val)? { None } else { Some(val) })
            }
            None => Ok(None),
        }
    }

    fn join(
        &mut self,
        given: &LinqCall<T::Location>,
        all: Vec<ValueOrSequence<T::Location>>,
    ) -> Res<T, ValueOrSequence<T::Location>> {
        let (Some(other), Some(both)) = (given.values.first(), given.lambdas.get(2).cloned()) else {
            return self.no_item();
        };
        let others = self.items_of(other, "")?;
        if others.is_cut {
            return self.too_many();
        }
        let others = others.list;
        let mut keys = self.keys(given, 0, &all)?;
        keys.extend(self.keys(given, 1, &others)?);
        let sequence =
            self.types().sequence(&self.types().item_of(&self.type_of(other)).unwrap_or(Ty::Other));
        let mut made = Vec::new();
        let fitting = self.matches(&keys, all.len())?;
        for (item, fitting) in all.into_iter().zip(fitting) {
            let fitting: Vec<ValueOrSequence<T::Location>> =
                fitting.into_iter().filter_map(|at| others.get(at).cloned()).collect();
            if given.intrinsic == Intrinsic::GroupJoin {
                let inner = ValueOrSequence::items(fitting, sequence.clone().unwrap_or(Ty::Other));
                made.push(self.result(&both, vec![item, inner])?);
                continue;
            }
            for other in fitting {
                made.push(self.result(&both, vec![item.clone(), other])?);
            }
        }
        Ok(ValueOrSequence::items(made, given.ty.clone()))
    }

    /// For each of the first keys, the positions of equal keys among the others. A null key equals no other.
    pub(crate) fn matches(
        &mut self,
        keys: &[TypedValue<T::Location>],
        first: usize,
    ) -> Res<T, Vec<Vec<usize>>> {
        let mut found = vec![Vec::new(); first];
        for group in self.group_equal_keys(keys, None)? {
            let is_null = match group.first().and_then(|at| keys.get(*at)) {
                Some(key) => self.target.is_null(key)?,
                None => true,
            };
            if is_null {
                continue;
            }
            let behind: Vec<usize> = group.iter().filter_map(|at| at.checked_sub(first)).collect();
            for at in group {
                if let Some(own) = found.get_mut(at) {
                    own.clone_from(&behind);
                }
            }
        }
        Ok(found)
    }

    /// Groups elements by their keys, in the order of the first key of each group.
    pub(crate) fn group(
        &mut self,
        elements: Vec<ValueOrSequence<T::Location>>,
        keys: Vec<TypedValue<T::Location>>,
        comparer: Option<&TypedValue<T::Location>>,
    ) -> Res<T, Vec<Rc<Grouping<T::Location>>>> {
        let mut groups = Vec::new();
        for group in self.group_equal_keys(&keys, comparer)? {
            let Some(key) = group.first().and_then(|at| keys.get(*at)).cloned() else { continue };
            let items = group.iter().filter_map(|at| elements.get(*at).cloned()).collect();
            groups.push(Rc::new(Grouping { key, items }));
        }
        Ok(groups)
    }

    /// Groups the positions of equal keys, in the order of their first key.
    pub(crate) fn group_equal_keys(
        &mut self,
        keys: &[TypedValue<T::Location>],
        comparer: Option<&TypedValue<T::Location>>,
    ) -> Res<T, Vec<Vec<usize>>> {
        let mut exact = Vec::new();
        for key in keys {
            match self.target.load(key)?.and_then(exactly) {
                Some(key) if comparer.is_none() => exact.push(key),
                _ => return self.target.group_equal_keys(keys, comparer),
            }
        }
        let mut known: HashMap<ExactKey, usize> = HashMap::new();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (at, key) in exact.into_iter().enumerate() {
            let group = *known.entry(key).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            if let Some(group) = groups.get_mut(group) {
                group.push(at);
            }
        }
        Ok(groups)
    }

    /// Sorts the positions of `count` items by their keys.
    pub(crate) fn order(&mut self, count: usize, levels: &[SortKeys<T::Location>]) -> Res<T, Vec<usize>> {
        let mut known: Vec<(Vec<Constant>, bool)> = Vec::new();
        for level in levels {
            let mut keys = Vec::new();
            for key in &level.keys {
                match self.target.load(key)? {
                    // The order of strings depends on the culture.
                    Some(Constant::Text(_)) | None => return self.target.order(count, levels),
                    Some(key) => keys.push(key),
                }
            }
            if level.comparer.is_some() {
                return self.target.order(count, levels);
            }
            known.push((keys, level.is_descending));
        }
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|a, b| {
            let by_level = known.iter().map(|(keys, is_descending)| {
                let order = match (keys.get(*a), keys.get(*b)) {
                    (Some(a), Some(b)) => order_of(a, b).unwrap_or(Ordering::Equal),
                    _ => Ordering::Equal,
                };
                if *is_descending { order.reverse() } else { order }
            });
            by_level.fold(Ordering::Equal, Ordering::then)
        });
        Ok(order)
    }
}

/// The order of two numbers or Booleans of one type: null is first, then NaN.
pub(super) fn order_of(a: &Constant, b: &Constant) -> Option<Ordering> {
    let real = |a: f64, b: f64| a.partial_cmp(&b).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()));
    Some(match (a, b) {
        (Constant::Null, Constant::Null) => Ordering::Equal,
        (Constant::Null, _) => Ordering::Less,
        (_, Constant::Null) => Ordering::Greater,
        (Constant::Int(_, a), Constant::Int(_, b)) => a.cmp(b),
        (Constant::Bool(a), Constant::Bool(b)) => a.cmp(b),
        (Constant::Decimal(a), Constant::Decimal(b)) => a.cmp(b),
        (Constant::Double(a), Constant::Double(b)) => real(*a, *b),
        (Constant::Single(a), Constant::Single(b)) => real(f64::from(*a), f64::from(*b)),
        _ => return None,
    })
}

fn exactly(constant: Constant) -> Option<ExactKey> {
    let bits = |value: f64| {
        if value == 0.0 {
            0
        } else if value.is_nan() {
            u64::MAX
        } else {
            value.to_bits()
        }
    };
    Some(match constant {
        Constant::Null => ExactKey::Null,
        Constant::Bool(value) => ExactKey::Bool(value),
        Constant::Int(_, value) => ExactKey::Int(value),
        Constant::Single(value) => ExactKey::Bits(bits(f64::from(value))),
        Constant::Double(value) => ExactKey::Bits(bits(value)),
        Constant::Decimal(value) => ExactKey::Decimal(value.normalize()),
        // Two strings that cannot be read may be equal.
        Constant::Text(text) if text.contains('\u{fffd}') => return None,
        Constant::Text(text) => ExactKey::Text(text),
    })
}
