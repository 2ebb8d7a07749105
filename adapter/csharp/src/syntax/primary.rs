//! Unary operators, casts and primary expressions: names, literals, accesses, calls (language specification,
//! 12.8 and 12.9). Not here: binary operators ([`super::parser`]), `new` ([`super::creation`]).

use super::lexer::{LexedStringPart, Tok};
use super::parser::Parser;
use super::queries::is_word_of_queries;
use super::token_stream::is_reserved;
use super::tree::{
    Argument, ArgumentMode, Expr, ExprKind, InterpolatedPart, Interpolation, Span, TypeName, TypeNameKind,
};
use super::{Parsed, error};
use crate::constant::Constant;
use crate::operators::UnaryOp;
use crate::types::kind_of_keyword;

impl Parser<'_> {
    pub(super) fn unary(&mut self) -> Parsed<Expr> {
        self.deeper(Self::prefix_operator)
    }

    fn prefix_operator(&mut self) -> Parsed<Expr> {
        let start = self.tokens.span();
        if let Tok::Sign(sign) = *self.tokens.peek() {
            let op = match sign {
                "+" => Some(UnaryOp::Plus),
                "-" => Some(UnaryOp::Minus),
                "!" => Some(UnaryOp::Not),
                "~" => Some(UnaryOp::Complement),
                _ => None,
            };
            if let Some(op) = op {
                self.tokens.at += 1;
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
                self.tokens.at += 1;
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
        let is_await = self.tokens.is_word("await")
            && (matches!(self.tokens.peek_at(1), Tok::Word(word, _) if !matches!(&**word,
                "is" | "as" | "switch" | "with"))
                || matches!(self.tokens.peek_at(1), Tok::Literal(_)));
        if is_await {
            self.tokens.at += 1;
            let of = Box::new(self.unary()?);
            return Ok(self.node(start, ExprKind::Await(of)));
        }
        self.primary()
    }

    /// Parses `(Type)` if it is a cast (language specification, 12.9.8).
    fn cast(&mut self) -> Option<TypeName> {
        self.attempt(|parser| {
            parser.tokens.at += 1;
            let ty = parser.type_name().ok()?;
            parser.tokens.eat(")").then_some(())?;
            let is_only_type = !matches!(ty.kind, TypeNameKind::Named(..) | TypeNameKind::Tuple(_));
            let follows = match parser.tokens.peek() {
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
        let start = self.tokens.span();
        let first = self.atom()?;
        self.accesses(start, first)
    }

    /// Parses accesses after a primary expression: `.name`, `[…]`, `(…)`, `++`, `!`, `?.…`.
    fn accesses(&mut self, start: Span, mut of: Expr) -> Parsed<Expr> {
        let mut count = 0;
        loop {
            let inner = |of| Box::new(of);
            let Tok::Sign(sign) = *self.tokens.peek() else { return Ok(of) };
            match sign {
                "." => {
                    self.link(&mut count)?;
                    self.tokens.at += 1;
                    if let Some(word) = self.tokens.cursor() {
                        return Ok(self.node(start, ExprKind::Cursor(Some(inner(of)), word)));
                    }
                    let name = self.name(true)?;
                    of = self.node(start, ExprKind::Member(inner(of), name));
                }
                "->" => {
                    self.link(&mut count)?;
                    self.tokens.at += 1;
                    if let Some(word) = self.tokens.cursor() {
                        let of = self.node(start, ExprKind::Deref(inner(of)));
                        return Ok(self.node(start, ExprKind::Cursor(Some(Box::new(of)), word)));
                    }
                    let name = self.name(true)?;
                    of = self.node(start, ExprKind::PointerMember(inner(of), name));
                }
                "(" => {
                    self.link(&mut count)?;
                    self.tokens.at += 1;
                    let arguments = self.arguments(")")?;
                    of = match &of.kind {
                        ExprKind::Name(name) if &*name.text == "nameof" && arguments.len() == 1 => {
                            let value = arguments.into_iter().next().map(|argument| argument.value);
                            let value = value.ok_or_else(|| self.tokens.unexpected())?;
                            self.node(start, ExprKind::NameOf(Box::new(value)))
                        }
                        _ => self.node(start, ExprKind::Call(inner(of), arguments)),
                    };
                }
                "[" => {
                    self.link(&mut count)?;
                    self.tokens.at += 1;
                    let arguments = self.arguments("]")?;
                    of = self.node(start, ExprKind::Index(inner(of), arguments));
                }
                "++" | "--" => {
                    self.link(&mut count)?;
                    self.tokens.at += 1;
                    of = self.node(start, ExprKind::Step { of: inner(of), up: sign == "++", prefix: false });
                }
                "!" => {
                    self.link(&mut count)?;
                    self.tokens.at += 1;
                    of = self.node(start, ExprKind::NotNull(inner(of)));
                }
                "?" if self.is_conditional_access() => {
                    self.link(&mut count)?;
                    self.tokens.at += 1;
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
        let joins = self.tokens.span().end == self.tokens.span_at(1).start;
        if self.tokens.is_at(1, ".") {
            return joins;
        }
        if !(self.tokens.is_at(1, "[") && joins) {
            return false;
        }
        // `a ?[1] : [2]`: a conditional expression with collections has a `:` after the bracket.
        let end = self.tokens.closing(self.tokens.at + 1);
        !end.is_some_and(|end| matches!(self.tokens.tok(end + 1), Some(Tok::Sign(":"))))
    }

    /// Parses arguments up to the closing bracket.
    pub(super) fn arguments(&mut self, closing: &'static str) -> Parsed<Vec<Argument>> {
        let mut arguments = Vec::new();
        if self.tokens.eat(closing) {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.argument()?);
            if !self.tokens.eat(",") {
                break;
            }
        }
        self.tokens.expect(closing)?;
        Ok(arguments)
    }

    fn argument(&mut self) -> Parsed<Argument> {
        let name = match self.tokens.is_identifier_at(0) && self.tokens.is_at(1, ":") {
            true => {
                let name = self.tokens.identifier()?;
                self.tokens.at += 1;
                Some(name)
            }
            false => None,
        };
        let mode = match self.tokens.peek() {
            Tok::Word(word, false) => match &**word {
                "ref" => ArgumentMode::Ref,
                "out" => ArgumentMode::Out,
                "in" => ArgumentMode::In,
                _ => ArgumentMode::Value,
            },
            _ => ArgumentMode::Value,
        };
        if mode != ArgumentMode::Value {
            self.tokens.at += 1;
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

    fn atom(&mut self) -> Parsed<Expr> {
        let start = self.tokens.span();
        if let Some(word) = self.tokens.cursor() {
            return Ok(self.node(start, ExprKind::Cursor(None, word)));
        }
        match self.tokens.peek().clone() {
            Tok::Literal(constant) => {
                self.tokens.at += 1;
                Ok(self.node(start, ExprKind::Literal(constant)))
            }
            Tok::Utf8(_) => {
                self.tokens.at += 1;
                Ok(self.node(start, ExprKind::Utf8))
            }
            Tok::Interpolated(parts) => {
                self.tokens.at += 1;
                let pieces = self.pieces(parts)?;
                Ok(self.node(start, ExprKind::Interpolated(pieces)))
            }
            Tok::Sign("(") => self.parenthesized(),
            Tok::Sign("[") => self.collection(),
            Tok::Word(word, is_verbatim) => self.word(&word, is_verbatim),
            Tok::Sign(_) | Tok::End => Err(self.tokens.unexpected()),
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
                        let width = if parser.tokens.eat(",") { Some(parser.expr()?) } else { None };
                        match parser.tokens.peek() {
                            Tok::End => Ok((value, width)),
                            _ => Err(parser.tokens.unexpected()),
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
        let start = self.tokens.span();
        self.tokens.at += 1;
        let mut elements = Vec::new();
        loop {
            let name = match self.tokens.is_identifier_at(0) && self.tokens.is_at(1, ":") {
                true => {
                    let name = self.tokens.identifier()?;
                    self.tokens.at += 1;
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
            if !self.tokens.eat(",") {
                break;
            }
        }
        self.tokens.expect(")")?;
        if elements.len() == 1
            && let Some((None, value)) = elements.pop_if(|(name, _)| name.is_none())
        {
            return Ok(self.node(start, ExprKind::Paren(Box::new(value))));
        }
        if elements.len() == 1 {
            return Err(error(
                "CS8124",
                "Tuple must contain at least two elements",
                self.tokens.since(start),
            ));
        }
        Ok(self.node(start, ExprKind::Tuple(elements)))
    }

    /// Parses the collection expression `[a, ..b]`.
    fn collection(&mut self) -> Parsed<Expr> {
        let start = self.tokens.span();
        self.tokens.at += 1;
        let mut items = Vec::new();
        while !self.tokens.is("]") && !self.tokens.is_cut() {
            let spreads = self.tokens.eat("..");
            items.push((spreads, self.expr()?));
            if !self.tokens.eat(",") {
                break;
            }
        }
        self.tokens.expect("]")?;
        Ok(self.node(start, ExprKind::Collection(items)))
    }

    fn word(&mut self, word: &str, is_verbatim: bool) -> Parsed<Expr> {
        let start = self.tokens.span();
        if is_verbatim || !is_reserved(word) {
            return self.name_expression();
        }
        if kind_of_keyword(word).is_some() || word == "decimal" {
            let ty = self.simple_type()?;
            return Ok(self.node(start, ExprKind::Type(ty)));
        }
        self.tokens.at += 1;
        let kind = match word {
            "this" => ExprKind::This,
            "base" => ExprKind::Base,
            "new" => return self.creation(start),
            "stackalloc" => return self.stack_alloc(start),
            "typeof" => ExprKind::TypeOf(self.type_in_parens()?),
            "sizeof" => ExprKind::SizeOf(self.type_in_parens()?),
            "default" if self.tokens.is("(") => ExprKind::Default(Some(self.type_in_parens()?)),
            "default" => ExprKind::Default(None),
            "checked" | "unchecked" => {
                self.tokens.expect("(")?;
                let of = Box::new(self.expr()?);
                self.tokens.expect(")")?;
                ExprKind::Checked(word == "checked", of)
            }
            _ => {
                self.tokens.at -= 1;
                return Err(self.tokens.unexpected());
            }
        };
        Ok(self.node(start, kind))
    }

    fn type_in_parens(&mut self) -> Parsed<TypeName> {
        self.tokens.expect("(")?;
        let ty = self.type_name()?;
        self.tokens.expect(")")?;
        Ok(ty)
    }

    /// Parses a name. Decides whether `<` begins type arguments or is a comparison: `a < b > (c)`.
    fn name_expression(&mut self) -> Parsed<Expr> {
        let start = self.tokens.span();
        if self.tokens.is_at(1, "::") {
            let alias = self.tokens.identifier()?;
            self.tokens.at += 1;
            if let Some(word) = self.tokens.cursor() {
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
