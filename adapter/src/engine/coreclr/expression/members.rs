//! Members of values and types: fields, properties, nested types, and groups of methods.

use std::rc::Rc;

use clr_metadata::members::PropertyInfo;
use cordebug::value::element;
use dap_wire::Failure;

use super::tuples::{TupleNames, tuple_names};
use super::{Constant, Data, Found, Scope, Val, failed};
use crate::engine::coreclr::calls::supply::Method;
use crate::engine::coreclr::modules::Loaded;
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::types::ty::OBJECT;
use crate::engine::coreclr::values::{Path, Step, bare};

/// A property of a type that declares it.
#[derive(Clone)]
pub(super) struct Property {
    pub(super) loaded: Rc<Loaded>,
    pub(super) owner: Ty,
    pub(super) info: PropertyInfo,
}

impl Session {
    /// A member, or why there is none.
    pub(super) fn member_of(
        &mut self,
        of: Found,
        name: &str,
        types: Vec<Ty>,
        scope: &Scope<'_>,
    ) -> Result<Found, Failure> {
        match &of {
            Found::Skipped => return Ok(Found::Skipped),
            Found::Nothing => return Err(failed(format!("a call that gives nothing has no `{name}`"))),
            Found::Group { name: group, .. } => {
                return Err(failed(format!("`{group}` is a method; it has no `{name}` unless it is called")));
            }
            Found::Val(val) if self.is_null_val(val)? && self.nullable(&val.ty).is_none() => {
                if scope.site.supposes
                    && let Some(sample) = self.sample_of_member(&val.ty, name)
                {
                    return Ok(Found::Val(sample));
                }
                let way = val.path().map_or("it".into(), |path| format!("`{}`", path.name));
                return Err(failed(format!(
                    "NullReferenceException: {way} is null, so `{name}` has no value"
                )));
            }
            _ => {}
        }
        if let Some(found) = self.member_if_any(&of, name, &types, scope)? {
            return Ok(found);
        }
        Err(match &of {
            Found::Namespace(space) => failed(format!("the namespace `{space}` has no type `{name}`")),
            Found::Type(ty) => failed(format!("`{}` has no static member `{name}`", self.csharp(ty))),
            Found::Val(val) => {
                let kind = self.actual(val).map_or_else(|_| self.csharp(&val.ty), |ty| self.csharp(&ty));
                match val.path() {
                    Some(path) => failed(format!("`{}`, which is {kind}, has no `{name}`", path.name)),
                    None => failed(format!("a `{kind}` has no `{name}`")),
                }
            }
            _ => failed(format!("there is no `{name}`")),
        })
    }

    pub(super) fn member_if_any(
        &mut self,
        of: &Found,
        name: &str,
        types: &[Ty],
        scope: &Scope<'_>,
    ) -> Result<Option<Found>, Failure> {
        match of {
            Found::Namespace(space) => {
                let full = format!("{space}.{name}");
                let arity = if types.is_empty() { String::new() } else { format!("`{}", types.len()) };
                Ok(match self.type_named(&format!("{full}{arity}")) {
                    Some((loaded, token)) => {
                        Some(Found::Type(self.defined(&loaded, token, None, types.to_vec())))
                    }
                    None => self.is_namespace(&full).then_some(Found::Namespace(full)),
                })
            }
            Found::Type(ty) => self.static_member(ty, name, types, scope),
            Found::Val(val) => self.instance_member(val, name, types, scope),
            _ => Ok(None),
        }
    }

    /// Types in which a member of a value is looked for: as it was declared, then as it is.
    pub(super) fn searched(&self, val: &Val) -> Vec<Ty> {
        let mut list = Vec::new();
        let declared = val.ty.clone();
        let actual = self.actual(val).ok();
        for ty in [Some(declared), actual].into_iter().flatten() {
            if ty != Ty::Null && ty != Ty::Other && !list.contains(&ty) {
                list.push(ty);
            }
        }
        list
    }

    /// A type with its bases; of an interface the interfaces it extends, and `object`.
    pub(super) fn lineage(&self, ty: &Ty) -> Vec<Ty> {
        let mut list = self.chain(ty);
        if self.is_interface(ty) {
            list.extend(self.interfaces_of(ty));
            list.push(OBJECT);
        }
        list
    }

    fn instance_member(
        &mut self,
        val: &Val,
        name: &str,
        types: &[Ty],
        scope: &Scope<'_>,
    ) -> Result<Option<Found>, Failure> {
        if let Some(found) = self.own_member(val, name, types, scope)? {
            return Ok(Some(found));
        }
        Ok(self.has_extension(name).then(|| Found::Group {
            target: Some(val.clone()),
            ty: val.ty.clone(),
            name: name.to_owned(),
            types: types.to_vec(),
        }))
    }

    /// A member that a type of the value declares: no extension method, which a name by itself never means.
    pub(super) fn own_member(
        &mut self,
        val: &Val,
        name: &str,
        types: &[Ty],
        scope: &Scope<'_>,
    ) -> Result<Option<Found>, Failure> {
        if let Some(val) = self.built_in(val, name)? {
            return Ok(Some(Found::Val(val)));
        }
        for ty in self.searched(val) {
            for owner in self.lineage(&ty) {
                if types.is_empty() {
                    if let Some(found) = self.field_of(val, &owner, name)? {
                        return Ok(Some(Found::Val(found)));
                    }
                    if let Some(property) = self.property_of(&owner, name, false) {
                        return self.get(&property, val, name, scope).map(|val| Some(Found::Val(val)));
                    }
                }
                if self.has_method(&owner, name, false) {
                    return Ok(Some(Found::Group {
                        target: Some(val.clone()),
                        ty,
                        name: name.to_owned(),
                        types: types.to_vec(),
                    }));
                }
            }
        }
        Ok(None)
    }

    /// Members that need no looking up: lengths, nullables, tuple elements by their names.
    fn built_in(&self, val: &Val, name: &str) -> Result<Option<Val>, Failure> {
        if self.nullable(&val.ty).is_some() && matches!(name, "HasValue" | "Value") {
            let is_null = self.is_null_val(val)?;
            return match (name, is_null) {
                ("HasValue", is_null) => Ok(Some(Val::bool(!is_null))),
                (_, true) => Err(failed("InvalidOperationException: the nullable has no value")),
                (_, false) => self.out_of_nullable(val.clone()).map(Some),
            };
        }
        if name == "Length"
            && let Data::Constant(Constant::Text(text)) = &val.data
        {
            let length = text.encode_utf16().count();
            return Ok(Some(Val::int(i32::try_from(length).unwrap_or(i32::MAX))));
        }
        let Some(path) = val.path() else { return Ok(None) };
        if matches!(name, "Length" | "LongLength" | "Rank") {
            let inner = bare(&self.fetch(path)?);
            if let Some(array) = inner.as_ref().and_then(cordebug::value::Value::as_array) {
                let count = array.count().unwrap_or(0);
                let rank = array.dimensions().map_or(1, |dimensions| dimensions.len());
                return Ok(Some(match name {
                    "Length" => Val::plain(Constant::Int(element::I4, i128::from(count))),
                    "LongLength" => Val::plain(Constant::Int(element::I8, i128::from(count))),
                    _ => Val::int(i32::try_from(rank).unwrap_or(1)),
                }));
            }
            if name == "Length"
                && let Some(string) = inner.as_ref().and_then(cordebug::value::Value::as_string)
            {
                return Ok(Some(Val::plain(Constant::Int(
                    element::I4,
                    i128::from(string.length().unwrap_or(0)),
                ))));
            }
        }
        let named = |names: &TupleNames| names.iter().position(|known| known.as_deref() == Some(name));
        // The eighth element and those behind it are no fields of the tuple.
        let behind =
            || name.strip_prefix("Item")?.parse::<usize>().ok()?.checked_sub(1).filter(|at| *at >= 7);
        if let Some(position) = path.tuple.as_ref().and_then(named).or_else(behind)
            && let Some(inner) = bare(&self.fetch(path)?)
        {
            let ty = self.declared_ty(&inner);
            let elements = if self.arity(&ty) > position { self.tuple_elements(&inner, &ty) } else { None };
            let Some(steps) = elements.and_then(|all| all.get(position).cloned()) else { return Ok(None) };
            let name = format!("{}.{name}", path.name);
            let way = steps.into_iter().fold(path.clone(), |way, step| way.step(step, name.clone()));
            let tuple = path.tuple.as_ref().and_then(|names| self.names_of_element(names, &ty, position));
            return self.val_at(Path { tuple, ..way }).map(Some);
        }
        Ok(None)
    }

    /// A field that `owner` declares.
    fn field_of(&mut self, val: &Val, owner: &Ty, name: &str) -> Result<Option<Val>, Failure> {
        let Some(path) = val.path() else { return Ok(None) };
        let Some((loaded, token)) = self.definition(owner) else { return Ok(None) };
        let Some(image) = loaded.image() else { return Ok(None) };
        let fields = image.metadata.fields(token);
        let Some(field) = fields.into_iter().find(|field| !field.is_static && field.name == name) else {
            return Ok(None);
        };
        let Some(inner) = bare(&self.fetch(path)?) else { return Ok(None) };
        let chain = self.chain(&self.declared_ty(&inner));
        let up = chain.iter().position(|ty| ty == owner);
        // The generic arguments may be spelled otherwise than the runtime does; the definition decides.
        let same = |ty: &Ty| {
            self.definition(ty).is_some_and(|(module, found)| module.id == loaded.id && found == token)
        };
        let Some(up) = up.or_else(|| chain.iter().position(same)) else { return Ok(None) };
        let declared = image
            .metadata
            .field_type(field.token)
            .map_or(Ty::Other, |signature| self.ty_of(&loaded, &signature));
        // A `ref` field is what it refers to.
        let declared = declared.with(owner.arguments(), &[]).direct().clone();
        let mut path = path.step(Step::Field { up, token: field.token }, format!("{}.{name}", path.name));
        let position = name.strip_prefix("Item").and_then(|at| at.parse::<usize>().ok()?.checked_sub(1));
        path.tuple = match (&val.path().and_then(|path| path.tuple.clone()), position) {
            (Some(names), Some(position)) => {
                self.names_of_element(names, &self.declared_ty(&inner), position)
            }
            _ => tuple_names(image.metadata.tuple_names(field.token)),
        };
        if declared.is_open() || declared == Ty::Other {
            return self.val_at(path).map(Some);
        }
        Ok(Some(Val::at(path, declared)))
    }

    /// A property that a type declares, by its name; indexers by `Item` or their own name.
    pub(super) fn property_of(&self, owner: &Ty, name: &str, is_static: bool) -> Option<Property> {
        let (loaded, token) = self.definition(owner)?;
        let metadata = &loaded.image()?.metadata;
        let info = metadata.property_infos(token).into_iter().find(|info| {
            info.name == name
                && info.getter.or(info.setter).is_some_and(|method| {
                    metadata.is_static(method) == is_static
                        && metadata.parameter_count(method) == u32::from(info.getter.is_none())
                })
        })?;
        Some(Property { loaded: loaded.clone(), owner: owner.clone(), info })
    }

    /// Reads a property: without running anything where its getter only reads fields.
    pub(super) fn get(
        &mut self,
        property: &Property,
        on: &Val,
        name: &str,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let shown = on.path().map_or_else(|| name.to_owned(), |path| format!("{}.{name}", path.name));
        let Some(getter) = property.info.getter else {
            return Err(failed(format!("`{shown}` can only be written")));
        };
        let (loaded, owner, getter) = self.most_derived(property, on, getter);
        if let Some(val) = self.interpreted(on, &loaded, &owner, getter) {
            return Ok(match val.data {
                Data::At(path) => {
                    let tuple = path.tuple.clone().or_else(|| self.tuple_of_result(&loaded, getter));
                    self.named_as_in(Val { data: Data::At(Path { name: shown, tuple, ..path }), ..val }, on)
                }
                _ => val,
            });
        }
        let Some(method) = self.method(&loaded, &owner, getter) else {
            return Err(failed(format!("`{shown}` has a getter that cannot be read")));
        };
        let names = self.tuple_of_result(&loaded, getter);
        let val = self.call(&scope.site, &method, Some(on), &[], &shown)?;
        Ok(match val.data {
            Data::At(path) => {
                self.named_as_in(Val { data: Data::At(Path { tuple: names, ..path }), ..val }, on)
            }
            _ => val,
        })
    }

    /// The getter that a virtual call would run.
    fn most_derived(&self, property: &Property, on: &Val, getter: u32) -> (Rc<Loaded>, Ty, u32) {
        let own = (property.loaded.clone(), property.owner.clone(), getter);
        let Some(image) = property.loaded.image() else { return own };
        let Ok(actual) = self.actual(on) else { return own };
        if !image.metadata.is_virtual(getter) || actual == property.owner {
            return own;
        }
        for owner in self.chain(&actual) {
            if owner == property.owner {
                break;
            }
            if let Some(found) = self.property_of(&owner, &property.info.name, false)
                && let Some(getter) = found.info.getter
                && found.loaded.image().is_some_and(|image| image.metadata.is_virtual(getter))
            {
                return (found.loaded, found.owner, getter);
            }
        }
        own
    }

    pub(super) fn has_method(&self, owner: &Ty, name: &str, only_static: bool) -> bool {
        let found = || {
            let (loaded, token) = self.definition(owner)?;
            let metadata = &loaded.image()?.metadata;
            metadata.methods(token).find(|method| {
                metadata.method_name(*method) == name && (!only_static || metadata.is_static(*method))
            })
        };
        found().is_some()
    }

    /// Methods of this name that a type declares, generic arguments of the type filled in, their own open.
    pub(super) fn methods_named(&self, owner: &Ty, name: &str) -> Vec<Method> {
        let Some((loaded, token)) = self.definition(owner) else { return Vec::new() };
        let Some(image) = loaded.image() else { return Vec::new() };
        let named =
            image.metadata.methods(token).filter(|method| image.metadata.method_name(*method) == name);
        named.filter_map(|method| self.method(&loaded, owner, method)).collect()
    }

    pub(super) fn method(&self, loaded: &Rc<Loaded>, owner: &Ty, token: u32) -> Option<Method> {
        let metadata = &loaded.image()?.metadata;
        let signature = metadata.method_signature(token)?;
        let class = match owner {
            Ty::Named(named) => named.arguments.clone(),
            _ => Vec::new(),
        };
        let close = |of: &clr_metadata::signature::Signature| self.ty_of(loaded, of).with(&class, &[]);
        Some(Method {
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
}
