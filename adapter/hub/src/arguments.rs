//! Validates request arguments before dispatch; malformed ones crash some adapters. Not here: what a command
//! makes of them.

use serde_json::Value;
use tandem_wire::types::{self, ReadMemoryArguments};
use tandem_wire::{Failure, command};

/// Refuses arguments that are not an object, that name a thread by anything but a number, that count below
/// zero, or that lack what the command table requires.
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
    // Adapters disagree: an empty answer, no answer, or all memory.
    let ReadMemoryArguments { count, .. } = types::read(arguments);
    if name == "readMemory" && count < 0 {
        return Err(Failure::invalid(format!("`count` is {count}; it must not be negative")));
    }
    let mut required = command::find(name).into_iter().flat_map(|spec| spec.required());
    match required.find(|key| arguments[*key].is_null()) {
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
    }

    #[test]
    fn memory_is_not_read_backwards() {
        let read = |count: i64| validate("readMemory", &json!({ "memoryReference": "0x1", "count": count }));
        assert_eq!(read(-4).unwrap_err().message, "`count` is -4; it must not be negative");
        assert_eq!((read(0), read(4)), (Ok(()), Ok(())));
    }

    #[test]
    fn a_request_without_a_required_argument_is_refused_by_its_name() {
        let refusal = |name: &str, arguments: Value| validate(name, &arguments).unwrap_err().message;
        for absent in [Value::Null, json!({}), json!({ "frameId": null })] {
            assert_eq!(refusal("scopes", absent), "`scopes` needs `frameId`");
        }
        assert_eq!(refusal("variables", json!({ "count": 1 })), "`variables` needs `variablesReference`");
        assert_eq!(refusal("readMemory", json!({ "memoryReference": "0x1" })), "`readMemory` needs `count`");
        assert_eq!(validate("scopes", &json!({ "frameId": 0 })), Ok(()));
        for row in &command::COMMANDS {
            let mut arguments: Value = row.required().map(|key| (key, json!(1))).collect();
            assert_eq!(validate(row.name, &arguments), Ok(()));
            for key in row.required() {
                let removed = arguments.as_object_mut().and_then(|present| present.remove(key));
                assert_eq!(refusal(row.name, arguments.clone()), format!("`{}` needs `{key}`", row.name));
                arguments[key] = removed.unwrap();
            }
        }
    }
}
