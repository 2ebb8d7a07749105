//! The exception filters of each engine, for a session that knows what it will debug before it starts the
//! engine: some editors show those of the answer to `initialize` and no later ones.
//!
//! These are the filters of today's adapters, not those of the one at hand: its `capabilities` event decides.
//! A test
//! compares the two with the real adapters.

use serde_json::Value;

use super::select;
use tandem_engine::configurations;

/// DAP `ExceptionBreakpointsFilter`s of the engine that these launch or attach attributes will choose;
/// `None` for an engine whose filters are unknown before it runs, and for the built-in one, whose
/// filters are always offered.
pub fn exception_filters(attributes: &Value) -> Option<Value> {
    let mut attributes = attributes.clone();
    configurations::translate_configuration(&mut attributes).ok()?;
    let engine = select::engine_for(&attributes).ok()?;
    match engine.as_str().unwrap_or_default() {
        name if name == tandem_coreclr::DESCRIPTION.name => None,
        name => Some(tandem_child::exception_filters(name).unwrap_or_else(|| Value::Array(Vec::new()))),
    }
}
