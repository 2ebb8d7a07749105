//! A value's text and type.

use cordebug::value::Value as ClrValue;

use super::LONGEST_TEXT;
use super::path::bare;
use super::primitive::{date_time, decimal, primitive, quoted};
use crate::engine::coreclr::session::Session;

/// A value ready to be shown.
pub(crate) struct Shown {
    pub(crate) text: String,
    pub(crate) kind: String,
    /// Items, when it is an array or collection.
    pub(crate) items: u32,
    /// Whether there is anything inside.
    pub(crate) opens: bool,
}

impl Session {
    /// A value's text and type.
    pub(crate) fn show(&self, value: &ClrValue) -> Shown {
        let kind = self.type_of(value);
        let plain = |text: String| Shown { text, kind: kind.clone(), items: 0, opens: false };
        let Some(inner) = bare(value) else { return plain("null".into()) };
        if let Some(string) = inner.as_string() {
            let length = string.length().unwrap_or(0);
            let text = string.text(LONGEST_TEXT).unwrap_or_default();
            let cut =
                if length > LONGEST_TEXT { format!(" … ({length} characters)") } else { String::new() };
            return plain(format!("{}{cut}", quoted(&text)));
        }
        if let Some(array) = inner.as_array() {
            let lengths = array.dimensions().unwrap_or_default();
            let lengths: Vec<String> = lengths.iter().map(u32::to_string).collect();
            let items = array.count().unwrap_or(0);
            let element = kind.split('[').next().unwrap_or_default();
            let text = format!("{{{element}[{}]}}", lengths.join(", "));
            return Shown { text, kind, items, opens: items > 0 };
        }
        let element_type = inner.element_type().unwrap_or(0);
        if let Some(text) = inner.bytes().ok().and_then(|bytes| primitive(element_type, &bytes)) {
            return plain(text);
        }
        let name = inner.exact_type().ok().and_then(|kind| self.plain_name(&kind)).unwrap_or_default();
        match name.as_str() {
            "System.Decimal" => {
                if let Some(text) = inner.bytes().ok().and_then(|bytes| decimal(&bytes)) {
                    return plain(text);
                }
            }
            "System.DateTime" => {
                if let Some(text) = inner.bytes().ok().and_then(|bytes| date_time(&bytes)) {
                    return plain(text);
                }
            }
            "System.Nullable`1" => {
                let has = self.field_named(&inner, "hasValue").and_then(|has| has.bytes().ok());
                let full = has.is_some_and(|bytes| bytes.first().is_some_and(|byte| *byte != 0));
                let held = self.field_named(&inner, "value").filter(|_| full);
                return match held {
                    Some(held) => Shown { kind, ..self.show(&held) },
                    None => plain("null".into()),
                };
            }
            "System.Collections.Generic.List`1" => {
                if let Some(items) = self.number_field(&inner, "_size") {
                    return Shown { text: format!("Count = {items}"), kind, items, opens: true };
                }
            }
            "System.Collections.Generic.Dictionary`2" => {
                if let (Some(count), Some(free)) =
                    (self.number_field(&inner, "_count"), self.number_field(&inner, "_freeCount"))
                {
                    let items = count.saturating_sub(free);
                    return Shown { text: format!("Count = {items}"), kind, items, opens: true };
                }
            }
            _ => {}
        }
        if let Some(text) = self.enum_text(&inner) {
            return plain(text);
        }
        Shown { text: format!("{{{kind}}}"), kind, items: 0, opens: true }
    }

    /// `Green`, or `Read | Write` for flags, or the number.
    pub(crate) fn enum_text(&self, value: &ClrValue) -> Option<String> {
        let (loaded, token) = self.class_of(&value.exact_type().ok()?)?;
        let metadata = &loaded.image()?.metadata;
        (metadata.base_name(token)? == "System.Enum").then_some(())?;
        let mut wide = [0u8; 8];
        let bytes = value.bytes().ok()?;
        wide.get_mut(..bytes.len())?.copy_from_slice(&bytes);
        let number = u64::from_le_bytes(wide);
        let names: Vec<(String, u64)> = metadata
            .fields(token)
            .into_iter()
            .filter(|field| field.is_literal)
            .filter_map(|field| metadata.constant(field.token).map(|value| (field.name, value)))
            .collect();
        if let Some((name, _)) = names.iter().find(|(_, value)| *value == number) {
            return Some(name.clone());
        }
        let parts: Vec<&(String, u64)> =
            names.iter().filter(|(_, bit)| *bit != 0 && number & bit == *bit).collect();
        let covered = parts.iter().fold(0, |all, (_, bit)| all | bit);
        if covered == number && number != 0 {
            return Some(parts.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" | "));
        }
        Some(number.to_string())
    }
}
