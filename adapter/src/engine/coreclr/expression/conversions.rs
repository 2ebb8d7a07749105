//! From values of the program to constants and between types: loading, casts, `default`, and implicit conversions.

use cordebug::value::{Value as ClrValue, element};
use dap_wire::Failure;
use tree_sitter::Node as Syntax;

use super::operators::Overflow;
use super::walk::child;
use super::{Constant, Data, Scope, Val, failed};
use crate::engine::coreclr::cor;
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::types::relations::{numeric, widens};
use crate::engine::coreclr::types::ty::OBJECT;
use crate::engine::coreclr::values::{Path, Root, Step, bare};

/// Longest string that is computed with, UTF-16 units.
const LONGEST_TEXT: u32 = 1 << 24;

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
    /// A value by the way to it, with the type it was declared with.
    pub(crate) fn val_at(&self, path: Path) -> Result<Val, Failure> {
        let value = self.fetch(&path)?;
        let ty = self.variable_ty(&path).unwrap_or_else(|| self.declared_ty(&value));
        let ty = if matches!(ty, Ty::Other) { self.actual_ty(&value) } else { ty };
        Ok(Val::at(path, ty))
    }

    /// The type an argument or local was declared with. The runtime tells of a reference only what it refers to.
    fn variable_ty(&self, path: &Path) -> Option<Ty> {
        let (thread, frame) = path.frame()?;
        path.steps.is_empty().then_some(())?;
        let frame = self.frame_at(thread, frame).ok()?;
        let function = frame.function().ok()?;
        let loaded = self.modules.of(&function.module().ok()?)?;
        let metadata = &loaded.image()?.metadata;
        let token = function.token().ok()?;
        let signature = match path.root {
            Root::Local { slot, .. } => {
                metadata.local_types(function.locals_token().ok()?).into_iter().nth(slot as usize)?
            }
            Root::Argument { index, .. } => {
                let signature = metadata.method_signature(token)?;
                let position = (index as usize).checked_sub(usize::from(signature.has_this))?;
                signature.parameters.into_iter().nth(position)?
            }
            _ => return None,
        };
        let types: Vec<Ty> =
            frame.type_parameters().unwrap_or_default().iter().map(|kind| self.ty_of_runtime(kind)).collect();
        let of_class = metadata.generic_parameters(metadata.owner_of(token)).len().min(types.len());
        let (class, method) = types.split_at(of_class);
        let ty = self.ty_of(&loaded, &signature).with(class, method).direct().clone();
        (!ty.is_open() && ty != Ty::Other).then_some(ty)
    }

    /// The constant a value holds: primitives, strings, decimals, enums as their numbers, nullables as what they hold.
    /// `None` for other objects.
    pub(crate) fn constant_of(&self, value: &ClrValue) -> Option<Constant> {
        let Some(inner) = bare(value) else { return Some(Constant::Null) };
        if let Some(string) = inner.as_string() {
            return string.text(LONGEST_TEXT).ok().map(Constant::Text);
        }
        let kind = inner.element_type().ok()?;
        if matches!(kind, element::BOOLEAN..=element::R8 | element::I | element::U) {
            return Constant::from_bytes(kind, &inner.bytes().ok()?);
        }
        if kind != element::VALUETYPE {
            return None;
        }
        let ty = self.declared_ty(&inner);
        if let Ty::Primitive(kind) = ty {
            return Constant::from_bytes(kind, &inner.bytes().ok()?);
        }
        if let Some(kind) = self.enum_storage(&ty) {
            return Constant::from_bytes(kind, &inner.bytes().ok()?);
        }
        match self.full_name(&ty).as_str() {
            "System.Decimal" => Constant::decimal(&inner.bytes().ok()?),
            "System.Nullable`1" => {
                let has = self.field_named(&inner, "hasValue")?.bytes().ok()?;
                match has.first() {
                    Some(0) | None => Some(Constant::Null),
                    Some(_) => self.constant_of(&self.field_named(&inner, "value")?),
                }
            }
            _ => None,
        }
    }

    /// As `constant_of`, wherever the value is.
    pub(crate) fn load(&self, val: &Val) -> Result<Option<Constant>, Failure> {
        match &val.data {
            Data::Constant(constant) => Ok(Some(constant.clone())),
            Data::At(path) => Ok(self.constant_of(&self.fetch(path)?)),
        }
    }

    /// The type of what a value holds now.
    pub(super) fn actual(&self, val: &Val) -> Result<Ty, Failure> {
        Ok(match &val.data {
            Data::Constant(Constant::Decimal(_)) => self.ty_named("System.Decimal").unwrap_or(OBJECT),
            Data::Constant(constant) => match self.nullable(&val.ty) {
                Some(inner) => inner,
                None if self.enum_storage(&val.ty).is_some() => val.ty.clone(),
                None => constant.ty(),
            },
            Data::At(path) => {
                let ty = self.actual_ty(&self.fetch(path)?);
                self.nullable(&ty).unwrap_or(ty)
            }
        })
    }

    pub(super) fn is_null_val(&self, val: &Val) -> Result<bool, Failure> {
        Ok(match &val.data {
            Data::Constant(constant) => *constant == Constant::Null,
            Data::At(path) => {
                let value = self.fetch(path)?;
                match bare(&value) {
                    None => true,
                    Some(_) => {
                        self.nullable(&val.ty).is_some() && self.constant_of(&value) == Some(Constant::Null)
                    }
                }
            }
        })
    }

    /// What a nullable value that is not null holds.
    pub(super) fn out_of_nullable(&self, val: Val) -> Result<Val, Failure> {
        let Some(inner) = self.nullable(&val.ty) else { return Ok(val) };
        match val.data {
            Data::At(path) => {
                let value = bare(&self.fetch(&path)?).ok_or_else(|| failed("it is null"))?;
                match self.member(&value, "value") {
                    Some(step) if self.nullable(&self.declared_ty(&value)).is_some() => {
                        let name = format!("{}.Value", path.name);
                        Ok(Val::at(path.step(step, name), inner))
                    }
                    _ => Ok(Val::at(path, inner)),
                }
            }
            data => Ok(Val { data, ty: inner, literal: false }),
        }
    }

    /// What a pointer points to.
    pub(super) fn behind(&self, val: &Val) -> Result<Val, Failure> {
        match (&val.data, &val.ty) {
            (Data::At(path), Ty::Pointer(of)) => {
                let path = path.step(Step::Behind, format!("(*{})", path.name));
                self.fetch(&path)?;
                Ok(Val::at(path, (**of).clone()))
            }
            _ => Err(failed(format!("`*` needs a pointer, not `{}`", self.csharp(&val.ty)))),
        }
    }

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
            let val = self.out_of_nullable(val)?;
            let val = self.cast(val, &inner, scope)?;
            return Ok(Val { ty: to.clone(), ..val });
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
                    return Err(failed(format!("null cannot be converted to `{}`", self.csharp(to))));
                }
                // Unboxing takes exactly the type that was boxed.
                Some(_)
                    if val.ty == OBJECT
                        && self.actual(&val)? != *to
                        && self.enum_storage(&self.actual(&val)?) != storage =>
                {
                    let actual = self.csharp(&self.actual(&val)?);
                    return Err(failed(format!(
                        "InvalidCastException: the object is a boxed `{actual}`, not a `{}`",
                        self.csharp(to)
                    )));
                }
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
                        failed(format!(
                            "OverflowException: {} does not fit into `{}`",
                            constant.plain(),
                            self.csharp(to)
                        ))
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
            return Ok(Val { ty: to.clone(), literal: false, ..val });
        }
        if let Some(converted) = self.defined_conversion(&val, to, true, scope)? {
            return Ok(converted);
        }
        Err(failed(format!("InvalidCastException: `{}` is no `{}`", self.csharp(&actual), self.csharp(to))))
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

    pub(super) fn size_of(&self, ty: &Ty) -> Result<Val, Failure> {
        let kind = match ty {
            Ty::Primitive(kind) => Some(*kind),
            Ty::Pointer(_) => Some(element::I),
            other => self.enum_storage(other),
        };
        let size = kind.and_then(super::constant::width).or(self.is_decimal(ty).then_some(16));
        let size = size.and_then(|size| i32::try_from(size).ok());
        size.map(Val::int)
            .ok_or_else(|| failed(format!("the size of `{}` is not fixed in C#", self.csharp(ty))))
    }

    /// `a ? b : c` has one type, whichever is chosen: the wider of two numbers.
    pub(super) fn in_common_type(
        &mut self,
        val: Val,
        node: Syntax<'_>,
        condition: bool,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let other = child(node, if condition { "alternative" } else { "consequence" })?;
        // The other side is looked at only when it is a literal: it must not run.
        let other = match other.kind() {
            "integer_literal" | "real_literal" | "identifier" => self.value(other, scope).ok(),
            _ => None,
        };
        match other {
            Some(other)
                if other.ty != val.ty
                    && self.fit(&other, &val.ty).is_none()
                    && self.widens(&val.ty, &other.ty)
                    && other.ty.is_value() =>
            {
                let ty = other.ty;
                self.converted(val, &ty, scope)
            }
            _ => Ok(Val { literal: false, ..val }),
        }
    }

    /// The address a reference value holds; 0 for null.
    pub(super) fn address(&self, val: &Val) -> Result<Option<u64>, Failure> {
        match &val.data {
            Data::Constant(Constant::Null) => Ok(Some(0)),
            Data::Constant(_) => Ok(None),
            Data::At(path) => {
                let value = self.fetch(path)?;
                value
                    .as_reference()
                    .map(|reference| reference.target().map_err(cor("read an address")))
                    .transpose()
            }
        }
    }
}
