//! Receivers of calls that may change a struct: C# calls a member that is not `readonly` on a copy unless the
//! struct is a variable that may be written to (language specification, 12.8.10.2 and 9.7.2.6).
//!
//! A `ref readonly` local is read-only as well, but neither metadata nor symbols tell it from other locals.
//! Not here: which members exist ([`super::members`]), calls themselves
//! ([`super::calls`]).

use std::rc::Rc;

use super::binder::{Bind, Binder, reject};
use super::spans::SpanConversions;
use super::system::{Member, Method};
use super::typed::{ConversionKind, FieldRef, MethodRef, Typed, TypedKind};
use crate::syntax::Span;
use crate::types::Ty;

/// The storage of a struct on which a member is called.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ReceiverStorage {
    /// A variable that may be written to, or a value that nothing else refers to.
    Writable,
    /// A read-only variable, or a value that is stored elsewhere: the member gets a copy.
    Shared,
    /// A variable of the expression, or a part of it. Its slot refers to the value that it was assigned.
    Declared,
}

/// Decides how the binder passes the receivers of calls.
pub(super) struct Receivers<'b, 'a> {
    pub(super) binder: &'b Binder<'a>,
}

impl Receivers<'_, '_> {
    /// The value on which a method is called: the given one, or a copy of it.
    pub(super) fn of_call(&self, of: Typed, method: &MethodRef) -> Typed {
        // A box is a copy, which the debugger does not create before it is needed.
        if let TypedKind::Convert(inner, ConversionKind::Box) = &of.kind
            && self.may_change(&inner.ty)
        {
            let (ty, span) = (of.ty.clone(), of.span);
            return Typed::new(TypedKind::StructCopy(of.boxed()), ty, span);
        }
        if !self.may_change(&of.ty) || self.is_readonly_on(&of.ty, method) {
            return of;
        }
        match self.storage(&of) {
            ReceiverStorage::Writable => of,
            ReceiverStorage::Shared => {
                let (ty, span) = (of.ty.clone(), of.span);
                Typed::new(TypedKind::StructCopy(of.boxed()), ty, span)
            }
            ReceiverStorage::Declared => self.own_place(of),
        }
    }

    /// Whether a getter that is not `readonly` gets a copy of this value.
    pub(super) fn copies_for_getter(&self, of: &Typed) -> bool {
        self.may_change(&of.ty) && self.storage(of) != ReceiverStorage::Writable
    }

    /// Whether a value is a local variable or a parameter that may be written to.
    pub(super) fn is_writable_local(&self, of: &Typed) -> bool {
        matches!(of.kind, TypedKind::Variable(_) | TypedKind::Slot(_))
            && self.storage(of) != ReceiverStorage::Shared
    }

    /// A place in a variable of the expression, for a write: the variable first gets a copy of the struct
    /// that it was assigned. Other places stay as they are.
    pub(super) fn own_place(&self, place: Typed) -> Typed {
        let Typed { kind, ty, span } = place;
        let own = |of: Box<Typed>| match of.ty.is_value() {
            true => self.own_place(*of).boxed(),
            false => of,
        };
        let kind = match kind {
            TypedKind::Slot(slot) if self.is_declared(slot) && self.binder.types.is_struct(&ty) => {
                TypedKind::OwnSlot(slot)
            }
            TypedKind::Field(Some(of), field) => TypedKind::Field(Some(own(of)), field),
            TypedKind::TupleElement(of, at) => TypedKind::TupleElement(own(of), at),
            TypedKind::Property(Some(of), property) => TypedKind::Property(Some(own(of)), property),
            TypedKind::Indexer(of, property, all) => TypedKind::Indexer(own(of), property, all),
            other => other,
        };
        Typed { kind, ty, span }
    }

    /// Whether the slot is a variable that the expression declares.
    fn is_declared(&self, slot: u32) -> bool {
        self.binder.locals.iter().any(|local| local.slot == slot)
    }

    /// Whether a member may change a value of the type. Of the structs in `System` only `HashCode` has such
    /// members. A `ref struct` cannot be copied for an evaluation.
    fn may_change(&self, ty: &Ty) -> bool {
        self.binder.types.is_struct(ty)
            && self.binder.types.info(ty).is_some_and(|info| {
                !info.is_by_ref && (&*info.namespace != "System" || &*info.name == "HashCode")
            })
    }

    /// Whether the method that runs for a call on a struct of this type is `readonly`. One that the struct
    /// inherits gets a box.
    fn is_readonly_on(&self, ty: &Ty, method: &MethodRef) -> bool {
        if method.owner.is_value() {
            return method.method.is_readonly;
        }
        self.own_override(ty, method).is_none_or(|own| own.is_readonly)
    }

    /// The method of a struct that overrides one of `object`.
    fn own_override(&self, ty: &Ty, method: &MethodRef) -> Option<Rc<Method>> {
        let members = self.binder.types.system.members(self.binder.types.def(ty)?, &method.method.name);
        members.iter().find_map(|member| match member {
            Member::Method(own) if own.is_override && own.parameters.len() == method.parameters.len() => {
                Some(own.clone())
            }
            _ => None,
        })
    }

    /// Refuses to box a `ref struct` for a method that it inherits.
    pub(super) fn check_boxing(&self, of: &Typed, method: &MethodRef, span: Span) -> Bind<()> {
        let is_inherited = !method.owner.is_value() && self.own_override(&of.ty, method).is_none();
        if !self.binder.types.is_by_ref(&of.ty) || !is_inherited {
            return Ok(());
        }
        let (from, to) = (self.binder.type_text(&of.ty), self.binder.type_text(&method.owner));
        reject("CS0029", format!("Cannot implicitly convert type '{from}' to '{to}'"), span)
    }

    fn storage(&self, of: &Typed) -> ReceiverStorage {
        let shared_if = |is_shared: bool| match is_shared {
            true => ReceiverStorage::Shared,
            false => ReceiverStorage::Writable,
        };
        match &of.kind {
            TypedKind::Variable(at) => {
                let variable = self.binder.scope.variables.get(*at as usize);
                shared_if(variable.is_some_and(|variable| variable.is_readonly))
            }
            TypedKind::This => shared_if(self.binder.scope.is_this_readonly),
            // `nullable?.Member` has the value of the nullable in a slot.
            TypedKind::Slot(slot) => match self.is_declared(*slot) {
                true => ReceiverStorage::Declared,
                false => {
                    shared_if(self.is_unwrapped_receiver(*slot) || self.binder.pattern_copies.contains(slot))
                }
            },
            TypedKind::Field(inner, field) => self.storage_of_field(inner.as_deref(), field),
            TypedKind::TupleElement(inner, _) => self.storage(inner),
            TypedKind::Element(inner, _) => match &inner.ty {
                Ty::Vector(_) | Ty::Array(..) | Ty::Pointer(_) => ReceiverStorage::Writable,
                _ => self.storage(inner),
            },
            TypedKind::Indexer(inner, property, _) => {
                let is_place = matches!(property.ty, Ty::Reference(_));
                let spans = SpanConversions { types: self.binder.types };
                shared_if(!is_place || spans.is_read_only_span(&inner.ty))
            }
            TypedKind::Property(_, property) => shared_if(!matches!(property.ty, Ty::Reference(_))),
            TypedKind::Deref(_)
            | TypedKind::OwnSlot(_)
            | TypedKind::Call(_)
            | TypedKind::New(..)
            | TypedKind::Tuple(_)
            | TypedKind::Default
            | TypedKind::Constant(_)
            | TypedKind::Convert(_, ConversionKind::User(_)) => ReceiverStorage::Writable,
            _ => ReceiverStorage::Shared,
        }
    }

    fn storage_of_field(&self, of: Option<&Typed>, field: &FieldRef) -> ReceiverStorage {
        // A `ref` field refers to another variable.
        if matches!(field.field.ty, Ty::Reference(_)) {
            return ReceiverStorage::Writable;
        }
        let holder = match of {
            Some(of) if of.ty.is_value() => self.storage(of),
            _ => ReceiverStorage::Writable,
        };
        // A constructor may write to the `readonly` fields of its own class.
        let is_own = of.is_none_or(|of| matches!(of.kind, TypedKind::This));
        let is_in_constructor = self.binder.scope.is_constructor
            && is_own
            && of.is_some() == self.binder.scope.this.is_some()
            && self.binder.place() == Some(field.field.owner);
        match field.field.is_readonly && !is_in_constructor {
            true => ReceiverStorage::Shared,
            false => holder,
        }
    }

    fn is_unwrapped_receiver(&self, slot: u32) -> bool {
        let is_it = |receiver: &Typed| matches!(receiver.kind, TypedKind::Slot(own) if own == slot);
        self.binder.receivers.iter().any(|receiver| is_it(receiver) && receiver.ty.is_value())
    }
}

/// A value without its place: a cast of a struct to its own type is a copy.
pub(super) fn without_place(value: Typed) -> Typed {
    match value.is_place() && matches!(value.ty, Ty::Named(_)) && value.ty.is_value() {
        true => {
            let (ty, span) = (value.ty.clone(), value.span);
            Typed::new(TypedKind::Convert(value.boxed(), ConversionKind::Same), ty, span)
        }
        false => value,
    }
}
