//! The exception filters of each engine, for a session that knows what it will debug before it starts the engine: some
//! editors show those of the answer to `initialize` and no later ones.
//!
//! What the adapters of today say, not what the one at hand will: it has the last word, by the `capabilities` event. A test
//! compares the two with the real adapters.

use serde_json::{Value, json};

use super::select;

/// DAP `ExceptionBreakpointsFilter`s of the engine that these launch or attach attributes will choose; `None` for an engine
/// whose filters nobody knows before it runs, and for the built-in one, whose filters are offered anyhow.
pub fn exception_filters(attributes: &Value) -> Option<Value> {
    let engine = select::engine_for(attributes).ok()?;
    Some(match engine.as_str().unwrap_or_default() {
        "coreclr" => return None,
        "debugpy" => json!([
            { "filter": "raised", "label": "Raised Exceptions", "default": false,
              "description": "Break whenever any exception is raised." },
            { "filter": "uncaught", "label": "Uncaught Exceptions", "default": true,
              "description": "Break when the process is exiting due to unhandled exception." },
            { "filter": "userUnhandled", "label": "User Uncaught Exceptions", "default": false,
              "description": "Break when exception escapes into library code." }
        ]),
        "lldb" => json!([
            { "filter": "cpp_catch", "label": "C++ Catch", "default": false },
            { "filter": "cpp_throw", "label": "C++ Throw", "default": false },
            { "filter": "objc_catch", "label": "Objective-C Catch", "default": false },
            { "filter": "objc_throw", "label": "Objective-C Throw", "default": false }
        ]),
        "gdb" => json!([
            { "filter": "assert", "label": "Ada assertions", "supportsCondition": true },
            { "filter": "exception", "label": "Ada exceptions", "supportsCondition": true },
            { "filter": "unhandled", "label": "Ada exceptions without a handler", "supportsCondition": true },
            { "filter": "throw", "label": "C++ exceptions, when thrown", "supportsCondition": true },
            { "filter": "rethrow", "label": "C++ exceptions, when re-thrown", "supportsCondition": true },
            { "filter": "catch", "label": "C++ exceptions, when caught", "supportsCondition": true }
        ]),
        // Older ones say nothing of their filters, and stop at both.
        "delve" => json!([
            { "filter": "unrecovered-panic", "label": "Unrecovered Panics", "default": true },
            { "filter": "runtime-fatal-throw", "label": "Fatal Throws", "default": true }
        ]),
        "js" => json!([
            { "filter": "all", "label": "Caught Exceptions", "default": false, "supportsCondition": true,
              "description": "Breaks on all throw errors, even if they're caught later.",
              "conditionDescription": "error.name == \"MyError\"" },
            { "filter": "uncaught", "label": "Uncaught Exceptions", "default": false, "supportsCondition": true,
              "description": "Breaks only on errors or promise rejections that are not handled.",
              "conditionDescription": "error.name == \"MyError\"" }
        ]),
        // As it is from 1.5 on; what an older one has besides comes with its own word.
        "rdbg" => json!([
            { "filter": "any", "label": "rescue any exception", "supportsCondition": true },
            { "filter": "RuntimeError", "label": "rescue RuntimeError", "supportsCondition": true }
        ]),
        _ => json!([]),
    })
}
