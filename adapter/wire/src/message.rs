//! The envelope of the Debug Adapter Protocol: request, response, event.
//!
//! Bodies stay [`Value`] until code reads them as a type, so that a message that no schema knows passes
//! unchanged. Some adapters put extra fields into a message outside its body. They are moved to the body,
//! under [`EXTRA_FIELDS`], and back when the message is written. Not here: bytes (`codec`), pairing of
//! requests with responses (`peer`), the meaning of commands (the hub).

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};
use tandem_error::Failure;

use crate::lenient;
use crate::outer_fields::OuterFields;

/// The key in a body for the extra fields of the message. No key of an adapter begins with `\0`.
pub const EXTRA_FIELDS: &str = "\0beside";

/// A message of either direction.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// A request: from a client, or a reverse request from an adapter.
    Request(Request),
    /// The one response to a request.
    Response(Response),
    /// A notification without a response.
    Event(Event),
}

/// A request or reverse request, DAP `Request`.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Sequence number of the sender, from 1; 0 if the sender left it out.
    pub seq: i64,
    /// For example `setBreakpoints`.
    pub command: String,
    /// `Null` when absent: in DAP `{}`, `null` and no arguments are the same.
    pub arguments: Value,
}

/// The response to a request, DAP `Response`.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// Sequence number of the sender.
    pub seq: i64,
    /// Sequence number of the request.
    pub request_seq: i64,
    /// Whether the request succeeded.
    pub success: bool,
    /// The command of the request, which some clients need.
    pub command: String,
    /// Short reason of a failure.
    pub message: Option<String>,
    /// The body; `Null` when absent.
    pub body: Value,
}

/// An event without a response, DAP `Event`.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Sequence number of the sender.
    pub seq: i64,
    /// For example `stopped`.
    pub event: String,
    /// The body; `Null` when absent.
    pub body: Value,
}

/// The reason why a frame does not contain a DAP message. Only this message is lost; the
/// connection stays open.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("not a DAP message: {reason}")]
pub struct MessageError {
    /// Sequence number of the request that must get an error response: the message itself, unless its number
    /// cannot be read or it is not a request.
    pub seq: Option<i64>,
    /// The command, if it could be read.
    pub command: Option<String>,
    /// Sequence number of the request to which this would have been the response. Its sender
    /// gets no other response.
    pub answers: Option<i64>,
    /// The error, for users.
    pub reason: String,
}

impl MessageError {
    /// Creates the error for a body that cannot be parsed, from its outermost fields.
    pub fn of(body: &[u8], reason: String) -> Self {
        let outer = OuterFields::of(body);
        let kind = outer.text("type").unwrap_or_default();
        Self {
            seq: outer.number("seq").filter(|_| !matches!(kind, "response" | "event")),
            command: outer.text("command").map(str::to_owned),
            answers: outer.number("request_seq").filter(|_| kind == "response"),
            reason,
        }
    }
}

impl Request {
    /// Creates a request without a number (`seq` 0): the peer or the writer numbers it.
    pub fn new(command: impl Into<String>, arguments: Value) -> Self {
        Self { seq: 0, command: command.into(), arguments }
    }
}

impl Event {
    /// Creates an event without a number (`seq` 0).
    pub fn new(event: impl Into<String>, body: Value) -> Self {
        Self { seq: 0, event: event.into(), body }
    }
}

impl Response {
    /// Creates the response to a request, without a number (`seq` 0).
    pub fn to(request_seq: i64, command: impl Into<String>, outcome: Result<Value, Failure>) -> Self {
        let command = command.into();
        match outcome {
            Ok(body) => Self { seq: 0, request_seq, success: true, command, message: None, body },
            Err(failure) => Self {
                seq: 0,
                request_seq,
                success: false,
                command,
                message: failure.response_message(),
                body: failure.to_body(),
            },
        }
    }

    /// The body of a successful response, or the failure (with its code, if Tandem sent it).
    pub fn into_result(self) -> Result<Value, Failure> {
        if self.success {
            return Ok(self.body);
        }
        Err(Failure::from_response(&self.command, self.message.as_deref(), &self.body))
    }
}

impl Message {
    /// Sequence number of the sender.
    pub fn seq(&self) -> i64 {
        match self {
            Self::Request(request) => request.seq,
            Self::Response(response) => response.seq,
            Self::Event(event) => event.seq,
        }
    }

    /// Sets the sender's number, as the last step before writing.
    pub fn set_seq(&mut self, seq: i64) {
        match self {
            Self::Request(request) => request.seq = seq,
            Self::Response(response) => response.seq = seq,
            Self::Event(event) => event.seq = seq,
        }
    }

    /// Reads the envelope leniently and keeps bodies unchanged. `seq` may be a string or missing,
    /// as from some adapters.
    ///
    /// # Errors
    /// [`MessageError`] when the value is not an object, has no known `type`, or lacks `command`,
    /// `event` or `request_seq`.
    pub fn from_value(value: Value) -> Result<Self, MessageError> {
        let Value::Object(mut object) = value else {
            return Err(MessageError {
                seq: None,
                command: None,
                answers: None,
                reason: "the body is not a JSON object".into(),
            });
        };
        let seq = object.get("seq").and_then(lenient::number);
        let command = object.get("command").and_then(Value::as_str).map(str::to_owned);
        let kind = object.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let fail = |reason: &str| MessageError {
            seq: seq.filter(|_| !matches!(kind.as_str(), "response" | "event")),
            command: command.clone(),
            answers: None,
            reason: reason.into(),
        };
        let take = |object: &mut Map<String, Value>, key: &str| {
            let body = object.shift_remove(key).unwrap_or(Value::Null);
            with_extra_fields(body, object, &kind)
        };
        match kind.as_str() {
            "request" => Ok(Self::Request(Request {
                seq: seq.unwrap_or(0),
                command: command.clone().ok_or_else(|| fail("a request needs `command`, a string"))?,
                arguments: take(&mut object, "arguments"),
            })),
            "response" => Ok(Self::Response(Response {
                seq: seq.unwrap_or(0),
                request_seq: object
                    .get("request_seq")
                    .and_then(lenient::number)
                    .ok_or_else(|| fail("a response needs `request_seq`, a number"))?,
                success: object.get("success").and_then(Value::as_bool).unwrap_or(false),
                command: command.clone().unwrap_or_default(),
                message: object.get("message").and_then(Value::as_str).map(str::to_owned),
                body: take(&mut object, "body"),
            })),
            "event" => Ok(Self::Event(Event {
                seq: seq.unwrap_or(0),
                event: object
                    .get("event")
                    .and_then(Value::as_str)
                    .map(str::to_owned)
                    .ok_or_else(|| fail("an event needs `event`, a string"))?,
                body: take(&mut object, "body"),
            })),
            "" => Err(fail("`type` is missing; it must be `request`, `response` or `event`")),
            _ => Err(fail("`type` must be `request`, `response` or `event`")),
        }
    }
}

/// The body with the extra fields of the envelope.
fn with_extra_fields(mut body: Value, envelope: &mut Map<String, Value>, kind: &str) -> Value {
    let own: &[&str] = match kind {
        "request" => &["seq", "type", "command"],
        "response" => &["seq", "type", "command", "request_seq", "success", "message"],
        _ => &["seq", "type", "event"],
    };
    if let Some(body) = body.as_object_mut() {
        // Otherwise it would be written outside the body, where its sender did not put it.
        body.shift_remove(EXTRA_FIELDS);
    }
    let extra: Map<String, Value> = envelope
        .iter()
        .filter(|(key, _)| !own.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if !extra.is_empty() {
        match &mut body {
            Value::Object(body) => drop(body.insert(EXTRA_FIELDS.into(), extra.into())),
            Value::Null => body = Value::Object(Map::from_iter([(EXTRA_FIELDS.into(), extra.into())])),
            // A body that is not an object is not DAP; it passes without the extra fields.
            _ => {}
        }
    }
    body
}

/// Writes the JSON object that is framed and sent. Absent parts are left out, never `null`.
impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("seq", &self.seq())?;
        let (key, body) = match self {
            Self::Request(request) => {
                object.serialize_entry("type", "request")?;
                object.serialize_entry("command", &request.command)?;
                ("arguments", &request.arguments)
            }
            Self::Response(response) => {
                object.serialize_entry("type", "response")?;
                object.serialize_entry("request_seq", &response.request_seq)?;
                object.serialize_entry("success", &response.success)?;
                object.serialize_entry("command", &response.command)?;
                if let Some(message) = &response.message {
                    object.serialize_entry("message", message)?;
                }
                ("body", &response.body)
            }
            Self::Event(event) => {
                object.serialize_entry("type", "event")?;
                object.serialize_entry("event", &event.event)?;
                ("body", &event.body)
            }
        };
        match body.get(EXTRA_FIELDS).and_then(Value::as_object) {
            None if body.is_null() => {}
            None => object.serialize_entry(key, body)?,
            Some(extra) => {
                let inside = body.as_object().into_iter().flatten().filter(|(key, _)| *key != EXTRA_FIELDS);
                let inside: Map<String, Value> =
                    inside.map(|(key, value)| (key.clone(), value.clone())).collect();
                if !inside.is_empty() {
                    object.serialize_entry(key, &inside)?;
                }
                for (key, value) in extra {
                    object.serialize_entry(key, value)?;
                }
            }
        }
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn extra_fields_outside_a_body_are_written_there_again() {
        for whole in [
            json!({ "seq": 1, "type": "event", "event": "terminated", "statistics": { "memory": [1,
                null] } }),
            json!({ "seq": 1, "type": "event", "event": "stopped", "body": { "reason": "step" },
                "odd": null }),
            json!({ "seq": 1, "type": "request", "command": "next", "arguments": { "threadId": 1 },
                "trace": "x" }),
            json!({ "seq": 1, "type": "response", "request_seq": 2, "success": true, "command": "next",
                "took": 3 }),
            json!({ "seq": 1, "type": "event", "event": "plain" }),
        ] {
            let message = Message::from_value(whole.clone()).unwrap();
            assert_eq!(serde_json::to_value(&message).unwrap(), whole);
        }
        // A body cannot add fields outside itself.
        let sly = json!({ "\u{0}beside": { "seq": 9 }, "a": 1 });
        let sly = json!({ "seq": 1, "type": "event", "event": "output", "body": sly });
        let message = serde_json::to_value(Message::from_value(sly).unwrap()).unwrap();
        assert_eq!(message, json!({ "seq": 1, "type": "event", "event": "output", "body": { "a": 1 } }));
    }

    #[test]
    fn a_foreign_refusal_passes_with_our_code_among_its_variables() {
        let refuse = |message: Value, body: Value| {
            let mut whole = json!({ "seq": 1, "type": "response", "request_seq": 2, "success": false,
                "command": "evaluate", "body": body });
            if !message.is_null() {
                whole["message"] = message;
            }
            let Message::Response(response) = Message::from_value(whole).unwrap() else {
                panic!("not a response")
            };
            let failure = response.into_result().unwrap_err();
            let passed = Response::to(2, "evaluate", Err(failure.clone()));
            (failure, passed)
        };
        let error = json!({ "id": 3000, "format": "cannot {what}", "variables": { "what": "go" },
            "showUser": true,
            "url": "https://example.com", "urlLabel": "why", "sendTelemetry": false });
        let (failure, passed) = refuse(Value::Null, json!({ "error": error, "more": 1 }));
        assert_eq!((failure.message.as_str(), failure.show_user), ("cannot go", true));
        assert_eq!(passed.message, None);
        let mut expected = json!({ "error": error, "more": 1 });
        expected["error"]["variables"] =
            json!({ "what": "go", "code": "ENGINE_FAILED", "message": "cannot go" });
        assert_eq!(passed.body, expected);
        // Tandem completes a response without an error object; no dialog shows it.
        let (_, passed) = refuse(json!("no such thing"), Value::Null);
        assert_eq!(passed.message.as_deref(), Some("no such thing"));
        assert_eq!(passed.body["error"]["variables"]["message"], "no such thing");
        assert_eq!(passed.body["error"]["showUser"], false);
        // And the other side of a connection within Tandem reads the code.
        assert!(passed.into_result().unwrap_err().foreign.is_none());
    }
}
