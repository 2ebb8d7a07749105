//! What the session offers. `initialize` is asked before any engine is chosen, so it promises what the built-in engine
//! does; an engine that does otherwise is told of by a `capabilities` event, before `initialized`. Some editors take exception
//! filters from the answer only: those may be known beforehand ([`Capabilities::expect_exception_filters`]).

use serde_json::{Map, Value, json};

/// What the hub does itself, whatever the engine can: conditions, hit counts and log messages an engine does not know
/// are the hub's work (`state::judge`).
const OURS: [&str; 9] = [
    "supportsRestartRequest",
    "supportsConfigurationDoneRequest",
    "supportTerminateDebuggee",
    "supportsTerminateRequest",
    "supportsCancelRequest",
    "supportsConditionalBreakpoints",
    "supportsHitConditionalBreakpoints",
    "supportsLogPoints",
    "supportsTracePoints",
];

/// What a condition of an exception filter is.
const TYPES: &str =
    "types to stop at, or with ! to pass over: System.IO.*, !System.OperationCanceledException";

/// DAP `Capabilities` of a session before its engine is known.
pub fn initial() -> Value {
    json!({
        "supportsConfigurationDoneRequest": true,
        "supportsFunctionBreakpoints": true,
        "supportsConditionalBreakpoints": true,
        "supportsHitConditionalBreakpoints": true,
        "supportsLogPoints": true,
        "supportsEvaluateForHovers": true,
        "supportsSetVariable": true,
        "supportsSetExpression": true,
        "supportsValueFormattingOptions": true,
        "supportsCompletionsRequest": true,
        "completionTriggerCharacters": ["."],
        "supportsReadMemoryRequest": true,
        "supportsDisassembleRequest": true,
        "supportsInstructionBreakpoints": true,
        "supportsSteppingGranularity": true,
        "supportsExceptionInfoRequest": true,
        "supportsTerminateRequest": true,
        "supportTerminateDebuggee": true,
        "supportsDelayedStackTraceLoading": true,
        "supportsModulesRequest": true,
        "supportsCancelRequest": true,
        "supportsLoadedSourcesRequest": true,
        "supportsBreakpointLocationsRequest": true,
        "supportsStepInTargetsRequest": true,
        "supportsGotoTargetsRequest": true,
        "supportsSingleThreadExecutionRequests": true,
        "supportedChecksumAlgorithms": ["SHA1", "SHA256"],
        "supportsExceptionFilterOptions": true,
        "exceptionBreakpointFilters": [
            { "filter": "all", "label": "All exceptions", "default": false, "supportsCondition": true,
              "description": "Stop where an exception is thrown in user code, or passes it.",
              "conditionDescription": TYPES },
            { "filter": "userUnhandled", "label": "User-unhandled exceptions", "default": false,
              "supportsCondition": true,
              "description": "Stop where an exception is thrown that no user code catches.",
              "conditionDescription": TYPES },
            { "filter": "unhandled", "label": "Unhandled exceptions", "default": true, "supportsCondition": true,
              "description": "Stop where an exception is thrown that nothing catches.",
              "conditionDescription": TYPES }
        ]
    })
}

/// DAP `Capabilities` of the session as they stand.
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
        capabilities.offer();
        capabilities
    }
}

impl Capabilities {
    /// What clients are told.
    pub fn offered(&self) -> &Value {
        &self.offered
    }

    /// Whether the engine itself has a capability.
    pub fn engine_has(&self, name: &str) -> bool {
        self.engine[name] == true
    }

    /// The engine that will be chosen has these exception filters, not the built-in one's.
    pub fn expect_exception_filters(&mut self, exception_filters: Value) {
        self.promised["exceptionBreakpointFilters"] = exception_filters;
        self.forget_engine();
    }

    /// The engine is chosen: until it speaks for itself it is the built-in one.
    pub fn engine_chosen(&mut self) {
        self.engine = initial();
        self.offer();
    }

    /// There is no engine any more.
    pub fn forget_engine(&mut self) {
        self.engine.clone_from(&self.promised);
        self.attached = false;
        self.offer();
    }

    /// The engine named all it can; what it did not name it cannot.
    pub fn replace(&mut self, engine: Value) {
        self.engine = if engine.is_object() { engine } else { json!({}) };
        self.offer();
    }

    /// The engine changed its mind about some (DAP `capabilities` event).
    pub fn amend(&mut self, changed: &Value) {
        if let (Some(engine), Some(changed)) = (self.engine.as_object_mut(), changed.as_object()) {
            engine.extend(changed.clone());
        }
        self.offer();
    }

    fn offer(&mut self) {
        self.offered = self.engine.clone();
        for name in OURS {
            self.offered[name] = json!(true);
        }
        if self.attached {
            self.offered["supportsRestartRequest"] = json!(false);
        }
    }

    /// The session attaches instead of launching.
    pub fn set_attached(&mut self) {
        self.attached = true;
        self.offer();
    }

    /// What differs from what a client was told; `None` when nothing does.
    pub fn news(&self, told: &Value) -> Option<Value> {
        let empty = Map::new();
        let (now, then) = (self.offered.as_object().unwrap_or(&empty), told.as_object().unwrap_or(&empty));
        let mut news = Map::new();
        for (name, value) in now {
            if then.get(name) != Some(value) {
                news.insert(name.clone(), value.clone());
            }
        }
        for (name, value) in then {
            // Gone: a flag is down, a list is empty.
            let nothing = match value {
                Value::Bool(true) => json!(false),
                Value::Array(list) if !list.is_empty() => json!([]),
                _ => continue,
            };
            if !now.contains_key(name) {
                news.insert(name.clone(), nothing);
            }
        }
        (!news.is_empty()).then_some(Value::Object(news))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_can_less_takes_back_what_was_promised_and_keeps_what_the_hub_does() {
        let mut capabilities = Capabilities::default();
        let told = capabilities.offered().clone();
        assert_eq!(capabilities.news(&told), None);
        capabilities.replace(json!({ "supportsStepBack": true, "supportsFunctionBreakpoints": true }));
        let news = capabilities.news(&told).unwrap();
        assert_eq!(news["supportsStepBack"], true);
        assert_eq!(news["supportsSetVariable"], false);
        assert_eq!(news["exceptionBreakpointFilters"], json!([]));
        assert!(news["supportsFunctionBreakpoints"].is_null() && news["supportsLogPoints"].is_null());
        assert!(!capabilities.engine_has("supportsLogPoints"));
        capabilities.amend(&json!({ "supportsLogPoints": true }));
        assert!(capabilities.engine_has("supportsLogPoints") && capabilities.engine_has("supportsStepBack"));
    }

    #[test]
    fn expected_exception_filters_are_offered_until_the_engine_says_otherwise_and_again_after_it() {
        let mut capabilities = Capabilities::default();
        let filters = json!([{ "filter": "raised", "label": "Raised" }]);
        capabilities.expect_exception_filters(filters.clone());
        let told = capabilities.offered().clone();
        assert_eq!(told["exceptionBreakpointFilters"], filters);
        assert_eq!(told["supportsRestartRequest"], true);
        capabilities.set_attached();
        capabilities.engine_chosen();
        assert_eq!(capabilities.offered()["exceptionBreakpointFilters"][0]["filter"], "all");
        capabilities.replace(json!({ "exceptionBreakpointFilters": [] }));
        assert_eq!(capabilities.news(&told).unwrap()["exceptionBreakpointFilters"], json!([]));
        capabilities.forget_engine();
        assert_eq!(capabilities.news(&told), None);
    }
}
