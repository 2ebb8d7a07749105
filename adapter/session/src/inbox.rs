//! The actor's inbox: a queue of events and connections, in the order in which they came.
//!
//! Not here: messages to a client ([`super::queue`]).

use tokio::sync::mpsc;

use super::connection::Connection;
use tandem_engine::EngineEvent;
use tandem_hub::event::{ClientOrigin, HubEvent};

/// Maximum number of items that wait for the actor; when it is full, clients' readers wait (each for itself).
pub(super) const MAX_WAITING: usize = 1024;

/// The sending end of the inbox. Clones are the same.
#[derive(Debug, Clone)]
pub struct Inbox(mpsc::Sender<InboxItem>);

/// A message that wakes the actor.
pub(super) enum InboxItem {
    Event(HubEvent),
    /// An event of the engine with this number; one that was replaced is ignored.
    EngineEvent {
        engine: u64,
        event: EngineEvent,
    },
    Connected {
        origin: ClientOrigin,
        client: Connection,
    },
}

impl std::fmt::Debug for InboxItem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("InboxItem")
    }
}

impl Inbox {
    /// Both ends of a new inbox.
    pub(super) fn new() -> (Self, mpsc::Receiver<InboxItem>) {
        let (sender, items) = mpsc::channel(MAX_WAITING);
        (Self(sender), items)
    }

    pub async fn connected(&self, origin: ClientOrigin, client: Connection) {
        self.send(InboxItem::Connected { origin, client }).await;
    }

    /// Requests the end of the host.
    pub async fn shutdown(&self) {
        self.send(InboxItem::Event(HubEvent::ShutdownRequested)).await;
    }

    pub(super) async fn event(&self, event: HubEvent) {
        self.send(InboxItem::Event(event)).await;
    }

    pub(super) async fn engine_event(&self, engine: u64, event: EngineEvent) {
        self.send(InboxItem::EngineEvent { engine, event }).await;
    }

    async fn send(&self, item: InboxItem) {
        // A hub that has ended answers no client: dropping the connection shows it.
        drop(self.0.send(item).await);
    }
}
