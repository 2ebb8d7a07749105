//! What is in a variable: its text, its type, and what is inside it.
//!
//! In reading order: [`path`] (ways to values), [`locals`] (where they start), [`show`] and [`primitive`] (texts),
//! [`members`] and [`items`] (what is inside), [`rows`] (what clients see).

pub(super) mod items;
pub(super) mod locals;
pub(super) mod members;
pub(super) mod path;
pub(super) mod primitive;
pub(super) mod rows;
pub(super) mod show;

pub(super) use path::{Node, Path, References, Root, Step, bare};
pub(super) use primitive::quoted;

/// Longest string shown, UTF-16 units; longer ones are cut and say so.
pub(crate) const LONGEST_TEXT: u32 = 4096;
