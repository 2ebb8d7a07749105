//! Paths to values.
//!
//! References to values of the program are invalid after it runs, even for an evaluation. So everything that
//! is remembered is a *path* (a start and steps), which is walked again on each use. Not here: types and
//! constants of the values ([`super::current_values`]).

use std::rc::Rc;

use cordebug::module::Class;
use cordebug::types::Type;
use cordebug::value::{Handle, Value as ClrValue};
use dap_wire::Failure;

use super::CachedPath;
use crate::bare_value::bare;
use crate::cor;
use crate::stack::FIRST_AWAITING_FRAME;
use crate::stop_context::StopContext;
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::values::ValueStore;

/// Longest path whose values are kept for the next one with the same beginning, steps.
const MAX_KEPT_LEN: usize = 64;

/// The variable or object in which a path begins.
#[derive(Clone)]
pub(crate) enum PathRoot {
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
    /// An object that an evaluation returned.
    Handle(Rc<Handle>),
    /// The exception that a thread throws.
    Exception {
        thread: u32,
    },
    /// A static field; the frame selects the thread, for thread-static fields.
    Static {
        thread: u32,
        frame: usize,
        ty: Type,
        token: u32,
    },
    /// A number in memory without a variable; it is read and written as bytes.
    Memory {
        address: u64,
        ty: Rc<Ty>,
    },
}

/// One step of a path, into a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathSegment {
    /// A field declared `up` base types above.
    Field { up: usize, token: u32 },
    /// An element of an array, in row-major order.
    Element(u32),
    /// The target of a pointer.
    Behind,
}

/// A path to a value in the program.
#[derive(Clone)]
pub(crate) struct Path {
    pub(crate) root: PathRoot,
    pub(crate) steps: Vec<PathSegment>,
    /// The expression that evaluates to the same value.
    pub(crate) name: String,
    /// Names of its elements, if it is a tuple with names.
    pub(crate) tuple: Option<Rc<Vec<Option<String>>>>,
    /// Whether it is a variable declared as `dynamic`.
    pub(crate) is_dynamic: bool,
    /// It leads into a copy of the named value: assignments use the name.
    pub(crate) is_copy: bool,
}

impl Path {
    pub(crate) fn new(root: PathRoot, name: &str) -> Self {
        Self {
            root,
            steps: Vec::new(),
            name: name.to_owned(),
            tuple: None,
            is_dynamic: false,
            is_copy: false,
        }
    }

    pub(crate) fn step(&self, step: PathSegment, name: String) -> Self {
        let mut steps = self.steps.clone();
        steps.push(step);
        let (root, is_copy) = (self.root.clone(), self.is_copy);
        Self { root, steps, name, tuple: None, is_dynamic: false, is_copy }
    }

    /// The same for a struct that a call returned: a copy, not the program's own.
    pub(crate) fn into_call_result(self, ty: &Ty) -> Self {
        let is_copy = self.is_copy
            || matches!(self.root, PathRoot::Handle(_)) && self.steps.is_empty() && ty.is_value();
        Self { is_copy, ..self }
    }

    /// The frame it starts in.
    pub(crate) fn frame(&self) -> Option<(u32, usize)> {
        match self.root {
            PathRoot::Argument { thread, frame, .. }
            | PathRoot::Local { thread, frame, .. }
            | PathRoot::Static { thread, frame, .. } => Some((thread, frame)),
            PathRoot::Handle(_) | PathRoot::Exception { .. } | PathRoot::Memory { .. } => None,
        }
    }

    /// The address of a number without a variable.
    pub(crate) fn memory(&self) -> Option<u64> {
        match self.root {
            PathRoot::Memory { address, .. } => Some(address),
            _ => None,
        }
    }
}

impl std::fmt::Debug for Path {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Path").field("name", &self.name).field("steps", &self.steps).finish_non_exhaustive()
    }
}

impl PathRoot {
    /// Whether both have the same start, as far as that is cheap to determine.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Argument { thread, frame, index },
                Self::Argument { thread: other, frame: other_frame, index: other_index },
            )
            | (
                Self::Local { thread, frame, slot: index },
                Self::Local { thread: other, frame: other_frame, slot: other_index },
            ) => (thread, frame, index) == (other, other_frame, other_index),
            (Self::Handle(handle), Self::Handle(other)) => Rc::ptr_eq(handle, other),
            _ => false,
        }
    }
}

impl StopContext<'_> {
    /// Walks a path to its value.
    pub(crate) fn fetch(&self, path: &Path) -> Result<ClrValue, Failure> {
        let Some((last, before)) = path.steps.split_last() else { return self.start(path) };
        if path.steps.contains(&PathSegment::Behind) || before.len() > MAX_KEPT_LEN {
            return self.types.one_step(&self.walk(path, before)?, *last, path);
        }
        let holder = self.holder(path, before)?;
        let PathSegment::Field { up, token } = *last else {
            return self.types.one_step(&holder, *last, path);
        };
        let what = || format!("read `{}`", path.name);
        let class = self.values.class_of_holder(&holder, up).map_err(cor(what()))?;
        holder.field(&class, token).map_err(cor(what()))
    }

    /// The holder of the value at the end of a path, walked from where the path differs
    /// from the previous one.
    pub(crate) fn holder(&self, path: &Path, before: &[PathSegment]) -> Result<ClrValue, Failure> {
        let resumes = self.debuggee.process()?.resume_count();
        let null = || null_in_path(path);
        let known = self.values.holder.take();
        let known = known.filter(|holder| holder.resumes == resumes && holder.root.is_same(&path.root));
        let mut holder = match known {
            Some(holder) => holder,
            None => {
                let start = bare(&self.start(path)?).ok_or_else(null)?;
                CachedPath {
                    resumes,
                    root: path.root.clone(),
                    steps: Vec::new(),
                    values: vec![start],
                    class: None,
                }
            }
        };
        let same = holder.steps.iter().zip(before).take_while(|(known, step)| known == step).count();
        if (holder.steps.len(), before.len()) != (same, same) {
            holder.class = None;
        }
        holder.steps.truncate(same);
        holder.values.truncate(same + 1);
        for step in before.get(same..).unwrap_or_default() {
            let last = holder.values.last().ok_or_else(null)?;
            let value = bare(&self.types.one_step(last, *step, path)?).ok_or_else(null)?;
            holder.steps.push(*step);
            holder.values.push(value);
        }
        let found = holder.values.last().cloned().ok_or_else(null);
        *self.values.holder.borrow_mut() = Some(holder);
        found
    }

    fn walk(&self, path: &Path, steps: &[PathSegment]) -> Result<ClrValue, Failure> {
        steps.iter().try_fold(self.start(path)?, |value, step| self.types.one_step(&value, *step, path))
    }

    /// The value at the start of a path.
    fn start(&self, path: &Path) -> Result<ClrValue, Failure> {
        let what = || format!("read `{}`", path.name);
        match &path.root {
            PathRoot::Argument { thread, frame, index } => {
                self.frame_at(*thread, *frame)?.argument(*index).map_err(cor(what()))
            }
            PathRoot::Local { thread, frame, slot } => {
                self.frame_at(*thread, *frame)?.local(*slot).map_err(cor(what()))
            }
            PathRoot::Handle(handle) => handle.value().map_err(cor(what())),
            PathRoot::Memory { .. } => Err(Failure::invalid(format!("`{}` is not a variable", path.name))),
            PathRoot::Exception { thread } => {
                self.debuggee.threads.exception_of(&self.debuggee.thread(*thread)?).map_err(cor(what()))
            }
            PathRoot::Static { thread, frame, ty, token } => {
                // An async caller has no thread.
                let frame = if *frame < FIRST_AWAITING_FRAME { *frame } else { 0 };
                let frame = self.frame_at(*thread, frame)?;
                ty.static_field(*token, &frame).map_err(cor(what()))
            }
        }
    }
}

impl ValueStore {
    /// The class of the value that [`Self::holder`] returned last, `up` base types above: fields of one
    /// object are fetched one after the other.
    fn class_of_holder(&self, value: &ClrValue, up: usize) -> cordebug::Result<Class> {
        let mut known = self.holder.borrow_mut();
        let known = known.as_mut().map(|holder| &mut holder.class);
        if let Some(Some((at, class))) = &known
            && *at == up
        {
            return Ok(class.clone());
        }
        let class = class_up(value, up)?;
        if let Some(known) = known {
            *known = Some((up, class.clone()));
        }
        Ok(class)
    }
}

impl ClrTypeSystem {
    fn one_step(&self, value: &ClrValue, step: PathSegment, path: &Path) -> Result<ClrValue, Failure> {
        let what = || format!("read `{}`", path.name);
        let null = || null_in_path(path);
        match step {
            PathSegment::Field { up, token } => {
                let inner = bare(value).ok_or_else(null)?;
                let class = class_up(&inner, up).map_err(cor(what()))?;
                inner.field(&class, token).map_err(cor(what()))
            }
            PathSegment::Element(position) => {
                let inner = bare(value).ok_or_else(null)?;
                let array = inner.as_array();
                let array =
                    array.ok_or_else(|| Failure::invalid(format!("`{}` is not an array", path.name)))?;
                array.element(position).map_err(cor(what()))
            }
            PathSegment::Behind => {
                let pointer = value.as_reference().ok_or_else(null)?;
                if pointer.is_null().map_err(cor(what()))? {
                    return Err(null());
                }
                pointer.dereference().map_err(cor(what()))
            }
        }
    }
}

fn null_in_path(path: &Path) -> Failure {
    Failure::invalid(format!("`{}` is null on the way", path.name))
}

pub(crate) fn class_up(value: &ClrValue, up: usize) -> cordebug::Result<Class> {
    let mut kind = value.exact_type()?;
    for _ in 0..up {
        kind = kind.base()?;
    }
    kind.class()
}
