//! The little that changes on the way between the hub and a child adapter. Everything else passes as it is.

use serde_json::{Map, Value, json};

/// Exception filters the adapter knows; the hub collects them before it knows the adapter.
pub(super) fn exception_filters(arguments: &mut Value, capabilities: &Value) {
    let known: Vec<&Value> = capabilities["exceptionBreakpointFilters"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|filter| &filter["filter"])
        .collect();
    if let Some(filters) = arguments["filters"].as_array_mut() {
        filters.retain(|filter| known.contains(&filter));
    }
    let options = capabilities["supportsExceptionFilterOptions"] == true;
    if let Some(arguments) = arguments.as_object_mut()
        && (!options || arguments.get("filterOptions").is_some_and(|list| list == &json!([])))
    {
        arguments.shift_remove("filterOptions");
    }
}

/// The answer to a list of breakpoints of a kind the adapter does not have.
pub(super) fn refused_breakpoints(arguments: &Value, engine: &str) -> Value {
    let message = format!("the engine `{engine}` has no breakpoints of this kind");
    let count = arguments["breakpoints"].as_array().map_or(0, Vec::len);
    let refused: Vec<Value> =
        (0..count).map(|_| json!({ "verified": false, "message": message, "reason": "failed" })).collect();
    json!({ "breakpoints": refused })
}

/// An `output` event that is nothing but bytes of the program: its stream and its text.
pub(super) fn plain_output(body: &Value) -> Option<(&str, &str)> {
    let object: &Map<String, Value> = body.as_object()?;
    let plain = object.keys().all(|key| key == "category" || key == "output");
    let category = body["category"].as_str().filter(|category| matches!(*category, "stdout" | "stderr"))?;
    Some((category, body["output"].as_str()?)).filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_filters_the_adapter_knows_reach_it() {
        let adapter = json!({ "exceptionBreakpointFilters": [{ "filter": "raised" }] });
        let mut arguments = json!({ "filters": ["unhandled", "raised"], "filterOptions": [] });
        exception_filters(&mut arguments, &adapter);
        assert_eq!(arguments, json!({ "filters": ["raised"] }));
    }

    #[test]
    fn output_with_more_than_text_is_no_plain_output() {
        assert_eq!(plain_output(&json!({ "category": "stdout", "output": "a" })), Some(("stdout", "a")));
        assert_eq!(plain_output(&json!({ "category": "stdout", "output": "a", "line": 1 })), None);
        assert_eq!(plain_output(&json!({ "category": "console", "output": "a" })), None);
    }
}
