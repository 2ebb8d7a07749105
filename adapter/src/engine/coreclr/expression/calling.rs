//! Calls as they are written: finding the methods, passing arguments, running them.

use cordebug::value::element;
use dap_wire::Failure;
use tree_sitter::Node as Syntax;

use super::overloads::{LINQ, Slot};
use super::sequences::no_delegate;
use super::walk::{child, inner};
use super::{Data, Found, Given, Passed, Scope, Val, failed};
use crate::engine::coreclr::calls::supply::Method;
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::values::{Path, Root, Step};

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
        // `x is var (a, b)`, which the grammar takes for a call of `x is var`.
        if function.kind() == "is_expression" && scope.of(child(function, "right")?) == "var" {
            let val = self.value(child(function, "left")?, scope)?;
            return self.fits_all_names(&val, &inner(list), scope).map(|fits| Found::Val(Val::bool(fits)));
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
                let of = self.past_null(of, function, scope)?;
                self.callee(of, &name, types, scope)?
            }
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
        if self.is_null_val(val)? && self.nullable(&val.ty).is_none() && !scope.site.supposes {
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
                "declaration_expression" if is_variable => self.declared(value, scope)?,
                "discard" if is_variable => Passed::Declared { name: None, ty: None },
                _ if is_variable && scope.of(value) == "_" => Passed::Declared { name: None, ty: None },
                _ if is_variable => Passed::Val(self.variable(value, scope)?),
                // A method by its name, where a lambda could stand.
                "identifier" | "member_access_expression" | "generic_name" => {
                    match self.walk(value, scope)? {
                        group @ Found::Group { .. } => Passed::Method(group),
                        found => Passed::Val(self.valued(found, value, scope)?),
                    }
                }
                _ => Passed::Val(self.value(value, scope)?),
            };
            given.push(Given { name, value });
        }
        Ok(given)
    }

    /// `var name` or `Type name` behind `out`.
    fn declared<'t>(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Passed<'t>, Failure> {
        let (ty, name) = (child(node, "type")?, scope.of(child(node, "name")?));
        let ty = match scope.of(ty) {
            "var" => None,
            _ => Some(self.type_at(ty, scope)?),
        };
        Ok(Passed::Declared { name: (name != "_").then(|| name.to_owned()), ty })
    }

    /// The place of a `ref` or `out` argument: the call gets its address, not its value.
    fn variable(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Val, Failure> {
        let text = scope.of(node);
        let none = || {
            failed(format!("`{text}` is no variable, as a `ref` or `out` argument must be"))
                .hint("use a variable, a field or an element of an array; `out var name` declares one")
        };
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
        if given.iter().any(|given| matches!(given.value, Passed::Lambda(_) | Passed::Method(_))) {
            // `Array.Find(array, x => …)`, `Enumerable.Where(list, x => …)`.
            let is_sequences =
                matches!(self.full_name(&ty).as_str(), "System.Array" | "System.Linq.Enumerable");
            let (target, given) = match (target, given.as_slice()) {
                (Some(target), given) => (target, given),
                (None, [Given { value: Passed::Val(first), .. }, rest @ ..]) if is_sequences => {
                    (first.clone(), rest)
                }
                (None, given) => return Err(no_delegate(&name, given)),
            };
            return Ok(match self.with_lambda(&target, &name, given, scope)? {
                Found::Val(val) => Found::Val(self.named_as_in(val, &target)),
                other => other,
            });
        }
        let names: Vec<Option<String>> = given.iter().map(|given| given.name.clone()).collect();
        let (mut values, mut declared): (Vec<Val>, Vec<Option<String>>) = (Vec::new(), Vec::new());
        for given in given {
            let (val, name) = match given.value {
                Passed::Val(val) => (val, None),
                Passed::Declared { name, ty } => {
                    let ty = Ty::Reference(Box::new(ty.unwrap_or(Ty::Other)));
                    (Val { ty, ..Val::null() }, name)
                }
                Passed::Lambda(_) | Passed::Method(_) => continue,
            };
            values.push(val);
            declared.push(name);
        }
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
                    let values = self.with_places(values, &declared, &method, &slots, scope)?;
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
                declared.insert(0, None);
                let all = self.with_places(all, &declared, &method, &slots, scope)?;
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

    /// The same values, with a place in the program for each variable that the call declares; its name is known from now on.
    fn with_places(
        &mut self,
        mut values: Vec<Val>,
        names: &[Option<String>],
        method: &Method,
        slots: &[Slot],
        scope: &Scope<'_>,
    ) -> Result<Vec<Val>, Failure> {
        for (slot, parameter) in slots.iter().zip(&method.parameters) {
            let Slot::Argument(at) = slot else { continue };
            let is_declared =
                |val: &&mut Val| matches!(val.ty, Ty::Reference(_)) && matches!(val.data, Data::Constant(_));
            let Some(val) = values.get_mut(*at).filter(is_declared) else { continue };
            let name = names.get(*at).cloned().flatten();
            let of = parameter.direct();
            // Evaluations know no locals of their own: an array with one element is as good.
            let array = self.array_of(of, 1, scope)?;
            let place = array.path().ok_or_else(|| failed("the new variable got lost"))?;
            let shown = name.clone().unwrap_or_else(|| "_".into());
            let place = place.step(Step::Element(0), shown);
            *val = Val::at(place.clone(), Ty::Reference(Box::new(of.clone())));
            if let Some(name) = name {
                scope.bindings.borrow_mut().push((name, Val::at(place, of.clone())));
            }
        }
        Ok(values)
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
        let val = match val.data {
            Data::At(path) => Val { data: Data::At(Path { tuple, ..path }), ..val },
            _ => val,
        };
        Ok(Found::Val(match this.or(values.first()) {
            Some(of) => self.named_as_in(val, of),
            None => val,
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
}
