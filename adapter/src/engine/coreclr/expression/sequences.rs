//! LINQ with lambdas, worked out here: a lambda cannot be made in a program that is stopped, so its body is evaluated once for
//! each item. Lists only as long as people look at.

use std::cmp::Ordering;

use cordebug::value::element;
use dap_wire::Failure;
use tree_sitter::Node as Syntax;

use super::walk::{child, inner};
use super::{Constant, Found, Given, Passed, Scope, Val, failed};
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::types::ty::INT;

/// Longest sequence a lambda is evaluated over.
const LONGEST: usize = 10_000;

/// A lambda's parameters and body.
struct Lambda<'t> {
    parameters: Vec<String>,
    body: Syntax<'t>,
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
        let [Given { value: Passed::Lambda(node), .. }] = given else {
            return Err(failed(format!("`{name}` with more than one lambda is not supported")));
        };
        let lambda = lambda(*node, scope)?;
        let (items, of) = self.items_of(target, scope)?;
        let none = || failed("InvalidOperationException: no item fits");
        match name {
            "Where" | "FindAll" => {
                let kept = self.kept(items, &lambda, scope)?;
                self.array_with(&of, kept, scope)
            }
            "Select" | "ConvertAll" => {
                let mut made = Vec::new();
                for (position, item) in items.into_iter().enumerate() {
                    made.push(self.applied(&lambda, item, position, scope)?);
                }
                let ty = made.first().map_or(of, |first| first.ty.clone());
                let ty = if ty == Ty::Null { super::super::types::ty::OBJECT } else { ty };
                self.array_with(&ty, made, scope)
            }
            "Any" | "Exists" => Ok(Val::bool(self.first(items, &lambda, scope)?.is_some())),
            "All" | "TrueForAll" => {
                let count = items.len();
                Ok(Val::bool(self.kept(items, &lambda, scope)?.len() == count))
            }
            "Count" => {
                let count = self.kept(items, &lambda, scope)?.len();
                Ok(Val::int(i32::try_from(count).unwrap_or(i32::MAX)))
            }
            "FindIndex" => {
                let position = self.first(items, &lambda, scope)?.map(|(position, _)| position);
                Ok(Val::int(position.and_then(|at| i32::try_from(at).ok()).unwrap_or(-1)))
            }
            "First" => self.first(items, &lambda, scope)?.map(|(_, item)| item).ok_or_else(none),
            "Single" => {
                let mut kept = self.kept(items, &lambda, scope)?;
                match kept.len() {
                    1 => kept.pop().ok_or_else(none),
                    0 => Err(none()),
                    _ => Err(failed("InvalidOperationException: more than one item fits")),
                }
            }
            "FirstOrDefault" | "Find" => match self.first(items, &lambda, scope)? {
                Some((_, item)) => Ok(item),
                None => self.default_of(&of, scope),
            },
            "Last" | "LastOrDefault" | "FindLast" => match self.kept(items, &lambda, scope)?.pop() {
                Some(item) => Ok(item),
                None if name == "Last" => Err(none()),
                None => self.default_of(&of, scope),
            },
            "Sum" | "Average" => {
                let count = items.len();
                let mut sum: Option<Val> = None;
                for (position, item) in items.into_iter().enumerate() {
                    let value = self.applied(&lambda, item, position, scope)?;
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
                    let value = self.applied(&lambda, item, position, scope)?;
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
                    let key = self.applied(&lambda, item.clone(), position, scope)?;
                    let key = self.load(&key)?.ok_or_else(|| failed("the key to order by must be a number or text"))?;
                    keyed.push((key, item));
                }
                keyed.sort_by(|(a, _), (b, _)| {
                    let order = compare(a, b);
                    if name == "OrderBy" { order } else { order.reverse() }
                });
                self.array_with(&of, keyed.into_iter().map(|(_, item)| item).collect(), scope)
            }
            _ => Err(failed(format!("`{name}` with a lambda is not supported"))
                .hint("Where, Select, Any, All, Count, First, Last, Single, Sum, Average, Min, Max, OrderBy, Find are")),
        }
    }

    /// The items of a collection and their type.
    pub(super) fn items_of(&mut self, target: &Val, scope: &Scope<'_>) -> Result<(Vec<Val>, Ty), Failure> {
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
        let items = self.items(&value, &path, 0, LONGEST + 1).unwrap_or_default();
        if items.len() > LONGEST {
            return Err(failed(format!(
                "the sequence has more than {LONGEST} items; a lambda is not evaluated for so many"
            )));
        }
        Ok((items.into_iter().map(|(_, path)| Val::at(path, of.clone())).collect(), of))
    }

    fn kept(&mut self, items: Vec<Val>, lambda: &Lambda<'_>, scope: &Scope<'_>) -> Result<Vec<Val>, Failure> {
        let mut kept = Vec::new();
        for (position, item) in items.into_iter().enumerate() {
            if self.holds(lambda, item.clone(), position, scope)? {
                kept.push(item);
            }
        }
        Ok(kept)
    }

    fn first(
        &mut self,
        items: Vec<Val>,
        lambda: &Lambda<'_>,
        scope: &Scope<'_>,
    ) -> Result<Option<(usize, Val)>, Failure> {
        for (position, item) in items.into_iter().enumerate() {
            if self.holds(lambda, item.clone(), position, scope)? {
                return Ok(Some((position, item)));
            }
        }
        Ok(None)
    }

    fn holds(
        &mut self,
        lambda: &Lambda<'_>,
        item: Val,
        position: usize,
        scope: &Scope<'_>,
    ) -> Result<bool, Failure> {
        let val = self.applied(lambda, item, position, scope)?;
        match self.load(&val)? {
            Some(Constant::Bool(holds)) => Ok(holds),
            _ => Err(failed(format!("`{}` is no truth", scope.of(lambda.body)))),
        }
    }

    fn applied(
        &mut self,
        lambda: &Lambda<'_>,
        item: Val,
        position: usize,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let before = scope.bindings.borrow().len();
        if let Some(name) = lambda.parameters.first() {
            scope.bindings.borrow_mut().push((name.clone(), item));
        }
        if let Some(name) = lambda.parameters.get(1) {
            let position = Val::int(i32::try_from(position).unwrap_or(i32::MAX));
            scope.bindings.borrow_mut().push((name.clone(), position));
        }
        let val = self.value(lambda.body, scope);
        scope.bindings.borrow_mut().truncate(before);
        val
    }
}

fn lambda<'t>(node: Syntax<'t>, scope: &Scope<'_>) -> Result<Lambda<'t>, Failure> {
    let body = child(node, "body")?;
    if body.kind() == "block" {
        return Err(failed("a lambda with statements is not supported"));
    }
    let list = child(node, "parameters")?;
    let parameters = match list.kind() {
        "parameter_list" => inner(list)
            .into_iter()
            .map(|parameter| scope.of(parameter.child_by_field_name("name").unwrap_or(parameter)).to_owned())
            .collect(),
        _ => vec![scope.of(list).to_owned()],
    };
    Ok(Lambda { parameters, body })
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
