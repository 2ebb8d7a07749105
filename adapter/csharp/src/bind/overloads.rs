//! Overload resolution (language specification, 12.6.4).
//!
//! Not here: inference of generic arguments ([`super::inference`]), which of two candidates is better
//! ([`super::candidates`]).

use std::cmp::Ordering;
use std::rc::Rc;

use super::binder::{Bind, Binder, leave_to_compiler, reject};
use super::candidates::{OverloadCandidate, ParameterSource};
use super::inference::{TypeInference, is_internal};
use super::source_argument::{SourceArgument, SourceArgumentValue};
use super::spans::SpanConversions;
use super::system::{Method, Parameter, PassMode};
use crate::syntax::Span;
use crate::syntax::tree::{ArgumentMode, Expr};
use crate::types::Ty;

impl Binder<'_> {
    /// The applicable methods.
    pub(super) fn applicable(
        &self,
        methods: &[(Rc<Method>, Ty)],
        types: &[Ty],
        given: &[SourceArgument<'_>],
    ) -> Vec<OverloadCandidate> {
        let one = |(method, owner): &(Rc<Method>, Ty)| {
            self.in_form(method, owner, types, given, false)
                .or_else(|| self.in_form(method, owner, types, given, true))
        };
        methods.iter().filter_map(one).collect()
    }

    /// The best of the candidates; `None` if there is no best one.
    pub(super) fn best(
        &self,
        mut candidates: Vec<OverloadCandidate>,
        given: &[SourceArgument<'_>],
        span: Span,
    ) -> Bind<Option<OverloadCandidate>> {
        if candidates.iter().any(|one| one.method.method.is_accessible) {
            candidates.retain(|one| one.method.method.is_accessible);
        }
        // Overloads of the framework that differ in this only return the same.
        let creates = |one: &OverloadCandidate| one.creates_collection(given, self.types);
        if !candidates.iter().all(creates) {
            candidates.retain(|one| !(creates(one) && self.is_of_framework(&one.method.owner)));
        }
        let beats_all = |at: usize| {
            let one = candidates.get(at)?;
            let beats = |(other, own): (usize, &OverloadCandidate)| {
                other == at || one.compare(own, given, self.types) == Ordering::Greater
            };
            candidates.iter().enumerate().all(beats).then_some(at)
        };
        match (0..candidates.len()).find_map(beats_all) {
            Some(at) => Ok(Some(candidates.swap_remove(at))),
            None if candidates.is_empty() => Ok(None),
            None => leave_to_compiler("a call of which only the compiler knows the overload", span),
        }
    }

    fn in_form(
        &self,
        method: &Rc<Method>,
        owner: &Ty,
        types: &[Ty],
        given: &[SourceArgument<'_>],
        expanded: bool,
    ) -> Option<OverloadCandidate> {
        let count = method.parameters.len();
        let last = count.checked_sub(1);
        if expanded && !method.parameters.last().is_some_and(|last| last.is_params) {
            return None;
        }
        let generic = method.generics.len();
        if !types.is_empty() && types.len() != generic {
            return None;
        }
        let places = parameter_sources(method, given, expanded, last)?;
        // The parameter of each argument.
        let mut met: Vec<(usize, &Parameter, Ty)> = Vec::new();
        for (place, parameter) in places.iter().zip(&method.parameters) {
            let ty = parameter.ty.with(owner.arguments(), &[]);
            match place {
                ParameterSource::Argument(at) => met.push((*at, parameter, ty)),
                ParameterSource::Rest(list, _) => {
                    let of = params_item(&ty)?;
                    met.extend(list.iter().map(|at| (*at, parameter, of.clone())));
                }
                ParameterSource::Default => {}
            }
        }
        let mut own = types.to_vec();
        if own.is_empty() && generic > 0 {
            let pairs: Vec<(Ty, Ty)> = met
                .iter()
                .filter_map(|(at, parameter, ty)| {
                    let ty = if parameter.pass == PassMode::Value || parameter.pass == PassMode::In {
                        ty.clone()
                    } else {
                        Ty::Reference(Box::new(ty.clone()))
                    };
                    match &given.get(*at)?.value {
                        SourceArgumentValue::Value(value) => Some((ty, value.ty.clone())),
                        SourceArgumentValue::Declared(Some((_, declared)), _) => Some((ty, declared.clone())),
                        _ => None,
                    }
                })
                .collect();
            own = TypeInference::new(self.types, generic).arguments(&pairs)?;
        }
        if own.iter().any(is_internal) || !self.types.satisfies(method, owner, &own) {
            return None;
        }
        let mut parameter_types = vec![Ty::Other; given.len()];
        for (at, parameter, ty) in &met {
            let ty = ty.with(&[], &own);
            if ty.is_open() || !self.fits(given.get(*at)?, parameter, &ty) {
                return None;
            }
            *parameter_types.get_mut(*at)? = ty;
        }
        let close = |place: ParameterSource| match place {
            ParameterSource::Rest(list, of) => ParameterSource::Rest(list, of.with(owner.arguments(), &own)),
            other => other,
        };
        let places = places.into_iter().map(close).collect();
        Some(OverloadCandidate {
            method: self.method_ref(method, owner, own),
            places,
            parameter_types,
            expanded,
        })
    }

    fn is_of_framework(&self, ty: &Ty) -> bool {
        self.types.info(ty).is_some_and(|info| info.namespace.split('.').next() == Some("System"))
    }

    /// Whether an argument converts to a parameter of this type.
    fn fits(&self, given: &SourceArgument<'_>, parameter: &Parameter, ty: &Ty) -> bool {
        let passes = matches!(
            (given.mode, parameter.pass),
            (ArgumentMode::Value, PassMode::Value | PassMode::In)
                | (ArgumentMode::Ref, PassMode::Ref | PassMode::In)
                | (ArgumentMode::Out, PassMode::Out)
                | (ArgumentMode::In, PassMode::In)
        );
        if !passes {
            return false;
        }
        match &given.value {
            SourceArgumentValue::Value(value) if given.mode != ArgumentMode::Value => value.ty == *ty,
            SourceArgumentValue::Value(value) => {
                !value.is_void()
                    && (SpanConversions { types: self.types }.exists(&value.ty, ty)
                        || self.implicit_conversion(value, ty).is_some())
            }
            SourceArgumentValue::TargetTyped(expr) => self.fits_target_typed(expr, ty),
            SourceArgumentValue::Function => self.types.takes_lambda(ty),
            SourceArgumentValue::Declared(Some((_, declared)), _) => declared == ty,
            SourceArgumentValue::Declared(None, _) => true,
        }
    }

    fn fits_target_typed(&self, expr: &Expr, ty: &Ty) -> bool {
        use crate::syntax::tree::ExprKind;
        match &expr.kind {
            ExprKind::Paren(of) => self.fits_target_typed(of, ty),
            ExprKind::New { .. } => {
                let inner = self.types.inside(ty);
                !matches!(inner, Ty::Vector(_) | Ty::Array(..) | Ty::Pointer(_))
                    && !self.types.is_interface(&inner)
            }
            // A tuple with elements that have no natural type.
            ExprKind::Tuple(elements) => {
                self.types.tuple(ty).is_some_and(|types| types.len() == elements.len())
            }
            ExprKind::Collection(_) => self.types.item_of(ty).is_some() || self.types.is_by_ref(ty),
            _ => true,
        }
    }

    /// Refuses a call because no method accepts these arguments.
    pub(super) fn reject_call<T>(
        &self,
        name: &str,
        methods: &[(Rc<Method>, Ty)],
        given: &[SourceArgument<'_>],
        span: Span,
    ) -> Bind<T> {
        let by_count: Vec<&(Rc<Method>, Ty)> = methods
            .iter()
            .filter(|(method, _)| {
                let most = if method.parameters.last().is_some_and(|last| last.is_params) {
                    usize::MAX
                } else {
                    method.parameters.len()
                };
                let least = method
                    .parameters
                    .iter()
                    .filter(|parameter| parameter.default.is_none() && !parameter.is_params)
                    .count();
                (least..=most).contains(&given.len())
            })
            .collect();
        let Some((method, owner)) = by_count.first() else {
            let takes =
                if given.len() == 1 { "1 argument".to_owned() } else { format!("{} arguments", given.len()) };
            return reject("CS1501", format!("No overload for method '{name}' takes {takes}"), span);
        };
        for (at, argument) in given.iter().enumerate() {
            let SourceArgumentValue::Value(value) = &argument.value else { continue };
            let takes = |(method, owner): &&&(Rc<Method>, Ty)| {
                let parameter = method.parameters.get(at).or(method.parameters.last());
                parameter.is_none_or(|parameter| {
                    let ty = parameter.ty.with(owner.arguments(), &[]);
                    ty.is_open() || self.fits(argument, parameter, &ty) || parameter.is_params
                })
            };
            if by_count.iter().find(takes).is_none() {
                let Some(parameter) = method.parameters.get(at).or(method.parameters.last()) else {
                    continue;
                };
                let expected = self.type_text(&parameter.ty.with(owner.arguments(), &[]));
                let from = self.type_text(&value.ty);
                return reject(
                    "CS1503",
                    format!("Argument {}: cannot convert from '{from}' to '{expected}'", at + 1),
                    argument.span,
                );
            }
        }
        let passed: Vec<String> = given
            .iter()
            .map(|given| match &given.value {
                SourceArgumentValue::Value(value) => self.type_text(&value.ty),
                SourceArgumentValue::Function => "lambda or method".into(),
                SourceArgumentValue::TargetTyped(_) => "default or new".into(),
                SourceArgumentValue::Declared(..) => "out var".into(),
            })
            .collect();
        reject("CS1503", format!("No overload of '{name}' takes ({})", passed.join(", ")), span)
    }
}

/// The source of each parameter's value; `None` if the arguments do not match the parameters.
fn parameter_sources(
    method: &Method,
    given: &[SourceArgument<'_>],
    expanded: bool,
    last: Option<usize>,
) -> Option<Vec<ParameterSource>> {
    let mut places: Vec<Option<ParameterSource>> = vec![None; method.parameters.len()];
    for (at, argument) in given.iter().enumerate() {
        let position = match &argument.name {
            Some(name) => method.parameters.iter().position(|own| own.name == *name)?,
            None => at,
        };
        if expanded && argument.name.is_none() && Some(position) >= last {
            let of = params_item(&method.parameters.get(last?)?.ty)?;
            match places.get_mut(last?)? {
                Some(ParameterSource::Rest(list, _)) => list.push(at),
                place => *place = Some(ParameterSource::Rest(vec![at], of)),
            }
            continue;
        }
        let place = places.get_mut(position)?;
        place.is_none().then_some(())?;
        *place = Some(ParameterSource::Argument(at));
    }
    let fill = |(position, place): (usize, Option<ParameterSource>)| {
        if let Some(place) = place {
            return Some(place);
        }
        let parameter = method.parameters.get(position)?;
        if expanded && Some(position) == last {
            return Some(ParameterSource::Rest(Vec::new(), params_item(&parameter.ty)?));
        }
        parameter.default.is_some().then_some(ParameterSource::Default)
    };
    places.into_iter().enumerate().map(fill).collect()
}

/// The type of the arguments that a `params` parameter collects.
fn params_item(ty: &Ty) -> Option<Ty> {
    match (ty, ty.arguments()) {
        (Ty::Vector(of), _) => Some((**of).clone()),
        (_, [of]) => Some(of.clone()),
        _ => None,
    }
}
