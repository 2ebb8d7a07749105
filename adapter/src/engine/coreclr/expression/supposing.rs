//! Static types of what is not evaluated: the branch of `a ? b : c` that is not chosen, what stands behind a `??` that is not
//! null, the arms of a `switch` that do not fit. They decide the type of the whole: `yes ? 1 : 2.5` is a double.
//!
//! Such a part is walked like any other, but nothing runs: a call gives a sample of what its method gives. What cannot be
//! known so has no type, and then what was chosen keeps its own.

use cordebug::value::element;
use dap_wire::Failure;
use tree_sitter::Node as Syntax;

use super::parse::Scope;
use super::walk::{child, inner};
use super::{Constant, Found, Val, failed};
use crate::engine::coreclr::calls::Site;
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::types::relations::numeric;
use crate::engine::coreclr::types::ty::STRING;

impl Session {
    /// What a part would give, as far as its type goes.
    pub(super) fn supposed(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Option<Val> {
        let bound = scope.bindings.borrow().len();
        let supposing = scope.under(Site { runs: false, supposes: true, ..scope.site });
        let found = self.value(node, &supposing).ok();
        scope.bindings.borrow_mut().truncate(bound);
        found
    }

    /// Refuses names that nothing bears, in a part that is not evaluated: the compiler looks there too.
    pub(super) fn check_names(&mut self, part: Syntax<'_>, scope: &Scope<'_>) -> Result<(), Failure> {
        if scope.site.supposes {
            return Ok(());
        }
        let declared = declared_around(part, scope);
        let supposing = scope.under(Site { runs: false, supposes: true, ..scope.site });
        let mut waiting = vec![part];
        while let Some(node) = waiting.pop() {
            if node.kind() != "identifier" {
                waiting.extend(values_in(node));
                continue;
            }
            let name = scope.of(node);
            if declared.contains(&name) {
                continue;
            }
            if let Err(failure) = self.name(name, &supposing)
                && failure.message == super::names::nothing_named(name)
            {
                return Err(super::parse::at(failure, node));
            }
        }
        Ok(())
    }

    /// Some value of a type; of a class or struct one without members.
    pub(crate) fn sample(&self, ty: &Ty) -> Val {
        let ty = ty.direct();
        let inner = self.nullable(ty).unwrap_or_else(|| ty.clone());
        let number = |kind: u32| Constant::int(1).cast(kind, false).unwrap_or(Constant::Null);
        let constant = match &inner {
            Ty::Primitive(element::BOOLEAN) => Constant::Bool(true),
            Ty::Primitive(kind) if numeric(*kind) => number(*kind),
            other if *other == STRING => Constant::Text("1".into()),
            other if self.is_decimal(other) => Constant::Decimal(rust_decimal::Decimal::ONE),
            other => self.enum_storage(other).map_or(Constant::Null, number),
        };
        Val::constant_of(constant, ty.clone())
    }

    /// What a member of a value that is not there would give.
    pub(super) fn sample_of_member(&self, of: &Ty, name: &str) -> Option<Val> {
        self.lineage(of).iter().find_map(|owner| {
            if let Some(property) = self.property_of(owner, name, false) {
                let method = self.method(&property.loaded, &property.owner, property.info.getter?)?;
                return Some(self.sample(&method.result));
            }
            let (loaded, token) = self.definition(owner)?;
            let metadata = &loaded.image()?.metadata;
            let field = metadata.fields(token).into_iter().find(|field| field.name == name)?;
            let ty = self.ty_of(&loaded, &metadata.field_type(field.token)?).with(owner.arguments(), &[]);
            Some(self.sample(&ty))
        })
    }

    /// The type that all of these values become by themselves; that of one of them, if there is one.
    fn best_of(&self, vals: &[Val]) -> Option<Ty> {
        let becomes =
            |from: &Val, to: &Ty| from.ty == Ty::Null || from.ty == *to || self.widens(&from.ty, to);
        let fits = |from: &Val, to: &Ty| self.fit(from, to).is_some();
        let own: Vec<Ty> = vals.iter().map(|val| val.ty.clone()).filter(|ty| *ty != Ty::Null).collect();
        let best = |types: &[Ty]| types.iter().find(|to| vals.iter().all(|from| becomes(from, to))).cloned();
        best(&own).or_else(|| own.iter().find(|to| vals.iter().all(|from| fits(from, to))).cloned()).or_else(
            || {
                // None of theirs: what an operator would take them as.
                let kinds = [element::I4, element::U4, element::I8, element::U8, element::R4, element::R8];
                let numbers = kinds.into_iter().map(Ty::Primitive).chain(self.ty_named("System.Decimal"));
                let numbers: Vec<Ty> = numbers.collect();
                let nullable = |ty: &Ty| self.ty_generic("System.Nullable`1", vec![ty.clone()]);
                best(&numbers).or_else(|| best(&numbers.iter().filter_map(nullable).collect::<Vec<_>>()))
            },
        )
    }

    /// A value that was chosen among others, in the type that all of them have in common. Objects keep their own: what they
    /// are counts anyway.
    fn among(&mut self, val: Val, others: Vec<Val>, scope: &Scope<'_>) -> Result<Val, Failure> {
        let vals: Vec<Val> = std::iter::once(val.clone()).chain(others).collect();
        match self.best_of(&vals) {
            Some(ty) if ty.is_value() && ty != val.ty => {
                self.converted(val, &ty, scope).map(|val| Val { literal: false, ..val })
            }
            _ => Ok(Val { literal: false, ..val }),
        }
    }

    /// `a ? b : c` has one type, whichever is chosen.
    pub(super) fn conditional(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Found, Failure> {
        let condition = self.truth(child(node, "condition")?, scope)?;
        let (chosen, other) = match condition {
            true => ("consequence", "alternative"),
            false => ("alternative", "consequence"),
        };
        let val = self.value(child(node, chosen)?, scope)?;
        self.check_names(child(node, other)?, scope)?;
        if !val.ty.is_value() && val.ty != Ty::Null {
            return Ok(Found::Val(Val { literal: false, ..val }));
        }
        let other = self.supposed(child(node, other)?, scope);
        self.among(val, other.into_iter().collect(), scope).map(Found::Val)
    }

    /// `a ?? b` (language specification, 12.15): the type of `a` without its `?` if `b` fits into it, else that of `b`.
    pub(super) fn coalesced(
        &mut self,
        left: Syntax<'_>,
        right: Syntax<'_>,
        scope: &Scope<'_>,
    ) -> Result<Found, Failure> {
        let first = self.value(left, scope)?;
        let is_null = self.is_null_val(&first)?;
        if !is_null {
            self.check_names(right, scope)?;
        }
        let Some(inside) = self.nullable(&first.ty) else {
            if first.ty.is_value() {
                return Err(failed(format!(
                    "`??` does not go with `{}`: a `{}` is never null",
                    scope.of(left),
                    self.csharp(&first.ty)
                )));
            }
            return if is_null { self.walk(right, scope) } else { Ok(Found::Val(first)) };
        };
        let (val, second) = match is_null {
            true => {
                let second = self.value(right, scope)?;
                (second.clone(), Some(second))
            }
            false => (self.out_of_nullable(first.clone())?, self.supposed(right, scope)),
        };
        let Some(second) = second else { return Ok(Found::Val(val)) };
        let ty = if self.fit(&second, &inside).is_some() {
            inside
        } else if self.fit(&second, &first.ty).is_some() {
            first.ty
        } else {
            second.ty
        };
        match ty.is_value() && ty != val.ty {
            true => self.converted(val, &ty, scope).map(|val| Found::Val(Val { literal: false, ..val })),
            false => Ok(Found::Val(Val { literal: false, ..val })),
        }
    }

    /// The result of a `switch` in the type that all its arms have in common.
    pub(super) fn in_type_of_arms(
        &mut self,
        found: Found,
        (of, others): (&Val, &[Syntax<'_>]),
        scope: &Scope<'_>,
    ) -> Result<Found, Failure> {
        let Found::Val(val) = found else { return Ok(found) };
        if !val.ty.is_value() && val.ty != Ty::Null {
            return Ok(Found::Val(val));
        }
        let mut vals = Vec::new();
        for arm in others {
            let pieces = inner(*arm);
            let (Some(pattern), Some(result)) = (pieces.first(), pieces.last()) else { continue };
            let bound = scope.bindings.borrow().len();
            self.suppose_names(of, *pattern, scope);
            vals.extend(self.supposed(*result, scope));
            scope.bindings.borrow_mut().truncate(bound);
        }
        self.among(val, vals, scope).map(Found::Val)
    }

    /// Binds the names that a pattern declares to samples of their types.
    fn suppose_names(&mut self, of: &Val, pattern: Syntax<'_>, scope: &Scope<'_>) {
        if let (Some(ty), Some(name)) =
            (pattern.child_by_field_name("type"), pattern.child_by_field_name("name"))
        {
            let val = match scope.of(ty) {
                "var" => Some(of.clone()),
                _ => self.type_at(ty, scope).ok().map(|ty| self.sample(&ty)),
            };
            let name = scope.of(name).to_owned();
            scope.bindings.borrow_mut().extend(val.map(|val| (name, val)));
        }
        for part in inner(pattern) {
            self.suppose_names(of, part, scope);
        }
    }
}

/// The parts of an expression that are values themselves, where a name is a value's.
fn values_in(node: Syntax<'_>) -> Vec<Syntax<'_>> {
    let field = |name: &str| node.child_by_field_name(name).into_iter().collect::<Vec<_>>();
    match node.kind() {
        "parenthesized_expression"
        | "prefix_unary_expression"
        | "postfix_unary_expression"
        | "checked_expression"
        | "conditional_expression"
        | "bracketed_argument_list"
        | "argument_list" => inner(node),
        "binary_expression" => [field("left"), field("right")].concat(),
        "argument" => inner(node).pop().into_iter().collect(),
        "member_access_expression" => field("expression"),
        "element_access_expression" => [field("expression"), field("subscript")].concat(),
        "cast_expression" => field("value"),
        "as_expression" | "is_expression" => field("left"),
        "is_pattern_expression" => field("expression"),
        "invocation_expression" => {
            // A function of the code itself has a name that is not known here.
            let function = field("function").into_iter().filter(|function| function.kind() != "identifier");
            function.chain(field("arguments")).collect()
        }
        _ => Vec::new(),
    }
}

/// Names that patterns, lambdas and `out` arguments declare anywhere in the expression.
fn declared_around<'s>(part: Syntax<'_>, scope: &'s Scope<'_>) -> Vec<&'s str> {
    let mut root = part;
    while let Some(outer) = root.parent() {
        root = outer;
    }
    let declares = |kind: &str| {
        ["pattern", "declaration", "designation", "lambda", "parameter", "clause"]
            .iter()
            .any(|word| kind.contains(word))
    };
    let (mut waiting, mut found) = (vec![(root, false)], Vec::new());
    while let Some((node, within)) = waiting.pop() {
        if within && node.kind() == "identifier" {
            found.push(scope.of(node));
        }
        // What a pattern is for is no part of what it declares.
        let is_test = node.kind() == "is_pattern_expression";
        let within = (within || declares(node.kind())) && !is_test;
        waiting.extend(inner(node).into_iter().map(|child| (child, within)));
    }
    found
}
