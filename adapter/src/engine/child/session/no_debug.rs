//! `noDebug`: the program runs, and what would stop it does not reach the adapter: most adapters look past the attribute and
//! would stop all the same. Not how it is run, which is the adapter's business as ever.

use serde_json::{Value, json};

use super::Session;

pub(super) const WHY: &str = "the program runs without a debugger (`noDebug`)";

impl Session {
    /// Whether the launch has `noDebug`.
    pub(super) fn has_no_debugger(&self) -> bool {
        self.live().as_ref().is_some_and(|live| live.target.no_debug)
    }
}

/// The answer to a request that would make a program stop, with the reason why it does not; `None` to any other.
pub(super) fn answer(command: &str, arguments: &Value, why: &str) -> Option<Value> {
    match command {
        "setBreakpoints" | "setFunctionBreakpoints" | "setInstructionBreakpoints" | "setDataBreakpoints" => {
            let count = arguments["breakpoints"].as_array().map_or(0, Vec::len);
            let unbound = json!({ "verified": false, "message": why, "reason": "failed" });
            Some(json!({ "breakpoints": vec![unbound; count] }))
        }
        "setExceptionBreakpoints" => Some(json!({})),
        _ => None,
    }
}
