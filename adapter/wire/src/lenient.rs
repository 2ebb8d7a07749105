//! Reads JSON as other programs write it into Rust strings, which are UTF-8.
//!
//! JavaScript and Python write a lone surrogate as `"\ud83d"`, and some adapters copy a file name's bytes as
//! they are. The name of one thread must not make the whole message invalid. So such text is escaped before
//! the message is read: the string then contains the six characters `\ud83d`, or `\xff` for a byte that is
//! not UTF-8. Both directions of DAP and MCP go through here.
//!
//! Not here: text that is not JSON, is nested too deep, or contains a number out of range.
//! [`crate::outer_fields`] then finds the request to respond to.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::Value;

/// Reads a value, and escapes text that no Rust string can contain.
///
/// # Errors
/// The parse error that remains after escaping.
pub fn parse(text: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(text).or_else(|error| match readable(text) {
        Cow::Owned(escaped) => serde_json::from_slice(&escaped),
        Cow::Borrowed(_) => Err(error),
    })
}

/// A number, or a string that contains one.
pub(crate) fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()))
}

/// Escapes lone surrogates, bytes that are not UTF-8, and control characters inside strings.
/// Borrows a text without them.
pub fn readable(text: &[u8]) -> Cow<'_, [u8]> {
    let mut escaped = Escaped { text, written: 0, out: Vec::new() };
    let mut inside = false;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += match byte {
            b'"' => {
                inside = !inside;
                1
            }
            b'\\' if inside => escaped.escape_sequence(at),
            0x00..=0x1f if inside => escaped.replace(at, 1, &format!("\\u{byte:04x}")),
            0x80.. if inside => escaped.beyond_ascii(at),
            _ => 1,
        };
    }
    escaped.finish()
}

/// An escaped text, which is copied only from the first change.
struct Escaped<'a> {
    text: &'a [u8],
    /// Number of bytes of `text` that are in `out`.
    written: usize,
    out: Vec<u8>,
}

impl<'a> Escaped<'a> {
    fn replace(&mut self, at: usize, length: usize, by: &str) -> usize {
        self.out.extend_from_slice(self.text.get(self.written..at).unwrap_or_default());
        self.out.extend_from_slice(by.as_bytes());
        self.written = at + length;
        length
    }

    /// The length of the escape sequence at `at`, in bytes. A lone surrogate gets a second backslash.
    fn escape_sequence(&mut self, at: usize) -> usize {
        match self.unit(at) {
            // The rest of the pair does not change.
            Some(0xd800..=0xdbff) if matches!(self.unit(at + 6), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => {
                self.replace(at, 1, "\\\\");
                6
            }
            Some(_) => 6,
            None => 2,
        }
    }

    /// The UTF-16 unit of the `\uXXXX` at `at`.
    fn unit(&self, at: usize) -> Option<u16> {
        let digits = self.text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    }

    /// The length of the character at `at` that is not ASCII, in bytes, or of the bytes that are not UTF-8.
    fn beyond_ascii(&mut self, at: usize) -> usize {
        let next = self.text.get(at..self.text.len().min(at + 4)).unwrap_or_default();
        let Some(chunk) = next.utf8_chunks().next() else { return 1 };
        if let Some(character) = chunk.valid().chars().next() {
            return character.len_utf8();
        }
        let mut shown = String::new();
        for byte in chunk.invalid() {
            // Writing into a string cannot fail.
            write!(shown, "\\\\x{byte:02x}").unwrap_or_default();
        }
        let length = chunk.invalid().len().max(1);
        self.replace(at, length, &shown)
    }

    fn finish(mut self) -> Cow<'a, [u8]> {
        if self.written == 0 {
            return Cow::Borrowed(self.text);
        }
        self.out.extend_from_slice(self.text.get(self.written..).unwrap_or_default());
        Cow::Owned(self.out)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn text_that_is_not_unicode_is_escaped() {
        for (text, read) in [
            (&br#"{"name":"\ud800"}"#[..], json!({ "name": "\\ud800" })),
            (br#"["\uDC00x","\ud83d\ude00"]"#, json!(["\\uDC00x", "\u{1f600}"])),
            (br#""\ud83d\u0041\\ud83d""#, json!("\\ud83dA\\ud83d")),
            (br#""\ud83d\ud83d\ude00""#, json!("\\ud83d\u{1f600}")),
            (b"\"bad\xff\"", json!("bad\\xff")),
            ("\"é\u{1f600}\"".as_bytes(), json!("é\u{1f600}")),
            // A surrogate in UTF-8, as Python's `surrogatepass` writes it; and a truncated character.
            (b"\"\xed\xa0\x80\"", json!("\\xed\\xa0\\x80")),
            (b"\"\xe2\x82\"", json!("\\xe2\\x82")),
            (b"\"a\tb\x01\"", json!("a\tb\u{1}")),
        ] {
            assert_eq!(parse(text).unwrap(), read, "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn text_that_is_not_json_is_refused() {
        for text in [&b"{x}"[..], b"\"\\ud8", b"\"\\u", b"\"", b"{\"a\":\xff}", b"1e999", b"\"\xff"] {
            assert!(parse(text).is_err(), "{}", String::from_utf8_lossy(text));
        }
        assert!(parse("[".repeat(200).as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn json_is_left_as_it_is(text in "\\PC*", number in any::<i32>()) {
            let whole = json!({ "a": [text, number], "b": { "é\u{1f600}\n": null } }).to_string();
            prop_assert!(matches!(readable(whole.as_bytes()), Cow::Borrowed(_)));
        }

        #[test]
        fn any_string_of_utf16_units_is_read(units in prop::collection::vec(any::<u16>(), 0..12)) {
            let text: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let read = parse(format!("\"{text}\"").as_bytes()).unwrap();
            if let Ok(whole) = String::from_utf16(&units) {
                prop_assert_eq!(read, whole);
            }
        }

        #[test]
        fn any_bytes_in_a_string_are_read(bytes in prop::collection::vec(any::<u8>(), 0..24)) {
            let inside: Vec<u8> = bytes.into_iter().filter(|byte| !b"\"\\".contains(byte)).collect();
            prop_assert!(parse(&[b"\"", &inside[..], b"\""].concat()).is_ok());
        }
    }
}
