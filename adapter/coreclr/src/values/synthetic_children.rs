//! Rows of collections that store their items in another form: bits, names with several values, the members
//! of an `ExpandoObject`, the elements of long tuples. Inline arrays and fixed buffers:
//! [`super::inline_elements`]. Nothing runs.

use cordebug::value::Value as ClrValue;

use super::rows::{RowContent, VariableEntry, VariablesPage, rest_entry};
use crate::bare_value::bare;
use crate::debuggee::ClrDebuggee;
use crate::func_eval::EvalContext;
use crate::session::ClrSession;
use crate::typed_value::{Constant, Format, TypedValue};
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::types::ty::{BOOL, STRING};
use crate::value_path::{Path, PathSegment};

pub(super) const BITS: &str = "System.Collections.BitArray";
pub(super) const NAMES: &str = "System.Collections.Specialized.NameValueCollection";
const TUPLE: &str = "System.ValueTuple`";
const EXPANDO: &str = "System.Dynamic.ExpandoObject";
/// Most items that are read: names and members are few.
const MAX_ITEMS: u32 = 10_000;

impl ClrSession {
    /// A page of the items of such a value, and their total number; `None` for any other value.
    pub(super) fn synthetic_rows(
        &mut self,
        value: &ClrValue,
        path: &Path,
        page: &VariablesPage<'_>,
        site: &EvalContext,
    ) -> Option<Vec<VariableEntry>> {
        let ty = self.program.types.declared_ty(value);
        let name = self.program.types.full_name(&ty);
        match name.as_str() {
            BITS => self.program.types.bit_rows(&self.program.debuggee, value, path, page),
            EXPANDO => self.expando_rows(value, path, &ty, site).map(|rows| page.cut(rows)),
            _ if name.starts_with(TUPLE) => {
                self.program.types.tuple_rows(value, path, &ty).map(|rows| page.cut(rows))
            }
            _ if self.program.types.is_names(&ty) => {
                self.program.types.name_rows(&self.program.debuggee, value, path).map(|rows| page.cut(rows))
            }
            _ => self.at_stop().inline_element_rows(value, path, page),
        }
    }

    /// The members added to an ExpandoObject: names in one array, values in another, some of them removed.
    fn expando_rows(
        &mut self,
        value: &ClrValue,
        path: &Path,
        ty: &Ty,
        site: &EvalContext,
    ) -> Option<Vec<VariableEntry>> {
        let removed = self.removed_member(ty, site);
        let data = bare(&self.program.types.field_named(value, "_data")?)?;
        let class = bare(&self.program.types.field_named(&data, "Class")?)?;
        let keys = bare(&self.program.types.field_named(&class, "_keys")?)?;
        let values = bare(&self.program.types.field_named(&data, "_dataArray")?)?;
        let (keys, all) = (keys.as_array()?, values.as_array()?);
        let path = &Path { is_called: true, ..path.clone() };
        let way = path.step(self.program.types.member(value, "_data")?, String::new());
        let way = way.step(self.program.types.member(&data, "_dataArray")?, String::new());
        let mut rows = Vec::new();
        for at in 0..keys.count().ok()?.min(all.count().ok()?).min(MAX_ITEMS) {
            let held = all.element(at).ok()?;
            if removed.is_some() && held.as_reference().and_then(|held| held.target().ok()) == removed {
                continue;
            }
            let name = bare(&keys.element(at).ok()?)?.as_string()?.text(super::MAX_TEXT_LEN).ok()?;
            let quoted = super::primitive::quoted(&name);
            let dictionary = "System.Collections.Generic.IDictionary<string, object>";
            let inner =
                way.step(PathSegment::Element(at), format!("(({dictionary}){})[{quoted}]", path.name));
            rows.push(VariableEntry::new(name, RowContent::At(inner), "data"));
        }
        Some(rows)
    }

    /// The address of the object that marks a removed member.
    fn removed_member(&mut self, ty: &Ty, site: &EvalContext) -> Option<u64> {
        let (loaded, token) = self.program.types.definition(ty)?;
        let fields = loaded.image()?.metadata.fields(token);
        let field = fields.into_iter().find(|field| field.is_static && field.name == "Uninitialized")?;
        let val = self.static_value(&loaded, ty, &field, site).ok()?;
        self.at_stop().fetch(val.path()?).ok()?.as_reference()?.target().ok()
    }
}

impl ClrTypeSystem {
    fn bit_rows(
        &self,
        debuggee: &ClrDebuggee,
        value: &ClrValue,
        path: &Path,
        page: &VariablesPage<'_>,
    ) -> Option<Vec<VariableEntry>> {
        if !page.wants_indexed() {
            return Some(Vec::new());
        }
        let length = self.bit_count(value)?;
        let array = self.field_named(value, "_array").or_else(|| self.field_named(value, "m_array"))?;
        let start = u32::try_from(page.start).unwrap_or(u32::MAX).min(length);
        let count = u32::try_from(page.count.min(page.most)).unwrap_or(u32::MAX).min(length - start);
        let mut rows = Vec::new();
        if count > 0 {
            let first = bare(&array)?.as_array()?.element(0).ok()?.address().ok()?;
            let (from, to) = (start / 8, (start + count).div_ceil(8));
            let bytes = debuggee.process().ok()?.read_memory(first + u64::from(from), to - from).ok()?;
            rows.extend((start..start + count).map_while(|at| {
                let bit = bytes.get((at / 8 - from) as usize)? >> (at % 8) & 1;
                let val = TypedValue::constant_of(Constant::Bool(bit == 1), BOOL);
                Some(VariableEntry::new(
                    format!("[{at}]"),
                    RowContent::Here(val, format!("{}[{at}]", path.name)),
                    "data",
                ))
            }));
        }
        if page.count > page.most && start + count < length {
            let format = Format::default();
            rows.push(rest_entry(path, &format, page.start.saturating_add(rows.len())));
        }
        Some(rows)
    }

    /// Each name with its values, which its indexer joins: entries with a key and a list of strings.
    fn name_rows(&self, debuggee: &ClrDebuggee, value: &ClrValue, path: &Path) -> Option<Vec<VariableEntry>> {
        let entries = self.listed(&self.field_named(value, "_entriesArray")?)?;
        let row = |entry: ClrValue| {
            let key = self.show(debuggee, &self.field_named(&entry, "Key")?).text;
            let values = self.field_named(&entry, "Value").and_then(|values| self.listed(&values));
            let texts: Vec<String> = values
                .unwrap_or_default()
                .iter()
                .filter_map(|text| bare(text)?.as_string()?.text(super::MAX_TEXT_LEN).ok())
                .collect();
            let val = match texts.is_empty() {
                true => TypedValue::constant_of(Constant::Null, STRING),
                false => TypedValue::text(texts.join(",")),
            };
            Some(VariableEntry::new(
                format!("[{key}]"),
                RowContent::Here(val, format!("{}[{key}]", path.name)),
                "data",
            ))
        };
        entries.into_iter().map(row).collect()
    }

    /// Whether a type is a NameValueCollection that stores its items itself.
    pub(super) fn is_names(&self, ty: &Ty) -> bool {
        let is_class = matches!(ty, Ty::Named(named) if !named.is_value && named.arguments.is_empty());
        is_class
            && self.chain(ty).iter().any(|base| self.full_name(base) == NAMES)
            // Stores them in an inner collection.
            && self.full_name(ty) != "System.Net.WebHeaderCollection"
    }

    /// The number of bits in a BitArray.
    pub(super) fn bit_count(&self, value: &ClrValue) -> Option<u32> {
        self.number_field(value, "_bitLength").or_else(|| self.number_field(value, "m_length"))
    }

    /// The items of an ArrayList.
    fn listed(&self, list: &ClrValue) -> Option<Vec<ClrValue>> {
        let list = bare(list)?;
        let length = self.number_field(&list, "_size")?.min(MAX_ITEMS);
        let items = bare(&self.field_named(&list, "_items")?)?;
        let items = items.as_array()?;
        (0..length).map(|at| items.element(at).ok()).collect()
    }

    /// The elements of a tuple: one with more than seven nests them.
    fn tuple_rows(&self, value: &ClrValue, path: &Path, ty: &Ty) -> Option<Vec<VariableEntry>> {
        let rows = self.tuple_elements(value, ty)?.into_iter().enumerate().map(|(at, steps)| {
            let named = path.tuple.as_ref().and_then(|names| names.get(at)?.clone());
            let name = named.unwrap_or_else(|| format!("Item{}", at + 1));
            let way = format!("{}.{name}", path.name);
            let inner = steps.into_iter().fold(path.clone(), |inner, step| inner.step(step, way.clone()));
            let tuple = path.tuple.as_ref().and_then(|names| self.names_of_element(names, ty, at));
            VariableEntry::new(name, RowContent::At(Path { tuple, ..inner }), "data")
        });
        Some(rows.collect())
    }
}
