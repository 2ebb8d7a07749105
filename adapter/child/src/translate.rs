//! Translation of messages between the hub and a child adapter: names of exception filters, breakpoints
//! that the adapter does not support, answers to assignments. All other messages pass unchanged.
//!
//! Not here: ids, lines and paths, which the hub rewrites.

use serde_json::{Map, Value, json};

/// Adapters' names of the filters that Tandem offers before it knows the adapter; an editor shows those
/// and keeps sending them.
const FILTERS: [(&str, &[&str]); 3] = [
    ("all", &["raised", "any", "exception", "cpp_throw"]),
    ("user-unhandled", &["userUnhandled"]),
    ("unhandled", &["uncaught", "unrecovered-panic", "rust_panic"]),
];

/// Exception filters by the adapter's own names, without those it does not know.
pub(super) fn exception_filters(arguments: &mut Value, capabilities: &Value) {
    let known: Vec<&str> = capabilities["exceptionBreakpointFilters"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|filter| filter["filter"].as_str())
        .collect();
    let named = |filter: &Value| {
        let filter = filter.as_str()?;
        let (_, others) = FILTERS.iter().find(|(name, _)| *name == filter).unwrap_or(&("", &[]));
        std::iter::once(&filter)
            .chain(others.iter())
            .copied()
            .find(|name| known.contains(name))
            .map(Value::from)
    };
    if let Some(filters) = arguments["filters"].as_array_mut() {
        let mut own: Vec<Value> = Vec::new();
        for name in filters.iter().filter_map(named) {
            if !own.contains(&name) {
                own.push(name);
            }
        }
        *filters = own;
    }
    if let Some(options) = arguments.get_mut("filterOptions").and_then(Value::as_array_mut) {
        options.retain_mut(|option| match named(&option["filterId"]) {
            Some(name) => {
                option["filterId"] = name;
                true
            }
            None => false,
        });
    }
    let options = capabilities["supportsExceptionFilterOptions"] == true;
    if let Some(arguments) = arguments.as_object_mut()
        && (!options || arguments.get("filterOptions").is_some_and(|list| list == &json!([])))
    {
        arguments.shift_remove("filterOptions");
    }
}

/// The answer to a list of breakpoints of a kind the adapter does not have.
pub(super) fn refuse_breakpoints(arguments: &Value, engine: &str) -> Value {
    let message = format!("the engine `{engine}` has no breakpoints of this kind");
    let count = arguments["breakpoints"].as_array().map_or(0, Vec::len);
    let refused: Vec<Value> =
        (0..count).map(|_| json!({ "verified": false, "message": message, "reason": "failed" })).collect();
    json!({ "breakpoints": refused })
}

/// The answer to `setVariable`, which lldb-dap 19 gives as that to an `evaluate`: its
/// `result` is the `value`.
pub(super) fn as_set_variable_answer(mut answer: Value) -> Value {
    if answer["value"].is_null()
        && let Some(result) = answer["result"].as_str().map(Value::from)
    {
        answer["value"] = result;
    }
    answer
}

/// Takes out the data breakpoints the adapter must not see; returns the index of each, and the answer to it.
pub(super) fn take_data_breakpoints(
    arguments: &mut Value,
    takes: impl Fn(&str) -> bool,
) -> Vec<(usize, Value)> {
    let Some(requests) = arguments["breakpoints"].as_array_mut() else { return Vec::new() };
    let mut taken = Vec::new();
    for (index, request) in std::mem::take(requests).into_iter().enumerate() {
        match request["dataId"].as_str() {
            Some(id) if !takes(id) => {
                let message = format!(
                    "the debug adapter never returned the `dataId` `{id}`; ask `dataBreakpointInfo` for one"
                );
                taken.push((index, json!({ "verified": false, "message": message, "reason": "failed" })));
            }
            _ => requests.push(request),
        }
    }
    taken
}

/// Inserts the answers to the removed breakpoints at their positions among the adapter's answers.
pub(super) fn insert_answers(answer: &mut Value, taken: Vec<(usize, Value)>) {
    let Some(breakpoints) = answer["breakpoints"].as_array_mut() else { return };
    for (index, refused) in taken {
        breakpoints.insert(index.min(breakpoints.len()), refused);
    }
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
    fn data_breakpoints_the_adapter_would_not_survive_are_answered_in_their_places() {
        let mut arguments =
            json!({ "breakpoints": [{ "dataId": "bad" }, { "dataId": "10/4" }, { "dataId": "worse" }] });
        let taken = take_data_breakpoints(&mut arguments, |id| id.contains('/'));
        assert_eq!(arguments, json!({ "breakpoints": [{ "dataId": "10/4" }] }));
        let mut answer = json!({ "breakpoints": [{ "verified": true }] });
        insert_answers(&mut answer, taken);
        let verified: Vec<&Value> =
            answer["breakpoints"].as_array().unwrap().iter().map(|row| &row["verified"]).collect();
        assert_eq!(verified, [false, true, false]);
    }

    #[test]
    fn only_filters_the_adapter_knows_reach_it() {
        let adapter = json!({ "exceptionBreakpointFilters": [{ "filter": "raised" }] });
        let mut arguments = json!({ "filters": ["cpp_catch", "raised"], "filterOptions": [] });
        exception_filters(&mut arguments, &adapter);
        assert_eq!(arguments, json!({ "filters": ["raised"] }));
    }

    #[test]
    fn filters_offered_before_the_adapter_was_known_become_its_own() {
        let debugpy = json!({ "exceptionBreakpointFilters":
            [{ "filter": "raised" }, { "filter": "uncaught" }, { "filter": "userUnhandled" }] });
        let mut arguments = json!({ "filters": ["all", "unhandled", "uncaught", "user-unhandled", "odd"] });
        exception_filters(&mut arguments, &debugpy);
        assert_eq!(arguments, json!({ "filters": ["raised", "uncaught", "userUnhandled"] }));
        let gdb = json!({ "supportsExceptionFilterOptions": true, "exceptionBreakpointFilters":
            [{ "filter": "exception" }, { "filter": "unhandled" }] });
        let mut arguments = json!({ "filters": [], "filterOptions":
            [{ "filterId": "all", "condition": "E" }, { "filterId": "unhandled" }, { "filterId": "odd" }] });
        exception_filters(&mut arguments, &gdb);
        let own = json!([{ "filterId": "exception", "condition": "E" }, { "filterId": "unhandled" }]);
        assert_eq!(arguments, json!({ "filters": [], "filterOptions": own }));
    }

    #[test]
    fn output_with_more_than_text_is_not_plain_output() {
        assert_eq!(plain_output(&json!({ "category": "stdout", "output": "a" })), Some(("stdout", "a")));
        assert_eq!(plain_output(&json!({ "category": "stdout", "output": "a", "line": 1 })), None);
        assert_eq!(plain_output(&json!({ "category": "console", "output": "a" })), None);
    }
}
