//! Ways to values, and what a `variablesReference` stands for.
//!
//! Values of the program die whenever it runs, even for an evaluation. So a `variablesReference` stands for a *path*
//! (where to start and which way to go), which is walked again whenever it is asked for.

use std::rc::Rc;

use cordebug::module::Class;
use cordebug::value::{Handle, Value as ClrValue};
use dap_wire::Failure;

use crate::engine::coreclr::cor;
use crate::engine::coreclr::session::Session;

/// Where a path starts.
#[derive(Clone)]
pub(crate) enum Root {
    Argument {
        thread: u32,
        frame: usize,
        index: u32,
    },
    Local {
        thread: u32,
        frame: usize,
        slot: u32,
    },
    /// An object an evaluation gave.
    Handle(Rc<Handle>),
    /// The exception a thread throws.
    Exception {
        thread: u32,
    },
}

/// One step inwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// A field declared so many base types up.
    Field {
        up: usize,
        token: u32,
    },
    Element(u32),
}

/// A way to a value.
#[derive(Clone)]
pub(crate) struct Path {
    pub(crate) root: Root,
    pub(crate) steps: Vec<Step>,
    /// The expression that leads there too.
    pub(crate) name: String,
}

impl Path {
    pub(crate) fn step(&self, step: Step, name: String) -> Self {
        let mut steps = self.steps.clone();
        steps.push(step);
        Self { root: self.root.clone(), steps, name }
    }
}

/// What a `variablesReference` stands for.
#[derive(Clone)]
pub(crate) enum Node {
    /// Arguments and locals of a frame.
    Locals { thread: u32, index: usize },
    /// What is inside a value.
    Inside(Path),
    /// The fields of a collection that is shown as its items.
    Raw(Path),
    /// A property, which runs code of the program when it is asked for.
    Property { of: Path, name: String },
}

/// References given out at this stop.
#[derive(Default)]
pub(crate) struct References {
    frames: Vec<(u32, usize)>,
    nodes: Vec<Node>,
    handles: Vec<Rc<Handle>>,
}

impl References {
    /// The program runs: everything is stale.
    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        self.nodes.clear();
        for handle in self.handles.drain(..) {
            // A process that has ended has no objects to release.
            handle.dispose().unwrap_or_default();
        }
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

    pub(crate) fn add(&mut self, node: Node) -> i64 {
        self.nodes.push(node);
        self.nodes.len() as i64
    }

    pub(crate) fn node(&self, id: i64) -> Option<Node> {
        self.nodes.get(usize::try_from(id).ok()?.checked_sub(1)?).cloned()
    }

    /// Keeps an object alive until the program runs on.
    pub(crate) fn keep(&mut self, handle: Handle) -> Rc<Handle> {
        let handle = Rc::new(handle);
        self.handles.push(handle.clone());
        handle
    }
}

impl Session {
    /// Walks a path.
    pub(crate) fn fetch(&self, path: &Path) -> Result<ClrValue, Failure> {
        let what = || format!("read `{}`", path.name);
        let frame_of = |thread: u32, index: usize| {
            self.frames(thread)?.into_iter().nth(index).ok_or_else(|| Failure::invalid("the frame is gone"))
        };
        let mut value = match &path.root {
            Root::Argument { thread, frame, index } => {
                frame_of(*thread, *frame)?.argument(*index).map_err(cor(what()))?
            }
            Root::Local { thread, frame, slot } => {
                frame_of(*thread, *frame)?.local(*slot).map_err(cor(what()))?
            }
            Root::Handle(handle) => handle.value().map_err(cor(what()))?,
            Root::Exception { thread } => self.thread(*thread)?.current_exception().map_err(cor(what()))?,
        };
        for step in &path.steps {
            let inner = bare(&value)
                .ok_or_else(|| Failure::invalid(format!("`{}` is null on the way", path.name)))?;
            value = match step {
                Step::Field { up, token } => {
                    let class = class_up(&inner, *up).map_err(cor(what()))?;
                    inner.field(&class, *token).map_err(cor(what()))?
                }
                Step::Element(position) => {
                    let array = inner.as_array();
                    let array =
                        array.ok_or_else(|| Failure::invalid(format!("`{}` is no array", path.name)))?;
                    array.element(*position).map_err(cor(what()))?
                }
            };
        }
        Ok(value)
    }
}

/// Behind references and out of its box; `None` for null.
pub(crate) fn bare(value: &ClrValue) -> Option<ClrValue> {
    let mut value = value.clone();
    // A reference to a reference to a box is as deep as it gets.
    for _ in 0..4 {
        if let Some(reference) = value.as_reference() {
            if reference.is_null().ok()? {
                return None;
            }
            value = reference.dereference().ok()?;
        } else if let Some(unboxed) = value.unboxed() {
            value = unboxed.ok()?;
        } else {
            break;
        }
    }
    Some(value)
}

pub(crate) fn class_up(value: &ClrValue, up: usize) -> cordebug::Result<Class> {
    let mut kind = value.exact_type()?;
    for _ in 0..up {
        kind = kind.base()?;
    }
    kind.class()
}
