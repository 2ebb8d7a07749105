//! The engine of a session, as the hub holds it. Requests and events are handled elsewhere.

use tandem_engine::StartedEngine;

use super::reverse::ReverseRequests;
use crate::capabilities::Capabilities;
use crate::pending::PendingRequests;

/// The engine of the session, and the requests that pass between it and the hub.
#[derive(Debug, Default)]
pub(super) struct SessionEngine {
    /// The engine, when it has been created.
    pub(super) started: Option<StartedEngine>,
    /// Counts engines, so that a reply of an earlier engine is recognised.
    pub(super) count: u64,
    /// The engine sent `initialized`.
    pub(super) is_initialized: bool,
    pub(super) capabilities: Capabilities,
    /// Requests to the engine.
    pub(super) pending: PendingRequests,
    /// Requests of the engine.
    pub(super) reverse: ReverseRequests,
}
