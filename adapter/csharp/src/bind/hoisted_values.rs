//! Values that an expression evaluates once, into slots, before it uses them: the path of a place that is
//! read and written, the operands of a deconstruction.
//!
//! Not here: the writes ([`super::assignment`], [`super::deconstruction`]).

use super::binder::Binder;
use super::typed::{PassedArgument, Typed, TypedArgument, TypedKind};

/// Values that are evaluated into slots before the expression.
#[derive(Default)]
pub(super) struct HoistedValues {
    pub(super) bindings: Vec<(u32, Typed)>,
}

impl HoistedValues {
    /// Wraps an expression in the evaluation of the values.
    pub(super) fn wrap(self, inner: Typed) -> Typed {
        self.bindings.into_iter().rev().fold(inner, |inner, (slot, value)| {
            let (ty, span) = (inner.ty.clone(), inner.span);
            Typed::new(TypedKind::Let(slot, value.boxed(), inner.boxed()), ty, span)
        })
    }

    /// Keeps a place: the objects and indexes in its path are evaluated once.
    pub(super) fn keep_operand(&mut self, place: Typed, binder: &mut Binder<'_>) -> Typed {
        let (ty, span) = (place.ty.clone(), place.span);
        let kind = match place.kind {
            TypedKind::Field(Some(of), field) => {
                TypedKind::Field(Some(self.keep_object(*of, binder).boxed()), field)
            }
            TypedKind::Property(Some(of), property) => {
                TypedKind::Property(Some(self.keep_object(*of, binder).boxed()), property)
            }
            TypedKind::TupleElement(of, at) => {
                TypedKind::TupleElement(self.keep_object(*of, binder).boxed(), at)
            }
            TypedKind::Element(of, indexes) => {
                let of = self.keep_object(*of, binder).boxed();
                let indexes = indexes.into_iter().map(|index| self.keep_value(index, binder)).collect();
                TypedKind::Element(of, indexes)
            }
            TypedKind::Deref(of) => TypedKind::Deref(self.keep_value(*of, binder).boxed()),
            TypedKind::Indexer(of, property, arguments) => {
                let of = self.keep_object(*of, binder).boxed();
                let keep = |passed: PassedArgument| match passed.value {
                    TypedArgument::Value(value) => PassedArgument {
                        value: TypedArgument::Value(self.keep_value(value, binder)),
                        ..passed
                    },
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
    fn keep_object(&mut self, of: Typed, binder: &mut Binder<'_>) -> Typed {
        match of.ty.is_value() && of.is_place() {
            true => self.keep_operand(of, binder),
            false => self.keep_value(of, binder),
        }
    }

    fn keep_value(&mut self, of: Typed, binder: &mut Binder<'_>) -> Typed {
        if matches!(
            of.kind,
            TypedKind::Variable(_) | TypedKind::Slot(_) | TypedKind::This | TypedKind::Constant(_)
        ) {
            return of;
        }
        let slot = binder.slot();
        let kept = Typed::new(TypedKind::Slot(slot), of.ty.clone(), of.span);
        self.bindings.push((slot, of));
        kept
    }
}

/// Whether the value is in a slot: a struct that was just created is initialised there.
pub(super) fn is_kept(of: &Typed) -> bool {
    matches!(of.kind, TypedKind::Slot(_))
}
