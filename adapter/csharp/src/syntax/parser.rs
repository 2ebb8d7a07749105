//! Expressions by precedence (language specification, 12.4.2): precedence climbing for binary operators,
//! recursive descent for all others. Not here: operands ([`super::primary`]).
//!
//! Two limits bound the stack of the code that walks the tree: the depth of the parser, and the number of
//! operators in one chain.

use std::rc::Rc;

use super::lexer::{SyntaxToken, Tok};
use super::token_stream::TokenStream;
use super::tree::{Assign, Expr, ExprKind, Logical, SimpleName, Span};
use super::{Parsed, error};
use crate::operators::BinaryOp;

/// Maximum nesting depth, of brackets and chains together.
const MAX_DEPTH: usize = 120;
/// Maximum length of a chain of operators or accesses.
const MAX_CHAIN: usize = 240;
/// Maximum number of links of all chains that are open at one position.
const MAX_HEIGHT: usize = 250;

/// The precedence of an operator, the lowest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Precedence {
    Coalesce,
    OrElse,
    AndAlso,
    Or,
    Xor,
    And,
    Equality,
    Relational,
    Shift,
    Additive,
    Multiplicative,
    Switch,
    Range,
}

enum InfixOperator {
    Binary(BinaryOp),
    Logical(Logical),
    Is,
    As,
    Switch,
    With,
}

pub(super) struct Parser<'a> {
    pub(super) tokens: TokenStream<'a>,
    depth: usize,
    height: usize,
    /// Number of enclosing query expressions.
    pub(super) queries: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, tokens: Vec<SyntaxToken>) -> Self {
        Self { tokens: TokenStream::new(text, tokens), depth: 0, height: 0, queries: 0 }
    }

    pub(super) fn whole_expression(mut self) -> Parsed<Expr> {
        let expr = self.expr()?;
        match self.tokens.peek() {
            Tok::End => Ok(expr),
            _ => Err(self.tokens.unexpected()),
        }
    }

    /// Parses up to the end of the text, and closes open brackets there.
    pub(super) fn until_end(mut self) -> Option<Expr> {
        self.tokens.completes = true;
        // The last of several arguments of nothing: `a + b, c.`
        let mut last = self.expr().ok()?;
        while self.tokens.eat(",") {
            last = self.expr().ok()?;
        }
        (*self.tokens.peek() == Tok::End).then_some(last)
    }

    /// Parses the tokens of an interpolation, at the depth of this parser.
    pub(super) fn within<T>(
        &mut self,
        tokens: Vec<SyntaxToken>,
        what: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<T> {
        let inner = self.tokens.of_same_text(tokens);
        let outer = std::mem::replace(&mut self.tokens, inner);
        let done = what(self);
        self.tokens = outer;
        done
    }

    pub(super) fn node(&self, start: Span, kind: ExprKind) -> Expr {
        Expr { kind, span: self.tokens.since(start) }
    }

    /// Parses one nesting level deeper, within the limit.
    pub(super) fn deeper<T>(&mut self, what: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(error(
                "CS8078",
                "An expression is too long or complex to compile",
                self.tokens.span(),
            ));
        }
        self.depth += 1;
        let height = self.height;
        let done = what(self);
        self.height = height;
        self.depth -= 1;
        done
    }

    /// Counts another link of a chain, within the limit.
    pub(super) fn link(&mut self, count: &mut usize) -> Parsed<()> {
        *count += 1;
        self.height += 1;
        if *count > MAX_CHAIN || self.height > MAX_HEIGHT {
            return Err(error(
                "CS8078",
                "An expression is too long or complex to compile",
                self.tokens.span(),
            ));
        }
        Ok(())
    }

    /// Tries to parse; if this fails, the position is restored.
    pub(super) fn attempt<T>(&mut self, what: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let (at, depth, height) = (self.tokens.at, self.depth, self.height);
        let done = what(self);
        if done.is_none() {
            (self.tokens.at, self.depth, self.height) = (at, depth, height);
        }
        done
    }

    /// Parses an expression of any kind.
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.deeper(Self::assignment)
    }

    fn assignment(&mut self) -> Parsed<Expr> {
        let start = self.tokens.span();
        if let Some(special) = self.non_operand()? {
            return Ok(special);
        }
        let left = self.choice()?;
        let Some((assign, count)) = self.assignment_sign() else { return Ok(left) };
        self.tokens.at += count;
        let right = self.expr()?;
        Ok(self.node(start, ExprKind::Assign(assign, Box::new(left), Box::new(right))))
    }

    /// Parses expressions that are not operands: lambdas, queries, `throw`, `ref`.
    fn non_operand(&mut self) -> Parsed<Option<Expr>> {
        let start = self.tokens.span();
        if self.begins_lambda() {
            return self.lambda().map(Some);
        }
        if self.begins_query() {
            let query = self.query()?;
            return Ok(Some(self.node(start, ExprKind::Query(Box::new(query)))));
        }
        if self.tokens.eat_word("throw") {
            let of = Box::new(self.expr()?);
            return Ok(Some(self.node(start, ExprKind::Throw(of))));
        }
        if self.tokens.eat_word("ref") {
            let of = Box::new(self.expr()?);
            return Ok(Some(self.node(start, ExprKind::Ref(of))));
        }
        Ok(None)
    }

    fn assignment_sign(&self) -> Option<(Assign, usize)> {
        use BinaryOp::{Add, And, Divide, Multiply, Or, Remainder, ShiftLeft, Subtract, Xor};
        let Tok::Sign(sign) = self.tokens.peek() else { return None };
        let op = match *sign {
            "=" => return Some((Assign::Plain, 1)),
            "??=" => return Some((Assign::Coalesce, 1)),
            "+=" => Add,
            "-=" => Subtract,
            "*=" => Multiply,
            "/=" => Divide,
            "%=" => Remainder,
            "&=" => And,
            "|=" => Or,
            "^=" => Xor,
            "<<=" => ShiftLeft,
            ">" => {
                let rest = self.tokens.joined_signs(4);
                return match rest.as_str() {
                    _ if rest.starts_with(">>>=") => {
                        Some((Assign::Compound(BinaryOp::ShiftRightUnsigned), 4))
                    }
                    _ if rest.starts_with(">>=") => Some((Assign::Compound(BinaryOp::ShiftRight), 3)),
                    _ => None,
                };
            }
            _ => return None,
        };
        Some((Assign::Compound(op), 1))
    }

    fn choice(&mut self) -> Parsed<Expr> {
        let start = self.tokens.span();
        let condition = self.binary(Precedence::Coalesce)?;
        if !self.tokens.is("?") {
            return Ok(condition);
        }
        self.tokens.at += 1;
        let first = self.expr()?;
        self.tokens.expect(":")?;
        if self.tokens.is_cut() {
            return Ok(first);
        }
        let second = self.expr()?;
        Ok(self.node(start, ExprKind::Choice(Box::new(condition), Box::new(first), Box::new(second))))
    }

    /// The operator at this position, its precedence, and its number of tokens.
    fn operator(&self) -> Option<(InfixOperator, Precedence, usize)> {
        use BinaryOp::*;
        let binary = |op, level| Some((InfixOperator::Binary(op), level, 1));
        match self.tokens.peek() {
            Tok::Word(word, false) => match &**word {
                "is" => Some((InfixOperator::Is, Precedence::Relational, 1)),
                "as" => Some((InfixOperator::As, Precedence::Relational, 1)),
                "switch" if self.tokens.is_at(1, "{") => Some((InfixOperator::Switch, Precedence::Switch, 1)),
                "with" if self.tokens.is_at(1, "{") => Some((InfixOperator::With, Precedence::Switch, 1)),
                _ => None,
            },
            Tok::Sign(sign) => match *sign {
                "??" => Some((InfixOperator::Logical(Logical::Coalesce), Precedence::Coalesce, 1)),
                "||" => Some((InfixOperator::Logical(Logical::Or), Precedence::OrElse, 1)),
                "&&" => Some((InfixOperator::Logical(Logical::And), Precedence::AndAlso, 1)),
                "|" => binary(Or, Precedence::Or),
                "^" => binary(Xor, Precedence::Xor),
                "&" => binary(And, Precedence::And),
                "==" => binary(Equal, Precedence::Equality),
                "!=" => binary(NotEqual, Precedence::Equality),
                "<" => binary(Less, Precedence::Relational),
                "<=" => binary(LessOrEqual, Precedence::Relational),
                "<<" => binary(ShiftLeft, Precedence::Shift),
                "+" => binary(Add, Precedence::Additive),
                "-" => binary(Subtract, Precedence::Additive),
                "*" => binary(Multiply, Precedence::Multiplicative),
                "/" => binary(Divide, Precedence::Multiplicative),
                "%" => binary(Remainder, Precedence::Multiplicative),
                ">" => {
                    let joined = self.tokens.joined_signs(4);
                    let of = |op, level, count| Some((InfixOperator::Binary(op), level, count));
                    match joined.as_str() {
                        // An assignment.
                        _ if joined.starts_with(">>>=") || joined.starts_with(">>=") => None,
                        _ if joined.starts_with(">>>") => of(ShiftRightUnsigned, Precedence::Shift, 3),
                        _ if joined.starts_with(">>") => of(ShiftRight, Precedence::Shift, 2),
                        _ if joined.starts_with(">=") => of(GreaterOrEqual, Precedence::Relational, 2),
                        _ => of(Greater, Precedence::Relational, 1),
                    }
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Parses binary operators with at least this precedence.
    pub(super) fn binary(&mut self, least: Precedence) -> Parsed<Expr> {
        self.deeper(|parser| parser.binary_expression(least))
    }

    fn binary_expression(&mut self, least: Precedence) -> Parsed<Expr> {
        let start = self.tokens.span();
        let mut left = self.range()?;
        let mut count = 0;
        while let Some((operator, level, tokens)) = self.operator() {
            if level < least {
                break;
            }
            self.link(&mut count)?;
            self.tokens.at += tokens;
            let of = Box::new(left);
            let kind = match operator {
                InfixOperator::Is => ExprKind::Is(of, Box::new(self.pattern()?)),
                InfixOperator::As => ExprKind::As(of, self.type_after_is()?),
                InfixOperator::Switch => ExprKind::Switch(of, self.arms()?),
                InfixOperator::With => {
                    self.tokens.expect("{")?;
                    self.initializer()?;
                    ExprKind::With(of)
                }
                InfixOperator::Logical(Logical::Coalesce) => {
                    let right = match self.non_operand()? {
                        Some(special) => special,
                        None => self.binary(Precedence::Coalesce)?,
                    };
                    ExprKind::Logical(Logical::Coalesce, of, Box::new(right))
                }
                InfixOperator::Logical(logical) => {
                    ExprKind::Logical(logical, of, Box::new(self.binary(above(level))?))
                }
                InfixOperator::Binary(op) => ExprKind::Binary(op, of, Box::new(self.binary(above(level))?)),
            };
            left = self.node(start, kind);
        }
        Ok(left)
    }

    /// Parses `a..b`, `..b` and `a..`.
    fn range(&mut self) -> Parsed<Expr> {
        let start = self.tokens.span();
        let first = match self.tokens.is("..") {
            true => None,
            false => Some(Box::new(self.unary()?)),
        };
        if !self.tokens.eat("..") {
            return first.map(|first| *first).ok_or_else(|| self.tokens.unexpected());
        }
        let ends =
            matches!(self.tokens.peek(), Tok::End | Tok::Sign(")" | "]" | "}" | "," | ";" | ":" | "=>"));
        let last = if ends { None } else { Some(Box::new(self.unary()?)) };
        Ok(self.node(start, ExprKind::Range(first, last)))
    }

    pub(super) fn name_of(&self, text: Rc<str>, span: Span) -> SimpleName {
        SimpleName { text, arguments: Vec::new(), open: 0, span }
    }
}

/// The next higher precedence.
fn above(level: Precedence) -> Precedence {
    match level {
        Precedence::Coalesce => Precedence::OrElse,
        Precedence::OrElse => Precedence::AndAlso,
        Precedence::AndAlso => Precedence::Or,
        Precedence::Or => Precedence::Xor,
        Precedence::Xor => Precedence::And,
        Precedence::And => Precedence::Equality,
        Precedence::Equality => Precedence::Relational,
        Precedence::Relational => Precedence::Shift,
        Precedence::Shift => Precedence::Additive,
        Precedence::Additive => Precedence::Multiplicative,
        Precedence::Multiplicative => Precedence::Switch,
        Precedence::Switch | Precedence::Range => Precedence::Range,
    }
}
