//! Parts of values: fields, properties, elements, also of tuples. Not static ones ([`super::statics`]).

use std::rc::Rc;

use cordebug::value::Value as ClrValue;
use tandem_csharp::bind::{FieldRef, PropertyRef};
use tandem_csharp::types::Def;
use tandem_wire::Failure;

use super::base_calls::BaseCall;
use super::method_calls::with_call_name;
use super::{Constant, TypedValue, failed};
use crate::bare_value::bare;
use crate::cor;
use crate::fields::{MAX_BASE_DEPTH, source_name};
use crate::func_eval::EvalContext;
use crate::modules::LoadedModule;
use crate::session::ClrSession;
use crate::stop_context::StopContext;
use crate::types::Ty;
use crate::types::members::DeclaredProperty;
use crate::types::ty::INT;
use crate::value_path::{Path, PathRoot, PathSegment};

const LIST: &str = "System.Collections.Generic.List`1";

impl ClrSession {
    /// The value of a property of an object; nothing runs if its getter only reads fields.
    pub(super) fn property_in(
        &mut self,
        on: &TypedValue,
        property: &PropertyRef,
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let name = &property.property.name;
        let def = property.property.owner;
        let lost = || failed(format!("`{name}` is in no module that is loaded"));
        let loaded = self.program.types.modules.by_id(def.module).ok_or_else(lost)?;
        if let Some(known) = self.at_stop().array_property(on, name)? {
            return Ok(known);
        }
        let Some(getter) = property.property.getter else { return Err(write_only_failure(on, name)) };
        let how = (property.is_base, property.copies_receiver);
        let val = self.call_getter(on, (&loaded, &property.owner, getter), name, how, site)?;
        let ty = property.ty.direct();
        Ok(match ty.is_open() || *ty == Ty::Other || (val.ty.is_value() && !ty.is_value()) {
            true => val,
            false => TypedValue { ty: ty.clone(), ..val },
        })
    }

    /// A property by its metadata.
    pub(super) fn get(
        &mut self,
        property: &DeclaredProperty,
        on: &TypedValue,
        name: &str,
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let Some(getter) = property.info.getter else { return Err(write_only_failure(on, name)) };
        let names = property.loaded.image().map(|image| {
            let own = image.metadata.tuple_names(property.info.token);
            if own.is_empty() { image.metadata.tuple_names_of_parameter(getter, None) } else { own }
        });
        let val =
            self.call_getter(on, (&property.loaded, &property.owner, getter), name, (false, false), site)?;
        let ty = self.program.types.with_names(val.ty.clone(), names.unwrap_or_default());
        Ok(TypedValue { ty, ..val })
    }

    fn call_getter(
        &mut self,
        on: &TypedValue,
        (loaded, owner, getter): (&Rc<LoadedModule>, &Ty, u32),
        name: &str,
        (is_base, copies): (bool, bool),
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let shown = on.path().map_or_else(|| name.to_owned(), |path| format!("{}.{name}", path.name));
        let own = (loaded.clone(), owner.clone(), getter);
        let most = if is_base { Some(own) } else { self.at_stop().most_derived(own, on, name) };
        if let Some((loaded, owner, getter)) = most
            && let Some(val) = self.at_stop().interpret_getter(on, &loaded, &owner, getter)
        {
            return Ok(with_call_name(val, &shown));
        }
        let method = self.program.types.method(loaded, owner, getter);
        let method = method.ok_or_else(|| failed(format!("`{shown}` has a getter that cannot be read")))?;
        if is_base && self.at_stop().is_overridden(&method, on) {
            return BaseCall { method: &method, of: on, name, site }.run(self, &[]);
        }
        let on = if copies { &self.copy_struct_of(on, site)? } else { on };
        self.call(site, &method, Some(on), &[], &shown)
    }

    /// The value of an indexer; a stored item is read at its location.
    pub(super) fn read_indexer(
        &mut self,
        of: &TypedValue,
        property: &PropertyRef,
        arguments: &[TypedValue],
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        if let Some(item) = self.at_stop().stored_item(of, arguments)? {
            return Ok(item);
        }
        let lost = || failed("the indexer is in no module that is loaded");
        let loaded = self.program.types.modules.by_id(property.property.owner.module).ok_or_else(lost)?;
        let name = of.path().map_or_else(|| self.program.types.csharp(&of.ty), |path| path.name.clone());
        let getter = property.property.getter;
        let getter = getter.ok_or_else(|| failed(format!("elements of `{name}` can only be written")))?;
        let method = self.program.types.method(&loaded, &property.owner, getter).ok_or_else(lost)?;
        if property.is_base && self.at_stop().is_overridden(&method, of) {
            return BaseCall { method: &method, of, name: "this[]", site }.run(self, arguments);
        }
        let of = if property.copies_receiver { &self.copy_struct_of(of, site)? } else { of };
        self.call(site, &method, Some(of), arguments, &format!("{name}[…]"))
    }
}

impl StopContext<'_> {
    /// The location of a field of an object; `None` if the object is of another class now.
    pub(super) fn field_in(&self, of: &TypedValue, field: &FieldRef) -> Result<Option<TypedValue>, Failure> {
        let name = &field.field.name;
        let Some(path) = of.path() else {
            return Err(failed(format!("`{name}` is a field of what is not in the program")));
        };
        if let PathRoot::Memory { at, ty } = &path.root {
            let field_ty = field.field.ty.with(field.owner.arguments(), &[]);
            let shown = format!("{}.{}", path.name, source_name(name));
            return self.field_in_memory((at, ty), field.field.token, &field_ty, &shown).map(Some);
        }
        let Some(up) = self.base_distance(path, field.field.owner)? else { return Ok(None) };
        let shown = source_name(name);
        let way =
            path.step(PathSegment::Field { up, token: field.field.token }, format!("{}.{shown}", path.name));
        let ty = field.field.ty.with(field.owner.arguments(), &[]).direct().clone();
        if ty.is_open() || ty == Ty::Other {
            return self.val_at(way).map(Some);
        }
        Ok(Some(TypedValue::at(way, ty)))
    }

    /// How many base types above the object's class a class is.
    fn base_distance(&self, path: &Path, owner: Def) -> Result<Option<usize>, Failure> {
        let value = self.holder(path, &path.steps)?;
        let Ok(mut kind) = value.exact_type() else { return Ok(None) };
        for up in 0..MAX_BASE_DEPTH {
            let Some((loaded, token)) = self.types.class_of(&kind) else { return Ok(None) };
            if (loaded.id, token) == (owner.module, owner.token) {
                return Ok(Some(up));
            }
            match kind.base() {
                Ok(base) => kind = base,
                Err(_) => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The getter that a virtual call would run; `None` if it is not known.
    fn most_derived(
        &self,
        own: (Rc<LoadedModule>, Ty, u32),
        on: &TypedValue,
        name: &str,
    ) -> Option<(Rc<LoadedModule>, Ty, u32)> {
        let (loaded, owner, getter) = &own;
        let metadata = &loaded.image()?.metadata;
        if !metadata.is_virtual(*getter) {
            return Some(own);
        }
        let actual = self.actual(on).ok()?;
        if actual == *owner {
            return Some(own);
        }
        let is_interface = self.types.is_interface(owner);
        let ending = format!(".{}", metadata.method_name(*getter));
        for class in self.types.chain(&actual) {
            if class == *owner {
                return Some(own);
            }
            // The member that a class implements for an interface only has a qualified name.
            if is_interface
                && let Some((module, token)) = self.types.definition(&class)
                && let Some(image) = module.image()
                && image
                    .metadata
                    .methods(token)
                    .any(|method| image.metadata.method_name(method).ends_with(&ending))
            {
                return None;
            }
            if let Some(found) = self.types.property_of(&class, name, false)
                && let Some(getter) = found.info.getter
                && let Some(image) = found.loaded.image()
                && image.metadata.is_virtual(getter)
            {
                // A `new` slot does not override the requested getter.
                let is_new = image.metadata.is_new_slot(getter) && !is_interface;
                if !is_new {
                    return Some((found.loaded, found.owner, getter));
                }
            }
        }
        if is_interface { None } else { Some(own) }
    }

    /// Properties of an array that are known without a call.
    fn array_property(&self, on: &TypedValue, name: &str) -> Result<Option<TypedValue>, Failure> {
        if !matches!(name, "Length" | "LongLength" | "Rank") {
            return Ok(None);
        }
        let Some(path) = on.path() else { return Ok(None) };
        let inner = bare(&self.fetch(path)?);
        let Some(array) = inner.as_ref().and_then(ClrValue::as_array) else { return Ok(None) };
        let count = i128::from(array.count().unwrap_or(0));
        let rank = array.dimensions().map_or(1, |dimensions| dimensions.len());
        Ok(Some(match name {
            "Length" => TypedValue::plain(Constant::Int(cordebug::value::element::I4, count)),
            "LongLength" => TypedValue::plain(Constant::Int(cordebug::value::element::I8, count)),
            _ => TypedValue::int(i32::try_from(rank).unwrap_or(1)),
        }))
    }

    /// The number of elements of an array or units of a string.
    pub(super) fn length_in(&self, of: &TypedValue) -> Result<i32, Failure> {
        let unread = || failed("its length cannot be read");
        let path = of.path().ok_or_else(unread)?;
        let inner = bare(&self.fetch(path)?).ok_or_else(unread)?;
        let length = match (inner.as_array(), inner.as_string()) {
            (Some(array), _) => array.count(),
            (_, Some(string)) => string.length(),
            _ => return Err(unread()),
        };
        length.map_err(cor("read a length")).map(|length| i32::try_from(length).unwrap_or(i32::MAX))
    }

    /// An item of a `List<T>` or a span: nothing runs, and it can be assigned to.
    pub(super) fn stored_item(
        &self,
        of: &TypedValue,
        arguments: &[TypedValue],
    ) -> Result<Option<TypedValue>, Failure> {
        let ([index], Some(path)) = (arguments, of.path()) else { return Ok(None) };
        if index.ty != INT {
            return Ok(None);
        }
        let name = self.types.full_name(&of.ty);
        let is_span = matches!(name.as_str(), "System.Span`1" | "System.ReadOnlySpan`1");
        let actual = if is_span { of.ty.clone() } else { self.actual(of)? };
        let is_list = self.types.full_name(&actual) == LIST;
        let Some(Constant::Int(_, index)) = (if is_list || is_span { self.load(index)? } else { None })
        else {
            return Ok(None);
        };
        let Some(inner) = bare(&self.fetch(path)?) else { return Ok(None) };
        let Some(item) = actual.arguments().first().cloned() else { return Ok(None) };
        let item = match of.ty.arguments().first() {
            // Tuple names come from the declaration.
            Some(declared) if *declared == item => declared.clone(),
            _ => item,
        };
        let field = if is_span { "_length" } else { "_size" };
        let size = self.types.number_field(&inner, field).unwrap_or(0);
        let way = format!("{}[{index}]", path.name);
        let Some(at) = u32::try_from(index).ok().filter(|at| *at < size) else {
            let what = if is_span { "IndexOutOfRangeException" } else { "ArgumentOutOfRangeException" };
            return Err(failed(format!(
                "{what}: the index {index} is outside of `{}`, which has {size}",
                path.name
            )));
        };
        if is_span {
            return self.span_item(&inner, path, &item, at).map(Some);
        }
        let Some(items) = self.types.member(&inner, "_items") else { return Ok(None) };
        Ok(Some(TypedValue::at(path.step(items, String::new()).step(PathSegment::Element(at), way), item)))
    }

    /// An element of an array, a unit of a string, the target of a pointer, an element of an inline
    /// array or fixed buffer.
    pub(super) fn element_in(&self, of: &TypedValue, indexes: &[i64]) -> Result<TypedValue, Failure> {
        if let (Ty::Pointer(to), [index]) = (&of.ty, indexes) {
            return self.read_pointee(of, to, *index, self.pointee_size(of, to));
        }
        let Some(path) = of.path() else { return Err(failed("this has no elements")) };
        if let (Some(at), [index]) = (path.memory(), indexes) {
            return self.inline_element_in_memory((at, &of.ty), *index, &path.name);
        }
        let value = self.fetch(path)?;
        let inner = bare(&value).ok_or_else(|| {
            failed(format!("NullReferenceException: `{}` is null, so it has no elements", path.name))
        })?;
        if let (Some(string), [index]) = (inner.as_string(), indexes) {
            let at = u32::try_from(*index).ok();
            let unit = at.map(|at| string.unit(at)).transpose().map_err(cor("read a character"))?;
            let unit = unit.flatten().ok_or_else(|| {
                failed(format!("IndexOutOfRangeException: the string has no character {index}"))
            })?;
            return Ok(TypedValue::plain(Constant::Int(cordebug::value::element::CHAR, i128::from(unit))));
        }
        if let Some(array) = inner.as_array() {
            let lengths = array.dimensions().unwrap_or_default();
            let lowest = array.lowest().unwrap_or_default();
            if indexes.len() != lengths.len() {
                return Err(failed(format!("`{}` has {} dimension(s)", path.name, lengths.len())));
            }
            let (mut position, mut shown) = (0u32, Vec::new());
            for (at, (index, length)) in indexes.iter().zip(&lengths).enumerate() {
                let from = i64::from(lowest.get(at).copied().unwrap_or(0) as i32);
                let within = u32::try_from(index - from).ok().filter(|index| index < length);
                let within = within.ok_or_else(|| {
                    failed(format!(
                        "IndexOutOfRangeException: the index {index} is outside of `{}`, which has {length}",
                        path.name
                    ))
                })?;
                position = position.saturating_mul(*length).saturating_add(within);
                shown.push(index.to_string());
            }
            let way =
                path.step(PathSegment::Element(position), format!("{}[{}]", path.name, shown.join(", ")));
            return match of.ty.direct() {
                Ty::Vector(of) | Ty::Array(of, _) => Ok(TypedValue::at(way, (**of).clone())),
                _ => self.val_at(way),
            };
        }
        let ([index], Some(elements)) =
            (indexes, self.types.inline_elements_of(&inner, &self.types.declared_ty(&inner)))
        else {
            return Err(failed(format!("`{}` has no elements", path.name)));
        };
        let count = elements.count;
        let at = u32::try_from(*index).ok().filter(|at| *at < count);
        let outside = || failed(format!("`{}` has {count} elements, none of them {index}", path.name));
        self.read_inline_element(&elements, path, at.ok_or_else(outside)?)
    }

    /// An element of a tuple, by its position from 0.
    pub(super) fn element_of_tuple(&self, of: &TypedValue, at: usize) -> Result<TypedValue, Failure> {
        let lost = || failed(format!("the tuple has no element {}", at + 1));
        let path = of.path().ok_or_else(lost)?;
        let inner = bare(&self.fetch(path)?).ok_or_else(lost)?;
        let ty = self.types.declared_ty(&inner);
        let steps =
            self.types.tuple_elements(&inner, &ty).and_then(|all| all.get(at).cloned()).ok_or_else(lost)?;
        let named = of.ty.names().and_then(|names| names.name(at));
        let name = named.map_or_else(|| format!("Item{}", at + 1), str::to_owned);
        let name = format!("{}.{name}", path.name);
        let way = steps.into_iter().fold(path.clone(), |way, step| way.step(step, name.clone()));
        let mut arguments = of.ty.arguments();
        let mut within = at;
        while within >= 7 && arguments.len() == 8 {
            arguments = arguments.last().map_or(&[][..], Ty::arguments);
            within -= 7;
        }
        match arguments.get(within) {
            Some(ty) if !ty.is_open() => Ok(TypedValue::at(way, ty.clone())),
            _ => self.val_at(way),
        }
    }

    /// The identity of an object: its address, or the value of a pointer; 0 for null, `None` for a constant.
    pub(super) fn identity_of(&self, val: &TypedValue) -> Result<Option<u64>, Failure> {
        if let Ty::Pointer(_) = &val.ty {
            return self.pointer_address(val).map(Some);
        }
        match val.ty.is_value() {
            true => Ok(None),
            false => self.address(val),
        }
    }

    /// A snapshot of a value that later writes to its location do not change, as far as possible.
    pub(super) fn copy_value(&self, val: &TypedValue) -> Result<TypedValue, Failure> {
        if let Some(constant) = self.load(val)? {
            return Ok(TypedValue::constant_of(constant, val.ty.clone()));
        }
        let (false, Some(path)) = (val.ty.is_value(), val.path()) else { return Ok(val.clone()) };
        // The variable may be assigned another object: the copy refers to this one.
        let value = self.fetch(path)?;
        Ok(match self.values.hold_object(&value, &path.name) {
            Some(held) => TypedValue::at(held, val.ty.clone()),
            None => val.clone(),
        })
    }
}

fn write_only_failure(on: &TypedValue, name: &str) -> Failure {
    let of = on.path().map_or_else(String::new, |path| format!("{}.", path.name));
    failed(format!("`{of}{name}` can only be written"))
}
