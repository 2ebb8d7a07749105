//! Methods that reduce items to one value: `Sum`, `Average`, `Min`, `Max`, `Aggregate`. As in LINQ, sums are
//! checked and nulls are skipped.
//!
//! Not here: `Count`, `Any` and `All` ([`super::selection`]).

use std::cmp::Ordering;

use super::{Intrinsic, LinqCall};
use crate::bind::typed::TypedLambda;
use crate::constant::Constant;
use crate::eval::values::{TypedValue, ValueOrSequence};
use crate::eval::{EvaluationTarget, Evaluator};
use crate::operators::{BinaryOp, Overflow, compute};
use crate::types::kind;

type Res<T, V> = Result<V, <T as EvaluationTarget>::Error>;

impl<T: EvaluationTarget> Evaluator<'_, T> {
    pub(crate) fn folded(
        &mut self,
        given: &LinqCall<T::Location>,
        all: Vec<ValueOrSequence<T::Location>>,
    ) -> Res<T, ValueOrSequence<T::Location>> {
        match given.intrinsic {
            Intrinsic::Sum | Intrinsic::Average => self.sum_items(given, all).map(ValueOrSequence::Value),
            Intrinsic::Aggregate => self.aggregate(given, all),
            _ => self.min_or_max(given, all),
        }
    }

    /// The result of a lambda for an item; without a lambda, the item itself.
    fn key(
        &mut self,
        lambda: Option<&TypedLambda>,
        item: ValueOrSequence<T::Location>,
        at: usize,
    ) -> Res<T, ValueOrSequence<T::Location>> {
        match lambda {
            Some(lambda) => self.with_index(lambda, item, at),
            None => Ok(item),
        }
    }

    fn sum_items(
        &mut self,
        given: &LinqCall<T::Location>,
        all: Vec<ValueOrSequence<T::Location>>,
    ) -> Res<T, TypedValue<T::Location>> {
        let name = if given.intrinsic == Intrinsic::Sum { "Sum" } else { "Average" };
        let types = self.types();
        let lambda = given.lambdas.first().cloned();
        let of = lambda.as_ref().map_or_else(|| given.item.clone(), |lambda| lambda.result.clone());
        let (inside, lifted) = (types.inside(&of), types.nullable(&of).is_some());
        let mut values = Vec::new();
        for (at, item) in all.into_iter().enumerate() {
            let value = self.key(lambda.as_deref(), item, at)?;
            let val = self.plain(value)?;
            match self.target.load(&val)? {
                Some(Constant::Null) => {}
                Some(number) => values.push(number),
                None => return self.fail(format!("`{name}` goes over numbers")),
            }
        }
        if name == "Average" && values.is_empty() {
            return match lifted {
                true => Ok(TypedValue::null_of(given.ty.clone())),
                false => self.fail("InvalidOperationException: Sequence contains no elements"),
            };
        }
        // Floats are added as doubles. The average of integers is computed from their sum as a long.
        let working = match inside.kind() {
            None => None,
            Some(kind::R4 | kind::R8) => Some(kind::R8),
            Some(kind::I8) => Some(kind::I8),
            Some(_) if name == "Average" || inside.kind() == Some(kind::U4) => Some(kind::I8),
            Some(_) => Some(kind::I4),
        };
        let as_working = |value: Constant| match working {
            Some(kind) => value.cast(kind, false),
            None => value.to_decimal(false).map(Constant::Decimal),
        };
        let overflows = || self.target.error(format!("OverflowException: `{name}` does not fit"));
        let count = Constant::int(i32::try_from(values.len()).unwrap_or(i32::MAX));
        let mut sum = as_working(Constant::int(0)).ok_or_else(overflows)?;
        for value in values {
            let value = as_working(value).ok_or_else(overflows)?;
            sum = compute(BinaryOp::Add, &sum, &value, (false, false), Overflow::Fails)
                .map_err(|_| overflows())?;
        }
        if name == "Average" {
            if let Constant::Int(..) = sum {
                sum = sum.cast(kind::R8, false).unwrap_or(sum);
            }
            sum = compute(BinaryOp::Divide, &sum, &count, (false, false), Overflow::Fails)
                .map_err(|_| overflows())?;
        }
        if let Some(kind) = types.inside(&given.ty).kind() {
            sum = sum.cast(kind, false).unwrap_or(sum);
        }
        Ok(TypedValue::constant_of(sum, given.ty.clone()))
    }

    /// The first item with the least or greatest key; null only if all keys are null.
    fn min_or_max(
        &mut self,
        given: &LinqCall<T::Location>,
        all: Vec<ValueOrSequence<T::Location>>,
    ) -> Res<T, ValueOrSequence<T::Location>> {
        let best_order = match given.intrinsic {
            Intrinsic::Min | Intrinsic::MinBy => Ordering::Less,
            _ => Ordering::Greater,
        };
        let by = matches!(given.intrinsic, Intrinsic::MinBy | Intrinsic::MaxBy);
        let lambda = given.lambdas.first().cloned();
        let (mut keys, mut items) = (Vec::new(), Vec::new());
        for (at, item) in all.into_iter().enumerate() {
            let key = self.key(lambda.as_deref(), item.clone(), at)?;
            keys.push(self.plain(key)?);
            items.push(item);
        }
        let best = self.min_or_max_position(&keys, best_order)?;
        match best {
            Some(at) if by => match items.into_iter().nth(at) {
                Some(item) => Ok(item),
                None => self.no_item(),
            },
            Some(at) => match keys.into_iter().nth(at) {
                Some(key) => Ok(TypedValue { ty: given.ty.clone(), ..key }.into()),
                None => self.no_item(),
            },
            None if !given.ty.is_value() || self.types().nullable(&given.ty).is_some() => {
                Ok(TypedValue::null_of(given.ty.clone()).into())
            }
            None => self.fail("InvalidOperationException: Sequence contains no elements"),
        }
    }

    /// The position of the first least or greatest key; that of a null only if all keys are null.
    fn min_or_max_position(
        &mut self,
        keys: &[TypedValue<T::Location>],
        best_order: Ordering,
    ) -> Res<T, Option<usize>> {
        let (mut present, mut loaded) = (Vec::new(), Vec::new());
        for (at, key) in keys.iter().enumerate() {
            if !self.target.is_null(key)? {
                present.push(at);
                loaded.push(self.target.load(key)?);
            }
        }
        let Some(first) = present.first() else { return Ok((!keys.is_empty()).then_some(0)) };
        let known = |key: &Option<Constant>| !matches!(key, None | Some(Constant::Text(_)));
        if !loaded.iter().all(known) {
            // The program orders these keys; it keeps the order of equal ones.
            let keys = present.iter().filter_map(|at| keys.get(*at).cloned()).collect();
            let level = crate::eval::SortKeys {
                keys,
                is_descending: best_order == Ordering::Greater,
                comparer: None,
            };
            let order = self.target.order(present.len(), std::slice::from_ref(&level))?;
            return Ok(order.first().and_then(|at| present.get(*at).copied()));
        }
        let mut best = (*first, loaded.first());
        for (at, key) in present.iter().zip(&loaded) {
            let (Some(Some(known)), Some(key_value)) = (best.1, key) else { continue };
            let order = super::keys::order_of(key_value, known).unwrap_or(Ordering::Equal);
            if order == best_order {
                best = (*at, Some(key));
            }
        }
        Ok(Some(best.0))
    }

    /// Evaluates `Aggregate`. Without a seed, the first item is the seed.
    fn aggregate(
        &mut self,
        given: &LinqCall<T::Location>,
        all: Vec<ValueOrSequence<T::Location>>,
    ) -> Res<T, ValueOrSequence<T::Location>> {
        let mut items = all.into_iter();
        let Some(step) = given.lambdas.first() else { return self.no_item() };
        let mut so_far = match given.values.first().cloned().or_else(|| items.next()) {
            Some(seed) => seed,
            None => return self.fail("InvalidOperationException: Sequence contains no elements"),
        };
        for item in items {
            so_far = self.result(step, vec![so_far, item])?;
        }
        match given.lambdas.get(1) {
            Some(last) => self.result(last, vec![so_far]),
            None => Ok(so_far),
        }
    }
}
