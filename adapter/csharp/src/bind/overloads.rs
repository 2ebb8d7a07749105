//! Overload resolution (language specification, 12.6.4).
//!
//! Not here: inference of generic arguments ([`super::inference`]).

use std::cmp::Ordering;
use std::rc::Rc;

use super::binder::{Bind, Binder, leave_to_compiler, reject};
use super::system::{Method, Parameter, PassMode};
use super::typed::{MethodRef, Typed};
use crate::syntax::Span;
use crate::syntax::tree::{ArgumentMode, Designation, Expr, TypeName};
use crate::types::{Ty, kind};

/// An argument of a call in the source.
pub(super) struct SourceArgument<'e> {
    pub(super) name: Option<Rc<str>>,
    pub(super) mode: ArgumentMode,
    pub(super) value: SourceArgumentValue<'e>,
    pub(super) span: Span,
}

pub(super) enum SourceArgumentValue<'e> {
    Value(Typed),
    /// An expression whose type depends on the parameter: `new(…)`, `default`.
    TargetTyped(&'e Expr),
    /// A lambda, or a method group.
    Function,
    /// A declaration in an argument: `out var name`.
    Declared(Option<(&'e TypeName, Ty)>, &'e Designation),
}

impl SourceArgument<'_> {
    /// A value that is passed by position.
    pub(super) fn of(value: Typed) -> Self {
        let span = value.span;
        Self { name: None, mode: ArgumentMode::Value, value: SourceArgumentValue::Value(value), span }
    }
}

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
    parameter_types: Vec<Ty>,
    expanded: bool,
}

impl OverloadCandidate {
    /// Whether the first argument is a number that is converted to another number type.
    pub(super) fn converts_number(&self, from: &Ty) -> bool {
        self.parameter_types.first().is_some_and(|to| is_other_number(from, to))
    }
}

/// Whether both are numbers of different types. `this` of an extension method is never converted
/// between number types.
pub(super) fn is_other_number(from: &Ty, to: &Ty) -> bool {
    let is_number = |ty: &Ty| matches!(ty, Ty::Primitive(_)) && ty.is_value();
    from != to && is_number(from) && is_number(to)
}

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
        let beats_all = |at: usize| {
            let one = candidates.get(at)?;
            let beats = |(other, own): (usize, &OverloadCandidate)| {
                other == at || self.is_better(one, own, given) == Ordering::Greater
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
        if expanded
            && !method
                .parameters
                .last()
                .is_some_and(|last| last.is_params && matches!(last.ty, Ty::Vector(_)))
        {
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
                    let Ty::Vector(of) = ty else { return None };
                    met.extend(list.iter().map(|at| (*at, parameter, (*of).clone())));
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
            own = self.infer_arguments(generic, &pairs)?;
        }
        if own.iter().any(Self::is_internal) || !self.satisfies(method, owner, &own) {
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
            // An evaluation cannot pass a `ref struct` that a conversion created.
            SourceArgumentValue::Value(value) if self.types.is_by_ref(ty) && value.ty != *ty => false,
            SourceArgumentValue::Value(value) => {
                !value.is_void() && self.implicit_conversion(value, ty).is_some()
            }
            SourceArgumentValue::TargetTyped(expr) => self.fits_target_typed(expr, ty),
            SourceArgumentValue::Function => self.takes_lambda(ty),
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

    /// Whether one candidate is better than another; [`Ordering::Equal`] if neither is.
    fn is_better(
        &self,
        one: &OverloadCandidate,
        other: &OverloadCandidate,
        given: &[SourceArgument<'_>],
    ) -> Ordering {
        let (mut better, mut worse) = (false, false);
        for (at, given) in given.iter().enumerate() {
            let (Some(a), Some(b)) = (one.parameter_types.get(at), other.parameter_types.get(at)) else {
                continue;
            };
            match self.better_target(given, a, b) {
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
        let generic = |candidate: &OverloadCandidate| !candidate.method.types.is_empty();
        let left_out = |candidate: &OverloadCandidate| {
            candidate.places.iter().filter(|place| **place == ParameterSource::Default).count()
        };
        let rest = |candidate: &OverloadCandidate| {
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
            generic(one).cmp(&generic(other)),
            one.expanded.cmp(&other.expanded),
            left_out(one).cmp(&left_out(other)),
            rest(one).cmp(&rest(other)),
            self.compare_specificity(other, one),
        ];
        ties.into_iter().fold(Ordering::Equal, Ordering::then).reverse()
    }

    /// Compares two candidates by the specificity of their declared types: `List<T>` is
    /// more specific than `T`.
    fn compare_specificity(&self, one: &OverloadCandidate, other: &OverloadCandidate) -> Ordering {
        let depth = |candidate: &OverloadCandidate| {
            candidate
                .method
                .method
                .parameters
                .iter()
                .map(|parameter| specificity(&parameter.ty))
                .sum::<usize>()
        };
        depth(one).cmp(&depth(other))
    }

    /// Compares two conversions of an argument by their target types.
    fn better_target(&self, given: &SourceArgument<'_>, a: &Ty, b: &Ty) -> Ordering {
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
        self.better_type(a, b)
    }

    /// Compares two types as conversion targets (12.6.4.7).
    pub(super) fn better_type(&self, a: &Ty, b: &Ty) -> Ordering {
        let to_b = self.types.widens(a, b);
        let to_a = self.types.widens(b, a);
        match (to_b, to_a) {
            (true, false) => return Ordering::Greater,
            (false, true) => return Ordering::Less,
            _ => {}
        }
        let (a, b) = (self.types.inside(a), self.types.inside(b));
        let signed = |ty: &Ty| ty.kind().is_some_and(crate::constant::is_signed);
        let unsigned =
            |ty: &Ty| matches!(ty, Ty::Primitive(kind::U1 | kind::U2 | kind::U4 | kind::U8 | kind::U));
        match (signed(&a) && unsigned(&b), unsigned(&a) && signed(&b)) {
            (true, _) => Ordering::Greater,
            (_, true) => Ordering::Less,
            _ => Ordering::Equal,
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

/// How specific a type is: the number of its parts that are not generic parameters.
fn specificity(ty: &Ty) -> usize {
    match ty {
        Ty::Var(_) | Ty::MethodVar(_) => 0,
        Ty::Named(named) => 1 + named.arguments.iter().map(specificity).sum::<usize>(),
        Ty::Vector(of) | Ty::Array(of, _) | Ty::Pointer(of) | Ty::Reference(of) => 1 + specificity(of),
        _ => 1,
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
            let Ty::Vector(of) = &method.parameters.get(last?)?.ty else { return None };
            match places.get_mut(last?)? {
                Some(ParameterSource::Rest(list, _)) => list.push(at),
                place => *place = Some(ParameterSource::Rest(vec![at], (**of).clone())),
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
        match (&parameter.ty, expanded && Some(position) == last) {
            (Ty::Vector(of), true) => Some(ParameterSource::Rest(Vec::new(), (**of).clone())),
            _ => parameter.default.is_some().then_some(ParameterSource::Default),
        }
    };
    places.into_iter().enumerate().map(fill).collect()
}
