//! Lambdas and anonymous methods (language specification, 12.19).
//!
//! Does not infer types (`bind::lambdas`).

use std::rc::Rc;

use super::lexer::Tok;
use super::parser::{Parsed, Parser};
use super::tree::{Expr, ExprKind, Lambda, LambdaBody, TypeName, TypeNameKind};

impl Parser<'_> {
    /// Whether a lambda or an anonymous method begins here.
    pub(super) fn begins_lambda(&self) -> bool {
        let mut ahead = 0;
        while self.is_word_at(ahead, "async") || self.is_word_at(ahead, "static") {
            // `async => …` is a lambda too.
            if self.is_at(ahead + 1, "=>") {
                return true;
            }
            ahead += 1;
        }
        if self.is_word_at(ahead, "delegate") {
            return true;
        }
        if self.is_identifier_at(ahead) && self.is_at(ahead + 1, "=>") {
            return true;
        }
        self.is_at(ahead, "(")
            && self.closing(self.at + ahead).is_some_and(|end| {
                matches!(self.tokens.get(end + 1).map(|token| &token.tok), Some(Tok::Sign("=>")))
            })
    }

    pub(super) fn lambda(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let mut special = None;
        loop {
            if self.is_at(1, "=>") {
                break;
            }
            if self.eat_word("async") {
                special = Some("an async lambda");
            } else if !self.eat_word("static") {
                break;
            }
        }
        let is_method = self.eat_word("delegate");
        let mut parameters = Vec::new();
        if self.is("(") {
            self.at += 1;
            while !self.is(")") && !self.is_cut() {
                let (parameter, is_special) = self.parameter()?;
                if is_special {
                    special = Some("a lambda with `ref`, `out` or optional parameters");
                }
                parameters.push(parameter);
                if !self.eat(",") {
                    break;
                }
            }
            self.expect(")")?;
        } else if !is_method {
            parameters.push((self.identifier()?, None));
        } else {
            special = Some("an anonymous method without parameters");
        }
        if !is_method {
            self.expect("=>")?;
        }
        let body = match self.is("{") {
            true => LambdaBody::Block(self.block()?),
            false if self.is_cut() => {
                LambdaBody::Value(Box::new(self.node(start, ExprKind::Cursor(None, "".into()))))
            }
            false => LambdaBody::Value(Box::new(self.expr()?)),
        };
        Ok(self.node(start, ExprKind::Lambda(Rc::new(Lambda { parameters, body, special }))))
    }

    /// Parses `x`, `int x`, `ref int x` or `int x = 1`: the name and type, and whether it needs the compiler.
    #[allow(clippy::type_complexity, reason = "a parameter, and a flag of its own")]
    fn parameter(&mut self) -> Parsed<((Rc<str>, Option<TypeName>), bool)> {
        let mut is_special = false;
        while ["ref", "out", "in", "params", "scoped", "readonly"].iter().any(|word| self.is_word(word))
            && !matches!(self.peek_at(1), Tok::Sign("," | ")"))
        {
            self.at += 1;
            is_special = true;
        }
        let is_bare = self.is_identifier_at(0) && matches!(self.peek_at(1), Tok::Sign("," | ")") | Tok::End);
        let ty = if is_bare { None } else { Some(self.type_name()?) };
        let ty = ty.filter(|ty| ty.kind != TypeNameKind::Inferred);
        let name = self.identifier()?;
        if self.eat("=") {
            is_special = true;
            self.expr()?;
        }
        Ok(((name, ty), is_special))
    }
}
