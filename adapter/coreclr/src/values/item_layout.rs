//! Layouts in which the framework's collections store their items, by the names of their types and fields.
//!
//! Not here: reading the items ([`super::items`]).

use cordebug::value::Value as ClrValue;

use super::linked_nodes::LinkedNodes;
use crate::bare_value::bare;
use crate::types::ClrTypeSystem;

/// `Memory` stores a flag in its start index; this mask removes it.
pub(super) const INDEX_MASK: u32 = 0x7fff_ffff;

/// Storage layout of a collection's items.
pub(super) enum ItemLayout {
    /// An array, used from its start: field of the array, items.
    Front(&'static str, u32),
    /// A part of an array: its field, where the part begins, items; the field that an index is relative to.
    Part(&'static str, u32, u32, &'static str),
    /// A ring: field of the array, where it begins, items.
    Ring(&'static str, u32, u32),
    /// Used from its start, shown from its end.
    Stack(&'static str, u32),
    /// Keys and values in entries, some of them free: field of the entries, used entries, field that marks
    /// free ones, free below this value.
    Entries {
        array: &'static str,
        used: u32,
        free: u32,
        mark: &'static str,
        live: i32,
        key: Option<&'static str>,
        value: &'static str,
    },
    /// Linked nodes: fields on the path to the first, field of the next one, items, field of the key and of
    /// the value, if it is not the node itself.
    Linked(LinkedNodes),
    /// Another collection in this field stores them.
    Inner(&'static str),
}

impl ItemLayout {
    /// The layout of a collection with this type; `None` for other types.
    pub(super) fn of(types: &ClrTypeSystem, value: &ClrValue, name: &str) -> Option<Self> {
        let number = |field: &str| types.number_field(value, field);
        Some(match name {
            "System.Collections.Generic.List`1" | "System.Collections.ArrayList" => {
                Self::Front("_items", number("_size")?)
            }
            "System.Collections.Generic.Queue`1" | "System.Collections.Queue" => {
                Self::Ring("_array", number("_head")?, number("_size")?)
            }
            "System.Collections.Generic.Stack`1" | "System.Collections.Stack" => {
                Self::Stack("_array", number("_size").or_else(|| number("_count"))?)
            }
            "System.Collections.Generic.Dictionary`2" => Self::Entries {
                array: "_entries",
                used: number("_count")?,
                free: number("_freeCount")?,
                mark: "next",
                live: -1,
                key: Some("key"),
                value: "value",
            },
            "System.Collections.Generic.HashSet`1" => match number("_lastIndex") {
                Some(used) => Self::Entries {
                    array: "_slots",
                    used,
                    free: used.saturating_sub(number("_count")?),
                    mark: "hashCode",
                    live: 0,
                    key: None,
                    value: "value",
                },
                None => Self::Entries {
                    array: "_entries",
                    used: number("_count")?,
                    free: number("_freeCount")?,
                    mark: "Next",
                    live: -1,
                    key: None,
                    value: "Value",
                },
            },
            "System.Collections.Generic.OrderedDictionary`2" => Self::Entries {
                array: "_entries",
                used: number("_count")?,
                free: 0,
                mark: "Next",
                live: -1,
                key: Some("Key"),
                value: "Value",
            },
            "System.Collections.Generic.LinkedList`1" => Self::Linked(LinkedNodes {
                first: &["head"],
                next: "next",
                length: number("count")?,
                key: None,
                value: Some("item"),
            }),
            "System.Linq.Lookup`2" | "System.Linq.CollectionLookup`2" => Self::Linked(LinkedNodes {
                first: &["_lastGrouping", "_next"],
                next: "_next",
                length: number("_count")?,
                key: Some("_key"),
                value: None,
            }),
            // A grouping has no indexer.
            "System.Linq.Grouping`2" => Self::Ring("_elements", 0, number("_count")?),
            "System.ArraySegment`1" => Self::Part("_array", number("_offset")?, number("_count")?, ""),
            "System.Memory`1" | "System.ReadOnlyMemory`1" => {
                // Memory over a string, or from another allocator, is not an array.
                bare(&types.field_named(value, "_object")?)?.as_array()?;
                Self::Part("_object", number("_index")? & INDEX_MASK, number("_length")?, ".Span")
            }
            "System.Collections.ObjectModel.ReadOnlyDictionary`2" => Self::Inner("m_dictionary"),
            "System.Collections.Immutable.ImmutableArray`1" => Self::Inner("array"),
            "System.Collections.ObjectModel.ReadOnlyCollection`1" => Self::Inner("list"),
            "System.Collections.ObjectModel.Collection`1"
            | "System.Collections.ObjectModel.ObservableCollection`1" => Self::Inner("items"),
            _ => return None,
        })
    }
}
