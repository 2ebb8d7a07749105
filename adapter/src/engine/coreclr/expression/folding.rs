//! LINQ that makes one value of many: sums, averages, the least and the greatest, `Aggregate`. Sums are checked and nulls
//! passed over, as LINQ has it.

use std::cmp::Ordering;

use cordebug::value::element;
use dap_wire::Failure;

use super::lambdas::Lambda;
use super::operators::{Overflow, compute};
use super::{Constant, Found, Scope, Val, failed};
use crate::engine::coreclr::calls::Site;
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::types::ty::{INT, STRING};

impl Session {
    /// The type of what a lambda gives, though there is no item to give it for.
    fn lambdas_ty(&mut self, lambda: &Lambda<'_>, of: &Ty, scope: &Scope<'_>) -> Option<Ty> {
        let supposing = scope.under(Site { runs: false, supposes: true, ..scope.site });
        let item = self.sample(of);
        self.applied_to(lambda, vec![item], &supposing).ok().map(|val| val.ty)
    }

    /// `Sum` and `Average`.
    pub(super) fn summed(
        &mut self,
        name: &str,
        (items, of): (Vec<Val>, &Ty),
        lambda: &Lambda<'_>,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let (mut values, mut ty) = (Vec::new(), None);
        for (position, item) in items.into_iter().enumerate() {
            let value = self.applied(lambda, item, position, scope)?;
            match self.load(&value)? {
                Some(Constant::Null) => {}
                Some(
                    number @ (Constant::Int(..)
                    | Constant::Single(_)
                    | Constant::Double(_)
                    | Constant::Decimal(_)),
                ) => {
                    values.push(number);
                }
                _ => {
                    return Err(failed(format!(
                        "`{name}` goes over numbers, not `{}`",
                        self.csharp(&value.ty)
                    )));
                }
            }
            ty = ty.filter(|ty| *ty != Ty::Null).or(Some(value.ty));
        }
        let ty = ty.or_else(|| self.lambdas_ty(lambda, of, scope)).unwrap_or(INT);
        let (inside, is_nullable) = match self.nullable(&ty) {
            Some(inside) => (inside, true),
            None => (ty, false),
        };
        let widest = match &inside {
            inside if self.is_decimal(inside) => None,
            Ty::Primitive(kind @ (element::R4 | element::R8)) => Some(*kind),
            Ty::Primitive(kind @ (element::U4 | element::I8 | element::U8)) => Some((*kind).max(element::I8)),
            _ => Some(element::I4),
        };
        let is_average = name == "Average";
        if is_average && values.is_empty() {
            let of = self.averages_ty(widest, true);
            return if is_nullable { Ok(Val::constant_of(Constant::Null, of)) } else { Err(empty()) };
        }
        // Floats are added as doubles; the average of whole numbers is that of their sum as a long.
        let as_kind = match widest {
            Some(element::R4 | element::R8) => Some(element::R8),
            Some(element::I4) if is_average => Some(element::I8),
            other => other,
        };
        let count = Constant::int(i32::try_from(values.len()).unwrap_or(i32::MAX));
        let in_kind = |value: Constant| match as_kind {
            Some(kind) => value.cast(kind, false),
            None => value.to_decimal(false).map(Constant::Decimal),
        };
        let overflows = || failed(format!("OverflowException: `{name}` does not fit"));
        let mut sum = in_kind(Constant::int(0)).ok_or_else(overflows)?;
        for value in values {
            let value = in_kind(value).ok_or_else(overflows)?;
            sum = compute("+", &sum, &value, (false, false), Overflow::Fails).map_err(|_| overflows())?;
        }
        if is_average {
            if let Constant::Int(..) = sum {
                sum = sum.cast(element::R8, false).unwrap_or(sum);
            }
            sum = compute("/", &sum, &count, (false, false), Overflow::Fails).map_err(|_| overflows())?;
        }
        if widest == Some(element::R4) {
            sum = sum.cast(element::R4, false).unwrap_or(sum);
        }
        let ty = match (is_average, widest) {
            (true, _) => self.averages_ty(widest, is_nullable),
            (false, Some(kind)) => self.perhaps_nullable(Ty::Primitive(kind), is_nullable),
            (false, None) => self.perhaps_nullable(inside, is_nullable),
        };
        Ok(Val::constant_of(sum, ty))
    }

    fn averages_ty(&self, widest: Option<u32>, is_nullable: bool) -> Ty {
        let ty = match widest {
            Some(element::R4) => Ty::Primitive(element::R4),
            Some(_) => Ty::Primitive(element::R8),
            None => self.ty_named("System.Decimal").unwrap_or(Ty::Other),
        };
        self.perhaps_nullable(ty, is_nullable)
    }

    fn perhaps_nullable(&self, ty: Ty, is_nullable: bool) -> Ty {
        let nullable = is_nullable.then(|| self.ty_generic("System.Nullable`1", vec![ty.clone()])).flatten();
        nullable.unwrap_or(ty)
    }

    /// `Min`, `Max`, `MinBy`, `MaxBy`: the first of those that are equal; null only where there is nothing else.
    pub(super) fn extreme(
        &mut self,
        name: &str,
        (items, of): (Vec<Val>, &Ty),
        lambda: &Lambda<'_>,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let (wanted, by) = match name.starts_with("Min") {
            true => (Ordering::Less, name.ends_with("By")),
            false => (Ordering::Greater, name.ends_with("By")),
        };
        let mut best: Option<(Val, Val)> = None;
        for (position, item) in items.into_iter().enumerate() {
            let key = self.applied(lambda, item.clone(), position, scope)?;
            let wins = match &best {
                None => true,
                Some((best, _)) if self.is_null_val(best)? => !self.is_null_val(&key)?,
                Some(_) if self.is_null_val(&key)? => false,
                Some((best, _)) => {
                    let best = best.clone();
                    self.order(&key, &best, scope)? == wanted
                }
            };
            if wins {
                best = Some((key, item));
            }
        }
        match best {
            Some((key, item)) => Ok(if by { item } else { key }),
            None => {
                let given = if by { Some(of.clone()) } else { self.lambdas_ty(lambda, of, scope) };
                match given {
                    Some(ty) if !ty.is_value() || self.nullable(&ty).is_some() => {
                        Ok(Val::constant_of(Constant::Null, ty))
                    }
                    _ => Err(empty()),
                }
            }
        }
    }

    /// The order of two values that are not null, as `Comparer<T>.Default` has it: NaN comes first.
    fn order(&mut self, a: &Val, b: &Val, scope: &Scope<'_>) -> Result<Ordering, Failure> {
        let real = |constant: &Constant| match constant {
            Constant::Single(value) => Some(f64::from(*value)),
            Constant::Double(value) => Some(*value),
            _ => None,
        };
        match (self.load(a)?, self.load(b)?) {
            (Some(Constant::Text(_)), Some(Constant::Text(_))) => {
                // Texts are compared in the culture of the program.
                let group =
                    Found::Group { target: None, ty: STRING, name: "Compare".into(), types: Vec::new() };
                let Found::Val(order) = self.invoke_with(group, vec![a.clone(), b.clone()], scope)? else {
                    return Err(failed("the texts cannot be compared"));
                };
                match self.load(&order)? {
                    Some(Constant::Int(_, order)) => Ok(order.cmp(&0)),
                    _ => Err(failed("the texts cannot be compared")),
                }
            }
            (Some(Constant::Bool(a)), Some(Constant::Bool(b))) => Ok(a.cmp(&b)),
            (Some(first), Some(second)) if real(&first).is_some_and(f64::is_nan) => {
                Ok(if real(&second).is_some_and(f64::is_nan) { Ordering::Equal } else { Ordering::Less })
            }
            (Some(_), Some(second)) if real(&second).is_some_and(f64::is_nan) => Ok(Ordering::Greater),
            _ => {
                for (operator, order) in [("<", Ordering::Less), (">", Ordering::Greater)] {
                    let holds = self.operate(operator, a.clone(), b.clone(), scope)?;
                    if self.load(&holds)? == Some(Constant::Bool(true)) {
                        return Ok(order);
                    }
                }
                Ok(Ordering::Equal)
            }
        }
    }

    /// `Aggregate`: without a seed the first item is it.
    pub(super) fn folded(
        &mut self,
        seed: Option<Val>,
        items: Vec<Val>,
        lambda: &Lambda<'_>,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let mut items = items.into_iter();
        let seed = seed.or_else(|| items.next());
        let mut so_far = seed.ok_or_else(empty)?;
        for item in items {
            so_far = self.applied_to(lambda, vec![so_far, item], scope)?;
        }
        Ok(so_far)
    }
}

fn empty() -> Failure {
    failed("InvalidOperationException: the sequence is empty")
}
