//! Breakpoint requests of clients, parsed and validated.
//!
//! Not here: their union ([`super::scope_breakpoints`]).

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value};
use tandem_wire::Failure;
use tandem_wire::types::{self, BreakpointRequest, SourceBreakpoint};

use super::scope::BreakpointScope;
use tandem_engine::hit_condition::HitTest;

/// Maximum number of expressions of one trace.
const MAX_TRACED: usize = 20;

/// Whether it is an exception filter without options.
pub(super) fn is_bare_filter(request: &BreakpointRequest) -> bool {
    request.target.filter_id.is_some() && *request == BreakpointScope::Exceptions.location(request)
}

/// Parses one breakpoint of a request with this command.
///
/// # Errors
/// `INVALID_PARAMETER` when a field has another type than the schema's.
fn parse_one(command: &str, request: &Value) -> Result<BreakpointRequest, Failure> {
    check_texts(request)?;
    let mut kept = Map::new();
    for (key, value) in request.as_object().into_iter().flatten() {
        match value {
            // Absent, `null` and empty are the same.
            Value::Null => {}
            Value::String(text) if text.trim().is_empty() => {}
            value => drop(kept.insert(key.clone(), value.clone())),
        }
    }
    let mut parsed: BreakpointRequest = serde_json::from_value(Value::Object(kept)).map_err(|error| {
        Failure::invalid(format!("a breakpoint of `{command}` is not valid: {error}; it is {request}"))
    })?;
    // Engines read other spellings differently, or as a condition that always holds.
    if let Some(Ok(Some(test))) = parsed.hit_condition.as_deref().map(HitTest::parse) {
        parsed.hit_condition = Some(test.to_string());
    }
    Ok(parsed)
}

/// The arguments of a request that sets breakpoints of any kind. The breakpoints stay as they are: they are
/// validated one by one.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BreakpointListArguments {
    #[serde(deserialize_with = "types::optional")]
    source: Option<types::Source>,
    breakpoints: Value,
    #[serde(deserialize_with = "types::optional")]
    lines: Option<Vec<Value>>,
    #[serde(deserialize_with = "types::optional")]
    filters: Option<Vec<Value>>,
    #[serde(deserialize_with = "types::optional")]
    filter_options: Option<Vec<Value>>,
    #[serde(deserialize_with = "types::optional")]
    exception_options: Option<Vec<Value>>,
}

/// A client's request to replace its breakpoints of one scope.
#[derive(Debug, Clone, PartialEq)]
pub struct SetBreakpoints {
    /// The scope whose breakpoints are replaced.
    pub scope: BreakpointScope,
    /// The source, as the client spells it.
    pub source: Option<types::Source>,
    /// The breakpoints in the client's order.
    pub breakpoints: Vec<BreakpointRequest>,
    /// Positions of breakpoints that are no longer valid: they are answered, and no engine gets them.
    pub stale: BTreeSet<usize>,
}

/// Reads and validates a request that sets breakpoints.
///
/// # Errors
/// `INVALID_PARAMETER` with the field that is missing or wrong.
pub fn parse(command: &str, arguments: &Value) -> Result<SetBreakpoints, Failure> {
    match command {
        "setFunctionBreakpoints" => parse_list(BreakpointScope::Functions, arguments, "name"),
        "setDataBreakpoints" => parse_list(BreakpointScope::Data, arguments, "dataId"),
        "setInstructionBreakpoints" => {
            parse_list(BreakpointScope::Instructions, arguments, "instructionReference")
        }
        "setExceptionBreakpoints" => parse_exceptions(arguments),
        _ => parse_source(command, arguments),
    }
}

fn parse_list(scope: BreakpointScope, arguments: &Value, key: &str) -> Result<SetBreakpoints, Failure> {
    let command = scope.command();
    let Value::Array(list) = types::read::<BreakpointListArguments>(arguments).breakpoints else {
        return Err(Failure::invalid("`breakpoints` is missing; it must be an array"));
    };
    if let Some(nameless) = list.iter().find(|one| one[key].as_str().is_none_or(str::is_empty)) {
        return Err(Failure::invalid(format!(
            "a breakpoint of `{command}` needs a `{key}`; `{nameless}` has none"
        )));
    }
    let breakpoints = list.iter().map(|one| parse_one(command, one));
    Ok(SetBreakpoints {
        scope,
        source: None,
        breakpoints: breakpoints.collect::<Result<_, _>>()?,
        stale: BTreeSet::new(),
    })
}

fn parse_source(command: &str, arguments: &Value) -> Result<SetBreakpoints, Failure> {
    let BreakpointListArguments { source, breakpoints, lines, .. } = types::read(arguments);
    let mut source = source.unwrap_or_default();
    let path = source.path.as_deref().filter(|path| !path.is_empty());
    let reference = source.source_reference.filter(|reference| *reference > 0);
    let scope = match (path, reference) {
        (_, Some(reference)) => BreakpointScope::Reference(reference),
        (Some(path), None) => BreakpointScope::of_path(path),
        (None, None) => {
            return Err(Failure::invalid(
                "`source.path` is missing: breakpoints need the path of a source file",
            ));
        }
    };
    if source.name.is_none() {
        source.name = path.and_then(|path| path.rsplit(['/', '\\']).next()).map(str::to_owned);
    }
    let list: Vec<Value> = match breakpoints {
        // The old form of DAP: bare line numbers.
        Value::Null => {
            let at_line = |line| Value::Object(Map::from_iter([("line".to_owned(), line)]));
            lines.unwrap_or_default().into_iter().map(at_line).collect()
        }
        Value::Array(list) => list,
        _ => return Err(Failure::invalid("`breakpoints` must be an array")),
    };
    if let Some(nowhere) = list.iter().find(|one| types::read::<SourceBreakpoint>(one).line <= 0) {
        return Err(Failure::invalid(format!(
            "a breakpoint needs a `line` of at least 1; `{nowhere}` has none"
        )));
    }
    let breakpoints = list.iter().map(|one| parse_one(command, one));
    Ok(SetBreakpoints {
        scope,
        source: Some(source),
        breakpoints: breakpoints.collect::<Result<_, _>>()?,
        stale: BTreeSet::new(),
    })
}

/// Filters, options and path options are requests in this order, as their answers are (DAP
/// `setExceptionBreakpoints`).
fn parse_exceptions(arguments: &Value) -> Result<SetBreakpoints, Failure> {
    let scope = BreakpointScope::Exceptions;
    let BreakpointListArguments { filters, filter_options, exception_options, .. } = types::read(arguments);
    let Some(filters) = filters else {
        return Err(Failure::invalid("`filters` is missing; it must be an array of strings"));
    };
    let mut breakpoints = Vec::new();
    for filter in filters {
        let Some(filter) = filter.as_str() else {
            return Err(Failure::invalid(format!("an exception filter must be a string, not {filter}")));
        };
        breakpoints.push(BreakpointRequest::filter(filter));
    }
    for option in filter_options.iter().flatten() {
        if types::require::<String>(option, "filterId").is_err() {
            return Err(Failure::invalid(format!("`filterId` is missing in the filter option `{option}`")));
        }
        breakpoints.push(parse_one(scope.command(), option)?);
    }
    for option in exception_options.iter().flatten() {
        breakpoints.push(parse_one(scope.command(), option)?);
    }
    Ok(SetBreakpoints { scope, source: None, breakpoints, stale: BTreeSet::new() })
}

/// The fields of a breakpoint that are validated before it is read.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct UncheckedFields {
    condition: Value,
    hit_condition: Value,
    log_message: Value,
    trace: Value,
}

/// The fields of a trace that are validated before it is read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UncheckedTrace {
    #[serde(deserialize_with = "types::optional")]
    expressions: Option<Vec<String>>,
    hits: Value,
}

fn check_texts(request: &Value) -> Result<(), Failure> {
    let UncheckedFields { condition, hit_condition, log_message, trace } = types::read(request);
    let texts = [("condition", condition), ("hitCondition", hit_condition), ("logMessage", log_message)];
    for (key, text) in texts {
        if !(text.is_null() || text.is_string()) {
            return Err(Failure::invalid(format!("`{key}` of a breakpoint must be a string, not {text}")));
        }
    }
    check_trace(&trace)
}

fn check_trace(trace: &Value) -> Result<(), Failure> {
    if trace.is_null() {
        return Ok(());
    }
    let UncheckedTrace { expressions, hits } = types::read(trace);
    if expressions.is_none_or(|texts| texts.is_empty() || texts.len() > MAX_TRACED) {
        return Err(Failure::invalid(format!("`trace.expressions` must be 1 to {MAX_TRACED} strings")));
    }
    if !hits.is_null() && hits.as_u64().is_none_or(|hits| hits == 0) {
        return Err(Failure::invalid(format!("`trace.hits` is {hits}; it must be a number of at least 1")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hit_condition_reaches_the_engine_in_one_spelling() {
        for (given, kept) in [("2.0", "2"), ("== 5", "5"), (">=3", ">= 3"), ("often", "often")] {
            let one = json!({ "line": 3, "hitCondition": given });
            let arguments = json!({ "source": { "path": "/a.py" }, "breakpoints": [one] });
            let parsed = parse("setBreakpoints", &arguments).unwrap();
            assert_eq!(parsed.breakpoints[0].hit_condition.as_deref(), Some(kept));
        }
    }

    #[test]
    fn breakpoint_keeps_unknown_fields_and_drops_empty_ones() {
        let odd = json!({ "line": 3, "condition": " ", "hitCondition": null, "column": 2, "mode": "hardware",
            "adaptersOwn": { "a": [1, null] } });
        let arguments = json!({ "source": { "path": "/a/./b.c", "origin": "x" }, "breakpoints": [odd] });
        let parsed = parse("setBreakpoints", &arguments).unwrap();
        assert_eq!(parsed.scope, BreakpointScope::Source("/a/b.c".into()));
        assert_eq!(
            json!(parsed.breakpoints),
            json!([{ "line": 3, "column": 2, "mode": "hardware", "adaptersOwn": { "a": [1, null] } }])
        );
        assert_eq!(json!(parsed.source), json!({ "path": "/a/./b.c", "name": "b.c", "origin": "x" }));
        let plain = parsed.scope.location(&parsed.breakpoints[0]);
        assert_eq!(json!(plain), json!({ "line": 3, "column": 2, "mode": "hardware" }));
    }

    #[test]
    fn invalid_breakpoint_is_refused_by_name() {
        let at = |one: Value| json!({ "source": { "path": "/a.c" }, "breakpoints": [one] });
        for (command, arguments, named) in [
            ("setBreakpoints", json!({ "breakpoints": [] }), "`source.path`"),
            ("setBreakpoints", at(json!({ "line": 0 })), "`line` of at least 1"),
            ("setBreakpoints", at(json!({ "line": 1, "condition": 5 })), "`condition`"),
            ("setBreakpoints", at(json!({ "line": 1, "column": "2" })), "expected i64"),
            ("setBreakpoints", at(json!({ "line": 1, "trace": { "expressions": [] } })), "1 to 20 strings"),
            (
                "setBreakpoints",
                at(json!({ "line": 1, "trace": { "expressions": ["x"], "hits": 0 } })),
                "`trace.hits`",
            ),
            ("setFunctionBreakpoints", json!({ "breakpoints": [{ "name": "" }] }), "`name`"),
            ("setDataBreakpoints", json!({ "breakpoints": [{}] }), "`dataId`"),
            ("setExceptionBreakpoints", json!({ "filters": [1] }), "must be a string"),
            ("setExceptionBreakpoints", json!({ "filters": [], "filterOptions": [{}] }), "`filterId`"),
        ] {
            let failure = parse(command, &arguments).unwrap_err();
            assert!(failure.message.contains(named), "{failure}");
        }
    }
}
