//! Values in the debugger or in the program.
//!
//! Reads and writes no value of the program: [`super::target`] does.

use std::rc::Rc;

use crate::constant::Constant;
use crate::types::{BOOL, INT, Ty};

/// The location of a value.
#[derive(Debug, Clone)]
pub enum ValueLocation<P> {
    /// A value that is known in the debugger.
    Constant(Constant),
    /// A place in the program.
    At(P),
}

/// A value with its type. Where an object is expected, a value of a value type has just been boxed.
#[derive(Debug, Clone)]
pub struct TypedValue<P> {
    /// The value itself, or its place in the program.
    pub data: ValueLocation<P>,
    /// The type of the value, if it is known.
    pub ty: Ty,
}

impl<P> TypedValue<P> {
    /// A null reference of a type.
    pub fn null_of(ty: Ty) -> Self {
        Self { data: ValueLocation::Constant(Constant::Null), ty }
    }

    /// The literal `null`, without a type.
    pub fn null() -> Self {
        Self::null_of(Ty::Null)
    }

    /// A constant of a type.
    pub fn constant_of(constant: Constant, ty: Ty) -> Self {
        Self { data: ValueLocation::Constant(constant), ty }
    }

    /// A constant with its own type.
    pub fn plain(constant: Constant) -> Self {
        let ty = constant.ty();
        Self::constant_of(constant, ty)
    }

    /// A constant of type `bool`.
    pub fn bool(value: bool) -> Self {
        Self::constant_of(Constant::Bool(value), BOOL)
    }

    /// A string that exists only in the debugger.
    pub fn text(text: impl Into<String>) -> Self {
        Self::plain(Constant::Text(text.into()))
    }

    /// A constant of type `int`.
    pub fn int(value: i32) -> Self {
        Self::constant_of(Constant::int(value), INT)
    }

    /// A value in the program.
    pub fn at(place: P, ty: Ty) -> Self {
        Self { data: ValueLocation::At(place), ty }
    }

    /// The place of a value in the program; `None` for a constant.
    pub fn path(&self) -> Option<&P> {
        match &self.data {
            ValueLocation::At(place) => Some(place),
            ValueLocation::Constant(_) => None,
        }
    }
}

/// The keys of one `OrderBy` or `ThenBy`.
#[derive(Debug, Clone)]
pub struct SortKeys<P> {
    /// One key for each item.
    pub keys: Vec<TypedValue<P>>,
    /// Whether the order is descending.
    pub is_descending: bool,
    /// The comparer, if the keys are not compared by their own order.
    pub comparer: Option<TypedValue<P>>,
}

/// Items that have the same key.
#[derive(Debug)]
pub struct Grouping<P> {
    /// The key that the items share.
    pub key: TypedValue<P>,
    pub(crate) items: Vec<ValueOrSequence<P>>,
}

impl<P: Clone> Grouping<P> {
    /// The items as values; `None` if an item is a group.
    pub fn vals(&self) -> Option<Vec<TypedValue<P>>> {
        let val = |item: &ValueOrSequence<P>| match item {
            ValueOrSequence::Value(val) => Some(val.clone()),
            ValueOrSequence::Local(..) => None,
        };
        self.items.iter().map(val).collect()
    }
}

/// A sequence that exists only in the debugger.
#[derive(Debug)]
pub(crate) enum LocalSequence<P> {
    /// Items, and whether the list is incomplete.
    Items(Vec<ValueOrSequence<P>>, bool),
    /// Items in an order that may still be refined.
    Ordered(Vec<ValueOrSequence<P>>, Vec<SortKeys<P>>),
    Group(Rc<Grouping<P>>),
    Lookup(Vec<Rc<Grouping<P>>>),
}

/// A value, or a local sequence with its type.
#[derive(Debug)]
pub(crate) enum ValueOrSequence<P> {
    Value(TypedValue<P>),
    Local(Rc<LocalSequence<P>>, Ty),
}

impl<P: Clone> Clone for ValueOrSequence<P> {
    fn clone(&self) -> Self {
        match self {
            Self::Value(val) => Self::Value(TypedValue { data: val.data.clone(), ty: val.ty.clone() }),
            Self::Local(local, ty) => Self::Local(local.clone(), ty.clone()),
        }
    }
}

impl<P> From<TypedValue<P>> for ValueOrSequence<P> {
    fn from(val: TypedValue<P>) -> Self {
        Self::Value(val)
    }
}

impl<P> ValueOrSequence<P> {
    /// Items that exist only in the debugger, as a value of a type.
    pub(crate) fn items(items: Vec<Self>, ty: Ty) -> Self {
        Self::Local(Rc::new(LocalSequence::Items(items, false)), ty)
    }
}
