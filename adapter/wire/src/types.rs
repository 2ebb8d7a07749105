//! Arguments and bodies as structs, for code that builds or reads them itself. Bodies that only pass through
//! stay JSON values.
//!
//! Types that the `dap` crate has whole come from there; the rest is generated from the schema
//! (`generate.py`), because the crate's structs lose fields, write absent ones as `null` and drop what they
//! do not know. A test compares both with the schema. Reading is lenient: a field of another type than the
//! schema's counts as absent, since a debug adapter's slip must not cost the whole message. Callers that want
//! to refuse such a field check it first.

mod generated;

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use tandem_error::Failure;

pub use dap::events::{ExitedEventBody, MemoryEventBody};
pub use dap::types::Thread;
pub use generated::*;

/// Reads a request's arguments. Absent, `null` and `{}` are the same.
///
/// # Errors
/// `INVALID_PARAMETER` naming the command and what does not fit.
pub fn arguments<T: DeserializeOwned>(command: &str, arguments: &Value) -> Result<T, Failure> {
    let empty = Value::Object(serde_json::Map::new());
    let value = if arguments.is_null() { &empty } else { arguments };
    T::deserialize(value)
        .map_err(|error| Failure::invalid(format!("the arguments of `{command}` do not fit: {error}")))
}

/// Reads a foreign body; a value that is not an object counts as an empty one.
pub fn read<T: DeserializeOwned + Default>(body: &Value) -> T {
    T::deserialize(body).unwrap_or_default()
}

/// A body as it is sent.
pub fn body<T: Serialize>(body: &T) -> Value {
    // Our structs have nothing that JSON cannot express.
    serde_json::to_value(body).unwrap_or_default()
}

/// A field that may be absent.
fn optional<'de, D: Deserializer<'de>, T: DeserializeOwned>(field: D) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(field)?;
    Ok(T::deserialize(&value).ok())
}

/// A field that the schema wants: what is not as it must be is what an absent one is.
fn required<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(field: D) -> Result<T, D::Error> {
    let value = Value::deserialize(field).map_err(D::Error::custom)?;
    Ok(T::deserialize(&value).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_fields_survive_and_slips_cost_only_themselves() {
        let whole =
            json!({ "reason": "step", "threadId": 1, "core": { "id": [2] }, "hitBreakpointIds": [3] });
        assert_eq!(body(&read::<StoppedEventBody>(&whole)), whole);
        let slips = json!({ "reason": 5, "threadId": "1", "text": "kept", "hitBreakpointIds": ["x"] });
        assert_eq!(body(&read::<StoppedEventBody>(&slips)), json!({ "reason": "", "text": "kept" }));
        assert_eq!(read::<StoppedEventBody>(&Value::Null), StoppedEventBody::default());
    }

    #[test]
    fn absent_arguments_are_empty_ones() {
        for absent in [Value::Null, json!({})] {
            assert_eq!(arguments::<CancelArguments>("cancel", &absent), Ok(CancelArguments::default()));
        }
        assert!(arguments::<CancelArguments>("cancel", &json!([1])).is_err());
    }
}
