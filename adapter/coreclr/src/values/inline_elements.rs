//! Contiguous elements without an array: inline arrays and fixed buffers. They are read from the program's
//! memory; nothing runs.

use cordebug::value::Value as ClrValue;
use tandem_csharp::bind::ContiguousElements;
use tandem_csharp::constant::width;

use super::rows::{RowContent, VariableEntry, VariablesPage, rest_entry};
use crate::bare_value::bare;
use crate::modules::LoadedModule;
use crate::stop_context::StopContext;
use crate::typed_value::{Constant, Format, TypedValue};
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::value_path::{Path, PathRoot, PathSegment};
use crate::value_store::Node;

const INLINE: &str = "System.Runtime.CompilerServices.InlineArrayAttribute";
/// Compiler-generated name of a fixed buffer's struct, and the field that it begins with.
const BUFFER: &str = "e__FixedBuffer";
/// Size of a reference, bytes.
const REFERENCE: u64 = 8;

/// Contiguous elements in memory.
pub(crate) struct InlineElements {
    pub(crate) count: u32,
    pub(crate) of: Ty,
    /// Address of the first element.
    address: u64,
    size: u64,
    /// The step to the first element.
    first: PathSegment,
}

impl InlineElements {
    /// Offset of an element, bytes.
    pub(crate) fn offset_of(&self, at: u32) -> u64 {
        u64::from(at).saturating_mul(self.size)
    }
}

impl StopContext<'_> {
    /// A page of the elements.
    pub(super) fn inline_element_rows(
        &self,
        value: &ClrValue,
        path: &Path,
        page: &VariablesPage<'_>,
    ) -> Option<Vec<VariableEntry>> {
        let elements = self.types.inline_elements_of(value, &self.types.declared_ty(value))?;
        if !page.wants_indexed() {
            return Some(Vec::new());
        }
        let start = u32::try_from(page.start).unwrap_or(u32::MAX).min(elements.count);
        let count = u32::try_from(page.count.min(page.most)).unwrap_or(u32::MAX).min(elements.count - start);
        let mut rows = Vec::new();
        for at in start..start + count {
            let way = format!("{}[{at}]", path.name);
            let what = match self.inline_element_at(&elements, path, at) {
                Some(val) => match val.path() {
                    Some(inner) => {
                        let is_copy = inner.is_copy || matches!(inner.root, PathRoot::Handle(_)) && at > 0;
                        RowContent::At(Path { name: way, is_copy, ..inner.clone() })
                    }
                    None => RowContent::Here(val, way),
                },
                // The debugging library cannot access it; the program can.
                None => RowContent::Lazy(Node::Evaluated { name: format!("[{at}]"), way: way.clone() }, way),
            };
            rows.push(VariableEntry::new(format!("[{at}]"), what, "data"));
        }
        if page.count > page.most && start + count < elements.count {
            rows.push(rest_entry(path, &Format::default(), page.start.saturating_add(rows.len())));
        }
        Some(rows)
    }

    /// One of the elements; `None` for a struct that is not the first, which the debugging
    /// library cannot access.
    pub(crate) fn inline_element_at(
        &self,
        elements: &InlineElements,
        path: &Path,
        at: u32,
    ) -> Option<TypedValue> {
        (at < elements.count).then_some(())?;
        let first = || path.step(elements.first, format!("{}[{at}]", path.name));
        if at == 0 {
            return Some(TypedValue::at(first(), elements.of.clone()));
        }
        let address = elements.address.checked_add(elements.offset_of(at))?;
        let read =
            |size: u64| self.debuggee.process().ok()?.read_memory(address, u32::try_from(size).ok()?).ok();
        if let Some(kind) = self.types.number_kind(&elements.of) {
            let constant = Constant::from_bytes(kind, &read(elements.size)?)?;
            return Some(TypedValue::constant_of(constant, elements.of.clone()));
        }
        if elements.of.is_value() {
            return None;
        }
        let target = u64::from_le_bytes(read(REFERENCE)?.get(..8)?.try_into().ok()?);
        if target == 0 {
            return Some(TypedValue::constant_of(Constant::Null, elements.of.clone()));
        }
        let object = self.debuggee.process().ok()?.object_at(target).ok()?;
        let held = self.values.hold_object(&bare(&object)?, &format!("{}[{at}]", path.name))?;
        Some(TypedValue::at(held, elements.of.clone()))
    }
}

impl ClrTypeSystem {
    /// The elements of a type of inline arrays or fixed buffers.
    pub(crate) fn inline_elements_in(&self, ty: &Ty) -> Option<ContiguousElements> {
        let (loaded, token) = self.definition(ty)?;
        self.inline_elements(&loaded, token)
    }

    /// The elements of a struct, if it is an inline array or a fixed buffer. The size of a buffer
    /// determines their number.
    pub(crate) fn inline_elements(&self, loaded: &LoadedModule, token: u32) -> Option<ContiguousElements> {
        let metadata = &loaded.image()?.metadata;
        let count = metadata.attribute_number(token, INLINE);
        if count.is_none() && !metadata.simple_name(token).ends_with(BUFFER) {
            return None;
        }
        let field = metadata.fields(token).into_iter().find(|field| !field.is_static)?;
        let of = self.ty_of(loaded, &metadata.field_type(field.token)?);
        let count = match count {
            Some(count) => u32::try_from(count).ok(),
            None => metadata
                .class_size(token)
                .zip(self.number_kind(&of).and_then(width))
                .map(|(size, of)| size / of as u32),
        };
        Some(ContiguousElements { of, count })
    }

    /// The elements of an inline array or a fixed buffer; `None` for any other value.
    pub(crate) fn inline_elements_of(&self, value: &ClrValue, ty: &Ty) -> Option<InlineElements> {
        let Ty::Named(named) = ty else { return None };
        named.is_value.then_some(())?;
        let (loaded, token) = self.definition(ty)?;
        let elements = self.inline_elements(&loaded, token)?;
        let of = elements.of.with(ty.arguments(), &[]);
        let fields = loaded.image()?.metadata.fields(token);
        let field = fields.into_iter().find(|field| !field.is_static)?;
        let first = PathSegment::Field { up: 0, token: field.token };
        let at = self.field_at(value, first)?;
        let size = match self.number_kind(&of) {
            Some(kind) => width(kind)? as u64,
            None if of.is_value() => u64::from(at.size().ok()?),
            None => REFERENCE,
        };
        let count = match elements.count {
            Some(count) => count,
            None => u32::try_from(u64::from(value.size().ok()?).checked_div(size)?).ok()?,
        };
        Some(InlineElements { count, of, address: value.address().ok()?, size, first })
    }

    /// The element type of numbers, characters, booleans and enums.
    pub(crate) fn number_kind(&self, ty: &Ty) -> Option<u32> {
        match ty {
            Ty::Primitive(kind) => width(*kind).map(|_| *kind),
            other => self.enum_storage(other),
        }
    }
}
