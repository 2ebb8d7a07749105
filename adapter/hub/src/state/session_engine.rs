//! The engine of a session, as the hub holds it. Requests and events are handled elsewhere.

use std::time::Duration;

use tandem_engine::{EngineRequest, StartedEngine};

use super::reverse::ReverseRequests;
use crate::capabilities::Capabilities;
use crate::event::Ticket;
use crate::pending::PendingRequests;

/// A request to the engine that waits until the breakpoints set before it were sent.
#[derive(Debug)]
pub(super) struct HeldRequest {
    pub(super) ticket: Ticket,
    pub(super) request: EngineRequest,
    pub(super) deadline: Duration,
}

/// The engine of the session, and the requests that pass between it and the hub.
#[derive(Debug, Default)]
pub(super) struct SessionEngine {
    started: Option<StartedEngine>,
    count: u64,
    is_initialized: bool,
    pub(super) capabilities: Capabilities,
    /// Requests to the engine.
    pub(super) pending: PendingRequests,
    /// Requests to it that wait for a list of breakpoints.
    pub(super) held: Vec<HeldRequest>,
    /// Requests of the engine.
    pub(super) reverse: ReverseRequests,
}

impl SessionEngine {
    /// The engine, when it has been created.
    pub(super) fn started(&self) -> Option<&StartedEngine> {
        self.started.as_ref()
    }

    /// The number of engines before this one: a reply of an earlier engine has another number.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Whether the engine has sent `initialized`.
    pub(super) fn is_initialized(&self) -> bool {
        self.is_initialized
    }

    /// Records the engine that was created.
    pub(super) fn start(&mut self, engine: StartedEngine) {
        if self.started.is_none() {
            self.capabilities.engine_chosen();
        }
        self.started = Some(engine);
    }

    /// Records the engine's `initialized`; false if it is a second one.
    pub(super) fn initialize(&mut self) -> bool {
        !std::mem::replace(&mut self.is_initialized, true)
    }

    /// Expects `initialized` again, from an engine that relaunches.
    pub(super) fn expect_initialized(&mut self) {
        self.is_initialized = false;
    }

    /// Makes the replies of the engine so far those of an earlier one.
    pub(super) fn count_next(&mut self) {
        self.count += 1;
    }

    /// Forgets an engine whose launch failed.
    pub(super) fn abandon(&mut self) {
        self.started = None;
        self.is_initialized = false;
        self.capabilities.forget_engine();
    }
}
