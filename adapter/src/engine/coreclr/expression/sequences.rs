//! LINQ with lambdas, worked out here: a lambda cannot be made in a program that is stopped, so its body is evaluated once for
//! each item ([`super::lambdas`]); what goes by keys is [`super::keyed`]'s.

use std::time::Instant;

use cordebug::value::element;
use dap_wire::Failure;

use super::items::{Items, LONGEST, too_many};
use super::lambdas::Lambda;
use super::{Constant, Found, Given, Passed, Scope, Val, failed};
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::types::ty::OBJECT;

/// Methods that take a lambda here.
const WITH_LAMBDA: [&str; 43] = [
    "Where",
    "Select",
    "SelectMany",
    "Any",
    "All",
    "Count",
    "LongCount",
    "First",
    "FirstOrDefault",
    "Last",
    "LastOrDefault",
    "Single",
    "SingleOrDefault",
    "Sum",
    "Average",
    "Min",
    "Max",
    "MinBy",
    "MaxBy",
    "OrderBy",
    "OrderByDescending",
    "ThenBy",
    "ThenByDescending",
    "GroupBy",
    "ToLookup",
    "ToDictionary",
    "Join",
    "Zip",
    "TakeWhile",
    "SkipWhile",
    "DistinctBy",
    "Aggregate",
    "Find",
    "FindAll",
    "FindIndex",
    "FindLast",
    "FindLastIndex",
    "Exists",
    "TrueForAll",
    "ConvertAll",
    "ForEach",
    "RemoveAll",
    "Sort",
];

/// An argument of such a method.
pub(super) enum Argument<'t> {
    Lambda(Lambda<'t>),
    Val(Val),
}

impl Session {
    /// `list.Where(x => …)` and its kin.
    pub(super) fn with_lambda(
        &mut self,
        target: &Val,
        name: &str,
        given: &[Given<'_>],
        scope: &Scope<'_>,
    ) -> Result<Found, Failure> {
        if !WITH_LAMBDA.contains(&name) {
            return Err(no_delegate(name, given));
        }
        self.not_remote(target, name)?;
        let since = Instant::now();
        let mut arguments = Vec::new();
        for given in given {
            arguments.push(match &given.value {
                Passed::Lambda(node) => Argument::Lambda(Lambda::read(*node, scope, since)?),
                Passed::Method(group) => Argument::Lambda(Lambda::of_method(group.clone(), scope, since)),
                Passed::Val(val) => Argument::Val(val.clone()),
                Passed::Declared { .. } => return Err(not_with_these(name)),
            });
        }
        if let Some(val) = self.by_keys(target, name, &arguments, scope)? {
            return Ok(Found::Val(val));
        }
        let items = self.items_of(target, scope)?;
        match arguments.as_slice() {
            [Argument::Lambda(lambda)] => self.with_one(target, name, items, lambda, scope),
            [Argument::Val(seed), Argument::Lambda(step)] if name == "Aggregate" => {
                self.folded(Some(seed.clone()), items.whole()?, step, scope).map(Found::Val)
            }
            [Argument::Val(seed), Argument::Lambda(step), Argument::Lambda(last)] if name == "Aggregate" => {
                let sum = self.folded(Some(seed.clone()), items.whole()?, step, scope)?;
                self.applied_to(last, vec![sum], scope).map(Found::Val)
            }
            [Argument::Val(other), Argument::Lambda(both)] if name == "Zip" => {
                let others = self.items_of(other, scope)?.whole()?;
                let mut made = Vec::new();
                for (first, second) in items.whole()?.into_iter().zip(others) {
                    made.push(self.applied_to(both, vec![first, second], scope)?);
                }
                self.array_of_made(made, &OBJECT, scope).map(Found::Val)
            }
            _ => Err(not_with_these(name)),
        }
    }

    /// Refuses a sequence that takes lambdas as data, for a database to work them out. Done here, the items would have to be loaded
    /// first: that gives other results and changes what the program does later.
    pub(super) fn not_remote(&self, target: &Val, name: &str) -> Result<(), Failure> {
        let is_query = |ty: &Ty| self.full_name(ty).starts_with("System.Linq.IQueryable");
        if !is_query(&target.ty) && !self.interfaces_of(&target.ty).iter().any(is_query) {
            return Ok(());
        }
        let of = target.path().map_or_else(|| "it".into(), |path| format!("`{}`", path.name));
        Err(failed(format!(
            "{of} is a query (`{}`): its `{name}` takes the lambda as an expression tree, which cannot be made here",
            self.csharp(&target.ty)
        ))
        .hint("`.AsEnumerable()` before it loads all items and works the lambda out here; a database context then tracks them"))
    }

    /// Those that take one lambda and nothing else.
    fn with_one(
        &mut self,
        target: &Val,
        name: &str,
        items: Items,
        lambda: &Lambda<'_>,
        scope: &Scope<'_>,
    ) -> Result<Found, Failure> {
        let none = || failed("InvalidOperationException: no item fits");
        let Items { list: items, of, is_cut, source } = items;
        let position = |at: Option<usize>| Val::int(at.and_then(|at| i32::try_from(at).ok()).unwrap_or(-1));
        // Those that need not see all.
        match name {
            "Any" | "Exists" => {
                return Ok(Found::Val(Val::bool(self.first(items, is_cut, lambda, scope)?.is_some())));
            }
            "First" => {
                let first = self.first(items, is_cut, lambda, scope)?;
                return first.map(|(_, item)| Found::Val(item)).ok_or_else(none);
            }
            "FirstOrDefault" | "Find" => {
                return match self.first(items, is_cut, lambda, scope)? {
                    Some((_, item)) => Ok(Found::Val(item)),
                    None => self.default_of(&of, scope).map(Found::Val),
                };
            }
            "FindIndex" => {
                let found = self.first(items, is_cut, lambda, scope)?;
                return Ok(Found::Val(position(found.map(|(at, _)| at))));
            }
            _ => {}
        }
        let items = Items { list: items, of: of.clone(), is_cut, source }.whole()?;
        let val = match name {
            "Where" => {
                let kept = self.kept(items, lambda, scope)?;
                self.array_with(&of, kept, scope)
            }
            "FindAll" => {
                let kept = self.kept(items, lambda, scope)?;
                let array = self.array_with(&of, kept, scope)?;
                self.as_list_like(array, target, scope)
            }
            "Select" | "ConvertAll" => {
                let mut made = Vec::new();
                for (position, item) in items.into_iter().enumerate() {
                    made.push(self.applied(lambda, item, position, scope)?);
                }
                let array = self.array_of_made(made, &of, scope)?;
                if name == "Select" { Ok(array) } else { self.as_list_like(array, target, scope) }
            }
            "Sort" if lambda.arity() == 2 => {
                self.sorted_in_place(target, items, lambda, scope)?;
                return Ok(Found::Nothing);
            }
            "ForEach" => {
                for item in items {
                    self.outcome(lambda, vec![item], scope)?;
                }
                return Ok(Found::Nothing);
            }
            "RemoveAll" => self.removed(target, items, lambda, scope),
            "FindLastIndex" => {
                let mut last = None;
                for (at, item) in items.into_iter().enumerate().rev() {
                    if last.is_none() && self.holds(lambda, item, at, scope)? {
                        last = Some(at);
                    }
                }
                Ok(position(last))
            }
            "All" | "TrueForAll" => {
                let mut holds = true;
                for (position, item) in items.into_iter().enumerate() {
                    holds = holds && self.holds(lambda, item, position, scope)?;
                }
                Ok(Val::bool(holds))
            }
            "Count" => {
                let count = self.kept(items, lambda, scope)?.len();
                Ok(Val::int(i32::try_from(count).unwrap_or(i32::MAX)))
            }
            "LongCount" => {
                let count = self.kept(items, lambda, scope)?.len();
                Ok(Val::plain(Constant::Int(element::I8, count as i128)))
            }
            "SelectMany" => {
                let (mut all, mut inner_ty) = (Vec::new(), OBJECT);
                for (position, item) in items.into_iter().enumerate() {
                    let inner = self.applied(lambda, item, position, scope)?;
                    let inner = self.items_of(&inner, scope)?;
                    inner_ty = inner.of.clone();
                    all.extend(inner.whole()?);
                }
                if all.len() > LONGEST {
                    return Err(too_many());
                }
                self.array_with(&inner_ty, all, scope)
            }
            "TakeWhile" | "SkipWhile" => {
                let mut fitting = 0;
                for (position, item) in items.iter().enumerate() {
                    if !self.holds(lambda, item.clone(), position, scope)? {
                        break;
                    }
                    fitting += 1;
                }
                let (first, rest) = items.split_at(fitting);
                let chosen = if name == "TakeWhile" { first } else { rest };
                self.array_with(&of, chosen.to_vec(), scope)
            }
            "Aggregate" => self.folded(None, items, lambda, scope),
            "Min" | "Max" | "MinBy" | "MaxBy" => self.extreme(name, (items, &of), lambda, scope),
            "DistinctBy" => {
                let (mut seen, mut kept) = (Vec::new(), Vec::new());
                for (position, item) in items.into_iter().enumerate() {
                    let key = self.applied(lambda, item.clone(), position, scope)?;
                    let key =
                        self.load(&key)?.ok_or_else(|| failed("a key here must be a number or text"))?;
                    if !seen.contains(&key) {
                        seen.push(key);
                        kept.push(item);
                    }
                }
                self.array_with(&of, kept, scope)
            }
            "Single" | "SingleOrDefault" => {
                let mut kept = self.kept(items, lambda, scope)?;
                match kept.len() {
                    1 => kept.pop().ok_or_else(none),
                    0 if name == "SingleOrDefault" => self.default_of(&of, scope),
                    0 => Err(none()),
                    _ => Err(failed("InvalidOperationException: more than one item fits")),
                }
            }
            "Last" | "LastOrDefault" | "FindLast" => match self.kept(items, lambda, scope)?.pop() {
                Some(item) => Ok(item),
                None if name == "Last" => Err(none()),
                None => self.default_of(&of, scope),
            },
            "Sum" | "Average" => self.summed(name, (items, &of), lambda, scope),
            _ => Err(not_with_these(name)),
        };
        val.map(Found::Val)
    }

    /// `List.Sort` and `Array.Sort` with a comparison. Those that are equal keep their order, which .NET leaves open.
    fn sorted_in_place(
        &mut self,
        target: &Val,
        items: Vec<Val>,
        lambda: &Lambda<'_>,
        scope: &Scope<'_>,
    ) -> Result<(), Failure> {
        let mut failure = None;
        let mut order: Vec<usize> = (0..items.len()).collect();
        merge_sort(&mut order, &mut |a, b| {
            if failure.is_some() {
                return false;
            }
            let pair: Vec<Val> = [a, b].iter().filter_map(|at| items.get(*at).cloned()).collect();
            let compared = self.applied_to(lambda, pair, scope).and_then(|order| self.load(&order));
            match compared {
                Ok(Some(Constant::Int(_, order))) => order > 0,
                Ok(_) => {
                    failure = Some(failed("a comparison gives a number"));
                    false
                }
                Err(other) => {
                    failure = Some(other);
                    false
                }
            }
        });
        if let Some(failure) = failure {
            return Err(failure);
        }
        let of = items.first().map_or(OBJECT, |item| item.ty.clone());
        let sorted = order.into_iter().filter_map(|at| items.get(at).cloned()).collect();
        let sorted = self.array_with(&of, sorted, scope)?;
        let copies = self.items_of(&sorted, scope)?.whole()?;
        for (at, item) in (0i32..).zip(copies) {
            self.set_indexed(target, vec![Val::int(at)], item, scope)?;
        }
        Ok(())
    }

    /// `List.RemoveAll`: from the end, so that the rest keep their positions.
    fn removed(
        &mut self,
        target: &Val,
        items: Vec<Val>,
        lambda: &Lambda<'_>,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let mut fitting = Vec::new();
        for (at, item) in items.into_iter().enumerate() {
            if self.holds(lambda, item, at, scope)? {
                fitting.push(Val::int(i32::try_from(at).unwrap_or(i32::MAX)));
            }
        }
        let count = i32::try_from(fitting.len()).unwrap_or(i32::MAX);
        for at in fitting.into_iter().rev() {
            let remove = self.member_of(Found::Val(target.clone()), "RemoveAt", Vec::new(), scope)?;
            self.invoke_with(remove, vec![at], scope)?;
        }
        Ok(Val::int(count))
    }
}

/// Sorts so that equal ones keep their order, whatever the comparison says; the standard library's panics at one that
/// contradicts itself. `is_after` says whether the first belongs behind the second.
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

/// Why a method that is not worked out here gets no lambda, and no method in a lambda's place.
pub(super) fn no_delegate(name: &str, given: &[Given<'_>]) -> Failure {
    let method = given.iter().find_map(|given| match &given.value {
        Passed::Method(Found::Group { name, .. }) => Some(name),
        _ => None,
    });
    match method {
        Some(method) => failed(format!("`{method}` is a method; call it: `{method}(…)`")),
        None => failed(format!(
            "`{name}` with a lambda is not supported: none can be made in a program that is stopped"
        ))
        .hint(format!("these take one: {}", WITH_LAMBDA.join(", "))),
    }
}

/// A method of LINQ that is not worked out here with these arguments.
pub(super) fn not_with_these(name: &str) -> Failure {
    failed(format!("`{name}` with these arguments is not supported"))
}
