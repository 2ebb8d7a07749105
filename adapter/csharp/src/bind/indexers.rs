//! Indexers that types declare, and the choice among them (language specification, 12.8.12.4).
//!
//! Not here: elements of arrays, strings and pointers ([`super::elements`]).

use std::rc::Rc;

use super::binder::{Bind, Binder};
use super::receivers::Receivers;
use super::relations::TypeRelations;
use super::source_argument::SourceArgument;
use super::system::{Method, Property};
use super::typed::{PassedArgument, PropertyRef, Typed, TypedKind};
use crate::syntax::Span;
use crate::types::Ty;

/// An indexer with the arguments that it is passed.
pub(super) struct IndexerAccess {
    pub(super) property: PropertyRef,
    arguments: Vec<PassedArgument>,
}

impl IndexerAccess {
    /// The best indexer that a type or its bases declare, or implement explicitly for an interface.
    pub(super) fn best(
        binder: &mut Binder<'_>,
        ty: &Ty,
        interface: Option<&Ty>,
        given: &[SourceArgument<'_>],
        span: Span,
    ) -> Bind<Option<Self>> {
        let interface = interface.and_then(|interface| binder.types.info(interface));
        let interface = interface.map(|info| info.full_name.clone());
        for owner in binder.types.lineage(ty) {
            let Some(def) = binder.types.def(&owner) else { continue };
            let own = binder.types.system.indexers(def);
            let methods: Vec<(Rc<Method>, Ty)> = own
                .iter()
                .filter(|property| is_meant(property, interface.as_deref()))
                .map(|property| (Rc::new(as_method(property)), owner.clone()))
                .collect();
            let candidates = binder.applicable(&methods, &[], given);
            let Some(best) = binder.best(candidates, given, span)? else { continue };
            let token = best.method.method.token;
            let Some(property) = own.iter().find(|property| token_of(property) == token) else { continue };
            let reference = binder.property_ref(property, &owner);
            let arguments = binder.pass_arguments(&best, given, span)?;
            return Ok(Some(Self { property: reference, arguments }));
        }
        Ok(None)
    }

    /// The access to an element of a value.
    pub(super) fn on(mut self, of: Typed, binder: &Binder<'_>, span: Span) -> Typed {
        let ty = self.property.ty.direct().clone();
        self.property.copies_receiver =
            !self.property.property.is_readonly && Receivers { binder }.copies_for_getter(&of);
        Typed::new(TypedKind::Indexer(of.boxed(), Box::new(self.property), self.arguments), ty, span)
    }
}

/// Whether an expression can use an indexer of this type.
pub(super) fn has_indexer(types: TypeRelations<'_>, ty: &Ty) -> bool {
    types.lineage(ty).iter().any(|owner| {
        let is_open = |property: &Rc<Property>| is_meant(property, None);
        types.def(owner).is_some_and(|def| types.system.indexers(def).iter().any(is_open))
    })
}

/// Whether an indexer is one that an expression can use on a value of its type, or one that implements an
/// indexer of an interface explicitly; its name then begins with that of the interface.
fn is_meant(property: &Property, interface: Option<&str>) -> bool {
    match interface.and_then(|name| name.split('`').next()) {
        None => !property.name.contains('.'),
        Some(name) => property.name.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', '<'])),
    }
}

/// Converts an indexer to a method, for overload resolution.
fn as_method(property: &Property) -> Method {
    Method {
        owner: property.owner,
        token: token_of(property),
        name: property.name.clone(),
        generics: Vec::new(),
        parameters: property.parameters.clone(),
        result: property.ty.clone(),
        is_static: property.is_static,
        is_override: property.is_override,
        is_abstract: property.is_abstract,
        is_readonly: property.is_readonly,
        is_accessible: property.is_accessible,
        is_public: property.is_accessible,
    }
}

fn token_of(property: &Property) -> u32 {
    property.getter.or(property.setter).unwrap_or(0)
}
