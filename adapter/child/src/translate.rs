//! Translation of messages between the hub and a child adapter: names of exception filters, breakpoints
//! that the adapter does not support, answers to assignments. All other messages pass unchanged.
//!
//! Not here: ids, lines and paths, which the hub rewrites.

use serde::Deserialize;
use serde_json::{Map, Value};
use tandem_wire::types::{
    self, Breakpoint, BreakpointTarget, ExceptionFilterOptions, SetBreakpointsResponseBody,
    SetExceptionBreakpointsArguments,
};

/// Adapters' names of the filters that Tandem offers before it knows the adapter; an editor shows those
/// and keeps sending them.
const FILTERS: [(&str, &[&str]); 3] = [
    ("all", &["raised", "any", "exception", "cpp_throw"]),
    ("user-unhandled", &["userUnhandled"]),
    ("unhandled", &["uncaught", "unrecovered-panic", "rust_panic"]),
];

/// The capabilities of an adapter that concern exception filters.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct FilterCapabilities {
    #[serde(rename = "exceptionBreakpointFilters", deserialize_with = "types::list")]
    pub(super) filters: Vec<AnnouncedFilter>,
    #[serde(deserialize_with = "types::optional")]
    supports_exception_filter_options: Option<bool>,
}

/// An exception filter as an adapter announces it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct AnnouncedFilter {
    #[serde(deserialize_with = "types::optional")]
    pub(super) filter: Option<String>,
    #[serde(deserialize_with = "types::optional")]
    pub(super) supports_condition: Option<bool>,
}

/// The exception filters that an adapter announces, by name.
pub(super) fn announced_filters(capabilities: &Value) -> Vec<String> {
    let FilterCapabilities { filters, .. } = types::read(capabilities);
    filters.into_iter().filter_map(|filter| filter.filter).collect()
}

/// Exception filters by the adapter's own names, without those it does not know.
pub(super) fn exception_filters(arguments: &mut SetExceptionBreakpointsArguments, capabilities: &Value) {
    let known = announced_filters(capabilities);
    let named = |filter: &str| {
        let (_, others) = FILTERS.iter().find(|(name, _)| *name == filter).unwrap_or(&("", &[]));
        let mut names = std::iter::once(filter).chain(others.iter().copied());
        names.find(|name| known.iter().any(|known| known == name)).map(str::to_owned)
    };
    let mut own: Vec<String> = Vec::new();
    for name in arguments.filters.iter().filter_map(|filter| named(filter)) {
        if !own.contains(&name) {
            own.push(name);
        }
    }
    arguments.filters = own;
    let options = arguments.filter_options.take().unwrap_or_default().into_iter();
    let options = options
        .filter_map(|option| Some(ExceptionFilterOptions { filter_id: named(&option.filter_id)?, ..option }));
    let options: Vec<ExceptionFilterOptions> = options.collect();
    let capabilities: FilterCapabilities = types::read(capabilities);
    let takes_options = capabilities.supports_exception_filter_options == Some(true);
    arguments.filter_options = Some(options).filter(|options| takes_options && !options.is_empty());
}

/// The answer to a list of breakpoints of a kind the adapter does not have.
pub(super) fn refuse_breakpoints(arguments: &Value, engine: &str) -> Value {
    let message = format!("the engine `{engine}` has no breakpoints of this kind");
    refuse_all(types::breakpoint_count(arguments), &message)
}

/// The answer to a request that sets so many breakpoints, of which none can be set.
pub(super) fn refuse_all(count: usize, message: &str) -> Value {
    let breakpoints = vec![Breakpoint::refused(message); count];
    types::body(&SetBreakpointsResponseBody { breakpoints, ..SetBreakpointsResponseBody::default() })
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
    let Some(requests) = types::list_mut(arguments, "breakpoints") else { return Vec::new() };
    let mut taken = Vec::new();
    for (index, request) in std::mem::take(requests).into_iter().enumerate() {
        match types::read::<BreakpointTarget>(&request).data_id {
            Some(id) if !takes(&id) => {
                let message = format!(
                    "the debug adapter never returned the `dataId` `{id}`; ask `dataBreakpointInfo` for one"
                );
                taken.push((index, types::body(&Breakpoint::refused(message))));
            }
            _ => requests.push(request),
        }
    }
    taken
}

/// Inserts the answers to the removed breakpoints at their positions among the adapter's answers.
pub(super) fn insert_answers(answer: &mut Value, taken: Vec<(usize, Value)>) {
    let Some(breakpoints) = types::list_mut(answer, "breakpoints") else { return };
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
    use serde_json::json;

    use super::*;

    fn chosen(arguments: &Value, capabilities: &Value) -> Value {
        let mut arguments = types::read(arguments);
        exception_filters(&mut arguments, capabilities);
        types::body(&arguments)
    }

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
        let mut answer = json!("not a body");
        insert_answers(&mut answer, vec![(0, json!({}))]);
        assert_eq!(answer, "not a body");
    }

    #[test]
    fn only_filters_the_adapter_knows_reach_it() {
        let adapter = json!({ "exceptionBreakpointFilters": [{ "filter": "raised" }] });
        let arguments = json!({ "filters": ["cpp_catch", "raised"], "filterOptions": [] });
        assert_eq!(chosen(&arguments, &adapter), json!({ "filters": ["raised"] }));
    }

    #[test]
    fn filters_offered_before_the_adapter_was_known_become_its_own() {
        let debugpy = json!({ "exceptionBreakpointFilters":
            [{ "filter": "raised" }, { "filter": "uncaught" }, { "filter": "userUnhandled" }] });
        let arguments = json!({ "filters": ["all", "unhandled", "uncaught", "user-unhandled", "odd"] });
        let own = json!({ "filters": ["raised", "uncaught", "userUnhandled"] });
        assert_eq!(chosen(&arguments, &debugpy), own);
        let gdb = json!({ "supportsExceptionFilterOptions": true, "exceptionBreakpointFilters":
            [{ "filter": "exception" }, { "filter": "unhandled" }] });
        let arguments = json!({ "filters": [], "filterOptions":
            [{ "filterId": "all", "condition": "E" }, { "filterId": "unhandled" }, { "filterId": "odd" }] });
        let own = json!([{ "filterId": "exception", "condition": "E" }, { "filterId": "unhandled" }]);
        assert_eq!(chosen(&arguments, &gdb), json!({ "filters": [], "filterOptions": own }));
    }

    #[test]
    fn output_with_more_than_text_is_not_plain_output() {
        assert_eq!(plain_output(&json!({ "category": "stdout", "output": "a" })), Some(("stdout", "a")));
        assert_eq!(plain_output(&json!({ "category": "stdout", "output": "a", "line": 1 })), None);
        assert_eq!(plain_output(&json!({ "category": "console", "output": "a" })), None);
    }
}
