//! The connections of the clients: each one's tasks and queue, and the way to another session of those that
//! are connected to it through this process.
//!
//! Not here: which clients there are in the session, and what they may do ([`tandem_hub::clients`]).

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;
use tandem_wire::Message;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::readers;
use crate::connection::Connection;
use crate::inbox::Inbox;
use crate::proxy;
use crate::queue::{self, ClientQueue, Outgoing, QueueFull};
use crate::reverse_seqs::ReverseSeqs;
use crate::writer;
use tandem_hub::event::ClientId;

/// Maximum time in which a client may read its last messages.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The tasks of one client.
struct ClientTasks {
    queue: ClientQueue,
    reader: CancellationToken,
    writer: AbortHandle,
}

impl ClientTasks {
    /// Reads no more from the client; closes its connection when it has read what is
    /// queued, or after a while.
    fn close(self) {
        self.reader.cancel();
        let writer = self.writer;
        tokio::spawn(async move {
            tokio::time::sleep(CLOSE_TIMEOUT).await;
            writer.abort();
        });
    }
}

/// The connections of all clients.
#[derive(Default)]
pub(super) struct ClientConnections {
    tasks: HashMap<ClientId, ClientTasks>,
    /// Clients that are connected to another session through this process, and the way there.
    proxied: HashMap<ClientId, mpsc::Sender<Message>>,
    /// The number of the last client that connected.
    last: u64,
    writers: JoinSet<()>,
    /// Clients that were disconnected because their queue was full, and of which the state does not know yet.
    stalled: Vec<ClientId>,
}

impl ClientConnections {
    /// Starts the tasks of a new client.
    pub(super) fn accept(&mut self, connection: Connection, inbox: &Inbox) -> ClientId {
        self.last += 1;
        let id = ClientId(self.last);
        let (queue, receiver) = queue::channel();
        let reader = CancellationToken::new();
        let seqs = ReverseSeqs::default();
        let writer = self.writers.spawn(writer::run(connection.writer, receiver, seqs.clone()));
        tokio::spawn(readers::read(id, connection.reader, inbox.clone(), reader.clone(), seqs));
        self.tasks.insert(id, ClientTasks { queue, reader, writer });
        id
    }

    pub(super) fn is_connected(&self, client: ClientId) -> bool {
        self.tasks.contains_key(&client)
    }

    /// Whether the queue of some client is half full.
    pub(super) fn is_congested(&self) -> bool {
        self.tasks.values().any(|client| client.queue.is_congested())
    }

    /// Queues what a client is sent. A client whose queue is full is disconnected.
    pub(super) fn queue(&mut self, client: ClientId, outgoing: Outgoing) {
        let Some(tasks) = self.tasks.get(&client) else { return };
        if let Err(QueueFull) = tasks.queue.try_send(outgoing) {
            tracing::warn!(%client, "disconnected: its queue is full and it does not read");
            if let Some(tasks) = self.tasks.remove(&client) {
                tasks.reader.cancel();
                // The client must not read the unread messages later either: the connection closes now.
                tasks.writer.abort();
            }
            self.stalled.push(client);
        }
    }

    /// A client that was disconnected because its queue was full, each once.
    pub(super) fn take_stalled(&mut self) -> Option<ClientId> {
        self.stalled.pop()
    }

    /// Connects a client to another session. `seq` is the number of the client's `attach`.
    pub(super) fn connect_to_session(
        &mut self,
        client: ClientId,
        there: Connection,
        initialize: Value,
        seq: i64,
    ) {
        let Some(tasks) = self.tasks.get(&client) else { return };
        let to_there = proxy::start(there, initialize, seq, tasks.queue.clone(), tasks.reader.clone());
        self.proxied.insert(client, to_there);
    }

    /// Whether a client's messages belong to another session.
    pub(super) fn is_proxied(&self, client: ClientId) -> bool {
        self.proxied.contains_key(&client)
    }

    /// Forwards a message to another session; where that session takes no more, the client
    /// loses its connection.
    pub(super) fn forward(&mut self, client: ClientId, message: Message) {
        let forwarded = self.proxied.get(&client).is_some_and(|there| there.try_send(message).is_ok());
        if !forwarded && let Some(client) = self.tasks.get(&client) {
            client.reader.cancel();
        }
    }

    /// Ends the connection to another session, if there is any.
    pub(super) fn leave_session(&mut self, client: ClientId) {
        self.proxied.remove(&client);
    }

    /// Closes a client's connection.
    pub(super) fn close(&mut self, client: ClientId) {
        if let Some(tasks) = self.tasks.remove(&client) {
            tasks.close();
        }
    }

    /// Closes all connections, and waits a while until the clients have read their last messages.
    pub(super) async fn finish(&mut self) {
        self.tasks.clear();
        let closing = async { while self.writers.join_next().await.is_some() {} };
        if tokio::time::timeout(CLOSE_TIMEOUT, closing).await.is_err() {
            tracing::debug!("a client did not read its last messages");
        }
    }
}
