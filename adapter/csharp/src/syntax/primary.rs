//! Unary operators, casts and primary expressions: names, literals, accesses, calls (language specification,
//! 12.8 and 12.9). Not here: binary operators ([`super::parser`]), `new` ([`super::creation`]).

use super::queries::is_word_of_queries;
use std::rc::Rc;

use super::error;
use super::lexer::{LexedStringPart, Tok};
use super::parser::{Parsed, Parser, is_reserved};
use super::tree::{
    Argument, ArgumentMode, Designation, Expr, ExprKind, InterpolatedPart, Interpolation, Span, TypeName,
    TypeNameKind,
};
use crate::constant::Constant;
use crate::operators::UnaryOp;
use crate::types::kind_of_keyword;

impl Parser<'_> {
    pub(super) fn unary(&mut self) -> Parsed<Expr> {
        self.deeper(Self::prefix_operator)
    }

    fn prefix_operator(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if let Tok::Sign(sign) = *self.peek() {
            let op = match sign {
                "+" => Some(UnaryOp::Plus),
                "-" => Some(UnaryOp::Minus),
                "!" => Some(UnaryOp::Not),
                "~" => Some(UnaryOp::Complement),
                _ => None,
            };
            if let Some(op) = op {
                self.at += 1;
                let of = Box::new(self.unary()?);
                return Ok(self.node(start, ExprKind::Unary(op, of)));
            }
            let make: Option<fn(Box<Expr>) -> ExprKind> = match sign {
                "*" => Some(ExprKind::Deref),
                "&" => Some(ExprKind::AddressOf),
                "^" => Some(ExprKind::FromEnd),
                "++" => Some(|of| ExprKind::Step { of, up: true, prefix: true }),
                "--" => Some(|of| ExprKind::Step { of, up: false, prefix: true }),
                _ => None,
            };
            if let Some(make) = make {
                self.at += 1;
                let of = Box::new(self.unary()?);
                return Ok(self.node(start, make(of)));
            }
            if sign == "("
                && let Some(ty) = self.cast()
            {
                let of = Box::new(self.unary()?);
                return Ok(self.node(start, ExprKind::Cast(ty, of)));
            }
        }
        // `await` is a keyword if an operand follows.
        let is_await = self.is_word("await")
            && (matches!(self.peek_at(1), Tok::Word(word, _) if !matches!(&**word,
                "is" | "as" | "switch" | "with"))
                || matches!(self.peek_at(1), Tok::Literal(_)));
        if is_await {
            self.at += 1;
            let of = Box::new(self.unary()?);
            return Ok(self.node(start, ExprKind::Await(of)));
        }
        self.primary()
    }

    /// Parses `(Type)` if it is a cast (language specification, 12.9.8).
    fn cast(&mut self) -> Option<TypeName> {
        self.attempt(|parser| {
            parser.at += 1;
            let ty = parser.type_name().ok()?;
            parser.eat(")").then_some(())?;
            let is_only_type = !matches!(ty.kind, TypeNameKind::Named(..) | TypeNameKind::Tuple(_));
            let follows = match parser.peek() {
                Tok::Literal(_) | Tok::Utf8(_) | Tok::Interpolated(_) => true,
                Tok::Word(word, false) if parser.queries > 0 && is_word_of_queries(word) => false,
                Tok::Word(word, verbatim) => {
                    *verbatim || !matches!(&**word, "is" | "as" | "switch" | "with" | "and" | "or")
                }
                Tok::Sign("~" | "!" | "(") => true,
                Tok::Sign("[") => matches!(ty.kind, TypeNameKind::Array(..)),
                Tok::Sign("+" | "-" | "*" | "&" | "^" | "++" | "--" | "..") => is_only_type,
                _ => false,
            };
            follows.then_some(ty)
        })
    }

    pub(super) fn primary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let first = self.atom()?;
        self.accesses(start, first)
    }

    /// Parses accesses after a primary expression: `.name`, `[…]`, `(…)`, `++`, `!`, `?.…`.
    fn accesses(&mut self, start: Span, mut of: Expr) -> Parsed<Expr> {
        let mut count = 0;
        loop {
            let inner = |of| Box::new(of);
            let Tok::Sign(sign) = *self.peek() else { return Ok(of) };
            match sign {
                "." => {
                    self.link(&mut count)?;
                    self.at += 1;
                    if let Some(word) = self.cursor() {
                        return Ok(self.node(start, ExprKind::Cursor(Some(inner(of)), word)));
                    }
                    let name = self.name(true)?;
                    of = self.node(start, ExprKind::Member(inner(of), name));
                }
                "->" => {
                    self.link(&mut count)?;
                    self.at += 1;
                    if let Some(word) = self.cursor() {
                        let of = self.node(start, ExprKind::Deref(inner(of)));
                        return Ok(self.node(start, ExprKind::Cursor(Some(Box::new(of)), word)));
                    }
                    let name = self.name(true)?;
                    of = self.node(start, ExprKind::PointerMember(inner(of), name));
                }
                "(" => {
                    self.link(&mut count)?;
                    self.at += 1;
                    let arguments = self.arguments(")")?;
                    of = match &of.kind {
                        ExprKind::Name(name) if &*name.text == "nameof" && arguments.len() == 1 => {
                            let value = arguments.into_iter().next().map(|argument| argument.value);
                            let value = value.ok_or_else(|| self.unexpected())?;
                            self.node(start, ExprKind::NameOf(Box::new(value)))
                        }
                        _ => self.node(start, ExprKind::Call(inner(of), arguments)),
                    };
                }
                "[" => {
                    self.link(&mut count)?;
                    self.at += 1;
                    let arguments = self.arguments("]")?;
                    of = self.node(start, ExprKind::Index(inner(of), arguments));
                }
                "++" | "--" => {
                    self.link(&mut count)?;
                    self.at += 1;
                    of = self.node(start, ExprKind::Step { of: inner(of), up: sign == "++", prefix: false });
                }
                "!" => {
                    self.link(&mut count)?;
                    self.at += 1;
                    of = self.node(start, ExprKind::NotNull(inner(of)));
                }
                "?" if self.is_conditional_access() => {
                    self.link(&mut count)?;
                    self.at += 1;
                    let receiver = Expr { kind: ExprKind::Receiver, span: of.span };
                    let then = self.deeper(|parser| parser.accesses(start, receiver))?;
                    return Ok(self.node(start, ExprKind::Conditional(inner(of), Box::new(then))));
                }
                _ => return Ok(of),
            }
        }
    }

    /// Whether `?.` or `?[` is next, and not the `?` of a conditional expression.
    fn is_conditional_access(&self) -> bool {
        let joins = self.span().end == self.span_at(1).start;
        if self.is_at(1, ".") {
            return joins;
        }
        if !(self.is_at(1, "[") && joins) {
            return false;
        }
        // `a ?[1] : [2]`: a conditional expression with collections has a `:` after the bracket.
        let end = self.closing(self.at + 1);
        !end.is_some_and(|end| {
            matches!(self.tokens.get(end + 1).map(|token| &token.tok), Some(Tok::Sign(":")))
        })
    }

    /// The position of the token that closes the bracket at this position.
    pub(super) fn closing(&self, open: usize) -> Option<usize> {
        let mut nested = 0usize;
        for (at, token) in self.tokens.iter().enumerate().skip(open) {
            match token.tok {
                Tok::Sign("(" | "[" | "{") => nested += 1,
                Tok::Sign(")" | "]" | "}") => {
                    nested = nested.checked_sub(1)?;
                    if nested == 0 {
                        return Some(at);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// The word that is being typed, if the cursor is here.
    pub(super) fn cursor(&mut self) -> Option<Rc<str>> {
        if !self.completes {
            return None;
        }
        if *self.peek() == Tok::End {
            return Some("".into());
        }
        match (self.peek(), self.peek_at(1)) {
            (Tok::Word(word, _), Tok::End) if self.span().end == self.text.len() => {
                let word = word.clone();
                self.at += 1;
                Some(word)
            }
            _ => None,
        }
    }

    /// Whether only a name, possibly with dots, precedes the cursor.
    pub(super) fn is_typed_name(&self) -> bool {
        let mut at = 0;
        while matches!(self.peek_at(at), Tok::Word(..)) && self.is_at(at + 1, ".") {
            at += 2;
        }
        self.completes
            && match self.peek_at(at) {
                Tok::End => true,
                Tok::Word(..) => *self.peek_at(at + 1) == Tok::End,
                _ => false,
            }
    }

    /// Parses arguments up to the closing bracket.
    pub(super) fn arguments(&mut self, closing: &'static str) -> Parsed<Vec<Argument>> {
        let mut arguments = Vec::new();
        if self.eat(closing) {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.argument()?);
            if !self.eat(",") {
                break;
            }
        }
        self.expect(closing)?;
        Ok(arguments)
    }

    fn argument(&mut self) -> Parsed<Argument> {
        let name = match self.is_identifier_at(0) && self.is_at(1, ":") {
            true => {
                let name = self.identifier()?;
                self.at += 1;
                Some(name)
            }
            false => None,
        };
        let mode = match self.peek() {
            Tok::Word(word, false) => match &**word {
                "ref" => ArgumentMode::Ref,
                "out" => ArgumentMode::Out,
                "in" => ArgumentMode::In,
                _ => ArgumentMode::Value,
            },
            _ => ArgumentMode::Value,
        };
        if mode != ArgumentMode::Value {
            self.at += 1;
        }
        let value = match mode {
            ArgumentMode::Out => match self.declaration() {
                Some(declared) => declared,
                None => self.expr()?,
            },
            _ => self.expr()?,
        };
        Ok(Argument { name, mode, value })
    }

    /// Parses `var x`, `int x`, `var (a, b)` or `_` after `out` or in a tuple.
    pub(super) fn declaration(&mut self) -> Option<Expr> {
        let start = self.span();
        if self.is_word("_") && matches!(self.peek_at(1), Tok::Sign("," | ")")) {
            self.at += 1;
            let ty = TypeName { kind: TypeNameKind::Inferred, span: start };
            return Some(self.node(start, ExprKind::Declaration(ty, Designation::Discard)));
        }
        self.attempt(|parser| {
            let ty = parser.type_name().ok()?;
            let names = parser.designation()?;
            // `Math.Min(a, b)` is a call.
            let is_call = matches!(names, Designation::Tuple(_)) && ty.kind != TypeNameKind::Inferred;
            (!is_call && matches!(parser.peek(), Tok::Sign("," | ")" | "="))).then_some(())?;
            Some(parser.node(start, ExprKind::Declaration(ty, names)))
        })
    }

    /// Parses a designation: `name`, `_`, `(a, b)`.
    pub(super) fn designation(&mut self) -> Option<Designation> {
        if self.eat("(") {
            let mut all = Vec::new();
            loop {
                all.push(self.deeper(|parser| parser.designation().ok_or_else(|| parser.unexpected())).ok()?);
                if !self.eat(",") {
                    break;
                }
            }
            return self.eat(")").then_some(Designation::Tuple(all));
        }
        self.is_identifier_at(0).then_some(())?;
        let name = self.identifier().ok()?;
        Some(if &*name == "_" { Designation::Discard } else { Designation::Name(name) })
    }

    fn atom(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if let Some(word) = self.cursor() {
            return Ok(self.node(start, ExprKind::Cursor(None, word)));
        }
        match self.peek().clone() {
            Tok::Literal(constant) => {
                self.at += 1;
                Ok(self.node(start, ExprKind::Literal(constant)))
            }
            Tok::Utf8(_) => {
                self.at += 1;
                Ok(self.node(start, ExprKind::Utf8))
            }
            Tok::Interpolated(parts) => {
                self.at += 1;
                let pieces = self.pieces(parts)?;
                Ok(self.node(start, ExprKind::Interpolated(pieces)))
            }
            Tok::Sign("(") => self.parenthesized(),
            Tok::Sign("[") => self.collection(),
            Tok::Word(word, is_verbatim) => self.word(&word, is_verbatim),
            Tok::Sign(_) | Tok::End => Err(self.unexpected()),
        }
    }

    fn pieces(&mut self, parts: Vec<LexedStringPart>) -> Parsed<Vec<InterpolatedPart>> {
        let mut pieces = Vec::new();
        for part in parts {
            pieces.push(match part {
                LexedStringPart::Text(text) if text.is_empty() => continue,
                LexedStringPart::Text(text) => InterpolatedPart::Text(text),
                LexedStringPart::Interpolation(tokens, format) => {
                    let (value, width) = self.within(tokens, |parser| {
                        let value = parser.expr()?;
                        let width = if parser.eat(",") { Some(parser.expr()?) } else { None };
                        match parser.peek() {
                            Tok::End => Ok((value, width)),
                            _ => Err(parser.unexpected()),
                        }
                    })?;
                    InterpolatedPart::Interpolation(Box::new(Interpolation { value, width, format }))
                }
            });
        }
        Ok(pieces)
    }

    /// Parses `(value)` or a tuple.
    fn parenthesized(&mut self) -> Parsed<Expr> {
        let start = self.span();
        self.at += 1;
        let mut elements = Vec::new();
        loop {
            let name = match self.is_identifier_at(0) && self.is_at(1, ":") {
                true => {
                    let name = self.identifier()?;
                    self.at += 1;
                    Some(name)
                }
                false => None,
            };
            let value = match self.declaration() {
                // `(_, x)` is a tuple; `(_)` is a name in parentheses.
                Some(declared) => declared,
                None => self.expr()?,
            };
            elements.push((name, value));
            if !self.eat(",") {
                break;
            }
        }
        self.expect(")")?;
        if elements.len() == 1
            && let Some((None, value)) = elements.pop_if(|(name, _)| name.is_none())
        {
            return Ok(self.node(start, ExprKind::Paren(Box::new(value))));
        }
        if elements.len() == 1 {
            return Err(error("CS8124", "Tuple must contain at least two elements", self.since(start)));
        }
        Ok(self.node(start, ExprKind::Tuple(elements)))
    }

    /// Parses the collection expression `[a, ..b]`.
    fn collection(&mut self) -> Parsed<Expr> {
        let start = self.span();
        self.at += 1;
        let mut items = Vec::new();
        while !self.is("]") && !self.is_cut() {
            let spreads = self.eat("..");
            items.push((spreads, self.expr()?));
            if !self.eat(",") {
                break;
            }
        }
        self.expect("]")?;
        Ok(self.node(start, ExprKind::Collection(items)))
    }

    fn word(&mut self, word: &str, is_verbatim: bool) -> Parsed<Expr> {
        let start = self.span();
        if is_verbatim || !is_reserved(word) {
            return self.name_expression();
        }
        if kind_of_keyword(word).is_some() || word == "decimal" {
            let ty = self.simple_type()?;
            return Ok(self.node(start, ExprKind::Type(ty)));
        }
        self.at += 1;
        let kind = match word {
            "this" => ExprKind::This,
            "base" => ExprKind::Base,
            "new" => return self.creation(start),
            "stackalloc" => return self.stack_alloc(start),
            "typeof" => ExprKind::TypeOf(self.type_in_parens()?),
            "sizeof" => ExprKind::SizeOf(self.type_in_parens()?),
            "default" if self.is("(") => ExprKind::Default(Some(self.type_in_parens()?)),
            "default" => ExprKind::Default(None),
            "checked" | "unchecked" => {
                self.expect("(")?;
                let of = Box::new(self.expr()?);
                self.expect(")")?;
                ExprKind::Checked(word == "checked", of)
            }
            _ => {
                self.at -= 1;
                return Err(self.unexpected());
            }
        };
        Ok(self.node(start, kind))
    }

    fn type_in_parens(&mut self) -> Parsed<TypeName> {
        self.expect("(")?;
        let ty = self.type_name()?;
        self.expect(")")?;
        Ok(ty)
    }

    /// Parses a name. Decides whether `<` begins type arguments or is a comparison: `a < b > (c)`.
    fn name_expression(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if self.is_at(1, "::") {
            let alias = self.identifier()?;
            self.at += 1;
            if let Some(word) = self.cursor() {
                return Ok(self.node(start, ExprKind::Cursor(None, word)));
            }
            let name = self.name(true)?;
            return Ok(self.node(start, ExprKind::Qualified(alias, name)));
        }
        let name = self.name(true)?;
        Ok(self.node(start, ExprKind::Name(name)))
    }

    pub(super) fn null(&self, span: Span) -> Expr {
        Expr { kind: ExprKind::Literal(Constant::Null), span }
    }
}
