//! Validates request arguments before dispatch; malformed ones crash some adapters. Not here: what a command
//! makes of them.

use dap_wire::{Failure, command};
use serde_json::Value;

/// Refuses arguments that are not an object, that name a thread by anything but a number, or that lack what
/// the command table requires.
///
/// # Errors
/// `INVALID_PARAMETER` with the argument that is wrong or missing.
pub fn validate(name: &str, arguments: &Value) -> Result<(), Failure> {
    if !arguments.is_object() && !arguments.is_null() {
        return Err(Failure::invalid(format!("the `arguments` of `{name}` must be an object")));
    }
    let thread = &arguments["threadId"];
    if !thread.is_null() && !thread.is_i64() {
        return Err(Failure::invalid(format!("`threadId` is {thread}; it must be a whole number")));
    }
    match command::find(name).and_then(|spec| spec.required).filter(|key| arguments[*key].is_null()) {
        Some(key) => Err(Failure::invalid(format!("`{name}` needs `{key}`"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_an_object_and_threads_have_numbers() {
        for fine in [Value::Null, json!({}), json!({ "threadId": 0 }), json!({ "threadId": null })] {
            assert_eq!(validate("next", &fine), Ok(()));
        }
        for bad in [json!([]), json!(5), json!("x"), json!({ "threadId": "1" }), json!({ "threadId": 1.5 })] {
            assert!(validate("next", &bad).is_err(), "{bad}");
        }
        assert!(validate("locations", &json!({})).is_err());
        assert_eq!(validate("locations", &json!({ "locationReference": 1 })), Ok(()));
    }
}
