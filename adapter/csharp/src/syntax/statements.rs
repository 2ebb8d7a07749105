//! Statements in a lambda's braces (language specification, 13). Those that only the compiler supports are
//! skipped.

use super::Parsed;
use super::lexer::Tok;
use super::parser::Parser;
use super::tree::{Expr, Stmt, TypeName};

/// Keywords of statements that are left to the compiler, and the names of these statements.
const LEFT: [(&str, &str); 11] = [
    ("using", "a using statement"),
    ("try", "a try statement"),
    ("lock", "a lock statement"),
    ("switch", "a switch statement"),
    ("goto", "a goto statement"),
    ("fixed", "a fixed statement"),
    ("unsafe", "an unsafe block"),
    ("yield", "a yield statement"),
    ("const", "a local constant"),
    ("checked", "a checked block"),
    ("unchecked", "an unchecked block"),
];

impl Parser<'_> {
    /// Parses the statements of a block `{ … }`.
    pub(super) fn block(&mut self) -> Parsed<Vec<Stmt>> {
        self.deeper(|parser| {
            parser.tokens.expect("{")?;
            let mut all = Vec::new();
            while !parser.tokens.is("}") && !parser.tokens.is_cut() {
                all.push(parser.statement()?);
            }
            parser.tokens.expect("}")?;
            Ok(all)
        })
    }

    fn statement(&mut self) -> Parsed<Stmt> {
        self.deeper(Self::any_statement)
    }

    fn any_statement(&mut self) -> Parsed<Stmt> {
        if self.tokens.is("{") {
            return self.block().map(Stmt::Block);
        }
        if self.tokens.eat(";") {
            return Ok(Stmt::Empty);
        }
        if let Some(what) = self.left_to_compiler() {
            self.skip_statement()?;
            return Ok(Stmt::Other(what));
        }
        let Tok::Word(word, false) = self.tokens.peek().clone() else { return self.simple_statement() };
        match &*word {
            "if" => {
                self.tokens.at += 1;
                let condition = self.condition()?;
                let then = Box::new(self.statement()?);
                let other =
                    if self.tokens.eat_word("else") { Some(Box::new(self.statement()?)) } else { None };
                Ok(Stmt::If(condition, then, other))
            }
            "while" => {
                self.tokens.at += 1;
                let condition = self.condition()?;
                Ok(Stmt::While(condition, Box::new(self.statement()?)))
            }
            "do" => {
                self.tokens.at += 1;
                let body = Box::new(self.statement()?);
                if !self.tokens.eat_word("while") && !self.tokens.is_cut() {
                    return Err(self.tokens.unexpected());
                }
                let condition = self.condition()?;
                self.tokens.expect(";")?;
                Ok(Stmt::Do(body, condition))
            }
            "for" => self.for_statement(),
            "foreach" => {
                self.tokens.at += 1;
                self.tokens.expect("(")?;
                let ty = self.type_name()?;
                let name = self.tokens.identifier()?;
                if !self.tokens.eat_word("in") {
                    return Err(self.tokens.unexpected());
                }
                let of = self.expr()?;
                self.tokens.expect(")")?;
                Ok(Stmt::ForEach { ty, name, of, body: Box::new(self.statement()?) })
            }
            "return" => {
                self.tokens.at += 1;
                let value =
                    if self.tokens.is(";") || self.tokens.is_cut() { None } else { Some(self.expr()?) };
                self.tokens.expect(";")?;
                Ok(Stmt::Return(value))
            }
            "throw" => {
                self.tokens.at += 1;
                let value = if self.tokens.is(";") { None } else { Some(self.expr()?) };
                self.tokens.expect(";")?;
                Ok(Stmt::Throw(value))
            }
            "break" | "continue" => {
                self.tokens.at += 1;
                self.tokens.expect(";")?;
                Ok(if &*word == "break" { Stmt::Break } else { Stmt::Continue })
            }
            _ => self.simple_statement(),
        }
    }

    fn left_to_compiler(&self) -> Option<&'static str> {
        if self.tokens.is_word("await") && self.tokens.is_word_at(1, "foreach") {
            return Some("an await foreach statement");
        }
        let (_, what) = LEFT.iter().find(|(word, _)| self.tokens.is_word(word))?;
        let is_value = match self.tokens.peek() {
            Tok::Word(word, _) => match &**word {
                "checked" | "unchecked" => self.tokens.is_at(1, "("),
                "yield" => !(self.tokens.is_word_at(1, "return") || self.tokens.is_word_at(1, "break")),
                _ => false,
            },
            _ => false,
        };
        (!is_value).then_some(*what)
    }

    /// Skips a statement that is not parsed, up to its `;` or its last block.
    fn skip_statement(&mut self) -> Parsed<()> {
        loop {
            match self.tokens.peek() {
                Tok::End => return Ok(()),
                Tok::Sign("}") => return Ok(()),
                Tok::Sign("(" | "[" | "{") => {
                    let is_block = self.tokens.is("{");
                    self.tokens.at =
                        self.tokens.closing(self.tokens.at).ok_or_else(|| self.tokens.unexpected())? + 1;
                    if is_block
                        && !["catch", "finally", "else", "while"].iter().any(|word| self.tokens.is_word(word))
                    {
                        return Ok(());
                    }
                }
                Tok::Sign(";") => {
                    self.tokens.at += 1;
                    return Ok(());
                }
                _ => self.tokens.at += 1,
            }
        }
    }

    fn condition(&mut self) -> Parsed<Expr> {
        self.tokens.expect("(")?;
        let condition = self.expr()?;
        self.tokens.expect(")")?;
        Ok(condition)
    }

    fn for_statement(&mut self) -> Parsed<Stmt> {
        self.tokens.at += 1;
        self.tokens.expect("(")?;
        let mut first = Vec::new();
        if !self.tokens.is(";") {
            match self.locals()? {
                Some(locals) => first.push(locals),
                None => first.extend(self.values()?.into_iter().map(Stmt::Value)),
            }
        }
        self.tokens.expect(";")?;
        let condition = if self.tokens.is(";") { None } else { Some(self.expr()?) };
        self.tokens.expect(";")?;
        let updates = if self.tokens.is(")") { Vec::new() } else { self.values()? };
        self.tokens.expect(")")?;
        Ok(Stmt::For { first, condition, updates, body: Box::new(self.statement()?) })
    }

    fn values(&mut self) -> Parsed<Vec<Expr>> {
        let mut all = vec![self.expr()?];
        while self.tokens.eat(",") {
            all.push(self.expr()?);
        }
        Ok(all)
    }

    /// Parses a declaration or an expression statement.
    fn simple_statement(&mut self) -> Parsed<Stmt> {
        if let Some(locals) = self.locals()? {
            // A local function: `int Twice(int x) => …;`
            if self.tokens.is("(") {
                self.skip_statement()?;
                return Ok(Stmt::Other("a local function"));
            }
            self.tokens.expect(";")?;
            return Ok(locals);
        }
        let value = self.expr()?;
        self.tokens.expect(";")?;
        Ok(Stmt::Value(value))
    }

    /// Parses `var a = 1, b = 2`; `None` for an expression.
    fn locals(&mut self) -> Parsed<Option<Stmt>> {
        let typed = self.attempt(|parser| -> Option<TypeName> {
            let ty = parser.type_name().ok()?;
            let is_declared = parser.tokens.is_identifier_at(0)
                && matches!(parser.tokens.peek_at(1), Tok::Sign("=" | ";" | "," | "("));
            is_declared.then_some(ty)
        });
        let Some(ty) = typed else { return Ok(None) };
        let mut all = Vec::new();
        loop {
            let name = self.tokens.identifier()?;
            let value = if self.tokens.eat("=") { Some(self.expr()?) } else { None };
            all.push((name, value));
            if !self.tokens.eat(",") {
                break;
            }
        }
        Ok(Some(Stmt::Locals(ty, all)))
    }
}
