//! `new`: objects with constructors and initialisers, arrays, tuples.

use cordebug::value::element;
use dap_wire::Failure;
use tree_sitter::Node as Syntax;

use super::walk::{child, inner};
use super::{Constant, Data, Found, Passed, Scope, Val, failed};
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::types::ty::{OBJECT, STRING};
use crate::engine::coreclr::values::{Path, Step};

impl Session {
    pub(super) fn new_object(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Found, Failure> {
        let ty = node.child_by_field_name("type");
        let ty = ty.ok_or_else(|| failed("`new()` needs its type here: write `new Type(…)`"))?;
        let ty = self.type_at(ty, scope)?;
        self.new_of(&ty, node, scope).map(Found::Val)
    }

    /// A value for a place of this type: `new(…)` and `default` are of that type.
    pub(super) fn value_for(&mut self, ty: &Ty, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Val, Failure> {
        match node.kind() {
            "implicit_object_creation_expression" => {
                let ty = self.nullable(ty).unwrap_or_else(|| ty.clone());
                self.new_of(&ty, node, scope)
            }
            _ if is_bare_default(node) => self.default_of(ty, scope),
            _ => self.value(node, scope),
        }
    }

    fn new_of(&mut self, ty: &Ty, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Val, Failure> {
        let part = |kind: &str| inner(node).into_iter().find(|part| part.kind() == kind);
        let given = match part("argument_list") {
            Some(list) => self.arguments(list, scope)?,
            None => Vec::new(),
        };
        let names: Vec<Option<String>> = given.iter().map(|given| given.name.clone()).collect();
        let mut values = Vec::new();
        for given in given {
            match given.value {
                Passed::Val(val) => values.push(val),
                Passed::Declared { .. } => return Err(failed("a constructor cannot declare variables here")),
                Passed::Lambda(_) | Passed::Method(_) => {
                    return Err(failed("a lambda cannot be made in a program that is stopped"));
                }
            }
        }
        let made = self.made(ty, values, &names, scope)?;
        if let Some(initializer) = part("initializer_expression") {
            self.initialised(&made, initializer, scope)?;
        }
        Ok(made)
    }

    /// `new T(values)`.
    pub(super) fn made(
        &mut self,
        ty: &Ty,
        values: Vec<Val>,
        names: &[Option<String>],
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let name = self.csharp(ty);
        if *ty == STRING {
            return self.new_text(&values, scope);
        }
        if matches!(ty, Ty::Primitive(_)) && *ty != OBJECT && values.is_empty() {
            return self.default_of(ty, scope);
        }
        if let Some(inner) = self.nullable(ty) {
            let val = values.into_iter().next().unwrap_or_else(Val::null);
            return match self.is_null_val(&val)? {
                true => Ok(Val::constant_of(Constant::Null, ty.clone())),
                false => self.converted(val, &inner, scope).map(|val| Val { ty: ty.clone(), ..val }),
            };
        }
        let (loaded, token) =
            self.definition(ty).ok_or_else(|| failed(format!("`{name}` cannot be made")))?;
        let flags = loaded.image().map_or(0, |image| image.metadata.type_flags(token));
        // TypeAttributes: abstract, of which interfaces and static classes are.
        if flags & 0x80 != 0 {
            return Err(failed(format!("`{name}` is abstract, static or an interface, so none can be made")));
        }
        let constructors: Vec<_> =
            self.methods_named(ty, ".ctor").into_iter().filter(|method| !method.is_static).collect();
        let passed: Vec<String> = values.iter().map(|val| self.csharp(&val.ty)).collect();
        match self.choose(constructors, &[], &values, names) {
            Some((constructor, slots)) => {
                let arguments = self.passed(&constructor, &slots, &values, scope)?;
                let what = format!("new {name}({})", if arguments.is_empty() { "" } else { "…" });
                let made = self.construct(&scope.site, &constructor, &arguments, &what)?;
                Ok(Val { ty: ty.clone(), ..made })
            }
            None if ty.is_value() && values.is_empty() => self.default_of(ty, scope),
            None => Err(failed(format!("no constructor of `{name}` takes ({})", passed.join(", ")))),
        }
    }

    /// `new string('a', 3)`: strings are made by the runtime itself.
    fn new_text(&mut self, values: &[Val], scope: &Scope<'_>) -> Result<Val, Failure> {
        if let [letters] = values
            && self.actual(letters)? == Ty::Primitive(element::CHAR).vector()
        {
            let mut units = Vec::new();
            for item in self.items_of(letters, scope)?.list {
                match self.load(&item)? {
                    Some(Constant::Int(_, unit)) => units.push(unit as u16),
                    _ => return Err(failed("a character cannot be read")),
                }
            }
            return Ok(Val::text(String::from_utf16_lossy(&units)));
        }
        if let [letter, count] = values
            && let (Some(Constant::Int(_, letter)), Some(Constant::Int(_, count))) =
                (self.load(letter)?, self.load(count)?)
        {
            let letter = String::from_utf16_lossy(&[letter as u16]);
            let count = usize::try_from(count).ok().filter(|count| *count <= 1 << 20);
            let count = count
                .ok_or_else(|| failed("ArgumentOutOfRangeException: the count is negative or too large"))?;
            return Ok(Val::text(letter.repeat(count)));
        }
        Err(failed("only `new string(letter, count)` and `new string(letters)` are supported"))
    }

    /// `{ A = 1 }`, `{ 1, 2 }`, `{ ["k"] = 1 }` behind `new`.
    fn initialised(&mut self, made: &Val, initializer: Syntax<'_>, scope: &Scope<'_>) -> Result<(), Failure> {
        for part in inner(initializer) {
            if part.kind() == "assignment_expression" {
                let (left, right) = (child(part, "left")?, child(part, "right")?);
                if right.kind() == "initializer_expression" {
                    // What is in the member already is filled.
                    let member =
                        self.member_of(Found::Val(made.clone()), scope.of(left), Vec::new(), scope)?;
                    let Found::Val(member) = member else {
                        return Err(failed(format!("`{}` has no value to fill", scope.of(left))));
                    };
                    self.initialised(&member, right, scope)?;
                    continue;
                }
                let val = match takes_type(right) && left.kind() == "identifier" {
                    true => {
                        let member =
                            self.member_of(Found::Val(made.clone()), scope.of(left), Vec::new(), scope)?;
                        let Found::Val(Val { ty, .. }) = member else {
                            return Err(failed(format!("`{}` has no value", scope.of(left))));
                        };
                        self.value_for(&ty, right, scope)?
                    }
                    false => self.value(right, scope)?,
                };
                if left.kind() == "element_binding_expression" {
                    let mut indexes = Vec::new();
                    for index in inner(left) {
                        let index = inner(index).pop().unwrap_or(index);
                        indexes.push(self.value(index, scope)?);
                    }
                    self.set_indexed(made, indexes, val, scope)?;
                } else {
                    self.set_member(made, scope.of(left), val, scope)?;
                }
                continue;
            }
            let values = match part.kind() {
                "initializer_expression" => inner(part)
                    .into_iter()
                    .map(|item| self.value(item, scope))
                    .collect::<Result<Vec<_>, _>>()?,
                _ => vec![self.value(part, scope)?],
            };
            let add = self.member_of(Found::Val(made.clone()), "Add", Vec::new(), scope)?;
            self.invoke_with(add, values, scope)?;
        }
        Ok(())
    }

    /// `(a, b)` and `(x: 1, y: 2)`.
    pub(super) fn new_tuple(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Found, Failure> {
        let mut elements = Vec::new();
        for argument in inner(node) {
            let value = inner(argument).pop().unwrap_or(argument);
            elements.push((argument.child_by_field_name("name"), value));
        }
        self.tuple_of(&elements, scope)
    }

    /// `new { A = 1, b.Name }`: a type cannot be made in a program that is stopped, so it is a tuple with these names.
    pub(super) fn new_anonymous(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Found, Failure> {
        let mut elements: Vec<(Option<Syntax<'_>>, Syntax<'_>)> = Vec::new();
        let mut name = None;
        let mut cursor = node.walk();
        for part in node.children(&mut cursor).filter(|part| part.kind() != "comment") {
            match part.kind() {
                // What stood before it is a name, no value.
                "=" => name = elements.pop().map(|(_, name)| name),
                "assignment_expression" => {
                    elements.push((Some(child(part, "left")?), child(part, "right")?));
                }
                _ if part.is_named() => elements.push((name.take(), part)),
                _ => {}
            }
        }
        self.tuple_of(&elements, scope)
    }

    fn tuple_of(
        &mut self,
        elements: &[(Option<Syntax<'_>>, Syntax<'_>)],
        scope: &Scope<'_>,
    ) -> Result<Found, Failure> {
        let (mut items, mut names) = (Vec::new(), Vec::<Option<String>>::new());
        for (name, value) in elements {
            let inferred = || match value.kind() {
                "identifier" => Some(*value),
                "member_access_expression" => value.child_by_field_name("name"),
                _ => None,
            };
            let name = name.or_else(inferred).map(|name| scope.of(name).to_owned());
            names.push(name.filter(|name| !names.contains(&Some(name.clone()))));
            items.push(self.value(*value, scope)?);
        }
        if items.len() > 7 {
            return Err(failed("tuples of more than 7 elements cannot be made"));
        }
        let types: Vec<Ty> =
            items.iter().map(|item| if item.ty == Ty::Null { OBJECT } else { item.ty.clone() }).collect();
        let name = format!("System.ValueTuple`{}", types.len());
        let ty = self
            .ty_generic(&name, types.clone())
            .ok_or_else(|| failed("there are no tuples in this program"))?;
        let path = self.zeroed_with(&ty, &types, items, scope)?;
        let tuple = super::tuples::tuple_names(names);
        Ok(Found::Val(Val { data: Data::At(Path { tuple, ..path }), ty, literal: false }))
    }

    /// A struct of zeros whose fields `Item1`, … are then written.
    fn zeroed_with(
        &mut self,
        ty: &Ty,
        types: &[Ty],
        items: Vec<Val>,
        scope: &Scope<'_>,
    ) -> Result<Path, Failure> {
        let mut ready = Vec::new();
        for (item, ty) in items.into_iter().zip(types) {
            ready.push(self.in_program(item, ty, scope)?);
        }
        let path = self.zeroed(&scope.site, ty)?;
        for (position, (item, ty)) in ready.iter().zip(types).enumerate() {
            let value = super::super::values::bare(&self.fetch(&path)?)
                .ok_or_else(|| failed("the new tuple is null"))?;
            let name = format!("Item{}", position + 1);
            let step: Step = self.member(&value, &name).ok_or_else(|| failed("a tuple lacks an element"))?;
            self.write(&path.step(step, name), item, ty)?;
        }
        Ok(path)
    }
}

/// Whether it is a value of whatever type is wanted.
pub(super) fn takes_type(node: Syntax<'_>) -> bool {
    node.kind() == "implicit_object_creation_expression" || is_bare_default(node)
}

/// `default` without a type.
fn is_bare_default(node: Syntax<'_>) -> bool {
    node.kind() == "default_expression" && node.child_by_field_name("type").is_none()
}
