//! Addresses in requests to Delve, which ignores their `offset`: it is added to the reference. VS Code's
//! disassembly view names most instructions by an offset. Not here: the instructions themselves.

use serde_json::{Map, Value};

/// Replaces references and offsets by addresses, and a count that Delve cannot take by 0.
pub(super) fn adapt(command: &str, arguments: &mut Value) {
    match command {
        "disassemble" => {
            let Some(arguments) = arguments.as_object_mut() else { return };
            add_offset(arguments, "memoryReference");
            // It crashes at a count below 0.
            if arguments.get("instructionCount").and_then(Value::as_i64).is_some_and(|count| count < 0) {
                arguments.insert("instructionCount".into(), 0.into());
            }
        }
        "setInstructionBreakpoints" => {
            let breakpoints = arguments.get_mut("breakpoints").and_then(Value::as_array_mut);
            for breakpoint in breakpoints.into_iter().flatten().filter_map(Value::as_object_mut) {
                add_offset(breakpoint, "instructionReference");
            }
        }
        _ => {}
    }
}

/// Adds `offset` to a reference that is an address; leaves any other for Delve to refuse.
fn add_offset(object: &mut Map<String, Value>, reference: &str) {
    let Some(offset) = object.get("offset").and_then(Value::as_i64) else { return };
    let address = object.get(reference).and_then(Value::as_str).and_then(|text| text.strip_prefix("0x"));
    let address = address.and_then(|hex| u64::from_str_radix(hex, 16).ok());
    if let Some(address) = address.and_then(|address| address.checked_add_signed(offset)) {
        object.insert(reference.to_owned(), format!("0x{address:x}").into());
        object.remove("offset");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_offset_is_added_to_its_address() {
        let adapted = |command: &str, mut arguments: Value| {
            adapt(command, &mut arguments);
            arguments
        };
        let wanted = json!({ "memoryReference": "0x4b6426", "instructionCount": 3, "instructionOffset": -2 });
        let mut given = wanted.clone();
        given["memoryReference"] = "0x4b6436".into();
        given["offset"] = (-16).into();
        assert_eq!(adapted("disassemble", given), wanted);
        let below = json!({ "memoryReference": "0x10", "offset": -17, "instructionCount": 1 });
        assert_eq!(adapted("disassemble", below.clone()), below);
        assert_eq!(
            adapted("disassemble", json!({ "instructionCount": -1 })),
            json!({ "instructionCount": 0 })
        );
        let given = json!({ "breakpoints": [
            { "instructionReference": "0x10", "offset": 6 },
            { "instructionReference": "here", "offset": 6 },
        ] });
        let wanted = json!({ "breakpoints": [
            { "instructionReference": "0x16" },
            { "instructionReference": "here", "offset": 6 },
        ] });
        assert_eq!(adapted("setInstructionBreakpoints", given), wanted);
        assert_eq!(adapted("readMemory", json!({ "offset": 1 })), json!({ "offset": 1 }));
    }
}
