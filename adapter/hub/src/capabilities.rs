//! The session's capabilities. `initialize` comes before any engine is chosen, so its response announces
//! those of the built-in engine; an engine that differs is announced by a `capabilities` event, before
//! `initialized`. Some editors take exception filters from the response only: those may be known earlier
//! ([`Capabilities::expect_exception_filters`]).
//!
//! Not here: capabilities of clients ([`super::client_capabilities`]).

use serde_json::{Map, Value};
use tandem_engine::ExceptionFilter;
use tandem_wire::command::{self, COMMANDS, CommandSpec, Recipient};

/// Capabilities of the hub itself with any engine, besides its own requests: it evaluates conditions, counts
/// hits and writes log messages where the engine does not (`state::conditions`).
const OURS: [&str; 5] = [
    "supportTerminateDebuggee",
    "supportsConditionalBreakpoints",
    "supportsHitConditionalBreakpoints",
    "supportsLogPoints",
    "supportsTracePoints",
];

/// The syntax of an exception filter's condition.
const TYPES: &str =
    "types to stop at, or with ! to pass over: System.IO.*, !System.OperationCanceledException";

/// Capabilities of the built-in engine: optional requests, which the command table says how to announce, and
/// those that belong to no request.
const BUILT_IN: [&str; 25] = [
    "configurationDone",
    "setFunctionBreakpoints",
    "supportsConditionalBreakpoints",
    "supportsHitConditionalBreakpoints",
    "supportsLogPoints",
    "supportsEvaluateForHovers",
    "setVariable",
    "setExpression",
    "supportsValueFormattingOptions",
    "completions",
    "readMemory",
    "disassemble",
    "setInstructionBreakpoints",
    "supportsSteppingGranularity",
    "exceptionInfo",
    "terminate",
    "supportTerminateDebuggee",
    "supportsDelayedStackTraceLoading",
    "modules",
    "cancel",
    "loadedSources",
    "breakpointLocations",
    "stepInTargets",
    "gotoTargets",
    "supportsSingleThreadExecutionRequests",
];

/// The exception filters of the built-in engine.
const BUILT_IN_FILTERS: [ExceptionFilter; 3] = [
    filter("all", "All exceptions", "Stop where an exception is thrown in user code, or passes it.", false),
    filter(
        "userUnhandled",
        "User-unhandled exceptions",
        "Stop where an exception is thrown that no user code catches.",
        true,
    ),
    filter(
        "unhandled",
        "Unhandled exceptions",
        "Stop where an exception is thrown that nothing catches.",
        true,
    ),
];

const fn filter(
    filter: &'static str,
    label: &'static str,
    description: &'static str,
    default: bool,
) -> ExceptionFilter {
    ExceptionFilter {
        default: Some(default),
        supports_condition: true,
        description: Some(description),
        condition_description: Some(TYPES),
        ..ExceptionFilter::new(filter, label)
    }
}

/// The capability that lists exception filters.
const FILTERS_KEY: &str = "exceptionBreakpointFilters";

/// DAP `Capabilities` of a session before its engine is known.
pub fn initial() -> Value {
    let mut capabilities = Map::new();
    for name in BUILT_IN {
        let capability = command::find(name).and_then(CommandSpec::capability).unwrap_or(name);
        capabilities.insert(capability.into(), true.into());
        if name == "completions" {
            capabilities.insert("completionTriggerCharacters".into(), vec!["."].into());
        }
    }
    capabilities.insert("supportedChecksumAlgorithms".into(), vec!["SHA1", "SHA256"].into());
    capabilities.insert("supportsExceptionFilterOptions".into(), true.into());
    capabilities.insert(FILTERS_KEY.into(), ExceptionFilter::list(&BUILT_IN_FILTERS));
    Value::Object(capabilities)
}

/// The current DAP `Capabilities` of the session.
#[derive(Debug)]
pub struct Capabilities {
    /// While there is no engine.
    promised: Value,
    engine: Value,
    offered: Value,
    /// The session attached: there is nothing the hub could launch again.
    attached: bool,
}

impl Default for Capabilities {
    fn default() -> Self {
        let promised = initial();
        let engine = promised.clone();
        let mut capabilities = Self { promised, engine, offered: Value::Null, attached: false };
        capabilities.update_offered();
        capabilities
    }
}

impl Capabilities {
    /// The capabilities that clients are sent.
    pub fn offered(&self) -> &Value {
        &self.offered
    }

    /// Whether the engine itself has a capability.
    pub fn engine_has(&self, name: &str) -> bool {
        self.engine[name] == true
    }

    /// The engine that will be chosen has these exception filters, not the built-in one's.
    pub fn expect_exception_filters(&mut self, exception_filters: Value) {
        self.promised[FILTERS_KEY] = exception_filters;
        self.forget_engine();
    }

    /// The engine is chosen: until it speaks for itself it is the built-in one.
    pub fn engine_chosen(&mut self) {
        self.engine = initial();
        self.update_offered();
    }

    /// There is no engine any more.
    pub fn forget_engine(&mut self) {
        self.engine.clone_from(&self.promised);
        self.attached = false;
        self.update_offered();
    }

    /// The engine named all it can; what it did not name it cannot.
    pub fn replace(&mut self, engine: Value) {
        self.engine = if engine.is_object() { engine } else { Value::Object(Map::new()) };
        self.update_offered();
    }

    /// The engine changed its mind about some (DAP `capabilities` event).
    pub fn update_engine(&mut self, changed: &Value) {
        if let (Some(engine), Some(changed)) = (self.engine.as_object_mut(), changed.as_object()) {
            engine.extend(changed.clone());
        }
        self.update_offered();
    }

    fn update_offered(&mut self) {
        self.offered = self.engine.clone();
        let announced = COMMANDS.iter().filter(|row| row.recipient == Recipient::Hub);
        for name in announced.filter_map(CommandSpec::capability).chain(OURS) {
            self.offered[name] = true.into();
        }
        if self.attached {
            self.offered["supportsRestartRequest"] = false.into();
        }
    }

    /// The session attaches instead of launching.
    pub fn set_attached(&mut self) {
        self.attached = true;
        self.update_offered();
    }

    /// The differences from what a client was sent; `None` if there are none.
    pub fn changes_since(&self, reported: &Value) -> Option<Value> {
        let empty = Map::new();
        let (now, then) =
            (self.offered.as_object().unwrap_or(&empty), reported.as_object().unwrap_or(&empty));
        let mut changes = Map::new();
        for (name, value) in now {
            if then.get(name) != Some(value) {
                changes.insert(name.clone(), value.clone());
            }
        }
        for (name, value) in then {
            // Gone: a flag is down, a list is empty.
            let nothing = match value {
                Value::Bool(true) => Value::Bool(false),
                Value::Array(list) if !list.is_empty() => Value::Array(Vec::new()),
                _ => continue,
            };
            if !now.contains_key(name) {
                changes.insert(name.clone(), nothing);
            }
        }
        (!changes.is_empty()).then_some(Value::Object(changes))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_engine_that_can_less_takes_back_what_was_promised_and_keeps_what_the_hub_does() {
        let mut capabilities = Capabilities::default();
        let reported = capabilities.offered().clone();
        assert_eq!(capabilities.changes_since(&reported), None);
        capabilities.replace(json!({ "supportsStepBack": true, "supportsFunctionBreakpoints": true }));
        let changes = capabilities.changes_since(&reported).unwrap();
        assert_eq!(changes["supportsStepBack"], true);
        assert_eq!(changes["supportsSetVariable"], false);
        assert_eq!(changes["exceptionBreakpointFilters"], json!([]));
        assert!(changes["supportsFunctionBreakpoints"].is_null() && changes["supportsLogPoints"].is_null());
        assert!(!capabilities.engine_has("supportsLogPoints"));
        capabilities.update_engine(&json!({ "supportsLogPoints": true }));
        assert!(capabilities.engine_has("supportsLogPoints") && capabilities.engine_has("supportsStepBack"));
    }

    #[test]
    fn expected_exception_filters_are_offered_until_the_engine_says_otherwise_and_again_after_it() {
        let mut capabilities = Capabilities::default();
        let filters = json!([{ "filter": "raised", "label": "Raised" }]);
        capabilities.expect_exception_filters(filters.clone());
        let reported = capabilities.offered().clone();
        assert_eq!(reported["exceptionBreakpointFilters"], filters);
        assert_eq!(reported["supportsRestartRequest"], true);
        capabilities.set_attached();
        capabilities.engine_chosen();
        assert_eq!(capabilities.offered()["exceptionBreakpointFilters"][0]["filter"], "all");
        capabilities.replace(json!({ "exceptionBreakpointFilters": [] }));
        assert_eq!(capabilities.changes_since(&reported).unwrap()["exceptionBreakpointFilters"], json!([]));
        capabilities.forget_engine();
        assert_eq!(capabilities.changes_since(&reported), None);
    }
}
