//! Numbers in memory without a variable: elements of spans, inline arrays and fixed buffers, targets of
//! pointers. They are read and written as bytes.
//!
//! Not here: `readMemory` (`coreclr::memory`).

use cordebug::value::Value as ClrValue;
use dap_wire::Failure;

use super::{Constant, TypedValue, ValueLocation, failed};
use crate::cor;
use crate::debuggee::ClrDebuggee;
use crate::stop_context::StopContext;
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::value_path::{Path, PathRoot, PathSegment};
use crate::values::inline_elements::InlineElements;

/// Refusal for structs that the debugging library has no value for.
pub(super) const UNREADABLE: &str = "is a struct in memory that cannot be read";
/// Size of a reference, bytes.
const REFERENCE: u64 = 8;

impl StopContext<'_> {
    /// The value that a pointer points to, offset by `index` elements.
    pub(super) fn read_pointee(&self, path: &Path, to: &Ty, index: i64) -> Result<TypedValue, Failure> {
        let name = if index == 0 { format!("(*{})", path.name) } else { format!("{}[{index}]", path.name) };
        if index == 0 {
            let path = path.step(PathSegment::Behind, name);
            self.fetch(&path)?;
            return Ok(TypedValue::at(path, to.clone()));
        }
        let lost = || failed(format!("`{name}` is not a number and cannot be read"));
        let pointer = self.fetch(path)?;
        let pointer = pointer.as_reference().ok_or_else(lost)?.target().map_err(cor("read a pointer"))?;
        if pointer == 0 {
            return Err(failed(format!("NullReferenceException: `{}` is null", path.name)));
        }
        let size = self.types.number_size(to).ok_or_else(lost)?;
        let address = pointer.wrapping_add_signed(index.wrapping_mul(size as i64));
        let val = self.types.in_memory(address, to, name.clone()).ok_or_else(lost)?;
        self.load(&val).map(|_| val)
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
        let address = self.types.span_address(span);
        let address = address.ok_or_else(|| failed(format!("`{name}` cannot be read")))?;
        match self.types.number_size(of) {
            Some(size) => {
                let lost = || failed(format!("`{name}` cannot be read"));
                self.types.in_memory(address + u64::from(at) * size, of, name.clone()).ok_or_else(lost)
            }
            None if !of.is_value() => self.object_in(address + u64::from(at) * REFERENCE, of, &name),
            None if at == 0
                && let Some(step) = self.types.member(span, "_reference") =>
            {
                Ok(TypedValue::at(path.step(step, name), of.clone()))
            }
            None => Err(failed(format!("`{name}` {UNREADABLE}"))),
        }
    }

    /// An element of an inline array or fixed buffer.
    pub(super) fn read_inline_element(
        &self,
        elements: &InlineElements,
        path: &Path,
        at: u32,
    ) -> Result<TypedValue, Failure> {
        let name = format!("{}[{at}]", path.name);
        if let Some(size) = self.types.number_size(&elements.of) {
            let address = elements.address + u64::from(at) * size;
            if let Some(val) = self.types.in_memory(address, &elements.of, name.clone()) {
                return Ok(val);
            }
        }
        let unread = || failed(format!("`{name}` {UNREADABLE}"));
        self.inline_element_at(elements, path, at).ok_or_else(unread)
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
        let object = process.object_at(target).map_err(cor(format!("read `{name}`")))?;
        let object = crate::bare_value::bare(&object).ok_or_else(lost)?;
        let held = self.values.hold_object(&object, name).ok_or_else(lost)?;
        Ok(TypedValue::at(held, of.clone()))
    }
}

impl ClrTypeSystem {
    /// The constant at an address.
    pub(crate) fn read_number(
        &self,
        debuggee: &ClrDebuggee,
        address: u64,
        ty: &Ty,
    ) -> Result<Constant, Failure> {
        let lost = || failed(format!("a `{}` in memory cannot be read", self.csharp(ty)));
        let (kind, size) = self.number_kind(ty).zip(self.number_size(ty)).ok_or_else(lost)?;
        let bytes = debuggee.process()?.read_memory(address, size as u32).map_err(cor("read memory"))?;
        Constant::from_bytes(kind, &bytes).ok_or_else(lost)
    }

    /// Writes a constant to an address.
    pub(super) fn write_number(
        &self,
        debuggee: &ClrDebuggee,
        address: u64,
        constant: &Constant,
        ty: &Ty,
    ) -> Result<(), Failure> {
        let lost =
            || failed(format!("{} does not fit into `{}`", constant.invariant_text(), self.csharp(ty)));
        let bytes = self.bytes_as(constant, ty).ok_or_else(lost)?;
        let written = debuggee.process()?.write_memory(address, &bytes).map_err(cor("write memory"))?;
        (written == bytes.len()).then_some(()).ok_or_else(|| failed("the memory cannot be written"))
    }

    /// A constant instead of a path into plain memory.
    pub(super) fn to_constant(
        &self,
        debuggee: &ClrDebuggee,
        val: &TypedValue,
    ) -> Result<TypedValue, Failure> {
        match &val.data {
            ValueLocation::At(Path { root: PathRoot::Memory { address, ty }, .. }) => {
                let constant = self.read_number(debuggee, *address, ty)?;
                Ok(TypedValue::constant_of(constant, val.ty.clone()))
            }
            _ => Ok(val.clone()),
        }
    }

    /// The number at an address, as a location.
    fn in_memory(&self, address: u64, ty: &Ty, name: String) -> Option<TypedValue> {
        self.number_size(ty)?;
        let root = PathRoot::Memory { address, ty: ty.clone().into() };
        Some(TypedValue::at(Path::new(root, &name), ty.clone()))
    }

    /// The size of numbers, characters, booleans and enums, bytes.
    fn number_size(&self, ty: &Ty) -> Option<u64> {
        Some(super::width(self.number_kind(ty)?)? as u64)
    }
}
