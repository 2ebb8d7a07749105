//! `noDebug`: the program runs, and requests that would stop it do not reach the adapter: most adapters
//! ignore the attribute and would stop. How the program is started remains the adapter's business.

use serde_json::Value;
use tandem_wire::{command, types};

use super::super::translate;
use super::AdapterSession;

pub(super) const WHY: &str = "the program runs without a debugger (`noDebug`)";

impl AdapterSession {
    /// Whether the launch has `noDebug`.
    pub(super) fn has_no_debugger(&self) -> bool {
        self.live().as_ref().is_some_and(|live| live.target.no_debug)
    }
}

/// The answer to a request that would make a program stop, with the reason why it does
/// not; `None` to any other.
pub(super) fn answer(command: &str, arguments: &Value, why: &str) -> Option<Value> {
    match command {
        "setExceptionBreakpoints" => Some(types::empty()),
        command if command::sets_breakpoints(command) => {
            Some(translate::refuse_all(types::breakpoint_count(arguments), why))
        }
        _ => None,
    }
}
