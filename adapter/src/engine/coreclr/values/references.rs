//! What clients hold of a stop: frames, and references to what can be opened.

use std::collections::HashMap;
use std::rc::Rc;

use cordebug::value::Handle;

use super::path::Path;
use crate::engine::coreclr::expression::{Format, Val};
use crate::engine::coreclr::stack::awaiting::Waiting;
use crate::engine::coreclr::types::Ty;

/// What a `variablesReference` stands for.
#[derive(Clone)]
pub(crate) enum Node {
    /// Arguments and locals of a frame.
    Locals { thread: u32, index: usize },
    /// What the generic parameters of a frame's code stand for.
    Types { thread: u32, index: usize },
    /// What is inside a value.
    Inside(Path, Format),
    /// The items of a collection from this one on.
    Rest(Path, Format, usize),
    /// The fields of a collection that is shown as its items, or of an object with a proxy.
    Raw(Path),
    /// A property, which runs code of the program when it is asked for.
    Property { of: Path, name: String, way: String },
    /// The items of something that must run to give them.
    Results(Path),
    /// Static members of a type.
    Statics(Ty),
}

/// What a call returned in the step that led to this stop.
pub(crate) struct Returned {
    /// The call's IL offset.
    pub(crate) il: u32,
    /// What was called.
    pub(crate) name: String,
    pub(crate) val: Val,
}

/// References given out at this stop.
#[derive(Default)]
pub(crate) struct References {
    frames: Vec<(u32, usize)>,
    nodes: Vec<Node>,
    handles: Vec<Rc<Handle>>,
    /// Async callers by thread, where they were looked for.
    waiting: HashMap<u32, Rc<Vec<Waiting>>>,
    /// What calls returned, and the thread whose top frame shows it.
    pub(crate) returned: Option<(u32, Vec<Returned>)>,
}

impl References {
    /// The program runs: everything is stale.
    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        self.nodes.clear();
        self.waiting.clear();
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

    pub(crate) fn waiting(&self, thread: u32) -> Option<Rc<Vec<Waiting>>> {
        self.waiting.get(&thread).cloned()
    }

    pub(crate) fn keep_waiting(&mut self, thread: u32, list: Vec<Waiting>) -> Rc<Vec<Waiting>> {
        let list = Rc::new(list);
        self.waiting.insert(thread, list.clone());
        list
    }

    pub(crate) fn add(&mut self, node: Node) -> i64 {
        self.nodes.push(node);
        self.nodes.len() as i64
    }

    pub(super) fn node(&self, id: i64) -> Option<Node> {
        self.nodes.get(usize::try_from(id).ok()?.checked_sub(1)?).cloned()
    }

    /// Keeps an object alive until the program runs on.
    pub(crate) fn keep(&mut self, handle: Handle) -> Rc<Handle> {
        let handle = Rc::new(handle);
        self.handles.push(handle.clone());
        handle
    }

    /// How many objects are kept.
    pub(crate) fn kept(&self) -> usize {
        self.handles.len()
    }

    /// Lets go of those that were kept since there were so many.
    pub(crate) fn release_from(&mut self, kept: usize) {
        for handle in self.handles.drain(kept.min(self.handles.len())..) {
            // A process that has ended has no objects to release.
            handle.dispose().unwrap_or_default();
        }
    }
}
