//! Elements that lie side by side without an array around them: inline arrays and fixed buffers. They are read from the program's memory;
//! nothing runs.

use cordebug::value::Value as ClrValue;

use super::inside::{Row, What};
use super::path::{Path, Step, bare};
use super::rows::Page;
use crate::engine::coreclr::expression::{Constant, Format, Val, width};
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;

const INLINE: &str = "System.Runtime.CompilerServices.InlineArrayAttribute";
/// What the compiler calls the struct of a fixed buffer, and the field it begins with.
const BUFFER: &str = "e__FixedBuffer";
/// Size of a reference, bytes.
const REFERENCE: u64 = 8;

/// Elements side by side.
pub(crate) struct Contiguous {
    pub(crate) count: u32,
    of: Ty,
    /// Of the first.
    address: u64,
    size: u64,
    /// To the first.
    first: Step,
}

impl Session {
    /// The elements of an inline array or a fixed buffer; none for any other value.
    pub(crate) fn contiguous(&self, value: &ClrValue, ty: &Ty) -> Option<Contiguous> {
        let Ty::Named(named) = ty else { return None };
        named.is_value.then_some(())?;
        let (loaded, token) = self.definition(ty)?;
        let metadata = &loaded.image()?.metadata;
        let is_buffer = metadata.simple_name(token).ends_with(BUFFER);
        let declared = metadata.attribute_number(token, INLINE);
        if declared.is_none() && !is_buffer {
            return None;
        }
        let field = metadata.fields(token).into_iter().find(|field| !field.is_static)?;
        let of = self.ty_of(&loaded, &metadata.field_type(field.token)?).with(ty.arguments(), &[]);
        let first = Step::Field { up: 0, token: field.token };
        let at = self.field_at(value, first)?;
        let size = match self.number_kind(&of) {
            Some(kind) => width(kind)? as u64,
            None if of.is_value() => u64::from(at.size().ok()?),
            None => REFERENCE,
        };
        let count = match declared {
            Some(count) => u32::try_from(count).ok()?,
            None => u32::try_from(u64::from(value.size().ok()?).checked_div(size)?).ok()?,
        };
        Some(Contiguous { count, of, address: value.address().ok()?, size, first })
    }

    /// The element type of numbers, letters, truth values and enums.
    fn number_kind(&self, ty: &Ty) -> Option<u32> {
        match ty {
            Ty::Primitive(kind) => width(*kind).map(|_| *kind),
            other => self.enum_storage(other),
        }
    }

    /// A page of the elements.
    pub(super) fn contiguous_rows(
        &mut self,
        value: &ClrValue,
        path: &Path,
        page: &Page<'_>,
    ) -> Option<Vec<Row>> {
        let elements = self.contiguous(value, &self.declared_ty(value))?;
        if !page.wants_indexed() {
            return Some(Vec::new());
        }
        let start = u32::try_from(page.start).unwrap_or(u32::MAX).min(elements.count);
        let count = u32::try_from(page.count.min(page.most)).unwrap_or(u32::MAX).min(elements.count - start);
        let mut rows = Vec::new();
        for at in start..start + count {
            let way = format!("{}[{at}]", path.name);
            let what = match self.contiguous_at(&elements, path, at) {
                Some(val) => match val.path() {
                    Some(inner) => What::At(Path { name: way, ..inner.clone() }),
                    None => What::Here(val, way),
                },
                None => What::Said("a struct that is not the first one cannot be read".into()),
            };
            rows.push(Row::new(format!("[{at}]"), what, "data"));
        }
        if page.count > page.most && start + count < elements.count {
            rows.push(super::inside::rest(path, &Format::default(), page.start.saturating_add(rows.len())));
        }
        Some(rows)
    }

    /// One of the elements; none for a struct that is not the first, which the debugging library does not find.
    pub(crate) fn contiguous_at(&mut self, elements: &Contiguous, path: &Path, at: u32) -> Option<Val> {
        (at < elements.count).then_some(())?;
        let first = || path.step(elements.first, format!("{}[{at}]", path.name));
        if at == 0 {
            return Some(Val::at(first(), elements.of.clone()));
        }
        let address = elements.address.checked_add(u64::from(at) * elements.size)?;
        let read = |size: u64| self.process().ok()?.read_memory(address, u32::try_from(size).ok()?).ok();
        if let Some(kind) = self.number_kind(&elements.of) {
            let constant = Constant::from_bytes(kind, &read(elements.size)?)?;
            return Some(Val::constant_of(constant, elements.of.clone()));
        }
        if elements.of.is_value() {
            return None;
        }
        let target = u64::from_le_bytes(read(REFERENCE)?.get(..8)?.try_into().ok()?);
        if target == 0 {
            return Some(Val::constant_of(Constant::Null, elements.of.clone()));
        }
        let object = self.process().ok()?.object_at(target).ok()?;
        let held = self.held(&bare(&object)?, &format!("{}[{at}]", path.name))?;
        Some(Val::at(held, elements.of.clone()))
    }
}
