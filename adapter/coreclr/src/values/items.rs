//! Items of arrays and collections, a page at a time, read in place: nothing runs.
//!
//! Not here: sequences that only code of the program can enumerate ([`super::properties`]).

use cordebug::value::{Array, Value as ClrValue};

use super::dictionary_keys::DictionaryKeys;
use super::item_layout::ItemLayout;
use super::linked_nodes::{CONCURRENT, LinkedNodes};
use super::synthetic_children::{BITS, NAMES};
use crate::bare_value::bare;
use crate::debuggee::ClrDebuggee;
use crate::stop_context::StopContext;
use crate::types::ClrTypeSystem;
use crate::value_path::{NameType, Path, PathSegment};
use tokio_util::sync::CancellationToken;

/// Size of the pieces in which the program's memory is scanned, bytes.
const CHUNK_SIZE: u64 = 1 << 20;

/// Collections that must run to show their items, but store their number in a field: the path to it.
const COUNTED: [(&str, &[&str]); 8] = [
    ("System.Collections.Generic.SortedDictionary`2", &["_set", "count"]),
    ("System.Collections.Generic.SortedSet`1", &["count"]),
    ("System.Collections.Generic.SortedList`2", &["_size"]),
    ("System.Collections.Generic.PriorityQueue`2", &["_size"]),
    ("System.Collections.SortedList", &["_size"]),
    ("System.Collections.Generic.SortedDictionary`2.TreeSet", &["count"]),
    ("System.Dynamic.ExpandoObject", &["_count"]),
    (NAMES, &["_entriesArray", "_size"]),
];

impl StopContext<'_> {
    /// The items of an array or collection with the paths to them; `None` for any other value.
    pub(crate) fn items(
        &self,
        cancel: &CancellationToken,
        inner: &ClrValue,
        path: &Path,
        start: usize,
        count: usize,
    ) -> Option<Vec<(String, Path)>> {
        let page = |length: u32| {
            (start as u64..u64::from(length)).take(count).filter_map(|at| u32::try_from(at).ok())
        };
        let indexed = |at: u32| (format!("[{at}]"), format!("{}[{at}]", path.name));
        // Collections without an indexer are accessed through LINQ.
        let counted = |at: u32| (format!("[{at}]"), format!("{}.ElementAt({at})", path.name));
        if let Some(array) = inner.as_array() {
            let lengths = array.dimensions().unwrap_or_default();
            let lowest = array.lowest().unwrap_or_default();
            let element = |at: u32| {
                let name = format!("[{}]", indexes(at, &lengths, &lowest));
                let way = path.step(PathSegment::Element(at), format!("{}{name}", path.name));
                (name, way)
            };
            return Some(page(array.count().ok()?).map(element).collect());
        }
        let name = self.types.full_name(&self.types.declared_ty(inner));
        // The evaluator reads the items of arrays and lists; it calls the methods of other collections.
        let path = &Path {
            is_called: path.is_called || name != "System.Collections.Generic.List`1",
            ..path.clone()
        };
        if name == CONCURRENT {
            return self.concurrent_items(cancel, inner, path, start, count);
        }
        let keys = DictionaryKeys::of(self.types, inner);
        let within = |field: &str| Some(path.step(self.types.member(inner, field)?, String::new()));
        match ItemLayout::of(self.types, inner, &name)? {
            ItemLayout::Front(field, length) => {
                let array = within(field)?;
                let item = |at| {
                    let (name, way) = indexed(at);
                    (name, array.step(PathSegment::Element(at), way))
                };
                Some(page(length).map(item).collect())
            }
            ItemLayout::Part(field, from, length, behind) => {
                let array = within(field)?;
                let item = |at| {
                    let way = format!("{}{behind}[{at}]", path.name);
                    (format!("[{at}]"), array.step(PathSegment::Element(from.saturating_add(at)), way))
                };
                Some(page(length).map(item).collect())
            }
            ItemLayout::Ring(field, head, length) => {
                let array = within(field)?;
                let capacity = bare(&self.fetch(&array).ok()?)?.as_array()?.count().ok()?.max(1);
                let item = |at: u32| {
                    let (name, way) = counted(at);
                    let place = (u64::from(head) + u64::from(at)) % u64::from(capacity);
                    (name, array.step(PathSegment::Element(place as u32), way))
                };
                Some(page(length).map(item).collect())
            }
            ItemLayout::Stack(field, length) => {
                let array = within(field)?;
                let item = |at: u32| {
                    let (name, way) = counted(at);
                    (name, array.step(PathSegment::Element(length - 1 - at), way))
                };
                Some(page(length).map(item).collect())
            }
            ItemLayout::Linked(chain) => {
                let nodes = self.linked_nodes(cancel, inner, path, &chain, (start, count))?;
                let item = |(at, node): (u32, Path)| {
                    let value = bare(&self.fetch(&node).ok()?)?;
                    let (name, way) = match chain.key {
                        Some(key) => {
                            let key = self.types.field_named(&value, key)?;
                            self.types.key_path(self.debuggee, path, &keys, &key, counted(at).1)
                        }
                        None => counted(at),
                    };
                    Some(match chain.value {
                        Some(field) => (name, node.step(self.types.member(&value, field)?, way)),
                        // A group of a lookup, whose indexer returns a sequence.
                        None => (name, Path { name: way, name_type: NameType::Base, ..node }),
                    })
                };
                Some(nodes.into_iter().filter_map(item).collect())
            }
            ItemLayout::Inner(field) => {
                let way = within(field)?;
                let value = bare(&self.fetch(&way).ok()?)?;
                let items =
                    self.items(cancel, &value, &Path { name: path.name.clone(), ..way }, start, count)?;
                Some(items)
            }
            ItemLayout::Entries { array: field, used, free, mark, live, key, value } => {
                let entries = within(field)?;
                let array = bare(&self.fetch(&entries).ok()?);
                // An empty dictionary has no entries yet.
                let Some(array) = array.as_ref().and_then(ClrValue::as_array) else {
                    return Some(Vec::new());
                };
                let mut found = Vec::new();
                let live_ones = match free {
                    // Without free entries, positions are known.
                    0 => (start as u64..u64::from(used))
                        .take(count)
                        .filter_map(|at| u32::try_from(at).ok())
                        .collect(),
                    _ => self.types.live_entries(
                        self.debuggee,
                        cancel,
                        &array,
                        used,
                        (mark, live),
                        (start, count),
                    )?,
                };
                for at in live_ones {
                    let Ok(entry) = array.element(at) else { break };
                    let item = entries.step(PathSegment::Element(at), String::new());
                    let (number, by_position) = counted((start + found.len()) as u32);
                    let by_position = if key.is_some() { by_position + ".Value" } else { by_position };
                    let (name, way) = match key.and_then(|key| self.types.field_named(&entry, key)) {
                        Some(key) => self.types.key_path(self.debuggee, path, &keys, &key, by_position),
                        None => (number, by_position),
                    };
                    found.push((name, item.step(self.types.member(&entry, value)?, way)));
                }
                Some(found)
            }
        }
    }
}

impl ClrTypeSystem {
    /// The number of items in a collection; `None` for any other value, or if code must run.
    pub(crate) fn count_of(&self, debuggee: &ClrDebuggee, value: &ClrValue, name: &str) -> Option<u32> {
        if name.contains("Span`1") {
            return self.number_field(value, "_length");
        }
        match name {
            CONCURRENT => return self.concurrent_count(debuggee, value),
            BITS => return self.bit_count(value),
            _ => {}
        }
        Some(match ItemLayout::of(self, value, name)? {
            ItemLayout::Front(_, count)
            | ItemLayout::Ring(_, _, count)
            | ItemLayout::Part(_, _, count, _)
            | ItemLayout::Stack(_, count)
            | ItemLayout::Linked(LinkedNodes { length: count, .. }) => count,
            ItemLayout::Entries { used, free, .. } => used.saturating_sub(free),
            ItemLayout::Inner(field) => {
                let inner = bare(&self.field_named(value, field)?)?;
                match inner.as_array() {
                    Some(array) => array.count().ok()?,
                    None => {
                        let name = self.full_name(&self.declared_ty(&inner));
                        self.count_of(debuggee, &inner, &name)?
                    }
                }
            }
        })
    }

    /// The name of an item with this key, and the expression that evaluates to it: by the key if it has a
    /// literal, otherwise by the position.
    pub(super) fn key_path(
        &self,
        debuggee: &ClrDebuggee,
        path: &Path,
        keys: &DictionaryKeys,
        key: &ClrValue,
        by_position: String,
    ) -> (String, String) {
        let literal = keys.literal_of(self, key);
        let name = match &literal {
            Some(literal) if literal.has_number_type => format!("[{}]", literal.text),
            _ => format!("[{}]", self.show(debuggee, key).text),
        };
        let way = literal.map_or(by_position, |literal| format!("{}[{}]", path.name, literal.text));
        (name, way)
    }

    /// Positions of a page of the used entries. Memory is read in large pieces to find them.
    fn live_entries(
        &self,
        debuggee: &ClrDebuggee,
        cancel: &CancellationToken,
        array: &Array,
        used: u32,
        (mark, live): (&str, i32),
        (start, count): (usize, usize),
    ) -> Option<Vec<u32>> {
        let first = array.element(0).ok()?;
        let from = first.address().ok()?;
        let field = self.field_named(&first, mark)?.address().ok()?.checked_sub(from)?;
        let size = match array.element(1) {
            Ok(second) => second.address().ok()?.checked_sub(from)?,
            Err(_) => u64::from(first.size().ok()?),
        };
        let process = debuggee.process().ok()?;
        let (mut passed, mut found) = (0, Vec::new());
        let at_once = (CHUNK_SIZE / size.max(1)).max(1);
        for chunk in (0..u64::from(used)).step_by(usize::try_from(at_once).ok()?) {
            if cancel.is_cancelled() || found.len() >= count {
                break;
            }
            let entries = at_once.min(u64::from(used) - chunk);
            let bytes = process.read_memory(from + chunk * size, u32::try_from(entries * size).ok()?).ok()?;
            for (at, entry) in (chunk..).zip(bytes.chunks_exact(usize::try_from(size).ok()?)) {
                let field = usize::try_from(field).ok()?;
                let state = entry.get(field..field + 4)?.try_into().ok().map(i32::from_le_bytes)?;
                if state < live {
                    continue;
                }
                if passed >= start && found.len() < count {
                    found.push(u32::try_from(at).ok()?);
                }
                passed += 1;
            }
        }
        Some(found)
    }

    /// The number of items that the proxy of a collection shows.
    pub(super) fn proxied_items(&self, value: &ClrValue, name: &str) -> Option<u32> {
        let has_proxy =
            name.starts_with("System.Collections.Generic.") || name == "System.Collections.SortedList";
        if has_proxy { self.count_items(value, name) } else { None }
    }

    /// The number of items in a collection that must run to show them.
    pub(crate) fn count_items(&self, value: &ClrValue, name: &str) -> Option<u32> {
        let (_, way) = COUNTED.iter().find(|(counted, _)| *counted == name)?;
        let (last, outer) = way.split_last()?;
        let mut inner = value.clone();
        for field in outer {
            inner = bare(&self.field_named(&inner, field)?)?;
        }
        self.number_field(&inner, last)
    }
}

/// The indexes `1, 2` of a row-major position.
fn indexes(position: u32, lengths: &[u32], lowest: &[u32]) -> String {
    let mut rest = position;
    let mut parts: Vec<String> = Vec::new();
    for (at, length) in lengths.iter().enumerate().rev() {
        let from = lowest.get(at).copied().unwrap_or(0) as i32;
        parts.push((i64::from(rest % (*length).max(1)) + i64::from(from)).to_string());
        rest /= (*length).max(1);
    }
    parts.reverse();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_is_shown_as_indexes() {
        assert_eq!(indexes(5, &[2, 3], &[0, 0]), "1, 2");
        assert_eq!(indexes(0, &[2], &[5]), "5");
    }
}
