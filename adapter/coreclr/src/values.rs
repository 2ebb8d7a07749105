//! Values of variables: their text, their type, and their contents.
//!
//! In reading order: [`path_resolution`] and [`current_values`] (from paths to values), [`tuples`] (names of
//! their elements), [`locals`] and [`hoisted_variables`] (starts of paths), [`constants`] (which have none),
//! [`formatted_value`], [`primitive`], [`numbers`], [`framework`], [`reflection`] and [`composite_text`]
//! (texts), [`items`], [`item_layout`], [`linked_nodes`], [`dictionary_keys`], [`bulk_read`],
//! [`synthetic_children`] and [`inline_elements`] (collections), [`rows`], [`contents`] and [`member_rows`]
//! (all that a value opens to), [`groups`] (of members), [`properties`] and [`displays`] (run only when a
//! client requests them), [`variables`] (of the variables view), [`assignment`].

pub(super) mod assignment;
pub(super) mod bulk_read;
pub(super) mod composite_text;
pub(super) mod constants;
pub(super) mod contents;
mod current_values;
mod dictionary_keys;
pub(super) mod displays;
pub(super) mod formatted_value;
mod framework;
pub(super) mod groups;
pub(super) mod hoisted_variables;
pub(super) mod inline_elements;
mod item_layout;
pub(super) mod items;
pub(super) mod linked_nodes;
pub(super) mod locals;
mod member_rows;
mod numbers;
mod path_resolution;
pub(super) mod primitive;
pub(super) mod properties;
mod reflection;
pub(super) mod rows;
mod synthetic_children;
pub(super) mod tuples;
pub(super) mod variables;

use super::typed_value::Format;

/// Replaces the expression of a value that has none: the return value of a call.
pub(crate) const UNNAMED: &str = "$returned";
/// Longest string that is shown, UTF-16 units; longer ones are truncated, with a note.
pub(crate) const MAX_TEXT_LEN: u32 = 4096;
/// Most rows of one answer, if the client requests a number, and if it does not. The rest
/// is in a row that opens.
pub(crate) const MAX_ROWS: usize = 10_000;
pub(crate) const MAX_UNASKED: usize = 1_000;
/// Longest string that is returned for copying, UTF-16 units.
pub(crate) const MAX_COPY: u32 = 1 << 20;

/// Longest text in a format, UTF-16 units.
fn max_text_len(format: &Format) -> u32 {
    if format.copies { MAX_COPY } else { MAX_TEXT_LEN }
}
