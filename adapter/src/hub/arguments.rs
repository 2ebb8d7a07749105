//! What the arguments of any request must be before anybody looks at them: adapters are known to die of others. What a
//! command makes of them is its own affair.

use dap_wire::Failure;
use serde_json::Value;

/// Ids without which a request means nothing, where an adapter may not survive that.
const NEEDED: [(&str, &str); 1] = [("locations", "locationReference")];

/// Refuses arguments that are no object, or that name a thread by anything but a number.
///
/// # Errors
/// `INVALID_PARAMETER`.
pub fn check(command: &str, arguments: &Value) -> Result<(), Failure> {
    if !arguments.is_object() && !arguments.is_null() {
        return Err(Failure::invalid(format!("the `arguments` of `{command}` must be an object")));
    }
    let thread = &arguments["threadId"];
    if !thread.is_null() && !thread.is_i64() {
        return Err(Failure::invalid(format!("`threadId` is {thread}; it must be a whole number")));
    }
    match NEEDED.iter().find(|(needing, key)| *needing == command && arguments[*key].is_null()) {
        Some((_, key)) => Err(Failure::invalid(format!("`{command}` needs `{key}`"))),
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
            assert_eq!(check("next", &fine), Ok(()));
        }
        for bad in [json!([]), json!(5), json!("x"), json!({ "threadId": "1" }), json!({ "threadId": 1.5 })] {
            assert!(check("next", &bad).is_err(), "{bad}");
        }
        assert!(check("locations", &json!({})).is_err());
        assert_eq!(check("locations", &json!({ "locationReference": 1 })), Ok(()));
    }
}
