//! Methods that are applicable to the arguments of a call, and which of two is better (language
//! specification, 12.6.4.3 and 12.6.4.4).
//!
//! Not here: which methods are applicable ([`super::overloads`]).

use std::cmp::Ordering;

use super::relations::TypeRelations;
use super::source_argument::{SourceArgument, SourceArgumentValue};
use super::spans::SpanConversions;
use super::typed::MethodRef;
use crate::types::Ty;

/// The source of a parameter's value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ParameterSource {
    Argument(usize),
    Default,
    /// The remaining arguments, by position, in an array of this type.
    Rest(Vec<usize>, Ty),
}

/// A method that is applicable to the arguments.
pub(super) struct OverloadCandidate {
    pub(super) method: MethodRef,
    pub(super) places: Vec<ParameterSource>,
    /// The type to which each argument is converted.
    pub(super) parameter_types: Vec<Ty>,
    pub(super) expanded: bool,
}

impl OverloadCandidate {
    /// Whether the first argument is a number that is converted to another number type.
    pub(super) fn converts_number(&self, from: &Ty) -> bool {
        self.parameter_types.first().is_some_and(|to| is_other_number(from, to))
    }

    /// Whether a call would convert an argument to a `ref struct`, or collect arguments in a `params`
    /// collection that is not an array.
    pub(super) fn creates_collection(&self, given: &[SourceArgument<'_>], types: TypeRelations<'_>) -> bool {
        let is_created = |(given, to): (&SourceArgument<'_>, &Ty)| match &given.value {
            SourceArgumentValue::Value(value) => value.ty != *to && types.is_by_ref(to),
            _ => false,
        };
        given.iter().zip(&self.parameter_types).any(is_created) || self.expanded && !self.is_array_expanded()
    }

    /// Whether its last arguments are collected in an array.
    fn is_array_expanded(&self) -> bool {
        self.expanded && self.method.parameters.last().is_some_and(|last| matches!(last, Ty::Vector(_)))
    }

    /// Whether it is better than another candidate for these arguments; [`Ordering::Equal`] if neither is.
    pub(super) fn compare(
        &self,
        other: &Self,
        given: &[SourceArgument<'_>],
        types: TypeRelations<'_>,
    ) -> Ordering {
        let (mut better, mut worse) = (false, false);
        for (at, given) in given.iter().enumerate() {
            let (Some(a), Some(b)) = (self.parameter_types.get(at), other.parameter_types.get(at)) else {
                continue;
            };
            match better_target(given, a, b, types) {
                Ordering::Greater => better = true,
                Ordering::Less => worse = true,
                Ordering::Equal => {}
            }
        }
        match (better, worse) {
            (true, false) => return Ordering::Greater,
            (false, true) => return Ordering::Less,
            (true, true) => return Ordering::Equal,
            (false, false) => {}
        }
        let generic = |candidate: &Self| !candidate.method.types.is_empty();
        let left_out = |candidate: &Self| {
            candidate.places.iter().filter(|place| **place == ParameterSource::Default).count()
        };
        let rest = |candidate: &Self| {
            candidate
                .places
                .iter()
                .map(|place| match place {
                    ParameterSource::Rest(list, _) => list.len(),
                    _ => 0,
                })
                .sum::<usize>()
        };
        // Less is better.
        let ties = [
            generic(self).cmp(&generic(other)),
            self.expanded.cmp(&other.expanded),
            // A `params` span is better than an array of the same elements.
            self.is_array_expanded().cmp(&other.is_array_expanded()),
            left_out(self).cmp(&left_out(other)),
            rest(self).cmp(&rest(other)),
            other.specificity().cmp(&self.specificity()),
        ];
        ties.into_iter().fold(Ordering::Equal, Ordering::then).reverse()
    }

    /// How specific its declared types are: `List<T>` is more specific than `T`.
    fn specificity(&self) -> usize {
        self.method.method.parameters.iter().map(|parameter| specificity(&parameter.ty)).sum()
    }
}

/// Compares two conversions of an argument by their target types.
fn better_target(given: &SourceArgument<'_>, a: &Ty, b: &Ty, types: TypeRelations<'_>) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    if let SourceArgumentValue::Value(value) = &given.value {
        match (value.ty == *a, value.ty == *b) {
            (true, false) => return Ordering::Greater,
            (false, true) => return Ordering::Less,
            _ => {}
        }
    }
    SpanConversions { types }.better_target(a, b)
}

/// How specific a type is: the number of its parts that are not generic parameters.
fn specificity(ty: &Ty) -> usize {
    match ty {
        Ty::Var(_) | Ty::MethodVar(_) => 0,
        Ty::Named(named) => 1 + named.arguments.iter().map(specificity).sum::<usize>(),
        Ty::Vector(of) | Ty::Array(of, _) | Ty::Pointer(of) | Ty::Reference(of) => 1 + specificity(of),
        _ => 1,
    }
}

/// Whether both are numbers of different types. `this` of an extension method is never converted
/// between number types.
pub(super) fn is_other_number(from: &Ty, to: &Ty) -> bool {
    let is_number = |ty: &Ty| matches!(ty, Ty::Primitive(_)) && ty.is_value();
    from != to && is_number(from) && is_number(to)
}
