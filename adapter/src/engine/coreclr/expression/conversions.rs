//! Between types: casts, implicit conversions, `default`.

use cordebug::value::element;
use dap_wire::Failure;

use super::operators::Overflow;
use super::{Constant, Data, Scope, Val, failed};
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::types::relations::{numeric, widens};
use crate::engine::coreclr::types::ty::{OBJECT, STRING};
use crate::engine::coreclr::values::bare;

/// Deepest nesting of structs whose fields are looked through.
const DEEPEST_STRUCT: usize = 16;

/// How well an argument fits a parameter: less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    Same,
    /// A constant expression that fits, or a wider number, or a base class.
    Wider,
    /// Any object will do.
    Boxes,
    /// A conversion the types define themselves.
    Defined,
}

impl Session {
    /// `is`.
    pub(super) fn is_of(&self, val: &Val, ty: &Ty) -> Result<bool, Failure> {
        if self.is_null_val(val)? {
            return Ok(false);
        }
        let ty = self.nullable(ty).unwrap_or_else(|| ty.clone());
        let actual = self.actual(val)?;
        Ok(actual == ty || self.derives(&actual, &ty))
    }

    /// An explicit conversion.
    pub(super) fn cast(&mut self, val: Val, to: &Ty, scope: &Scope<'_>) -> Result<Val, Failure> {
        let checked = scope.overflow.get().of_constants(val.literal) == Overflow::Fails;
        if let Some(inner) = self.nullable(to) {
            if self.is_null_val(&val)? {
                return Ok(Val::constant_of(Constant::Null, to.clone()));
            }
            if !val.ty.is_value() && self.actual(&val)? != inner {
                return Err(self.no_unboxing(&val, to)?);
            }
            let val = self.out_of_nullable(val)?;
            let val = self.cast(val, &inner, scope)?;
            return Ok(Val { ty: to.clone(), literal: false, ..val });
        }
        let storage = match to {
            Ty::Primitive(kind) if numeric(*kind) || *kind == element::BOOLEAN => Some(*kind),
            other => self.enum_storage(other),
        };
        let constant = self.load(&val)?;
        if storage.is_some() || self.is_decimal(to) {
            let cannot = || {
                failed(format!("a `{}` cannot be converted to `{}`", self.csharp(&val.ty), self.csharp(to)))
            };
            match &constant {
                Some(Constant::Null) => {
                    let why = match val.ty.is_value() {
                        true => "InvalidOperationException: the nullable has no value",
                        false => "NullReferenceException: null cannot be unboxed",
                    };
                    return Err(failed(format!("{why}, so it cannot be converted to `{}`", self.csharp(to))));
                }
                // Unboxing takes exactly the type that was boxed; enums count as what they are stored as.
                Some(_) if !val.ty.is_value() && val.ty != STRING => {
                    let stored = |ty: &Ty| self.enum_storage(ty).map_or(ty.clone(), Ty::Primitive);
                    if stored(&self.actual(&val)?) != stored(to) {
                        return Err(self.no_unboxing(&val, to)?);
                    }
                }
                _ => {}
            }
            match &constant {
                Some(Constant::Text(_)) => return Err(cannot()),
                Some(Constant::Bool(value)) => {
                    return match storage == Some(element::BOOLEAN) {
                        true => Ok(Val::bool(*value)),
                        false => Err(cannot()),
                    };
                }
                Some(constant) => {
                    let converted = match storage {
                        Some(kind) => constant.cast(kind, checked),
                        None => constant.to_decimal(true).map(Constant::Decimal),
                    };
                    let converted = converted.ok_or_else(|| {
                        let is_real = matches!(constant, Constant::Single(_) | Constant::Double(_));
                        let (number, to) = (constant.plain(), self.csharp(to));
                        match is_real && storage.is_some() && !checked {
                            true => failed(format!(
                                "{number} does not fit into `{to}`; C# leaves open what an unchecked cast gives"
                            )),
                            false => failed(format!("OverflowException: {number} does not fit into `{to}`")),
                        }
                    })?;
                    return Ok(Val { data: Data::Constant(converted), ty: to.clone(), literal: val.literal });
                }
                None => {}
            }
        }
        if constant == Some(Constant::Null) && !to.is_value() {
            return Ok(Val::constant_of(Constant::Null, to.clone()));
        }
        let actual = self.actual(&val)?;
        if actual == *to || self.derives(&actual, to) {
            let val = if to.is_value() { val } else { self.out_of_nullable(val)? };
            // In a box an enum is itself, which the number does not tell.
            if self.enum_storage(&val.ty).is_some() && !to.is_value() {
                return Ok(self.in_program(val.clone(), to, scope).unwrap_or(val));
            }
            return Ok(Val { ty: to.clone(), literal: false, ..val });
        }
        if let Some(converted) = self.defined_conversion(&val, to, true, scope)? {
            return Ok(converted);
        }
        Err(failed(format!("InvalidCastException: `{}` is no `{}`", self.csharp(&actual), self.csharp(to))))
    }

    fn no_unboxing(&self, val: &Val, to: &Ty) -> Result<Failure, Failure> {
        let actual = self.csharp(&self.actual(val)?);
        Ok(failed(format!(
            "InvalidCastException: the object is a boxed `{actual}`, not a `{}`",
            self.csharp(to)
        )))
    }

    /// Whether, and how well, a value fits where `to` is wanted, without a cast.
    pub(super) fn fit(&self, val: &Val, to: &Ty) -> Option<Fit> {
        if let Ty::Reference(place) = &val.ty {
            // What `out var` declares has the parameter's type.
            let fits = matches!(to, Ty::Reference(to) if to == place || **place == Ty::Other);
            return fits.then_some(Fit::Same);
        }
        let to = to.direct();
        let from = val.ty.direct();
        if from == to {
            return Some(Fit::Same);
        }
        if let Data::Constant(Constant::Null) = val.data
            && val.ty == Ty::Null
        {
            return (!to.is_value() || self.nullable(to).is_some()).then_some(Fit::Wider);
        }
        let is_whole =
            |kind: u32| numeric(kind) && !matches!(kind, element::R4 | element::R8 | element::CHAR);
        match (from, to) {
            (Ty::Primitive(from), Ty::Primitive(to)) if numeric(*from) && numeric(*to) => {
                if widens(*from, *to) {
                    return Some(Fit::Wider);
                }
                // A constant expression of type int fits into whatever holds its value.
                return match &val.data {
                    Data::Constant(Constant::Int(element::I4, value)) if val.literal && is_whole(*to) => {
                        super::constant::fits(*to, *value).then_some(Fit::Wider)
                    }
                    Data::Constant(Constant::Int(element::I8, value))
                        if val.literal && *to == element::U8 =>
                    {
                        (*value >= 0).then_some(Fit::Wider)
                    }
                    _ => None,
                };
            }
            // The literal 0 is every enum's.
            (Ty::Primitive(element::I4), to) if val.literal && self.enum_storage(to).is_some() => {
                return matches!(val.data, Data::Constant(Constant::Int(_, 0))).then_some(Fit::Wider);
            }
            _ => {}
        }
        if *to == OBJECT {
            return Some(Fit::Boxes);
        }
        if let Some(inner) = self.nullable(to) {
            let inside = self.nullable(from).unwrap_or_else(|| from.clone());
            return self.fit(&Val { ty: inside, ..val.clone() }, &inner).map(|fit| fit.max(Fit::Wider));
        }
        if self.widens(from, to) {
            return Some(if from.is_value() && !to.is_value() { Fit::Boxes } else { Fit::Wider });
        }
        // What it holds may be more than what it was declared as: a debugger knows.
        if let (Data::At(_), false) = (&val.data, from.is_value())
            && let Ok(actual) = self.actual(val)
            && (actual == *to || self.derives(&actual, to))
        {
            return Some(Fit::Defined);
        }
        None
    }

    /// A value in the shape a variable or parameter of this type wants; it must fit.
    pub(super) fn converted(&mut self, val: Val, to: &Ty, scope: &Scope<'_>) -> Result<Val, Failure> {
        if matches!(val.ty, Ty::Reference(_)) {
            return Ok(val);
        }
        let to = to.direct();
        if val.ty == *to {
            return Ok(val);
        }
        if self.fit(&val, to).is_none() {
            if let Some(converted) = self.defined_conversion(&val, to, false, scope)? {
                return Ok(converted);
            }
            return Err(failed(format!(
                "a `{}` does not fit where a `{}` is wanted",
                self.csharp(&val.ty),
                self.csharp(to)
            )));
        }
        let inner = self.nullable(to).unwrap_or_else(|| to.clone());
        let is_number = matches!(&inner, Ty::Primitive(kind) if numeric(*kind));
        if is_number || self.is_decimal(&inner) {
            let constant = self.load(&val)?.unwrap_or(Constant::Null);
            let converted = match &inner {
                _ if constant == Constant::Null => Some(Constant::Null),
                Ty::Primitive(kind) => constant.cast(*kind, false),
                _ => constant.to_decimal(false).map(Constant::Decimal),
            };
            if let Some(constant) = converted {
                return Ok(Val { data: Data::Constant(constant), ty: to.clone(), literal: val.literal });
            }
        }
        // A box keeps the type of what is in it.
        let boxes = val.ty.is_value() && !to.is_value();
        Ok(if boxes { val } else { Val { ty: to.clone(), ..val } })
    }

    /// `op_Implicit` or `op_Explicit` of either type.
    fn defined_conversion(
        &mut self,
        val: &Val,
        to: &Ty,
        explicit: bool,
        scope: &Scope<'_>,
    ) -> Result<Option<Val>, Failure> {
        let names: &[&str] = if explicit { &["op_Implicit", "op_Explicit"] } else { &["op_Implicit"] };
        let from = val.ty.clone();
        for owner in [&from, to] {
            for name in names {
                for method in self.methods_named(owner, name) {
                    let Some(parameter) = method.parameters.first() else { continue };
                    if method.result == *to && self.fit(val, parameter).is_some_and(|fit| fit != Fit::Boxes) {
                        let parameter = parameter.clone();
                        let argument = self.converted(val.clone(), &parameter, scope)?;
                        let what = format!("({})", self.csharp(to));
                        return self.call(&scope.site, &method, None, &[argument], &what).map(Some);
                    }
                }
            }
        }
        Ok(None)
    }

    /// What a built-in operator takes of a value whose type converts itself implicitly to a built-in type: the narrowest of those.
    /// None for all others.
    pub(super) fn built_in_of(&mut self, val: &Val, scope: &Scope<'_>) -> Result<Option<Val>, Failure> {
        let inside = self.nullable(&val.ty);
        let is_lifted = inside.is_some();
        let from = inside.unwrap_or_else(|| val.ty.clone());
        if !matches!(from, Ty::Named(_)) || self.is_built_in(&from) {
            return Ok(None);
        }
        let mut targets: Vec<Ty> = Vec::new();
        for owner in self.chain(&from) {
            for method in self.methods_named(&owner, "op_Implicit") {
                let takes_it = method.parameters.first().is_some_and(|own| self.derives(&from, own.direct()));
                if takes_it && self.is_built_in(&method.result) && !targets.contains(&method.result) {
                    targets.push(method.result);
                }
            }
        }
        if targets.is_empty() {
            return Ok(None);
        }
        let is_narrowest = |to: &&Ty| targets.iter().all(|other| *to == other || self.widens(to, other));
        let to = targets.iter().find(is_narrowest).cloned().ok_or_else(|| {
            let names: Vec<String> = targets.iter().map(|ty| self.csharp(ty)).collect();
            failed(format!(
                "a `{}` converts itself to {}; cast it to one",
                self.csharp(&from),
                names.join(", ")
            ))
        })?;
        let nullable = self.ty_generic("System.Nullable`1", vec![to.clone()]).filter(|_| is_lifted);
        let ty = nullable.unwrap_or_else(|| to.clone());
        if scope.site.supposes {
            return Ok(Some(self.sample(&ty)));
        }
        if is_lifted && self.is_null_val(val)? {
            return Ok(Some(Val::constant_of(Constant::Null, ty)));
        }
        let converted = self.out_of_nullable(val.clone())?;
        let converted = self.converted(converted, &to, scope)?;
        Ok(Some(Val { ty, literal: false, ..converted }))
    }

    /// As `built_in_of`; the value itself where there is nothing to convert.
    pub(super) fn as_built_in(&mut self, val: Val, scope: &Scope<'_>) -> Result<Val, Failure> {
        Ok(self.built_in_of(&val, scope)?.unwrap_or(val))
    }

    /// Whether the language itself has operators for a type.
    pub(super) fn is_built_in(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Primitive(kind) => numeric(*kind) || matches!(*kind, element::BOOLEAN | element::STRING),
            other => self.is_decimal(other) || self.enum_storage(other).is_some(),
        }
    }

    /// `default(T)`.
    pub(super) fn default_of(&mut self, ty: &Ty, scope: &Scope<'_>) -> Result<Val, Failure> {
        let zero = match ty {
            Ty::Primitive(element::BOOLEAN) => Constant::Bool(false),
            Ty::Primitive(kind) if numeric(*kind) => {
                Constant::int(0).cast(*kind, false).unwrap_or(Constant::Null)
            }
            other if self.is_decimal(other) => Constant::Decimal(rust_decimal::Decimal::ZERO),
            other => match self.enum_storage(other) {
                Some(kind) => Constant::int(0).cast(kind, false).unwrap_or(Constant::Null),
                None if other.is_value() && self.nullable(other).is_none() => {
                    let path = self.zeroed(&scope.site, ty)?;
                    return Ok(Val::at(path, ty.clone()));
                }
                None => Constant::Null,
            },
        };
        Ok(Val { data: Data::Constant(zero), ty: ty.clone(), literal: true })
    }

    /// `sizeof(T)`: of a struct it is the runtime that knows, so one is made.
    pub(super) fn size_of(&mut self, ty: &Ty, scope: &Scope<'_>) -> Result<Val, Failure> {
        let kind = match ty {
            Ty::Primitive(kind) => Some(*kind),
            Ty::Pointer(_) => Some(element::I),
            other => self.enum_storage(other),
        };
        let size = kind.and_then(super::constant::width).or(self.is_decimal(ty).then_some(16));
        if let Some(size) = size.and_then(|size| i32::try_from(size).ok()) {
            return Ok(Val { literal: true, ..Val::int(size) });
        }
        if !self.is_unmanaged(ty, DEEPEST_STRUCT) {
            return Err(failed(format!(
                "`{}` has no size in C#: it is no struct without references",
                self.csharp(ty)
            )));
        }
        let name = self.csharp(ty);
        let lost = || failed(format!("the size of `{name}` cannot be read"));
        let made = self.zeroed(&scope.site, ty)?;
        let size = bare(&self.fetch(&made)?).and_then(|value| value.size().ok()).ok_or_else(lost)?;
        i32::try_from(size).map(Val::int).map_err(|_| lost())
    }

    /// Whether a struct and those in it hold no references.
    fn is_unmanaged(&self, ty: &Ty, deeper: usize) -> bool {
        match ty {
            Ty::Primitive(kind) => !matches!(*kind, element::STRING | element::OBJECT),
            Ty::Pointer(_) => true,
            Ty::Named(named) if named.is_value && deeper > 0 => {
                let fields = || {
                    let (loaded, token) = self.definition(ty)?;
                    let metadata = &loaded.image()?.metadata;
                    let fields = metadata.fields(token).into_iter().filter(|field| !field.is_static);
                    let field_ty = |token| Some(self.ty_of(&loaded, &metadata.field_type(token)?));
                    fields.map(|field| field_ty(field.token)).collect::<Option<Vec<_>>>()
                };
                fields().is_some_and(|fields| {
                    fields.iter().all(|field| {
                        let field = field.with(ty.arguments(), &[]);
                        field != *ty && self.is_unmanaged(&field, deeper - 1)
                    })
                })
            }
            _ => false,
        }
    }
}
