//! Infers generic arguments of a method from the types of its arguments (language specification, 12.6.3).
//! Inference from lambdas is left to the compiler.

use super::relations::TypeRelations;
use super::spans::SpanConversions;
use super::system::Variance;
use crate::types::{Ty, kind};

/// The bounds of one generic parameter.
#[derive(Debug, Default, Clone)]
struct Bounds {
    exact: Vec<Ty>,
    lower: Vec<Ty>,
}

#[derive(Clone, Copy, PartialEq)]
enum InferenceBound {
    Exact,
    Lower,
}

/// The inference of the generic arguments of one method.
pub(super) struct TypeInference<'a> {
    types: TypeRelations<'a>,
    /// The bounds of each generic parameter.
    bounds: Vec<Bounds>,
}

impl<'a> TypeInference<'a> {
    /// Begins without bounds, for this number of generic parameters.
    pub(super) fn new(types: TypeRelations<'a>, count: usize) -> Self {
        Self { types, bounds: vec![Bounds::default(); count] }
    }

    /// The generic arguments, from pairs of argument type and parameter type; `None` if
    /// they cannot be inferred.
    pub(super) fn arguments(mut self, met: &[(Ty, Ty)]) -> Option<Vec<Ty>> {
        for (parameter, argument) in met {
            let bound = if matches!(parameter, Ty::Reference(_)) {
                InferenceBound::Exact
            } else {
                InferenceBound::Lower
            };
            self.infer(parameter.direct(), argument.direct(), bound, 8);
        }
        let bounds = std::mem::take(&mut self.bounds);
        bounds.into_iter().map(|bounds| self.fix(bounds)).collect()
    }

    fn infer(&mut self, to: &Ty, from: &Ty, bound: InferenceBound, deeper: usize) {
        let Some(deeper) = deeper.checked_sub(1) else { return };
        match (to, from) {
            (_, Ty::Null | Ty::Other) => {}
            (Ty::MethodVar(at), from) => {
                if let Some(own) = self.bounds.get_mut(*at as usize) {
                    let list = if bound == InferenceBound::Exact { &mut own.exact } else { &mut own.lower };
                    if !list.contains(from) {
                        list.push(from.clone());
                    }
                }
            }
            (Ty::Vector(to), Ty::Vector(from)) => {
                let inner = if from.is_value() { InferenceBound::Exact } else { bound };
                self.infer(to, from, inner, deeper);
            }
            (Ty::Array(to, rank), Ty::Array(from, other)) if rank == other => {
                self.infer(to, from, bound, deeper);
            }
            (Ty::Pointer(to), Ty::Pointer(from)) => self.infer(to, from, InferenceBound::Exact, deeper),
            (Ty::Named(parameter), from) if to.is_open() => {
                let spans = SpanConversions { types: self.types };
                if let ([of], Some(from)) = (to.arguments(), spans.source_element(from, to)) {
                    let is_exact = from.is_value() || !spans.is_read_only_span(to);
                    self.infer(of, &from, if is_exact { InferenceBound::Exact } else { bound }, deeper);
                    return;
                }
                if let (Some(to), true) = (self.types.nullable(to), self.types.nullable(from).is_none()) {
                    if from.is_value() {
                        self.infer(&to, from, bound, deeper);
                    }
                    return;
                }
                let same = |ty: &Ty| matches!(ty, Ty::Named(own) if own.def() == parameter.def());
                let chain = self.types.chain(from);
                let hit = chain.into_iter().find(same).or_else(|| {
                    let mut found = self.types.interfaces(from).into_iter().filter(same);
                    let first = found.next();
                    // A type that implements the interface several times is ambiguous.
                    if found.any(|other| Some(&other) != first.as_ref()) { None } else { first }
                });
                let (Some(Ty::Named(own)), Some(info)) = (hit, self.types.system.info(parameter.def()))
                else {
                    return;
                };
                for (at, (to, from)) in parameter.arguments.iter().zip(&own.arguments).enumerate() {
                    let varies = info.parameters.get(at) == Some(&Variance::Out) && !from.is_value();
                    let inner = if varies { bound } else { InferenceBound::Exact };
                    self.infer(to, from, inner, deeper);
                }
            }
            _ => {}
        }
    }

    /// The one type that satisfies all bounds (12.6.3.12).
    fn fix(&self, bounds: Bounds) -> Option<Ty> {
        let mut candidates: Vec<&Ty> = bounds.exact.iter().chain(&bounds.lower).collect();
        candidates.retain(|candidate| {
            bounds.exact.iter().all(|exact| exact == *candidate)
                && bounds.lower.iter().all(|lower| self.types.widens(lower, candidate))
        });
        let first = candidates.first()?;
        // Of several candidates, the one to which all others convert.
        let best = candidates.iter().find(|to| candidates.iter().all(|from| self.types.widens(from, to)));
        // Tuple element names come from the first bound.
        best.or(Some(first)).map(|ty| (*ty).clone())
    }
}

/// Whether a type cannot be a generic argument: `void`, the type of `null`, unknown types.
pub(super) fn is_internal(ty: &Ty) -> bool {
    matches!(ty, Ty::Primitive(kind::VOID) | Ty::Other | Ty::Null)
}
