//! The fast path for ordinary messages: reads the bytes directly into the parts of a message.
//! [`Message::from_value`] reads or rejects all other bytes. Not here: frames ([`crate::codec`]).

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::message::{EXTRA_FIELDS, Event, Message, Request, Response};

/// Reads a body that is an object with only the fields of its type, each with the correct type;
/// otherwise returns `None`.
pub(crate) fn read(body: &[u8]) -> Option<Message> {
    let envelope: Envelope<'_> = serde_json::from_slice(body).ok()?;
    let message = envelope.message()?;
    let (Message::Request(Request { arguments: body, .. })
    | Message::Response(Response { body, .. })
    | Message::Event(Event { body, .. })) = &message;
    body.get(EXTRA_FIELDS).is_none().then_some(message)
}

/// The fields of the envelope that are present. An unknown or repeated field is an error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'a> {
    seq: i64,
    /// Borrowed if the text contains no escape sequence.
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default, deserialize_with = "present")]
    command: Option<String>,
    #[serde(default, deserialize_with = "present")]
    event: Option<String>,
    #[serde(default, deserialize_with = "present")]
    request_seq: Option<i64>,
    #[serde(default, deserialize_with = "present")]
    success: Option<bool>,
    #[serde(default, deserialize_with = "present")]
    message: Option<String>,
    #[serde(default, deserialize_with = "present")]
    arguments: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    body: Option<Value>,
}

/// Reads a field that is present, even if it is `null`.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(field: D) -> Result<Option<T>, D::Error> {
    T::deserialize(field).map(Some)
}

impl Envelope<'_> {
    fn message(self) -> Option<Message> {
        let seq = self.seq;
        let of_request = self.arguments.is_some();
        let of_response = self.request_seq.is_some() || self.success.is_some() || self.message.is_some();
        match &*self.kind {
            "request" if !of_response && self.body.is_none() && self.event.is_none() => {
                Some(Message::Request(Request {
                    seq,
                    command: self.command?,
                    arguments: self.arguments.unwrap_or_default(),
                }))
            }
            "response" if !of_request && self.event.is_none() => Some(Message::Response(Response {
                seq,
                request_seq: self.request_seq?,
                success: self.success?,
                command: self.command?,
                message: self.message,
                body: self.body.unwrap_or_default(),
            })),
            "event" if !of_request && !of_response && self.command.is_none() => {
                Some(Message::Event(Event { seq, event: self.event?, body: self.body.unwrap_or_default() }))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn ordinary_messages_are_read() {
        for ordinary in [
            json!({ "seq": 1, "type": "request", "command": "threads" }),
            json!({ "type": "request", "command": "next", "arguments": { "threadId": 1 }, "seq": 0 }),
            json!({ "seq": 2, "type": "response", "request_seq": 1, "success": false, "command": "\"",
                "message": "no" }),
            json!({ "seq": 2, "type": "response", "request_seq": 1, "success": true, "command": "a",
                "body": [1] }),
            json!({ "seq": 3, "type": "event", "event": "stopped", "body": { "a": { "b": null } } }),
        ] {
            assert_eq!(read(ordinary.to_string().as_bytes()), Some(Message::from_value(ordinary).unwrap()));
        }
    }

    /// Values that a field may have, and some invalid ones.
    fn anything() -> impl Strategy<Value = Value> {
        let number = any::<i8>().prop_map(Value::from);
        let words = ["request", "response", "event", "1", "", "a\"b"].map(Value::from);
        let word = prop::sample::select(words.to_vec());
        let body = Just(json!({ "x": 1, "y": { "z": [] } }));
        let odd =
            prop::sample::select(vec![Value::Null, json!({ EXTRA_FIELDS: 1 }), json!(true), json!(1.5)]);
        prop_oneof![3 => number, 6 => word, 2 => body, 2 => odd]
    }

    proptest! {
        #[test]
        fn the_fast_path_reads_what_the_long_way_reads(
            kind in prop::sample::select(vec!["request", "response", "event", "other"]),
            fields in prop::collection::vec(
                (prop::sample::select(vec!["seq", "command", "event", "request_seq", "success", "message",
                    "arguments",
                    "body", "further"]), anything()),
                0..7,
            ),
            twice in any::<bool>(),
        ) {
            let mut text = format!(r#"{{"type":"{kind}""#);
            let mut seen = Vec::new();
            for (key, value) in fields {
                if twice || !seen.contains(&key) {
                    text += &format!(r#","{key}":{value}"#);
                    seen.push(key);
                }
            }
            text += "}";
            if let Some(read) = read(text.as_bytes()) {
                prop_assert_eq!(read, Message::from_value(serde_json::from_str(&text).unwrap()).unwrap());
            }
        }
    }
}
