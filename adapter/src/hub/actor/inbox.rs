//! The way into the actor: what wakes it waits here, in the order in which it came.

use tokio::sync::mpsc;

use super::Connection;
use crate::engine::EngineEvent;
use crate::hub::event::{Event, Origin};

/// Events waiting for the actor; when it is full, clients' readers wait (each for itself).
pub(super) const ROOM: usize = 1024;

/// The way into the actor.
#[derive(Debug, Clone)]
pub struct Inbox(mpsc::Sender<Wake>);

/// What wakes the actor.
pub(super) enum Wake {
    /// Something happened.
    Event(Event),
    /// What the engine of this number says; one that was replaced is not listened to any more.
    EngineSaid { engine: u64, event: EngineEvent },
    /// A new client.
    Connected { origin: Origin, client: Connection },
}

impl std::fmt::Debug for Wake {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Wake")
    }
}

impl Inbox {
    /// An inbox, and its other end.
    pub(super) fn new() -> (Self, mpsc::Receiver<Wake>) {
        let (sender, wakes) = mpsc::channel(ROOM);
        (Self(sender), wakes)
    }

    /// A new client.
    pub async fn connected(&self, origin: Origin, client: Connection) {
        // A hub that has ended answers nobody: dropping the connection says so.
        drop(self.0.send(Wake::Connected { origin, client }).await);
    }

    /// The host was told to end.
    pub async fn shutdown(&self) {
        drop(self.0.send(Wake::Event(Event::ShutdownAsked)).await);
    }

    pub(super) async fn event(&self, event: Event) {
        drop(self.0.send(Wake::Event(event)).await);
    }

    pub(super) async fn said(&self, engine: u64, event: EngineEvent) {
        drop(self.0.send(Wake::EngineSaid { engine, event }).await);
    }
}
