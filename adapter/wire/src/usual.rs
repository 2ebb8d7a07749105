//! The message as nearly all come: read from the bytes straight into its parts. Whatever is not as usual is left to
//! [`Message::from_value`], which decides what it is or says what is wrong with it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use crate::message::{BESIDE, Event, Message, Request, Response};

/// The message in a body that is an object of nothing but its type's own fields, each of its own type.
pub(crate) fn read(body: &[u8]) -> Option<Message> {
    let fields: Fields<'_> = serde_json::from_slice(body).ok()?;
    let message = fields.message()?;
    let (Message::Request(Request { arguments: body, .. })
    | Message::Response(Response { body, .. })
    | Message::Event(Event { body, .. })) = &message;
    body.get(BESIDE).is_none().then_some(message)
}

/// A word that is borrowed from the body where nothing in it is escaped.
struct Word<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Word<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl<'de> Visitor<'de> for Words {
            type Value = Word<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Word(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Word(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Words)
    }
}

/// The envelope's fields as far as they are there.
#[derive(Default)]
struct Fields<'a> {
    seq: Option<i64>,
    kind: Option<Word<'a>>,
    command: Option<String>,
    event: Option<String>,
    request_seq: Option<i64>,
    success: Option<bool>,
    message: Option<String>,
    arguments: Option<Value>,
    body: Option<Value>,
    /// There was another field, or one twice.
    unusual: bool,
}

impl Fields<'_> {
    fn message(self) -> Option<Message> {
        let of_request = self.arguments.is_some();
        let of_response = self.request_seq.is_some() || self.success.is_some() || self.message.is_some();
        let seq = self.seq.filter(|_| !self.unusual)?;
        match &*self.kind?.0 {
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

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Envelope;
        impl<'de> Visitor<'de> for Envelope {
            type Value = Fields<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut fields = Fields::default();
                while let Some(key) = map.next_key::<Word<'de>>()? {
                    let known = match &*key.0 {
                        "seq" => fields.seq.replace(map.next_value()?).is_none(),
                        "type" => fields.kind.replace(map.next_value()?).is_none(),
                        "command" => fields.command.replace(map.next_value()?).is_none(),
                        "event" => fields.event.replace(map.next_value()?).is_none(),
                        "request_seq" => fields.request_seq.replace(map.next_value()?).is_none(),
                        "success" => fields.success.replace(map.next_value()?).is_none(),
                        "message" => fields.message.replace(map.next_value()?).is_none(),
                        "arguments" => fields.arguments.replace(map.next_value()?).is_none(),
                        "body" => fields.body.replace(map.next_value()?).is_none(),
                        _ => map.next_value::<IgnoredAny>().map(|_| false)?,
                    };
                    fields.unusual |= !known;
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Envelope)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_usual_messages_are_read() {
        for usual in [
            json!({ "seq": 1, "type": "request", "command": "threads" }),
            json!({ "type": "request", "command": "next", "arguments": { "threadId": 1 }, "seq": 0 }),
            json!({ "seq": 2, "type": "response", "request_seq": 1, "success": false, "command": "\"", "message": "no" }),
            json!({ "seq": 2, "type": "response", "request_seq": 1, "success": true, "command": "a", "body": [1] }),
            json!({ "seq": 3, "type": "event", "event": "stopped", "body": { "a": { "b": null } } }),
        ] {
            assert_eq!(read(usual.to_string().as_bytes()), Some(Message::from_value(usual).unwrap()));
        }
    }

    /// Values a field may have or should not.
    fn anything() -> impl Strategy<Value = Value> {
        let number = any::<i8>().prop_map(Value::from);
        let words = ["request", "response", "event", "1", "", "a\"b"].map(Value::from);
        let word = prop::sample::select(words.to_vec());
        let body = Just(json!({ "x": 1, "y": { "z": [] } }));
        let unusual = prop::sample::select(vec![Value::Null, json!({ BESIDE: 1 }), json!(true), json!(1.5)]);
        prop_oneof![3 => number, 6 => word, 2 => body, 2 => unusual]
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_what_the_long_way_reads(
            kind in prop::sample::select(vec!["request", "response", "event", "other"]),
            fields in prop::collection::vec(
                (prop::sample::select(vec!["seq", "command", "event", "request_seq", "success", "message", "arguments",
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
