//! Which engine debugs what: the one table.

use std::sync::Arc;

use dap_wire::{ErrorCode, Failure};
use serde_json::Value;
use tokio::sync::mpsc;

use super::coreclr::CoreClr;
use super::{Engine, EngineEvent};
use crate::hub::event::StartedEngine;
use crate::io::Broker;

/// Makes the engine the attributes ask for. It starts nothing yet; the `launch` or `attach` request does.
///
/// # Errors
/// `INVALID_PARAMETER` for an unknown `engine`, `UNSUPPORTED` for one that is known but not built in.
pub fn start(
    arguments: &Value,
    broker: Broker,
    events: mpsc::UnboundedSender<EngineEvent>,
) -> Result<(StartedEngine, Arc<dyn Engine>), Failure> {
    let name = match &arguments["engine"] {
        Value::Null => "auto",
        Value::String(name) => name.as_str(),
        Value::Object(_) => "{command}",
        other => {
            return Err(Failure::invalid(format!(
                "`engine` must be a name or {{command, args}}, not {other}"
            )));
        }
    };
    match name {
        "auto" | "coreclr" => {
            let started = StartedEngine { name: "coreclr".into(), several_per_line: true };
            Ok((started, Arc::new(CoreClr::start(broker, events)?)))
        }
        "debugpy" | "lldb" | "gdb" | "delve" | "js" | "rdbg" | "bash" | "netcoredbg" | "{command}" => {
            Err(Failure::new(ErrorCode::Unsupported, format!("the engine `{name}` is not built in yet"))
                .hint("this version debugs .NET programs: use `coreclr`, or leave `engine` out"))
        }
        other => Err(Failure::invalid(format!("there is no engine `{other}`"))
            .hint("`auto` picks by what the program is")),
    }
}
