//! Assignments: plain, compound, `??=`, deconstructing, `++` and `--` (language specification, 12.21 and
//! 12.8.16). Not here: the binary operator of `+=` ([`super::operators`]).

use super::binder::{Bind, Binder, leave_to_compiler, reject};
use super::typed::{ConversionKind, PassedArgument, Typed, TypedArgument, TypedCall, TypedKind};
use crate::operators::{BinaryOp, Overflow};
use crate::syntax::Span;
use crate::syntax::tree::{Assign, Designation, Expr, ExprKind};
use crate::types::Ty;

impl Binder<'_> {
    pub(super) fn assignment(&mut self, assign: Assign, to: &Expr, value: &Expr, span: Span) -> Bind<Typed> {
        // `a?.b = c` writes only where `a` is not null.
        if let ExprKind::Conditional(of, then) = &to.kind {
            return self.conditional(of, span, |binder| {
                binder.assignment(assign, then, value, span).map(super::binder::Classification::Value)
            });
        }
        match assign {
            Assign::Plain => self.plain_assignment(to, value, span),
            Assign::Compound(op) => {
                let (place, wrap) = self.keep_place(to)?;
                let right = self.value(value)?;
                if let Some(call) = self.compound_operator(op, &place, &right, span)? {
                    return Ok(wrap.wrap(call));
                }
                let new = self.binary(op, place.clone(), right, span)?;
                let new = self.cast_back(new, &place.ty, span)?;
                let written = self.assign_to(place, new, span)?;
                Ok(wrap.wrap(written))
            }
            Assign::Coalesce => self.coalesce_assignment(to, value, span),
        }
    }

    pub(super) fn plain_assignment(&mut self, to: &Expr, value: &Expr, span: Span) -> Bind<Typed> {
        if let ExprKind::Tuple(elements) = &super::equality::unparenthesized(to).kind {
            return self.deconstruction(elements, value, span);
        }
        if let ExprKind::Declaration(_, names) = &to.kind {
            // `_ = value` is a discard unless a variable has this name.
            if *names == Designation::Discard && self.variable("_", to.span).is_none() {
                return self.value(value);
            }
        }
        if let ExprKind::Name(name) = &to.kind
            && &*name.text == "_"
            && self.variable("_", to.span).is_none()
        {
            return self.value(value);
        }
        let place = self.value(to)?;
        let value = self.convert_expr(value, &place.ty)?;
        self.assign_to(place, value, span)
    }

    /// The node that writes a value to a place. A place that cannot be written to is refused.
    pub(super) fn assign_to(&mut self, place: Typed, value: Typed, span: Span) -> Bind<Typed> {
        self.must_be_writable(&place)?;
        let ty = place.ty.clone();
        Ok(Typed::new(TypedKind::Assign(place.boxed(), value.boxed()), ty, span))
    }

    fn must_be_writable(&self, place: &Typed) -> Bind<()> {
        let span = place.span;
        match &place.kind {
            TypedKind::Property(of, property) if !matches!(property.ty, Ty::Reference(_)) => {
                let name = &property.property.name;
                // An auto-property without a setter still has a backing field.
                if property.property.setter.is_none() && property.property.backing.is_none() {
                    return reject(
                        "CS0200",
                        format!("Property or indexer '{name}' cannot be assigned to -- it is read only"),
                        span,
                    );
                }
                match of {
                    Some(of) if is_a_copy(of) => self.reject_copy(of),
                    _ => Ok(()),
                }
            }
            TypedKind::Indexer(of, property, _) if !matches!(property.ty, Ty::Reference(_)) => {
                if property.property.setter.is_none() {
                    return reject(
                        "CS0200",
                        "Property or indexer 'this[]' cannot be assigned to -- it is read only",
                        span,
                    );
                }
                if is_a_copy(of) { self.reject_copy(of) } else { Ok(()) }
            }
            TypedKind::Field(Some(of), _) | TypedKind::TupleElement(of, _) if is_a_copy(of) => {
                self.reject_copy(of)
            }
            TypedKind::Constant(_) => reject(
                "CS0131",
                "The left-hand side of an assignment must be a variable, property or indexer",
                span,
            ),
            TypedKind::Property(..) | TypedKind::Call(_) if place.is_place() => {
                leave_to_compiler("an assignment to a reference that a member returns", span)
            }
            _ if place.is_place() || is_kept(place) => Ok(()),
            _ => reject(
                "CS0131",
                "The left-hand side of an assignment must be a variable, property or indexer",
                span,
            ),
        }
    }

    fn reject_copy(&self, of: &Typed) -> Bind<()> {
        reject(
            "CS1612",
            "Cannot modify the return value because it is not a variable: it is in a copy, and writing to \
                it would change nothing",
            of.span,
        )
    }

    /// The target of an assignment. The objects in its path are evaluated once, into the returned slots.
    fn keep_place(&mut self, to: &Expr) -> Bind<(Typed, HoistedValues)> {
        let place = self.value(to)?;
        self.must_be_writable(&place)?;
        let mut wrap = HoistedValues::default();
        let kept = self.keep_operand(place, &mut wrap);
        Ok((kept, wrap))
    }

    fn keep_operand(&mut self, place: Typed, wrap: &mut HoistedValues) -> Typed {
        let (ty, span) = (place.ty.clone(), place.span);
        let kind = match place.kind {
            TypedKind::Field(Some(of), field) => {
                TypedKind::Field(Some(self.keep_object(*of, wrap).boxed()), field)
            }
            TypedKind::Property(Some(of), property) => {
                TypedKind::Property(Some(self.keep_object(*of, wrap).boxed()), property)
            }
            TypedKind::TupleElement(of, at) => {
                TypedKind::TupleElement(self.keep_object(*of, wrap).boxed(), at)
            }
            TypedKind::Element(of, indexes) => {
                let of = self.keep_object(*of, wrap).boxed();
                let indexes = indexes.into_iter().map(|index| self.keep_value(index, wrap)).collect();
                TypedKind::Element(of, indexes)
            }
            TypedKind::Deref(of) => TypedKind::Deref(self.keep_value(*of, wrap).boxed()),
            TypedKind::Indexer(of, property, arguments) => {
                let of = self.keep_object(*of, wrap).boxed();
                let keep = |passed: PassedArgument| match passed.value {
                    TypedArgument::Value(value) => {
                        PassedArgument { value: TypedArgument::Value(self.keep_value(value, wrap)), ..passed }
                    }
                    other => PassedArgument { value: other, ..passed },
                };
                TypedKind::Indexer(of, property, arguments.into_iter().map(keep).collect())
            }
            other => other,
        };
        Typed::new(kind, ty, span)
    }

    /// The object that contains a place: a reference is evaluated into a slot; for a struct,
    /// its own place is kept.
    fn keep_object(&mut self, of: Typed, wrap: &mut HoistedValues) -> Typed {
        match of.ty.is_value() && of.is_place() {
            true => self.keep_operand(of, wrap),
            false => self.keep_value(of, wrap),
        }
    }

    fn keep_value(&mut self, of: Typed, wrap: &mut HoistedValues) -> Typed {
        if matches!(
            of.kind,
            TypedKind::Variable(_) | TypedKind::Slot(_) | TypedKind::This | TypedKind::Constant(_)
        ) {
            return of;
        }
        let slot = self.slot();
        let kept = Typed::new(TypedKind::Slot(slot), of.ty.clone(), of.span);
        wrap.bindings.push((slot, of));
        kept
    }

    /// Casts the result of a compound assignment to the target's type: `byte += 1` is valid.
    fn cast_back(&mut self, value: Typed, to: &Ty, span: Span) -> Bind<Typed> {
        if self.implicit_conversion(&value, to).is_some() {
            return self.convert(value, to);
        }
        let before = self.overflow;
        if before != Overflow::Fails {
            self.overflow = Overflow::Ignored;
        }
        let value = self.cast_value(value, to, span);
        self.overflow = before;
        value
    }

    /// Calls `operator +=` if the type defines it.
    fn compound_operator(
        &mut self,
        op: BinaryOp,
        place: &Typed,
        value: &Typed,
        span: Span,
    ) -> Bind<Option<Typed>> {
        let Ty::Named(_) = &place.ty else { return Ok(None) };
        let name = format!("{}Assignment", op.method());
        let has_it = self.types.chain(&place.ty).iter().any(|owner| {
            self.types.def(owner).is_some_and(|def| !self.types.system.members(def, &name).is_empty())
        });
        if !has_it {
            return Ok(None);
        }
        let call = self.call_named(place, &name, vec![value.clone()], span)?;
        let ty = place.ty.clone();
        Ok(Some(Typed::new(TypedKind::Sequence(vec![call, place.clone()]), ty, span)))
    }

    /// Binds `a ??= b` (12.21.4).
    fn coalesce_assignment(&mut self, to: &Expr, value: &Expr, span: Span) -> Bind<Typed> {
        let (place, wrap) = self.keep_place(to)?;
        let inside = self.types.nullable(&place.ty);
        if place.ty.is_value() && inside.is_none() {
            let name = self.type_text(&place.ty);
            return reject(
                "CS0019",
                format!("Operator '??=' cannot be applied to operands of type '{name}'"),
                span,
            );
        }
        let slot = self.slot();
        let old = Typed::new(TypedKind::Slot(slot), place.ty.clone(), span);
        let bound = match &inside {
            // The type of the value if it can be converted, otherwise the nullable type.
            Some(inner) => self
                .within(|binder| binder.convert_expr(value, inner))
                .or_else(|_| self.convert_expr(value, &place.ty))?,
            None => self.convert_expr(value, &place.ty)?,
        };
        let ty = bound.ty.clone();
        let stored = self.convert(bound, &place.ty)?;
        let assigned = self.assign_to(place.clone(), stored, span)?;
        let out = |value: Typed| match ty == value.ty {
            true => value,
            false => Typed::new(TypedKind::Convert(value.boxed(), ConversionKind::Unwrap), ty.clone(), span),
        };
        let kind = TypedKind::Coalesce(place.boxed(), slot, out(old).boxed(), out(assigned).boxed());
        Ok(wrap.wrap(Typed::new(kind, ty.clone(), span)))
    }

    /// Binds the deconstruction `(a, b) = value`.
    fn deconstruction(
        &mut self,
        elements: &[(Option<std::rc::Rc<str>>, Expr)],
        value: &Expr,
        span: Span,
    ) -> Bind<Typed> {
        let mut places = Vec::new();
        for (_, element) in elements {
            places.push(self.target(element)?);
        }
        // `(a, b) = (b, a)`: evaluates all values before the first assignment.
        if let ExprKind::Tuple(values) = &super::equality::unparenthesized(value).kind {
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
            let (mut bindings, mut steps, mut kept) = (Vec::new(), Vec::new(), Vec::new());
            for ((_, value), target) in values.iter().zip(places) {
                let value = match &target {
                    AssignmentTarget::Place(place) => self.convert_expr(value, &place.ty)?,
                    _ => self.value(value)?,
                };
                let slot = self.slot();
                let copy = Typed::new(TypedKind::Slot(slot), value.ty.clone(), value.span);
                let ty = value.ty.clone();
                bindings.push((slot, Typed::new(TypedKind::Copy(value.boxed()), ty, span)));
                self.assign_target(target, copy.clone(), &mut steps, span)?;
                kept.push(copy);
            }
            let types = kept.iter().map(|value| value.ty.clone()).collect();
            let Some(ty) = self.types.tuple_of(types, crate::types::TupleNames::default()) else {
                return leave_to_compiler("a tuple of more than 7 elements", span);
            };
            steps.push(Typed::new(TypedKind::Tuple(kept), ty.clone(), span));
            let whole = Typed::new(TypedKind::Sequence(steps), ty, span);
            return Ok(HoistedValues { bindings }.wrap(whole));
        }
        let value = self.value(value)?;
        let slot = self.slot();
        let kept = Typed::new(TypedKind::Slot(slot), value.ty.clone(), value.span);
        let mut steps = Vec::new();
        self.deconstruct_into(places, &kept, &mut steps, span)?;
        let ty = value.ty.clone();
        steps.push(kept);
        let whole = Typed::new(TypedKind::Sequence(steps), ty, span);
        Ok(HoistedValues { bindings: vec![(slot, value)] }.wrap(whole))
    }

    fn target(&mut self, element: &Expr) -> Bind<AssignmentTarget> {
        match &super::equality::unparenthesized(element).kind {
            ExprKind::Tuple(inner) => {
                let inner = inner.iter().map(|(_, element)| self.target(element)).collect::<Bind<_>>()?;
                Ok(AssignmentTarget::Tuple(inner))
            }
            ExprKind::Declaration(_, Designation::Discard) if self.variable("_", element.span).is_none() => {
                Ok(AssignmentTarget::Nothing)
            }
            ExprKind::Declaration(_, names) if *names != Designation::Discard => reject(
                "CS8185",
                "A declaration is not allowed in this context: this declares a variable, and only those of \
                    the program can be assigned to",
                element.span,
            ),
            _ => {
                let place = self.value(element)?;
                self.must_be_writable(&place)?;
                Ok(AssignmentTarget::Place(Box::new(place)))
            }
        }
    }

    fn assign_target(
        &mut self,
        target: AssignmentTarget,
        value: Typed,
        steps: &mut Vec<Typed>,
        span: Span,
    ) -> Bind<()> {
        match target {
            AssignmentTarget::Nothing => Ok(()),
            AssignmentTarget::Place(place) => {
                let value = self.convert(value, &place.ty)?;
                steps.push(self.assign_to(*place, value, span)?);
                Ok(())
            }
            AssignmentTarget::Tuple(inner) => self.deconstruct_into(inner, &value, steps, span),
        }
    }

    fn deconstruct_into(
        &mut self,
        targets: Vec<AssignmentTarget>,
        of: &Typed,
        steps: &mut Vec<Typed>,
        span: Span,
    ) -> Bind<()> {
        let parts = self.deconstruction_parts(of, targets.len(), steps, span)?;
        for (target, part) in targets.into_iter().zip(parts) {
            self.assign_target(target, part, steps, span)?;
        }
        Ok(())
    }

    /// The elements of a tuple, or the results of `Deconstruct`, whose call is added to the steps before.
    pub(super) fn deconstruction_parts(
        &mut self,
        of: &Typed,
        count: usize,
        steps: &mut Vec<Typed>,
        span: Span,
    ) -> Bind<Vec<Typed>> {
        if let Some(types) = self.types.tuple(&of.ty) {
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
        let name = crate::syntax::tree::SimpleName {
            text: "Deconstruct".into(),
            arguments: Vec::new(),
            open: 0,
            span,
        };
        let found = self.member_of_value(of.clone(), &name, span);
        let Ok(super::binder::Classification::Group(group)) = found else {
            let owner = self.type_text(&of.ty);
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
            .map(|name| super::overloads::SourceArgument {
                name: None,
                mode: crate::syntax::tree::ArgumentMode::Out,
                value: super::overloads::SourceArgumentValue::Declared(None, name),
                span,
            })
            .collect();
        let call = self.call_best(&group, &given, span)?;
        let mut parts = Vec::new();
        if let TypedKind::Call(inner) = &call.kind {
            let TypedCall { arguments, .. } = inner.as_ref();
            parts.extend(arguments.iter().filter_map(|passed| match &passed.value {
                TypedArgument::New(slot, ty) => Some(Typed::new(TypedKind::Slot(*slot), ty.clone(), span)),
                _ => None,
            }));
        }
        steps.push(call);
        Ok(parts)
    }

    /// Binds `x++`, `x--`, `++x` and `--x`.
    pub(super) fn step(&mut self, of: &Expr, up: bool, prefix: bool, span: Span) -> Bind<Typed> {
        let (place, mut wrap) = self.keep_place(of)?;
        let slot = self.slot();
        let ty = place.ty.clone();
        let old = Typed::new(TypedKind::Slot(slot), ty.clone(), span);
        let name = if up { "op_Increment" } else { "op_Decrement" };
        let new = match self.user_defined_step(name, &old, span)? {
            Some(call) => call,
            None => {
                let one = self.int(1, span);
                let op = if up { BinaryOp::Add } else { BinaryOp::Subtract };
                let sum = match self.binary(op, old.clone(), one, span) {
                    Ok(sum) if sum.ty != crate::types::STRING => sum,
                    _ => {
                        let (op, name) = (if up { "++" } else { "--" }, self.type_text(&ty));
                        return reject(
                            "CS0023",
                            format!("Operator '{op}' cannot be applied to operand of type '{name}'"),
                            span,
                        );
                    }
                };
                self.cast_back(sum, &ty, span)?
            }
        };
        wrap.bindings.push((slot, Typed::new(TypedKind::Copy(place.clone().boxed()), ty.clone(), span)));
        let written = self.assign_to(place, new, span)?;
        let whole = match prefix {
            true => written,
            false => Typed::new(TypedKind::Sequence(vec![written, old]), ty, span),
        };
        Ok(wrap.wrap(whole))
    }

    fn user_defined_step(&mut self, name: &str, old: &Typed, span: Span) -> Bind<Option<Typed>> {
        let inside = self.types.inside(&old.ty);
        let Ty::Named(_) = &inside else { return Ok(None) };
        let has_it =
            self.types.def(&inside).is_some_and(|def| !self.types.system.members(def, name).is_empty());
        if !has_it || inside != old.ty {
            return Ok(None);
        }
        let group = match self.group(None, &inside, name, &[], span) {
            super::binder::Classification::Group(group) => group,
            _ => return Ok(None),
        };
        let given = [super::overloads::SourceArgument {
            name: None,
            mode: crate::syntax::tree::ArgumentMode::Value,
            value: super::overloads::SourceArgumentValue::Value(old.clone()),
            span,
        }];
        self.call_best(&group, &given, span).map(Some)
    }
}

enum AssignmentTarget {
    Place(Box<Typed>),
    Tuple(Vec<AssignmentTarget>),
    Nothing,
}

/// Values that are evaluated into slots before the expression.
#[derive(Default)]
struct HoistedValues {
    bindings: Vec<(u32, Typed)>,
}

impl HoistedValues {
    fn wrap(self, inner: Typed) -> Typed {
        self.bindings.into_iter().rev().fold(inner, |inner, (slot, value)| {
            let (ty, span) = (inner.ty.clone(), inner.span);
            Typed::new(TypedKind::Let(slot, value.boxed(), inner.boxed()), ty, span)
        })
    }
}

/// Whether writing to a member of the value would only change a copy.
fn is_a_copy(of: &Typed) -> bool {
    of.ty.is_value() && !is_kept(of) && !of.is_place()
}

/// Whether the value is in a slot: a struct that was just created is initialised there.
fn is_kept(of: &Typed) -> bool {
    matches!(of.kind, TypedKind::Slot(_))
}
