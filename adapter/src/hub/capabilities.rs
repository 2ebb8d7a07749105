//! What `initialize` promises. It is asked before any engine is chosen, so it says what the built-in engine does; an
//! engine that does otherwise is told of by a `capabilities` event.

use serde_json::{Value, json};

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
        "supportsExceptionInfoRequest": true,
        "supportsTerminateRequest": true,
        "supportTerminateDebuggee": true,
        "supportsDelayedStackTraceLoading": true,
        "supportsModulesRequest": true,
        "supportsCancelRequest": true,
        "exceptionBreakpointFilters": [
            { "filter": "all", "label": "All exceptions", "default": false,
              "description": "Stop where any exception is thrown." },
            { "filter": "unhandled", "label": "Unhandled exceptions", "default": true,
              "description": "Stop where an exception is thrown that nothing catches." }
        ]
    })
}
