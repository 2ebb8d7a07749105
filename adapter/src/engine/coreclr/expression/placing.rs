//! Putting values into the program: new arrays, boxes, and writing to places.

use std::time::Instant;

use cordebug::value::{Value as ClrValue, element};
use dap_wire::{ErrorCode, Failure};

use super::{Constant, Data, Found, Scope, Val, failed};
use crate::engine::coreclr::cor;
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::types::ty::STRING;
use crate::engine::coreclr::values::{Path, Step, bare};

impl Session {
    /// A new array of these items.
    pub(super) fn array_with(&mut self, of: &Ty, items: Vec<Val>, scope: &Scope<'_>) -> Result<Val, Failure> {
        if *of == STRING
            && items.len() > 2
            && let Some(texts) = texts_of(&items)
        {
            return self.array_of_texts(&texts, scope);
        }
        let since = Instant::now();
        let mut ready = Vec::new();
        for item in items {
            if self.cancel.is_cancelled() {
                return Err(Failure::cancelled());
            }
            if since.elapsed() > scope.site.limit {
                let message = format!(
                    "an array of `{}` was not filled within {} ms",
                    self.csharp(of),
                    scope.site.limit.as_millis()
                );
                return Err(Failure::new(ErrorCode::EvaluationTimeout, message));
            }
            let item = self.converted(item, of, scope)?;
            ready.push(self.in_program(item, of, scope)?);
        }
        let length = u32::try_from(ready.len()).unwrap_or(u32::MAX);
        let array = self.array_of(of, length, scope)?;
        for (position, item) in ready.into_iter().enumerate() {
            let step = Step::Element(position as u32);
            let place = array.path().map(|path| path.step(step, format!("[{position}]")));
            let place = place.ok_or_else(|| failed("the new array got lost"))?;
            self.write(&place, &item, of)?;
        }
        Ok(array)
    }

    /// An array of new strings: one string that the program splits, for each that is made by itself costs a call.
    fn array_of_texts(&mut self, texts: &[Option<&str>], scope: &Scope<'_>) -> Result<Val, Failure> {
        let lost = || failed("the strings cannot be made");
        let is_free = |letter: &char| texts.iter().flatten().all(|text| !text.contains(*letter));
        let between = ('\u{1}'..='\u{1f}').chain('\u{e000}'..='\u{f8ff}').find(is_free).ok_or_else(lost)?;
        let parts: Vec<&str> = texts.iter().map(|text| text.unwrap_or_default()).collect();
        let all = Val::text(parts.join(between.encode_utf8(&mut [0; 4])));
        let split = Found::Group { target: Some(all), ty: STRING, name: "Split".into(), types: Vec::new() };
        let between = Val::plain(Constant::Int(element::CHAR, i128::from(u32::from(between))));
        let Found::Val(array) = self.invoke_with(split, vec![between], scope)? else { return Err(lost()) };
        for (position, _) in texts.iter().enumerate().filter(|(_, text)| text.is_none()) {
            let step = Step::Element(u32::try_from(position).unwrap_or(u32::MAX));
            let place = array.path().map(|path| path.step(step, format!("[{position}]"))).ok_or_else(lost)?;
            self.write(&place, &Val::null(), &STRING)?;
        }
        Ok(array)
    }

    /// A new array of zeros.
    pub(super) fn array_of(&mut self, of: &Ty, length: u32, scope: &Scope<'_>) -> Result<Val, Failure> {
        let what = format!("new {}[{length}]", self.csharp(of));
        if of.is_value() && (!matches!(of, Ty::Primitive(_)) || self.is_decimal(of)) {
            return self.array_of_structs(of, length, &what, scope);
        }
        let element = self.runtime_type(scope.site.thread, of)?;
        let made = self.run_in(&scope.site, &what, None, |eval| eval.new_array(&element, length))?;
        self.given(made, &of.clone().vector(), &what)
    }

    /// The runtime's evaluations make no arrays of structs; a list makes one for itself.
    fn array_of_structs(
        &mut self,
        of: &Ty,
        length: u32,
        what: &str,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let lost = || failed(format!("`{what}` cannot be made"));
        let list = self.ty_generic("System.Collections.Generic.List`1", vec![of.clone()]).ok_or_else(lost)?;
        let length = Val::plain(Constant::Int(element::I4, length.into()));
        let list = self.made(&list, vec![length], &[None], scope)?;
        let path = list.path().ok_or_else(lost)?;
        let value = bare(&self.fetch(path)?).ok_or_else(lost)?;
        let step = self.member(&value, "_items").ok_or_else(lost)?;
        Ok(Val::at(path.step(step, what.to_owned()), of.clone().vector()))
    }

    /// A value that writing needs to be in the program already: strings and boxes.
    pub(super) fn in_program(&mut self, val: Val, to: &Ty, scope: &Scope<'_>) -> Result<Val, Failure> {
        match &val.data {
            Data::Constant(Constant::Null) => Ok(val),
            Data::Constant(constant) if !to.is_value() => {
                let path = self.boxed(&scope.site, constant, &val.ty)?;
                Ok(Val::at(path, to.clone()))
            }
            Data::At(path) if !to.is_value() && self.fetch(path)?.as_reference().is_none() => {
                if let Some(constant) = self.load(&val)? {
                    let path = self.boxed(&scope.site, &constant, &val.ty)?;
                    return Ok(Val::at(path, to.clone()));
                }
                let path = self.boxed_copy(&scope.site, path)?;
                Ok(Val::at(path, to.clone()))
            }
            _ => Ok(val),
        }
    }

    /// Writes to a place in the program what `converted` and `in_program` have prepared.
    pub(super) fn write(&mut self, place: &Path, val: &Val, ty: &Ty) -> Result<(), Failure> {
        let done = self.written(place, val, ty);
        // The debugging library copies what an object holds.
        self.known.holder.take();
        done
    }

    fn written(&mut self, place: &Path, val: &Val, ty: &Ty) -> Result<(), Failure> {
        let what = || format!("set `{}`", place.name);
        if matches!(val.data, Data::Constant(Constant::Null)) && self.unloaded(place).is_some() {
            return Ok(());
        }
        let ty = ty.direct();
        let target = self.place(place)?;
        let misfit = |session: &Self| {
            failed(format!(
                "a `{}` does not fit into `{}`, which is `{}`",
                session.csharp(&val.ty),
                place.name,
                session.csharp(ty)
            ))
        };
        if let Some(inner) = self.nullable(ty) {
            return self.write_nullable(place, val, &inner);
        }
        if !ty.is_value() {
            let reference = target.as_reference().ok_or_else(|| misfit(self))?;
            let address = self.address(val)?.ok_or_else(|| misfit(self))?;
            return reference.set_target(address).map_err(cor(what()));
        }
        let target = match target.as_reference() {
            Some(_) => bare(&target).ok_or_else(|| misfit(self))?,
            None => target,
        };
        let bytes = match &val.data {
            Data::Constant(constant) => self.bytes_as(constant, ty).ok_or_else(|| misfit(self))?,
            Data::At(path) => {
                let from = bare(&self.fetch(path)?).ok_or_else(|| misfit(self))?;
                if self.declared_ty(&from) != self.declared_ty(&target) {
                    return Err(misfit(self));
                }
                return self.copy_struct(place, path, &from, &target);
            }
        };
        target.set_bytes(&bytes).map_err(cor(what()))
    }

    /// What is written to: of a `ref` variable or field what it refers to.
    fn place(&self, path: &Path) -> Result<ClrValue, Failure> {
        let value = self.fetch(path)?;
        if value.element_type() != Ok(element::BYREF) {
            return Ok(value);
        }
        let reference = value.as_reference().map(|reference| reference.dereference());
        let behind = reference.ok_or_else(|| failed(format!("`{}` refers to nothing", path.name)))?;
        behind.map_err(cor(format!("follow `{}`", path.name)))
    }

    fn write_nullable(&mut self, place: &Path, val: &Val, inner: &Ty) -> Result<(), Failure> {
        let lost = || failed(format!("`{}` cannot be written to", place.name));
        let target = self.place(place)?;
        let flag = self.field_named(&target, "hasValue").ok_or_else(lost)?;
        let is_null = self.is_null_val(val)?;
        flag.set_bytes(&[u8::from(!is_null)]).map_err(cor(format!("set `{}`", place.name)))?;
        if is_null {
            return Ok(());
        }
        let step = self.member(&target, "value").ok_or_else(lost)?;
        let val = self.out_of_nullable(val.clone())?;
        self.write(&place.step(step, place.name.clone()), &val, inner)
    }

    /// Structs are copied as bytes; those with references in them field by field, so that the collector knows.
    fn copy_struct(
        &mut self,
        place: &Path,
        from: &Path,
        value: &ClrValue,
        target: &ClrValue,
    ) -> Result<(), Failure> {
        let fields = self.members_of_struct(value);
        if fields.is_empty() {
            let bytes = value.bytes().map_err(cor(format!("read `{}`", from.name)))?;
            return target.set_bytes(&bytes).map_err(cor(format!("set `{}`", place.name)));
        }
        for (step, name, ty) in fields {
            let inner = Val::at(from.step(step, format!("{}.{name}", from.name)), ty.clone());
            self.write(&place.step(step, format!("{}.{name}", place.name)), &inner, &ty)?;
        }
        Ok(())
    }

    fn members_of_struct(&self, value: &ClrValue) -> Vec<(Step, String, Ty)> {
        let fields = self.members(value).into_iter();
        fields
            .filter_map(|member| {
                let inner = self.field_at(value, member.step)?;
                Some((member.step, member.name, self.declared_ty(&inner)))
            })
            .collect()
    }
}

/// The texts of values that are all of them here.
fn texts_of(items: &[Val]) -> Option<Vec<Option<&str>>> {
    items
        .iter()
        .map(|item| match &item.data {
            Data::Constant(Constant::Text(text)) => Some(Some(text.as_str())),
            Data::Constant(Constant::Null) => Some(None),
            _ => None,
        })
        .collect()
}
