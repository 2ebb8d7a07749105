//! Type names, and names with generic arguments (language specification, 8.1 and 6.2.5).
//!
//! Does not resolve names (`bind::lookup`, `bind::type_names`).

use std::rc::Rc;

use super::error;
use super::lexer::Tok;
use super::parser::{Parsed, Parser, is_reserved};
use super::tree::{SimpleName, TypeName, TypeNameKind};
use crate::types::kind_of_keyword;

impl Parser<'_> {
    /// Parses a name, with its generic arguments, if any.
    pub(super) fn name(&mut self, in_expression: bool) -> Parsed<SimpleName> {
        let span = self.span();
        let text = self.identifier()?;
        let mut name = self.name_of(text, span);
        if self.is("<")
            && let Some((arguments, open)) = self.attempt(|parser| parser.type_arguments(in_expression))
        {
            (name.arguments, name.open) = (arguments, open);
        }
        name.span = self.since(span);
        Ok(name)
    }

    /// Parses `<A, B>`, or `<,>` without types.
    fn type_arguments(&mut self, in_expression: bool) -> Option<(Vec<TypeName>, usize)> {
        self.at += 1;
        let (mut arguments, mut open) = (Vec::new(), 0);
        if self.is(",") || self.is(">") {
            open = 1;
            while self.eat(",") {
                open += 1;
            }
        } else {
            loop {
                arguments.push(self.type_name().ok()?);
                if !self.eat(",") {
                    break;
                }
            }
        }
        self.eat(">").then_some(())?;
        // Tokens that may follow generic arguments and cannot follow a comparison.
        let follows = match self.peek() {
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
            parser.type_with(|parser| match parser.peek_at(1) {
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
        let start = self.span();
        let mut ty = self.simple_type()?;
        let mut count = 0;
        loop {
            self.link_of_type(&mut count)?;
            if self.is("?") && is_nullable(self) {
                self.at += 1;
                ty = TypeName { kind: TypeNameKind::Nullable(Box::new(ty)), span: self.since(start) };
            } else if self.is("*") && matches!(self.peek_at(1), Tok::Sign(")" | "*" | ">" | "," | "[" | "]"))
            {
                self.at += 1;
                ty = TypeName { kind: TypeNameKind::Pointer(Box::new(ty)), span: self.since(start) };
            } else if self.is("[") && (self.is_at(1, "]") || self.is_at(1, ",")) {
                let mut ranks = Vec::new();
                while self.is("[")
                    && let Some(rank) = self.attempt(Self::rank)
                {
                    ranks.push(rank);
                }
                if ranks.is_empty() {
                    return Ok(ty);
                }
                ty = TypeName { kind: TypeNameKind::Array(Box::new(ty), ranks), span: self.since(start) };
            } else {
                return Ok(ty);
            }
        }
    }

    fn link_of_type(&mut self, count: &mut usize) -> Parsed<()> {
        *count += 1;
        match *count > 32 {
            true => Err(error("CS8078", "An expression is too long or complex to compile", self.span())),
            false => Ok(()),
        }
    }

    /// Parses the rank specifier `[,]` of an array.
    pub(super) fn rank(&mut self) -> Option<u32> {
        self.eat("[").then_some(())?;
        let mut rank = 1;
        while self.eat(",") {
            rank += 1;
        }
        self.eat("]").then_some(rank)
    }

    /// Parses a type without `?`, `*` and brackets after it.
    pub(super) fn simple_type(&mut self) -> Parsed<TypeName> {
        let start = self.span();
        let expected =
            |parser: &Self| error("CS1031", format!("Type expected, but {} found", parser.found()), start);
        let kind = match self.peek().clone() {
            Tok::Sign("(") => {
                self.at += 1;
                let mut elements: Vec<(TypeName, Option<Rc<str>>)> = Vec::new();
                loop {
                    let ty = self.type_name()?;
                    let name = if self.is_identifier_at(0) { Some(self.identifier()?) } else { None };
                    elements.push((ty, name));
                    if !self.eat(",") {
                        break;
                    }
                }
                self.expect(")")?;
                if elements.len() < 2 {
                    return Err(error("CS8124", "Tuple must contain at least two elements", start));
                }
                TypeNameKind::Tuple(elements)
            }
            Tok::Word(word, false)
                if kind_of_keyword(&word).is_some() && is_reserved(&word) || word_is(&word, "decimal") =>
            {
                self.at += 1;
                TypeNameKind::Keyword(word)
            }
            Tok::Word(word, false) if word_is(&word, "var") && !self.is_at(1, ".") => {
                self.at += 1;
                TypeNameKind::Inferred
            }
            Tok::Word(word, verbatim) if verbatim || !is_reserved(&word) => {
                let is_global = word_is(&word, "global") && self.is_at(1, "::");
                if self.is_at(1, "::") {
                    self.at += 2;
                }
                let mut names = Vec::new();
                if !is_global
                    && self.at > 0
                    && matches!(self.tokens.get(self.at - 1).map(|token| &token.tok), Some(Tok::Sign("::")))
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
                    if !(self.is(".") && self.is_identifier_at(1)) {
                        break;
                    }
                    self.at += 1;
                }
                TypeNameKind::Named(names, is_global)
            }
            _ => return Err(expected(self)),
        };
        Ok(TypeName { kind, span: self.since(start) })
    }
}

fn word_is(word: &str, expected: &str) -> bool {
    word == expected
}
