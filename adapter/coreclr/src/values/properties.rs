//! Properties, sequences and statics: values that run code when a client requests them. Not here: the rows of
//! fields and items ([`super::contents`]).

use cordebug::value::{Value as ClrValue, element};
use tandem_wire::Failure;

use super::groups::{NON_PUBLIC, is_grouped};
use super::member_rows::{BROWSABLE, NEVER};
use super::rows::{RowContent, VariableEntry, VariablesPage, rest_entry};
use crate::bare_value::bare;
use crate::debuggee::ClrDebuggee;
use crate::fields::source_name;
use crate::func_eval::EvalContext;
use crate::session::ClrSession;
use crate::typed_value::{Constant, Format, TypedValue};
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::value_path::Path;
use crate::value_store::{MemberSelection, Node};

/// Most items of a sequence that must run to enumerate them.
const MAX_RESULTS: usize = 10_000;

impl ClrSession {
    /// The items of a sequence, which runs to enumerate them.
    pub(super) fn results(&mut self, path: &Path, site: &EvalContext) -> Result<Vec<VariableEntry>, Failure> {
        let val = self.at_stop().val_at(path.clone())?;
        let receiver = match self.program.types.items_of(&self.at_stop().actual(&val)?).as_slice() {
            [] => format!("{}.Cast<object>()", path.name),
            [_] => path.name.clone(),
            [first, ..] => {
                let item = self.program.types.csharp(first);
                format!("((System.Collections.Generic.IEnumerable<{item}>){})", path.name)
            }
        };
        let items = self.sequence(&val, MAX_RESULTS + 1, site)?;
        let name = |at: usize| format!("[{at}]");
        let (items, is_cut) = items;
        let rows = items.into_iter().enumerate().map(|(at, item)| {
            let way = format!("{receiver}.ElementAt({at})");
            let what = match item.path() {
                Some(inner) => {
                    // The program may have created a list of the items.
                    let is_copy = path.is_copy || !inner.root.is_same(&path.root);
                    let inner = self.at_stop().with_name_type(inner.clone(), &item.ty);
                    RowContent::At(Path { name: way, is_copy, is_called: true, ..inner })
                }
                None => RowContent::Here(item, way),
            };
            VariableEntry::new(name(at), what, "data")
        });
        let mut rows: Vec<VariableEntry> = rows.collect();
        if is_cut {
            let text = format!("more than {MAX_RESULTS} items: the others are not asked for");
            rows.push(VariableEntry::new("…", RowContent::Message(text), "virtual"));
        }
        Ok(rows)
    }

    /// Static fields and properties of a type and its bases.
    pub(super) fn statics(
        &mut self,
        ty: &Ty,
        part: MemberSelection,
        site: &EvalContext,
    ) -> Result<Vec<VariableEntry>, Failure> {
        let (mut rows, mut has_hidden) = (Vec::new(), false);
        for owner in self.program.types.chain(ty) {
            has_hidden |= self.statics_of(&owner, part, &mut rows, site);
        }
        if has_hidden && part == MemberSelection::Shown {
            let node = Node::Statics(ty.clone(), MemberSelection::NonPublic);
            rows.push(VariableEntry::new(
                NON_PUBLIC,
                RowContent::Group(node, String::new(), None),
                "virtual",
            ));
        }
        Ok(rows)
    }

    /// Adds those of one class; returns whether any of them belongs to the group of non-public members.
    fn statics_of(
        &mut self,
        ty: &Ty,
        part: MemberSelection,
        rows: &mut Vec<VariableEntry>,
        site: &EvalContext,
    ) -> bool {
        let Some((loaded, token)) = self.program.types.definition(ty) else { return false };
        let Some(image) = loaded.image() else { return false };
        let metadata = &image.metadata;
        let mut has_hidden = false;
        let spelled = self.program.types.csharp(ty);
        let is_enum = self.program.types.enum_storage(ty).is_some();
        for field in metadata.fields(token).into_iter().filter(|field| field.is_static) {
            let name = source_name(&field.name).to_owned();
            // Compiler-generated fields of events and lambdas.
            if name.starts_with('<') {
                continue;
            }
            let browsable = metadata.attribute_number(field.token, BROWSABLE);
            if browsable == Some(NEVER) || rows.iter().any(|row| row.name == name) {
                continue;
            }
            let access = metadata.field_access(field.token);
            let is_grouped = is_grouped(&loaded, access, browsable);
            has_hidden |= is_grouped;
            if !part.takes(is_grouped) {
                continue;
            }
            let way = format!("{spelled}.{name}");
            let mut row = match self.static_value(&loaded, ty, &field, site) {
                Ok(val) => match val.path() {
                    Some(path) => {
                        VariableEntry::new(name, RowContent::At(Path { name: way, ..path.clone() }), "data")
                    }
                    None => VariableEntry::new(name, RowContent::Here(val, way), "data"),
                },
                Err(failure) => VariableEntry::new(name, RowContent::Failed(failure), "data"),
            };
            row.access = Some(access);
            row.attributes.push("static");
            if field.is_literal || is_enum {
                row.attributes.push("constant");
            } else if metadata.is_read_only(field.token) {
                row.attributes.push("readOnly");
            }
            rows.push(row);
        }
        has_hidden | self.program.types.static_properties(ty, part, rows)
    }
}

impl ClrTypeSystem {
    /// The elements of a span of primitives, read from memory.
    pub(super) fn span_rows(
        &self,
        debuggee: &ClrDebuggee,
        value: &ClrValue,
        path: &Path,
        page: &VariablesPage<'_>,
    ) -> Option<Vec<VariableEntry>> {
        let ty = self.declared_ty(value);
        let name = self.full_name(&ty);
        matches!(name.as_str(), "System.Span`1" | "System.ReadOnlySpan`1").then_some(())?;
        let Some(Ty::Primitive(kind)) = ty.arguments().first() else { return None };
        let size = Constant::from_bytes(*kind, &[0; 8])?.bytes()?.1.len() as u64;
        let length = u64::from(self.number_field(value, "_length")?);
        if !page.wants_indexed() {
            return Some(Vec::new());
        }
        let address = self.span_address(value)?;
        let start = (page.start as u64).min(length);
        let most = page.count.min(page.most) as u64;
        let count = most.min(length - start);
        let is_cut = page.count as u64 > most && length - start > most;
        let bytes = debuggee
            .process()
            .ok()?
            .read_memory(address + start * size, u32::try_from(count * size).ok()?)
            .ok()?;
        let rows = bytes.chunks_exact(size as usize).enumerate().filter_map(|(at, bytes)| {
            let at = start + at as u64;
            let constant = Constant::from_bytes(*kind, bytes)?;
            let val = TypedValue::constant_of(constant, Ty::Primitive(*kind));
            Some(VariableEntry::new(
                format!("[{at}]"),
                RowContent::Here(val, format!("{}[{at}]", path.name)),
                "data",
            ))
        });
        let mut rows: Vec<VariableEntry> = rows.collect();
        if is_cut {
            rows.push(rest_entry(path, &Format::default(), page.start.saturating_add(rows.len())));
        }
        Some(rows)
    }

    /// Static properties that must run.
    fn static_properties(&self, ty: &Ty, part: MemberSelection, rows: &mut Vec<VariableEntry>) -> bool {
        let Some((loaded, token)) = self.definition(ty) else { return false };
        let Some(image) = loaded.image() else { return false };
        let metadata = &image.metadata;
        let (spelled, mut has_hidden) = (self.csharp(ty), false);
        for info in metadata.property_infos(token) {
            let Some(getter) = info.getter else { continue };
            let is_plain = metadata.is_static(getter) && metadata.parameter_count(getter) == 0;
            let browsable = metadata.attribute_number(info.token, BROWSABLE);
            if !is_plain || browsable == Some(NEVER) || rows.iter().any(|row| row.name == info.name) {
                continue;
            }
            let access = metadata.method_access(getter);
            let is_grouped = is_grouped(&loaded, access, browsable);
            has_hidden |= is_grouped;
            if !part.takes(is_grouped) {
                continue;
            }
            let way = format!("{spelled}.{}", info.name);
            let node = Node::Evaluated { name: info.name.clone(), way: way.clone() };
            let mut row = VariableEntry::new(info.name, RowContent::Lazy(node, way), "property");
            row.access = Some(access);
            row.attributes.push("static");
            if info.setter.is_none() {
                row.attributes.push("readOnly");
            }
            rows.push(row);
        }
        has_hidden
    }

    /// Whether a type, or one of its bases, has a static field that is not a constant.
    pub(super) fn has_statics(&self, ty: &Ty) -> bool {
        self.chain(ty).iter().any(|owner| {
            self.definition(owner).is_some_and(|(loaded, token)| {
                loaded.image().is_some_and(|image| {
                    let fields = image.metadata.fields(token);
                    fields
                        .iter()
                        .any(|field| field.is_static && !field.is_literal && !field.name.starts_with("<>"))
                })
            })
        })
    }

    /// The start of a span's elements: a field in it, which older runtimes wrap in a struct.
    pub(crate) fn span_address(&self, value: &ClrValue) -> Option<u64> {
        if let Some(reference) = self.field_named(value, "_reference") {
            return reference.as_reference()?.target().ok();
        }
        let Some(pointer) = self.field_named(value, "_pointer") else {
            // The class of that struct may not be loaded yet; the span begins with it.
            let length = self.field_named(value, "_length")?.address().ok()?;
            let is_first = length.checked_sub(value.address().ok()?) == Some(8);
            let bytes = value.bytes().ok().filter(|_| is_first)?;
            return bytes.get(..8)?.try_into().ok().map(u64::from_le_bytes);
        };
        let pointer = match pointer.element_type() {
            Ok(element::I | element::U) => pointer,
            _ => self.field_named(&bare(&pointer)?, "_value")?,
        };
        pointer.bytes().ok()?.get(..8)?.try_into().ok().map(u64::from_le_bytes)
    }
}
