//! The outermost fields of a message that cannot be parsed: enough for an error response to its sender.
//!
//! It reads the text in pieces and keeps a few hundred bytes, so it also works on a text that is too large
//! for memory. It relies only on brackets and quotes; if these are wrong it finds fewer fields.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::lenient;

/// Maximum length of a name or value that is kept, in bytes of JSON.
const MAX_TOKEN: usize = 256;
/// Maximum number of fields that are kept.
const MAX_FIELDS: usize = 16;

/// The fields found so far.
#[derive(Debug, Default)]
pub struct OuterFields {
    depth: usize,
    inside_string: bool,
    escaped: bool,
    /// The current name or value of the outermost object; `None` if it is too long or is not a scalar.
    token: Option<Vec<u8>>,
    key: Option<String>,
    fields: BTreeMap<String, Value>,
}

impl OuterFields {
    /// Reads the outer fields of a whole text.
    pub fn of(text: &[u8]) -> Self {
        let mut outer = Self::default();
        outer.feed(text);
        outer
    }

    /// Reads the next piece of the text.
    pub fn feed(&mut self, piece: &[u8]) {
        for &byte in piece {
            self.take(byte);
        }
    }

    /// The value of a field; `Null` if it is an object, an array, or too long.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields.get(name)
    }

    /// The number in a field, also as a string.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.get(name).and_then(lenient::number)
    }

    /// The string in a field; `None` for another value.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_str)
    }

    fn take(&mut self, byte: u8) {
        if self.inside_string {
            self.keep(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.inside_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.inside_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.depth = self.depth.saturating_add(1);
                // The first token of the outermost object begins; anything further in is not a scalar.
                self.token = (self.depth == 1 && byte == b'{').then(Vec::new);
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_field();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 && self.key.is_none() => {
                let name = self.token.take().and_then(|token| lenient::parse(&token).ok());
                self.key = name.and_then(|name| name.as_str().map(str::to_owned));
                self.token = Some(Vec::new());
            }
            b',' if self.depth == 1 => {
                self.end_field();
                self.token = Some(Vec::new());
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 {
            match &mut self.token {
                Some(token) if token.len() < MAX_TOKEN => token.push(byte),
                token => *token = None,
            }
        }
    }

    fn end_field(&mut self) {
        let value = self.token.take().and_then(|token| lenient::parse(&token).ok()).unwrap_or_default();
        if let Some(key) = self.key.take()
            && self.fields.len() < MAX_FIELDS
        {
            self.fields.entry(key).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_sender_of_what_cannot_be_read_is_known() {
        let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
        for text in [
            r#"{"seq": 7, "type":"request","command":"evaluate","arguments":{"expression": 1e999}}"#
                .to_owned(),
            r#"{"arguments":{"seq":1,"x":[{"seq":2}]},"type":"request", "command" : "evaluate", "seq":7}"#
                .into(),
            format!(r#"{{"arguments":{deep},"seq":"7","type":"request","command":"evaluate"}}"#),
            r#"{"seq":7,"command":"evaluate","type":"request","arguments":{"a":tru}}"#.into(),
            format!(r#"{{"arguments":"{}","seq":7,"command":"evaluate"}}"#, "x\\\"{[".repeat(1000)),
        ] {
            let outer = OuterFields::of(text.as_bytes());
            assert_eq!((outer.number("seq"), outer.text("command")), (Some(7), Some("evaluate")), "{text}");
            assert_eq!(outer.get("arguments").unwrap_or(&Value::Null), &Value::Null);
        }
        assert_eq!(OuterFields::of(br#"[{"seq":7}]"#).number("seq"), None);
        assert_eq!(OuterFields::of(b"").number("seq"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_do_no_harm(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            cut in 0usize..200,
        ) {
            let (one, two) = bytes.split_at(cut.min(bytes.len()));
            let mut outer = OuterFields::default();
            outer.feed(one);
            outer.feed(two);
            prop_assert_eq!(outer.fields, OuterFields::of(&bytes).fields);
        }

        #[test]
        fn the_fields_of_json_are_found(id in any::<i64>(), text in "\\PC{0,20}") {
            let whole = json!({ "method": text, "params": { "id": 1, "x": [text, [], {}] }, "id": id });
            let outer = OuterFields::of(whole.to_string().as_bytes());
            prop_assert_eq!(outer.get("id"), Some(&json!(id)));
            prop_assert_eq!(outer.text("method"), Some(text.as_str()));
            prop_assert_eq!(outer.get("params"), Some(&Value::Null));
        }
    }
}
