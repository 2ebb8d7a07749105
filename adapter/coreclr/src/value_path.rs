//! Paths to values.
//!
//! References to values of the program are invalid after it runs, even for an evaluation. So everything that
//! is remembered is a *path* (a start and steps), which is walked again on each use. Walks none
//! (`values::path_resolution`).

use std::rc::Rc;

use cordebug::types::Type;
use cordebug::value::Handle;

use super::types::Ty;

/// Refusal for structs in memory that the debugging library has no value for.
pub(crate) const UNREADABLE: &str = "is a struct in memory that cannot be read";

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
    /// A number, pointer or struct in memory without a variable; it is read and written as bytes.
    Memory {
        at: MemoryLocation,
        ty: Rc<Ty>,
    },
}

/// The location of a value without a variable. The garbage collector moves objects, so a location in one is
/// found again on each use.
#[derive(Clone)]
pub(crate) enum MemoryLocation {
    /// At an address, which a pointer of the program holds.
    Fixed(u64),
    /// In the value at a path, this many bytes after its start.
    Within(Rc<Path>, u64),
    /// In the memory of the span at a path, this many bytes after its start.
    InSpan(Rc<Path>, u64),
}

impl MemoryLocation {
    /// The location some bytes later.
    pub(crate) fn after(&self, bytes: u64) -> Self {
        match self {
            Self::Fixed(address) => Self::Fixed(address.wrapping_add(bytes)),
            Self::Within(path, offset) => Self::Within(path.clone(), offset.wrapping_add(bytes)),
            Self::InSpan(path, offset) => Self::InSpan(path.clone(), offset.wrapping_add(bytes)),
        }
    }
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
    /// Evaluating the name calls a method or an indexer. The evaluator then knows only static types.
    pub(crate) is_called: bool,
    /// The static type of the name, compared with the type of the object.
    pub(crate) name_type: NameType,
}

/// Which type the name of a path has statically.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum NameType {
    /// That of the variable, field or element at the path.
    #[default]
    Declared,
    /// A base of the object's type.
    Base,
    /// The type of the object itself.
    Actual,
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
            is_called: false,
            name_type: NameType::Declared,
        }
    }

    pub(crate) fn step(&self, step: PathSegment, name: String) -> Self {
        let mut steps = self.steps.clone();
        steps.push(step);
        Self {
            root: self.root.clone(),
            steps,
            is_copy: self.is_copy,
            is_called: self.is_called,
            ..Self::new(self.root.clone(), &name)
        }
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

    /// The location of a value without a variable.
    pub(crate) fn memory(&self) -> Option<&MemoryLocation> {
        match &self.root {
            PathRoot::Memory { at, .. } => Some(at),
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
    pub(crate) fn is_same(&self, other: &Self) -> bool {
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
