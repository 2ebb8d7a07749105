//! What is in a variable: its text, its type, and what is inside it.
//!
//! In reading order: [`path`] (ways to values), [`references`] (what clients hold of a stop), [`locals`] and
//! [`hoisted`] (where ways start), [`constants`] (which have none), [`show`] and [`primitive`] (texts), [`members`] (fields), [`items`] (collections), [`inside`] (all that a value opens to),
//! [`properties`] and [`displays`] (what runs when it is asked for), [`rows`] (what clients see), [`setting`].

pub(super) mod constants;
pub(super) mod displays;
pub(super) mod hoisted;
pub(super) mod inside;
pub(super) mod items;
pub(super) mod locals;
pub(super) mod members;
pub(super) mod path;
pub(super) mod primitive;
pub(super) mod properties;
pub(super) mod references;
pub(super) mod rows;
pub(super) mod setting;
pub(super) mod show;

pub(super) use path::{Path, Root, Step, bare, class_up};
pub(super) use references::{Node, References};

/// Longest string shown, UTF-16 units; longer ones are cut and say so.
pub(crate) const LONGEST_TEXT: u32 = 4096;
