//! Strings and characters: regular, verbatim, raw and interpolated ones (language specification, 6.4.5 and
//! 12.8.3). Not here: all other tokens ([`super::lexer`]).

use super::lexer::{LexedStringPart, Lexer, Tok};
use super::tree::Span;
use super::{Diagnostic, error};
use crate::constant::Constant;
use crate::types::kind;

/// Reads a string or character that begins here; `None` for another token.
pub(super) fn string(lexer: &mut Lexer<'_>) -> Result<Option<Tok>, Diagnostic> {
    let start = lexer.at;
    let dollars = lexer.run_of('$');
    let rest = lexer.rest().get(dollars..).unwrap_or_default();
    let is_verbatim = rest.starts_with("@\"") || (rest.starts_with('"') && lexer.rest().starts_with("@$"));
    // `@$"…"` is the same as `$@"…"`.
    if lexer.rest().starts_with("@$\"") {
        lexer.at += 3;
        return interpolated_string(
            lexer,
            &StringStyle { dollars: 1, quotes: 1, kind: StringKind::Verbatim, start },
        )
        .map(Some);
    }
    if dollars > 0 && !(rest.starts_with('"') || is_verbatim) {
        return Ok(None);
    }
    if rest.starts_with('\'') {
        return character(lexer).map(Some);
    }
    if !rest.starts_with('"') && !is_verbatim {
        return Ok(None);
    }
    lexer.at += dollars;
    if is_verbatim {
        lexer.at += 2;
        if dollars > 0 {
            return interpolated_string(
                lexer,
                &StringStyle { dollars, quotes: 1, kind: StringKind::Verbatim, start },
            )
            .map(Some);
        }
        return verbatim(lexer, start).map(Some);
    }
    let quotes = lexer.run_of('"');
    if quotes >= 3 {
        lexer.at += quotes;
        let style = StringStyle { dollars, quotes, kind: StringKind::Raw, start };
        return if dollars > 0 { interpolated_string(lexer, &style) } else { raw(lexer, &style) }.map(Some);
    }
    lexer.at += 1;
    if dollars > 0 {
        return interpolated_string(
            lexer,
            &StringStyle { dollars, quotes: 1, kind: StringKind::Regular, start },
        )
        .map(Some);
    }
    regular(lexer, start).map(Some)
}

#[derive(Clone, Copy, PartialEq)]
enum StringKind {
    Regular,
    Verbatim,
    Raw,
}

struct StringStyle {
    dollars: usize,
    quotes: usize,
    kind: StringKind,
    start: usize,
}

fn unended(lexer: &Lexer<'_>, start: usize) -> Diagnostic {
    error("CS1010", "Newline in constant", Span { start, end: lexer.text.len() })
}

fn text_or_utf8(lexer: &mut Lexer<'_>, text: String) -> Tok {
    let is_utf8 = (lexer.rest().starts_with("u8") || lexer.rest().starts_with("U8"))
        && !lexer.rest().chars().nth(2).is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    if is_utf8 {
        lexer.at += 2;
        return Tok::Utf8(text);
    }
    Tok::Literal(Constant::Text(text))
}

fn character(lexer: &mut Lexer<'_>) -> Result<Tok, Diagnostic> {
    let start = lexer.at;
    lexer.at += 1;
    let mut text = String::new();
    match lexer.peek() {
        Some('\\') => text.push(escape(lexer)?),
        Some(letter) if letter != '\'' && letter != '\n' => {
            text.push(letter);
            lexer.at += letter.len_utf8();
        }
        _ => {}
    }
    let mut units = text.encode_utf16();
    let unit = units.next().filter(|_| units.next().is_none());
    match (unit, lexer.eat("'")) {
        (Some(unit), true) => Ok(Tok::Literal(Constant::Int(kind::CHAR, i128::from(unit)))),
        (None, true) => Err(error("CS1011", "Empty character literal", Span { start, end: lexer.at })),
        _ => Err(error("CS1012", "Too many characters in character literal", Span { start, end: lexer.at })),
    }
}

fn regular(lexer: &mut Lexer<'_>, start: usize) -> Result<Tok, Diagnostic> {
    let mut text = String::new();
    loop {
        match lexer.peek() {
            Some('"') => {
                lexer.at += 1;
                return Ok(text_or_utf8(lexer, text));
            }
            Some('\\') => text.push(escape(lexer)?),
            None | Some('\n') => return Err(unended(lexer, start)),
            Some(letter) => {
                text.push(letter);
                lexer.at += letter.len_utf8();
            }
        }
    }
}

fn verbatim(lexer: &mut Lexer<'_>, start: usize) -> Result<Tok, Diagnostic> {
    let mut text = String::new();
    loop {
        text.push_str(lexer.take_while(|letter| letter != '"'));
        if lexer.eat("\"\"") {
            text.push('"');
        } else if lexer.eat("\"") {
            return Ok(text_or_utf8(lexer, text));
        } else {
            return Err(unended(lexer, start));
        }
    }
}

fn raw(lexer: &mut Lexer<'_>, style: &StringStyle) -> Result<Tok, Diagnostic> {
    let ending = "\"".repeat(style.quotes);
    let end = lexer.rest().find(&ending).ok_or_else(|| unended(lexer, style.start))?;
    let text = lexer.rest().get(..end).unwrap_or_default().to_owned();
    lexer.at += end + style.quotes;
    // Additional quotes before the closing ones belong to the text.
    let mut parts = vec![LexedStringPart::Text(text)];
    while lexer.rest().starts_with('"') {
        lexer.at += 1;
        if let Some(LexedStringPart::Text(text)) = parts.last_mut() {
            text.push('"');
        }
    }
    unindent(&mut parts);
    match parts.pop() {
        Some(LexedStringPart::Text(text)) => Ok(text_or_utf8(lexer, text)),
        _ => Err(unended(lexer, style.start)),
    }
}

/// Reads the character of an escape sequence.
fn escape(lexer: &mut Lexer<'_>) -> Result<char, Diagnostic> {
    let start = lexer.at;
    lexer.at += 1;
    let letter = lexer.peek();
    lexer.at += letter.map_or(0, char::len_utf8);
    let digits = match letter {
        Some('u') => (4, 4),
        Some('x') => (1, 4),
        Some('U') => (8, 8),
        _ => (0, 0),
    };
    let wrong =
        |lexer: &Lexer<'_>| error("CS1009", "Unrecognized escape sequence", Span { start, end: lexer.at });
    if digits.1 > 0 {
        let mut count = 0;
        let hex = lexer.take_while(|letter| {
            count += 1;
            count <= digits.1 && letter.is_ascii_hexdigit()
        });
        let code = (hex.len() >= digits.0).then(|| u32::from_str_radix(hex, 16).ok()).flatten();
        // A lone surrogate is not supported as a character.
        return code.map(|code| char::from_u32(code).unwrap_or('\u{fffd}')).ok_or_else(|| wrong(lexer));
    }
    Ok(match letter {
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('0') => '\0',
        Some('a') => '\u{7}',
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some('v') => '\u{b}',
        Some('e') => '\u{1b}',
        Some(same @ ('\\' | '"' | '\'')) => same,
        _ => return Err(wrong(lexer)),
    })
}

/// Reads an interpolated string, after the opening quotes.
fn interpolated_string(lexer: &mut Lexer<'_>, style: &StringStyle) -> Result<Tok, Diagnostic> {
    let (mut parts, mut text) = (Vec::new(), String::new());
    loop {
        match lexer.peek() {
            None => return Err(unended(lexer, style.start)),
            Some('\n') if style.kind == StringKind::Regular => return Err(unended(lexer, style.start)),
            Some('"') => {
                let run = lexer.run_of('"');
                match style.kind {
                    StringKind::Verbatim if run >= 2 => {
                        text.push('"');
                        lexer.at += 2;
                        continue;
                    }
                    StringKind::Raw if run < style.quotes => {
                        text.push_str(&"\"".repeat(run));
                        lexer.at += run;
                        continue;
                    }
                    StringKind::Raw => {
                        text.push_str(&"\"".repeat(run - style.quotes));
                        lexer.at += run;
                    }
                    _ => lexer.at += 1,
                }
                break;
            }
            Some('\\') if style.kind == StringKind::Regular => text.push(escape(lexer)?),
            Some('{') => {
                let run = lexer.run_of('{');
                let is_raw = style.kind == StringKind::Raw;
                // In a raw string the last braces of a run open an interpolation; in others two braces are
                // one brace of the text.
                let opens = if is_raw { run >= style.dollars } else { run % 2 == 1 };
                text.push_str(&"{".repeat(match (is_raw, opens) {
                    (true, true) => run - style.dollars,
                    (true, false) => run,
                    (false, _) => run / 2,
                }));
                lexer.at += run;
                if opens {
                    parts.push(LexedStringPart::Text(std::mem::take(&mut text)));
                    parts.push(interpolation(lexer, style)?);
                }
            }
            Some('}') => {
                let run = lexer.run_of('}');
                let is_raw = style.kind == StringKind::Raw;
                if !is_raw && run % 2 == 1 {
                    let span = Span { start: lexer.at, end: lexer.at + run };
                    return Err(error(
                        "CS8086",
                        "A '}' character must be escaped (by doubling) in an interpolated string",
                        span,
                    ));
                }
                text.push_str(&"}".repeat(if is_raw { run } else { run / 2 }));
                lexer.at += run;
            }
            Some(letter) => {
                text.push(letter);
                lexer.at += letter.len_utf8();
            }
        }
    }
    parts.push(LexedStringPart::Text(text));
    if style.kind == StringKind::Raw {
        unindent(&mut parts);
    }
    Ok(Tok::Interpolated(parts))
}

/// Reads an interpolation, after its opening braces.
fn interpolation(lexer: &mut Lexer<'_>, style: &StringStyle) -> Result<LexedStringPart, Diagnostic> {
    let start = lexer.at;
    let too_deep =
        || error("CS8078", "An expression is too long or complex to compile", Span { start, end: start });
    lexer.deeper = lexer.deeper.checked_sub(1).ok_or_else(too_deep)?;
    let closing = "}".repeat(if style.kind == StringKind::Raw { style.dollars } else { 1 });
    let (mut tokens, mut nested) = (Vec::new(), 0usize);
    let format = loop {
        let token = lexer.next()?;
        match &token.tok {
            Tok::End => {
                return Err(error(
                    "CS8076",
                    "Missing close delimiter '}' for interpolated expression started with '{'",
                    Span { start, end: token.span.end },
                ));
            }
            Tok::Sign("(" | "[" | "{") => nested += 1,
            Tok::Sign(")" | "]") => nested = nested.saturating_sub(1),
            Tok::Sign("}") if nested == 0 => {
                lexer.at = token.span.start;
                break None;
            }
            Tok::Sign("}") => nested -= 1,
            Tok::Sign(":") if nested == 0 => break Some(format_text(lexer, style, &closing)?),
            // `::` is a format that begins with a colon.
            Tok::Sign("::") if nested == 0 => {
                lexer.at = token.span.start + 1;
                break Some(format_text(lexer, style, &closing)?);
            }
            _ => {}
        }
        tokens.push(token);
    };
    let end = lexer.at;
    if !lexer.eat(&closing) {
        return Err(error(
            "CS8076",
            "Missing close delimiter '}' for interpolated expression started with '{'",
            Span { start, end },
        ));
    }
    tokens.push(super::lexer::SyntaxToken { tok: Tok::End, span: Span { start: end, end } });
    lexer.deeper += 1;
    Ok(LexedStringPart::Interpolation(tokens, format))
}

fn format_text(lexer: &mut Lexer<'_>, style: &StringStyle, closing: &str) -> Result<String, Diagnostic> {
    let mut text = String::new();
    loop {
        match lexer.peek() {
            Some('}') if style.kind != StringKind::Raw && lexer.rest().starts_with("}}") => {
                // The interpolation ends at the first brace of an odd number.
                if lexer.run_of('}') % 2 == 1 {
                    return Ok(text);
                }
                text.push('}');
                lexer.at += 2;
            }
            Some('}') if lexer.rest().starts_with(closing) => return Ok(text),
            Some('{') if style.kind != StringKind::Raw && lexer.eat("{{") => text.push('{'),
            Some('\\') if style.kind == StringKind::Regular => text.push(escape(lexer)?),
            None | Some('"') => return Err(unended(lexer, style.start)),
            Some(letter) => {
                text.push(letter);
                lexer.at += letter.len_utf8();
            }
        }
    }
}

/// Removes the first and last line break of a raw string with several lines, and the blanks of its
/// last line from each line.
fn unindent(parts: &mut [LexedStringPart]) {
    let first = match parts.first() {
        Some(LexedStringPart::Text(text)) => text.clone(),
        _ => return,
    };
    let line = first.split('\n').next().unwrap_or_default();
    if !first.contains('\n') || !line.trim().is_empty() {
        return;
    }
    let last = match parts.last() {
        Some(LexedStringPart::Text(text)) => text.rsplit('\n').next().unwrap_or_default().to_owned(),
        _ => return,
    };
    if !last.trim().is_empty() {
        return;
    }
    let count = parts.len();
    for (at, part) in parts.iter_mut().enumerate() {
        let LexedStringPart::Text(text) = part else { continue };
        let mut lines: Vec<&str> = text.split('\n').collect();
        let mut kept: Vec<String> = Vec::new();
        if at == 0 {
            lines.remove(0);
        }
        if at + 1 == count {
            lines.pop();
        }
        for (number, line) in lines.iter().enumerate() {
            // The text after an interpolation does not begin a line.
            let begins = number > 0 || at == 0;
            kept.push(
                if begins { line.strip_prefix(last.as_str()).unwrap_or(line.trim_start()) } else { line }
                    .to_owned(),
            );
        }
        let mut joined = kept.join("\n");
        if at + 1 == count {
            joined = joined.strip_suffix('\r').map(str::to_owned).unwrap_or(joined);
        }
        *text = joined;
    }
}

#[cfg(test)]
mod tests;
