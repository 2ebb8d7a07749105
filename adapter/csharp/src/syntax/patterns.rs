//! Patterns (language specification, 11) and the arms of `switch` expressions.
//!
//! Does not check types (`bind::patterns`).

use super::error;
use super::lexer::Tok;
use super::parser::{Parsed, Parser, Precedence};
use super::tree::{
    ExprKind, ListItem, Pattern, PatternKind, Recursive, Span, SwitchArm, TypeName, TypeNameKind,
};
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
        let start = self.span();
        let first = part(self)?;
        if !self.is_word(word) {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.eat_word(word) {
            all.push(part(self)?);
            if all.len() > MAX_JOINED {
                return Err(error("CS8078", "An expression is too long or complex to compile", self.span()));
            }
        }
        Ok(self.pattern_from(start, make(all)))
    }

    fn negation(&mut self) -> Parsed<Pattern> {
        let start = self.span();
        if self.eat_word("not") {
            let of = self.deeper(Self::negation)?;
            return Ok(self.pattern_from(start, PatternKind::Not(Box::new(of))));
        }
        self.primary_pattern()
    }

    fn pattern_from(&self, start: Span, kind: PatternKind) -> Pattern {
        Pattern { kind, span: self.since(start) }
    }

    fn primary_pattern(&mut self) -> Parsed<Pattern> {
        let start = self.span();
        let op = match self.peek() {
            Tok::Sign("<") => Some((BinaryOp::Less, 1)),
            Tok::Sign("<=") => Some((BinaryOp::LessOrEqual, 1)),
            Tok::Sign(">") if self.is_at(1, "=") => Some((BinaryOp::GreaterOrEqual, 2)),
            Tok::Sign(">") => Some((BinaryOp::Greater, 1)),
            _ => None,
        };
        if let Some((op, tokens)) = op {
            self.at += tokens;
            let to = self.binary(Precedence::Shift)?;
            return Ok(self.pattern_from(start, PatternKind::Relational(op, to)));
        }
        if self.is_word("_") && !self.is_at(1, ".") {
            self.at += 1;
            return Ok(self.pattern_from(start, PatternKind::Discard));
        }
        if self.is_word("var")
            && let Some(names) = self.attempt(|parser| {
                parser.at += 1;
                parser.designation()
            })
        {
            return Ok(self.pattern_from(start, PatternKind::Var(names)));
        }
        if self.is("[") {
            return self.list_pattern();
        }
        if self.is("{") {
            return self.recursive(start, None);
        }
        if self.is("(")
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
        self.at += 1;
        let positions = self.positions()?;
        let is_single = positions.len() == 1 && positions.first().is_some_and(|(name, _)| name.is_none());
        let continues = self.is("{") || self.is_identifier_at(0) && !self.is_pattern_word();
        if is_single && !continues {
            if matches!(self.peek(), Tok::Sign("." | "+" | "-" | "*" | "/" | "%" | "<<" | "(" | "[")) {
                return Err(self.unexpected());
            }
            let mut positions = positions;
            let (_, only) = positions.pop().ok_or_else(|| self.unexpected())?;
            return Ok(Pattern { kind: only.kind, span: self.since(start) });
        }
        self.recursive(start, Some((None, positions)))
    }

    /// Parses the part after `(`.
    fn positions(&mut self) -> Parsed<Positions> {
        let mut positions = Vec::new();
        if self.eat(")") {
            return Ok(positions);
        }
        loop {
            let name = match self.is_identifier_at(0) && self.is_at(1, ":") {
                true => {
                    let name = self.identifier()?;
                    self.at += 1;
                    Some(name)
                }
                false => None,
            };
            positions.push((name, self.pattern()?));
            if !self.eat(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(positions)
    }

    /// Parses patterns that begin with a type: `Type`, `Type name`, `Type(…) { … }`; `None` if this
    /// must be an expression.
    fn type_pattern(&mut self, start: Span) -> Option<Pattern> {
        let before = self.at;
        let ty = self.type_after_is().ok()?;
        if self.is("(") && matches!(ty.kind, TypeNameKind::Named(..) | TypeNameKind::Keyword(_)) {
            self.at += 1;
            let positions = self.positions().ok()?;
            return self.recursive(start, Some((Some(ty), positions))).ok();
        }
        if self.is("{") {
            return self.recursive(start, Some((Some(ty), Vec::new()))).ok();
        }
        if self.is_identifier_at(0) && !self.is_pattern_word() {
            let names = self.designation()?;
            return Some(self.pattern_from(start, PatternKind::Declaration(ty, names)));
        }
        // No arithmetic operator or member access can follow a type.
        if matches!(self.peek(), Tok::Sign("." | "+" | "-" | "*" | "/" | "%" | "<<" | "[" | "->")) {
            return None;
        }
        if !matches!(ty.kind, TypeNameKind::Named(..)) {
            return Some(self.pattern_from(start, PatternKind::Type(ty)));
        }
        // `Color.Red` may be either.
        let end = self.at;
        self.at = before;
        let expr = self.binary(Precedence::Shift).ok();
        match expr {
            Some(expr) if self.at == end => {
                Some(self.pattern_from(start, PatternKind::TypeOrConstant(ty, expr)))
            }
            _ => {
                self.at = end;
                Some(self.pattern_from(start, PatternKind::Type(ty)))
            }
        }
    }

    fn is_pattern_word(&self) -> bool {
        ["and", "or", "when", "is", "as", "switch", "with"].iter().any(|word| self.is_word(word))
            || self.completes && *self.peek() == Tok::End
    }

    /// Parses `{ … } name` after the type and positions, if any.
    fn recursive(&mut self, start: Span, before: Option<(Option<TypeName>, Positions)>) -> Parsed<Pattern> {
        let (ty, positions) = before.unwrap_or_default();
        let is_positional =
            matches!(self.tokens.get(self.at.wrapping_sub(1)).map(|token| &token.tok), Some(Tok::Sign(")")))
                && !self.is_tuple_type_before(ty.as_ref());
        let positions = (is_positional || !positions.is_empty()).then_some(positions);
        let mut properties = Vec::new();
        if self.eat("{") {
            while !self.is("}") && !self.is_cut() {
                let mut names = vec![self.identifier()?];
                while self.eat(".") {
                    names.push(self.identifier()?);
                }
                self.expect(":")?;
                properties.push((names, self.pattern()?));
                if !self.eat(",") {
                    break;
                }
            }
            self.expect("}")?;
        }
        let name = match self.is_identifier_at(0) && !self.is_pattern_word() {
            true => self.designation(),
            false => None,
        };
        let recursive = Recursive { ty, positions, properties, name };
        Ok(self.pattern_from(start, PatternKind::Recursive(Box::new(recursive))))
    }

    /// Whether the `)` before belongs to a type.
    fn is_tuple_type_before(&self, ty: Option<&TypeName>) -> bool {
        ty.is_some_and(|ty| ty.span.end == self.last_span().end)
    }

    /// Parses `[1, .. var rest, 2] name`.
    fn list_pattern(&mut self) -> Parsed<Pattern> {
        let start = self.span();
        self.at += 1;
        let mut items = Vec::new();
        while !self.is("]") && !self.is_cut() {
            if self.eat("..") {
                let ends = self.is(",") || self.is("]") || self.is_cut();
                items.push(ListItem::Slice(if ends { None } else { Some(self.negation()?) }));
            } else {
                items.push(ListItem::Pattern(self.pattern()?));
            }
            if !self.eat(",") {
                break;
            }
        }
        self.expect("]")?;
        if items.iter().filter(|item| matches!(item, ListItem::Slice(_))).count() > 1 {
            return Err(error(
                "CS8980",
                "Slice patterns may only be used once and directly inside a list pattern",
                self.since(start),
            ));
        }
        let name = match self.is_identifier_at(0) && !self.is_pattern_word() {
            true => self.designation(),
            false => None,
        };
        Ok(self.pattern_from(start, PatternKind::List { items, name }))
    }

    /// Parses the arms of a `switch`, with their braces.
    pub(super) fn arms(&mut self) -> Parsed<Vec<SwitchArm>> {
        self.deeper(|parser| {
            parser.expect("{")?;
            let mut arms = Vec::new();
            while !parser.is("}") && !parser.is_cut() {
                let pattern = parser.pattern()?;
                let when =
                    if parser.eat_word("when") { Some(parser.binary(Precedence::Coalesce)?) } else { None };
                parser.expect("=>")?;
                let value = if parser.is_cut() { parser.null(parser.span()) } else { parser.expr()? };
                arms.push(SwitchArm { pattern, when, value });
                if !parser.eat(",") {
                    break;
                }
            }
            parser.expect("}")?;
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
