//! Implicit span conversions of C# 14 (first-class spans), for overload resolution and inference.
//!
//! They decide only which calls need the compiler, because an evaluation cannot create a span. The compiler
//! then binds the call by the language version of the frame's code. Not here: user-defined conversions to a
//! span, as older versions have them ([`super::user_conversions`]).

use std::cmp::Ordering;

use super::relations::TypeRelations;
use crate::types::{CHAR, Ty, kind};

const SPAN: &str = "System.Span`1";
const READ_ONLY_SPAN: &str = "System.ReadOnlySpan`1";

/// Computes which types convert to spans.
#[derive(Clone, Copy)]
pub(super) struct SpanConversions<'a> {
    pub(super) types: TypeRelations<'a>,
}

impl SpanConversions<'_> {
    pub(super) fn is_read_only_span(&self, ty: &Ty) -> bool {
        self.types.is_named(ty, READ_ONLY_SPAN)
    }

    /// The type of the elements of a value that may convert to this span: an array, another span, or a
    /// string.
    pub(super) fn source_element(&self, from: &Ty, span: &Ty) -> Option<Ty> {
        let is_read_only = self.is_read_only_span(span);
        match from {
            _ if !is_read_only && !self.types.is_named(span, SPAN) => None,
            Ty::Vector(of) => Some((**of).clone()),
            Ty::Primitive(kind::STRING) if is_read_only => Some(CHAR),
            from if is_read_only && self.types.is_span(from) => from.arguments().first().cloned(),
            _ => None,
        }
    }

    /// Whether an implicit span conversion exists.
    pub(super) fn exists(&self, from: &Ty, span: &Ty) -> bool {
        let (Some(of), [to]) = (self.source_element(from, span), span.arguments()) else { return false };
        of == *to || self.is_read_only_span(span) && !of.is_value() && self.types.derives(&of, to)
    }

    /// Compares two conversion targets of which at least one may be a span. A span is better than any other
    /// target but the own type of the argument, and `ReadOnlySpan<T>` is better than `Span<T>`.
    pub(super) fn better_target(&self, a: &Ty, b: &Ty) -> Ordering {
        match (self.types.is_by_ref(a), self.types.is_by_ref(b)) {
            (true, false) => return Ordering::Greater,
            (false, true) => return Ordering::Less,
            _ => {}
        }
        match (self.is_read_only_span(a), self.is_read_only_span(b), a.arguments(), b.arguments()) {
            (true, true, [a], [b]) => self.types.better_type(a, b),
            (true, false, ..) => Ordering::Greater,
            (false, true, ..) => Ordering::Less,
            _ => self.types.better_type(a, b),
        }
    }
}
