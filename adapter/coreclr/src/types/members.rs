//! Methods and properties of types, for calls.
//!
//! Not here: fields of objects (`super::fields`).

use std::rc::Rc;

use clr_metadata::members::PropertyInfo;
use clr_metadata::metadata::Metadata;
use tandem_csharp::bind::CallerPart;

use super::Ty;
use super::ty::OBJECT;
use crate::modules::LoadedModule;
use crate::types::ClrTypeSystem;

const READ_ONLY: &str = "System.Runtime.CompilerServices.IsReadOnlyAttribute";

/// A property with its declaring type.
#[derive(Clone)]
pub(crate) struct DeclaredProperty {
    pub(crate) loaded: Rc<LoadedModule>,
    pub(crate) owner: Ty,
    pub(crate) info: PropertyInfo,
}

/// A method with all generic arguments.
#[derive(Clone)]
pub(crate) struct MethodInstance {
    pub(crate) loaded: Rc<LoadedModule>,
    pub(crate) token: u32,
    /// The type that declares it.
    pub(crate) owner: Ty,
    /// Its own generic arguments.
    pub(crate) types: Vec<Ty>,
    pub(crate) parameters: Vec<Ty>,
    pub(crate) result: Ty,
    pub(crate) is_static: bool,
}

impl MethodInstance {
    /// Whether it may change the struct on which it is called.
    pub(crate) fn may_change_this(&self) -> bool {
        let metadata = self.loaded.image().map(|image| &image.metadata);
        !self.loaded.is_framework()
            && !metadata.is_some_and(|metadata| is_readonly_method(metadata, self.token))
    }
}

/// The part of a call's location or text that a parameter gets.
pub(super) fn caller_part(metadata: &Metadata, method: u32, position: u32) -> Option<CallerPart> {
    metadata.parameter_attributes(method, position).find_map(|name| {
        match name.strip_prefix("System.Runtime.CompilerServices.")? {
            "CallerArgumentExpressionAttribute" => {
                let argument = metadata.parameter_attribute_text(method, position, &name)?;
                Some(CallerPart::Argument(argument.into()))
            }
            "CallerMemberNameAttribute" => Some(CallerPart::Member),
            "CallerLineNumberAttribute" => Some(CallerPart::Line),
            "CallerFilePathAttribute" => Some(CallerPart::File),
            _ => None,
        }
    })
}

/// Whether a method, or the struct that declares it, is `readonly`.
pub(crate) fn is_readonly_method(metadata: &Metadata, method: u32) -> bool {
    metadata.has_attribute(method, READ_ONLY) || metadata.has_attribute(metadata.owner_of(method), READ_ONLY)
}

impl ClrTypeSystem {
    /// A property that a type declares itself, by name.
    pub(crate) fn property_of(&self, owner: &Ty, name: &str, is_static: bool) -> Option<DeclaredProperty> {
        let (loaded, token) = self.definition(owner)?;
        let metadata = &loaded.image()?.metadata;
        let info = metadata.property_infos(token).into_iter().find(|info| {
            info.name == name
                && info.getter.or(info.setter).is_some_and(|method| {
                    metadata.is_static(method) == is_static
                        && metadata.parameter_count(method) == u32::from(info.getter.is_none())
                })
        })?;
        Some(DeclaredProperty { loaded: loaded.clone(), owner: owner.clone(), info })
    }

    pub(crate) fn has_method(&self, owner: &Ty, name: &str, only_static: bool) -> bool {
        let found = || {
            let (loaded, token) = self.definition(owner)?;
            let metadata = &loaded.image()?.metadata;
            metadata.methods(token).find(|method| {
                metadata.method_name(*method) == name && (!only_static || metadata.is_static(*method))
            })
        };
        found().is_some()
    }

    /// Methods with this name that a type declares, with the generic arguments of the type, and
    /// their own still open.
    pub(crate) fn methods_named(&self, owner: &Ty, name: &str) -> Vec<MethodInstance> {
        let Some((loaded, token)) = self.definition(owner) else { return Vec::new() };
        let Some(image) = loaded.image() else { return Vec::new() };
        let named =
            image.metadata.methods(token).filter(|method| image.metadata.method_name(*method) == name);
        named.filter_map(|method| self.method(&loaded, owner, method)).collect()
    }

    /// A method by its token, with the generic arguments of its class.
    pub(crate) fn method(&self, loaded: &Rc<LoadedModule>, owner: &Ty, token: u32) -> Option<MethodInstance> {
        let metadata = &loaded.image()?.metadata;
        let signature = metadata.method_signature(token)?;
        let class = owner.arguments();
        let close = |of: &clr_metadata::signature::Signature| self.ty_of(loaded, of).with(class, &[]);
        Some(MethodInstance {
            loaded: loaded.clone(),
            token,
            owner: match owner {
                Ty::Vector(_) | Ty::Array(..) => self.ty_named("System.Array").unwrap_or(OBJECT),
                other => other.clone(),
            },
            types: Vec::new(),
            parameters: signature.parameters.iter().map(close).collect(),
            result: close(&signature.result),
            is_static: !signature.has_this,
        })
    }

    /// A type with its bases; for an interface its base interfaces, and `object`.
    pub(crate) fn lineage(&self, ty: &Ty) -> Vec<Ty> {
        let mut list = self.chain(ty);
        if self.is_interface(ty) {
            list.extend(self.interfaces_of(ty));
            list.push(OBJECT);
        }
        list
    }
}
