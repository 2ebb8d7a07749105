//! Values in memory without a variable: elements of spans, inline arrays and fixed buffers, targets of
//! pointers, and the fields of structs there. They are read and written as bytes.
//!
//! Not here: `readMemory` (`coreclr::memory`).

use cordebug::value::{Value as ClrValue, element};
use tandem_wire::Failure;

use super::{Constant, TypedValue, ValueLocation, failed};
use crate::bare_value::bare;
use crate::cor;
use crate::stop_context::StopContext;
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::value_path::{MemoryLocation, Path, PathRoot, PathSegment, UNREADABLE};
use crate::values::inline_elements::InlineElements;

/// Size of a reference or pointer, and of a decimal, bytes.
const REFERENCE: u64 = 8;
const DECIMAL: u64 = 16;

impl StopContext<'_> {
    /// The value that a pointer points to, offset by `index` elements of `size` bytes.
    pub(super) fn read_pointee(
        &self,
        pointer: &TypedValue,
        to: &Ty,
        index: i64,
        size: Option<u64>,
    ) -> Result<TypedValue, Failure> {
        let of = match pointer.path() {
            Some(path) => path.name.clone(),
            None => format!("(({}){:#x})", self.types.csharp(&pointer.ty), self.pointer_address(pointer)?),
        };
        let name = if index == 0 { format!("(*{of})") } else { format!("{of}[{index}]") };
        if let Some(path) = pointer.path().filter(|path| index == 0 && path.memory().is_none())
            && matches!(self.types.declared_ty(&self.fetch(path)?), Ty::Pointer(own) if *own == *to)
        {
            let path = path.step(PathSegment::Behind, name);
            self.fetch(&path)?;
            return Ok(TypedValue::at(path, to.clone()));
        }
        let start = self.pointer_address(pointer)?;
        if start == 0 {
            return Err(failed(format!("NullReferenceException: `{of}` is null")));
        }
        let size = if index == 0 { Some(0) } else { size };
        let size = size.ok_or_else(|| failed(format!("`{name}` {UNREADABLE}")))?;
        let address = start.wrapping_add_signed(index.wrapping_mul(size as i64));
        self.value_in_memory(&MemoryLocation::Fixed(address), to, &name)
    }

    /// The size of the target of a pointer. Only the runtime knows the sizes of structs, and reports those of
    /// the targets of variables.
    pub(super) fn pointee_size(&self, pointer: &TypedValue, to: &Ty) -> Option<u64> {
        self.types.element_size(to).or_else(|| self.pointee_size_of_variable(pointer, to))
    }

    fn pointee_size_of_variable(&self, pointer: &TypedValue, to: &Ty) -> Option<u64> {
        let path = pointer.path().filter(|path| path.memory().is_none())?;
        let value = self.fetch(path).ok()?;
        matches!(self.types.declared_ty(&value), Ty::Pointer(own) if *own == *to).then_some(())?;
        value.as_reference()?.dereference().ok()?.size().ok().map(u64::from)
    }

    /// The address in a pointer; 0 for null.
    pub(super) fn pointer_address(&self, pointer: &TypedValue) -> Result<u64, Failure> {
        let address = match self.load(pointer)? {
            Some(Constant::Null) => Some(0),
            Some(Constant::Int(_, address)) => u64::try_from(address).ok(),
            _ => None,
        };
        address.ok_or_else(|| failed(format!("a `{}` is not a pointer", self.types.csharp(&pointer.ty))))
    }

    /// The value of a type at an address. Of a struct, only its fields can be read.
    fn value_in_memory(&self, at: &MemoryLocation, of: &Ty, name: &str) -> Result<TypedValue, Failure> {
        let root = PathRoot::Memory { at: at.clone(), ty: of.clone().into() };
        let val = TypedValue::at(Path::new(root, name), of.clone());
        if self.types.is_number(of) {
            return self.load(&val).map(|_| val);
        }
        if is_reference(of) {
            return self.object_in(self.memory_address(at)?, of, name);
        }
        if let Some(inner) = self.types.nullable(of) {
            return self.nullable_in_memory(at, (of, &inner), name);
        }
        if !of.is_value() {
            return Err(failed(format!("`{name}` {UNREADABLE}")));
        }
        Ok(val)
    }

    /// The value of a nullable number in memory.
    fn nullable_in_memory(
        &self,
        at: &MemoryLocation,
        (of, inner): (&Ty, &Ty),
        name: &str,
    ) -> Result<TypedValue, Failure> {
        let unread = || failed(format!("`{name}` {UNREADABLE}"));
        let (loaded, token) =
            self.types.definition(of).filter(|_| self.types.is_number(inner)).ok_or_else(unread)?;
        let fields = loaded.image().map(|image| image.metadata.fields(token)).unwrap_or_default();
        let place = |field: &str| {
            let field = fields.iter().find(|found| found.name == field).ok_or_else(unread)?;
            self.field_offset(of, field.token, name).map(|offset| at.after(offset))
        };
        let constant = match self.read_number(&place("hasValue")?, &Ty::Primitive(element::BOOLEAN))? {
            Constant::Bool(false) => Constant::Null,
            _ => self.read_number(&place("value")?, inner)?,
        };
        Ok(TypedValue::constant_of(constant, of.clone()))
    }

    /// The place of a field in a struct, bytes.
    fn field_offset(&self, of: &Ty, token: u32, name: &str) -> Result<u64, Failure> {
        let thread = self.debuggee.thread_of(&serde_json::Value::Null)?;
        let fields = self.types.runtime_type(self.debuggee, thread, of).and_then(|kind| {
            self.debuggee
                .process()?
                .struct_fields(&kind)
                .map_err(cor(format_args!("find the fields of `{name}`")))
        });
        let offset = fields.ok().and_then(|all| all.into_iter().find(|(field, _)| *field == token));
        offset.map(|(_, offset)| u64::from(offset)).ok_or_else(|| failed(format!("`{name}` {UNREADABLE}")))
    }

    /// The address of a location now.
    pub(super) fn memory_address(&self, at: &MemoryLocation) -> Result<u64, Failure> {
        let (path, address, offset) = match at {
            MemoryLocation::Fixed(address) => return Ok(*address),
            MemoryLocation::Within(path, offset) => {
                let value = bare(&self.fetch(path)?);
                (path, value.and_then(|value| value.address().ok()), offset)
            }
            MemoryLocation::InSpan(path, offset) => {
                let value = bare(&self.fetch(path)?);
                (path, value.and_then(|value| self.types.span_address(&value)), offset)
            }
        };
        let address = address.filter(|address| *address != 0);
        let address =
            address.ok_or_else(|| failed(format!("the memory of `{}` cannot be read", path.name)))?;
        Ok(address.wrapping_add(*offset))
    }

    /// A field of a struct in memory.
    pub(super) fn field_in_memory(
        &self,
        (at, of): (&MemoryLocation, &Ty),
        token: u32,
        ty: &Ty,
        name: &str,
    ) -> Result<TypedValue, Failure> {
        let offset = self.field_offset(of, token, name)?;
        self.value_in_memory(&at.after(offset), ty, name)
    }

    /// The bytes of a value that is written to memory of a type.
    pub(super) fn bytes_in_memory(&self, val: &TypedValue, ty: &Ty) -> Result<Vec<u8>, Failure> {
        if self.types.element_size(ty).is_none()
            && let Some(path) = val.path()
            && let Some(value) = bare(&self.fetch(path)?)
        {
            if self.types.declared_ty(&value) != *ty || !self.types.is_unmanaged(ty) {
                return Err(failed(format!("a `{}` {UNREADABLE}", self.types.csharp(ty))));
            }
            return value.bytes().map_err(cor(format_args!("read `{}`", path.name)));
        }
        let constant = self.load(val)?.ok_or_else(|| failed("this is not a number"))?;
        let bytes = self.types.bytes_as(&constant, ty);
        bytes.ok_or_else(|| {
            failed(format!("{} does not fit into `{}`", constant.invariant_text(), self.types.csharp(ty)))
        })
    }

    /// An element of a span.
    pub(super) fn span_item(
        &self,
        span: &ClrValue,
        path: &Path,
        of: &Ty,
        at: u32,
    ) -> Result<TypedValue, Failure> {
        let name = format!("{}[{at}]", path.name);
        let item = |size: u64| {
            let at = MemoryLocation::InSpan(path.clone().into(), u64::from(at).saturating_mul(size));
            self.value_in_memory(&at, of, &name)
        };
        if let Some(size) = self.types.element_size(of) {
            return item(size);
        }
        let first = self.types.member(span, "_reference");
        let first = first.map(|step| path.step(step, format!("{}[0]", path.name)));
        let first = first.ok_or_else(|| failed(format!("`{name}` {UNREADABLE}")))?;
        if at == 0 {
            return Ok(TypedValue::at(first, of.clone()));
        }
        let size = bare(&self.fetch(&first)?).and_then(|value| value.size().ok());
        item(u64::from(size.ok_or_else(|| failed(format!("`{name}` {UNREADABLE}")))?))
    }

    /// An element of an inline array or fixed buffer.
    pub(super) fn read_inline_element(
        &self,
        elements: &InlineElements,
        path: &Path,
        at: u32,
    ) -> Result<TypedValue, Failure> {
        let name = format!("{}[{at}]", path.name);
        if at == 0
            && !self.types.is_number(&elements.of)
            && let Some(first) = self.inline_element_at(elements, path, at)
        {
            return Ok(first);
        }
        let at = MemoryLocation::Within(path.clone().into(), elements.offset_of(at));
        self.value_in_memory(&at, &elements.of, &name)
    }

    /// The same of one in memory.
    pub(super) fn inline_element_in_memory(
        &self,
        (at, ty): (&MemoryLocation, &Ty),
        index: i64,
        name: &str,
    ) -> Result<TypedValue, Failure> {
        let unread = || failed(format!("`{name}` {UNREADABLE}"));
        let elements = self.types.inline_elements_in(ty).ok_or_else(unread)?;
        let of = elements.of.with(ty.arguments(), &[]);
        let (count, size) = elements.count.zip(self.types.element_size(&of)).ok_or_else(unread)?;
        let position = u64::try_from(index).ok().filter(|position| *position < u64::from(count));
        let outside = || failed(format!("`{name}` has {count} elements, none of them {index}"));
        let offset = position.ok_or_else(outside)?.saturating_mul(size);
        self.value_in_memory(&at.after(offset), &of, &format!("{name}[{index}]"))
    }

    /// The object of a reference in memory.
    fn object_in(&self, address: u64, of: &Ty, name: &str) -> Result<TypedValue, Failure> {
        let lost = || failed(format!("`{name}` cannot be read"));
        let process = self.debuggee.process()?;
        let bytes = process.read_memory(address, REFERENCE as u32).map_err(cor("read memory"))?;
        let target = bytes.get(..8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
        let target = target.ok_or_else(lost)?;
        if target == 0 {
            return Ok(TypedValue::null_of(of.clone()));
        }
        let object = process.object_at(target).map_err(cor(format_args!("read `{name}`")))?;
        let object = bare(&object).ok_or_else(lost)?;
        let held = self.values.hold_object(&object, name).ok_or_else(lost)?;
        Ok(TypedValue::at(held, of.clone()))
    }

    /// The constant at a location.
    pub(crate) fn read_number(&self, at: &MemoryLocation, ty: &Ty) -> Result<Constant, Failure> {
        let unread = || failed(format!("a `{}` {UNREADABLE}", self.types.csharp(ty)));
        let size = self.types.element_size(ty).filter(|_| ty.is_value()).ok_or_else(unread)?;
        let process = self.debuggee.process()?;
        let bytes = process.read_memory(self.memory_address(at)?, size as u32).map_err(cor("read memory"))?;
        let lost = || failed(format!("a `{}` in memory cannot be read", self.types.csharp(ty)));
        if bytes.len() as u64 != size {
            return Err(lost());
        }
        let constant = match ty {
            Ty::Pointer(_) => Constant::from_bytes(element::U8, &bytes),
            ty if self.types.is_decimal(ty) => Constant::decimal(&bytes),
            ty => self.types.number_kind(ty).and_then(|kind| Constant::from_bytes(kind, &bytes)),
        };
        constant.ok_or_else(lost)
    }

    /// A constant instead of a path into plain memory.
    pub(super) fn read_if_in_memory(&self, val: &TypedValue) -> Result<TypedValue, Failure> {
        match &val.data {
            ValueLocation::At(Path { root: PathRoot::Memory { at, ty }, .. }) => {
                Ok(TypedValue::constant_of(self.read_number(at, ty)?, val.ty.clone()))
            }
            _ => Ok(val.clone()),
        }
    }

    /// Writes bytes to an address.
    pub(super) fn write_bytes(&self, address: u64, bytes: &[u8]) -> Result<(), Failure> {
        let written = self.debuggee.process()?.write_memory(address, bytes).map_err(cor("write memory"))?;
        (written == bytes.len()).then_some(()).ok_or_else(|| failed("the memory cannot be written"))
    }

    /// The address of a value in memory.
    pub(crate) fn address_in(&self, of: &TypedValue) -> Result<u64, Failure> {
        let lost = || failed("only variables of the program have an address");
        let path = of.path().ok_or_else(lost)?;
        if let Some(memory) = path.memory() {
            return self.memory_address(memory);
        }
        let value = self.fetch(path)?;
        let value = match of.ty.is_value() {
            true => bare(&value).ok_or_else(lost)?,
            false => value,
        };
        value.address().map_err(cor(format_args!("read the address of `{}`", path.name)))
    }
}

impl ClrTypeSystem {
    /// A constant's bytes in a variable of this type.
    pub(crate) fn bytes_as(&self, constant: &Constant, ty: &Ty) -> Option<Vec<u8>> {
        if self.is_decimal(ty) {
            return constant.to_decimal(false).map(|value| Constant::decimal_bytes(&value));
        }
        let kind = match ty {
            Ty::Primitive(kind) => *kind,
            Ty::Pointer(_) if *constant == Constant::Null => return Some(vec![0; REFERENCE as usize]),
            Ty::Pointer(_) => element::U8,
            other => self.enum_storage(other)?,
        };
        constant.cast(kind, false)?.bytes().map(|(_, bytes)| bytes)
    }

    /// Whether a value of a type is read from memory as one number.
    pub(super) fn is_number(&self, ty: &Ty) -> bool {
        ty.is_value() && self.element_size(ty).is_some()
    }

    /// The size of a number, pointer, decimal or reference in memory, bytes; `None` for other structs.
    fn element_size(&self, ty: &Ty) -> Option<u64> {
        match ty {
            Ty::Pointer(_) => Some(REFERENCE),
            ty if is_reference(ty) => Some(REFERENCE),
            ty if self.is_decimal(ty) => Some(DECIMAL),
            ty => Some(super::width(self.number_kind(ty)?)? as u64),
        }
    }
}

/// Whether a variable of a type holds a reference to an object.
fn is_reference(ty: &Ty) -> bool {
    match ty {
        Ty::Primitive(_) | Ty::Named(_) => !ty.is_value(),
        Ty::Vector(_) | Ty::Array(..) => true,
        _ => false,
    }
}
