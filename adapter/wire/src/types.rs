//! Arguments and bodies with types, from the `dap` crate, for code that builds or reads them itself.
//!
//! Never for messages that pass through: the crate knows one version of the schema and drops the rest.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

pub use dap::{events, requests, responses, types::*};

use crate::error::Failure;

/// Reads a request's arguments. Absent, `null` and `{}` are the same.
///
/// # Errors
/// `INVALID_PARAMETER` naming the command and what does not fit.
pub fn arguments<T: DeserializeOwned>(command: &str, arguments: Value) -> Result<T, Failure> {
    let value = if arguments.is_null() { Value::Object(serde_json::Map::new()) } else { arguments };
    serde_json::from_value(value)
        .map_err(|error| Failure::invalid(format!("the arguments of `{command}` do not fit: {error}")))
}

/// A body built from the `dap` crate's structs: absent fields are left out, not sent as `null`.
pub fn body<T: Serialize>(body: &T) -> Value {
    let mut value = serde_json::to_value(body).unwrap_or(Value::Null);
    strip_nulls(&mut value);
    value
}

fn strip_nulls(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|_, inner| !inner.is_null());
            object.values_mut().for_each(strip_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_nulls),
        _ => {}
    }
}
