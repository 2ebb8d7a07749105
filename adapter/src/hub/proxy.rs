//! A client of ours that rides in another session: messages pass both ways as they are.
//!
//! The other session numbers for us and our writer numbers anew, so the client sees one unbroken count. Its `initialize`
//! is repeated there and the answer swallowed; its own requests keep their numbers, and so their answers fit. When the other
//! session's host dies, the client gets the answers it is owed, and `terminated` with the reason.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dap_wire::codec::DapCodec;
use dap_wire::{ErrorCode, Event, Failure, Message, Request, Response};
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::codec::{FramedRead, FramedWrite};
use tokio_util::sync::CancellationToken;

use super::actor::Connection;
use super::queue::Queue;
use super::writer::Outgoing;

/// Requests on their way to the other session.
const QUEUE: usize = 1024;
/// The number of our own `initialize`, which no client uses.
const OURS: i64 = 0;

/// What the client has asked the other session and has no answer to, by number.
#[derive(Clone, Default)]
struct Owed(Arc<Mutex<BTreeMap<i64, String>>>);

impl Owed {
    fn all(&self) -> MutexGuard<'_, BTreeMap<i64, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts passing messages on; `seq` is the number of the client's `attach`. Ends, and drops the client, when the other
/// session does; ends when the client leaves.
pub fn start(
    there: Connection,
    introduction: Value,
    seq: i64,
    client: Queue,
    gone: CancellationToken,
) -> mpsc::Sender<Message> {
    let (to_there, mut queued) = mpsc::channel(QUEUE);
    let (ended, owed) = (gone.clone(), Owed::default());
    let asked = owed.clone();
    asked.all().insert(seq, "attach".into());
    tokio::spawn(async move {
        let mut writer = FramedWrite::new(there.writer, DapCodec::default());
        let hello = [("initialize", introduction, OURS), ("attach", json!({}), seq)];
        for (command, arguments, seq) in hello {
            let request = Message::Request(Request { seq, command: command.into(), arguments });
            // The other task hears of the end, too, and says so.
            if writer.send(&request).await.is_err() {
                return;
            }
        }
        while let Some(message) = queued.recv().await {
            if let Message::Request(request) = &message {
                asked.all().insert(request.seq, request.command.clone());
            }
            if writer.send(&message).await.is_err() {
                return;
            }
        }
        // The client has left.
        ended.cancel();
    });
    tokio::spawn(async move {
        let over = pass_back(there.reader, &owed, &client, &gone).await;
        if !over && !gone.is_cancelled() {
            say_that_it_died(&owed, &client).await;
        }
        gone.cancel();
    });
    to_there
}

/// Passes on what the other session says, until it hangs up or the client leaves. True when it said before that it is over.
async fn pass_back(
    reader: Box<dyn tokio::io::AsyncRead + Send + Unpin>,
    owed: &Owed,
    client: &Queue,
    gone: &CancellationToken,
) -> bool {
    let mut reader = FramedRead::new(reader, DapCodec::default());
    let mut over = false;
    loop {
        let item = tokio::select! {
            item = reader.next() => item,
            () = gone.cancelled() => return over,
        };
        match item {
            Some(Ok(Ok(Message::Response(response)))) if response.request_seq == OURS => {}
            Some(Ok(Ok(message))) => {
                match &message {
                    Message::Response(response) => {
                        owed.all().remove(&response.request_seq);
                        over |= response.command == "disconnect" && response.success;
                    }
                    Message::Event(event) => over |= event.event == "terminated",
                    Message::Request(_) => {}
                }
                if !client.send(Outgoing::Message(message)).await {
                    return over;
                }
            }
            Some(Ok(Err(error))) => tracing::warn!(%error, "a message of the other session was skipped"),
            Some(Err(_)) | None => return over,
        }
    }
}

/// What the client would otherwise never be told.
async fn say_that_it_died(owed: &Owed, client: &Queue) {
    let reason = "the connection to the session ended: its host died, or cut off a client that did not read";
    let owed = std::mem::take(&mut *owed.all());
    for (seq, command) in owed {
        let failure = Failure::new(ErrorCode::EngineFailed, format!("`{command}` has no answer: {reason}"));
        let response = Response::to(seq, command, Err(failure.quiet()));
        client.send(Outgoing::Message(Message::Response(response))).await;
    }
    let text = json!({ "category": "important", "output": format!("{reason}\n") });
    for (event, body) in [("output", text), ("terminated", Value::Null)] {
        client.send(Outgoing::Message(Message::Event(Event::new(event, body)))).await;
    }
}
