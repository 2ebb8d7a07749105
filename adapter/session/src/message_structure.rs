//! A message in the log: its structure without its content.
//!
//! A log may be handed to others. So no level shows what a program is given or gives: arguments, environment,
//! stdin, output, values and files are named by their fields, never shown.

use serde_json::Value;

/// Fields named in one line of the log.
const MAX_FIELDS: usize = 24;

/// The structure of a message without its content: its fields with their numbers, Booleans and sizes.
pub(crate) fn message_structure(body: &Value) -> String {
    let Some(fields) = body.as_object() else { return size(body) };
    let mut shown: Vec<String> =
        fields.iter().take(MAX_FIELDS).map(|(name, value)| format!("{name}: {}", size(value))).collect();
    if fields.len() > MAX_FIELDS {
        shown.push(format!("and {} more", fields.len() - MAX_FIELDS));
    }
    format!("{{{}}}", shown.join(", "))
}

/// A number or truth value as it is; of anything else only how large it is.
fn size(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("text of {}", text.len()),
        Value::Array(items) => format!("list of {}", items.len()),
        Value::Object(fields) => format!("{} fields", fields.len()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_is_named_and_not_shown() {
        let body = json!({ "frameId": 7, "data": "secret", "env": { "KEY": "secret" }, "args": ["secret"],
            "pty": true });
        assert_eq!(
            message_structure(&body),
            "{frameId: 7, data: text of 6, env: 1 fields, args: list of 1, pty: true}"
        );
        assert_eq!(message_structure(&json!("secret")), "text of 6");
    }
}
