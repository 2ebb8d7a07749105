//! Classifications of a part of an expression (language specification, 12.2.1): a value, a type, a namespace,
//! a group of methods.
//!
//! Not here: which parts have which ([`super::binder`], [`super::members`]).

use std::rc::Rc;

use super::typed::{PropertyRef, Typed, TypedKind};
use crate::syntax::Span;
use crate::types::Ty;

/// The classification of a part of an expression (language specification, 12.2.1).
#[derive(Debug, Clone)]
pub(super) enum Classification {
    Value(Typed),
    Type(Ty),
    Namespace(String),
    Group(MethodGroup),
}

/// Methods with the same name.
#[derive(Debug, Clone)]
pub(super) struct MethodGroup {
    pub(super) name: Rc<str>,
    /// The object on which the methods are called; `None` for static methods.
    pub(super) of: Option<Typed>,
    /// The type in which the methods are looked up.
    pub(super) owner: Ty,
    /// The generic arguments in the source.
    pub(super) types: Vec<Ty>,
    pub(super) is_base: bool,
    pub(super) span: Span,
}

impl Classification {
    /// Marks a member as accessed by `base.`, without virtual dispatch.
    pub(super) fn mark_base(self) -> Self {
        match self {
            Self::Group(group) => Self::Group(MethodGroup { is_base: true, ..group }),
            Self::Value(value) => Self::Value(mark_base(value)),
            other => other,
        }
    }
}

/// Marks a property or an indexer as accessed by `base`, without virtual dispatch.
pub(super) fn mark_base(value: Typed) -> Typed {
    let Typed { kind, ty, span } = value;
    let of_base = |property: Box<PropertyRef>| Box::new(PropertyRef { is_base: true, ..*property });
    let kind = match kind {
        TypedKind::Property(of, property) => TypedKind::Property(of, of_base(property)),
        TypedKind::Indexer(of, property, arguments) => TypedKind::Indexer(of, of_base(property), arguments),
        other => other,
    };
    Typed::new(kind, ty, span)
}
