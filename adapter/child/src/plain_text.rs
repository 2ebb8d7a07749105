//! Messages of adapters without the escape codes of terminals: gdb colours its errors wherever it believes
//! that a terminal shows them. Not here: output of the program, which stays as it is.

use std::borrow::Cow;

use serde_json::Value;
use tandem_wire::Failure;

const ESCAPE: char = '\u{1b}';

/// A text without escape codes.
pub(super) fn without_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split(ESCAPE);
    let mut plain = parts.next().unwrap_or_default().to_owned();
    plain.extend(parts.map(behind_code));
    Cow::Owned(plain)
}

/// The rest of a text that begins with the code behind an escape character.
fn behind_code(text: &str) -> &str {
    let ends = |end: fn(char) -> bool, from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        let last = rest.char_indices().find(|(_, letter)| end(*letter));
        last.and_then(|(at, letter)| text.get(from + at + letter.len_utf8()..)).unwrap_or_default()
    };
    match text.chars().next() {
        // A control sequence ends with a letter or one of a few signs.
        Some('[') => ends(|letter| ('@'..='~').contains(&letter), 1),
        // A command of the operating system ends with a bell, or with an escape and a backslash.
        Some(']') if text.contains('\u{7}') => ends(|letter| letter == '\u{7}', 1),
        Some(']') | None => "",
        // Intermediate characters, then one that ends the code.
        Some(_) => ends(|letter| ('0'..='~').contains(&letter), 0),
    }
}

/// Removes escape codes from a failure of the adapter.
pub(super) fn strip_failure(mut failure: Failure) -> Failure {
    if let Cow::Owned(plain) = without_escapes(&failure.message) {
        failure.message = plain;
    }
    if let Some(foreign) = &mut failure.foreign {
        if let Some(Cow::Owned(plain)) = foreign.message.as_deref().map(without_escapes) {
            foreign.message = Some(plain);
        }
        strip(&mut foreign.body);
    }
    failure
}

/// Removes escape codes from the messages of breakpoints in an answer or an event, and from the text of an
/// event that the adapter itself has written.
pub(super) fn strip_messages(body: &mut Value) {
    for breakpoint in body.get_mut("breakpoints").and_then(Value::as_array_mut).into_iter().flatten() {
        strip_field(breakpoint, "message");
    }
    if let Some(breakpoint) = body.get_mut("breakpoint") {
        strip_field(breakpoint, "message");
    }
    let category = body.get("category").and_then(Value::as_str);
    if matches!(category, Some("console" | "important")) {
        strip_field(body, "output");
    }
}

fn strip_field(body: &mut Value, name: &str) {
    if let Some(field) = body.get_mut(name) {
        strip(field);
    }
}

fn strip(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(plain) = without_escapes(text) {
                *text = plain;
            }
        }
        Value::Array(list) => list.iter_mut().for_each(strip),
        Value::Object(fields) => fields.values_mut().for_each(strip),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tandem_wire::ErrorCode;

    use super::*;

    #[test]
    fn escape_codes_are_removed_and_nothing_else() {
        for (text, plain) in [
            (
                "No symbol \"\u{1b}[33mnope\u{1b}[m\" in current context.",
                "No symbol \"nope\" in current context.",
            ),
            ("\u{1b}[1;38;5;9mä\u{1b}[0m", "ä"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("\u{1b}]8;;file:///a\u{1b}\\text", "text"),
            ("\u{1b}(Bplain", "plain"),
            ("cut \u{1b}[3", "cut "),
            ("end \u{1b}", "end "),
            ("[33m", "[33m"),
        ] {
            assert_eq!(without_escapes(text), plain, "{text:?}");
        }
    }

    #[test]
    fn messages_of_the_adapter_are_plain() {
        let body = json!({ "error": { "id": 1, "format": "\u{1b}[31mno\u{1b}[m" } });
        let failure = Failure::from_response("evaluate", Some("\u{1b}[31mno\u{1b}[m"), &body);
        let plain = strip_failure(failure);
        assert_eq!((plain.message.as_str(), plain.code), ("no", ErrorCode::EngineFailed));
        let foreign = plain.foreign.unwrap();
        assert_eq!(
            (foreign.message.as_deref(), &foreign.body["error"]["format"]),
            (Some("no"), &json!("no"))
        );
        let mut body = json!({ "breakpoints": [{ "verified": false, "message": "\u{1b}[1mno\u{1b}[m" }] });
        strip_messages(&mut body);
        assert_eq!(body["breakpoints"][0]["message"], "no");
        let mut output = json!({ "category": "stdout", "output": "\u{1b}[1mno" });
        strip_messages(&mut output);
        assert_eq!(output["output"], "\u{1b}[1mno");
    }
}
