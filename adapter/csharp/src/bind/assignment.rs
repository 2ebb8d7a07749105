//! Assignments: plain, compound, `??=`, `++` and `--` (language specification, 12.21 and 12.8.16). Not here:
//! the binary operator of `+=` ([`super::operators`]), `(a, b) = c` ([`super::deconstruction`]).

use super::binder::{Bind, Binder, leave_to_compiler, reject};
use super::classification::Classification;
use super::deconstruction::Deconstruction;
use super::equality::unparenthesized;
use super::hoisted_values::{HoistedValues, is_kept};
use super::receivers::Receivers;
use super::source_argument::{SourceArgument, SourceArgumentValue};
use super::typed::{ConversionKind, Typed, TypedKind};
use crate::operators::{BinaryOp, Overflow};
use crate::syntax::Span;
use crate::syntax::tree::{ArgumentMode, Assign, Designation, Expr, ExprKind};
use crate::types::Ty;

impl Binder<'_> {
    pub(super) fn assignment(&mut self, assign: Assign, to: &Expr, value: &Expr, span: Span) -> Bind<Typed> {
        // `a?.b = c` writes only where `a` is not null.
        if let ExprKind::Conditional(of, then) = &to.kind {
            return self.conditional(of, span, |binder| {
                binder.assignment(assign, then, value, span).map(Classification::Value)
            });
        }
        match assign {
            Assign::Plain => self.plain_assignment(to, value, span),
            Assign::Compound(op) => {
                let (place, wrap) = self.keep_place(to)?;
                let right = self.value(value)?;
                let operator = format!("{}Assignment", op.method());
                let given = vec![right.clone()];
                if let Some(call) = self.assignment_operator(&operator, &place, given, span)? {
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
        if let ExprKind::Tuple(elements) = &unparenthesized(to).kind {
            return Deconstruction::new(self, span).assignment(elements, value);
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
        let place = match &place.kind {
            TypedKind::Slot(_) => place,
            _ => Receivers { binder: self }.own_place(place),
        };
        let ty = place.ty.clone();
        Ok(Typed::new(TypedKind::Assign(place.boxed(), value.boxed()), ty, span))
    }

    pub(super) fn must_be_writable(&self, place: &Typed) -> Bind<()> {
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
            // The debugger itself finds the elements of spans.
            TypedKind::Indexer(of, ..) if place.is_place() && !self.types.is_span(&of.ty) => {
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
        let kept = wrap.keep_operand(place, self);
        Ok((kept, wrap))
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

    /// Calls an operator that changes its operand, as `operator +=`, if the type defines it.
    fn assignment_operator(
        &mut self,
        name: &str,
        place: &Typed,
        given: Vec<Typed>,
        span: Span,
    ) -> Bind<Option<Typed>> {
        let Ty::Named(_) = &place.ty else { return Ok(None) };
        let has_it = self.types.chain(&place.ty).iter().any(|owner| {
            self.types.def(owner).is_some_and(|def| !self.types.system.members(def, name).is_empty())
        });
        if !has_it {
            return Ok(None);
        }
        let call = self.call_named(place, name, given, span)?;
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

    /// Binds `x++`, `x--`, `++x` and `--x`.
    pub(super) fn step(&mut self, of: &Expr, up: bool, prefix: bool, span: Span) -> Bind<Typed> {
        let (place, mut wrap) = self.keep_place(of)?;
        let operator = if up { "op_IncrementAssignment" } else { "op_DecrementAssignment" };
        if prefix && let Some(call) = self.assignment_operator(operator, &place, Vec::new(), span)? {
            return Ok(wrap.wrap(call));
        }
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
            Classification::Group(group) => group,
            _ => return Ok(None),
        };
        let given = [SourceArgument {
            name: None,
            mode: ArgumentMode::Value,
            value: SourceArgumentValue::Value(old.clone()),
            span,
        }];
        self.call_best(&group, &given, span).map(Some)
    }
}

/// Whether writing to a member of the value would only change a copy.
fn is_a_copy(of: &Typed) -> bool {
    of.ty.is_value() && !is_kept(of) && !of.is_place()
}
