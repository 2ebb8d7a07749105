//! Values of variables: their text, their type, and their contents.
//!
//! In reading order: [`path_resolution`] and [`current_values`] (from paths to values), [`tuples`] (names of
//! their elements), [`references`] (references that clients hold during a stop), [`locals`] and
//! [`hoisted_variables`] (starts of paths), [`constants`] (which have none), [`formatted_value`],
//! [`primitive`], [`numbers`], [`framework`], [`reflection`] and [`composite_text`] (texts), [`members`]
//! (fields), [`items`], [`linked_nodes`], [`bulk_read`], [`synthetic_children`] and [`inline_elements`]
//! (collections), [`contents`] (all that a value opens to), [`groups`] (of members), [`properties`] and
//! [`displays`] (run only when a client requests them), [`variables`] (of the variables view),
//! [`assignment`].

pub(super) mod assignment;
pub(super) mod bulk_read;
pub(super) mod composite_text;
pub(super) mod constants;
pub(super) mod contents;
mod current_values;
pub(super) mod displays;
pub(super) mod formatted_value;
mod framework;
pub(super) mod groups;
pub(super) mod hoisted_variables;
pub(super) mod inline_elements;
pub(super) mod items;
mod lightweight_methods;
pub(super) mod linked_nodes;
pub(super) mod locals;
pub(super) mod members;
mod numbers;
mod path_resolution;
pub(super) mod primitive;
pub(super) mod properties;
pub(super) mod references;
mod reflection;
mod synthetic_children;
pub(super) mod tuples;
pub(super) mod variables;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use cordebug::frame::Frame;
use cordebug::module::Class;
use cordebug::value::Value as ClrValue;

use super::expression_binding::{BindContext, PreparedExpression};
use super::typed_value::Format;
use super::types::Ty;
use super::value_path::{PathRoot, PathSegment};
pub(super) use references::{Node, References, Returned};

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

/// Frames of a thread at one stop, from the top.
pub(crate) struct ThreadStack {
    /// `Process::resumes` when they were walked.
    pub(crate) resumes: u64,
    pub(crate) thread: u32,
    /// How many were requested.
    pub(crate) requested: usize,
    pub(crate) frames: Vec<Frame>,
}

/// The values on the path to the one fetched last: rows of one object or array are
/// fetched one after the other.
pub(crate) struct CachedPath {
    /// `Process::resumes` when it was fetched.
    pub(crate) resumes: u64,
    pub(crate) root: PathRoot,
    pub(crate) steps: Vec<PathSegment>,
    /// The value at the start and after each step, dereferenced and unboxed.
    pub(crate) values: Vec<ClrValue>,
    /// The class `up` base types above the last value's, which declares the field fetched last.
    pub(crate) class: Option<(usize, Class)>,
}

/// Values that clients were shown at this stop, with caches.
#[derive(Default)]
pub(super) struct ValueStore {
    pub(super) references: References,
    pub(super) stack: RefCell<Option<ThreadStack>>,
    /// The object that holds the value fetched last.
    pub(super) holder: RefCell<Option<CachedPath>>,
    /// Types whose display took too long, or failed: it is not called again.
    pub(super) mute: RefCell<HashSet<String>>,
    /// Classes whose static constructors were run.
    pub(super) initialised: RefCell<HashSet<Ty>>,
    /// Nesting depth of members that are replaced by their own members.
    rooted: Cell<usize>,
    /// Nesting depth of displays.
    depth: Cell<u32>,
    /// Bound expressions, by text and context.
    pub(super) prepared: RefCell<HashMap<String, HashMap<BindContext, Rc<PreparedExpression>>>>,
}
