//! Which engine debugs what: the one table.

use std::sync::Arc;

use dap_wire::{ErrorCode, Failure};
use serde_json::Value;
use tokio::sync::mpsc;

use super::{Engine, EngineEvent};
use crate::hub::event::StartedEngine;
use crate::io::Broker;

/// Makes the engine the attributes ask for. It starts nothing yet; the `launch` or `attach` request does.
///
/// # Errors
/// `INVALID_PARAMETER` for an unknown `engine`, `UNSUPPORTED` for one that is not built in yet.
pub fn start(
    arguments: &Value,
    attach: bool,
    broker: Broker,
    events: mpsc::UnboundedSender<EngineEvent>,
) -> Result<(StartedEngine, Arc<dyn Engine>), Failure> {
    todo!()
}
