//! Metadata of types and members for the binder, each read once. Types by name: [`crate::types::lookup`].

use std::collections::HashMap;
use std::rc::Rc;

use clr_metadata::members::{Access, PropertyInfo};
use clr_metadata::metadata::Metadata;
use clr_metadata::metadata::signature_text::file_local;
use clr_metadata::signature::Signature;
use cordebug::value::element;
use rust_decimal::Decimal;
use tandem_csharp::Constant;
use tandem_csharp::bind::{
    Field, GenericParameter, Member, Method, Parameter, PassMode, Property, TypeInfo, TypeKind, Variance,
};
use tandem_csharp::types::{Def, Ty};

use super::ClrTypeSystem;
use super::members::{caller_part, is_readonly_method};
use crate::modules::LoadedModule;

const BY_REF: &str = "System.Runtime.CompilerServices.IsByRefLikeAttribute";
/// Most names that completions are chosen from.
const MAX_NAMES: usize = 10_000;

/// Cache of types read from metadata. A module that is loaded later may complete types that could not be
/// found before, so the cache holds for this number of modules.
#[derive(Default)]
pub(crate) struct Library {
    modules: usize,
    infos: HashMap<Def, Option<Rc<TypeInfo>>>,
    members: HashMap<(Def, String), Rc<[Member]>>,
    indexers: HashMap<Def, Rc<[Rc<Property>]>>,
    pub(super) extensions: HashMap<String, Vec<Rc<Method>>>,
}

impl ClrTypeSystem {
    /// The cache, emptied if modules were loaded since.
    pub(super) fn library(&self) -> std::cell::RefMut<'_, Library> {
        let mut library = self.library.borrow_mut();
        let count = self.modules.count();
        if library.modules != count {
            *library = Library { modules: count, ..Library::default() };
        }
        library
    }

    pub(crate) fn type_info(&self, def: Def) -> Option<Rc<TypeInfo>> {
        if let Some(known) = self.library().infos.get(&def) {
            return known.clone();
        }
        let read = self.read_info(def).map(Rc::new);
        self.library().infos.insert(def, read.clone());
        read
    }

    fn read_info(&self, def: Def) -> Option<TypeInfo> {
        let loaded = self.modules.by_id(def.module)?;
        let metadata = &loaded.image()?.metadata;
        let full_name = metadata.type_name(def.token);
        let base_name = metadata.base_name(def.token);
        let is_enum_class = loaded.is_core() && full_name == "System.Enum";
        let kind = match base_name.as_deref() {
            _ if metadata.is_interface(def.token) => TypeKind::Interface,
            Some("System.Enum") => TypeKind::Enum(self.storage_of(metadata, def.token)),
            Some("System.ValueType") if !is_enum_class => TypeKind::Struct,
            Some("System.MulticastDelegate") => TypeKind::Delegate,
            _ => TypeKind::Class,
        };
        let mut outermost = def.token;
        let enclosing = metadata.enclosing_type(def.token);
        while let Some(outer) = metadata.enclosing_type(outermost) {
            outermost = outer;
        }
        let name = metadata.simple_name(def.token);
        let name = name.split('`').next().unwrap_or(name);
        let variance = |generic: clr_metadata::generics::GenericParam| match () {
            () if generic.is_covariant() => Variance::Out,
            () if generic.is_contravariant() => Variance::In,
            () => Variance::None,
        };
        let ty_of = |token: u32| self.ty_of_token(&loaded, token, Some(false), Vec::new());
        Some(TypeInfo {
            name: name.into(),
            namespace: metadata.namespace(outermost).into(),
            kind,
            parameters: metadata.generic_params(def.token).into_iter().map(variance).collect(),
            base: metadata.base_token(def.token).map(ty_of),
            interfaces: metadata.interfaces(def.token).into_iter().map(ty_of).collect(),
            enclosing: enclosing.map(|token| Def { module: def.module, token }),
            // TypeAttributes: abstract, which includes interfaces and static classes.
            is_abstract: metadata.type_flags(def.token) & 0x80 != 0,
            is_by_ref: kind == TypeKind::Struct && metadata.has_attribute(def.token, BY_REF),
            elements: if kind == TypeKind::Struct { self.inline_elements(&loaded, def.token) } else { None },
            full_name: full_name.into(),
        })
    }

    fn storage_of(&self, metadata: &Metadata, token: u32) -> u32 {
        let field = metadata.fields(token).into_iter().find(|field| !field.is_static);
        match field.and_then(|field| metadata.field_type(field.token)) {
            Some(Signature::Primitive(kind)) => kind,
            _ => element::I4,
        }
    }

    pub(crate) fn members_named(&self, def: Def, name: &str) -> Rc<[Member]> {
        let key = (def, name.to_owned());
        if let Some(known) = self.library().members.get(&key) {
            return known.clone();
        }
        let read: Rc<[Member]> = self.read_members(def, Some(name)).into();
        self.library().members.insert(key, read.clone());
        read
    }

    pub(crate) fn indexers_of(&self, def: Def) -> Rc<[Rc<Property>]> {
        if let Some(known) = self.library().indexers.get(&def) {
            return known.clone();
        }
        let read = || {
            let loaded = self.modules.by_id(def.module)?;
            let metadata = &loaded.image()?.metadata;
            let infos = metadata.property_infos(def.token).into_iter();
            let all = infos.filter_map(|info| self.read_property(&loaded, def, &info));
            Some(all.filter(|property| !property.parameters.is_empty()).map(Rc::new).collect())
        };
        let read: Rc<[Rc<Property>]> = read().unwrap_or_default();
        self.library().indexers.insert(def, read.clone());
        read
    }

    /// Members with a name, or all of them.
    pub(crate) fn read_members(&self, def: Def, name: Option<&str>) -> Vec<Member> {
        let Some(loaded) = self.modules.by_id(def.module) else { return Vec::new() };
        let Some(image) = loaded.image() else { return Vec::new() };
        let metadata = &image.metadata;
        let is_meant = |own: &str| name.is_none_or(|name| name == own);
        let mut all = Vec::new();
        for field in metadata.fields(def.token).into_iter().filter(|field| is_meant(&field.name)) {
            let declared = metadata.field_type(field.token).map_or(Ty::Other, |of| self.ty_of(&loaded, &of));
            let constant = match field.is_literal {
                true => {
                    metadata.literal(field.token).and_then(|(kind, bytes)| Constant::of_literal(kind, bytes))
                }
                false => None,
            };
            all.push(Member::Field(Rc::new(Field {
                owner: def,
                token: field.token,
                ty: self.with_names(declared, metadata.tuple_names(field.token)),
                is_static: field.is_static,
                constant,
                is_readonly: field.is_readonly,
                is_accessible: is_accessible(&loaded, metadata.field_access(field.token)),
                name: field.name.into(),
            })));
        }
        for info in metadata.property_infos(def.token).into_iter().filter(|info| is_meant(&info.name)) {
            all.extend(
                self.read_property(&loaded, def, &info)
                    .filter(|property| property.parameters.is_empty())
                    .map(|property| Member::Property(Rc::new(property))),
            );
        }
        for method in metadata.methods(def.token).filter(|method| is_meant(metadata.method_name(*method))) {
            all.extend(self.read_method(&loaded, def, method).map(|method| Member::Method(Rc::new(method))));
        }
        all
    }

    fn read_property(&self, loaded: &Rc<LoadedModule>, def: Def, info: &PropertyInfo) -> Option<Property> {
        let metadata = &loaded.image()?.metadata;
        let accessor = info.getter.or(info.setter)?;
        let signature = metadata.method_signature(accessor)?;
        let mut parameters = self.read_parameters(loaded, accessor, &signature.parameters);
        let names = metadata.tuple_names(info.token);
        let names = if names.is_empty() { metadata.tuple_names_of_parameter(accessor, None) } else { names };
        let ty = match info.getter {
            Some(_) => self.ty_of(loaded, &signature.result),
            // The assigned value is the last parameter.
            None => parameters.pop()?.ty,
        };
        let backing = format!("<{}>k__BackingField", info.name);
        let backing = metadata.fields(def.token).into_iter().find(|field| field.name == backing);
        let backing =
            backing.filter(|_| info.getter.is_none_or(|getter| self.returns_its_field(loaded, getter)));
        Some(Property {
            owner: def,
            name: info.name.as_str().into(),
            ty: self.with_names(ty, names),
            parameters,
            getter: info.getter,
            setter: info.setter,
            backing: backing.map(|field| field.token),
            is_static: !signature.has_this,
            is_override: metadata.is_override(accessor),
            is_abstract: metadata.is_abstract(accessor),
            is_readonly: is_readonly_method(metadata, accessor),
            is_accessible: is_accessible(loaded, metadata.method_access(accessor)),
        })
    }

    pub(crate) fn read_method(&self, loaded: &Rc<LoadedModule>, def: Def, token: u32) -> Option<Method> {
        let metadata = &loaded.image()?.metadata;
        let signature = metadata.method_signature(token)?;
        let generics = match signature.generic {
            0 => Vec::new(),
            _ => metadata.generic_params(token),
        };
        let generic = |generic: clr_metadata::generics::GenericParam| GenericParameter {
            is_class: generic.is_class(),
            is_struct: generic.is_struct(),
            bounds: generic
                .constraints
                .iter()
                .map(|bound| self.ty_of_token(loaded, *bound, Some(false), Vec::new()))
                .collect(),
            name: generic.name.into(),
        };
        let result = self.ty_of(loaded, &signature.result);
        Some(Method {
            owner: def,
            token,
            name: metadata.method_name(token).into(),
            generics: generics.into_iter().map(generic).collect(),
            parameters: self.read_parameters(loaded, token, &signature.parameters),
            result: self.with_names(result, metadata.tuple_names_of_parameter(token, None)),
            is_static: !signature.has_this,
            is_override: metadata.is_override(token),
            is_abstract: metadata.is_abstract(token),
            is_readonly: is_readonly_method(metadata, token),
            is_accessible: is_accessible(loaded, metadata.method_access(token)),
            is_public: metadata.method_access(token) == Access::Public && metadata.is_public_type(def.token),
        })
    }

    fn read_parameters(&self, loaded: &Rc<LoadedModule>, method: u32, types: &[Signature]) -> Vec<Parameter> {
        let Some(image) = loaded.image() else { return Vec::new() };
        let metadata = &image.metadata;
        let names = metadata.parameters(method);
        let one = |(at, (signature, name)): (usize, (&Signature, String))| {
            let position = u32::try_from(at).unwrap_or(u32::MAX);
            let declared = self.ty_of(loaded, signature);
            // ParamAttributes: 1 is `in`, 2 is `out`.
            let pass = match (&declared, metadata.parameter_flags(method, position) & 3) {
                (Ty::Reference(_), 2) => PassMode::Out,
                (Ty::Reference(_), 1) => PassMode::In,
                (Ty::Reference(_), _) => PassMode::Ref,
                _ => PassMode::Value,
            };
            let default = metadata.default_value(method, position);
            let default =
                default.map(|(kind, bytes)| Constant::of_literal(kind, bytes).unwrap_or(Constant::Null));
            let ty = declared.direct().clone();
            Parameter {
                name: name.into(),
                ty: self.with_names(ty, metadata.tuple_names_of_parameter(method, Some(position))),
                pass,
                default: default.or_else(|| decimal_default(metadata, method, position)),
                is_params: at + 1 == types.len() && metadata.is_params(method, position),
                caller: caller_part(metadata, method, position),
            }
        };
        types.iter().zip(names).enumerate().map(one).collect()
    }

    /// The only user type with this name and arity, in any namespace.
    pub(crate) fn only_type(&self, name: &str) -> Option<Def> {
        let mut all = self.modules.all().iter().filter(|loaded| !loaded.is_framework()).flat_map(|loaded| {
            let metadata = loaded.image().map(|image| &image.metadata);
            let tokens = metadata.into_iter().flat_map(|metadata| {
                metadata.type_tokens().filter(|token| source_name(metadata.simple_name(*token)) == name)
            });
            tokens.map(|token| Def { module: loaded.id, token }).collect::<Vec<_>>()
        });
        let only = all.next();
        if all.next().is_some() { None } else { only }
    }

    pub(crate) fn type_names_in(&self, within: Result<&str, Def>, prefix: &str) -> Vec<String> {
        let lower_prefix = prefix.to_lowercase();
        let mut found = Vec::new();
        for loaded in self.modules.all() {
            // The runtime has too many to offer them without a prefix.
            if loaded.is_framework() && prefix.len() < 2 && within.is_ok() {
                continue;
            }
            let Some(image) = loaded.image() else { continue };
            let metadata = &image.metadata;
            for token in metadata.type_tokens() {
                let enclosing = metadata.enclosing_type(token);
                let lies = match within {
                    Ok(space) => enclosing.is_none() && metadata.namespace(token) == space,
                    Err(def) => def.module == loaded.id && enclosing == Some(def.token),
                };
                if !lies {
                    continue;
                }
                let name = source_name(metadata.simple_name(token));
                let name = name.split('`').next().unwrap_or(name);
                // TypeAttributes: public, nested public, and all user types.
                let is_visible = matches!(metadata.type_flags(token) & 7, 1 | 2) || !loaded.is_framework();
                if is_visible && !name.starts_with('<') && name.to_lowercase().starts_with(&lower_prefix) {
                    found.push(name.to_owned());
                }
                if found.len() > MAX_NAMES {
                    return found;
                }
            }
        }
        found
    }
}

/// A type's name in the source: without the file of one that only its file knows.
fn source_name(name: &str) -> &str {
    file_local(name).unwrap_or(name)
}

/// All members of user types are accessible; of others only public and protected ones.
fn is_accessible(loaded: &LoadedModule, access: Access) -> bool {
    !loaded.is_framework() || access == Access::Public
}

fn decimal_default(metadata: &Metadata, method: u32, position: u32) -> Option<Constant> {
    let (scale, sign, [high, middle, low]) = metadata.decimal_default(method, position)?;
    Some(Constant::Decimal(Decimal::from_parts(low, middle, high, sign != 0, u32::from(scale).min(28))))
}
