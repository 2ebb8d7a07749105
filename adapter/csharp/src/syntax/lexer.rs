//! The lexer: text to tokens (language specification, 6.4). Each `>` is a token: the parser decides whether
//! two of them are a shift or the end of generic arguments.
//!
//! Not here: strings and characters ([`super::strings`]).

use std::rc::Rc;

use super::strings;
use super::tree::Span;
use super::{Diagnostic, error};
use crate::constant::{Constant, fits};
use crate::types::kind;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tok {
    /// A name or a keyword; a name with `@` is never a keyword.
    Word(Rc<str>, bool),
    Literal(Constant),
    Utf8(String),
    Interpolated(Vec<LexedStringPart>),
    Sign(&'static str),
    /// The end of the source text.
    End,
}

/// A part of an interpolated string. An interpolation contains its own tokens.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LexedStringPart {
    Text(String),
    Interpolation(Vec<SyntaxToken>, Option<String>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SyntaxToken {
    pub(crate) tok: Tok,
    pub(crate) span: Span,
}

/// Operators and punctuators, the longest first.
const SIGNS: [&str; 50] = [
    "<<=", "??=", "...", "==", "!=", "<=", "<<", "&&", "||", "??", "++", "--", "+=", "-=", "*=", "/=", "%=",
    "&=", "|=", "^=", "=>", "->", "::", "..", "(", ")", "[", "]", "{", "}", ",", ";", ":", "?", ".", "+",
    "-", "*", "/", "%", "&", "|", "^", "!", "~", "=", "<", ">", "@", "$",
];

/// Maximum depth of strings in interpolations of strings.
const MAX_HOLES_DEPTH: usize = 16;

pub(crate) struct Lexer<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) deeper: usize,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, deeper: MAX_HOLES_DEPTH }
    }

    /// Reads all tokens, of which the last is [`Tok::End`].
    pub(crate) fn all(mut self) -> Result<Vec<SyntaxToken>, Diagnostic> {
        let mut tokens = Vec::new();
        loop {
            let token = self.next()?;
            let is_end = token.tok == Tok::End;
            tokens.push(token);
            if is_end {
                return Ok(tokens);
            }
        }
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    pub(super) fn take_while(&mut self, mut fits: impl FnMut(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|letter| !fits(letter)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    /// The number of times that a letter is repeated here.
    pub(super) fn run_of(&self, letter: char) -> usize {
        self.rest().chars().take_while(|other| *other == letter).count()
    }

    fn skip_blanks(&mut self) -> Result<(), Diagnostic> {
        loop {
            self.take_while(char::is_whitespace);
            let start = self.at;
            if self.eat("//") {
                self.take_while(|letter| letter != '\n');
            } else if self.eat("/*") {
                let end = self.rest().find("*/");
                let end = end.ok_or_else(|| {
                    error("CS1035", "End-of-file found, '*/' expected", Span { start, end: self.text.len() })
                })?;
                self.at += end + 2;
            } else {
                return Ok(());
            }
        }
    }

    pub(super) fn next(&mut self) -> Result<SyntaxToken, Diagnostic> {
        self.skip_blanks()?;
        let start = self.at;
        let tok = self.token()?;
        Ok(SyntaxToken { tok, span: Span { start, end: self.at } })
    }

    fn token(&mut self) -> Result<Tok, Diagnostic> {
        let start = self.at;
        let Some(letter) = self.peek() else { return Ok(Tok::End) };
        if let Some(tok) = strings::string(self)? {
            return Ok(tok);
        }
        let second = self.rest().chars().nth(1);
        let is_number =
            letter.is_ascii_digit() || letter == '.' && second.is_some_and(|second| second.is_ascii_digit());
        if is_number {
            return self.number();
        }
        if begins_word(letter) || matches!(letter, '@' | '$') && second.is_some_and(begins_word) {
            return self.word(letter);
        }
        match SIGNS.into_iter().find(|sign| self.eat(sign)) {
            Some(sign) if !matches!(sign, "@" | "$" | "...") => Ok(Tok::Sign(sign)),
            _ => {
                let end = start + letter.len_utf8();
                Err(error("CS1056", format!("Unexpected character '{letter}'"), Span { start, end }))
            }
        }
    }

    fn word(&mut self, first: char) -> Result<Tok, Diagnostic> {
        let start = self.at;
        let is_verbatim = self.eat("@");
        let mut text = String::new();
        if first == '$' {
            self.at += 1;
            text.push('$');
        }
        loop {
            text.push_str(self.take_while(in_word));
            // `\u0061` in a name.
            if !(self.rest().starts_with("\\u") || self.rest().starts_with("\\U")) {
                break;
            }
            let digits = if self.rest().starts_with("\\u") { 4 } else { 8 };
            let code = self.rest().get(2..2 + digits).and_then(|hex| u32::from_str_radix(hex, 16).ok());
            let span = Span { start, end: self.at };
            let letter = code.and_then(char::from_u32).filter(|letter| in_word(*letter));
            text.push(letter.ok_or_else(|| error("CS1009", "Unrecognized escape sequence", span))?);
            self.at += 2 + digits;
        }
        Ok(match (is_verbatim, text.as_str()) {
            (false, "true") => Tok::Literal(Constant::Bool(true)),
            (false, "false") => Tok::Literal(Constant::Bool(false)),
            (false, "null") => Tok::Literal(Constant::Null),
            _ => Tok::Word(text.into(), is_verbatim),
        })
    }

    fn number(&mut self) -> Result<Tok, Diagnostic> {
        let start = self.at;
        let radix = match self.rest().get(..2) {
            Some("0x" | "0X") => 16,
            Some("0b" | "0B") => 2,
            _ => 10,
        };
        let too_large = |end: usize| error("CS1021", "Integral constant is too large", Span { start, end });
        if radix != 10 {
            self.at += 2;
            let digits = self.take_while(|letter| letter.is_digit(radix) || letter == '_').replace('_', "");
            let suffix = self.take_while(|letter| matches!(letter, 'u' | 'U' | 'l' | 'L')).to_lowercase();
            let value = u64::from_str_radix(&digits, radix).map_err(|_| too_large(self.at))?;
            return integer(value, &suffix).map(Tok::Literal).ok_or_else(|| too_large(self.at));
        }
        let is_digit = |letter: char| letter.is_ascii_digit() || letter == '_';
        self.take_while(is_digit);
        let mut is_real = false;
        let rest = self.rest().as_bytes();
        if rest.first() == Some(&b'.') && rest.get(1).is_some_and(u8::is_ascii_digit) {
            is_real = true;
            self.at += 1;
            self.take_while(is_digit);
        }
        let rest = self.rest().as_bytes();
        if matches!(rest.first(), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(rest.get(1), Some(b'+' | b'-')));
            if rest.get(1 + sign).is_some_and(u8::is_ascii_digit) {
                is_real = true;
                self.at += 1 + sign;
                self.take_while(is_digit);
            }
        }
        let digits = self.text.get(start..self.at).unwrap_or_default().replace('_', "");
        let bad =
            |end: usize| error("CS0594", "Constant is outside the range of its type", Span { start, end });
        let constant = match self.peek().map(|letter| letter.to_ascii_lowercase()) {
            Some('f') => {
                self.at += 1;
                digits.parse::<f32>().ok().filter(|value| value.is_finite()).map(Constant::Single)
            }
            Some('d') => {
                self.at += 1;
                digits.parse::<f64>().ok().filter(|value| value.is_finite()).map(Constant::Double)
            }
            Some('m') => {
                self.at += 1;
                decimal(&digits)
            }
            _ if is_real => {
                digits.parse::<f64>().ok().filter(|value| value.is_finite()).map(Constant::Double)
            }
            _ => {
                let suffix = self.take_while(|letter| matches!(letter, 'u' | 'U' | 'l' | 'L')).to_lowercase();
                let value = digits.parse().map_err(|_| too_large(self.at))?;
                return integer(value, &suffix).map(Tok::Literal).ok_or_else(|| too_large(self.at));
            }
        };
        constant.map(Tok::Literal).ok_or_else(|| bad(self.at))
    }
}

/// The integer as the first of int, uint, long, ulong that contains it and that the suffix allows.
fn integer(value: u64, suffix: &str) -> Option<Constant> {
    let (unsigned, long) = match suffix {
        "" => (false, false),
        "u" => (true, false),
        "l" => (false, true),
        "ul" | "lu" => (true, true),
        _ => return None,
    };
    let value = i128::from(value);
    let kinds =
        [(kind::I4, false, false), (kind::U4, true, false), (kind::I8, false, true), (kind::U8, true, true)];
    let (kind, ..) = kinds.into_iter().find(|(kind, is_unsigned, is_long)| {
        fits(*kind, value) && (!unsigned || *is_unsigned) && (!long || *is_long)
    })?;
    Some(Constant::Int(kind, value))
}

fn decimal(digits: &str) -> Option<Constant> {
    let parsed = match digits.to_lowercase() {
        digits if digits.contains('e') => rust_decimal::Decimal::from_scientific(&digits),
        digits => digits.parse(),
    };
    parsed.ok().map(Constant::Decimal)
}

fn begins_word(letter: char) -> bool {
    letter == '_' || letter.is_alphabetic()
}

fn in_word(letter: char) -> bool {
    letter == '_' || letter.is_alphanumeric() || matches!(letter, '\u{203f}' | '\u{2040}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> Option<Constant> {
        match Lexer::new(text).all().ok()?.as_slice() {
            [SyntaxToken { tok: Tok::Literal(constant), .. }, _] => Some(constant.clone()),
            _ => None,
        }
    }

    #[test]
    fn literals_have_csharps_types() {
        for (text, kind, value) in [
            ("0xFF", kind::I4, 255),
            ("1_000L", kind::I8, 1000),
            ("2147483648", kind::U4, 2_147_483_648),
            ("4294967296", kind::I8, 4_294_967_296),
            ("18446744073709551615", kind::U8, 18_446_744_073_709_551_615),
            ("5ul", kind::U8, 5),
            ("0b101", kind::I4, 5),
            ("0x1_0", kind::I4, 16),
        ] {
            assert_eq!(literal(text), Some(Constant::Int(kind, value)), "{text}");
        }
        assert_eq!(literal("99999999999999999999"), None);
        assert_eq!(literal("1.5f"), Some(Constant::Single(1.5)));
        assert_eq!(literal(".5"), Some(Constant::Double(0.5)));
        assert_eq!(literal("1e3"), Some(Constant::Double(1000.0)));
        assert_eq!(literal("1.50m").map(|value| value.invariant_text()).as_deref(), Some("1.50"));
        assert_eq!(literal("\"a\\n\\u0041\\x42\""), Some(Constant::Text("a\nAB".into())));
        assert_eq!(literal("'x'"), Some(Constant::Int(kind::CHAR, 120)));
        assert_eq!(literal("'\\''"), Some(Constant::Int(kind::CHAR, 39)));
    }

    #[test]
    fn signs_and_words_are_distinguished() {
        let signs = |text: &str| -> Vec<String> {
            let tokens = Lexer::new(text).all().unwrap();
            let name = |token: SyntaxToken| match token.tok {
                Tok::Sign(sign) => sign.to_owned(),
                Tok::Word(word, _) => word.to_string(),
                Tok::Literal(constant) => constant.invariant_text(),
                other => format!("{other:?}"),
            };
            tokens.into_iter().map(name).collect()
        };
        assert_eq!(signs("a>>b"), ["a", ">", ">", "b", "End"]);
        assert_eq!(signs("a?.b ?? c"), ["a", "?", ".", "b", "??", "c", "End"]);
        assert_eq!(signs("1..^2"), ["1", "..", "^", "2", "End"]);
        assert_eq!(signs("$exception.@if /* x */ // y"), ["$exception", ".", "if", "End"]);
        assert_eq!(signs("1.ToString()"), ["1", ".", "ToString", "(", ")", "End"]);
    }
}
