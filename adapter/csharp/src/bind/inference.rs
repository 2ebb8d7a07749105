//! Infers generic arguments of a method from the types of its arguments (language specification, 12.6.3).
//! Inference from lambdas is left to the compiler.

use super::binder::Binder;
use super::system::{Method, TypeKind, Variance};
use crate::types::{OBJECT, Ty, kind};

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

impl Binder<'_> {
    /// The generic arguments, from pairs of argument type and parameter type; `None` if
    /// they cannot be inferred.
    pub(super) fn infer_arguments(&self, count: usize, met: &[(Ty, Ty)]) -> Option<Vec<Ty>> {
        let mut bounds = vec![Bounds::default(); count];
        for (parameter, argument) in met {
            let bound = if matches!(parameter, Ty::Reference(_)) {
                InferenceBound::Exact
            } else {
                InferenceBound::Lower
            };
            self.infer(parameter.direct(), argument.direct(), bound, &mut bounds, 8);
        }
        bounds.into_iter().map(|bounds| self.fix(bounds)).collect()
    }

    fn infer(&self, to: &Ty, from: &Ty, bound: InferenceBound, bounds: &mut [Bounds], deeper: usize) {
        let Some(deeper) = deeper.checked_sub(1) else { return };
        match (to, from) {
            (_, Ty::Null | Ty::Other) => {}
            (Ty::MethodVar(at), from) => {
                if let Some(own) = bounds.get_mut(*at as usize) {
                    let list = if bound == InferenceBound::Exact { &mut own.exact } else { &mut own.lower };
                    if !list.contains(from) {
                        list.push(from.clone());
                    }
                }
            }
            (Ty::Vector(to), Ty::Vector(from)) => {
                let inner = if from.is_value() { InferenceBound::Exact } else { bound };
                self.infer(to, from, inner, bounds, deeper);
            }
            (Ty::Array(to, rank), Ty::Array(from, other)) if rank == other => {
                self.infer(to, from, bound, bounds, deeper);
            }
            (Ty::Pointer(to), Ty::Pointer(from)) => {
                self.infer(to, from, InferenceBound::Exact, bounds, deeper)
            }
            (Ty::Named(parameter), from) if to.is_open() => {
                if let (Some(to), true) = (self.types.nullable(to), self.types.nullable(from).is_none()) {
                    if from.is_value() {
                        self.infer(&to, from, bound, bounds, deeper);
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
                    self.infer(to, from, inner, bounds, deeper);
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

    /// Whether generic arguments satisfy the constraints of the method.
    pub(super) fn satisfies(&self, method: &Method, owner: &Ty, types: &[Ty]) -> bool {
        method.generics.iter().zip(types).all(|(generic, ty)| {
            if generic.is_struct && (!ty.is_value() || self.types.nullable(ty).is_some()) {
                return false;
            }
            if generic.is_class && ty.is_value() {
                return false;
            }
            generic.bounds.iter().all(|bound| {
                let bound = bound.with(owner.arguments(), types);
                bound == Ty::Other
                    || bound.is_open()
                    || bound == OBJECT
                    || self.is_value_type(&bound) && ty.is_value()
                    || self.types.widens(ty, &bound)
            })
        })
    }

    fn is_value_type(&self, ty: &Ty) -> bool {
        self.types.is_named(ty, "System.ValueType")
    }

    /// Whether a parameter takes a lambda or a method: a delegate, or an expression tree.
    pub(super) fn takes_lambda(&self, ty: &Ty) -> bool {
        let Some(info) = self.types.info(ty) else { return false };
        info.kind == TypeKind::Delegate
            || matches!(&*info.full_name, "System.Delegate" | "System.MulticastDelegate")
            || info.full_name.starts_with("System.Linq.Expressions.Expression`")
    }

    /// Whether a type cannot be a generic argument: `void`, the type of `null`, unknown types.
    pub(super) fn is_internal(ty: &Ty) -> bool {
        matches!(ty, Ty::Primitive(kind::VOID) | Ty::Other | Ty::Null)
    }
}
