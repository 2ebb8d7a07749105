//! Type names in conditions of exception filters, compared with the types of an exception.
//!
//! Not here: lists of them ([`super::filters`]), and patterns of other parts of the program.

use crate::names::keyword;
use crate::types::ty::primitive_named;

/// The type `decimal`, a keyword of C# but not a primitive of the runtime.
const DECIMAL: &str = "System.Decimal";

/// A type name, with or without namespace and type arguments. `*` stands for any characters.
///
/// A generic type is written as C# writes it (`Failure<int>`, `Failure<>` with any argument) or as the
/// runtime does (``Failure`1``, ``Failure`1[System.Int32]``).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TypePattern(String);

impl TypePattern {
    /// `None` if the text is not the name of a type.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let is_sound = |letter: char| letter.is_alphanumeric() || "._*<>()[],?".contains(letter);
        let name = arguments_as_in_csharp(&without_spaces(text).replace('+', "."))?;
        (!name.is_empty() && name.chars().all(is_sound)).then_some(Self(name))
    }

    /// Whether an exception is meant. `lineage`: full names, as C# spells them, of its type and of the base
    /// types, in that order.
    pub(super) fn matches(&self, lineage: &[String]) -> bool {
        match self.0.contains('*') {
            // The last base of every exception is `System.Exception`: a pattern means only the type itself.
            true => lineage.first().is_some_and(|name| {
                let name = without_spaces(name);
                matches_wildcards(&name, &self.0) || matches_wildcards(&without_arguments(&name), &self.0)
            }),
            false => lineage.iter().any(|name| matches_type(&without_spaces(name), &self.0)),
        }
    }
}

/// The parts of a list at commas outside brackets, semicolons and ends of lines, trimmed.
pub(super) fn split_list(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split([';', '\n']).flat_map(|part| split_outside(part, ','));
    parts.map(str::trim).filter(|part| !part.is_empty())
}

/// The type's own name: `Inner<A.B>` for `Space.Outer.Inner<A.B>`.
pub(super) fn simple_name(full: &str) -> &str {
    split_outside(full, '.').into_iter().next_back().unwrap_or(full)
}

/// Splits a text at a separator outside brackets.
fn split_outside(text: &str, separator: char) -> Vec<&str> {
    let mut depth = 0_usize;
    let is_separator = |letter: char| {
        match letter {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            _ => return letter == separator && depth == 0,
        }
        false
    };
    text.split(is_separator).collect()
}

/// A name without the spaces beside its punctuation.
fn without_spaces(text: &str) -> String {
    if !text.contains(char::is_whitespace) {
        return text.to_owned();
    }
    let is_part = |letter: Option<char>| letter.is_some_and(|letter| !"<>()[],".contains(letter));
    let words = text.split_whitespace();
    words.fold(String::new(), |mut joined, word| {
        if is_part(joined.chars().next_back()) && is_part(word.chars().next()) {
            joined.push(' ');
        }
        joined + word
    })
}

/// ``Failure`1`` as `Failure<>`, and ``Failure`1[System.Int32]`` as `Failure<System.Int32>`. `None` if the
/// brackets are not in pairs.
fn arguments_as_in_csharp(name: &str) -> Option<String> {
    let mut spelled = String::with_capacity(name.len());
    let mut open = Vec::new();
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '`' => {
                let mut arity = String::new();
                while let Some(digit) = letters.next_if(char::is_ascii_digit) {
                    arity.push(digit);
                }
                // A type has at most 65,535 parameters (ECMA-335 II.22.20).
                let arity = usize::from(arity.parse::<u16>().ok()?);
                spelled.push('<');
                match letters.next_if_eq(&'[') {
                    Some(_) => open.push((']', '>')),
                    None => {
                        spelled.push_str(&",".repeat(arity.saturating_sub(1)));
                        spelled.push('>');
                    }
                }
            }
            '<' | '(' | '[' => {
                let closing = match letter {
                    '<' => '>',
                    '(' => ')',
                    _ => ']',
                };
                open.push((closing, closing));
                spelled.push(letter);
            }
            '>' | ')' | ']' => {
                let (_, closing) = open.pop().filter(|(expected, _)| *expected == letter)?;
                spelled.push(closing);
            }
            _ => spelled.push(letter),
        }
    }
    open.is_empty().then_some(spelled)
}

/// A part of a full name between dots: `Inner<int>[]`.
struct NamePart<'a> {
    name: &'a str,
    /// Between the angle brackets, or the round ones of a tuple.
    arguments: Option<Vec<&'a str>>,
    /// What follows the arguments: `[]`, `?`.
    tail: &'a str,
}

impl<'a> NamePart<'a> {
    fn parse(text: &'a str) -> Self {
        let close = text.rfind(['>', ')']);
        let Some((open, close)) = text.find(['<', '(']).zip(close).filter(|(open, close)| open < close)
        else {
            return Self { name: text, arguments: None, tail: "" };
        };
        let (name, inside) = (text.get(..open), text.get(open + 1..close));
        Self {
            name: name.unwrap_or_default(),
            arguments: inside.map(|inside| split_outside(inside, ',')),
            tail: text.get(close + 1..).unwrap_or_default(),
        }
    }

    /// Whether a pattern means this part: without arguments, it means all; an empty argument is any.
    fn is_meant(&self, pattern: &Self) -> bool {
        let arguments = match (&self.arguments, &pattern.arguments) {
            (Some(own), Some(patterns)) => {
                own.len() == patterns.len()
                    && own
                        .iter()
                        .zip(patterns)
                        .all(|(own, pattern)| pattern.is_empty() || matches_type(own, pattern))
            }
            (_, None) => true,
            (None, Some(_)) => false,
        };
        self.name == pattern.name && self.tail == pattern.tail && arguments
    }
}

/// Whether a pattern without wildcards means a type. Both are without spaces.
fn matches_type(full: &str, pattern: &str) -> bool {
    if !full.contains(['<', '(']) {
        let is_suffix = full.strip_suffix(pattern).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        return is_suffix || is_keyword_of(full, pattern);
    }
    let names = split_outside(full, '.').into_iter().rev();
    let patterns: Vec<&str> = split_outside(pattern, '.').into_iter().rev().collect();
    let mut pairs = names.zip(&patterns);
    let is_all = pairs.len() == patterns.len();
    is_all && pairs.all(|(name, pattern)| NamePart::parse(name).is_meant(&NamePart::parse(pattern)))
}

/// Whether a word is C#'s keyword of a type, with or without the namespace: `int` of `Int32`.
fn is_keyword_of(word: &str, name: &str) -> bool {
    let full = match name.contains('.') {
        true => name.to_owned(),
        false => format!("System.{name}"),
    };
    match primitive_named(&full).and_then(keyword) {
        Some(own) => own == word,
        None => full == DECIMAL && word == "decimal",
    }
}

/// A full name without type arguments.
fn without_arguments(full: &str) -> String {
    let parts = split_outside(full, '.').into_iter().map(|part| NamePart::parse(part).name);
    parts.collect::<Vec<_>>().join(".")
}

/// Whether a name matches a pattern in which `*` stands for any characters.
fn matches_wildcards(name: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generic_types_match_in_each_spelling() {
        let failure = "Shop.Failure<int>".to_owned();
        let nested =
            "Shop.Outer<string>.Failure<System.Collections.Generic.List<(int, Shop.Item[])>, decimal>";
        let lineages = [vec![failure.clone()], vec![nested.to_owned()], vec!["Shop.Plain".into(), failure]];
        for (pattern, expected) in [
            ("Shop.Failure<int>", [true, false, true]),
            ("Failure<int>", [true, false, true]),
            ("Failure< int >", [true, false, true]),
            ("Failure<Int32>", [true, false, true]),
            ("Failure<System.Int32>", [true, false, true]),
            ("Failure`1[System.Int32]", [true, false, true]),
            ("Failure<string>", [false, false, false]),
            ("Failure<int, int>", [false, false, false]),
            ("Failure", [true, true, true]),
            ("Failure<>", [true, false, true]),
            ("Failure`1", [true, false, true]),
            ("Shop.Failure`1", [true, false, true]),
            ("Failure<,>", [false, true, false]),
            ("Failure`2", [false, true, false]),
            ("Outer.Failure", [false, true, false]),
            ("Outer+Failure", [false, true, false]),
            ("Outer<String>.Failure<,>", [false, true, false]),
            ("Outer<int>.Failure<,>", [false, false, false]),
            ("Failure<List<(int, Item[])>, Decimal>", [false, true, false]),
            ("Failure<List<(int, Item)>, decimal>", [false, false, false]),
            ("Failure<List<>, decimal>", [false, true, false]),
            ("Shop.Fail*", [true, false, false]),
            ("Shop.*", [true, true, true]),
            ("Shop.Outer.*", [false, true, false]),
            ("Shop.Failure<*>", [true, false, false]),
            ("*.Failure", [true, true, false]),
        ] {
            let parsed = TypePattern::parse(pattern).unwrap();
            let matched = lineages.each_ref().map(|lineage| parsed.matches(lineage));
            assert_eq!(matched, expected, "{pattern}");
        }
    }

    #[test]
    fn what_is_not_a_type_is_refused() {
        for text in ["", "a b", "A<int", "A>", "A<int)", "A`", "A`x", "A<a b>", "A`70000", "a-b", "A<int>>"] {
            assert_eq!(TypePattern::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_list_is_split_outside_brackets() {
        let parts: Vec<&str> = split_list("A<int, B>, !C;D`2[E,F]\n G<(int, int[,])>,,").collect();
        assert_eq!(parts, ["A<int, B>", "!C", "D`2[E,F]", "G<(int, int[,])>"]);
    }

    #[test]
    fn the_simple_name_keeps_its_arguments() {
        for (full, simple) in
            [("Shop.Failure<System.Guid>", "Failure<System.Guid>"), ("A.B", "B"), ("C", "C"), ("", "")]
        {
            assert_eq!(simple_name(full), simple);
        }
    }
}
