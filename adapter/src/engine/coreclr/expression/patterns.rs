//! Patterns: `is` with more than a type, and `switch` expressions.

use dap_wire::Failure;
use tree_sitter::Node as Syntax;

use super::walk::{child, inner};
use super::{Constant, Found, Given, Passed, Scope, Val, failed};
use crate::engine::coreclr::session::Session;

/// Operators that bind less tightly than `is`.
const LOOSER: [&str; 8] = ["&&", "||", "??", "==", "!=", "&", "|", "^"];

impl Session {
    /// `value is pattern`. The grammar takes `x is 1 && y` for `x is (1 && y)`.
    pub(super) fn matched(
        &mut self,
        val: &Val,
        pattern: Syntax<'_>,
        scope: &Scope<'_>,
    ) -> Result<Val, Failure> {
        let wanted = match pattern.kind() {
            "constant_pattern" => inner(pattern).pop().ok_or_else(|| failed("a pattern is empty"))?,
            _ => pattern,
        };
        let operator = wanted.child_by_field_name("operator").map(|sign| scope.of(sign).to_owned());
        let Some(operator) =
            operator.filter(|sign| wanted.kind() == "binary_expression" && LOOSER.contains(&sign.as_str()))
        else {
            return self.fits_written_as_value(val, pattern, scope).map(Val::bool);
        };
        let (left, right) = (child(wanted, "left")?, child(wanted, "right")?);
        let first = self.matched(val, left, scope)?;
        match (operator.as_str(), self.load(&first)?) {
            ("&&", Some(Constant::Bool(false))) | ("||", Some(Constant::Bool(true))) => Ok(first),
            ("&&" | "||", _) => self.truth(right, scope).map(Val::bool),
            ("??", _) => Ok(first),
            _ => {
                let second = self.value(right, scope)?;
                self.operate(&operator, first, second, scope)
            }
        }
    }

    pub(super) fn fits_pattern(
        &mut self,
        val: &Val,
        pattern: Syntax<'_>,
        scope: &Scope<'_>,
    ) -> Result<bool, Failure> {
        match pattern.kind() {
            "discard" => Ok(true),
            "var_pattern" => {
                let names = inner(pattern).pop().ok_or_else(|| failed("`var` needs a name"))?;
                self.fits_names(val, names, scope)
            }
            "list_pattern" => self.fits_list(val, pattern, scope),
            "constant_pattern" => {
                let wanted = inner(pattern).pop().ok_or_else(|| failed("a pattern is empty"))?;
                self.fits_written_as_value(val, wanted, scope)
            }
            "type_pattern" => {
                let ty = self.type_at(child(pattern, "type")?, scope)?;
                self.is_of(val, &ty)
            }
            "declaration_pattern" => self.fits_declaration(val, pattern, scope),
            "negated_pattern" => {
                let of = inner(pattern).pop().ok_or_else(|| failed("`not` needs a pattern"))?;
                self.fits_pattern(val, of, scope).map(|fits| !fits)
            }
            "parenthesized_pattern" => {
                let of = inner(pattern).pop().ok_or_else(|| failed("() is empty"))?;
                self.fits_pattern(val, of, scope)
            }
            "and_pattern" => Ok(self.fits_pattern(val, child(pattern, "left")?, scope)?
                && self.fits_pattern(val, child(pattern, "right")?, scope)?),
            "or_pattern" => Ok(self.fits_pattern(val, child(pattern, "left")?, scope)?
                || self.fits_pattern(val, child(pattern, "right")?, scope)?),
            "relational_pattern" => {
                let operator = pattern.child(0).map(|sign| scope.of(sign).to_owned()).unwrap_or_default();
                let to = inner(pattern).pop().ok_or_else(|| failed("a comparison needs a value"))?;
                let to = self.value(to, scope)?;
                if self.is_null_val(val)? {
                    return Ok(false);
                }
                let holds = self.operate(&operator, val.clone(), to, scope)?;
                Ok(self.load(&holds)? == Some(Constant::Bool(true)))
            }
            "recursive_pattern" => self.fits_properties(val, pattern, scope),
            other => {
                Err(failed(format!("`{}` ({}) is not supported", scope.of(pattern), other.replace('_', " "))))
            }
        }
    }

    /// `Type name`, or `var name`, which fits everything.
    fn fits_declaration(
        &mut self,
        val: &Val,
        pattern: Syntax<'_>,
        scope: &Scope<'_>,
    ) -> Result<bool, Failure> {
        let ty = child(pattern, "type")?;
        let names = inner(pattern).pop().filter(|names| names.kind() == "parenthesized_variable_designation");
        if let (Some(names), "var") = (names, scope.of(ty)) {
            return self.fits_names(val, names, scope);
        }
        let bound = match scope.of(ty) {
            "var" => val.clone(),
            _ => {
                let ty = self.type_at(ty, scope)?;
                if !self.is_of(val, &ty)? {
                    return Ok(false);
                }
                Val { ty, ..self.out_of_nullable(val.clone())? }
            }
        };
        if let Some(name) =
            pattern.child_by_field_name("name").map(|name| scope.of(name)).filter(|name| *name != "_")
        {
            scope.bindings.borrow_mut().push((name.to_owned(), bound));
        }
        Ok(true)
    }

    /// What the grammar takes for a value: `(1, var x)` for a tuple, `Point(1, 2)` for a call.
    fn fits_written_as_value(
        &mut self,
        val: &Val,
        node: Syntax<'_>,
        scope: &Scope<'_>,
    ) -> Result<bool, Failure> {
        match node.kind() {
            "tuple_expression" => self.fits_positions(val, &inner(node), scope),
            // `var (a, b)`, which looks like a call.
            "invocation_expression" if scope.of(child(node, "function")?) == "var" => {
                self.fits_all_names(val, &inner(child(node, "arguments")?), scope)
            }
            "invocation_expression" => {
                let ty = self.type_at(child(node, "function")?, scope)?;
                if !self.is_of(val, &ty)? {
                    return Ok(false);
                }
                let val = Val { ty, ..self.out_of_nullable(val.clone())? };
                self.fits_positions(&val, &inner(child(node, "arguments")?), scope)
            }
            "declaration_expression" => self.fits_declaration(val, node, scope),
            "identifier" if scope.of(node) == "_" => Ok(true),
            kind if kind == "discard" || kind.ends_with("_pattern") => self.fits_pattern(val, node, scope),
            _ => match self.walk(node, scope)? {
                Found::Type(ty) => self.is_of(val, &ty),
                Found::Val(constant) => self.equal_to_constant(val, &constant, scope),
                _ => Err(failed(format!("`{}` is no constant", scope.of(node)))),
            },
        }
    }

    /// `var name`, `var (a, b)`, `var _`: names and nothing else.
    fn fits_names(&mut self, val: &Val, node: Syntax<'_>, scope: &Scope<'_>) -> Result<bool, Failure> {
        match node.kind() {
            "argument" | "subpattern" | "constant_pattern" => {
                let name = inner(node).pop().ok_or_else(|| failed("`var` needs a name"))?;
                self.fits_names(val, name, scope)
            }
            "parenthesized_variable_designation" | "tuple_expression" => {
                self.fits_all_names(val, &inner(node), scope)
            }
            _ => {
                let name = scope.of(node);
                if name != "_" {
                    scope.bindings.borrow_mut().push((name.to_owned(), val.clone()));
                }
                Ok(true)
            }
        }
    }

    pub(super) fn fits_all_names(
        &mut self,
        val: &Val,
        names: &[Syntax<'_>],
        scope: &Scope<'_>,
    ) -> Result<bool, Failure> {
        if self.is_null_val(val)? {
            return Ok(false);
        }
        let val = self.out_of_nullable(val.clone())?;
        for (element, name) in self.deconstructed(&val, names.len(), scope)?.iter().zip(names) {
            if !self.fits_names(element, *name, scope)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `[1, .., var last]`: for what has a length and can be indexed.
    fn fits_list(&mut self, val: &Val, node: Syntax<'_>, scope: &Scope<'_>) -> Result<bool, Failure> {
        if self.is_null_val(val)? {
            return Ok(false);
        }
        let mut cursor = node.walk();
        let is_slice = |part: &Syntax<'_>| scope.of(*part).starts_with("..");
        let name = node.children(&mut cursor).skip_while(|part| part.kind() != "]").nth(1);
        let mut cursor = node.walk();
        let parts: Vec<Syntax<'_>> = node
            .children(&mut cursor)
            .take_while(|part| part.kind() != "]")
            .filter(|part| part.is_named() && part.kind() != "comment" || is_slice(part))
            .collect();
        let slice = parts.iter().position(is_slice);
        let length = self.length_of(val, scope)?;
        let wanted = i128::try_from(parts.len()).unwrap_or(i128::MAX);
        let fits = if slice.is_some() { length >= wanted - 1 } else { length == wanted };
        if !fits {
            return Ok(false);
        }
        for (position, part) in (0i128..).zip(&parts) {
            let behind = wanted - 1 - position;
            let int = |value: i128| Val::int(i32::try_from(value).unwrap_or(i32::MAX));
            let fits = match slice.map_or(-1, |at| i128::try_from(at).unwrap_or(-1)) {
                at if at == position => {
                    let Some(name) = part.child_by_field_name("name") else { continue };
                    let part = self.sliced(val, position, length - behind, scope)?;
                    self.fits_names(&part, name, scope)?
                }
                at => {
                    let index = if at >= 0 && position > at { length - 1 - behind } else { position };
                    let item = self.indexed(val, vec![int(index)], scope)?;
                    let item = self.named_as_in(item, val);
                    self.fits_written_as_value(&item, *part, scope)?
                }
            };
            if !fits {
                return Ok(false);
            }
        }
        match name {
            Some(name) => self.fits_names(val, name, scope),
            None => Ok(true),
        }
    }

    /// `(pattern, pattern)`: for the elements of a tuple, or what `Deconstruct` gives.
    fn fits_positions(
        &mut self,
        val: &Val,
        patterns: &[Syntax<'_>],
        scope: &Scope<'_>,
    ) -> Result<bool, Failure> {
        if self.is_null_val(val)? {
            return Ok(false);
        }
        let val = self.out_of_nullable(val.clone())?;
        let elements = self.deconstructed(&val, patterns.len(), scope)?;
        for (element, pattern) in elements.iter().zip(patterns) {
            // Behind a name, if it has one.
            let pattern = match pattern.kind() {
                "subpattern" | "argument" => inner(*pattern).pop().unwrap_or(*pattern),
                _ => *pattern,
            };
            if !self.fits_written_as_value(element, pattern, scope)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn deconstructed(
        &mut self,
        val: &Val,
        count: usize,
        scope: &Scope<'_>,
    ) -> Result<Vec<Val>, Failure> {
        let mut elements = Vec::new();
        let ty = self.actual(val)?;
        if self.full_name(&ty).starts_with("System.ValueTuple`") {
            let arity = self.arity(&ty);
            if arity != count {
                return Err(failed(format!("the tuple has {arity} elements, not {count}")));
            }
            for position in 1..=count {
                let name = format!("Item{position}");
                match self.member_of(Found::Val(val.clone()), &name, Vec::new(), scope)? {
                    Found::Val(element) => elements.push(element),
                    _ => return Err(failed(format!("the tuple has no element {position}"))),
                }
            }
            return Ok(elements);
        }
        let group = self.member_of(Found::Val(val.clone()), "Deconstruct", Vec::new(), scope)?;
        let before = scope.bindings.borrow().len();
        let declared = |position| Passed::Declared { name: Some(format!("({position})")), ty: None };
        let given = (0..count).map(|position| Given { name: None, value: declared(position) }).collect();
        self.invoke(group, given, scope)?;
        let mut bindings = scope.bindings.borrow_mut();
        elements.extend(bindings.drain(before..).map(|(_, element)| element));
        Ok(elements)
    }

    /// `{ Length: 3 }`, with or without a type; also behind positions.
    fn fits_properties(
        &mut self,
        val: &Val,
        pattern: Syntax<'_>,
        scope: &Scope<'_>,
    ) -> Result<bool, Failure> {
        if self.is_null_val(val)? {
            return Ok(false);
        }
        let mut val = self.out_of_nullable(val.clone())?;
        let ty = pattern.child_by_field_name("type");
        if let Some(ty) = ty
            && scope.of(ty) == "var"
        {
            let names = inner(pattern).into_iter().find(|part| part.kind() == "positional_pattern_clause");
            return self.fits_all_names(&val, &names.map(inner).unwrap_or_default(), scope);
        }
        if let Some(ty) = ty {
            let ty = self.type_at(ty, scope)?;
            if !self.is_of(&val, &ty)? {
                return Ok(false);
            }
            val.ty = ty;
        }
        for clause in inner(pattern) {
            if clause.kind() == "positional_pattern_clause"
                && !self.fits_positions(&val, &inner(clause), scope)?
            {
                return Ok(false);
            }
            if clause.kind() != "property_pattern_clause" {
                continue;
            }
            for part in inner(clause) {
                let parts = inner(part);
                let [name, wanted] = parts.as_slice() else {
                    return Err(failed("a property pattern is `Name: pattern`"));
                };
                // `Friend.Name`: null on the way does not fit.
                let mut member = val.clone();
                for name in scope.of(*name).split('.').map(str::trim) {
                    if self.is_null_val(&member)? {
                        return Ok(false);
                    }
                    let of = Found::Val(self.out_of_nullable(member)?);
                    member = match self.member_of(of, name, Vec::new(), scope)? {
                        Found::Val(member) => member,
                        _ => return Err(failed(format!("`{name}` has no value"))),
                    };
                }
                if !self.fits_written_as_value(&member, *wanted, scope)? {
                    return Ok(false);
                }
            }
        }
        if let Some(name) = pattern.child_by_field_name("name") {
            scope.bindings.borrow_mut().push((scope.of(name).to_owned(), val));
        }
        Ok(true)
    }

    /// Whether a value is a constant, as patterns ask it: an object is one only if it is of the constant's type, and NaN is
    /// NaN.
    pub(super) fn equal_to_constant(
        &mut self,
        val: &Val,
        constant: &Val,
        scope: &Scope<'_>,
    ) -> Result<bool, Failure> {
        let (val_null, wanted_null) = (self.is_null_val(val)?, self.is_null_val(constant)?);
        if val_null || wanted_null {
            return Ok(val_null && wanted_null);
        }
        match (self.load(val)?, self.load(constant)?) {
            (Some(Constant::Text(a)), Some(Constant::Text(b))) => Ok(a == b),
            (Some(Constant::Text(_)), _) | (_, Some(Constant::Text(_))) | (None, _) => Ok(false),
            _ if !val.ty.is_value() && self.actual(val)? != self.actual(constant)? => Ok(false),
            (Some(Constant::Double(a)), Some(Constant::Double(b))) if a.is_nan() => Ok(b.is_nan()),
            (Some(Constant::Single(a)), Some(Constant::Single(b))) if a.is_nan() => Ok(b.is_nan()),
            _ => self.equal(val, constant, scope),
        }
    }

    pub(super) fn switch(&mut self, node: Syntax<'_>, scope: &Scope<'_>) -> Result<Found, Failure> {
        let mut parts = inner(node).into_iter();
        let of = parts.next().ok_or_else(|| failed("`switch` needs a value"))?;
        let val = self.value(of, scope)?;
        let arms: Vec<Syntax<'_>> = parts.filter(|part| part.kind() == "switch_expression_arm").collect();
        for (position, arm) in arms.iter().enumerate() {
            let pieces = inner(*arm);
            let (Some(pattern), Some(result)) = (pieces.first(), pieces.last()) else { continue };
            let before = scope.bindings.borrow().len();
            let mut fits = self.fits_pattern(&val, *pattern, scope)?;
            if let Some(when) = pieces.iter().find(|piece| piece.kind() == "when_clause")
                && fits
            {
                let condition = inner(*when).pop().ok_or_else(|| failed("`when` needs a condition"))?;
                fits = self.truth(condition, scope)?;
            }
            if fits {
                let found = self.walk(*result, scope);
                scope.bindings.borrow_mut().truncate(before);
                let mut others = arms.clone();
                others.remove(position);
                return self.in_type_of_arms(found?, (&val, &others), scope);
            }
            scope.bindings.borrow_mut().truncate(before);
        }
        Err(failed("SwitchExpressionException: no arm fits"))
    }
}
