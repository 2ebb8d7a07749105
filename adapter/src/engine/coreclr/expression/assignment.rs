//! Writing: to variables, fields, elements, properties and indexers.

use dap_wire::Failure;
use tree_sitter::Node as Syntax;

use super::members::Property;
use super::objects::takes_type;
use super::walk::{child, enclosed, inner};
use super::{Constant, Data, Found, Scope, Val, failed};
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::values::{Path, Root};

impl Session {
    /// `a = b`, `a += b`, `a ??= b`.
    pub(super) fn assign(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Val, Failure> {
        let (left, right) = (child(node, "left")?, child(node, "right")?);
        let text = scope.of(node);
        let from = left.end_byte().saturating_sub(node.start_byte());
        let operator = text.get(from..).unwrap_or_default().trim_start();
        let operator: String = operator.chars().take_while(|sign| "=+-*/%&|^<>?".contains(*sign)).collect();
        let operator = operator.strip_suffix('=').unwrap_or_default().to_owned();
        let val = match operator.as_str() {
            "" if takes_type(right) => {
                let ty = self.value(left, scope)?.ty;
                self.value_for(&ty, right, scope)?
            }
            "" => self.value(right, scope)?,
            "??" => {
                let old = self.value(left, scope)?;
                if !self.is_null_val(&old)? {
                    return self.out_of_nullable(old);
                }
                let val = self.value(right, scope)?;
                let is_null = self.is_null_val(&val)?;
                let stored = self.store(left, val, scope)?;
                return if is_null { Ok(stored) } else { self.out_of_nullable(stored) };
            }
            operator => {
                let (old, by) = (self.value(left, scope)?, self.value(right, scope)?);
                let ty = old.ty.clone();
                let new = self.operate(operator, old, by, scope)?;
                // Compound assignment casts back: `byte += 1` works.
                self.cast_back(new, &ty, scope)?
            }
        };
        self.store(left, val, scope)
    }

    /// `x++` and its kin.
    pub(super) fn step_by_one(
        &mut self,
        node: Syntax<'_>,
        up: bool,
        gives_new: bool,
        scope: &Scope<'_>,
    ) -> Result<Found, Failure> {
        let of = inner(node).pop().ok_or_else(|| failed("`++` stands alone"))?;
        let old = self.value(of, scope)?;
        let ty = old.ty.clone();
        let constant =
            self.load(&old)?.ok_or_else(|| failed(format!("`{}` cannot be counted", scope.of(of))))?;
        let old = Val { data: Data::Constant(constant), ..old };
        let one = Val { literal: true, ..Val::int(1) };
        let new = self.operate(if up { "+" } else { "-" }, old.clone(), one, scope)?;
        let new = self.cast_back(new, &ty, scope)?;
        let stored = self.store(of, new, scope)?;
        Ok(Found::Val(if gives_new { stored } else { old }))
    }

    fn cast_back(&mut self, val: Val, ty: &Ty, scope: &Scope<'_>) -> Result<Val, Failure> {
        match self.load(&val)? {
            Some(_) if ty.is_value() && val.ty != *ty => self.cast(Val { literal: false, ..val }, ty, scope),
            _ => Ok(val),
        }
    }

    /// Writes to what the left side names; gives what was written.
    fn store(&mut self, left: Syntax<'_>, val: Val, scope: &Scope<'_>) -> Result<Val, Failure> {
        if !scope.site.runs {
            return Err(failed(format!(
                "`{}` would be written to, which hovering does not do",
                scope.of(left)
            ))
            .quiet());
        }
        match left.kind() {
            "parenthesized_expression" => self.store(enclosed(left)?, val, scope),
            "tuple_expression" => {
                let places = inner(left);
                let elements = self.deconstructed(&val, places.len(), scope)?;
                for (place, element) in places.into_iter().zip(elements) {
                    let place = inner(place).pop().unwrap_or(place);
                    if place.kind() == "declaration_expression" {
                        return Err(failed(format!("`{}` declares a variable", scope.of(place)))
                            .hint("assign to variables of the program"));
                    }
                    self.store(place, element, scope)?;
                }
                Ok(val)
            }
            "identifier" if scope.of(left) == "_" && self.name("_", scope).is_err() => Ok(val),
            "element_access_expression" => {
                let of = self.value(child(left, "expression")?, scope)?;
                let mut indexes = Vec::new();
                for node in inner(child(left, "subscript")?) {
                    let node =
                        if node.kind() == "argument" { inner(node).pop().unwrap_or(node) } else { node };
                    if scope.of(node).starts_with('^') {
                        let place = self.value(left, scope)?;
                        return self.store_at(&place, val, scope);
                    }
                    indexes.push(self.value(node, scope)?);
                }
                self.set_indexed(&of, indexes, val, scope)
            }
            "member_access_expression" if left.child(1).is_none_or(|dot| dot.kind() != "->") => {
                let name = scope.of(child(left, "name")?).to_owned();
                match self.walk(child(left, "expression")?, scope)? {
                    Found::Val(of) if self.is_copy(&of) => Err(failed(format!(
                        "`{}` is in a copy that an evaluation gave: writing to it would change nothing",
                        scope.of(left)
                    ))
                    .hint("assign the whole value to where it came from")),
                    Found::Val(of) => self.set_member(&of, &name, val, scope),
                    Found::Type(ty) => self.set_static(&ty, &name, val, scope),
                    _ => Err(failed(format!("`{}` cannot be written to", scope.of(left)))),
                }
            }
            "identifier" => {
                let name = scope.of(left).to_owned();
                let bound = scope.bindings.borrow().iter().rposition(|(known, _)| *known == name);
                if let Some(at) = bound {
                    // A variable of a lambda or one that this expression declares: it is here.
                    let ty = scope.bindings.borrow().get(at).map(|(_, old)| old.ty.clone());
                    let val = match ty {
                        Some(ty) if !matches!(ty, Ty::Null | Ty::Other) => self.converted(val, &ty, scope)?,
                        _ => val,
                    };
                    let val = self.copied(val)?;
                    if let Some((_, old)) = scope.bindings.borrow_mut().get_mut(at) {
                        *old = val.clone();
                    }
                    return Ok(val);
                }
                if let Some(found) = self.property_to_set(&name, scope)? {
                    return self.set_property(found, &name, val, scope);
                }
                let place = self.value(left, scope)?;
                self.store_at(&place, val, scope)
            }
            _ => {
                let place = self.value(left, scope)?;
                if self.is_copy(&place) {
                    return Err(failed(format!("`{}` is no variable", scope.of(left))));
                }
                self.store_at(&place, val, scope)
            }
        }
    }

    /// Whether a value is a struct, or in one, that an evaluation gave: nobody in the program holds it.
    fn is_copy(&self, val: &Val) -> bool {
        let Some(path) = val.path().filter(|path| matches!(path.root, Root::Handle(_))) else { return false };
        let in_struct = |count: usize| {
            let steps = path.steps.get(..count).unwrap_or_default().to_vec();
            let holder = self.fetch(&Path { steps, ..path.clone() }).ok();
            holder.is_some_and(|holder| self.actual_ty(&holder).is_value())
        };
        val.ty.is_value() && (0..=path.steps.len()).all(in_struct)
    }

    /// A property of `this` or of the class that a simple name means, if it means one.
    #[allow(clippy::type_complexity, reason = "a property and the object it is of")]
    fn property_to_set(
        &mut self,
        name: &str,
        scope: &Scope<'_>,
    ) -> Result<Option<(Option<Val>, Property)>, Failure> {
        let locals = self.locals(scope.site.thread, scope.site.frame)?;
        if locals.iter().any(|(known, _)| known == name) {
            return Ok(None);
        }
        if let Some((_, this)) = locals.iter().find(|(known, _)| known == "this")
            && let Ok(this) = self.val_at(this.clone())
        {
            let owners = self.searched(&this);
            for owner in owners.iter().flat_map(|ty| self.lineage(ty)).collect::<Vec<_>>() {
                if let Some(property) = self.property_of(&owner, name, false) {
                    return Ok(Some((Some(this), property)));
                }
            }
        }
        let class = scope.class(self);
        Ok(class.and_then(|class| self.property_of(&class, name, true)).map(|property| (None, property)))
    }

    fn set_property(
        &mut self,
        (of, property): (Option<Val>, Property),
        name: &str,
        val: Val,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        if property.info.setter.is_none()
            && let Some(of) = &of
        {
            // An auto-property without a setter still has its field.
            let backing = format!("<{name}>k__BackingField");
            if let Some(Found::Val(place)) =
                self.member_if_any(&Found::Val(of.clone()), &backing, &[], scope)?
            {
                return self.store_at(&place, val, scope);
            }
        }
        let setter = property.info.setter.ok_or_else(|| failed(format!("`{name}` has no setter")))?;
        let method = self.method(&property.loaded, &property.owner, setter);
        let method = method.ok_or_else(|| failed(format!("the setter of `{name}` cannot be read")))?;
        let wanted =
            method.parameters.last().cloned().ok_or_else(|| failed(format!("`{name}` has no setter")))?;
        let val = self.converted(val, &wanted, scope)?;
        self.call(&scope.site, &method, of.as_ref(), std::slice::from_ref(&val), &format!("{name} = …"))?;
        Ok(val)
    }

    pub(super) fn set_member(
        &mut self,
        of: &Val,
        name: &str,
        val: Val,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let owners = self.searched(of);
        for owner in owners.iter().flat_map(|ty| self.lineage(ty)).collect::<Vec<_>>() {
            if let Some(property) = self.property_of(&owner, name, false) {
                return self.set_property((Some(of.clone()), property), name, val, scope);
            }
        }
        match self.member_of(Found::Val(of.clone()), name, Vec::new(), scope)? {
            Found::Val(place) => self.store_at(&place, val, scope),
            _ => Err(failed(format!("`{name}` cannot be written to"))),
        }
    }

    fn set_static(&mut self, ty: &Ty, name: &str, val: Val, scope: &Scope<'_>) -> Result<Val, Failure> {
        if let Some(property) = self.property_of(ty, name, true)
            && property.info.setter.is_some()
        {
            return self.set_property((None, property), name, val, scope);
        }
        match self.member_of(Found::Type(ty.clone()), name, Vec::new(), scope)? {
            Found::Val(place) => self.store_at(&place, val, scope),
            _ => Err(failed(format!("`{name}` cannot be written to"))),
        }
    }

    pub(super) fn set_indexed(
        &mut self,
        of: &Val,
        indexes: Vec<Val>,
        val: Val,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let actual = self.actual(of)?;
        let is_stored = matches!(actual, Ty::Vector(_) | Ty::Array(..))
            || self.full_name(&actual) == "System.Collections.Generic.List`1";
        if is_stored {
            let place = self.indexed(of, indexes, scope)?;
            return self.store_at(&place, val, scope);
        }
        let mut all = indexes;
        all.push(val.clone());
        let (setter, slots) = self.indexer(of, &all, true)?;
        let arguments = self.passed(&setter, &slots, &all, scope)?;
        let name = of.path().map_or("it", |path| path.name.as_str());
        self.call(&scope.site, &setter, Some(of), &arguments, &format!("{name}[…] = …"))?;
        Ok(val)
    }

    /// Writes to a place in the program.
    pub(crate) fn store_at(&mut self, place: &Val, val: Val, scope: &Scope<'_>) -> Result<Val, Failure> {
        let Some(path) = place.path().cloned() else {
            return Err(failed("this has no place in the program to write to"));
        };
        let ty = match &place.ty {
            Ty::Null | Ty::Other => val.ty.clone(),
            ty => ty.direct().clone(),
        };
        let val = self.converted(val, &ty, scope).map_err(|failure| {
            let message = match failure.message.contains("does not fit") {
                true => format!("{}: `{}` is `{}`", failure.message, path.name, self.csharp(&ty)),
                false => failure.message.clone(),
            };
            Failure { message, ..failure }
        })?;
        let ready = self.in_program(val, &ty, scope)?;
        self.write(&path, &ready, &ty)?;
        match &ready.data {
            Data::Constant(Constant::Null) => Ok(Val::constant_of(Constant::Null, ty)),
            Data::Constant(_) => Ok(Val { literal: false, ..ready }),
            Data::At(_) => Ok(Val::at(path, ty)),
        }
    }
}
