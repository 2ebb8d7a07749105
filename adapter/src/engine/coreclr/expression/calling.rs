//! Calls as they are written: finding the methods, passing arguments, running them.

use cordebug::value::element;
use dap_wire::Failure;
use tree_sitter::Node as Syntax;

use super::overloads::{LINQ, Slot};
use super::walk::{child, inner};
use super::{Data, Found, Given, Passed, Scope, Val, failed};
use crate::engine::coreclr::calls::supply::Method;
use crate::engine::coreclr::cor;
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::values::{Path, Root, bare};

impl Session {
    pub(super) fn invocation(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Found, Failure> {
        let (function, list) = (child(node, "function")?, child(node, "arguments")?);
        if function.kind() == "identifier" && scope.of(function) == "nameof" {
            let named =
                inner(list).first().map(|argument| scope.of(*argument).to_owned()).unwrap_or_default();
            let last = named.rsplit(['.', '?']).next().unwrap_or_default();
            let last = last.split('<').next().unwrap_or_default().trim();
            return Ok(Found::Val(Val { literal: true, ..Val::text(last) }));
        }
        let found = match function.kind() {
            "identifier" | "generic_name" => {
                let (name, types) = self.member_name(function, scope)?;
                match self.name(&name, scope)? {
                    Found::Group { target, ty, name, .. } => Found::Group { target, ty, name, types },
                    found => found,
                }
            }
            "member_access_expression" if function.child(1).is_some_and(|dot| dot.kind() == ".") => {
                let (name, types) = self.member_name(child(function, "name")?, scope)?;
                let of = self.walk(child(function, "expression")?, scope)?;
                self.callee(of, &name, types, scope)?
            }
            "conditional_access_expression" => match self.conditional_target(function, scope)? {
                (found, None) => found,
                (of, Some(name)) => {
                    let (name, types) = self.member_name(name, scope)?;
                    self.callee(of, &name, types, scope)?
                }
            },
            _ => self.walk(function, scope)?,
        };
        if matches!(found, Found::Skipped) {
            return Ok(found);
        }
        let given = self.arguments(list, scope)?;
        self.invoke(found, given, scope)
    }

    /// What is called by a name: methods rather than a property of that name, as in `list.Count()`.
    fn callee(&mut self, of: Found, name: &str, types: Vec<Ty>, scope: &Scope<'_>) -> Result<Found, Failure> {
        let Found::Val(val) = &of else { return self.member_of(of, name, types, scope) };
        if self.is_null_val(val)? && self.nullable(&val.ty).is_none() {
            // An extension method may be called on null; anything else says what is wrong.
            if !self.has_extension(name) || val.ty == Ty::Null {
                return self.member_of(of, name, types, scope);
            }
        }
        let owners: Vec<Ty> = self.searched(val).iter().flat_map(|ty| self.lineage(ty)).collect();
        let declared = owners.iter().find(|owner| self.has_method(owner, name, false)).cloned();
        let group = |ty: Ty| Found::Group {
            target: Some(val.clone()),
            ty,
            name: name.to_owned(),
            types: types.clone(),
        };
        if declared.is_some() {
            return Ok(group(val.ty.clone()));
        }
        let delegate = self.member_if_any(&of, name, &[], scope);
        if let Ok(Some(Found::Val(inner))) = &delegate
            && self.has_method(&self.actual(inner)?, "Invoke", false)
        {
            return Ok(Found::Val(inner.clone()));
        }
        if self.has_extension(name) {
            return Ok(group(val.ty.clone()));
        }
        self.member_of(of, name, types, scope)
    }

    /// The value before `?.` and the name behind it; what it is instead when nothing is called by a name.
    fn conditional_target<'t>(
        &mut self,
        function: Syntax<'t>,
        scope: &Scope<'_>,
    ) -> Result<(Found, Option<Syntax<'t>>), Failure> {
        let binding = inner(function)
            .into_iter()
            .nth(1)
            .filter(|binding| binding.kind() == "member_binding_expression");
        let Some(binding) = binding else { return Ok((self.walk(function, scope)?, None)) };
        let val = match self.walk(child(function, "condition")?, scope)? {
            Found::Val(val) => val,
            other => return Ok((other, None)),
        };
        if self.is_null_val(&val)? {
            return Ok((Found::Skipped, None));
        }
        let val = self.out_of_nullable(val)?;
        Ok((Found::Val(val), Some(child(binding, "name")?)))
    }

    /// Arguments, evaluated from left to right.
    pub(super) fn arguments<'t>(
        &mut self,
        list: Syntax<'t>,
        scope: &Scope<'_>,
    ) -> Result<Vec<Given<'t>>, Failure> {
        let mut given = Vec::new();
        for node in inner(list) {
            let (mut name, mut value, mut is_variable) = (None, node, false);
            if node.kind() == "argument" {
                name = node.child_by_field_name("name").map(|name| scope.of(name).to_owned());
                let word = node.child(0).map(|word| scope.of(word)).unwrap_or_default();
                is_variable = matches!(word, "ref" | "out");
                value = inner(node).pop().unwrap_or(node);
            }
            let value = match value.kind() {
                "lambda_expression" => Passed::Lambda(value),
                _ if is_variable => Passed::Val(self.variable(value, scope)?),
                _ => Passed::Val(self.value(value, scope)?),
            };
            given.push(Given { name, value });
        }
        Ok(given)
    }

    /// The place of a `ref` or `out` argument: the call gets its address, not its value.
    fn variable(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Val, Failure> {
        let text = scope.of(node);
        let none = || {
            failed(format!("`{text}` is no variable, as a `ref` or `out` argument must be")).hint(
                "none can be declared here: use one of the program's, a field, or an element of an array",
            )
        };
        if matches!(node.kind(), "declaration_expression" | "discard") || text == "_" {
            return Err(none());
        }
        let val = self.value(node, scope)?;
        let is_place = |path: &&Path| !matches!(path.root, Root::Handle(_)) || !path.steps.is_empty();
        val.path().filter(is_place).ok_or_else(none)?;
        Ok(Val { ty: Ty::Reference(Box::new(val.ty.direct().clone())), ..val })
    }

    /// As `invoke`, with values.
    pub(super) fn invoke_with(
        &mut self,
        found: Found,
        values: Vec<Val>,
        scope: &Scope<'_>,
    ) -> Result<Found, Failure> {
        let given = values.into_iter().map(|val| Given { name: None, value: Passed::Val(val) }).collect();
        self.invoke(found, given, scope)
    }

    pub(super) fn invoke(
        &mut self,
        found: Found,
        given: Vec<Given<'_>>,
        scope: &Scope<'_>,
    ) -> Result<Found, Failure> {
        let (target, ty, name, types) = match found {
            Found::Group { target, ty, name, types } => (target, ty, name, types),
            // A delegate.
            Found::Val(val) => {
                let ty = self.actual(&val)?;
                (Some(val), ty, "Invoke".to_owned(), Vec::new())
            }
            Found::Type(ty) => {
                return Err(failed(format!("`{}` is a type; make one with `new`", self.csharp(&ty))));
            }
            _ => return Err(failed("this cannot be called")),
        };
        if given.iter().any(|given| matches!(given.value, Passed::Lambda(_))) {
            return match target {
                Some(target) => self.with_lambda(&target, &name, &given, scope).map(Found::Val),
                None => Err(failed(format!(
                    "`{name}` takes a lambda, which cannot be made in a program that is stopped"
                ))),
            };
        }
        let names: Vec<Option<String>> = given.iter().map(|given| given.name.clone()).collect();
        let values: Vec<Val> = given
            .into_iter()
            .filter_map(|given| match given.value {
                Passed::Val(val) => Some(val),
                Passed::Lambda(_) => None,
            })
            .collect();
        let mut known = 0;
        let mut lineages = vec![ty.clone()];
        if let Some(target) = &target {
            lineages.extend(self.searched(target).into_iter().filter(|other| *other != ty));
        }
        for start in &lineages {
            for owner in self.lineage(start) {
                let mut methods = self.methods_named(&owner, &name);
                methods.retain(|method| target.is_some() || method.is_static);
                known += methods.len();
                if let Some((method, slots)) = self.choose(methods, &types, &values, &names) {
                    let this = target.as_ref().filter(|_| !method.is_static);
                    return self.call_chosen(&method, &slots, this, values, &name, scope);
                }
            }
        }
        if let Some(target) = &target {
            if LINQ.contains(&name.as_str()) {
                self.load_linq(scope)?;
            }
            let mut all = vec![target.clone()];
            all.extend(values.iter().cloned());
            let mut all_names = vec![None];
            all_names.extend(names.iter().cloned());
            let methods = self.extensions_named(&name);
            known += methods.len();
            if let Some((method, slots)) = self.choose(methods, &types, &all, &all_names) {
                return self.call_chosen(&method, &slots, None, all, &name, scope);
            }
        }
        let passed: Vec<String> = values.iter().map(|val| self.csharp(&val.ty)).collect();
        let owner = self.csharp(&ty);
        Err(match known {
            0 => failed(format!("`{owner}` has no method `{name}`")),
            _ => failed(format!("no overload of `{owner}.{name}` takes ({})", passed.join(", "))),
        })
    }

    fn call_chosen(
        &mut self,
        method: &Method,
        slots: &[Slot],
        this: Option<&Val>,
        values: Vec<Val>,
        name: &str,
        scope: &Scope<'_>,
    ) -> Result<Found, Failure> {
        let arguments = self.passed(method, slots, &values, scope)?;
        let of = match this {
            Some(Val { data: Data::At(path), .. }) => format!("{}.", path.name),
            Some(_) => String::new(),
            None => format!("{}.", self.csharp(&method.owner)),
        };
        let what = format!("{of}{name}({})", if arguments.is_empty() { "" } else { "…" });
        let val = self.call(&scope.site, method, this, &arguments, &what)?;
        if method.result == Ty::Primitive(element::VOID) {
            return Ok(Found::Nothing);
        }
        let tuple = self.tuple_of_result(&method.loaded, method.token);
        Ok(Found::Val(match val.data {
            Data::At(path) => Val { data: Data::At(Path { tuple, ..path }), ..val },
            _ => val,
        }))
    }

    /// The values of a method's parameters, each in its parameter's type.
    pub(super) fn passed(
        &mut self,
        method: &Method,
        slots: &[Slot],
        values: &[Val],
        scope: &Scope<'_>,
    ) -> Result<Vec<Val>, Failure> {
        let mut passed = Vec::new();
        for (slot, parameter) in slots.iter().zip(&method.parameters) {
            if matches!(parameter, Ty::Reference(_)) {
                let is_in = matches!(slot, Slot::Argument(_));
                if !is_in {
                    return Err(failed("a `ref` parameter cannot be left out"));
                }
            }
            passed.push(match slot {
                Slot::Argument(at) => {
                    let val = values.get(*at).cloned().ok_or_else(|| failed("an argument got lost"))?;
                    self.converted(val, parameter, scope)?
                }
                Slot::Default(constant) => {
                    if *constant == super::Constant::Null
                        && parameter.is_value()
                        && self.nullable(parameter).is_none()
                    {
                        self.default_of(parameter, scope)?
                    } else {
                        Slot::default_val(constant, parameter)
                    }
                }
                Slot::Rest(list) => {
                    let Ty::Vector(of) = parameter else { return Err(failed("`params` needs an array")) };
                    let items = list.iter().filter_map(|at| values.get(*at).cloned()).collect();
                    self.array_with(of, items, scope)?
                }
            });
        }
        Ok(passed)
    }

    /// A new array of these items.
    pub(super) fn array_with(&mut self, of: &Ty, items: Vec<Val>, scope: &Scope<'_>) -> Result<Val, Failure> {
        let mut ready = Vec::new();
        for item in items {
            let item = self.converted(item, of, scope)?;
            ready.push(self.in_program(item, of, scope)?);
        }
        let length = u32::try_from(ready.len()).unwrap_or(u32::MAX);
        let array = self.array_of(of, length, scope)?;
        for (position, item) in ready.into_iter().enumerate() {
            let step = crate::engine::coreclr::values::Step::Element(position as u32);
            let place = array.path().map(|path| path.step(step, format!("[{position}]")));
            let place = place.ok_or_else(|| failed("the new array got lost"))?;
            self.write(&place, &item, of)?;
        }
        Ok(array)
    }

    /// A new array of zeros.
    pub(super) fn array_of(&mut self, of: &Ty, length: u32, scope: &Scope<'_>) -> Result<Val, Failure> {
        let what = format!("new {}[{length}]", self.csharp(of));
        if of.is_value() && (!matches!(of, Ty::Primitive(_)) || self.is_decimal(of)) {
            return self.array_of_structs(of, length, &what, scope);
        }
        let element = self.runtime_type(scope.site.thread, of)?;
        let made = self.run_in(&scope.site, &what, |eval| eval.new_array(&element, length))?;
        self.given(made, &of.clone().vector(), &what)
    }

    /// The runtime's evaluations make no arrays of structs; a list makes one for itself.
    fn array_of_structs(
        &mut self,
        of: &Ty,
        length: u32,
        what: &str,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let lost = || failed(format!("`{what}` cannot be made"));
        let list = self.ty_generic("System.Collections.Generic.List`1", vec![of.clone()]).ok_or_else(lost)?;
        let length = Val::plain(super::Constant::Int(element::I4, length.into()));
        let list = self.made(&list, vec![length], &[None], scope)?;
        let path = list.path().ok_or_else(lost)?;
        let value = bare(&self.fetch(path)?).ok_or_else(lost)?;
        let step = self.member(&value, "_items").ok_or_else(lost)?;
        Ok(Val::at(path.step(step, what.to_owned()), of.clone().vector()))
    }

    /// A value that writing needs to be in the program already: strings and boxes.
    pub(super) fn in_program(&mut self, val: Val, to: &Ty, scope: &Scope<'_>) -> Result<Val, Failure> {
        match &val.data {
            Data::Constant(super::Constant::Null) => Ok(val),
            Data::Constant(constant) if !to.is_value() => {
                let path = self.boxed(&scope.site, constant, &val.ty)?;
                Ok(Val::at(path, to.clone()))
            }
            Data::At(path) if !to.is_value() && self.fetch(path)?.as_reference().is_none() => {
                if let Some(constant) = self.load(&val)? {
                    let path = self.boxed(&scope.site, &constant, &val.ty)?;
                    return Ok(Val::at(path, to.clone()));
                }
                let path = self.boxed_copy(&scope.site, path)?;
                Ok(Val::at(path, to.clone()))
            }
            _ => Ok(val),
        }
    }

    /// Loads LINQ into a program that does not use it.
    pub(super) fn load_linq(&mut self, scope: &Scope<'_>) -> Result<(), Failure> {
        let loaded = |session: &Self| {
            session.modules.all().iter().any(|loaded| loaded.path.ends_with("System.Linq.dll"))
        };
        if loaded(self) {
            return Ok(());
        }
        let assembly = self
            .ty_named("System.Reflection.Assembly")
            .ok_or_else(|| failed("there is no System.Reflection.Assembly"))?;
        let load = Found::Group { target: None, ty: assembly, name: "Load".into(), types: Vec::new() };
        self.invoke_with(load, vec![Val::text("System.Linq")], scope)?;
        match loaded(self) {
            true => Ok(()),
            false => Err(failed("System.Linq cannot be loaded into the program")),
        }
    }

    /// Writes to a place in the program what `converted` and `in_program` have prepared.
    pub(super) fn write(&mut self, place: &Path, val: &Val, ty: &Ty) -> Result<(), Failure> {
        let what = || format!("set `{}`", place.name);
        let target = self.fetch(place)?;
        let misfit = |session: &Self| {
            failed(format!(
                "a `{}` does not fit into `{}`, which is `{}`",
                session.csharp(&val.ty),
                place.name,
                session.csharp(ty)
            ))
        };
        if let Some(inner) = self.nullable(ty) {
            return self.write_nullable(place, val, &inner);
        }
        if !ty.is_value() {
            let reference = target.as_reference().ok_or_else(|| misfit(self))?;
            let address = self.address(val)?.ok_or_else(|| misfit(self))?;
            return reference.set_target(address).map_err(cor(what()));
        }
        let target = match target.as_reference() {
            Some(_) => crate::engine::coreclr::values::bare(&target).ok_or_else(|| misfit(self))?,
            None => target,
        };
        let bytes = match &val.data {
            Data::Constant(constant) => self.bytes_as(constant, ty).ok_or_else(|| misfit(self))?,
            Data::At(path) => {
                let from =
                    crate::engine::coreclr::values::bare(&self.fetch(path)?).ok_or_else(|| misfit(self))?;
                if self.declared_ty(&from) != self.declared_ty(&target) {
                    return Err(misfit(self));
                }
                return self.copy_struct(place, path, &from, &target);
            }
        };
        target.set_bytes(&bytes).map_err(cor(what()))
    }

    fn write_nullable(&mut self, place: &Path, val: &Val, inner: &Ty) -> Result<(), Failure> {
        let lost = || failed(format!("`{}` cannot be written to", place.name));
        let target = self.fetch(place)?;
        let flag = self.field_named(&target, "hasValue").ok_or_else(lost)?;
        let is_null = self.is_null_val(val)?;
        flag.set_bytes(&[u8::from(!is_null)]).map_err(cor(format!("set `{}`", place.name)))?;
        if is_null {
            return Ok(());
        }
        let step = self.member(&target, "value").ok_or_else(lost)?;
        let val = self.out_of_nullable(val.clone())?;
        self.write(&place.step(step, place.name.clone()), &val, inner)
    }

    /// Structs are copied as bytes; those with references in them field by field, so that the collector knows.
    fn copy_struct(
        &mut self,
        place: &Path,
        from: &Path,
        value: &cordebug::value::Value,
        target: &cordebug::value::Value,
    ) -> Result<(), Failure> {
        let fields = self.members_of_struct(value);
        if fields.is_empty() {
            let bytes = value.bytes().map_err(cor(format!("read `{}`", from.name)))?;
            return target.set_bytes(&bytes).map_err(cor(format!("set `{}`", place.name)));
        }
        for (step, name, ty) in fields {
            let inner = Val::at(from.step(step, format!("{}.{name}", from.name)), ty.clone());
            self.write(&place.step(step, format!("{}.{name}", place.name)), &inner, &ty)?;
        }
        Ok(())
    }

    fn members_of_struct(
        &self,
        value: &cordebug::value::Value,
    ) -> Vec<(crate::engine::coreclr::values::Step, String, Ty)> {
        let fields = self.members(value).into_iter();
        fields
            .filter_map(|member| {
                let inner = self.field_at(value, member.step)?;
                Some((member.step, member.name, self.declared_ty(&inner)))
            })
            .collect()
    }
}
