//! Tokens at and after a position, which the parser reads one after the other, with the diagnostics for an
//! unexpected one. Not here: the grammar ([`super::parser`]), the tokens of a text ([`super::lexer`]).

use std::rc::Rc;

use super::lexer::{SyntaxToken, Tok};
use super::tree::Span;
use super::{Diagnostic, Parsed, error};

/// The tokens of an expression, or of an interpolation in it, and a position among them.
pub(super) struct TokenStream<'a> {
    text: &'a str,
    list: Rc<[SyntaxToken]>,
    pub(super) at: usize,
    /// Whether the end of the text is the cursor, where completions are requested.
    pub(super) completes: bool,
}

impl<'a> TokenStream<'a> {
    pub(super) fn new(text: &'a str, tokens: Vec<SyntaxToken>) -> Self {
        Self { text, list: tokens.into(), at: 0, completes: false }
    }

    /// Other tokens of the same text, from the first one.
    pub(super) fn of_same_text(&self, tokens: Vec<SyntaxToken>) -> Self {
        Self::new(self.text, tokens)
    }

    /// The token at a position, which is counted from the first token.
    pub(super) fn tok(&self, at: usize) -> Option<&Tok> {
        self.list.get(at).map(|token| &token.tok)
    }

    /// Whether this token is the next one or follows later.
    pub(super) fn contains_ahead(&self, tok: &Tok) -> bool {
        self.list.iter().skip(self.at).any(|token| token.tok == *tok)
    }

    pub(super) fn peek(&self) -> &Tok {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> &Tok {
        self.tok(self.at + ahead).unwrap_or(&Tok::End)
    }

    pub(super) fn span(&self) -> Span {
        self.span_at(0)
    }

    pub(super) fn span_at(&self, ahead: usize) -> Span {
        let end = Span { start: self.text.len(), end: self.text.len() };
        self.list.get(self.at + ahead).or(self.list.last()).map_or(end, |token| token.span)
    }

    /// The span of the last token that was read.
    pub(super) fn last_span(&self) -> Span {
        let before = self.at.checked_sub(1).and_then(|at| self.list.get(at));
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

    /// The next signs without blanks between them, at most `most`.
    pub(super) fn joined_signs(&self, most: usize) -> String {
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

    /// The position of the token that closes the bracket at this position.
    pub(super) fn closing(&self, open: usize) -> Option<usize> {
        let mut nested = 0usize;
        for (at, token) in self.list.iter().enumerate().skip(open) {
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
