//! Lambdas and anonymous methods (language specification, 12.19).
//!
//! Does not infer types (`bind::lambdas`).

use std::rc::Rc;

use super::Parsed;
use super::lexer::Tok;
use super::parser::Parser;
use super::tree::{Expr, ExprKind, Lambda, LambdaBody, TypeName, TypeNameKind};

impl Parser<'_> {
    /// Whether a lambda or an anonymous method begins here.
    pub(super) fn begins_lambda(&self) -> bool {
        let mut ahead = 0;
        while self.tokens.is_word_at(ahead, "async") || self.tokens.is_word_at(ahead, "static") {
            // `async => …` is a lambda too.
            if self.tokens.is_at(ahead + 1, "=>") {
                return true;
            }
            ahead += 1;
        }
        if self.tokens.is_word_at(ahead, "delegate") {
            return true;
        }
        if self.tokens.is_identifier_at(ahead) && self.tokens.is_at(ahead + 1, "=>") {
            return true;
        }
        self.tokens.is_at(ahead, "(")
            && self
                .tokens
                .closing(self.tokens.at + ahead)
                .is_some_and(|end| matches!(self.tokens.tok(end + 1), Some(Tok::Sign("=>"))))
    }

    pub(super) fn lambda(&mut self) -> Parsed<Expr> {
        let start = self.tokens.span();
        let mut special = None;
        loop {
            if self.tokens.is_at(1, "=>") {
                break;
            }
            if self.tokens.eat_word("async") {
                special = Some("an async lambda");
            } else if !self.tokens.eat_word("static") {
                break;
            }
        }
        let is_method = self.tokens.eat_word("delegate");
        let mut parameters = Vec::new();
        if self.tokens.is("(") {
            self.tokens.at += 1;
            while !self.tokens.is(")") && !self.tokens.is_cut() {
                let (parameter, is_special) = self.parameter()?;
                if is_special {
                    special = Some("a lambda with `ref`, `out` or optional parameters");
                }
                parameters.push(parameter);
                if !self.tokens.eat(",") {
                    break;
                }
            }
            self.tokens.expect(")")?;
        } else if !is_method {
            parameters.push((self.tokens.identifier()?, None));
        } else {
            special = Some("an anonymous method without parameters");
        }
        if !is_method {
            self.tokens.expect("=>")?;
        }
        let body = match self.tokens.is("{") {
            true => LambdaBody::Block(self.block()?),
            false if self.tokens.is_cut() => {
                LambdaBody::Value(Box::new(self.node(start, ExprKind::Cursor(None, "".into()))))
            }
            false => LambdaBody::Value(Box::new(self.expr()?)),
        };
        Ok(self.node(start, ExprKind::Lambda(Rc::new(Lambda { parameters, body, special }))))
    }

    /// Parses `x`, `int x`, `ref int x` or `int x = 1`: the name and type, and whether it needs the compiler.
    #[allow(clippy::type_complexity, reason = "a parameter, and an unrelated flag")]
    fn parameter(&mut self) -> Parsed<((Rc<str>, Option<TypeName>), bool)> {
        let mut is_special = false;
        while ["ref", "out", "in", "params", "scoped", "readonly"]
            .iter()
            .any(|word| self.tokens.is_word(word))
            && !matches!(self.tokens.peek_at(1), Tok::Sign("," | ")"))
        {
            self.tokens.at += 1;
            is_special = true;
        }
        let is_bare = self.tokens.is_identifier_at(0)
            && matches!(self.tokens.peek_at(1), Tok::Sign("," | ")") | Tok::End);
        let ty = if is_bare { None } else { Some(self.type_name()?) };
        let ty = ty.filter(|ty| ty.kind != TypeNameKind::Inferred);
        let name = self.tokens.identifier()?;
        if self.tokens.eat("=") {
            is_special = true;
            self.expr()?;
        }
        Ok(((name, ty), is_special))
    }
}
