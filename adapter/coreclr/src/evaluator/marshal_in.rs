//! Values that go into the program: boxes, and writes to locations. Not here: new objects
//! ([`super::object_creation`]), and arguments of calls ([`crate::calls`]).

use cordebug::value::{Value as ClrValue, element};
use tandem_csharp::eval::NO_PLACE;
use tandem_wire::Failure;

use super::{Constant, TypedValue, ValueLocation, failed};
use crate::bare_value::bare;
use crate::cor;
use crate::func_eval::EvalContext;
use crate::session::ClrSession;
use crate::stop_context::StopContext;
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::value_path::{Path, PathRoot, PathSegment};

/// Whether a path leads to a variable: a value that is only readable as an object, such as an element of a
/// span, is not at its storage.
pub(super) fn is_variable(path: &Path, ty: &Ty) -> bool {
    !matches!(path.root, PathRoot::Handle(_)) || !path.steps.is_empty() || ty.direct().is_value()
}

impl ClrSession {
    /// A value that must exist in the program before it is written: strings and boxes.
    pub(super) fn in_program(
        &mut self,
        val: TypedValue,
        to: &Ty,
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        match &val.data {
            ValueLocation::Constant(Constant::Null) => Ok(val),
            ValueLocation::Constant(constant) if !to.is_value() => {
                let path = self.box_constant(site, constant, &val.ty)?;
                Ok(TypedValue::at(path, to.clone()))
            }
            ValueLocation::At(path)
                if !to.is_value() && self.at_stop().fetch(path)?.as_reference().is_none() =>
            {
                if let Some(constant) = self.at_stop().load(&val)? {
                    let path = self.box_constant(site, &constant, &val.ty)?;
                    return Ok(TypedValue::at(path, to.clone()));
                }
                let path = self.boxed_copy(site, path)?;
                Ok(TypedValue::at(path, to.clone()))
            }
            _ => Ok(val),
        }
    }

    /// Writes a value to a location; returns the value there afterwards.
    pub(super) fn store(
        &mut self,
        path: &Path,
        val: &TypedValue,
        ty: &Ty,
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        if !is_variable(path, ty) {
            return Err(failed(format!("`{}` {NO_PLACE}", path.name)));
        }
        let val = self.at_stop().read_if_in_memory(val)?;
        let ready = self.in_program(val, ty, site)?;
        self.at_stop().write(path, &ready, ty)?;
        Ok(match ready.data {
            ValueLocation::Constant(constant) => TypedValue::constant_of(constant, ty.clone()),
            // A struct in memory cannot be read as a whole.
            ValueLocation::At(_) if path.memory().is_some() => ready,
            ValueLocation::At(_) => TypedValue::at(path.clone(), ty.clone()),
        })
    }
}

impl StopContext<'_> {
    /// Writes a value that [`ClrSession::in_program`] has prepared to a location in the program.
    pub(crate) fn write(&self, place: &Path, val: &TypedValue, ty: &Ty) -> Result<(), Failure> {
        let count_write = || self.debuggee.times_written.set(self.debuggee.times_written.get() + 1);
        let done = match &place.root {
            PathRoot::Memory { at, ty } => {
                let (address, bytes) = (self.memory_address(at)?, self.bytes_in_memory(val, ty)?);
                count_write();
                self.write_bytes(address, &bytes)
            }
            _ => {
                count_write();
                self.write_value(place, val, ty)
            }
        };
        // The debugging library caches the contents of an object, which may contain that memory.
        self.values.holder.take();
        done
    }

    fn write_value(&self, place: &Path, val: &TypedValue, ty: &Ty) -> Result<(), Failure> {
        let what = format_args!("set `{}`", place.name);
        if matches!(val.data, ValueLocation::Constant(Constant::Null)) && self.unloaded(place).is_some() {
            return Ok(());
        }
        let ty = ty.direct();
        let target = self.location_of(place)?;
        if let (Ty::Pointer(_), Some(pointer)) = (ty, target.as_reference()) {
            return pointer.set_target(self.pointer_address(val)?).map_err(cor(what));
        }
        let misfit = |session: &Self| {
            failed(format!(
                "a `{}` does not fit into `{}`, which is `{}`",
                session.types.csharp(&val.ty),
                place.name,
                session.types.csharp(ty)
            ))
        };
        if let Some(inner) = self.types.nullable(ty) {
            return self.write_nullable(place, val, &inner);
        }
        if !ty.is_value() {
            let reference = target.as_reference().ok_or_else(|| misfit(self))?;
            let address = self.address(val)?.ok_or_else(|| misfit(self))?;
            return reference.set_target(address).map_err(cor(what));
        }
        let target = match target.as_reference() {
            Some(_) => bare(&target).ok_or_else(|| misfit(self))?,
            None => target,
        };
        let bytes = match &val.data {
            ValueLocation::Constant(constant) => {
                self.types.bytes_as(constant, ty).ok_or_else(|| misfit(self))?
            }
            ValueLocation::At(path) => {
                let from = bare(&self.fetch(path)?).ok_or_else(|| misfit(self))?;
                if self.types.declared_ty(&from) != self.types.declared_ty(&target) {
                    return Err(misfit(self));
                }
                return self.copy_struct(place, path, &from, &target);
            }
        };
        target.set_bytes(&bytes).map_err(cor(what))
    }

    /// The value to write to: for a `ref` variable or field, the value that it refers to.
    fn location_of(&self, path: &Path) -> Result<ClrValue, Failure> {
        let value = self.fetch(path)?;
        if value.element_type() != Ok(element::BYREF) {
            return Ok(value);
        }
        let reference = value.as_reference().map(|reference| reference.dereference());
        let behind = reference.ok_or_else(|| failed(format!("`{}` refers to nothing", path.name)))?;
        behind.map_err(cor(format_args!("follow `{}`", path.name)))
    }

    fn write_nullable(&self, place: &Path, val: &TypedValue, inner: &Ty) -> Result<(), Failure> {
        let lost = || failed(format!("`{}` cannot be written to", place.name));
        let target = self.location_of(place)?;
        let flag = self.types.field_named(&target, "hasValue").ok_or_else(lost)?;
        let is_null = self.is_null_val(val)?;
        flag.set_bytes(&[u8::from(!is_null)]).map_err(cor(format_args!("set `{}`", place.name)))?;
        if is_null {
            return Ok(());
        }
        let step = self.types.member(&target, "value").ok_or_else(lost)?;
        let val = self.out_of_nullable(val.clone())?;
        self.write(&place.step(step, place.name.clone()), &val, inner)
    }

    /// Copies structs as bytes; those with references field by field, so that the garbage collector knows.
    /// A `ref struct` is always on a stack, which the collector scans anyway, and a write to one of its `ref`
    /// fields would go to what the field refers to.
    fn copy_struct(
        &self,
        place: &Path,
        from: &Path,
        value: &ClrValue,
        target: &ClrValue,
    ) -> Result<(), Failure> {
        let fields = self.types.members_of_struct(value);
        let ty = self.types.declared_ty(value);
        if fields.is_empty() || self.types.is_ref_struct(&ty) || self.types.is_unmanaged(&ty) {
            let bytes = value.bytes().map_err(cor(format_args!("read `{}`", from.name)))?;
            return target.set_bytes(&bytes).map_err(cor(format_args!("set `{}`", place.name)));
        }
        for (step, name, ty) in fields {
            let inner = TypedValue::at(from.step(step, format!("{}.{name}", from.name)), ty.clone());
            self.write(&place.step(step, format!("{}.{name}", place.name)), &inner, &ty)?;
        }
        Ok(())
    }
}

impl ClrTypeSystem {
    fn members_of_struct(&self, value: &ClrValue) -> Vec<(PathSegment, String, Ty)> {
        let fields = self.members(value).into_iter();
        fields
            .filter_map(|member| {
                let inner = self.field_at(value, member.step)?;
                Some((member.step, member.name, self.declared_ty(&inner)))
            })
            .collect()
    }
}
