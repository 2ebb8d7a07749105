//! Type names, and names with generic arguments (language specification, 8.1 and 6.2.5).
//!
//! Does not resolve names (`bind::lookup`, `bind::type_names`).

use std::rc::Rc;

use super::lexer::Tok;
use super::parser::Parser;
use super::token_stream::is_reserved;
use super::tree::{SimpleName, TypeName, TypeNameKind};
use super::{Parsed, error};
use crate::types::kind_of_keyword;

impl Parser<'_> {
    /// Parses a name, with its generic arguments, if any.
    pub(super) fn name(&mut self, in_expression: bool) -> Parsed<SimpleName> {
        let span = self.tokens.span();
        let text = self.tokens.identifier()?;
        let mut name = self.name_of(text, span);
        if self.tokens.is("<")
            && let Some((arguments, open)) = self.attempt(|parser| parser.type_arguments(in_expression))
        {
            (name.arguments, name.open) = (arguments, open);
        }
        name.span = self.tokens.since(span);
        Ok(name)
    }

    /// Parses `<A, B>`, or `<,>` without types.
    fn type_arguments(&mut self, in_expression: bool) -> Option<(Vec<TypeName>, usize)> {
        self.tokens.at += 1;
        let (mut arguments, mut open) = (Vec::new(), 0);
        if self.tokens.is(",") || self.tokens.is(">") {
            open = 1;
            while self.tokens.eat(",") {
                open += 1;
            }
        } else {
            loop {
                arguments.push(self.type_name().ok()?);
                if !self.tokens.eat(",") {
                    break;
                }
            }
        }
        self.tokens.eat(">").then_some(())?;
        // Tokens that may follow generic arguments and cannot follow a comparison.
        let follows = match self.tokens.peek() {
            Tok::End => true,
            Tok::Sign(sign) => matches!(
                *sign,
                "(" | ")"
                    | "]"
                    | "}"
                    | ":"
                    | ";"
                    | ","
                    | "."
                    | "?"
                    | "=="
                    | "!="
                    | "|"
                    | "^"
                    | "&&"
                    | "||"
                    | "&"
                    | "["
                    | ">"
                    | "=>"
                    | "::"
                    | "??"
                    | "!"
            ),
            Tok::Word(word, false) => matches!(&**word, "is" | "as"),
            _ => false,
        };
        (!in_expression || follows).then_some((arguments, open))
    }

    /// Parses a type, with `?`, `*` and brackets after it.
    pub(super) fn type_name(&mut self) -> Parsed<TypeName> {
        self.deeper(|parser| parser.type_with(|_| true))
    }

    /// Parses a type after `is` or `as`, where a `?` may begin a conditional expression.
    pub(super) fn type_after_is(&mut self) -> Parsed<TypeName> {
        self.deeper(|parser| {
            parser.type_with(|parser| match parser.tokens.peek_at(1) {
                Tok::End => true,
                Tok::Sign(sign) => !matches!(
                    *sign,
                    "(" | "[" | "{" | "-" | "+" | "*" | "&" | "!" | "~" | "^" | "++" | "--" | ".."
                ),
                Tok::Word(word, false) => matches!(&**word, "and" | "or" | "is" | "as"),
                _ => false,
            })
        })
    }

    fn type_with(&mut self, is_nullable: impl Fn(&Self) -> bool) -> Parsed<TypeName> {
        let start = self.tokens.span();
        let mut ty = self.simple_type()?;
        let mut count = 0;
        loop {
            self.link_of_type(&mut count)?;
            if self.tokens.is("?") && is_nullable(self) {
                self.tokens.at += 1;
                ty = TypeName { kind: TypeNameKind::Nullable(Box::new(ty)), span: self.tokens.since(start) };
            } else if self.tokens.is("*")
                && matches!(self.tokens.peek_at(1), Tok::Sign(")" | "*" | ">" | "," | "[" | "]"))
            {
                self.tokens.at += 1;
                ty = TypeName { kind: TypeNameKind::Pointer(Box::new(ty)), span: self.tokens.since(start) };
            } else if self.tokens.is("[") && (self.tokens.is_at(1, "]") || self.tokens.is_at(1, ",")) {
                let mut ranks = Vec::new();
                while self.tokens.is("[")
                    && let Some(rank) = self.attempt(Self::rank)
                {
                    ranks.push(rank);
                }
                if ranks.is_empty() {
                    return Ok(ty);
                }
                ty = TypeName {
                    kind: TypeNameKind::Array(Box::new(ty), ranks),
                    span: self.tokens.since(start),
                };
            } else {
                return Ok(ty);
            }
        }
    }

    fn link_of_type(&mut self, count: &mut usize) -> Parsed<()> {
        *count += 1;
        match *count > 32 {
            true => {
                Err(error("CS8078", "An expression is too long or complex to compile", self.tokens.span()))
            }
            false => Ok(()),
        }
    }

    /// Parses the rank specifier `[,]` of an array.
    pub(super) fn rank(&mut self) -> Option<u32> {
        self.tokens.eat("[").then_some(())?;
        let mut rank = 1;
        while self.tokens.eat(",") {
            rank += 1;
        }
        self.tokens.eat("]").then_some(rank)
    }

    /// Parses a type without `?`, `*` and brackets after it.
    pub(super) fn simple_type(&mut self) -> Parsed<TypeName> {
        let start = self.tokens.span();
        let expected = |parser: &Self| {
            error("CS1031", format!("Type expected, but {} found", parser.tokens.found()), start)
        };
        let kind = match self.tokens.peek().clone() {
            Tok::Sign("(") => {
                self.tokens.at += 1;
                let mut elements: Vec<(TypeName, Option<Rc<str>>)> = Vec::new();
                loop {
                    let ty = self.type_name()?;
                    let name =
                        if self.tokens.is_identifier_at(0) { Some(self.tokens.identifier()?) } else { None };
                    elements.push((ty, name));
                    if !self.tokens.eat(",") {
                        break;
                    }
                }
                self.tokens.expect(")")?;
                if elements.len() < 2 {
                    return Err(error("CS8124", "Tuple must contain at least two elements", start));
                }
                TypeNameKind::Tuple(elements)
            }
            Tok::Word(word, false)
                if kind_of_keyword(&word).is_some() && is_reserved(&word) || word_is(&word, "decimal") =>
            {
                self.tokens.at += 1;
                TypeNameKind::Keyword(word)
            }
            Tok::Word(word, false) if word_is(&word, "var") && !self.tokens.is_at(1, ".") => {
                self.tokens.at += 1;
                TypeNameKind::Inferred
            }
            Tok::Word(word, verbatim) if verbatim || !is_reserved(&word) => {
                let is_global = word_is(&word, "global") && self.tokens.is_at(1, "::");
                if self.tokens.is_at(1, "::") {
                    self.tokens.at += 2;
                }
                let mut names = Vec::new();
                if !is_global
                    && self.tokens.at > 0
                    && matches!(self.tokens.tok(self.tokens.at - 1), Some(Tok::Sign("::")))
                {
                    names.push(self.name_of(word, start));
                }
                loop {
                    names.push(self.name(false)?);
                    if names.len() > 64 {
                        return Err(error(
                            "CS8078",
                            "An expression is too long or complex to compile",
                            start,
                        ));
                    }
                    if !(self.tokens.is(".") && self.tokens.is_identifier_at(1)) {
                        break;
                    }
                    self.tokens.at += 1;
                }
                TypeNameKind::Named(names, is_global)
            }
            _ => return Err(expected(self)),
        };
        Ok(TypeName { kind, span: self.tokens.since(start) })
    }
}

fn word_is(word: &str, expected: &str) -> bool {
    word == expected
}
