//! What each kind of expression means.

use dap_wire::Failure;
use tree_sitter::Node as Syntax;

use super::constant::literal;
use super::operators::Overflow;
use super::parse::at;
use super::{Constant, Data, Found, Scope, Val, failed};
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;

/// A child by its field's name.
pub(super) fn child<'t>(node: Syntax<'t>, field: &str) -> Result<Syntax<'t>, Failure> {
    node.child_by_field_name(field)
        .ok_or_else(|| failed(format!("a `{}` is incomplete", node.kind().replace('_', " "))))
}

/// The expressions inside a node, without punctuation and comments.
pub(super) fn inner(node: Syntax<'_>) -> Vec<Syntax<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| child.kind() != "comment").collect()
}

/// What is between parentheses; `this` and `base` are no named nodes.
pub(super) fn enclosed(node: Syntax<'_>) -> Result<Syntax<'_>, Failure> {
    node.named_child(0).or_else(|| node.child(1)).ok_or_else(|| failed("() is empty"))
}

impl Session {
    pub(super) fn walk(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Found, Failure> {
        let deeper = scope.deeper.get();
        if deeper == 0 {
            return Err(failed("the expression is nested too deeply"));
        }
        scope.deeper.set(deeper - 1);
        let found = self.step_into(node, scope).map_err(|failure| at(failure, node));
        scope.deeper.set(deeper);
        found
    }

    /// A part that must have a value.
    pub(super) fn value(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Val, Failure> {
        let found = self.walk(node, scope)?;
        self.valued(found, node, scope)
    }

    /// The value of what a part stands for.
    pub(super) fn valued(
        &mut self,
        found: Found,
        node: Syntax<'_>,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let text = || scope.of(node).to_owned();
        match self.lifted(found, node, scope) {
            Found::Val(val) => Ok(val),
            // Null, of the type that the whole chain has.
            Found::Skipped => {
                let whole = self.supposed(node, scope).map(|val| self.lifted(Found::Val(val), node, scope));
                let ty = match whole {
                    Some(Found::Val(val)) => val.ty,
                    _ => Ty::Null,
                };
                Ok(Val { ty, ..Val::null() })
            }
            Found::Type(ty) => Err(failed(format!("`{}` is a type, not a value", self.csharp(&ty)))),
            Found::Namespace(name) => Err(failed(format!("`{name}` is a namespace, not a value"))),
            Found::Group { name, .. } => {
                Err(failed(format!("`{name}` is a method; call it: `{}(…)`", text())))
            }
            Found::Nothing => Err(failed(format!("`{}` gives nothing, so it has no value", text()))),
        }
        .map_err(|failure| at(failure, node))
    }

    /// What `a?.b` gives may be null: a value type becomes nullable.
    pub(super) fn lifted(&self, found: Found, node: Syntax<'_>, scope: &Scope<'_>) -> Found {
        let mut chain = node;
        loop {
            chain = match chain.kind() {
                "member_access_expression" | "element_access_expression" if scope.is_conditional(chain) => {
                    break;
                }
                "member_access_expression" | "element_access_expression" => {
                    match chain.child_by_field_name("expression") {
                        Some(inner) => inner,
                        None => return found,
                    }
                }
                "invocation_expression" => match chain.child_by_field_name("function") {
                    Some(inner) => inner,
                    None => return found,
                },
                _ => return found,
            }
        }
        match found {
            Found::Val(val) if val.ty.is_value() && self.nullable(&val.ty).is_none() => {
                let ty = self.ty_generic("System.Nullable`1", vec![val.ty.clone()]);
                Found::Val(Val { ty: ty.unwrap_or(val.ty.clone()), ..val })
            }
            other => other,
        }
    }

    fn step_into(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Found, Failure> {
        let text = scope.of(node);
        match node.kind() {
            "identifier" => self.name(text, scope),
            "this" => self.name("this", scope),
            "base" => self.base_value(scope),
            "generic_name"
            | "predefined_type"
            | "alias_qualified_name"
            | "qualified_name"
            | "array_type"
            | "nullable_type"
            | "pointer_type" => self.generic_or_type(node, scope),
            "parenthesized_expression" => {
                let of = enclosed(node)?;
                match self.walk(of, scope)? {
                    Found::Skipped => self.valued(Found::Skipped, of, scope).map(Found::Val),
                    found => Ok(self.lifted(found, of, scope)),
                }
            }
            "checked_expression" => {
                let is_checked = text.trim_start().starts_with("checked");
                let before =
                    scope.overflow.replace(if is_checked { Overflow::Fails } else { Overflow::Ignored });
                let found = enclosed(node).and_then(|inner| self.value(inner, scope));
                scope.overflow.set(before);
                found.map(Found::Val)
            }
            "member_access_expression" => {
                let of = child(node, "expression")?;
                let (name, types) = self.member_name(child(node, "name")?, scope)?;
                let is_pointer = node.child(1).is_some_and(|dot| dot.kind() == "->");
                let found = self.walk(of, scope)?;
                let mut found = self.past_null(found, node, scope)?;
                if is_pointer && let Found::Val(pointer) = found {
                    found = Found::Val(self.behind(&pointer)?);
                }
                self.member_of(found, &name, types, scope)
            }
            "element_access_expression" => {
                let found = self.walk(child(node, "expression")?, scope)?;
                let found = self.past_null(found, node, scope)?;
                if matches!(found, Found::Skipped) {
                    return Ok(found);
                }
                let list = child(node, "subscript")?;
                self.element_of(found, list, scope)
            }
            "invocation_expression" => self.invocation(node, scope),
            "object_creation_expression" | "implicit_object_creation_expression" => {
                self.new_object(node, scope)
            }
            "array_creation_expression" | "implicit_array_creation_expression" => self.new_array(node, scope),
            "tuple_expression" => self.new_tuple(node, scope),
            "anonymous_object_creation_expression" => self.new_anonymous(node, scope),
            "cast_expression" => {
                let ty = self.type_at(child(node, "type")?, scope)?;
                let cast = self.value_for(&ty, child(node, "value")?, scope);
                match cast.and_then(|val| self.cast(val, &ty, scope)) {
                    Err(_) if scope.site.supposes => Ok(Found::Val(self.sample(&ty))),
                    cast => cast.map(Found::Val),
                }
            }
            "as_expression" => {
                let val = self.value(child(node, "left")?, scope)?;
                let ty = self.type_at(child(node, "right")?, scope)?;
                match self.is_of(&val, &ty)? {
                    true => Ok(Found::Val(Val { ty, ..val })),
                    false => Ok(Found::Val(Val::constant_of(Constant::Null, ty))),
                }
            }
            "is_expression" => {
                let val = self.value(child(node, "left")?, scope)?;
                // What the grammar takes for a type may be a constant: `x is Color.Red`.
                let right = child(node, "right")?;
                match self.type_at(right, scope) {
                    Ok(ty) => self.is_of(&val, &ty).map(|is| Found::Val(Val::bool(is))),
                    Err(failure) => match self.value(right, scope) {
                        Ok(constant) => {
                            self.equal_to_constant(&val, &constant, scope).map(|is| Found::Val(Val::bool(is)))
                        }
                        Err(_) => Err(failure),
                    },
                }
            }
            "is_pattern_expression" => {
                let val = self.value(child(node, "expression")?, scope)?;
                self.matched(&val, child(node, "pattern")?, scope).map(Found::Val)
            }
            "switch_expression" => self.switch(node, scope),
            "typeof_expression" => {
                let ty = self.type_at(child(node, "type")?, scope)?;
                self.type_object(&ty, scope).map(Found::Val)
            }
            "sizeof_expression" => {
                let ty = self.type_at(child(node, "type")?, scope)?;
                self.size_of(&ty, scope).map(Found::Val)
            }
            "default_expression" => match node.child_by_field_name("type") {
                Some(ty) => {
                    let ty = self.type_at(ty, scope)?;
                    self.default_of(&ty, scope).map(Found::Val)
                }
                None => Ok(Found::Val(Val::null())),
            },
            "conditional_expression" => self.conditional(node, scope),
            "prefix_unary_expression" => self.prefix(node, scope),
            "postfix_unary_expression" => {
                if text.ends_with('!') {
                    return self.walk(node.named_child(0).ok_or_else(|| failed("`!` stands alone"))?, scope);
                }
                self.step_by_one(node, text.ends_with("++"), false, scope)
            }
            "binary_expression" => self.binary(node, scope),
            "assignment_expression" => self.assign(node, scope).map(Found::Val),
            "interpolated_string_expression" => self.interpolated(node, scope).map(Found::Val),
            "string_literal"
            | "verbatim_string_literal"
            | "raw_string_literal"
            | "integer_literal"
            | "real_literal"
            | "character_literal"
            | "boolean_literal"
            | "null_literal" => {
                let constant = literal(node.kind(), text)
                    .ok_or_else(|| failed(format!("`{text}` does not fit any type of C#")))?;
                let mut val = Val::plain(constant);
                if let Data::Constant(Constant::Decimal(_)) = val.data {
                    val.ty = self.ty_named("System.Decimal").unwrap_or(val.ty);
                }
                Ok(Found::Val(Val { literal: true, ..val }))
            }
            "lambda_expression" | "anonymous_method_expression" => Err(failed(format!(
                "`{text}` is a lambda: it cannot be made in a program that is stopped"
            ))
            .hint(
                "LINQ methods such as Where, Select, Any, All, Count, First, Sum, Min, Max, OrderBy take one",
            )),
            "await_expression" => Err(failed(format!("`{text}` cannot be awaited while the program stands"))
                .hint("read `.Result` of a task that is complete")),
            // `F(a * b)`, which the grammar takes for a variable `b` of type `a*`.
            "declaration_expression" if child(node, "type")?.kind() == "pointer_type" => {
                let left = self.value(child(child(node, "type")?, "type")?, scope)?;
                let right = self.value(child(node, "name")?, scope)?;
                self.operate("*", left, right, scope).map(Found::Val)
            }
            "query_expression" => self.query(node, scope).map(Found::Val),
            "throw_expression" => Err(self.what_is_thrown(node, scope)?),
            "stackalloc_expression" | "implicit_stackalloc_expression" => {
                Err(failed(format!("`{text}`: stackalloc has no stack to be on in an evaluation"))
                    .hint("make an array: `new int[3]`"))
            }
            "with_expression" => Err(failed(format!("`{text}`: a with expression is not supported"))
                .hint("make a new one with `new`, or assign to the members of a copy")),
            kind => Err(failed(format!("`{text}` ({}) is not supported", kind.replace('_', " ")))),
        }
    }

    /// What stands before a `?.` or `?[`: null ends all that follows; what is not null is out of its nullable.
    pub(super) fn past_null(
        &self,
        found: Found,
        access: Syntax<'_>,
        scope: &Scope<'_>,
    ) -> Result<Found, Failure> {
        if !scope.is_conditional(access) {
            return Ok(found);
        }
        match found {
            Found::Skipped => Ok(Found::Skipped),
            Found::Val(val) if self.is_null_val(&val)? && !scope.site.supposes => Ok(Found::Skipped),
            Found::Val(val) => self.out_of_nullable(val).map(Found::Val),
            _ => Err(failed("`?.` needs a value before it")),
        }
    }

    /// A condition.
    pub(super) fn truth(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<bool, Failure> {
        let val = self.value(node, scope)?;
        let val = self.as_built_in(val, scope)?;
        match self.load(&val)? {
            Some(Constant::Bool(holds)) => Ok(holds),
            _ => Err(at(
                failed(format!("`{}` is `{}`, not `bool`", scope.of(node), self.csharp(&val.ty))),
                node,
            )),
        }
    }
}
