//! LINQ with lambdas, worked out here: a lambda cannot be made in a program that is stopped, so its body is evaluated once for
//! each item ([`super::lambdas`]). Lists only as long as people look at.

use std::cmp::Ordering;

use cordebug::value::element;
use dap_wire::Failure;

use super::lambdas::Lambda;
use super::{Constant, Found, Given, Passed, Scope, Val, failed};
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::types::ty::{INT, OBJECT};
use crate::engine::coreclr::values::Path;

/// Longest sequence a lambda is evaluated over.
const LONGEST: usize = 10_000;

/// The items of a collection.
pub(super) struct Items {
    pub(super) list: Vec<Val>,
    /// Their type.
    pub(super) of: Ty,
    /// There are more.
    pub(super) is_cut: bool,
}

impl Session {
    /// `list.Where(x => …)` and its kin.
    pub(super) fn with_lambda(
        &mut self,
        target: &Val,
        name: &str,
        given: &[Given<'_>],
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let lambdas: Vec<Lambda<'_>> = given
            .iter()
            .filter_map(|given| match given.value {
                Passed::Lambda(node) => Some(Lambda::read(node, scope, scope.site.limit)),
                _ => None,
            })
            .collect::<Result<_, _>>()?;
        let Items { list: items, of, is_cut } = self.items_of(target, scope)?;
        let none = || failed("InvalidOperationException: no item fits");
        let (lambda, second) = match (lambdas.as_slice(), given) {
            ([only], [_]) => (only, None),
            ([key, value], [_, _]) if name == "ToDictionary" => (key, Some(value)),
            ([step], [Given { value: Passed::Val(seed), .. }, _]) if name == "Aggregate" => {
                return self.folded(Some(seed.clone()), whole(items, is_cut)?, step, scope);
            }
            _ => return Err(failed(format!("`{name}` with these arguments is not supported"))),
        };
        // Those that need not see all.
        match name {
            "Any" | "Exists" => return Ok(Val::bool(self.first(items, is_cut, lambda, scope)?.is_some())),
            "First" => {
                return self.first(items, is_cut, lambda, scope)?.map(|(_, item)| item).ok_or_else(none);
            }
            "FirstOrDefault" | "Find" => {
                return match self.first(items, is_cut, lambda, scope)? {
                    Some((_, item)) => Ok(item),
                    None => self.default_of(&of, scope),
                };
            }
            "FindIndex" => {
                let position = self.first(items, is_cut, lambda, scope)?.map(|(position, _)| position);
                return Ok(Val::int(position.and_then(|at| i32::try_from(at).ok()).unwrap_or(-1)));
            }
            _ => {}
        }
        let items = whole(items, is_cut)?;
        match name {
            "Where" | "FindAll" => {
                let kept = self.kept(items, lambda, scope)?;
                self.array_with(&of, kept, scope)
            }
            "Select" | "ConvertAll" => {
                let mut made = Vec::new();
                for (position, item) in items.into_iter().enumerate() {
                    made.push(self.applied(lambda, item, position, scope)?);
                }
                let ty = made.first().map_or(of, |first| first.ty.clone());
                let ty = if ty == Ty::Null { OBJECT } else { ty };
                self.array_with(&ty, made, scope)
            }
            "All" | "TrueForAll" => {
                let count = items.len();
                Ok(Val::bool(self.kept(items, lambda, scope)?.len() == count))
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
                    inner_ty = inner.of;
                    all.extend(whole(inner.list, inner.is_cut)?);
                }
                self.array_with(&inner_ty, whole_length(all)?, scope)
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
            "MinBy" | "MaxBy" => {
                let mut best: Option<(Constant, Val)> = None;
                for (position, item) in items.into_iter().enumerate() {
                    let key = self.key_of(lambda, item.clone(), position, scope)?;
                    let wanted = if name == "MinBy" { Ordering::Less } else { Ordering::Greater };
                    if best.as_ref().is_none_or(|(best, _)| compare(&key, best) == wanted) {
                        best = Some((key, item));
                    }
                }
                best.map(|(_, item)| item)
                    .ok_or_else(|| failed("InvalidOperationException: the sequence is empty"))
            }
            "DistinctBy" => {
                let (mut seen, mut kept) = (Vec::new(), Vec::new());
                for (position, item) in items.into_iter().enumerate() {
                    let key = self.key_of(lambda, item.clone(), position, scope)?;
                    if !seen.contains(&key) {
                        seen.push(key);
                        kept.push(item);
                    }
                }
                self.array_with(&of, kept, scope)
            }
            "ToDictionary" => self.dictionary_of(items, &of, lambda, second, scope),
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
            "Sum" | "Average" => {
                let count = items.len();
                let mut sum: Option<Val> = None;
                for (position, item) in items.into_iter().enumerate() {
                    let value = self.applied(lambda, item, position, scope)?;
                    sum = Some(match sum {
                        Some(sum) => self.operate("+", sum, value, scope)?,
                        None => value,
                    });
                }
                match (name, sum) {
                    ("Sum", sum) => Ok(sum.unwrap_or(Val { ty: INT, ..Val::int(0) })),
                    (_, Some(sum)) => {
                        let sum = match self.load(&sum)? {
                            Some(Constant::Int(..)) => self.cast(sum, &Ty::Primitive(element::R8), scope)?,
                            _ => sum,
                        };
                        self.operate("/", sum, Val { literal: true, ..Val::int(i32::try_from(count).unwrap_or(i32::MAX)) }, scope)
                    }
                    (_, None) => Err(failed("InvalidOperationException: the sequence is empty")),
                }
            }
            "Min" | "Max" => {
                let mut best: Option<Val> = None;
                for (position, item) in items.into_iter().enumerate() {
                    let value = self.applied(lambda, item, position, scope)?;
                    let wins = match &best {
                        None => true,
                        Some(best) => {
                            let operator = if name == "Min" { "<" } else { ">" };
                            let val = self.operate(operator, value.clone(), best.clone(), scope)?;
                            self.load(&val)? == Some(Constant::Bool(true))
                        }
                    };
                    if wins {
                        best = Some(value);
                    }
                }
                best.ok_or_else(|| failed("InvalidOperationException: the sequence is empty"))
            }
            "OrderBy" | "OrderByDescending" => {
                let mut keyed = Vec::new();
                for (position, item) in items.into_iter().enumerate() {
                    keyed.push((self.key_of(lambda, item.clone(), position, scope)?, item));
                }
                keyed.sort_by(|(a, _), (b, _)| {
                    let order = compare(a, b);
                    if name == "OrderBy" { order } else { order.reverse() }
                });
                self.array_with(&of, keyed.into_iter().map(|(_, item)| item).collect(), scope)
            }
            _ => Err(failed(format!("`{name}` with a lambda is not supported"))
                .hint(
                    "Where, Select, SelectMany, Any, All, Count, First, Last, Single, Sum, Average, Min, Max, MinBy, MaxBy, \
                     OrderBy, TakeWhile, SkipWhile, DistinctBy, Aggregate, ToDictionary, Find are",
                )),
        }
    }

    /// `Aggregate`: without a seed the first item is it.
    fn folded(
        &mut self,
        seed: Option<Val>,
        items: Vec<Val>,
        lambda: &Lambda<'_>,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let mut items = items.into_iter();
        let seed = seed.or_else(|| items.next());
        let mut so_far = seed.ok_or_else(|| failed("InvalidOperationException: the sequence is empty"))?;
        for item in items {
            so_far = self.applied_to(lambda, vec![so_far, item], scope)?;
        }
        Ok(so_far)
    }

    /// What to order or tell apart by.
    fn key_of(
        &mut self,
        lambda: &Lambda<'_>,
        item: Val,
        position: usize,
        scope: &Scope<'_>,
    ) -> Result<Constant, Failure> {
        let key = self.applied(lambda, item, position, scope)?;
        self.load(&key)?.ok_or_else(|| failed("a key must be a number or text"))
    }

    /// `ToDictionary`, with items or what is made of them.
    fn dictionary_of(
        &mut self,
        items: Vec<Val>,
        of: &Ty,
        key: &Lambda<'_>,
        value: Option<&Lambda<'_>>,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let mut pairs = Vec::new();
        for (position, item) in items.into_iter().enumerate() {
            let key = self.applied(key, item.clone(), position, scope)?;
            let value = match value {
                Some(value) => self.applied(value, item, position, scope)?,
                None => item,
            };
            pairs.push((key, value));
        }
        let types = match pairs.first() {
            Some((key, value)) => vec![key.ty.clone(), value.ty.clone()],
            None => vec![OBJECT, of.clone()],
        };
        let ty = self.ty_generic("System.Collections.Generic.Dictionary`2", types);
        let made =
            self.made(&ty.ok_or_else(|| failed("there are no dictionaries here"))?, vec![], &[], scope)?;
        for (key, value) in pairs {
            let add = self.member_of(Found::Val(made.clone()), "Add", Vec::new(), scope)?;
            self.invoke_with(add, vec![key, value], scope)?;
        }
        Ok(made)
    }

    /// The items of a collection and their type.
    pub(super) fn items_of(&mut self, target: &Val, scope: &Scope<'_>) -> Result<Items, Failure> {
        let mut target = target.clone();
        let is_array = |session: &Self, val: &Val| -> Result<Option<Ty>, Failure> {
            Ok(match session.actual(val)? {
                Ty::Vector(of) => Some(*of),
                ty if session.full_name(&ty) == "System.Collections.Generic.List`1" => {
                    ty.arguments().first().cloned()
                }
                _ => None,
            })
        };
        let of = match is_array(self, &target)? {
            Some(of) => of,
            None => {
                // Whatever it is, LINQ makes an array of it.
                let group = self.member_of(Found::Val(target.clone()), "ToArray", Vec::new(), scope)?;
                let Found::Val(array) = self.invoke_with(group, Vec::new(), scope)? else {
                    return Err(failed("the sequence has no items"));
                };
                target = array;
                is_array(self, &target)?.ok_or_else(|| failed("the sequence has no items"))?
            }
        };
        let path = target.path().ok_or_else(|| failed("the sequence is not in the program"))?.clone();
        let value =
            super::super::values::bare(&self.fetch(&path)?).ok_or_else(|| failed("the sequence is null"))?;
        let names = path.tuple.as_ref().and_then(|names| self.names_within(names, &target.ty, &of));
        let items = self.items(&value, &path, 0, LONGEST + 1).unwrap_or_default();
        let is_cut = items.len() > LONGEST;
        let item = |(_, path): (String, Path)| Val::at(Path { tuple: names.clone(), ..path }, of.clone());
        Ok(Items { list: items.into_iter().take(LONGEST).map(item).collect(), of, is_cut })
    }
}

/// Items for those that must see all of them.
fn whole(items: Vec<Val>, is_cut: bool) -> Result<Vec<Val>, Failure> {
    if is_cut { Err(too_many()) } else { Ok(items) }
}

fn whole_length(items: Vec<Val>) -> Result<Vec<Val>, Failure> {
    let is_cut = items.len() > LONGEST;
    whole(items, is_cut)
}

/// Why the end of a sequence was not reached.
pub(super) fn too_many() -> Failure {
    failed(format!("the sequence has more than {LONGEST} items; a lambda is not evaluated for so many"))
}

fn compare(a: &Constant, b: &Constant) -> Ordering {
    match (a, b) {
        (Constant::Null, Constant::Null) => Ordering::Equal,
        (Constant::Null, _) => Ordering::Less,
        (_, Constant::Null) => Ordering::Greater,
        (Constant::Int(_, a), Constant::Int(_, b)) => a.cmp(b),
        (Constant::Bool(a), Constant::Bool(b)) => a.cmp(b),
        (Constant::Text(a), Constant::Text(b)) => a.cmp(b),
        (Constant::Double(a), Constant::Double(b)) => a.total_cmp(b),
        (Constant::Single(a), Constant::Single(b)) => a.total_cmp(b),
        (Constant::Decimal(a), Constant::Decimal(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}
