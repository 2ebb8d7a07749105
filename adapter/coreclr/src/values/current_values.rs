//! Reads the current values at paths, with types and constants. Converts nothing.

use cordebug::hresult::CORDBG_E_CLASS_NOT_LOADED;
use cordebug::value::{Value as ClrValue, element};
use tandem_wire::Failure;

use crate::bare_value::bare;
use crate::cor;
use crate::expression_syntax::failed;
use crate::fields::class_up;
use crate::stop_context::StopContext;
use crate::typed_value::{Constant, TypedValue, ValueLocation};
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::types::ty::OBJECT;
use crate::value_path::{NameType, Path, PathRoot, PathSegment};

/// Longest string in computations, UTF-16 units.
const MAX_TEXT_LEN: u32 = 1 << 24;

impl StopContext<'_> {
    /// The path with a name of its object's type. The evaluator finds members that only this type has in what
    /// it can read, but not in the result of a call.
    pub(crate) fn cast_to_actual(&self, path: &Path) -> Path {
        let cast = || {
            let actual = self.types.declared_ty(&bare(&self.fetch(path).ok()?)?);
            let is_base = match path.name_type {
                NameType::Actual => false,
                NameType::Base => true,
                NameType::Declared if path.is_called || matches!(path.root, PathRoot::Handle(_)) => {
                    self.type_of_place(path).is_some_and(|ty| !ty.is_value() && *ty.direct() != actual)
                }
                NameType::Declared => false,
            };
            let name = is_base.then(|| format!("(({}){})", self.types.csharp(&actual), path.name))?;
            Some(Path { name, name_type: NameType::Actual, ..path.clone() })
        };
        cast().unwrap_or_else(|| path.clone())
    }

    /// The declared type of the field or element at the end of a path.
    pub(super) fn type_of_place(&self, path: &Path) -> Option<Ty> {
        let (PathSegment::Element(_), before) = path.steps.split_last()? else {
            return self.type_of_field(path);
        };
        let array = Path { steps: before.to_vec(), ..path.clone() };
        match self.types.declared_ty(&bare(&self.fetch(&array).ok()?)?) {
            Ty::Vector(of) | Ty::Array(of, _) => Some(*of),
            _ => None,
        }
    }

    /// The path of an item with a name of this static type.
    pub(crate) fn with_name_type(&self, path: Path, ty: &Ty) -> Path {
        let actual = self.fetch(&path).ok().and_then(|value| bare(&value));
        let actual = actual.map(|value| self.types.declared_ty(&value));
        let is_base = !ty.is_value() && actual.is_some_and(|actual| actual != *ty.direct());
        let name_type = if is_base { NameType::Base } else { NameType::Declared };
        Path { name_type, ..path }
    }

    /// A value by its path, with its declared type.
    pub(crate) fn val_at(&self, path: Path) -> Result<TypedValue, Failure> {
        let value = match self.fetch(&path) {
            Ok(value) => value,
            Err(failure) => return self.unloaded(&path).map(|ty| TypedValue::at(path, ty)).ok_or(failure),
        };
        let ty = self.variable_ty(&path).unwrap_or_else(|| self.types.declared_ty(&value));
        let ty = if matches!(ty, Ty::Other) { self.types.actual_ty(&value) } else { ty };
        Ok(TypedValue::at(path, ty))
    }

    /// The type of a field or variable whose class the runtime has not loaded yet. The runtime refuses to
    /// read it, but since no object of such a class exists, the value is null.
    pub(crate) fn unloaded(&self, path: &Path) -> Option<Ty> {
        self.type_not_loaded(path).filter(|ty| !ty.is_value())
    }

    /// The same for any type of which values may exist: an enum in a generic class, whose type
    /// only the debugger needs.
    pub(crate) fn type_not_loaded(&self, path: &Path) -> Option<Ty> {
        let is_unloaded = |read: cordebug::Result<ClrValue>| {
            read.is_err_and(|error| error.hresult == CORDBG_E_CLASS_NOT_LOADED).then_some(())
        };
        Some(match (path.steps.split_last(), &path.root) {
            (Some((PathSegment::Field { up, token }, before)), _) => {
                let of = Path { steps: before.to_vec(), ..path.clone() };
                let of = bare(&self.fetch(&of).ok()?)?;
                is_unloaded(of.field(&class_up(&of, *up).ok()?, *token))?;
                let owner = self.types.chain(&self.types.declared_ty(&of)).get(*up)?.clone();
                let (loaded, _) = self.types.definition(&owner)?;
                let declared = loaded.image()?.metadata.field_type(*token)?;
                self.types.ty_of(&loaded, &declared).with(owner.arguments(), &[])
            }
            (None, PathRoot::Local { thread, frame, slot }) => {
                is_unloaded(self.frame_at(*thread, *frame).ok()?.local(*slot))?;
                self.variable_ty(path)?
            }
            (None, PathRoot::Argument { thread, frame, index }) => {
                is_unloaded(self.frame_at(*thread, *frame).ok()?.argument(*index))?;
                self.variable_ty(path)?
            }
            _ => return None,
        })
    }

    /// The declared type of an argument or local. For a reference the runtime reports only the
    /// type that it refers to.
    fn variable_ty(&self, path: &Path) -> Option<Ty> {
        let (thread, frame) = path.frame()?;
        path.steps.is_empty().then_some(())?;
        let frame = self.frame_at(thread, frame).ok()?;
        let function = frame.function().ok()?;
        let loaded = self.types.modules.of(&function.module().ok()?)?;
        let metadata = &loaded.image()?.metadata;
        let token = function.token().ok()?;
        let signature = match path.root {
            PathRoot::Local { slot, .. } => {
                metadata.local_types(function.locals_token().ok()?).into_iter().nth(slot as usize)?
            }
            PathRoot::Argument { index, .. } => {
                let signature = metadata.method_signature(token)?;
                let position = (index as usize).checked_sub(usize::from(signature.has_this))?;
                signature.parameters.into_iter().nth(position)?
            }
            _ => return None,
        };
        let types: Vec<Ty> = frame
            .type_parameters()
            .unwrap_or_default()
            .iter()
            .map(|kind| self.types.ty_of_runtime(kind))
            .collect();
        let of_class = metadata.generic_parameters(metadata.owner_of(token)).len().min(types.len());
        let (class, method) = types.split_at(of_class);
        let ty = self.types.ty_of(&loaded, &signature).with(class, method).direct().clone();
        (!ty.is_open() && ty != Ty::Other).then_some(ty)
    }

    /// As `constant_of`, for any kind of value.
    pub(crate) fn load(&self, val: &TypedValue) -> Result<Option<Constant>, Failure> {
        match &val.data {
            ValueLocation::Constant(constant) => Ok(Some(constant.clone())),
            ValueLocation::At(Path { root: PathRoot::Memory { at, ty }, .. }) => {
                self.read_number(at, ty).map(Some)
            }
            ValueLocation::At(path) => match self.fetch(path) {
                Ok(value) => Ok(self.types.constant_of(&value)),
                Err(failure) => self.unloaded(path).map(|_| Some(Constant::Null)).ok_or(failure),
            },
        }
    }

    /// The type of the current value.
    pub(crate) fn actual(&self, val: &TypedValue) -> Result<Ty, Failure> {
        Ok(match &val.data {
            ValueLocation::Constant(constant) => match (self.types.nullable(&val.ty), constant) {
                (Some(inner), _) => inner,
                (None, _) if val.ty.is_value() => val.ty.clone(),
                (None, Constant::Decimal(_)) => self.types.ty_named("System.Decimal").unwrap_or(OBJECT),
                (None, constant) => constant.ty(),
            },
            ValueLocation::At(Path { root: PathRoot::Memory { ty, .. }, .. }) => (**ty).clone(),
            ValueLocation::At(path) => {
                let ty = match self.fetch(path) {
                    Ok(value) => self.types.actual_ty(&value),
                    Err(failure) => self.unloaded(path).ok_or(failure)?,
                };
                self.types.nullable(&ty).unwrap_or(ty)
            }
        })
    }

    pub(crate) fn is_null_val(&self, val: &TypedValue) -> Result<bool, Failure> {
        Ok(match &val.data {
            ValueLocation::Constant(constant) => is_null_constant(constant, &val.ty),
            ValueLocation::At(Path { root: PathRoot::Memory { .. }, .. }) => {
                matches!(val.ty, Ty::Pointer(_))
                    && self.load(val)?.is_some_and(|address| is_null_constant(&address, &val.ty))
            }
            ValueLocation::At(path) => {
                let value = match self.fetch(path) {
                    Ok(value) => value,
                    Err(failure) => return self.unloaded(path).map(|_| true).ok_or(failure),
                };
                match bare(&value) {
                    None => true,
                    // A pointer is never removed, not even a null pointer.
                    Some(bare) if matches!(bare.element_type(), Ok(element::PTR | element::FNPTR)) => {
                        let pointer = bare.as_reference();
                        pointer.is_some_and(|pointer| pointer.target().is_ok_and(|address| address == 0))
                    }
                    Some(_) => {
                        self.types.nullable(&val.ty).is_some()
                            && self.types.constant_of(&value) == Some(Constant::Null)
                    }
                }
            }
        })
    }

    /// The value of a nullable that is not null.
    pub(crate) fn out_of_nullable(&self, val: TypedValue) -> Result<TypedValue, Failure> {
        let Some(inner) = self.types.nullable(&val.ty) else { return Ok(val) };
        match val.data {
            // A nullable in memory is read where it is found: this is a value that was converted.
            ValueLocation::At(path) if path.memory().is_some() => Ok(TypedValue::at(path, inner)),
            ValueLocation::At(path) => {
                let value = bare(&self.fetch(&path)?).ok_or_else(|| failed("it is null"))?;
                match self.types.member(&value, "value") {
                    Some(step) if self.types.nullable(&self.types.declared_ty(&value)).is_some() => {
                        let name = format!("{}.Value", path.name);
                        Ok(TypedValue::at(path.step(step, name), inner))
                    }
                    _ => Ok(TypedValue::at(path, inner)),
                }
            }
            data => Ok(TypedValue { data, ty: inner }),
        }
    }

    /// The address in a reference; 0 for null.
    pub(crate) fn address(&self, val: &TypedValue) -> Result<Option<u64>, Failure> {
        match &val.data {
            ValueLocation::Constant(Constant::Null) => Ok(Some(0)),
            ValueLocation::Constant(_) => Ok(None),
            ValueLocation::At(path) => {
                let value = self.fetch(path)?;
                value
                    .as_reference()
                    .map(|reference| reference.target().map_err(cor("read an address")))
                    .transpose()
            }
        }
    }
}

impl ClrTypeSystem {
    /// The constant in a value: primitives, strings, decimals, enums as their numbers, pointers as their
    /// addresses, nullables as their values. `None` for other objects.
    pub(crate) fn constant_of(&self, value: &ClrValue) -> Option<Constant> {
        let Some(inner) = bare(value) else { return Some(Constant::Null) };
        if let Some(string) = inner.as_string() {
            return match string.length() {
                Ok(length) if length <= MAX_TEXT_LEN => string.text(length).ok().map(Constant::Text),
                _ => None,
            };
        }
        let kind = inner.element_type().ok()?;
        if matches!(kind, element::BOOLEAN..=element::R8 | element::I | element::U) {
            return Constant::from_bytes(kind, &inner.bytes().ok()?);
        }
        if kind == element::PTR {
            let target = inner.as_reference()?.target().ok()?;
            return Some(Constant::Int(element::U8, i128::from(target)));
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
}

/// Whether a constant of this type is null. A pointer may be held as a number.
fn is_null_constant(constant: &Constant, ty: &Ty) -> bool {
    *constant == Constant::Null || matches!((constant, ty), (Constant::Int(_, 0), Ty::Pointer(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ty::INT;

    #[test]
    fn pointer_held_as_zero_is_null() {
        let zero = Constant::Int(element::U8, 0);
        assert!(is_null_constant(&zero, &Ty::Pointer(Box::new(INT))));
        assert!(!is_null_constant(&zero, &INT));
        assert!(!is_null_constant(&Constant::Int(element::U8, 8), &Ty::Pointer(Box::new(INT))));
    }
}
