//! Deconstruction of tuples and of objects with a method `Deconstruct`, for assignments and patterns
//! (language specification, 12.7 and 12.21.2).
//!
//! Not here: assignments to one place ([`super::assignment`]).

use std::rc::Rc;

use super::binder::{Bind, Binder, leave_to_compiler, reject};
use super::classification::Classification;
use super::equality::unparenthesized;
use super::hoisted_values::HoistedValues;
use super::source_argument::{SourceArgument, SourceArgumentValue};
use super::typed::{Typed, TypedArgument, TypedCall, TypedKind};
use crate::syntax::Span;
use crate::syntax::tree::{ArgumentMode, Designation, Expr, ExprKind, SimpleName};
use crate::types::TupleNames;

enum AssignmentTarget {
    Place(Box<Typed>),
    Tuple(Vec<AssignmentTarget>),
    Nothing,
}

/// The deconstruction of one value, which may have parts that are deconstructed in turn.
pub(super) struct Deconstruction<'b, 'a> {
    binder: &'b mut Binder<'a>,
    /// The calls and the writes so far, in their order.
    steps: Vec<Typed>,
    span: Span,
}

impl<'b, 'a> Deconstruction<'b, 'a> {
    pub(super) fn new(binder: &'b mut Binder<'a>, span: Span) -> Self {
        Self { binder, steps: Vec::new(), span }
    }

    /// The calls that must run before the parts are read.
    pub(super) fn into_steps(self) -> Vec<Typed> {
        self.steps
    }

    /// Binds the deconstruction `(a, b) = value`.
    pub(super) fn assignment(mut self, elements: &[(Option<Rc<str>>, Expr)], value: &Expr) -> Bind<Typed> {
        let span = self.span;
        let mut places = Vec::new();
        for (_, element) in elements {
            places.push(self.target(element)?);
        }
        // `(a, b) = (b, a)`: evaluates all values before the first assignment.
        if let ExprKind::Tuple(values) = &unparenthesized(value).kind {
            if values.len() != places.len() {
                return reject(
                    "CS8132",
                    format!(
                        "Cannot deconstruct a tuple of '{}' elements into '{}' variables",
                        values.len(),
                        places.len()
                    ),
                    span,
                );
            }
            let (mut bindings, mut kept) = (Vec::new(), Vec::new());
            for ((_, value), target) in values.iter().zip(places) {
                let value = match &target {
                    AssignmentTarget::Place(place) => self.binder.convert_expr(value, &place.ty)?,
                    _ => self.binder.value(value)?,
                };
                let slot = self.binder.slot();
                let copy = Typed::new(TypedKind::Slot(slot), value.ty.clone(), value.span);
                let ty = value.ty.clone();
                bindings.push((slot, Typed::new(TypedKind::Copy(value.boxed()), ty, span)));
                self.assign_target(target, copy.clone())?;
                kept.push(copy);
            }
            let types = kept.iter().map(|value| value.ty.clone()).collect();
            let Some(ty) = self.binder.types.tuple_of(types, TupleNames::default()) else {
                return leave_to_compiler("a tuple of more than 7 elements", span);
            };
            self.steps.push(Typed::new(TypedKind::Tuple(kept), ty.clone(), span));
            let whole = Typed::new(TypedKind::Sequence(self.steps), ty, span);
            return Ok(HoistedValues { bindings }.wrap(whole));
        }
        let value = self.binder.value(value)?;
        let slot = self.binder.slot();
        let kept = Typed::new(TypedKind::Slot(slot), value.ty.clone(), value.span);
        let value = Typed::new(TypedKind::Copy(value.boxed()), kept.ty.clone(), span);
        self.deconstruct_into(places, &kept)?;
        let ty = value.ty.clone();
        self.steps.push(kept);
        let whole = Typed::new(TypedKind::Sequence(self.steps), ty, span);
        Ok(HoistedValues { bindings: vec![(slot, value)] }.wrap(whole))
    }

    fn target(&mut self, element: &Expr) -> Bind<AssignmentTarget> {
        match &unparenthesized(element).kind {
            ExprKind::Tuple(inner) => {
                let inner = inner.iter().map(|(_, element)| self.target(element)).collect::<Bind<_>>()?;
                Ok(AssignmentTarget::Tuple(inner))
            }
            ExprKind::Declaration(_, Designation::Discard)
                if self.binder.variable("_", element.span).is_none() =>
            {
                Ok(AssignmentTarget::Nothing)
            }
            ExprKind::Declaration(_, names) if *names != Designation::Discard => reject(
                "CS8185",
                "A declaration is not allowed in this context: this declares a variable, and only those of \
                    the program can be assigned to",
                element.span,
            ),
            _ => {
                let place = self.binder.value(element)?;
                self.binder.must_be_writable(&place)?;
                Ok(AssignmentTarget::Place(Box::new(place)))
            }
        }
    }

    fn assign_target(&mut self, target: AssignmentTarget, value: Typed) -> Bind<()> {
        match target {
            AssignmentTarget::Nothing => Ok(()),
            AssignmentTarget::Place(place) => {
                let value = self.binder.convert(value, &place.ty)?;
                let written = self.binder.assign_to(*place, value, self.span)?;
                self.steps.push(written);
                Ok(())
            }
            AssignmentTarget::Tuple(inner) => self.deconstruct_into(inner, &value),
        }
    }

    fn deconstruct_into(&mut self, targets: Vec<AssignmentTarget>, of: &Typed) -> Bind<()> {
        let parts = self.parts(of, targets.len())?;
        for (target, part) in targets.into_iter().zip(parts) {
            self.assign_target(target, part)?;
        }
        Ok(())
    }

    /// The elements of a tuple, or the results of `Deconstruct`, whose call is added to the steps.
    pub(super) fn parts(&mut self, of: &Typed, count: usize) -> Bind<Vec<Typed>> {
        let span = self.span;
        if let Some(types) = self.binder.types.tuple(&of.ty) {
            if types.len() != count {
                return reject(
                    "CS8132",
                    format!(
                        "Cannot deconstruct a tuple of '{}' elements into '{count}' variables",
                        types.len()
                    ),
                    span,
                );
            }
            let part = |(at, ty)| Typed::new(TypedKind::TupleElement(of.clone().boxed(), at), ty, span);
            return Ok(types.into_iter().enumerate().map(part).collect());
        }
        let name = SimpleName { text: "Deconstruct".into(), arguments: Vec::new(), open: 0, span };
        let found = self.binder.member_of_value(of.clone(), &name, span);
        let Ok(Classification::Group(group)) = found else {
            let owner = self.binder.type_text(&of.ty);
            return reject(
                "CS8129",
                format!(
                    "No suitable 'Deconstruct' instance or extension method was found for type '{owner}', \
                        with {count} out parameters"
                ),
                span,
            );
        };
        let names: Vec<Designation> = (0..count).map(|_| Designation::Discard).collect();
        let given: Vec<_> = names
            .iter()
            .map(|name| SourceArgument {
                name: None,
                mode: ArgumentMode::Out,
                value: SourceArgumentValue::Declared(None, name),
                span,
            })
            .collect();
        let call = self.binder.call_best(&group, &given, span)?;
        let mut parts = Vec::new();
        if let TypedKind::Call(inner) = &call.kind {
            let TypedCall { arguments, .. } = inner.as_ref();
            parts.extend(arguments.iter().filter_map(|passed| match &passed.value {
                TypedArgument::New(slot, ty) => Some(Typed::new(TypedKind::Slot(*slot), ty.clone(), span)),
                _ => None,
            }));
        }
        self.steps.push(call);
        Ok(parts)
    }
}
