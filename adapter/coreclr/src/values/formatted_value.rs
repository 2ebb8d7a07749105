//! Text and type of a value, without running anything.
//!
//! Not here: displays that types define ([`super::displays`]).

use cordebug::value::{Value as ClrValue, element};

use super::bulk_read::is_number;
use super::max_text_len;
use super::primitive::{character, hexadecimal, quoted};
use crate::bare_value::bare;
use crate::debuggee::ClrDebuggee;
use crate::names::LIGHTWEIGHT;
use crate::typed_value::{Constant, Format};
use crate::types::ClrTypeSystem;
use crate::types::Ty;

/// Most chunks of a StringBuilder that are followed.
const MAX_CHUNKS: usize = 20_000;
/// Deepest nesting of tuples and pairs in one row.
const MAX_DEPTH: usize = 3;

/// A value that is ready to be shown.
pub(crate) struct FormattedValue {
    pub(crate) text: String,
    pub(crate) kind: String,
    /// Number of items, if it is an array or collection.
    pub(crate) items: u32,
    /// Whether it can be expanded.
    pub(crate) opens: bool,
    /// The row name that its type asks for.
    pub(crate) name: Option<String>,
}

impl ClrTypeSystem {
    /// A value's text and type.
    pub(crate) fn show(&self, debuggee: &ClrDebuggee, value: &ClrValue) -> FormattedValue {
        self.show_as(debuggee, value, &Format::default(), MAX_DEPTH)
    }

    pub(crate) fn show_as(
        &self,
        debuggee: &ClrDebuggee,
        value: &ClrValue,
        format: &Format,
        deeper: usize,
    ) -> FormattedValue {
        // Most rows are numbers, and each call of the debugging library takes time.
        if let Ok(kind) = value.element_type()
            && is_number(kind)
            && let Some(constant) = value.bytes().ok().and_then(|bytes| Constant::from_bytes(kind, &bytes))
        {
            return self.show_constant(&constant, &Ty::Primitive(kind), format);
        }
        let declared = self.declared_ty(value);
        let Some(inner) = bare(value) else {
            let ty = if declared == Ty::Other { "object".into() } else { self.csharp(&declared) };
            return FormattedValue { text: "null".into(), kind: ty, items: 0, opens: false, name: None };
        };
        let ty = self.declared_ty(&inner);
        let kind = self.csharp(&ty);
        let plain =
            |text: String| FormattedValue { text, kind: kind.clone(), items: 0, opens: false, name: None };
        if let Some(string) = inner.as_string() {
            let length = string.length().unwrap_or(0);
            let text = string.text(max_text_len(format)).unwrap_or_default();
            return plain(shown_text(text, length, format));
        }
        if let Some(array) = inner.as_array() {
            let lengths = array.dimensions().unwrap_or_default();
            let lengths: Vec<String> = lengths.iter().map(u32::to_string).collect();
            let items = array.count().unwrap_or(0);
            // `int[2][]`: the lengths go into the first brackets.
            let (element, rest) = kind.split_once('[').unwrap_or((&kind, ""));
            let rest = rest.split_once(']').map_or("", |(_, rest)| rest);
            let text = format!("{{{element}[{}]{rest}}}", lengths.join(", "));
            return FormattedValue { text, kind, items, opens: items > 0, name: None };
        }
        if let Ty::Pointer(_) = ty {
            let target = inner.as_reference().and_then(|pointer| pointer.target().ok()).unwrap_or(0);
            let opens = target != 0 && kind != "void*";
            return FormattedValue { text: format!("0x{target:016x}"), kind, items: 0, opens, name: None };
        }
        if inner.element_type() == Ok(element::FNPTR) {
            let target = inner.as_reference().and_then(|pointer| pointer.target().ok()).unwrap_or(0);
            let kind = self.function_pointer_type(&inner).unwrap_or_else(|| kind.clone());
            return FormattedValue { kind, ..plain(format!("0x{target:016x}")) };
        }
        if let Some(constant) = self.constant_of(&inner) {
            let shown = self.show_constant(&constant, &ty, format);
            return FormattedValue { kind, ..shown };
        }
        self.show_object(debuggee, &inner, &ty, kind, format, deeper)
    }

    /// The type of a pointer to a function. The runtime lists the type of the result first, C# last.
    fn function_pointer_type(&self, value: &ClrValue) -> Option<String> {
        let mut types = value.exact_type().ok()?.parameters().ok()?;
        (!types.is_empty()).then(|| types.rotate_left(1))?;
        let names = types.iter().map(|kind| self.csharp(&self.ty_of_runtime(kind)));
        Some(format!("delegate*<{}>", names.collect::<Vec<_>>().join(", ")))
    }

    fn show_object(
        &self,
        debuggee: &ClrDebuggee,
        inner: &ClrValue,
        ty: &Ty,
        kind: String,
        format: &Format,
        deeper: usize,
    ) -> FormattedValue {
        // A nullable is shown as its value.
        if self.nullable(ty).is_some()
            && let Some(value) = self.field_named(inner, "value")
        {
            return FormattedValue { kind, ..self.show_as(debuggee, &value, format, deeper) };
        }
        let name = self.full_name(ty);
        let plain =
            |text: String| FormattedValue { text, kind: kind.clone(), items: 0, opens: false, name: None };
        let opens =
            |text: String| FormattedValue { text, kind: kind.clone(), items: 0, opens: true, name: None };
        let nested = |name: &str| {
            let deeper = deeper.checked_sub(1)?;
            Some(self.show_as(debuggee, &self.field_named(inner, name)?, format, deeper).text)
        };
        if let Some(text) = self.struct_text(debuggee, inner, &name, format) {
            return opens(text);
        }
        if deeper > 0
            && let Some(composed) = self.compose(inner, ty, &name)
        {
            return opens(self.composed_text(debuggee, inner, &composed, format, deeper));
        }
        if let Some(items) = self.count_of(debuggee, inner, &name) {
            let parts = ["Span`", "Memory`", "ImmutableArray`"];
            let word = if parts.iter().any(|part| name.contains(part)) { "Length" } else { "Count" };
            let mut text = format!("{word} = {items}");
            if name == "System.Linq.Grouping`2"
                && let Some(key) = nested("_key")
            {
                text = format!("Key = {key}, {text}");
            }
            return FormattedValue { text, kind, items, opens: true, name: None };
        }
        if let Some(elements) = self.inline_elements_of(inner, ty) {
            let text = format!("Length = {}", elements.count);
            return FormattedValue { text, kind, items: elements.count, opens: true, name: None };
        }
        if let Some(count) = self.count_items(inner, &name) {
            let items = self.proxied_items(inner, &name).unwrap_or(0);
            return FormattedValue { items, ..opens(format!("Count = {count}")) };
        }
        if let Some((target, function)) = inner.as_delegate() {
            let method = function.ok().and_then(|function| {
                let loaded = self.modules.of(&function.module().ok()?)?;
                let token = function.token().ok()?;
                // Code generated at run time has no metadata.
                loaded.image()?;
                Some(match token & 0x00ff_ffff {
                    0 => self.lightweight_target(debuggee, inner).unwrap_or_else(|| LIGHTWEIGHT.into()),
                    _ => loaded.method_display(token),
                })
            });
            drop(target);
            if let Some(method) = method {
                return opens(format!("{{{kind}: {method}}}"));
            }
        }
        for base in self.chain(ty) {
            let name = self.full_name(&base);
            if let Some(text) = self.class_text(debuggee, inner, &name, format, deeper) {
                return opens(text);
            }
            if name == "System.Exception"
                && let Some(message) = self.text_field(inner, "_message")
            {
                return opens(format!("{{{kind}: {message}}}"));
            }
        }
        let has_fields = !matches!(ty, Ty::Primitive(element::OBJECT));
        if has_fields { opens(format!("{{{kind}}}")) } else { plain(format!("{{{kind}}}")) }
    }

    /// The text of a StringBuilder, whose chunks are linked backwards. Only those at the start are read.
    pub(super) fn built_text(
        &self,
        debuggee: &ClrDebuggee,
        value: &ClrValue,
        format: &Format,
    ) -> Option<String> {
        let (first, own) =
            (self.number_field(value, "m_ChunkOffset")?, self.number_field(value, "m_ChunkLength")?);
        let length = first.checked_add(own)?;
        let (mut chunk, mut parts) = (value.clone(), Vec::new());
        for _ in 0..MAX_CHUNKS {
            let offset = self.number_field(&chunk, "m_ChunkOffset")?;
            let left = max_text_len(format).saturating_sub(offset);
            let count = self.number_field(&chunk, "m_ChunkLength")?.min(left);
            if count > 0 {
                let letters = bare(&self.field_named(&chunk, "m_ChunkChars")?)?;
                let address = letters.as_array()?.element(0).ok()?.address().ok()?;
                parts.push(debuggee.process().ok()?.read_memory(address, count * 2).ok()?);
            }
            match self.field_named(&chunk, "m_ChunkPrevious").as_ref().and_then(bare) {
                Some(previous) => chunk = previous,
                None => {
                    let unit = |two: &[u8]| two.try_into().map_or(0, u16::from_le_bytes);
                    let units: Vec<u16> =
                        parts.iter().rev().flat_map(|part| part.chunks_exact(2).map(unit)).collect();
                    return Some(shown_text(String::from_utf16_lossy(&units), length, format));
                }
            }
        }
        Some(format!("{{{length} characters}}"))
    }

    /// A constant's text and type.
    pub(crate) fn show_constant(&self, constant: &Constant, ty: &Ty, format: &Format) -> FormattedValue {
        let inside = self.nullable(ty).unwrap_or_else(|| ty.clone());
        let text = match constant {
            Constant::Null => "null".into(),
            Constant::Bool(value) => value.to_string(),
            Constant::Text(text) => {
                let units = text.encode_utf16().take(max_text_len(format) as usize).collect::<Vec<_>>();
                let length = u32::try_from(text.encode_utf16().count()).unwrap_or(u32::MAX);
                shown_text(String::from_utf16_lossy(&units), length, format)
            }
            Constant::Int(_, value) if self.enum_storage(&inside).is_some() => {
                self.enum_text(&inside, *value, format)
            }
            Constant::Int(_, value) if matches!(ty, Ty::Pointer(_)) => format!("0x{value:016x}"),
            Constant::Int(element::CHAR, value) => character(*value as u16, format.hex),
            Constant::Int(kind, value) if format.hex => hexadecimal(*kind, *value),
            other => other.invariant_text(),
        };
        let kind = match (constant, ty) {
            (Constant::Decimal(_), ty) if !matches!(ty, Ty::Named(_)) => "decimal".into(),
            (constant, Ty::Null | Ty::Other) => self.csharp(&constant.ty()),
            // A value in a variable of type object is shown with its own type.
            (constant, Ty::Primitive(element::OBJECT)) if *constant != Constant::Null => {
                self.csharp(&constant.ty())
            }
            (_, ty) => self.csharp(ty),
        };
        FormattedValue { text, kind, items: 0, opens: false, name: None }
    }

    /// `Green`, or `Read | Write` for flags, or the number.
    fn enum_text(&self, ty: &Ty, number: i128, format: &Format) -> String {
        let number_text = || {
            let kind = self.enum_storage(ty).unwrap_or(element::I4);
            if format.hex { hexadecimal(kind, number) } else { number.to_string() }
        };
        match self.enum_parts(ty, number) {
            Some(parts) if format.hex => format!("{} ({})", parts.join(" | "), number_text()),
            Some(parts) => parts.join(" | "),
            None => number_text(),
        }
    }

    /// In the format of `ToString`: `Read, Write`.
    pub(crate) fn enum_name(&self, ty: &Ty, number: i128) -> Option<String> {
        self.enum_parts(ty, number).map(|parts| parts.join(", "))
    }

    /// Names of an enum's value, in the order of their values; `None` if names do not add up to it.
    fn enum_parts(&self, ty: &Ty, number: i128) -> Option<Vec<String>> {
        let (loaded, token) = self.definition(ty)?;
        let metadata = &loaded.image()?.metadata;
        let mut names: Vec<(String, i128)> = Vec::new();
        for field in metadata.fields(token).into_iter().filter(|field| field.is_literal) {
            if let Some((kind, bytes)) = metadata.literal(field.token)
                && let Some(Constant::Int(_, value)) = Constant::from_bytes(kind, bytes)
            {
                names.push((field.name, value));
            }
        }
        if let Some((name, _)) = names.iter().find(|(_, value)| *value == number) {
            return Some(vec![name.clone()]);
        }
        if !metadata.has_attribute(token, "System.FlagsAttribute") || number == 0 {
            return None;
        }
        // From the largest down, as Enum.ToString does, then ascending.
        names.sort_by_key(|(_, value)| *value as u64);
        let (mut rest, mut parts) = (number as u64, Vec::new());
        for (name, value) in names.iter().rev() {
            let value = *value as u64;
            if value != 0 && rest & value == value {
                rest &= !value;
                parts.push(name.clone());
            }
        }
        parts.reverse();
        (rest == 0).then_some(parts)
    }
}

/// The start of a text, as it is shown; a longer one has its length appended.
pub(super) fn shown_text(text: String, length: u32, format: &Format) -> String {
    let text = if format.bare { text } else { quoted(&text) };
    if length > max_text_len(format) { format!("{text} … ({length} characters)") } else { text }
}
