//! The engine of the session, which a restart replaces.
//!
//! Not here: requests to it ([`super::requests`]) and its events ([`super::readers`]).

use std::sync::Arc;

use tandem_wire::Failure;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use tandem_engine::{Engine, EngineRequest, ReplyHandle};
use tandem_hub::event::HubEvent;

/// The place of the engine; empty before the launch.
#[derive(Default)]
pub(super) struct EngineSlot {
    engine: Option<Arc<dyn Engine>>,
    /// Counts the engines: a restart makes another.
    number: u64,
    /// Receives the engine's reply to `disconnect`, which follows all events that the engine sent before.
    disconnects: Option<mpsc::UnboundedSender<HubEvent>>,
}

impl EngineSlot {
    /// Puts a new engine into the place, or the reason why it could not be created. Returns its number, and
    /// the receiver of its reply to `disconnect`.
    pub(super) fn replace(
        &mut self,
        engine: Result<Arc<dyn Engine>, Failure>,
    ) -> (u64, mpsc::UnboundedReceiver<HubEvent>) {
        self.number += 1;
        self.engine = Some(engine.unwrap_or_else(|failure| Arc::new(FailedEngine(failure))));
        let (disconnects, disconnect) = mpsc::unbounded_channel();
        self.disconnects = Some(disconnects);
        (self.number, disconnect)
    }

    pub(super) fn get(&self) -> Option<&Arc<dyn Engine>> {
        self.engine.as_ref()
    }

    /// The number of the engine, which its events have.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether an event with this number is the engine's, not that of one that was replaced.
    pub(super) fn is_current(&self, number: u64) -> bool {
        self.number == number
    }

    /// Passes the engine's reply to `disconnect` on after the events that the engine sent before.
    pub(super) fn reply_after_events(&self, reply: HubEvent) {
        // A pump that has ended has passed all events on, and the session ends.
        if let Some(disconnects) = &self.disconnects {
            drop(disconnects.send(reply));
        }
    }
}

/// Replaces an engine that could not be created: replies to every request with the reason.
struct FailedEngine(Failure);

impl Engine for FailedEngine {
    fn request(&self, _: EngineRequest, _: CancellationToken, reply: ReplyHandle) {
        reply.send(Err(self.0.clone()));
    }
}
