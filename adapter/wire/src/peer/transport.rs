//! The two tasks of a connection: one writes queued messages, the other reads and delivers those of the other
//! side. Which request a response belongs to is decided by [`PeerState`].

use std::sync::Weak;

use futures::{SinkExt, StreamExt};
use tandem_error::{ErrorCode, Failure};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_util::codec::{FramedRead, FramedWrite};
use tokio_util::sync::CancellationToken;

use super::incoming::Incoming;
use super::state::PeerState;
use crate::codec::DapCodec;
use crate::message::{Message, MessageError, Response};

pub(super) async fn write<W: AsyncWrite + Unpin>(
    writer: W,
    mut to_write: mpsc::UnboundedReceiver<Message>,
    shared: Weak<PeerState>,
    ended: CancellationToken,
) {
    let mut writer = FramedWrite::new(writer, DapCodec::default());
    loop {
        let message = tokio::select! {
            message = to_write.recv() => message,
            () = ended.cancelled() => None,
        };
        let Some(message) = message else { break };
        if writer.send(&message).await.is_err() {
            break;
        }
    }
    ended.cancel();
    if let Some(shared) = shared.upgrade() {
        shared.end();
    }
}

pub(super) async fn read<R: AsyncRead + Unpin>(
    reader: R,
    incoming: mpsc::UnboundedSender<Incoming>,
    shared: Weak<PeerState>,
    ended: CancellationToken,
) {
    let mut reader = FramedRead::new(reader, DapCodec::default());
    loop {
        let item = tokio::select! {
            item = reader.next() => item,
            () = ended.cancelled() => None,
        };
        let message = match item {
            Some(Ok(Ok(message))) => message,
            Some(Ok(Err(error))) => {
                tracing::warn!(%error, "message skipped");
                let Some(shared) = shared.upgrade() else { break };
                receive_invalid(&shared, &incoming, error);
                continue;
            }
            Some(Err(error)) => {
                tracing::warn!(%error, "connection broken");
                if error.breaks_protocol()
                    && let Some(shared) = shared.upgrade()
                {
                    // Only the first reason counts.
                    drop(shared.broken.set(error.to_string()));
                }
                break;
            }
            None => break,
        };
        match message {
            Message::Response(response) => {
                let Some(shared) = shared.upgrade() else { break };
                if response.success && response.command == "initialize" {
                    shared.note_capabilities(&response.body);
                }
                let (number, command) = (response.request_seq, response.command.clone());
                shared.deliver(&incoming, number, command, response.into_result());
            }
            Message::Event(event) => {
                if event.event == "capabilities"
                    && let Some(shared) = shared.upgrade()
                {
                    shared.note_capabilities(&event.body["capabilities"]);
                }
                drop(incoming.send(Incoming::Event(event)));
            }
            Message::Request(request) => drop(incoming.send(Incoming::Request(request))),
        }
    }
    ended.cancel();
    if let Some(shared) = shared.upgrade() {
        shared.end();
    }
}

/// Handles a message that could not be parsed. A request gets an error response; for a response, the
/// waiter gets an error.
fn receive_invalid(shared: &PeerState, incoming: &mpsc::UnboundedSender<Incoming>, error: MessageError) {
    if let Some(number) = error.answers {
        let message = format!("the debug adapter's answer cannot be read: {}", error.reason);
        let failure = Failure::new(ErrorCode::EngineFailed, message).quiet();
        let failure = failure.hint("request less, or something else");
        shared.deliver(incoming, number, error.command.unwrap_or_default(), Err(failure));
    } else if let Some(seq) = error.seq {
        let response =
            Response::to(seq, error.command.unwrap_or_default(), Err(Failure::invalid(error.reason)));
        shared.send(Message::Response(response), None);
    }
}
