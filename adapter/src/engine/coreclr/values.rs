//! What is in a variable: its text, its type, and what is inside it.
//!
//! In reading order: [`path`] (ways to values), [`references`] (what clients hold of a stop), [`locals`] and
//! [`hoisted`] (where ways start), [`constants`] (which have none), [`show`], [`primitive`], [`numbers`], [`framework`], [`reflection`] and [`composed`] (texts), [`members`] (fields), [`items`], [`chains`], [`together`], [`computed`] and [`contiguous`] (collections), [`inside`] (all that a value opens to),
//! [`properties`] and [`displays`] (what runs when it is asked for), [`rows`] (what clients see), [`setting`].

pub(super) mod chains;
mod composed;
mod computed;
pub(super) mod constants;
mod contiguous;
pub(super) mod displays;
mod framework;
pub(super) mod hoisted;
pub(super) mod inside;
pub(super) mod items;
pub(super) mod locals;
pub(super) mod members;
mod numbers;
pub(super) mod path;
pub(super) mod primitive;
pub(super) mod properties;
pub(super) mod references;
mod reflection;
pub(super) mod rows;
pub(super) mod setting;
pub(super) mod show;
pub(super) mod together;

pub(super) use path::{Path, Root, Step, bare, class_up};
pub(super) use references::{Node, References, Returned};

/// In place of the expression that leads to a value, where there is none: to what a call returned.
pub(crate) const UNNAMED: &str = "$returned";
/// Longest string shown, UTF-16 units; longer ones are cut and say so.
pub(crate) const LONGEST_TEXT: u32 = 4096;
/// Most rows of one answer, when the client says how many it wants, and when it does not. More are behind a row that opens.
pub(crate) const MOST_ROWS: usize = 10_000;
pub(crate) const MOST_UNASKED: usize = 1_000;
/// Longest string given to somebody who copies it, UTF-16 units.
pub(crate) const LONGEST_COPY: u32 = 1 << 20;
