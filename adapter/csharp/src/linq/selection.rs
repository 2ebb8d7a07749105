//! Methods that choose, map or test items, and the dispatch of all methods.
//!
//! Not here: methods that reduce items to one value ([`super::aggregation`]), methods with keys
//! ([`super::keys`]).

use std::rc::Rc;

use super::{Intrinsic, LinqCall};
use crate::bind::typed::{Linq, TypedLambda};
use crate::constant::Constant;
use crate::eval::values::{LocalSequence, TypedValue, ValueOrSequence};
use crate::eval::{EvaluationTarget, Evaluator};
use crate::types::{Ty, kind};

type Res<T, V> = Result<V, <T as EvaluationTarget>::Error>;
pub(crate) type Items<P> = crate::eval::sequences::Items<P>;

impl<T: EvaluationTarget> Evaluator<'_, T> {
    /// Evaluates a method on items. `ordered` has the keys of an earlier `OrderBy`.
    pub(crate) fn intrinsic(
        &mut self,
        given: &LinqCall<T::Location>,
        items: Items<T::Location>,
        ordered: Option<Rc<LocalSequence<T::Location>>>,
    ) -> Res<T, ValueOrSequence<T::Location>> {
        use Intrinsic as I;
        let test = given.lambdas.first().map(AsRef::as_ref);
        // Methods that do not need all items.
        match given.intrinsic {
            I::Any => return Ok(TypedValue::bool(self.first_of(items, test)?.is_some()).into()),
            I::First => {
                return match self.first_of(items, test)? {
                    Some((_, item)) => Ok(item),
                    None => self.no_item(),
                };
            }
            I::FirstOrDefault => {
                return match self.first_of(items, test)? {
                    Some((_, item)) => Ok(item),
                    None => self.default_item(given),
                };
            }
            I::FindIndex => {
                let found = self.first_of(items, test)?;
                return Ok(position(found.map(|(at, _)| at)));
            }
            I::Take => {
                let count = self.count_of(given)?;
                let is_cut = items.is_cut && count > items.list.len();
                let list = items.list.into_iter().take(count).collect();
                return Ok(ValueOrSequence::Local(
                    Rc::new(LocalSequence::Items(list, is_cut)),
                    given.ty.clone(),
                ));
            }
            _ => {}
        }
        if items.is_cut {
            return self.too_many();
        }
        let all = items.list;
        match given.intrinsic {
            I::Where => self.filter(all, test).map(|kept| ValueOrSequence::items(kept, given.ty.clone())),
            I::Select => self.map_items(given, all),
            I::SelectMany => self.flatten(given, all),
            I::All => {
                for (at, item) in all.into_iter().enumerate() {
                    if !self.fits(test, item, at)? {
                        return Ok(TypedValue::bool(false).into());
                    }
                }
                Ok(TypedValue::bool(true).into())
            }
            I::Count => {
                let count = self.filter(all, test)?.len();
                Ok(TypedValue::int(i32::try_from(count).unwrap_or(i32::MAX)).into())
            }
            I::LongCount => {
                let count = self.filter(all, test)?.len();
                Ok(TypedValue::plain(Constant::Int(kind::I8, count as i128)).into())
            }
            I::Last | I::LastOrDefault => match (self.filter(all, test)?.pop(), given.intrinsic) {
                (Some(item), _) => Ok(item),
                (None, I::Last) => self.no_item(),
                (None, _) => self.default_item(given),
            },
            I::Single | I::SingleOrDefault => {
                let mut kept = self.filter(all, test)?;
                match (kept.len(), kept.pop()) {
                    (1, Some(item)) => Ok(item),
                    (0, _) if given.intrinsic == I::SingleOrDefault => self.default_item(given),
                    (0, _) => self.no_item(),
                    _ => self
                        .fail("InvalidOperationException: Sequence contains more than one matching element"),
                }
            }
            I::FindLastIndex => {
                let mut last = None;
                for (at, item) in all.into_iter().enumerate() {
                    if self.fits(test, item, at)? {
                        last = Some(at);
                    }
                }
                Ok(position(last))
            }
            I::TakeWhile | I::SkipWhile => {
                let mut fitting = 0;
                for (at, item) in all.iter().enumerate() {
                    if !self.fits(test, item.clone(), at)? {
                        break;
                    }
                    fitting += 1;
                }
                let (first, rest) = all.split_at(fitting);
                let chosen = if given.intrinsic == I::TakeWhile { first } else { rest };
                Ok(ValueOrSequence::items(chosen.to_vec(), given.ty.clone()))
            }
            I::ForEach => {
                if let Some(lambda) = test {
                    for item in all {
                        drop(self.apply_lambda(lambda, vec![item])?);
                    }
                }
                Ok(TypedValue::null().into())
            }
            I::Skip => {
                let count = self.count_of(given)?;
                Ok(ValueOrSequence::items(all.into_iter().skip(count).collect(), given.ty.clone()))
            }
            I::ElementAt => {
                let count = self.count_of(given)?;
                match all.into_iter().nth(count) {
                    Some(item) => Ok(item),
                    None => self.fail("ArgumentOutOfRangeException: the sequence has fewer items"),
                }
            }
            I::Reverse => Ok(ValueOrSequence::items(all.into_iter().rev().collect(), given.ty.clone())),
            I::ToList => Ok(ValueOrSequence::items(all, given.ty.clone())),
            I::Zip => self.zip(given, all),
            I::Sum | I::Average | I::Min | I::Max | I::MinBy | I::MaxBy | I::Aggregate => {
                self.folded(given, all)
            }
            _ => self.by_keys(given, all, ordered),
        }
    }

    pub(crate) fn no_item<V>(&self) -> Res<T, V> {
        self.fail("InvalidOperationException: Sequence contains no matching element")
    }

    fn count_of(&mut self, given: &LinqCall<T::Location>) -> Res<T, usize> {
        let Some(ValueOrSequence::Value(val)) = given.values.first() else { return Ok(0) };
        match self.target.load(val)? {
            Some(Constant::Int(_, count)) => Ok(usize::try_from(count).unwrap_or(0)),
            _ => Ok(0),
        }
    }

    /// The default value of the item type, or the argument that replaces it.
    fn default_item(&mut self, given: &LinqCall<T::Location>) -> Res<T, ValueOrSequence<T::Location>> {
        match given.values.first() {
            Some(value) => Ok(value.clone()),
            None => self.default_value(&given.item),
        }
    }

    pub(crate) fn default_value(&mut self, ty: &Ty) -> Res<T, ValueOrSequence<T::Location>> {
        let types = self.types();
        let zero = match ty {
            Ty::Primitive(kind::BOOLEAN) => Some(Constant::Bool(false)),
            _ if types.is_decimal(ty) => Some(Constant::Decimal(rust_decimal::Decimal::ZERO)),
            _ => ty
                .number()
                .or_else(|| types.enum_storage(ty))
                .and_then(|kind| Constant::int(0).cast(kind, false)),
        };
        Ok(match zero {
            Some(zero) => TypedValue::constant_of(zero, ty.clone()).into(),
            None if ty.is_value() && types.nullable(ty).is_none() => self.target.new_zeroed(ty)?.into(),
            None => TypedValue::null_of(ty.clone()).into(),
        })
    }

    /// Whether a predicate is true for an item; without a predicate it is true.
    fn fits(
        &mut self,
        test: Option<&TypedLambda>,
        item: ValueOrSequence<T::Location>,
        at: usize,
    ) -> Res<T, bool> {
        let Some(lambda) = test else { return Ok(true) };
        let value = self.with_index(lambda, item, at)?;
        let val = self.plain(value)?;
        Ok(self.target.load(&val)? == Some(Constant::Bool(true)))
    }

    /// Evaluates a lambda for an item, with the position as a second argument if the lambda has one.
    pub(crate) fn with_index(
        &mut self,
        lambda: &TypedLambda,
        item: ValueOrSequence<T::Location>,
        at: usize,
    ) -> Res<T, ValueOrSequence<T::Location>> {
        let mut arguments = vec![item];
        if lambda.slots.len() > 1 {
            arguments.push(TypedValue::int(i32::try_from(at).unwrap_or(i32::MAX)).into());
        }
        self.result(lambda, arguments)
    }

    #[allow(clippy::type_complexity, reason = "an item and its position")]
    fn first_of(
        &mut self,
        items: Items<T::Location>,
        test: Option<&TypedLambda>,
    ) -> Res<T, Option<(usize, ValueOrSequence<T::Location>)>> {
        for (at, item) in items.list.into_iter().enumerate() {
            if self.fits(test, item.clone(), at)? {
                return Ok(Some((at, item)));
            }
        }
        if items.is_cut { self.too_many() } else { Ok(None) }
    }

    pub(crate) fn filter(
        &mut self,
        all: Vec<ValueOrSequence<T::Location>>,
        test: Option<&TypedLambda>,
    ) -> Res<T, Vec<ValueOrSequence<T::Location>>> {
        let mut kept = Vec::new();
        for (at, item) in all.into_iter().enumerate() {
            if self.fits(test, item.clone(), at)? {
                kept.push(item);
            }
        }
        Ok(kept)
    }

    fn map_items(
        &mut self,
        given: &LinqCall<T::Location>,
        all: Vec<ValueOrSequence<T::Location>>,
    ) -> Res<T, ValueOrSequence<T::Location>> {
        let Some(lambda) = given.lambdas.first() else {
            return Ok(ValueOrSequence::items(all, given.ty.clone()));
        };
        let mut made = Vec::new();
        for (at, item) in all.into_iter().enumerate() {
            let value = self.with_index(lambda, item, at)?;
            made.push(self.keep_value(value)?);
        }
        Ok(ValueOrSequence::items(made, given.ty.clone()))
    }

    /// Copies a value, so that the evaluation of the next item does not change it.
    fn keep_value(&mut self, value: ValueOrSequence<T::Location>) -> Res<T, ValueOrSequence<T::Location>> {
        match value {
            ValueOrSequence::Value(val) => match self.target.load(&val)? {
                Some(constant) if val.ty.is_value() => Ok(TypedValue::constant_of(constant, val.ty).into()),
                _ => Ok(val.into()),
            },
            local => Ok(local),
        }
    }

    fn flatten(
        &mut self,
        given: &LinqCall<T::Location>,
        all: Vec<ValueOrSequence<T::Location>>,
    ) -> Res<T, ValueOrSequence<T::Location>> {
        let Some(lambda) = given.lambdas.first() else {
            return Ok(ValueOrSequence::items(all, given.ty.clone()));
        };
        let both = given.lambdas.get(1);
        let mut made = Vec::new();
        for (at, item) in all.into_iter().enumerate() {
            let inner = self.with_index(lambda, item.clone(), at)?;
            let inner = self.items_of(&inner, "")?;
            if inner.is_cut {
                return self.too_many();
            }
            for one in inner.list {
                made.push(match both {
                    Some(both) => self.result(both, vec![item.clone(), one])?,
                    None => one,
                });
            }
            if made.len() > crate::eval::MAX_ITEMS {
                return self.too_many();
            }
        }
        Ok(ValueOrSequence::items(made, given.ty.clone()))
    }

    fn zip(
        &mut self,
        given: &LinqCall<T::Location>,
        all: Vec<ValueOrSequence<T::Location>>,
    ) -> Res<T, ValueOrSequence<T::Location>> {
        let (Some(lambda), Some(other)) = (given.lambdas.first(), given.values.first()) else {
            return self.no_item();
        };
        let others = self.items_of(other, "")?;
        if others.is_cut {
            return self.too_many();
        }
        let mut made = Vec::new();
        for (first, second) in all.into_iter().zip(others.list) {
            made.push(self.result(lambda, vec![first, second])?);
        }
        Ok(ValueOrSequence::items(made, given.ty.clone()))
    }

    /// Evaluates `List.Sort`, `Array.Sort` and `List.RemoveAll`, which change the sequence. Equal items keep
    /// their order, which .NET does not specify.
    pub(crate) fn in_place(
        &mut self,
        linq: &Linq,
        sequence: ValueOrSequence<T::Location>,
        lambdas: &[Rc<TypedLambda>],
    ) -> Res<T, ValueOrSequence<T::Location>> {
        let of = self.create_in_program(sequence)?;
        let source = self.source(&linq.of);
        let items = self.items_of(&ValueOrSequence::Value(of.clone()), source)?;
        let Some(lambda) = lambdas.first() else { return self.no_item() };
        if items.is_cut {
            return self.too_many();
        }
        if linq.intrinsic == Intrinsic::RemoveAll {
            let mut kept = Vec::new();
            let mut removed = 0;
            for (at, item) in items.list.into_iter().enumerate() {
                match self.fits(Some(lambda), item.clone(), at)? {
                    true => removed += 1,
                    false => kept.push(self.plain(item)?),
                }
            }
            self.target.replace_items(&of, kept)?;
            return Ok(TypedValue::int(removed).into());
        }
        let mut failure = None;
        let mut order: Vec<usize> = (0..items.list.len()).collect();
        merge_sort(&mut order, &mut |a, b| {
            let (Some(a), Some(b), None) = (items.list.get(a), items.list.get(b), &failure) else {
                return false;
            };
            let compared =
                self.result(lambda, vec![a.clone(), b.clone()]).and_then(|value| self.plain(value));
            match compared.and_then(|val| self.target.load(&val)) {
                Ok(Some(Constant::Int(_, order))) => order > 0,
                Ok(_) => false,
                Err(error) => {
                    failure = Some(error);
                    false
                }
            }
        });
        if let Some(failure) = failure {
            return Err(failure);
        }
        let mut sorted = Vec::new();
        for at in order {
            if let Some(item) = items.list.get(at) {
                let val = self.plain(item.clone())?;
                sorted.push(self.target.copy(&val)?);
            }
        }
        self.target.replace_items(&of, sorted)?;
        Ok(TypedValue::null().into())
    }
}

fn position<P>(at: Option<usize>) -> ValueOrSequence<P> {
    TypedValue::int(at.and_then(|at| i32::try_from(at).ok()).unwrap_or(-1)).into()
}

/// Stable sort for any comparison. The standard library's sort panics if a comparison contradicts itself.
/// `is_after` returns whether the first item must be after the second.
fn merge_sort(order: &mut Vec<usize>, is_after: &mut impl FnMut(usize, usize) -> bool) {
    if order.len() < 2 {
        return;
    }
    let mut behind = order.split_off(order.len() / 2);
    merge_sort(order, is_after);
    merge_sort(&mut behind, is_after);
    let before = std::mem::take(order);
    let (mut left, mut right) = (before.into_iter().peekable(), behind.into_iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if is_after(*a, *b) { right.next() } else { left.next() };
        order.extend(next);
    }
    order.extend(left.chain(right));
}
