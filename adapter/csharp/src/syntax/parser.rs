//! Expressions by precedence (language specification, 12.4.2): precedence climbing for binary operators,
//! recursive descent for all others. Not here: operands ([`super::primary`]).
//!
//! Two limits bound the stack of the code that walks the tree: the depth of the parser, and the number of
//! operators in one chain.

use std::rc::Rc;

use super::lexer::{SyntaxToken, Tok};
use super::tree::{Assign, Expr, ExprKind, Logical, SimpleName, Span};
use super::{Diagnostic, error};
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
    pub(super) text: &'a str,
    pub(super) tokens: Rc<[SyntaxToken]>,
    pub(super) at: usize,
    depth: usize,
    height: usize,
    /// Number of enclosing query expressions.
    pub(super) queries: usize,
    /// Whether the end of the text is the cursor, where completions are requested.
    pub(super) completes: bool,
}

pub(super) type Parsed<T> = Result<T, Diagnostic>;

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, tokens: Vec<SyntaxToken>) -> Self {
        Self { text, tokens: tokens.into(), at: 0, depth: 0, height: 0, queries: 0, completes: false }
    }

    pub(super) fn whole_expression(mut self) -> Parsed<Expr> {
        let expr = self.expr()?;
        match self.peek() {
            Tok::End => Ok(expr),
            _ => Err(self.unexpected()),
        }
    }

    /// Parses up to the end of the text, and closes open brackets there.
    pub(super) fn until_end(mut self) -> Option<Expr> {
        self.completes = true;
        // The last of several arguments of nothing: `a + b, c.`
        let mut last = self.expr().ok()?;
        while self.eat(",") {
            last = self.expr().ok()?;
        }
        (*self.peek() == Tok::End).then_some(last)
    }

    /// Parses the tokens of an interpolation, at the depth of this parser.
    pub(super) fn within<T>(
        &mut self,
        tokens: Vec<SyntaxToken>,
        what: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<T> {
        let outer = (std::mem::replace(&mut self.tokens, tokens.into()), std::mem::take(&mut self.at));
        let completes = std::mem::take(&mut self.completes);
        let done = what(self);
        (self.tokens, self.at, self.completes) = (outer.0, outer.1, completes);
        done
    }

    pub(super) fn peek(&self) -> &Tok {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> &Tok {
        self.tokens.get(self.at + ahead).map_or(&Tok::End, |token| &token.tok)
    }

    pub(super) fn span(&self) -> Span {
        self.span_at(0)
    }

    pub(super) fn span_at(&self, ahead: usize) -> Span {
        let end = Span { start: self.text.len(), end: self.text.len() };
        self.tokens.get(self.at + ahead).or(self.tokens.last()).map_or(end, |token| token.span)
    }

    /// The span of the last token that was read.
    pub(super) fn last_span(&self) -> Span {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        before.map_or(Span::default(), |token| token.span)
    }

    pub(super) fn since(&self, start: Span) -> Span {
        start.to(self.last_span())
    }

    pub(super) fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Tok::Sign(own) if *own == sign)
    }

    pub(super) fn is_at(&self, ahead: usize, sign: &str) -> bool {
        matches!(self.peek_at(ahead), Tok::Sign(own) if *own == sign)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.is_word_at(0, word)
    }

    pub(super) fn is_word_at(&self, ahead: usize, word: &str) -> bool {
        matches!(self.peek_at(ahead), Tok::Word(own, false) if **own == *word)
    }

    pub(super) fn eat(&mut self, sign: &str) -> bool {
        let is_next = self.is(sign);
        self.at += usize::from(is_next);
        is_next
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let is_next = self.is_word(word);
        self.at += usize::from(is_next);
        is_next
    }

    /// Whether the text ends here and completions are requested, which closes all brackets.
    pub(super) fn is_cut(&self) -> bool {
        self.completes && *self.peek() == Tok::End
    }

    pub(super) fn expect(&mut self, sign: &'static str) -> Parsed<()> {
        if self.eat(sign) || self.is_cut() {
            return Ok(());
        }
        let code = match sign {
            ")" => "CS1026",
            "}" => "CS1513",
            "{" => "CS1514",
            ";" => "CS1002",
            _ => "CS1003",
        };
        let found = self.found();
        Err(error(code, format!("'{sign}' expected, but {found} found"), self.span()))
    }

    pub(super) fn found(&self) -> String {
        match self.peek() {
            Tok::End => "the end of the expression".into(),
            _ => format!("'{}'", self.text.get(self.span().start..self.span().end).unwrap_or_default()),
        }
    }

    pub(super) fn unexpected(&self) -> Diagnostic {
        let span = self.span();
        match self.peek() {
            Tok::End => error("CS1733", "Expected expression, but the expression ends here", span),
            _ => error("CS1525", format!("Invalid expression term {}", self.found()), span),
        }
    }

    /// Parses a name that is not a keyword.
    pub(super) fn identifier(&mut self) -> Parsed<Rc<str>> {
        if let Tok::Word(word, is_verbatim) = self.peek()
            && (*is_verbatim || !is_reserved(word))
        {
            let word = word.clone();
            self.at += 1;
            return Ok(word);
        }
        if self.is_cut() {
            return Ok("".into());
        }
        Err(error("CS1001", format!("Identifier expected, but {} found", self.found()), self.span()))
    }

    /// Whether the token at this distance is a name that a variable can have.
    pub(super) fn is_identifier_at(&self, ahead: usize) -> bool {
        matches!(self.peek_at(ahead), Tok::Word(word, verbatim) if *verbatim || !is_reserved(word))
    }

    pub(super) fn node(&self, start: Span, kind: ExprKind) -> Expr {
        Expr { kind, span: self.since(start) }
    }

    /// Parses one nesting level deeper, within the limit.
    pub(super) fn deeper<T>(&mut self, what: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(error("CS8078", "An expression is too long or complex to compile", self.span()));
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
            return Err(error("CS8078", "An expression is too long or complex to compile", self.span()));
        }
        Ok(())
    }

    /// Tries to parse; if this fails, the position is restored.
    pub(super) fn attempt<T>(&mut self, what: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let (at, depth, height) = (self.at, self.depth, self.height);
        let done = what(self);
        if done.is_none() {
            (self.at, self.depth, self.height) = (at, depth, height);
        }
        done
    }

    /// Parses an expression of any kind.
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.deeper(Self::assignment)
    }

    fn assignment(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if let Some(special) = self.non_operand()? {
            return Ok(special);
        }
        let left = self.choice()?;
        let Some((assign, count)) = self.assignment_sign() else { return Ok(left) };
        self.at += count;
        let right = self.expr()?;
        Ok(self.node(start, ExprKind::Assign(assign, Box::new(left), Box::new(right))))
    }

    /// Parses expressions that are not operands: lambdas, queries, `throw`, `ref`.
    fn non_operand(&mut self) -> Parsed<Option<Expr>> {
        let start = self.span();
        if self.begins_lambda() {
            return self.lambda().map(Some);
        }
        if self.begins_query() {
            let query = self.query()?;
            return Ok(Some(self.node(start, ExprKind::Query(Box::new(query)))));
        }
        if self.eat_word("throw") {
            let of = Box::new(self.expr()?);
            return Ok(Some(self.node(start, ExprKind::Throw(of))));
        }
        if self.eat_word("ref") {
            let of = Box::new(self.expr()?);
            return Ok(Some(self.node(start, ExprKind::Ref(of))));
        }
        Ok(None)
    }

    fn assignment_sign(&self) -> Option<(Assign, usize)> {
        use BinaryOp::{Add, And, Divide, Multiply, Or, Remainder, ShiftLeft, Subtract, Xor};
        let Tok::Sign(sign) = self.peek() else { return None };
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
                let rest = self.joined_signs(4);
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

    /// The next signs without blanks between them, at most `most`.
    fn joined_signs(&self, most: usize) -> String {
        let mut text = String::new();
        for ahead in 0..most {
            let Tok::Sign(sign) = self.peek_at(ahead) else { break };
            if ahead > 0 && self.span_at(ahead - 1).end != self.span_at(ahead).start {
                break;
            }
            text.push_str(sign);
        }
        text
    }

    fn choice(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let condition = self.binary(Precedence::Coalesce)?;
        if !self.is("?") {
            return Ok(condition);
        }
        self.at += 1;
        let first = self.expr()?;
        self.expect(":")?;
        if self.is_cut() {
            return Ok(first);
        }
        let second = self.expr()?;
        Ok(self.node(start, ExprKind::Choice(Box::new(condition), Box::new(first), Box::new(second))))
    }

    /// The operator at this position, its precedence, and its number of tokens.
    fn operator(&self) -> Option<(InfixOperator, Precedence, usize)> {
        use BinaryOp::*;
        let binary = |op, level| Some((InfixOperator::Binary(op), level, 1));
        match self.peek() {
            Tok::Word(word, false) => match &**word {
                "is" => Some((InfixOperator::Is, Precedence::Relational, 1)),
                "as" => Some((InfixOperator::As, Precedence::Relational, 1)),
                "switch" if self.is_at(1, "{") => Some((InfixOperator::Switch, Precedence::Switch, 1)),
                "with" if self.is_at(1, "{") => Some((InfixOperator::With, Precedence::Switch, 1)),
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
                    let joined = self.joined_signs(4);
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
        let start = self.span();
        let mut left = self.range()?;
        let mut count = 0;
        while let Some((operator, level, tokens)) = self.operator() {
            if level < least {
                break;
            }
            self.link(&mut count)?;
            self.at += tokens;
            let of = Box::new(left);
            let kind = match operator {
                InfixOperator::Is => ExprKind::Is(of, Box::new(self.pattern()?)),
                InfixOperator::As => ExprKind::As(of, self.type_after_is()?),
                InfixOperator::Switch => ExprKind::Switch(of, self.arms()?),
                InfixOperator::With => {
                    self.expect("{")?;
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
        let start = self.span();
        let first = match self.is("..") {
            true => None,
            false => Some(Box::new(self.unary()?)),
        };
        if !self.eat("..") {
            return first.map(|first| *first).ok_or_else(|| self.unexpected());
        }
        let ends = matches!(self.peek(), Tok::End | Tok::Sign(")" | "]" | "}" | "," | ";" | ":" | "=>"));
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

/// Keywords that are never names (language specification, 6.4.4).
const RESERVED: &str = "\
    abstract as base bool break byte case catch char checked class const continue decimal default \
    delegate do double else enum event explicit extern false finally fixed float for foreach goto if \
    implicit in int interface internal is lock long namespace new null object operator out override \
    params private protected public readonly ref return sbyte sealed short sizeof stackalloc static \
    string struct switch this throw true try typeof uint ulong unchecked unsafe ushort using virtual void \
    volatile while";

pub(super) fn is_reserved(word: &str) -> bool {
    RESERVED.split(' ').any(|own| own == word)
}
