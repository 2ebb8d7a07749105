//! The queue of what one client has yet to read: bounded in messages and in bytes. The actor never waits for
//! room; a client whose queue is full does not read, and is disconnected.
//!
//! Not here: the socket ([`super::writer`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tandem_wire::Message;
use tokio::sync::mpsc;

use tandem_process::{OutputCursor, StreamPositions};

/// Maximum number of messages that wait for one client.
pub const MAX_MESSAGES: usize = 4096;
/// Maximum size of the queue, bytes. A message that is alone in the queue may be larger.
pub const MAX_BYTES: usize = 64 << 20;

/// Memory of a value besides its text, estimated, in bytes.
const NODE_BYTES: usize = 32;

/// An item of a client's queue.
#[derive(Debug)]
pub enum Outgoing {
    /// A message, not yet numbered.
    Message(Message),
    /// Output is sent from now on.
    StartOutput(OutputCursor),
    /// No more output is sent.
    StopOutput,
    /// All output up to here is sent before the next items.
    FlushOutput(StreamPositions),
}

/// The sending end: to one client's writer. Clones are the same.
#[derive(Debug, Clone)]
pub struct ClientQueue {
    sender: mpsc::Sender<Outgoing>,
    bytes: Arc<AtomicUsize>,
}

/// The receiving end of a client's queue.
#[derive(Debug)]
pub struct ClientQueueReceiver {
    receiver: mpsc::Receiver<Outgoing>,
    bytes: Arc<AtomicUsize>,
}

/// A client has too many unread messages.
#[derive(Debug)]
pub struct QueueFull;

/// Both ends of a new queue.
pub fn channel() -> (ClientQueue, ClientQueueReceiver) {
    let (sender, receiver) = mpsc::channel(MAX_MESSAGES);
    let bytes = Arc::<AtomicUsize>::default();
    (ClientQueue { sender, bytes: bytes.clone() }, ClientQueueReceiver { receiver, bytes })
}

impl ClientQueue {
    /// Queues an item. Items for a writer that has ended are dropped.
    ///
    /// # Errors
    /// When the queue is full.
    pub fn try_send(&self, outgoing: Outgoing) -> Result<(), QueueFull> {
        let size = size(&outgoing);
        let waits = self.bytes.fetch_add(size, Ordering::Relaxed);
        if waits > 0 && waits.saturating_add(size) > MAX_BYTES {
            self.bytes.fetch_sub(size, Ordering::Relaxed);
            return Err(QueueFull);
        }
        match self.sender.try_send(outgoing) {
            Err(mpsc::error::TrySendError::Full(_)) => Err(QueueFull),
            _ => Ok(()),
        }
    }

    /// Whether the queue is half full: its client will not keep up with a burst of events.
    pub fn is_congested(&self) -> bool {
        self.sender.capacity() < MAX_MESSAGES / 2
    }

    /// Waits for room, then queues the message; `false` when the writer has ended.
    pub async fn send(&self, outgoing: Outgoing) -> bool {
        self.bytes.fetch_add(size(&outgoing), Ordering::Relaxed);
        self.sender.send(outgoing).await.is_ok()
    }
}

impl ClientQueueReceiver {
    /// The next item; `None` when no sender is left.
    pub async fn recv(&mut self) -> Option<Outgoing> {
        let outgoing = self.receiver.recv().await?;
        self.bytes.fetch_sub(size(&outgoing), Ordering::Relaxed);
        Some(outgoing)
    }

    /// The next item, if there is one already.
    pub fn try_recv(&mut self) -> Option<Outgoing> {
        let outgoing = self.receiver.try_recv().ok()?;
        self.bytes.fetch_sub(size(&outgoing), Ordering::Relaxed);
        Some(outgoing)
    }
}

fn size(outgoing: &Outgoing) -> usize {
    match outgoing {
        Outgoing::Message(Message::Request(it)) => value_size(&it.arguments),
        Outgoing::Message(Message::Response(it)) => value_size(&it.body),
        Outgoing::Message(Message::Event(it)) => value_size(&it.body),
        _ => NODE_BYTES,
    }
}

fn value_size(value: &Value) -> usize {
    NODE_BYTES
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(value_size).sum(),
            Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + value_size(value)).sum(),
            _ => 0,
        }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tandem_wire::Event;

    use super::*;

    fn event(bytes: usize) -> Outgoing {
        Outgoing::Message(Message::Event(Event::new("output", json!({ "output": "x".repeat(bytes) }))))
    }

    #[tokio::test]
    async fn bytes_are_bounded_and_one_message_may_be_larger() {
        let (queue, mut receiver) = channel();
        queue.try_send(event(MAX_BYTES + 1)).unwrap();
        queue.try_send(event(1)).unwrap_err();
        receiver.recv().await.unwrap();
        for _ in 0..3 {
            queue.try_send(event(MAX_BYTES / 4)).unwrap();
        }
        queue.try_send(event(MAX_BYTES / 4)).unwrap_err();
        receiver.recv().await.unwrap();
        queue.try_send(event(MAX_BYTES / 4)).unwrap();
        while receiver.try_recv().is_some() {}
        assert_eq!(queue.bytes.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn messages_are_bounded() {
        let (queue, _receiver) = channel();
        for _ in 0..MAX_MESSAGES {
            queue.try_send(event(0)).unwrap();
        }
        queue.try_send(event(0)).unwrap_err();
    }
}
