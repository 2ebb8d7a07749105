//! Parses text to a tree (C# 14), with a hand-written lexer and parser. They know only the grammar. A text of
//! any length and nesting results in a tree or a [`Diagnostic`].
//!
//! In reading order: [`tree`], [`lexer`] and [`strings`], [`token_stream`], [`parser`] (precedence),
//! [`primary`], [`creation`], [`names`] (types and generic arguments), [`patterns`], [`lambdas`] and
//! [`statements`], [`queries`], [`formats`].

mod creation;
mod cursor;
mod formats;
mod lambdas;
mod lexer;
mod names;
mod parser;
mod patterns;
mod primary;
mod queries;
mod statements;
mod strings;
mod token_stream;
pub(crate) mod tree;

#[cfg(test)]
mod tests;

use std::fmt;

pub(crate) use cursor::cursor_text;
pub use formats::Format;
pub use tree::{Expr, Span};

/// Maximum length of an expression, in bytes.
pub const MAX_LENGTH: usize = 16 * 1024;

/// An error in an expression, with the number and the message of the compiler.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// Number of the C# error, for example `CS0103`.
    pub code: &'static str,
    /// The compiler's message.
    pub message: String,
    /// The part of the text that is wrong.
    pub span: Span,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

type Parsed<T> = Result<T, Diagnostic>;

pub(crate) fn error(code: &'static str, message: impl Into<String>, span: Span) -> Diagnostic {
    Diagnostic { code, message: message.into(), span }
}

fn tokens(text: &str) -> Result<Vec<lexer::SyntaxToken>, Diagnostic> {
    if text.len() > MAX_LENGTH {
        let span = Span { start: MAX_LENGTH, end: text.len() };
        return Err(error(
            "CS8078",
            format!("An expression of more than {MAX_LENGTH} bytes is too long"),
            span,
        ));
    }
    lexer::Lexer::new(text).all()
}

/// Parses an expression.
///
/// # Errors
/// The syntax error, with its location.
pub fn parse(text: &str) -> Result<Expr, Diagnostic> {
    parser::Parser::new(text, tokens(text)?).whole_expression()
}

/// Parses an expression that is still being typed, up to the byte offset of the cursor. The tree has a node
/// for the cursor; `None` if no completion is possible there, as in a string or a number.
pub fn parse_until(text: &str, cursor: usize) -> Option<Expr> {
    let typed = text.get(..cursor)?;
    parser::Parser::new(typed, tokens(typed).ok()?).until_end()
}
