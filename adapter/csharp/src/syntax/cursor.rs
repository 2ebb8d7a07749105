//! The text that is completed at a cursor: within the code of an interpolated string, or where only the
//! beginning of a type, an initializer or a pattern precedes it, which the parser cannot read without its
//! end.
//!
//! Not here: what the names mean ([`crate::bind`]).

/// Deepest nesting of strings, and of brackets.
const MAX_DEPTH: usize = 64;

/// What to complete at the end of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CursorText {
    /// Texts whose ends are completed in the same way; the parser may read only later ones.
    pub(crate) candidates: Vec<String>,
    /// Whether only fields and properties fit: in an object initializer or a property pattern.
    pub(crate) is_initializer: bool,
}

/// The text to complete; `None` inside strings and characters.
pub(crate) fn cursor_text(before: &str) -> Option<CursorText> {
    let code = before.get(code_start(before)?..)?;
    let word = code.get(name_start(code)..)?;
    if let Some(object) = initialized(code.strip_suffix(word)?) {
        return Some(CursorText { candidates: vec![format!("{object}.{word}")], is_initializer: true });
    }
    let chain = code.get(chain_start(code)..)?;
    Some(CursorText { candidates: vec![code.to_owned(), chain.to_owned()], is_initializer: false })
}

/// A part of the text that is not closed at its end.
enum Open {
    /// Code from this byte, with the depth of its braces.
    Code { start: usize, braces: usize },
    /// A string with so many `$` and quotes; whether it is verbatim.
    Text { dollars: usize, quotes: usize, verbatim: bool },
}

/// Where the innermost code begins; `None` inside strings and characters.
fn code_start(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let run = |at: usize, byte: u8| {
        bytes.get(at..).unwrap_or_default().iter().take_while(|other| **other == byte).count()
    };
    let mut open = vec![Open::Code { start: 0, braces: 0 }];
    let mut at = 0;
    while let (Some(byte), Some(top)) = (bytes.get(at).copied(), open.last_mut()) {
        match top {
            Open::Code { braces, .. } => match byte {
                b'"' => {
                    let quotes = run(at, b'"');
                    let prefix = bytes.get(..at).unwrap_or_default().iter().rev();
                    let prefix: Vec<u8> = prefix.take_while(|byte| b"$@".contains(byte)).copied().collect();
                    let dollars = prefix.iter().filter(|byte| **byte == b'$').count();
                    at += if quotes == 2 { 2 } else { quotes };
                    if quotes != 2 {
                        open.push(Open::Text { dollars, quotes, verbatim: prefix.contains(&b'@') });
                    }
                    if open.len() > MAX_DEPTH {
                        return None;
                    }
                    continue;
                }
                b'\'' => {
                    let skipped = if bytes.get(at + 1) == Some(&b'\\') { at + 3 } else { at + 1 };
                    let rest = bytes.get(skipped..)?;
                    at = skipped + rest.iter().position(|byte| *byte == b'\'')?;
                }
                b'{' => *braces += 1,
                b'}' if *braces > 0 => *braces -= 1,
                b'}' if open.len() > 1 => drop(open.pop()),
                _ => {}
            },
            Open::Text { dollars, quotes, verbatim } => {
                let (dollars, quotes, verbatim) = (*dollars, *quotes, *verbatim);
                let is_raw = quotes >= 3;
                match byte {
                    b'\\' if !verbatim && !is_raw => at += 1,
                    b'"' if verbatim && !is_raw && run(at, b'"') >= 2 => at += 1,
                    b'"' if is_raw && run(at, b'"') < quotes => {}
                    b'"' => {
                        at += quotes;
                        open.pop();
                        continue;
                    }
                    b'{' if dollars > 0 => {
                        let braces = run(at, b'{');
                        at += braces;
                        if if is_raw { braces >= dollars } else { braces % 2 == 1 } {
                            open.push(Open::Code { start: at, braces: 0 });
                        }
                        continue;
                    }
                    _ => {}
                }
            }
        }
        at += 1;
    }
    match open.last()? {
        Open::Code { start, .. } => Some(*start),
        Open::Text { .. } => None,
    }
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '$' | '@')
}

/// Where the name at the end of a text begins.
fn name_start(text: &str) -> usize {
    text.trim_end_matches(is_name).len()
}

/// Where the names, calls and indexes that dots join at the end of a text begin.
fn chain_start(text: &str) -> usize {
    let mut rest = text;
    loop {
        let named = rest.get(..name_start(rest)).unwrap_or_default();
        let Some(before) = named.strip_suffix('.') else { return named.len() };
        let before = before.trim_end_matches(['?', '!']);
        let Some(closed) = without_brackets(before) else { return named.len() };
        rest = closed;
    }
}

/// A text without the pairs of brackets at its end; `None` if one has no beginning.
fn without_brackets(text: &str) -> Option<&str> {
    let mut rest = text;
    while rest.ends_with([')', ']', '>']) {
        let mut depth = 0usize;
        let start = rest.char_indices().rev().find(|(_, letter)| {
            match letter {
                ')' | ']' | '>' => depth += 1,
                '(' | '[' | '<' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 || depth > MAX_DEPTH
        });
        rest = rest.get(..start.filter(|_| depth == 0)?.0)?.trim_end_matches(['?', '!']);
    }
    Some(rest)
}

/// The object whose members are named at the end of a text: after `new T { A = 1, `, `value with { ` or
/// `value is T { `.
fn initialized(text: &str) -> Option<String> {
    let text = text.trim_end();
    let inside = text.ends_with(['{', ',']).then_some(text)?;
    let mut depth = 0usize;
    let (brace, _) = inside.char_indices().rev().find(|(_, letter)| match letter {
        ')' | ']' | '}' => {
            depth += 1;
            false
        }
        '(' | '[' | '{' if depth == 0 => true,
        '(' | '[' | '{' => {
            depth -= 1;
            false
        }
        _ => false,
    })?;
    let head = inside.get(..brace)?.trim_end();
    if !inside.get(brace..)?.starts_with('{') {
        return None;
    }
    if let Some(value) = head.strip_suffix("with").filter(|value| value.ends_with([' ', ')', ']'])) {
        let value = value.trim_end();
        return value.get(chain_start_of_value(value)..).filter(|chain| !chain.is_empty()).map(str::to_owned);
    }
    if head.ends_with(']') {
        return None;
    }
    let typed = without_brackets(head)?;
    let is_generic = head.ends_with('>');
    let start = typed.trim_end_matches(|letter| is_name(letter) || letter == '.').len();
    let end = if is_generic { head.len() } else { typed.len() };
    let name = head.get(start..end).filter(|name| !name.is_empty())?;
    let before = head.get(..start)?;
    let word = before.strip_suffix(' ')?.trim_end();
    let word = word.get(name_start(word)..)?;
    ["new", "is", "case", "and", "or", "not"].contains(&word).then(|| format!("default({name})"))
}

/// As [`chain_start`], of a text that ends with a value.
fn chain_start_of_value(text: &str) -> usize {
    match without_brackets(text) {
        Some(rest) => chain_start(rest),
        None => text.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The candidate for places that the parser cannot read, and whether members of an object fit.
    fn found(text: &str) -> Option<(String, bool)> {
        let text = cursor_text(text)?;
        Some((text.candidates.last()?.clone(), text.is_initializer))
    }

    #[test]
    fn the_code_around_a_cursor_is_found() {
        for (text, expected) in [
            ("a + h.Au", "h.Au"),
            ("typeof(", ""),
            ("new List<Li", "Li"),
            ("nameof(h.", "h."),
            ("f(a[1, 2].B(\"x\")!.C?.D<int>().", "a[1, 2].B(\"x\")!.C?.D<int>()."),
            ("$\"{h.Au", "h.Au"),
            ("$\"{{x}} {a} {b.", "b."),
            ("$@\"c:\\{b.", "b."),
            ("$\"a\\\"{b.", "b."),
            ("$\"\"\"x \"\" {b.", "b."),
            ("$$\"\"\"{x} {{b.", "b."),
            ("$\"{(c ? $\"{d.", "d."),
            ("\"a{\" + '\"' + '\\'' + e.", "e."),
            ("@\"a\"\"b\" + \"\" + e.", "e."),
        ] {
            assert_eq!(found(text), Some((expected.into(), false)), "{text}");
        }
        for text in
            ["\"h.", "$\"h.", "$\"{a} h.", "$\"{{h.", "\"\"\" a \" h.", "'h", "@\"\\\" + \"h.", "$\"{\"h."]
        {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn members_are_completed_in_initializers_and_patterns() {
        for (text, expected) in [
            ("new Holder { Au", "default(Holder).Au"),
            ("new A.Holder(1, 2) { X = f(1, 2), ", "default(A.Holder)."),
            ("new Box<int> { ", "default(Box<int>)."),
            ("rec with { ", "rec."),
            ("a.B(1) with { X = 1, Y", "a.B(1).Y"),
            ("boxed is St { ", "default(St)."),
            ("$\"{r with { ", "r."),
        ] {
            assert_eq!(found(text), Some((expected.into(), true)), "{text}");
        }
        for text in ["new Holder { A = ", "new[] { ", "new { ", "new int[] { ", "() => { ", "f(new A { }, "] {
            assert!(!found(text).is_some_and(|(_, is_initializer)| is_initializer), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_strange(text in "[a{}$@\"'\\\\().<>\\[\\], é?!]{0,40}") {
            cursor_text(&text);
        }
    }
}
