//! Messages that are not valid JSON-RPC, and the errors that answer them: each request gets an answer, with
//! the id of the request wherever it can be read. JSON that is not valid Unicode (a lone surrogate, as
//! JavaScript writes it) is accepted. Both transports use this module.
//!
//! Not here: the meaning of methods (`handler`).

mod json_check;

use std::borrow::Cow;

use rmcp::RoleServer;
use rmcp::service::RxJsonRpcMessage;
use serde::Serialize;
use serde_json::Value;
use tandem_wire::outer_fields::OuterFields;
use tandem_wire::{lenient, types};

use json_check::DroppedValue;

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;

/// The requests that MCP knows. One of these that rmcp does not recognise has parameters that do not fit.
pub const METHODS: [&str; 15] = [
    "completion/complete",
    "initialize",
    "logging/setLevel",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "server/discover",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];

/// Result of parsing a line.
#[derive(Debug)]
pub enum ParsedLine {
    /// A valid JSON-RPC message.
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    /// An invalid message, and the answer to it.
    Refused(Value),
    /// A line that needs no answer.
    Nothing,
}

/// Parses one line as a JSON-RPC message.
pub fn parse_line(line: &[u8]) -> ParsedLine {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if let Ok(message) = serde_json::from_slice(line) {
        return ParsedLine::Message(Box::new(message));
    }
    let value = match text(line) {
        Ok(Cow::Owned(escaped)) => match serde_json::from_slice(&escaped) {
            Ok(message) => return ParsedLine::Message(Box::new(message)),
            Err(_) => serde_json::from_slice(&escaped).unwrap_or_default(),
        },
        Ok(Cow::Borrowed(line)) => serde_json::from_slice(line).unwrap_or_default(),
        Err(refusal) => return refusal.map_or(ParsedLine::Nothing, ParsedLine::Refused),
    };
    reject_unrecognised(&value)
}

/// Returns the text as valid JSON: bytes that JSON does not allow in strings are escaped.
///
/// # Errors
/// The error response for text that is not JSON; `None` when no response is due.
pub fn text(body: &[u8]) -> Result<Cow<'_, [u8]>, Option<Value>> {
    let Err(error) = serde_json::from_slice::<DroppedValue>(body) else { return Ok(Cow::Borrowed(body)) };
    let escaped = lenient::readable(body);
    if matches!(escaped, Cow::Owned(_)) && serde_json::from_slice::<DroppedValue>(&escaped).is_ok() {
        return Ok(escaped);
    }
    let outer = OuterFields::of(body);
    let answers = ["result", "error"].iter().any(|field| outer.get(field).is_some());
    if answers && outer.get("method").is_none() {
        tracing::warn!(%error, "an answer of the client cannot be read");
        return Err(None);
    }
    Err(Some(refusal(id(&outer), PARSE_ERROR, &format!("the message cannot be read as JSON: {error}"))))
}

/// The answer to a message that is larger than `limit` bytes, of which this is known.
pub fn too_large(outer: &OuterFields, limit: usize) -> Value {
    let message = format!(
        "the message is larger than {} MiB, which is the limit; send less at once (a file in several parts)",
        limit >> 20
    );
    refusal(id(outer), INVALID_REQUEST, &message)
}

/// JSON that is not an MCP message.
fn reject_unrecognised(value: &Value) -> ParsedLine {
    let method = value["method"].as_str();
    let notifies = value.is_object() && value.get("id").is_none() && method.is_some();
    if notifies {
        // Not an MCP notification, or with other parameters: it needs no answer.
        tracing::debug!(method, "an unknown notification");
        return ParsedLine::Nothing;
    }
    let id = Some(&value["id"]).filter(|id| id.is_i64() || id.is_string()).cloned();
    if let (Some(method), Some(id)) = (method, &id)
        && METHODS.contains(&method)
        && value.get("params").is_some_and(|params| !params.is_object())
    {
        let message = format!("the `params` of `{method}` must be an object");
        return ParsedLine::Refused(refusal(id.clone(), INVALID_PARAMS, &message));
    }
    let why = match value {
        Value::Object(object) if object.contains_key("method") => {
            "`method` must be text, `id` a whole number or text, `params` an object, without `result` or \
                `error`"
        }
        Value::Object(_) => "a request has `method` and `id`",
        Value::Array(_) => "batches are not part of MCP: send each message by itself",
        _ => "a message is a JSON object",
    };
    ParsedLine::Refused(refusal(id.unwrap_or_default(), INVALID_REQUEST, why))
}

fn id(outer: &OuterFields) -> Value {
    outer.get("id").filter(|id| id.is_i64() || id.is_string()).cloned().unwrap_or_default()
}

fn refusal(id: Value, code: i64, message: &str) -> Value {
    types::body(&ErrorResponse { jsonrpc: "2.0", id, error: ErrorDetails { code, message } })
}

/// A response with an error.
#[derive(Serialize)]
struct ErrorResponse<'a> {
    jsonrpc: &'static str,
    id: Value,
    error: ErrorDetails<'a>,
}

/// The error of a response.
#[derive(Serialize)]
struct ErrorDetails<'a> {
    code: i64,
    message: &'a str,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal_of(line: &str) -> (Value, Value) {
        match parse_line(line.as_bytes()) {
            ParsedLine::Refused(answer) => (answer["id"].clone(), answer["error"]["code"].clone()),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn each_request_gets_an_answer_with_its_number_where_that_can_be_read() {
        let deep = "[".repeat(200) + &"]".repeat(200);
        for (line, id, code) in [
            ("{x}", Value::Null, PARSE_ERROR),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1e999}}"#, json!(7), PARSE_ERROR),
            (&format!(r#"{{"method":"ping","params":{{"a":{deep}}},"id":"x"}}"#), json!("x"), PARSE_ERROR),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping""#, json!(7), PARSE_ERROR),
            (r#"{"jsonrpc":"2.0","id":7}"#, json!(7), INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, json!(7), INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#, Value::Null, INVALID_REQUEST),
            (r#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#, Value::Null, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":[]}"#, json!(7), INVALID_PARAMS),
            ("5", Value::Null, INVALID_REQUEST),
        ] {
            assert_eq!(refusal_of(line), (id, json!(code)), "{line}");
        }
    }

    #[test]
    fn text_that_is_not_unicode_is_read_and_an_answer_gets_no_answer() {
        let call = concat!(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","#,
            r#""params":{"name":"x","arguments":{"a":"\ud83d"}}}"#,
        );
        for line in [call.as_bytes(), &[&b"\xef\xbb\xbf"[..], call.as_bytes()].concat()] {
            assert!(matches!(parse_line(line), ParsedLine::Message(_)));
        }
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":1e999}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}"#,
        ] {
            assert!(!matches!(parse_line(line.as_bytes()), ParsedLine::Refused(_)), "{line}");
        }
    }

    #[test]
    fn the_check_of_a_body_accepts_what_a_value_accepts() {
        fn outcome<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<(), String> {
            serde_json::from_slice::<T>(body).map(drop).map_err(|error| error.to_string())
        }
        let nested = |depth: usize| ("[".repeat(depth) + &"]".repeat(depth)).into_bytes();
        for body in [
            br#"{"a":[1,-1,1.5,1e300,true,null,"\ud83d\ude00",{}],"a":""}"#.as_slice(),
            br#"{"a":1e999}"#,
            br#"{"a":"\ud83d"}"#,
            br#"{"\ud83d":1}"#,
            b"\"\x01\"",
            b"\"\xff\"",
            b"{} {}",
            b"[1,]",
            b"",
            &nested(127),
            &nested(128),
        ] {
            let shown = String::from_utf8_lossy(body);
            assert_eq!(outcome::<DroppedValue>(body), outcome::<Value>(body), "{shown}");
        }
    }

    #[test]
    fn a_line_that_was_too_large_is_answered() {
        let mut outer = OuterFields::default();
        outer.feed(br#"{"method":"tools/call","params":{"content":""#);
        (0..100).for_each(|_| outer.feed(&[b'x'; 1024]));
        outer.feed(br#""},"jsonrpc":"2.0","id":9}"#);
        let answer = too_large(&outer, 64 << 20);
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(9), &json!(INVALID_REQUEST)));
        assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("64 MiB")));
    }
}
