//! Patterns (language specification, 11), the arms of `switch` expressions, and the variables that patterns
//! and arguments declare.
//!
//! Does not check types (`bind::patterns`).

use super::lexer::Tok;
use super::parser::{Parser, Precedence};
use super::tree::{
    Designation, Expr, ExprKind, ListItem, Pattern, PatternKind, Recursive, Span, SwitchArm, TypeName,
    TypeNameKind,
};
use super::{Parsed, error};
use crate::operators::BinaryOp;

/// Patterns in parentheses, some with names.
type Positions = Vec<(Option<std::rc::Rc<str>>, Pattern)>;

/// Maximum number of patterns joined by `and` or `or`.
const MAX_JOINED: usize = 256;

impl Parser<'_> {
    pub(super) fn pattern(&mut self) -> Parsed<Pattern> {
        self.deeper(|parser| parser.joined_patterns("or", PatternKind::Or, Self::conjunction))
    }

    fn conjunction(&mut self) -> Parsed<Pattern> {
        self.joined_patterns("and", PatternKind::And, Self::negation)
    }

    fn joined_patterns(
        &mut self,
        word: &str,
        make: fn(Vec<Pattern>) -> PatternKind,
        part: fn(&mut Self) -> Parsed<Pattern>,
    ) -> Parsed<Pattern> {
        let start = self.tokens.span();
        let first = part(self)?;
        if !self.tokens.is_word(word) {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.tokens.eat_word(word) {
            all.push(part(self)?);
            if all.len() > MAX_JOINED {
                return Err(error(
                    "CS8078",
                    "An expression is too long or complex to compile",
                    self.tokens.span(),
                ));
            }
        }
        Ok(self.pattern_from(start, make(all)))
    }

    fn negation(&mut self) -> Parsed<Pattern> {
        let start = self.tokens.span();
        if self.tokens.eat_word("not") {
            let of = self.deeper(Self::negation)?;
            return Ok(self.pattern_from(start, PatternKind::Not(Box::new(of))));
        }
        self.primary_pattern()
    }

    fn pattern_from(&self, start: Span, kind: PatternKind) -> Pattern {
        Pattern { kind, span: self.tokens.since(start) }
    }

    fn primary_pattern(&mut self) -> Parsed<Pattern> {
        let start = self.tokens.span();
        let op = match self.tokens.peek() {
            Tok::Sign("<") => Some((BinaryOp::Less, 1)),
            Tok::Sign("<=") => Some((BinaryOp::LessOrEqual, 1)),
            Tok::Sign(">") if self.tokens.is_at(1, "=") => Some((BinaryOp::GreaterOrEqual, 2)),
            Tok::Sign(">") => Some((BinaryOp::Greater, 1)),
            _ => None,
        };
        if let Some((op, tokens)) = op {
            self.tokens.at += tokens;
            let to = self.binary(Precedence::Shift)?;
            return Ok(self.pattern_from(start, PatternKind::Relational(op, to)));
        }
        if self.tokens.is_word("_") && !self.tokens.is_at(1, ".") {
            self.tokens.at += 1;
            return Ok(self.pattern_from(start, PatternKind::Discard));
        }
        if self.tokens.is_word("var")
            && let Some(names) = self.attempt(|parser| {
                parser.tokens.at += 1;
                parser.designation()
            })
        {
            return Ok(self.pattern_from(start, PatternKind::Var(names)));
        }
        if self.tokens.is("[") {
            return self.list_pattern();
        }
        if self.tokens.is("{") {
            return self.recursive(start, None);
        }
        if self.tokens.is("(")
            && let Some(pattern) = self.attempt(|parser| parser.positional(start).ok())
        {
            return Ok(pattern);
        }
        if let Some(pattern) = self.attempt(|parser| parser.type_pattern(start)) {
            return Ok(pattern);
        }
        let constant = self.binary(Precedence::Shift)?;
        Ok(self.pattern_from(start, PatternKind::Constant(constant)))
    }

    /// Parses `(pattern)`, `(p, q)` and `(p, q) { … } name`, but not an expression such as `(1 + 2) * 3`.
    fn positional(&mut self, start: Span) -> Parsed<Pattern> {
        self.tokens.at += 1;
        let positions = self.positions()?;
        let is_single = positions.len() == 1 && positions.first().is_some_and(|(name, _)| name.is_none());
        let continues = self.tokens.is("{") || self.tokens.is_identifier_at(0) && !self.is_pattern_word();
        if is_single && !continues {
            if matches!(self.tokens.peek(), Tok::Sign("." | "+" | "-" | "*" | "/" | "%" | "<<" | "(" | "[")) {
                return Err(self.tokens.unexpected());
            }
            let mut positions = positions;
            let (_, only) = positions.pop().ok_or_else(|| self.tokens.unexpected())?;
            return Ok(Pattern { kind: only.kind, span: self.tokens.since(start) });
        }
        self.recursive(start, Some((None, positions)))
    }

    /// Parses the part after `(`.
    fn positions(&mut self) -> Parsed<Positions> {
        let mut positions = Vec::new();
        if self.tokens.eat(")") {
            return Ok(positions);
        }
        loop {
            let name = match self.tokens.is_identifier_at(0) && self.tokens.is_at(1, ":") {
                true => {
                    let name = self.tokens.identifier()?;
                    self.tokens.at += 1;
                    Some(name)
                }
                false => None,
            };
            positions.push((name, self.pattern()?));
            if !self.tokens.eat(",") {
                break;
            }
        }
        self.tokens.expect(")")?;
        Ok(positions)
    }

    /// Parses patterns that begin with a type: `Type`, `Type name`, `Type(…) { … }`; `None` if this
    /// must be an expression.
    fn type_pattern(&mut self, start: Span) -> Option<Pattern> {
        let before = self.tokens.at;
        let ty = self.type_after_is().ok()?;
        if self.tokens.is("(") && matches!(ty.kind, TypeNameKind::Named(..) | TypeNameKind::Keyword(_)) {
            self.tokens.at += 1;
            let positions = self.positions().ok()?;
            return self.recursive(start, Some((Some(ty), positions))).ok();
        }
        if self.tokens.is("{") {
            return self.recursive(start, Some((Some(ty), Vec::new()))).ok();
        }
        if self.tokens.is_identifier_at(0) && !self.is_pattern_word() {
            let names = self.designation()?;
            return Some(self.pattern_from(start, PatternKind::Declaration(ty, names)));
        }
        // No arithmetic operator or member access can follow a type.
        if matches!(self.tokens.peek(), Tok::Sign("." | "+" | "-" | "*" | "/" | "%" | "<<" | "[" | "->")) {
            return None;
        }
        if !matches!(ty.kind, TypeNameKind::Named(..)) {
            return Some(self.pattern_from(start, PatternKind::Type(ty)));
        }
        // `Color.Red` may be either.
        let end = self.tokens.at;
        self.tokens.at = before;
        let expr = self.binary(Precedence::Shift).ok();
        match expr {
            Some(expr) if self.tokens.at == end => {
                Some(self.pattern_from(start, PatternKind::TypeOrConstant(ty, expr)))
            }
            _ => {
                self.tokens.at = end;
                Some(self.pattern_from(start, PatternKind::Type(ty)))
            }
        }
    }

    fn is_pattern_word(&self) -> bool {
        ["and", "or", "when", "is", "as", "switch", "with"].iter().any(|word| self.tokens.is_word(word))
            || self.tokens.completes && *self.tokens.peek() == Tok::End
    }

    /// Parses `{ … } name` after the type and positions, if any.
    fn recursive(&mut self, start: Span, before: Option<(Option<TypeName>, Positions)>) -> Parsed<Pattern> {
        let (ty, positions) = before.unwrap_or_default();
        let is_positional = matches!(self.tokens.tok(self.tokens.at.wrapping_sub(1)), Some(Tok::Sign(")")))
            && !self.is_tuple_type_before(ty.as_ref());
        let positions = (is_positional || !positions.is_empty()).then_some(positions);
        let mut properties = Vec::new();
        if self.tokens.eat("{") {
            while !self.tokens.is("}") && !self.tokens.is_cut() {
                let mut names = vec![self.tokens.identifier()?];
                while self.tokens.eat(".") {
                    names.push(self.tokens.identifier()?);
                }
                self.tokens.expect(":")?;
                properties.push((names, self.pattern()?));
                if !self.tokens.eat(",") {
                    break;
                }
            }
            self.tokens.expect("}")?;
        }
        let name = match self.tokens.is_identifier_at(0) && !self.is_pattern_word() {
            true => self.designation(),
            false => None,
        };
        let recursive = Recursive { ty, positions, properties, name };
        Ok(self.pattern_from(start, PatternKind::Recursive(Box::new(recursive))))
    }

    /// Whether the `)` before belongs to a type.
    fn is_tuple_type_before(&self, ty: Option<&TypeName>) -> bool {
        ty.is_some_and(|ty| ty.span.end == self.tokens.last_span().end)
    }

    /// Parses `[1, .. var rest, 2] name`.
    fn list_pattern(&mut self) -> Parsed<Pattern> {
        let start = self.tokens.span();
        self.tokens.at += 1;
        let mut items = Vec::new();
        while !self.tokens.is("]") && !self.tokens.is_cut() {
            if self.tokens.eat("..") {
                let ends = self.tokens.is(",") || self.tokens.is("]") || self.tokens.is_cut();
                items.push(ListItem::Slice(if ends { None } else { Some(self.negation()?) }));
            } else {
                items.push(ListItem::Pattern(self.pattern()?));
            }
            if !self.tokens.eat(",") {
                break;
            }
        }
        self.tokens.expect("]")?;
        if items.iter().filter(|item| matches!(item, ListItem::Slice(_))).count() > 1 {
            return Err(error(
                "CS8980",
                "Slice patterns may only be used once and directly inside a list pattern",
                self.tokens.since(start),
            ));
        }
        let name = match self.tokens.is_identifier_at(0) && !self.is_pattern_word() {
            true => self.designation(),
            false => None,
        };
        Ok(self.pattern_from(start, PatternKind::List { items, name }))
    }

    /// Parses `var x`, `int x`, `var (a, b)` or `_` after `out` or in a tuple.
    pub(super) fn declaration(&mut self) -> Option<Expr> {
        let start = self.tokens.span();
        if self.tokens.is_word("_") && matches!(self.tokens.peek_at(1), Tok::Sign("," | ")")) {
            self.tokens.at += 1;
            let ty = TypeName { kind: TypeNameKind::Inferred, span: start };
            return Some(self.node(start, ExprKind::Declaration(ty, Designation::Discard)));
        }
        self.attempt(|parser| {
            let ty = parser.type_name().ok()?;
            let names = parser.designation()?;
            // `Math.Min(a, b)` is a call.
            let is_call = matches!(names, Designation::Tuple(_)) && ty.kind != TypeNameKind::Inferred;
            (!is_call && matches!(parser.tokens.peek(), Tok::Sign("," | ")" | "="))).then_some(())?;
            Some(parser.node(start, ExprKind::Declaration(ty, names)))
        })
    }

    /// Parses a designation: `name`, `_`, `(a, b)`.
    pub(super) fn designation(&mut self) -> Option<Designation> {
        if self.tokens.eat("(") {
            let mut all = Vec::new();
            loop {
                all.push(
                    self.deeper(|parser| parser.designation().ok_or_else(|| parser.tokens.unexpected()))
                        .ok()?,
                );
                if !self.tokens.eat(",") {
                    break;
                }
            }
            return self.tokens.eat(")").then_some(Designation::Tuple(all));
        }
        self.tokens.is_identifier_at(0).then_some(())?;
        let name = self.tokens.identifier().ok()?;
        Some(if &*name == "_" { Designation::Discard } else { Designation::Name(name) })
    }

    /// Parses the arms of a `switch`, with their braces.
    pub(super) fn arms(&mut self) -> Parsed<Vec<SwitchArm>> {
        self.deeper(|parser| {
            parser.tokens.expect("{")?;
            let mut arms = Vec::new();
            while !parser.tokens.is("}") && !parser.tokens.is_cut() {
                let pattern = parser.pattern()?;
                let when = if parser.tokens.eat_word("when") {
                    Some(parser.binary(Precedence::Coalesce)?)
                } else {
                    None
                };
                parser.tokens.expect("=>")?;
                let value =
                    if parser.tokens.is_cut() { parser.null(parser.tokens.span()) } else { parser.expr()? };
                arms.push(SwitchArm { pattern, when, value });
                if !parser.tokens.eat(",") {
                    break;
                }
            }
            parser.tokens.expect("}")?;
            Ok(arms)
        })
    }
}

impl ExprKind {
    /// Whether the expression gets its type from the context: `new(…)`, `default`.
    pub(crate) fn takes_type(&self) -> bool {
        matches!(self, Self::New { ty: None, .. } | Self::Default(None))
    }
}
