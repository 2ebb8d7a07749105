//! References that clients hold during a stop: frames, and values that open. Follows no path
//! (`values::path_resolution`).

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use cordebug::value::Handle;

use crate::modules::LoadedModule;
use crate::typed_value::{Format, TypedValue};
use crate::types::Ty;
use crate::value_path::Path;

/// The members of an object that are requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberSelection {
    /// The members next to the groups.
    Shown,
    /// The members in the group of non-public members.
    NonPublic,
    /// All members, in one list without groups.
    All,
}

impl MemberSelection {
    pub(crate) fn takes(self, is_grouped: bool) -> bool {
        match self {
            Self::Shown => !is_grouped,
            Self::NonPublic => is_grouped,
            Self::All => true,
        }
    }
}

/// The target of a `variablesReference`.
#[derive(Clone)]
pub(crate) enum Node {
    /// Arguments and locals of a frame.
    Locals { thread: u32, index: usize },
    /// The arguments of the generic parameters of a frame's code.
    Types { thread: u32, index: usize },
    /// The contents of a value.
    Inside(Path, Format),
    /// The items of a collection from this index on.
    Rest(Path, Format, usize),
    /// The fields of a collection that is shown as its items, or of an object with a proxy.
    Raw(Path),
    /// A property, which runs code of the program when a client requests it.
    Property { of: Path, name: String, way: String },
    /// The items of a sequence that must run to enumerate them.
    Results(Path),
    /// The non-public members of a library's object.
    NonPublic(Path),
    /// The members that a dynamic object reports.
    Dynamic(Path),
    /// Static members of a type.
    Statics(Ty, MemberSelection),
    /// A static property, which runs code of the program when a client requests it: its
    /// name, and the expression.
    Evaluated { name: String, way: String },
}

impl Node {
    /// The static members of a type; the non-public ones of a library are in their group.
    pub(crate) fn statics(ty: Ty) -> Self {
        Self::Statics(ty, MemberSelection::Shown)
    }
}

/// The return value of a call in the step that led to this stop.
pub(crate) struct Returned {
    /// The call's IL offset.
    pub(crate) il: u32,
    /// The name of the called method.
    pub(crate) name: String,
    pub(crate) val: TypedValue,
}

/// A method that waits for another one to complete.
pub(crate) struct AwaitingMethod {
    pub(crate) loaded: Rc<LoadedModule>,
    /// MethodDef token of its `MoveNext`.
    pub(crate) method: u32,
    /// IL offset of its `await`, if its state determines it.
    pub(crate) il: Option<u32>,
    /// Generic arguments of its class, then its own.
    pub(crate) arguments: Vec<Ty>,
    /// The path to its state machine.
    pub(crate) machine: Path,
}

/// References created at this stop.
#[derive(Default)]
pub(crate) struct References {
    frames: Vec<(u32, usize)>,
    nodes: Vec<Node>,
    handles: RefCell<Vec<Rc<Handle>>>,
    /// Async callers by thread, if they were searched for.
    waiting: RefCell<HashMap<u32, Rc<Vec<AwaitingMethod>>>>,
    /// Return values of calls, and the thread whose top frame shows them.
    pub(crate) returned: Option<(u32, Vec<Returned>)>,
}

impl References {
    /// Drops everything: the program resumes.
    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        self.nodes.clear();
        self.waiting.borrow_mut().clear();
        self.returned = None;
        self.release_from(0);
    }

    pub(crate) fn frame(&mut self, thread: u32, index: usize) -> i64 {
        let known = self.frames.iter().position(|frame| *frame == (thread, index));
        let at = known.unwrap_or_else(|| {
            self.frames.push((thread, index));
            self.frames.len() - 1
        });
        at as i64 + 1
    }

    pub(crate) fn frame_of(&self, id: i64) -> Option<(u32, usize)> {
        self.frames.get(usize::try_from(id).ok()?.checked_sub(1)?).copied()
    }

    pub(crate) fn kept_callers(&self, thread: u32) -> Option<Rc<Vec<AwaitingMethod>>> {
        self.waiting.borrow().get(&thread).cloned()
    }

    pub(crate) fn keep_waiting(&self, thread: u32, list: Vec<AwaitingMethod>) -> Rc<Vec<AwaitingMethod>> {
        let list = Rc::new(list);
        self.waiting.borrow_mut().insert(thread, list.clone());
        list
    }

    pub(crate) fn add(&mut self, node: Node) -> i64 {
        self.nodes.push(node);
        self.nodes.len() as i64
    }

    pub(crate) fn node(&self, id: i64) -> Option<Node> {
        self.nodes.get(usize::try_from(id).ok()?.checked_sub(1)?).cloned()
    }

    /// Keeps an object alive until the program resumes.
    pub(crate) fn keep(&self, handle: Handle) -> Rc<Handle> {
        let handle = Rc::new(handle);
        self.handles.borrow_mut().push(handle.clone());
        handle
    }

    /// The number of objects that are kept alive.
    pub(crate) fn count_kept(&self) -> usize {
        self.handles.borrow().len()
    }

    /// Releases the objects beyond the first `kept`.
    pub(crate) fn release_from(&self, kept: usize) {
        let released = {
            let mut handles = self.handles.borrow_mut();
            let kept = kept.min(handles.len());
            handles.split_off(kept)
        };
        for handle in released {
            // A process that has ended has no objects to release.
            handle.dispose().unwrap_or_default();
        }
    }
}
