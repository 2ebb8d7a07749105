//! Items of arrays and collections, a page at a time.

use cordebug::value::Value as ClrValue;

use super::path::{Path, Step, bare};
use crate::engine::coreclr::session::Session;

impl Session {
    /// The items of an array, list or dictionary; `None` for anything else.
    pub(crate) fn items(
        &self,
        inner: &ClrValue,
        path: &Path,
        start: usize,
        count: usize,
    ) -> Option<Vec<(String, Path)>> {
        let page = |length: u32| {
            (start as u64..u64::from(length)).take(count).filter_map(|at| u32::try_from(at).ok())
        };
        if let Some(array) = inner.as_array() {
            let lengths = array.dimensions().unwrap_or_default();
            let element = |at: u32| {
                let name = format!("[{}]", indexes(at, &lengths));
                let way = path.step(Step::Element(at), format!("{}{name}", path.name));
                (name, way)
            };
            return Some(page(array.count().ok()?).map(element).collect());
        }
        match self.plain_name(&inner.exact_type().ok()?)?.as_str() {
            "System.Collections.Generic.List`1" => {
                let length = self.number_field(inner, "_size")?;
                let array = path.step(self.member(inner, "_items")?, String::new());
                let item = |at| {
                    let name = format!("[{at}]");
                    let way = array.step(Step::Element(at), format!("{}{name}", path.name));
                    (name, way)
                };
                Some(page(length).map(item).collect())
            }
            "System.Collections.Generic.Dictionary`2" => {
                let used = self.number_field(inner, "_count")?;
                let entries = path.step(self.member(inner, "_entries")?, String::new());
                let array = bare(&self.fetch(&entries).ok()?);
                let array = array.as_ref().and_then(ClrValue::as_array);
                // An empty dictionary has no entries yet.
                let Some(array) = array else { return Some(Vec::new()) };
                let mut found = Vec::new();
                for at in 0..used {
                    let Ok(entry) = array.element(at) else { break };
                    // Freed entries chain with numbers below -1.
                    let next = self.number_field(&entry, "next").map_or(-2, |next| next as i32);
                    if next < -1 {
                        continue;
                    }
                    let key = self
                        .field_named(&entry, "key")
                        .map_or_else(|| "?".into(), |key| self.show(&key).text);
                    let way = entries.step(Step::Element(at), String::new());
                    let step = self.member(&entry, "value")?;
                    let name = format!("[{key}]");
                    let way = way.step(step, format!("{}{name}", path.name));
                    found.push((name, way));
                    if found.len() >= start.saturating_add(count) {
                        break;
                    }
                }
                Some(found.into_iter().skip(start).collect())
            }
            _ => None,
        }
    }
}

/// `1, 2` of a row-major position.
pub(crate) fn indexes(position: u32, lengths: &[u32]) -> String {
    let mut rest = position;
    let mut parts: Vec<String> = Vec::new();
    for length in lengths.iter().rev() {
        parts.push((rest % (*length).max(1)).to_string());
        rest /= (*length).max(1);
    }
    parts.reverse();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_position_is_told_by_its_indexes() {
        assert_eq!(super::indexes(5, &[2, 3]), "1, 2");
    }
}
