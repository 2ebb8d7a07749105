//! The proxy of a client that is connected to another session through this process: messages pass both ways
//! as they are.
//!
//! The other session numbers messages for the proxy, and the client's writer renumbers them, so the client
//! sees consecutive numbers. Its `initialize` is repeated there and the response dropped; its own requests
//! keep their numbers, and so their responses fit. When the other session's host dies, the client gets a
//! response to each request, and `terminated` with the reason.
//!
//! Not here: the connection to the other session ([`super::host::Host::connect`]).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::{SinkExt, StreamExt};
use serde_json::Value;
use tandem_wire::codec::DapCodec;
use tandem_wire::types::{self, OutputEventBody};
use tandem_wire::{ErrorCode, Event, Failure, Message, Request, Response};
use tokio::sync::mpsc;
use tokio_util::codec::{FramedRead, FramedWrite};
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::queue::{ClientQueue, Outgoing};

/// Maximum number of messages on their way to the other session.
const MAX_WAITING: usize = 1024;
/// The number of the proxy's own `initialize`, which no client uses.
const OWN_SEQ: i64 = 0;

/// The client's requests to the other session that have no response, by number.
#[derive(Clone, Default)]
struct OpenRequests(Arc<Mutex<BTreeMap<i64, String>>>);

impl OpenRequests {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<i64, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts forwarding; `seq` is the number of the client's `attach`. Ends, and disconnects the client, when
/// the other session does; ends when the client leaves.
pub fn start(
    there: Connection,
    initialize: Value,
    seq: i64,
    client: ClientQueue,
    gone: CancellationToken,
) -> mpsc::Sender<Message> {
    let (to_there, mut queued) = mpsc::channel(MAX_WAITING);
    let (left, open_requests) = (gone.clone(), OpenRequests::default());
    let sent = open_requests.clone();
    sent.lock().insert(seq, "attach".into());
    tokio::spawn(async move {
        let mut writer = FramedWrite::new(there.writer, DapCodec::default());
        let handshake = [("initialize", initialize, OWN_SEQ), ("attach", types::empty(), seq)];
        for (command, arguments, seq) in handshake {
            let request = Message::Request(Request { seq, command: command.into(), arguments });
            // The other task sees the end, too, and reports it.
            if writer.send(&request).await.is_err() {
                return;
            }
        }
        while let Some(message) = queued.recv().await {
            if let Message::Request(request) = &message {
                sent.lock().insert(request.seq, request.command.clone());
            }
            if writer.send(&message).await.is_err() {
                return;
            }
        }
        // The client has left.
        left.cancel();
    });
    tokio::spawn(async move {
        let over = forward_back(there.reader, &open_requests, &client, &gone).await;
        if !over && !gone.is_cancelled() {
            report_death(&open_requests, &client).await;
        }
        gone.cancel();
    });
    to_there
}

/// Forwards the messages of the other session, until it hangs up or the client leaves. Returns whether it
/// reported before that it is over.
async fn forward_back(
    reader: Box<dyn tokio::io::AsyncRead + Send + Unpin>,
    open_requests: &OpenRequests,
    client: &ClientQueue,
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
            Some(Ok(Ok(Message::Response(response)))) if response.request_seq == OWN_SEQ => {}
            Some(Ok(Ok(message))) => {
                match &message {
                    Message::Response(response) => {
                        open_requests.lock().remove(&response.request_seq);
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

/// Sends the client what the other session's host would have sent.
async fn report_death(open_requests: &OpenRequests, client: &ClientQueue) {
    let reason = "the connection to the session ended: its host died, or cut off a client that did not read";
    let open_requests = std::mem::take(&mut *open_requests.lock());
    for (seq, command) in open_requests {
        let failure =
            Failure::new(ErrorCode::EngineFailed, format!("`{command}` was not answered: {reason}"));
        let response = Response::to(seq, command, Err(failure.quiet()));
        client.send(Outgoing::Message(Message::Response(response))).await;
    }
    let output = OutputEventBody {
        category: Some("important".into()),
        output: format!("{reason}\n"),
        ..OutputEventBody::default()
    };
    for (event, body) in [("output", types::body(&output)), ("terminated", Value::Null)] {
        client.send(Outgoing::Message(Message::Event(Event::new(event, body)))).await;
    }
}
