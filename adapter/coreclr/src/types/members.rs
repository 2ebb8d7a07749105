//! Methods and properties of types, for calls, and extension methods.
//!
//! Not here: fields of objects (`super::fields`).

use std::rc::Rc;

use clr_metadata::members::PropertyInfo;
use clr_metadata::metadata::Metadata;
use tandem_csharp::bind::{CallerPart, Method};
use tandem_csharp::types::Def;

use super::Ty;
use super::ty::OBJECT;
use crate::modules::LoadedModule;
use crate::types::ClrTypeSystem;

/// Most extension methods that completions offer.
const MAX_EXTENSIONS: usize = 500;
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

    /// Extension methods with this name: the user's and those of a few libraries; only if there are none,
    /// those of all others, because that reads each file.
    pub(crate) fn extensions_called(&self, name: &str) -> Vec<Rc<Method>> {
        if let Some(known) = self.library().extensions.get(name) {
            return known.clone();
        }
        let mut found = Vec::new();
        for loaded in self.extended_modules(name) {
            let Some(image) = loaded.image() else { continue };
            for token in image.metadata.extensions().get(name).into_iter().flatten() {
                let def = Def { module: loaded.id, token: image.metadata.owner_of(*token) };
                found.extend(self.read_method(&loaded, def, *token).map(Rc::new));
            }
        }
        self.library().extensions.insert(name.to_owned(), found.clone());
        found
    }

    /// Extension methods visible to a module's code: its own hide those that another module declares in a
    /// type of the same name.
    pub(crate) fn extensions_seen_from(&self, from: Option<Def>, name: &str) -> Vec<Rc<Method>> {
        self.nearest(from, self.extensions_called(name))
    }

    fn nearest(&self, from: Option<Def>, mut found: Vec<Rc<Method>>) -> Vec<Rc<Method>> {
        let Some(from) = from else { return found };
        let declared_in = |def: Def| self.type_info(def).map(|info| info.full_name.clone());
        let nearest = |def: Def| {
            let seen = self.type_seen_from(from.module, &declared_in(def)?);
            seen.map(|(loaded, token)| Def { module: loaded.id, token })
        };
        found.retain(|method| nearest(method.owner).is_none_or(|nearest| nearest == method.owner));
        found
    }

    /// Getters of the extension properties of this name, in the user's modules.
    pub(crate) fn extension_getters_seen_from(&self, from: Option<Def>, name: &str) -> Vec<Rc<Method>> {
        let found =
            self.methods_of_the_user(|metadata| metadata.extension_getters().get(name).into_iter().flatten());
        self.nearest(from, found)
    }

    fn extended_modules(&self, name: &str) -> Vec<Rc<LoadedModule>> {
        let has_it = |loaded: &&Rc<LoadedModule>| {
            loaded.image().is_some_and(|image| image.metadata.extensions().contains_key(name))
        };
        let is_near = |loaded: &&Rc<LoadedModule>| {
            let stem = loaded.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let near = ["System.Linq", "System.Linq.Queryable", "System.Collections.Immutable"];
            !loaded.is_framework() || near.contains(&stem.as_str())
        };
        let all = self.modules.all();
        let mut found: Vec<Rc<LoadedModule>> = all.iter().filter(is_near).filter(has_it).cloned().collect();
        if found.is_empty() {
            found.extend(all.iter().filter(|loaded| !is_near(loaded)).filter(has_it).cloned());
        }
        found
    }

    /// The user's extension methods, and getters of extension properties.
    pub(crate) fn extensions_of_the_user(&self) -> Vec<Rc<Method>> {
        self.methods_of_the_user(|metadata| {
            metadata.extensions().values().chain(metadata.extension_getters().values()).flatten()
        })
    }

    fn methods_of_the_user<'m, I: IntoIterator<Item = &'m u32>>(
        &'m self,
        tokens: impl Fn(&'m Metadata) -> I,
    ) -> Vec<Rc<Method>> {
        let mut found = Vec::new();
        for loaded in self.modules.all().iter().filter(|loaded| !loaded.is_framework()) {
            let Some(image) = loaded.image() else { continue };
            for token in tokens(&image.metadata) {
                if found.len() >= MAX_EXTENSIONS {
                    return found;
                }
                let def = Def { module: loaded.id, token: image.metadata.owner_of(*token) };
                found.extend(self.read_method(loaded, def, *token).map(Rc::new));
            }
        }
        found
    }
}
