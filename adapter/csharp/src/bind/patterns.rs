//! Patterns (language specification, 11): the tests of a value, and the names of its parts.
//!
//! Not here: the arms of `switch` expressions ([`super::conditional`]). Runs no test: `eval::patterns` does.

use super::binder::{Bind, Binder, DeclaredLocal, reject};
use super::classification::Classification;
use super::deconstruction::Deconstruction;
use super::receivers::Receivers;
use super::source_argument::{SourceArgument, SourceArgumentValue};
use super::typed::{ConversionKind, Typed, TypedKind, TypedPattern};
use crate::constant::Constant;
use crate::operators::BinaryOp;
use crate::syntax::Span;
use crate::syntax::tree::{
    ArgumentMode, Designation, Expr, ListItem, Pattern, PatternKind, Recursive, TypeName, TypeNameKind,
};
use crate::types::BOOL;

impl Binder<'_> {
    /// Binds the expression `of is pattern`.
    pub(super) fn is(&mut self, of: &Expr, pattern: &Pattern, span: Span) -> Bind<Typed> {
        let of = self.value(of)?;
        let (slot, input) = self.pattern_input(&of);
        let test = match self.is_other_type(pattern, &input)? {
            true => TypedPattern::Not(Box::new(TypedPattern::Always)),
            false => self.pattern(pattern, &input)?.0,
        };
        Ok(Typed::new(TypedKind::Is(of.boxed(), slot, Box::new(test)), BOOL, span))
    }

    /// Whether `is` has a type alone, which the value never has: the result is false, where a pattern of that
    /// type is an error (12.14.12).
    fn is_other_type(&mut self, pattern: &Pattern, input: &Typed) -> Bind<bool> {
        let (PatternKind::Type(name) | PatternKind::TypeOrConstant(name, _)) = &pattern.kind else {
            return Ok(false);
        };
        if self.is_constant_name(name) {
            return Ok(false);
        }
        // Of a name that is not a type's, the pattern reports the error.
        Ok(self.type_of_name(name).is_ok_and(|ty| !self.may_match(&input.ty, &ty)))
    }

    /// Binds a pattern to its test, and to the value with the type that it has if the test succeeds.
    pub(super) fn pattern(&mut self, pattern: &Pattern, input: &Typed) -> Bind<(TypedPattern, Typed)> {
        let same = || input.clone();
        Ok(match &pattern.kind {
            PatternKind::Discard => (TypedPattern::Always, same()),
            PatternKind::Var(names) => (self.names(names, input, pattern.span)?, same()),
            PatternKind::Declaration(ty, names) if ty.kind == TypeNameKind::Inferred => {
                (self.names(names, input, pattern.span)?, same())
            }
            PatternKind::Declaration(ty, names) => {
                let (test, value) = self.type_test(ty, input)?;
                let TypedKind::Slot(slot) = value.kind else { return Ok((test, value)) };
                match names {
                    Designation::Name(name) => {
                        let ty = value.ty.clone();
                        self.locals.push(DeclaredLocal { name: name.clone(), slot, ty });
                    }
                    Designation::Discard => {}
                    Designation::Tuple(_) => {
                        return reject("CS8652", "A type is followed by one name", pattern.span);
                    }
                }
                (test, value)
            }
            PatternKind::Type(ty) => self.type_test(ty, input)?,
            PatternKind::TypeOrConstant(ty, expr) => match self.is_constant_name(ty) {
                true => (self.constant_test(expr, input)?, same()),
                false => match self.type_of_name(ty) {
                    Ok(_) => self.type_test(ty, input)?,
                    Err(refusal) => match self.constant_test(expr, input) {
                        Ok(test) => (test, same()),
                        // Of two errors, the one about the name is reported.
                        Err(other) => return Err(if self.part(expr).is_ok() { other } else { refusal }),
                    },
                },
            },
            PatternKind::Constant(expr) => (self.constant_test(expr, input)?, same()),
            PatternKind::Relational(op, expr) => self.relational(*op, expr, input, pattern.span)?,
            PatternKind::Not(of) => {
                let (test, _) = self.pattern(of, input)?;
                (TypedPattern::Not(Box::new(test)), same())
            }
            PatternKind::And(all) => {
                let (mut tests, mut value) = (Vec::new(), same());
                for one in all {
                    let (test, narrowed) = self.pattern(one, &value)?;
                    tests.push(test);
                    value = narrowed;
                }
                (TypedPattern::All(tests), value)
            }
            PatternKind::Or(all) => {
                let tests = all.iter().map(|one| Ok(self.pattern(one, input)?.0)).collect::<Bind<_>>()?;
                (TypedPattern::Any(tests), same())
            }
            PatternKind::Recursive(recursive) => self.recursive(recursive, input, pattern.span)?,
            PatternKind::List { items, name } => self.list(items, name.as_ref(), input, pattern.span)?,
        })
    }

    /// Whether a simple name is a variable's, which may be a constant.
    fn is_constant_name(&self, ty: &TypeName) -> bool {
        match &ty.kind {
            TypeNameKind::Named(names, false) => match names.as_slice() {
                [only] => only.arity() == 0 && self.variable(&only.text, only.span).is_some(),
                _ => false,
            },
            _ => false,
        }
    }

    /// Declares a name, or several names for the elements of a tuple.
    fn names(&mut self, names: &Designation, input: &Typed, span: Span) -> Bind<TypedPattern> {
        match names {
            Designation::Discard => Ok(TypedPattern::Always),
            Designation::Name(name) => {
                let slot = self.declare(name, input.ty.clone());
                Ok(TypedPattern::Keep(slot))
            }
            Designation::Tuple(all) => {
                let mut tests = self.not_null(input);
                let value = self.unwrap_nullable(input, &mut tests);
                let mut deconstruction = Deconstruction::new(self, span);
                let parts = deconstruction.parts(&value, all.len())?;
                let steps = deconstruction.into_steps();
                self.run_before(steps, &mut tests);
                for (part, names) in parts.into_iter().zip(all) {
                    let (slot, kept) = self.keep_part(&part);
                    let test = self.names(names, &kept, span)?;
                    tests.push(TypedPattern::Part(part, slot, Box::new(test)));
                }
                Ok(TypedPattern::All(tests))
            }
        }
    }

    /// The slot of the input of patterns, and the input as the patterns use it. A local variable or parameter
    /// is used in its place, anything else is copied.
    pub(super) fn pattern_input(&mut self, of: &Typed) -> (u32, Typed) {
        let slot = self.slot();
        if !(Receivers { binder: self }).is_writable_local(of) {
            self.pattern_copies.push(slot);
        }
        (slot, Typed::new(TypedKind::Slot(slot), of.ty.clone(), of.span))
    }

    fn keep_part(&mut self, part: &Typed) -> (u32, Typed) {
        let slot = self.slot();
        self.pattern_copies.push(slot);
        (slot, Typed::new(TypedKind::Slot(slot), part.ty.clone(), part.span))
    }

    fn run_before(&mut self, steps: Vec<Typed>, tests: &mut Vec<TypedPattern>) {
        for step in steps {
            let slot = self.slot();
            tests.push(TypedPattern::Part(step, slot, Box::new(TypedPattern::Always)));
        }
    }

    fn not_null(&self, input: &Typed) -> Vec<TypedPattern> {
        let may_be_null = !input.ty.is_value() || self.types.nullable(&input.ty).is_some();
        if may_be_null { vec![TypedPattern::NotNull] } else { Vec::new() }
    }

    /// Unwraps a nullable into a new slot.
    fn unwrap_nullable(&mut self, input: &Typed, tests: &mut Vec<TypedPattern>) -> Typed {
        let Some(inner) = self.types.nullable(&input.ty) else { return input.clone() };
        let part =
            Typed::new(TypedKind::Convert(input.clone().boxed(), ConversionKind::Unwrap), inner, input.span);
        let (slot, kept) = self.keep_part(&part);
        tests.push(TypedPattern::Part(part, slot, Box::new(TypedPattern::Always)));
        kept
    }

    fn type_test(&mut self, name: &TypeName, input: &Typed) -> Bind<(TypedPattern, Typed)> {
        let ty = self.type_of_name(name)?;
        if !self.may_match(&input.ty, &ty) {
            let (from, to) = (self.type_text(&input.ty), self.type_text(&ty));
            return reject(
                "CS8121",
                format!("An expression of type '{from}' cannot be handled by a pattern of type '{to}'."),
                name.span,
            );
        }
        let slot = self.slot();
        self.pattern_copies.push(slot);
        // `is int?` tests for an int.
        let inner = self.types.inside(&ty);
        Ok((TypedPattern::Type(inner.clone(), slot), Typed::new(TypedKind::Slot(slot), inner, input.span)))
    }

    fn constant_test(&mut self, expr: &Expr, input: &Typed) -> Bind<TypedPattern> {
        let value = self.value(expr)?;
        let Some(constant) = value.constant().cloned() else {
            return reject("CS9135", "A constant value is expected in a pattern", expr.span);
        };
        if constant == Constant::Null {
            if input.ty.is_value() && self.types.nullable(&input.ty).is_none() {
                return self.reject_conversion(&value, &input.ty);
            }
            return Ok(TypedPattern::Null);
        }
        let inside = self.types.inside(&input.ty);
        // Characters of a span are compared with a text.
        if self.types.is_span(&inside) && matches!(constant, Constant::Text(_)) {
            return super::binder::leave_to_compiler("a text as a pattern for a span", expr.span);
        }
        if inside.is_value() {
            if self.implicit_conversion(&value, &inside).is_none() {
                return self.reject_conversion(&value, &input.ty);
            }
            return Ok(TypedPattern::Constant(self.convert(value, &inside)?));
        }
        if !self.may_be(&input.ty, &value.ty) {
            return self.reject_conversion(&value, &input.ty);
        }
        Ok(TypedPattern::Constant(value))
    }

    fn relational(
        &mut self,
        op: BinaryOp,
        expr: &Expr,
        input: &Typed,
        span: Span,
    ) -> Bind<(TypedPattern, Typed)> {
        let to = self.value(expr)?;
        if to.constant().is_none() {
            return reject("CS9135", "A constant value is expected in a pattern", expr.span);
        }
        let mut tests = Vec::new();
        let inside = self.types.inside(&input.ty);
        let (value, to) = match inside.is_value() {
            true => {
                // Compared as the input's type: 3 is not a constant of `char`, nor 3L one of `uint`.
                let to = self.convert(to, &inside)?;
                tests.extend(self.not_null(input));
                (self.unwrap_nullable(input, &mut tests), to)
            }
            // An object is compared with its type, too.
            false => {
                if !self.may_be(&input.ty, &to.ty) {
                    return self.reject_conversion(&to, &input.ty);
                }
                let slot = self.slot();
                tests.push(TypedPattern::Type(to.ty.clone(), slot));
                (Typed::new(TypedKind::Slot(slot), to.ty.clone(), input.span), to)
            }
        };
        super::refusals::require_ordered(self, &to, expr.span)?;
        let holds = self.binary(op, value.clone(), to, span)?;
        tests.push(TypedPattern::Holds(holds));
        Ok((TypedPattern::All(tests), value))
    }

    fn recursive(&mut self, of: &Recursive, input: &Typed, span: Span) -> Bind<(TypedPattern, Typed)> {
        let mut tests = Vec::new();
        let value = match &of.ty {
            Some(ty) if ty.kind != TypeNameKind::Inferred => {
                let (test, value) = self.type_test(ty, input)?;
                tests.push(test);
                value
            }
            _ => {
                tests.extend(self.not_null(input));
                self.unwrap_nullable(input, &mut tests)
            }
        };
        if let Some(positions) = &of.positions {
            let mut deconstruction = Deconstruction::new(self, span);
            let parts = deconstruction.parts(&value, positions.len())?;
            let steps = deconstruction.into_steps();
            self.run_before(steps, &mut tests);
            for (part, (_, pattern)) in parts.into_iter().zip(positions) {
                let (slot, kept) = self.keep_part(&part);
                let (test, _) = self.pattern(pattern, &kept)?;
                tests.push(TypedPattern::Part(part, slot, Box::new(test)));
            }
        }
        for (names, pattern) in &of.properties {
            tests.push(self.property_test(&value, names, pattern)?);
        }
        match &of.name {
            Some(Designation::Name(name)) => match value.kind {
                TypedKind::Slot(slot) => {
                    let ty = value.ty.clone();
                    self.locals.push(DeclaredLocal { name: name.clone(), slot, ty });
                }
                _ => tests.push(TypedPattern::Keep(self.declare(name, value.ty.clone()))),
            },
            Some(Designation::Tuple(_)) => return reject("CS1001", "Identifier expected", span),
            Some(Designation::Discard) | None => {}
        }
        Ok((TypedPattern::All(tests), value))
    }

    /// Binds `Friend.Name: pattern`, which does not match if a part of the path is null.
    fn property_test(
        &mut self,
        of: &Typed,
        names: &[std::rc::Rc<str>],
        pattern: &Pattern,
    ) -> Bind<TypedPattern> {
        let Some((name, rest)) = names.split_first() else { return Ok(TypedPattern::Always) };
        let part = match self.own_member(of, name, &[], pattern.span)? {
            Some(Classification::Value(part)) => part,
            _ => match self
                .narrow(of)
                .map(|narrow| self.own_member(&narrow, name, &[], pattern.span))
                .transpose()?
            {
                Some(Some(Classification::Value(part))) => part,
                _ => {
                    let owner = self.type_text(&of.ty);
                    return reject(
                        "CS0117",
                        format!("'{owner}' does not contain a definition for '{name}'"),
                        pattern.span,
                    );
                }
            },
        };
        let (slot, kept) = self.keep_part(&part);
        let test = match rest.is_empty() {
            true => self.pattern(pattern, &kept)?.0,
            false => {
                let mut tests = self.not_null(&kept);
                let value = self.unwrap_nullable(&kept, &mut tests);
                tests.push(self.property_test(&value, rest, pattern)?);
                TypedPattern::All(tests)
            }
        };
        Ok(TypedPattern::Part(part, slot, Box::new(test)))
    }

    /// Binds `[1, .. var rest, 2]`, for types with a length and an indexer.
    fn list(
        &mut self,
        items: &[ListItem],
        name: Option<&Designation>,
        input: &Typed,
        span: Span,
    ) -> Bind<(TypedPattern, Typed)> {
        let mut tests = self.not_null(input);
        let value = self.unwrap_nullable(input, &mut tests);
        let slice = items.iter().position(|item| matches!(item, ListItem::Slice(_)));
        let length = self.length(&value, span)?;
        let (slot, length_kept) = self.keep_part(&length);
        let count = i32::try_from(items.len()).unwrap_or(i32::MAX);
        let (op, least) = match slice {
            Some(_) => (BinaryOp::GreaterOrEqual, count - 1),
            None => (BinaryOp::Equal, count),
        };
        let holds = self.binary(op, length_kept.clone(), self.int(least, span), span)?;
        tests.push(TypedPattern::Part(length, slot, Box::new(TypedPattern::Holds(holds))));
        for (at, item) in items.iter().enumerate() {
            let from_start = self.int(i32::try_from(at).unwrap_or(i32::MAX), span);
            let behind = i32::try_from(items.len() - 1 - at).unwrap_or(i32::MAX);
            match item {
                ListItem::Slice(None) => {}
                ListItem::Slice(Some(pattern)) => {
                    let end =
                        self.binary(BinaryOp::Subtract, length_kept.clone(), self.int(behind, span), span)?;
                    let part = self.slice_value(value.clone(), from_start, end, span)?;
                    let (slot, kept) = self.keep_part(&part);
                    let (test, _) = self.pattern(pattern, &kept)?;
                    tests.push(TypedPattern::Part(part, slot, Box::new(test)));
                }
                ListItem::Pattern(pattern) => {
                    let index = match slice.is_some_and(|slice| at > slice) {
                        true => self.binary(
                            BinaryOp::Subtract,
                            length_kept.clone(),
                            self.int(behind + 1, span),
                            span,
                        )?,
                        false => from_start,
                    };
                    let given = [SourceArgument {
                        name: None,
                        mode: ArgumentMode::Value,
                        value: SourceArgumentValue::Value(index),
                        span,
                    }];
                    let part = self.element_access(value.clone(), &given, span)?;
                    let (slot, kept) = self.keep_part(&part);
                    let (test, _) = self.pattern(pattern, &kept)?;
                    tests.push(TypedPattern::Part(part, slot, Box::new(test)));
                }
            }
        }
        if let Some(Designation::Name(name)) = name {
            tests.push(TypedPattern::Keep(self.declare(name, value.ty.clone())));
        }
        Ok((TypedPattern::All(tests), value))
    }
}
