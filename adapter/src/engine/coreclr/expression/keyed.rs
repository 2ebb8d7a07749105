//! LINQ that goes by keys: ordering, grouping, dictionaries, joining. The keys are worked out here; what is done with them is
//! the program's own LINQ, over positions, so that keys of all types are compared as in the
//! program; only an order of numbers is found here.
//!
//! A lambda cannot be made in a program that is stopped, but a delegate to a method that is there can: `List<K>.get_Item` of a
//! list of the keys is what takes a position and gives its key.

use std::cmp::Ordering;
use std::rc::Rc;

use cordebug::value::Handle;
use dap_wire::Failure;

use super::lambdas::Lambda;
use super::sequences::{Argument, not_with_these};
use super::{Constant, Data, Found, Scope, Val, failed};
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::types::ty::{INT, OBJECT, STRING};
use crate::engine::coreclr::values::{Path, Root};

/// What `OrderBy` gave, for a `ThenBy` behind it.
pub(super) struct Ordered {
    /// The array that was given.
    array: Rc<Handle>,
    items: Vec<Val>,
    of: Ty,
    /// The array or list they were in before.
    source: Val,
    levels: Vec<Level>,
}

/// What one `OrderBy` or `ThenBy` goes by.
#[derive(Clone)]
struct Level {
    /// `OrderByDescending`, …
    method: String,
    /// One for each item.
    keys: Vec<Val>,
    /// They are the items themselves.
    is_items: bool,
    comparer: Option<Val>,
}

impl Session {
    /// A method that goes by keys; none for any other.
    pub(super) fn by_keys(
        &mut self,
        target: &Val,
        name: &str,
        arguments: &[Argument<'_>],
        scope: &Scope<'_>,
    ) -> Result<Option<Val>, Failure> {
        match name {
            "OrderBy" | "OrderByDescending" => {
                let (key, comparer) = key_and_comparer(name, arguments)?;
                let items = self.items_of(target, scope)?;
                let (of, source) = (items.of.clone(), items.source.clone());
                let items = items.whole()?;
                let level = self.level(name, &items, key, comparer, scope)?;
                self.ordered(items, (of, source), vec![level], scope).map(Some)
            }
            "ThenBy" | "ThenByDescending" => {
                let (key, comparer) = key_and_comparer(name, arguments)?;
                let none = || {
                    failed(format!("`{name}` needs the `OrderBy` it goes on with in the same expression"))
                        .hint("write `list.OrderBy(x => …).ThenBy(x => …)`")
                };
                let root = target.path().map(|path| path.root.clone());
                let Some(Root::Handle(array)) = root else { return Err(none()) };
                let (items, of, source, mut levels) = {
                    let known = scope.ordered.borrow();
                    let before = known.iter().find(|known| Rc::ptr_eq(&known.array, &array));
                    let before = before.ok_or_else(none)?;
                    (before.items.clone(), before.of.clone(), before.source.clone(), before.levels.clone())
                };
                levels.push(self.level(name, &items, key, comparer, scope)?);
                self.ordered(items, (of, source), levels, scope).map(Some)
            }
            "GroupBy" => {
                let (result, arguments) = match arguments {
                    [rest @ .., Argument::Lambda(result)] if result.arity() == 2 => (Some(result), rest),
                    all => (None, all),
                };
                let groups = self.looked_up("ToLookup", target, arguments, scope)?;
                let groups = self.array_of_sequence(groups, scope)?;
                let Some(result) = result else { return Ok(Some(groups)) };
                let mut made = Vec::new();
                for group in self.items_of(&groups, scope)?.whole()? {
                    let group = self.named_as_in(group, target);
                    let key = self.member_of(Found::Val(group.clone()), "Key", Vec::new(), scope)?;
                    let Found::Val(key) = key else { return Err(failed("a group has no key")) };
                    made.push(self.applied_to(result, vec![key, group], scope)?);
                }
                self.array_of_made(made, &OBJECT, scope).map(Some)
            }
            "ToLookup" | "ToDictionary" => self.looked_up(name, target, arguments, scope).map(Some),
            "Join" => match arguments {
                [
                    Argument::Val(inner),
                    Argument::Lambda(outer_key),
                    Argument::Lambda(inner_key),
                    Argument::Lambda(both),
                ] => self.joined(target, inner, (outer_key, inner_key, both), scope).map(Some),
                _ => Err(not_with_these(name)),
            },
            _ => Ok(None),
        }
    }

    fn level(
        &mut self,
        name: &str,
        items: &[Val],
        key: &Lambda<'_>,
        comparer: Option<Val>,
        scope: &Scope<'_>,
    ) -> Result<Level, Failure> {
        let is_items = key.gives_its_item(scope);
        let keys = if is_items { items.to_vec() } else { self.keys(items, key, scope)? };
        Ok(Level { method: name.to_owned(), keys, is_items, comparer })
    }

    /// The items in the order of these levels.
    fn ordered(
        &mut self,
        items: Vec<Val>,
        (of, source): (Ty, Val),
        levels: Vec<Level>,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let array = match self.order_here(items.len(), &levels)? {
            Some(order) => {
                let sorted = order.into_iter().filter_map(|at| items.get(at).cloned()).collect();
                self.array_with(&of, sorted, scope)?
            }
            None => {
                let mut positions = self.positions(items.len(), scope)?;
                // Nothing of the items has to go through our hands: the program copies them.
                let item = self.by_position_in(source.clone(), &of, scope)?;
                for level in &levels {
                    let key = match level.is_items {
                        true => item.clone(),
                        false => self.by_position(level.keys.clone(), &OBJECT, scope)?,
                    };
                    let mut given = vec![positions, key];
                    given.extend(level.comparer.clone());
                    positions = self.linq(&level.method, given, scope)?;
                }
                let sorted = self.linq("Select", vec![positions, item], scope)?;
                self.array_of_sequence(sorted, scope)?
            }
        };
        if let Some(Root::Handle(handle)) = array.path().map(|path| path.root.clone()) {
            scope.ordered.borrow_mut().push(Ordered { array: handle, items, of, source, levels });
        }
        Ok(array)
    }

    /// The positions in order, where all keys are numbers: these need not be asked of the program.
    fn order_here(&self, count: usize, levels: &[Level]) -> Result<Option<Vec<usize>>, Failure> {
        let mut known = Vec::new();
        for level in levels {
            let mut keys = Vec::new();
            for key in &level.keys {
                match self.load(key)? {
                    Some(key @ (Constant::Int(..) | Constant::Bool(_) | Constant::Decimal(_))) => {
                        keys.push(key)
                    }
                    _ => return Ok(None),
                }
            }
            if level.comparer.is_some() {
                return Ok(None);
            }
            known.push((keys, level.method.ends_with("Descending")));
        }
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|a, b| {
            let by_level = known.iter().map(|(keys, falls)| {
                let order = compared(keys.get(*a), keys.get(*b));
                if *falls { order.reverse() } else { order }
            });
            by_level.fold(Ordering::Equal, Ordering::then)
        });
        Ok(Some(order))
    }

    /// `ToLookup` and `ToDictionary`: with items or what is made of them.
    fn looked_up(
        &mut self,
        name: &str,
        target: &Val,
        arguments: &[Argument<'_>],
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let (key, element, comparer) = match arguments {
            [Argument::Lambda(key)] => (key, None, None),
            [Argument::Lambda(key), Argument::Val(comparer)] => (key, None, Some(comparer)),
            [Argument::Lambda(key), Argument::Lambda(element)] => (key, Some(element), None),
            [Argument::Lambda(key), Argument::Lambda(element), Argument::Val(comparer)] => {
                (key, Some(element), Some(comparer))
            }
            _ => return Err(not_with_these(name)),
        };
        let items = self.items_of(target, scope)?;
        let mut of = items.of.clone();
        let items = items.whole()?;
        let keys = self.keys(&items, key, scope)?;
        let start = self.positions(items.len(), scope)?;
        let elements = match element {
            Some(element) => {
                let made = self.keys(&items, element, scope)?;
                of = self.common_ty(&made).unwrap_or(OBJECT);
                made
            }
            None => items,
        };
        let names = self.names_of_parts(&[keys.first(), elements.first()]);
        let mut given = vec![start, self.by_position(keys, &OBJECT, scope)?];
        given.push(self.by_position(elements, &of, scope)?);
        given.extend(comparer.cloned());
        let made = self.linq(name, given, scope)?;
        Ok(match made.data {
            Data::At(path) => Val { data: Data::At(Path { tuple: names, ..path }), ..made },
            _ => made,
        })
    }

    /// `Join`: for each item those of the other sequence with an equal key, in their order.
    fn joined(
        &mut self,
        target: &Val,
        inner: &Val,
        (outer_key, inner_key, both): (&Lambda<'_>, &Lambda<'_>, &Lambda<'_>),
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let outers = self.items_of(target, scope)?.whole()?;
        let inners = self.items_of(inner, scope)?.whole()?;
        let keys = self.keys(&inners, inner_key, scope)?;
        let lookup = self.lookup_of(keys, scope)?;
        let mut made = Vec::new();
        for (position, outer) in outers.into_iter().enumerate() {
            let key = self.applied(outer_key, outer.clone(), position, scope)?;
            for at in self.at_key(&lookup, key, scope)? {
                let inner = inners.get(at).cloned();
                let inner = inner.ok_or_else(|| failed("an item got lost"))?;
                made.push(self.applied_to(both, vec![outer.clone(), inner], scope)?);
            }
        }
        self.array_of_made(made, &OBJECT, scope)
    }

    /// Positions by the keys that are at them.
    pub(super) fn lookup_of(&mut self, keys: Vec<Val>, scope: &Scope<'_>) -> Result<Val, Failure> {
        let start = self.positions(keys.len(), scope)?;
        let key = self.by_position(keys, &OBJECT, scope)?;
        self.linq("ToLookup", vec![start, key], scope)
    }

    /// The positions that `lookup_of` has for a key; null has none.
    pub(super) fn at_key(
        &mut self,
        lookup: &Val,
        key: Val,
        scope: &Scope<'_>,
    ) -> Result<Vec<usize>, Failure> {
        if self.is_null_val(&key)? {
            return Ok(Vec::new());
        }
        let fitting = self.indexed(lookup, vec![key], scope)?;
        self.whole_numbers(&fitting, scope)
    }

    fn whole_numbers(&mut self, sequence: &Val, scope: &Scope<'_>) -> Result<Vec<usize>, Failure> {
        let mut numbers = Vec::new();
        for at in self.items_of(sequence, scope)?.whole()? {
            match self.load(&at)? {
                Some(Constant::Int(_, at)) => numbers.extend(usize::try_from(at)),
                _ => return Err(failed("a position got lost")),
            }
        }
        Ok(numbers)
    }

    /// The order of as many rows by these keys, the first ones first; those that fall are marked.
    pub(super) fn order_of(
        &mut self,
        count: usize,
        levels: Vec<(bool, Vec<Val>)>,
        scope: &Scope<'_>,
    ) -> Result<Vec<usize>, Failure> {
        let level = |(at, (falls, keys)): (usize, (bool, Vec<Val>))| {
            let (first, end) =
                (if at == 0 { "OrderBy" } else { "ThenBy" }, if falls { "Descending" } else { "" });
            Level { method: format!("{first}{end}"), keys, is_items: false, comparer: None }
        };
        let levels: Vec<Level> = levels.into_iter().enumerate().map(level).collect();
        if let Some(order) = self.order_here(count, &levels)? {
            return Ok(order);
        }
        let mut positions = self.positions(count, scope)?;
        for level in levels {
            let key = self.by_position(level.keys, &OBJECT, scope)?;
            positions = self.linq(&level.method, vec![positions, key], scope)?;
        }
        self.whole_numbers(&positions, scope)
    }

    /// These elements in groups by their keys, in the order in which the keys come.
    pub(super) fn groups_of(
        &mut self,
        elements: Vec<Val>,
        keys: Vec<Val>,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let names = self.names_of_parts(&[keys.first(), elements.first()]);
        let start = self.positions(keys.len(), scope)?;
        let given =
            vec![start, self.by_position(keys, &OBJECT, scope)?, self.by_position(elements, &OBJECT, scope)?];
        let lookup = self.linq("ToLookup", given, scope)?;
        let groups = self.array_of_sequence(lookup, scope)?;
        Ok(match groups.data {
            Data::At(path) => Val { data: Data::At(Path { tuple: names, ..path }), ..groups },
            _ => groups,
        })
    }

    /// What a lambda gives for each item.
    fn keys(&mut self, items: &[Val], lambda: &Lambda<'_>, scope: &Scope<'_>) -> Result<Vec<Val>, Failure> {
        let mut keys = Vec::new();
        for item in items {
            keys.push(self.applied_to(lambda, vec![item.clone()], scope)?);
        }
        Ok(keys)
    }

    /// `Enumerable.Range(0, count)`.
    fn positions(&mut self, count: usize, scope: &Scope<'_>) -> Result<Val, Failure> {
        let count = Val::int(i32::try_from(count).unwrap_or(i32::MAX));
        self.linq("Range", vec![Val::int(0), count], scope)
    }

    /// A `Func<int, T>` of the program that gives these values by their positions; `of` is T where they do not tell.
    fn by_position(&mut self, values: Vec<Val>, of: &Ty, scope: &Scope<'_>) -> Result<Val, Failure> {
        let of = self.common_ty(&values).unwrap_or_else(|| of.clone());
        // New strings are as good as keys, and much quicker to make than those that are there to be put into an array.
        let values = if of == STRING { self.texts(values)? } else { values };
        let array = self.array_with(&of, values, scope)?;
        self.by_position_in(array, &of, scope)
    }

    /// The same for what is in an array or list of the program already.
    fn by_position_in(&mut self, array: Val, of: &Ty, scope: &Scope<'_>) -> Result<Val, Failure> {
        let of = of.clone();
        let lost = || failed("there are no lists of these here");
        let list = self.ty_generic("System.Collections.Generic.List`1", vec![of.clone()]);
        let list = self.made(&list.ok_or_else(lost)?, vec![array], &[], scope)?;
        let function = self.ty_generic("System.Func`2", vec![INT, of]).ok_or_else(lost)?;
        let delegate = self.ty_named("System.Delegate").ok_or_else(lost)?;
        let ty = self.type_object(&function, scope)?;
        let create =
            Found::Group { target: None, ty: delegate, name: "CreateDelegate".into(), types: Vec::new() };
        match self.invoke_with(create, vec![ty, list, Val::text("get_Item")], scope)? {
            Found::Val(made) => Ok(Val { ty: function, ..made }),
            _ => Err(lost()),
        }
    }

    /// Strings as their texts; as they are if one has no text that could be written.
    fn texts(&self, values: Vec<Val>) -> Result<Vec<Val>, Failure> {
        let mut texts = Vec::new();
        for val in &values {
            texts.push(match self.load(val)? {
                Some(Constant::Text(text)) if !text.contains('\u{fffd}') => Val::text(text),
                Some(Constant::Null) => Val::null(),
                _ => return Ok(values),
            });
        }
        Ok(texts)
    }

    /// Calls a method of `System.Linq.Enumerable`.
    fn linq(&mut self, name: &str, given: Vec<Val>, scope: &Scope<'_>) -> Result<Val, Failure> {
        self.load_linq(scope)?;
        let ty = self.ty_named("System.Linq.Enumerable").ok_or_else(|| failed("there is no LINQ here"))?;
        let group = Found::Group { target: None, ty, name: name.to_owned(), types: Vec::new() };
        match self.invoke_with(group, given, scope)? {
            Found::Val(val) => Ok(val),
            _ => Err(failed(format!("`{name}` gives nothing"))),
        }
    }

    fn array_of_sequence(&mut self, sequence: Val, scope: &Scope<'_>) -> Result<Val, Failure> {
        self.linq("ToArray", vec![sequence], scope)
    }
}

fn key_and_comparer<'a, 't>(
    name: &str,
    arguments: &'a [Argument<'t>],
) -> Result<(&'a Lambda<'t>, Option<Val>), Failure> {
    match arguments {
        [Argument::Lambda(key)] => Ok((key, None)),
        [Argument::Lambda(key), Argument::Val(comparer)] => Ok((key, Some(comparer.clone()))),
        _ => Err(not_with_these(name)),
    }
}

/// Numbers of one type.
fn compared(a: Option<&Constant>, b: Option<&Constant>) -> Ordering {
    match (a, b) {
        (Some(Constant::Int(_, a)), Some(Constant::Int(_, b))) => a.cmp(b),
        (Some(Constant::Bool(a)), Some(Constant::Bool(b))) => a.cmp(b),
        (Some(Constant::Decimal(a)), Some(Constant::Decimal(b))) => a.cmp(b),
        _ => Ordering::Equal,
    }
}
