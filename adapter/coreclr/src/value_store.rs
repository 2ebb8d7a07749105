//! Values that clients were shown at a stop: the references that they hold, and caches for reading more.
//! Reads and shows none ([`super::values`]).

mod references;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use cordebug::frame::Frame;
use cordebug::module::Class;
use cordebug::value::Value as ClrValue;

use super::expression_binding::{BindContext, PreparedExpression};
use super::types::Ty;
use super::value_path::{PathRoot, PathSegment};
pub(super) use references::{AwaitingMethod, MemberSelection, Node, References, Returned};

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
    /// Classes whose static constructors threw, by full name, with the exceptions as text.
    pub(super) failed_classes: RefCell<HashMap<String, String>>,
    /// Nesting depth of members that are replaced by their own members.
    pub(super) rooted: Cell<usize>,
    /// Nesting depth of displays.
    pub(super) depth: Cell<u32>,
    /// Bound expressions, by text and context.
    pub(super) prepared: RefCell<HashMap<String, HashMap<BindContext, Rc<PreparedExpression>>>>,
}
