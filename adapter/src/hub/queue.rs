//! What waits for one client to read it: bounded in messages and in bytes. The actor never waits for room; a client for which too
//! much waits has stopped reading and is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dap_wire::Message;
use serde_json::Value;
use tokio::sync::mpsc;

use super::writer::Outgoing;

/// Messages that may wait for one client.
pub const MESSAGES: usize = 4096;
/// What they may hold together, bytes. One message may be larger, if it waits alone.
pub const BYTES: usize = 64 << 20;

/// What a value takes in memory besides its text, about.
const NODE: usize = 32;

/// The way to one client's writer. Clones are the same.
#[derive(Debug, Clone)]
pub struct Queue {
    sender: mpsc::Sender<Outgoing>,
    bytes: Arc<AtomicUsize>,
}

/// Its other end.
#[derive(Debug)]
pub struct Queued {
    receiver: mpsc::Receiver<Outgoing>,
    bytes: Arc<AtomicUsize>,
}

/// Too much waits already.
#[derive(Debug)]
pub struct Full;

/// A queue and its other end.
pub fn channel() -> (Queue, Queued) {
    let (sender, receiver) = mpsc::channel(MESSAGES);
    let bytes = Arc::<AtomicUsize>::default();
    (Queue { sender, bytes: bytes.clone() }, Queued { receiver, bytes })
}

impl Queue {
    /// Queues it. What is queued for a writer that has ended is forgotten.
    ///
    /// # Errors
    /// When too much waits.
    pub fn try_send(&self, outgoing: Outgoing) -> Result<(), Full> {
        let size = size(&outgoing);
        let waits = self.bytes.fetch_add(size, Ordering::Relaxed);
        if waits > 0 && waits.saturating_add(size) > BYTES {
            self.bytes.fetch_sub(size, Ordering::Relaxed);
            return Err(Full);
        }
        match self.sender.try_send(outgoing) {
            Err(mpsc::error::TrySendError::Full(_)) => Err(Full),
            _ => Ok(()),
        }
    }

    /// Whether so much waits that whoever reads will not keep up with a storm.
    pub fn is_pressed(&self) -> bool {
        self.sender.capacity() < MESSAGES / 2
    }

    /// Queues it when there is room for one more message; `false` when the writer has ended.
    pub async fn send(&self, outgoing: Outgoing) -> bool {
        self.bytes.fetch_add(size(&outgoing), Ordering::Relaxed);
        self.sender.send(outgoing).await.is_ok()
    }
}

impl Queued {
    /// The next one; `None` when nobody can queue more.
    pub async fn recv(&mut self) -> Option<Outgoing> {
        let outgoing = self.receiver.recv().await?;
        self.bytes.fetch_sub(size(&outgoing), Ordering::Relaxed);
        Some(outgoing)
    }

    /// The next one, if it is there already.
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
        _ => NODE,
    }
}

fn value_size(value: &Value) -> usize {
    NODE + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(value_size).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + value_size(value)).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use dap_wire::Event;
    use serde_json::json;

    use super::*;

    fn event(bytes: usize) -> Outgoing {
        Outgoing::Message(Message::Event(Event::new("output", json!({ "output": "x".repeat(bytes) }))))
    }

    #[tokio::test]
    async fn bytes_are_bounded_and_one_message_may_be_larger() {
        let (queue, mut queued) = channel();
        queue.try_send(event(BYTES + 1)).unwrap();
        queue.try_send(event(1)).unwrap_err();
        queued.recv().await.unwrap();
        for _ in 0..3 {
            queue.try_send(event(BYTES / 4)).unwrap();
        }
        queue.try_send(event(BYTES / 4)).unwrap_err();
        queued.recv().await.unwrap();
        queue.try_send(event(BYTES / 4)).unwrap();
        while queued.try_recv().is_some() {}
        assert_eq!(queue.bytes.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn messages_are_bounded() {
        let (queue, _queued) = channel();
        for _ in 0..MESSAGES {
            queue.try_send(event(0)).unwrap();
        }
        queue.try_send(event(0)).unwrap_err();
    }
}
