//! A client of ours that rides in another session: messages pass both ways as they are.
//!
//! The other session numbers for us and our writer numbers anew, so the client sees one unbroken count. Its `initialize`
//! is repeated there and the answer swallowed; its own requests keep their numbers, and so their answers fit.

use dap_wire::codec::DapCodec;
use dap_wire::{Message, Request};
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::codec::{FramedRead, FramedWrite};
use tokio_util::sync::CancellationToken;

use super::actor::Connection;
use super::writer::Outgoing;

/// Requests on their way to the other session.
const QUEUE: usize = 1024;
/// The number of our own `initialize`, which no client uses.
const OURS: i64 = 0;

/// Starts passing messages on; `seq` is the number of the client's `attach`. Ends, and drops the client, when the other
/// session does; ends when the client leaves.
pub fn start(
    there: Connection,
    introduction: Value,
    seq: i64,
    client: mpsc::Sender<Outgoing>,
    gone: CancellationToken,
) -> mpsc::Sender<Message> {
    let (to_there, mut queued) = mpsc::channel(QUEUE);
    let ended = gone.clone();
    tokio::spawn(async move {
        let mut writer = FramedWrite::new(there.writer, DapCodec::default());
        let hello = [("initialize", introduction, OURS), ("attach", json!({}), seq)];
        for (command, arguments, seq) in hello {
            let request = Message::Request(Request { seq, command: command.into(), arguments });
            if writer.send(&request).await.is_err() {
                return ended.cancel();
            }
        }
        while let Some(message) = queued.recv().await {
            if writer.send(&message).await.is_err() {
                return ended.cancel();
            }
        }
    });
    tokio::spawn(async move {
        let mut reader = FramedRead::new(there.reader, DapCodec::default());
        while let Some(Ok(item)) = reader.next().await {
            match item {
                Ok(Message::Response(response)) if response.request_seq == OURS => {}
                Ok(message) => {
                    if client.send(Outgoing::Message(message)).await.is_err() {
                        return;
                    }
                }
                Err(error) => tracing::warn!(%error, "a message of the other session was skipped"),
            }
        }
        gone.cancel();
    });
    to_there
}
