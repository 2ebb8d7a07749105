//! Places and wishes, read from requests and checked.

use std::collections::BTreeSet;

use dap_wire::{Failure, types};
use serde_json::{Map, Value, json};

/// Most expressions of one trace.
const TRACED: usize = 20;

/// What one DAP request replaces whole.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// `setBreakpoints` of a file, by its path without detours.
    Source(String),
    /// `setBreakpoints` of a source without a file, by the engine's `sourceReference`.
    Reference(i64),
    /// `setFunctionBreakpoints`.
    Functions,
    /// `setExceptionBreakpoints`.
    Exceptions,
    /// `setDataBreakpoints`.
    Data,
    /// `setInstructionBreakpoints`.
    Instructions,
}

impl Place {
    /// The place of a file: two spellings of one path are one place. Links are not followed: the hub does no I/O.
    pub fn of_path(path: &str) -> Self {
        if !path.starts_with('/') {
            return Self::Source(path.to_owned());
        }
        let mut parts: Vec<&str> = Vec::new();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        Self::Source(format!("/{}", parts.join("/")))
    }

    /// The DAP request that sets it.
    pub fn command(&self) -> &'static str {
        match self {
            Self::Source(_) | Self::Reference(_) => "setBreakpoints",
            Self::Functions => "setFunctionBreakpoints",
            Self::Exceptions => "setExceptionBreakpoints",
            Self::Data => "setDataBreakpoints",
            Self::Instructions => "setInstructionBreakpoints",
        }
    }

    /// The capability an engine needs for it; sources and exceptions need none.
    pub fn capability(&self) -> Option<&'static str> {
        match self {
            Self::Source(_) | Self::Reference(_) | Self::Exceptions => None,
            Self::Functions => Some("supportsFunctionBreakpoints"),
            Self::Data => Some("supportsDataBreakpoints"),
            Self::Instructions => Some("supportsInstructionBreakpoints"),
        }
    }

    /// Whether an editor can show somebody else's breakpoint there: only lines have a margin.
    pub fn has_lines(&self) -> bool {
        matches!(self, Self::Source(_) | Self::Reference(_))
    }
}

/// A request's place, its source and the wishes.
#[derive(Debug, Clone, PartialEq)]
pub struct Wished {
    /// What is replaced.
    pub place: Place,
    /// DAP `Source`, as the client spells it; `Null` without one.
    pub source: Value,
    /// The wishes in the client's order, without what does not change their meaning.
    pub list: Vec<Value>,
    /// Positions of wishes that mean nothing any more: they are answered, and nobody gets them.
    pub void: BTreeSet<usize>,
}

/// Reads and checks a request that sets breakpoints.
///
/// # Errors
/// `INVALID_PARAMETER`, saying what is missing or wrong.
pub fn wished(command: &str, arguments: &Value) -> Result<Wished, Failure> {
    match command {
        "setFunctionBreakpoints" => {
            let read: types::requests::SetFunctionBreakpointsArguments =
                types::arguments(command, arguments.clone())?;
            drop(read);
            listed(Place::Functions, arguments, "name")
        }
        "setDataBreakpoints" => listed(Place::Data, arguments, "dataId"),
        "setInstructionBreakpoints" => listed(Place::Instructions, arguments, "instructionReference"),
        "setExceptionBreakpoints" => exceptions(arguments),
        _ => in_source(arguments),
    }
}

fn listed(place: Place, arguments: &Value, key: &str) -> Result<Wished, Failure> {
    let Some(list) = arguments["breakpoints"].as_array() else {
        return Err(Failure::invalid("`breakpoints` is missing; it must be an array"));
    };
    for wish in list {
        if wish[key].as_str().is_none_or(str::is_empty) {
            return Err(Failure::invalid(format!(
                "a breakpoint of `{}` needs a `{key}`; `{wish}` has none",
                place.command()
            )));
        }
        check_texts(wish)?;
    }
    Ok(Wished { place, source: Value::Null, list: list.iter().map(essence).collect(), void: BTreeSet::new() })
}

fn in_source(arguments: &Value) -> Result<Wished, Failure> {
    let source = &arguments["source"];
    let path = source["path"].as_str().filter(|path| !path.is_empty());
    let reference = source["sourceReference"].as_i64().filter(|reference| *reference > 0);
    let place = match (path, reference) {
        (_, Some(reference)) => Place::Reference(reference),
        (Some(path), None) => Place::of_path(path),
        (None, None) => {
            return Err(Failure::invalid(
                "`source.path` is missing: breakpoints need the path of a source file",
            ));
        }
    };
    // The old form of DAP: bare line numbers.
    let from_lines = || {
        let lines = arguments["lines"].as_array().into_iter().flatten();
        lines.map(|line| json!({ "line": line })).collect::<Vec<_>>()
    };
    let list = match &arguments["breakpoints"] {
        Value::Null => from_lines(),
        Value::Array(list) => list.clone(),
        _ => return Err(Failure::invalid("`breakpoints` must be an array")),
    };
    for wish in &list {
        if wish["line"].as_i64().is_none_or(|line| line <= 0) {
            return Err(Failure::invalid(format!(
                "a breakpoint needs a `line` from 1 on; `{wish}` has none"
            )));
        }
        check_texts(wish)?;
    }
    let mut source = source.clone();
    if source["name"].is_null()
        && let Some(path) = path
    {
        source["name"] = json!(path.rsplit(['/', '\\']).next());
    }
    Ok(Wished { place, source, list: list.iter().map(essence).collect(), void: BTreeSet::new() })
}

/// Filters, options and path options are wishes in this order, as their answers are (DAP `setExceptionBreakpoints`).
fn exceptions(arguments: &Value) -> Result<Wished, Failure> {
    let Some(filters) = arguments["filters"].as_array() else {
        return Err(Failure::invalid("`filters` is missing; it must be an array of strings"));
    };
    let mut list = Vec::new();
    for filter in filters {
        let Some(filter) = filter.as_str() else {
            return Err(Failure::invalid(format!("an exception filter must be a string, not {filter}")));
        };
        list.push(json!({ "filterId": filter }));
    }
    for option in arguments["filterOptions"].as_array().into_iter().flatten() {
        if !option["filterId"].is_string() {
            return Err(Failure::invalid(format!("`filterId` is missing in the filter option `{option}`")));
        }
        check_texts(option)?;
        list.push(essence(option));
    }
    list.extend(arguments["exceptionOptions"].as_array().into_iter().flatten().map(essence));
    Ok(Wished { place: Place::Exceptions, source: Value::Null, list, void: BTreeSet::new() })
}

fn check_texts(wish: &Value) -> Result<(), Failure> {
    for key in ["condition", "hitCondition", "logMessage"] {
        if !(wish[key].is_null() || wish[key].is_string()) {
            return Err(Failure::invalid(format!(
                "`{key}` of a breakpoint must be a string, not {}",
                wish[key]
            )));
        }
    }
    check_trace(&wish["trace"])
}

/// What is evaluated at each hit, and at which hit the program stops.
fn check_trace(trace: &Value) -> Result<(), Failure> {
    if trace.is_null() {
        return Ok(());
    }
    let texts = trace["expressions"].as_array().map(Vec::as_slice).unwrap_or_default();
    if texts.is_empty() || texts.len() > TRACED || !texts.iter().all(Value::is_string) {
        return Err(Failure::invalid(format!("`trace.expressions` must be 1 to {TRACED} strings")));
    }
    if !trace["hits"].is_null() && trace["hits"].as_u64().is_none_or(|hits| hits == 0) {
        return Err(Failure::invalid(format!(
            "`trace.hits` is {}; it must be a number from 1 on",
            trace["hits"]
        )));
    }
    Ok(())
}

/// A wish without what does not change its meaning: absent, `null` and empty conditions are the same.
fn essence(wish: &Value) -> Value {
    let mut kept = Map::new();
    for (key, value) in wish.as_object().into_iter().flatten() {
        match value {
            Value::Null => {}
            Value::String(text) if text.trim().is_empty() => {}
            value => drop(kept.insert(key.clone(), value.clone())),
        }
    }
    Value::Object(kept)
}

/// Whether nothing but the spot matters: it stops each time.
pub(super) fn is_plain(wish: &Value) -> bool {
    ["condition", "hitCondition", "logMessage", "trace"].iter().all(|key| wish[*key].is_null())
}
