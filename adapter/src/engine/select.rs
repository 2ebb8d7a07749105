//! Which engine debugs what: the one table.

use std::sync::Arc;

use dap_wire::Failure;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::child::ChildEngine;
use super::coreclr::CoreClr;
use super::{Engine, EngineEvent, kind};
use crate::hub::event::StartedEngine;
use crate::io::Broker;

/// Makes the engine the attributes ask for. It starts nothing yet; the `launch` or `attach` request does.
///
/// # Errors
/// `INVALID_PARAMETER` for an unknown `engine`.
pub fn start(
    arguments: &Value,
    broker: Broker,
    events: mpsc::UnboundedSender<EngineEvent>,
) -> Result<(StartedEngine, Arc<dyn Engine>), Failure> {
    let engine = engine_for(arguments)?;
    if engine == "coreclr" {
        let started = StartedEngine { name: "coreclr".into(), several_per_line: true };
        return Ok((started, Arc::new(CoreClr::start(broker, events)?)));
    }
    match ChildEngine::start(&engine, broker, events)? {
        Some((name, child)) => Ok((StartedEngine { name, several_per_line: false }, Arc::new(child))),
        None => Err(Failure::invalid(format!("there is no engine {engine}"))
            .hint("`auto` picks by what the program is")),
    }
}

/// The engine that launch or attach attributes choose: its name, or how to start another adapter. It need not exist.
///
/// # Errors
/// `INVALID_PARAMETER` for an `engine` that is neither.
pub fn engine_for(arguments: &Value) -> Result<Value, Failure> {
    let engine = match &arguments["engine"] {
        Value::Null => json!("auto"),
        named @ (Value::String(_) | Value::Object(_)) => named.clone(),
        other => {
            return Err(Failure::invalid(format!(
                "`engine` must be a name or {{command, args}}, not {other}"
            )));
        }
    };
    let pid = &arguments["processId"];
    Ok(match (engine == "auto", pid.as_u64().or_else(|| pid.as_str()?.parse().ok())) {
        (false, _) => engine,
        (true, Some(pid)) => json!(kind::engine_for_process(pid)),
        // Python's own word for it.
        (true, None) if !arguments["connect"].is_null() => json!("debugpy"),
        (true, None) => json!(kind::engine_for_launch(arguments)),
    })
}
