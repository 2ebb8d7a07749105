//! The client's end of a connection: sends requests, and pairs each response with its waiter.
//!
//! A receiver that follows the state of the session takes all messages in the order of arrival
//! ([`Peer::start_in_order`]): a response wakes its waiter only after the receiver has applied it. Other
//! receivers may send requests while they handle a message ([`Peer::start`]).
//!
//! Used by the bridge, the tests and the child adapters. Not used by the hub, which serves many clients
//! itself.

mod incoming;
mod state;
#[cfg(test)]
mod tests;
mod transport;

use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::Value;
use tandem_error::{ErrorCode, Failure};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

pub use incoming::{ArrivedResponse, Incoming};
use state::{Delivery, OutstandingRequest, PeerState};

use crate::message::{Message, Request, Response};

/// All messages of the other side, in the order of arrival. Requests without a response fail when this is
/// dropped, so the receiver can apply the end of the connection before anyone acts on it.
#[derive(Debug)]
pub struct IncomingStream {
    messages: mpsc::UnboundedReceiver<Incoming>,
    shared: Weak<PeerState>,
}

impl IncomingStream {
    /// The next message; `None` after the connection has ended.
    pub async fn next(&mut self) -> Option<Incoming> {
        self.messages.recv().await
    }
}

impl Drop for IncomingStream {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.ended.cancel();
            shared.fail_waiters();
        }
    }
}

/// A handle to one connection, which clones share. The connection closes when the last clone is dropped or
/// [`Peer::close`] is called.
#[derive(Debug, Clone)]
pub struct Peer(Arc<PeerState>);

impl Peer {
    /// Takes over both halves of a connection. Must be called inside a tokio runtime. Waiters get their
    /// responses as soon as they arrive, so a response may overtake the events before it, and the receiver
    /// gets only events and reverse requests. It may send requests while it handles them.
    ///
    /// The receiver ends when the connection ends. It is unbounded, so the caller must keep reading it.
    pub fn start<R, W>(reader: R, writer: W) -> (Self, mpsc::UnboundedReceiver<Incoming>)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Self::start_with(reader, writer, Delivery::AtOnce)
    }

    /// Takes over both halves of a connection. Must be called inside a tokio runtime. The stream has
    /// every message in the order of arrival, and a waiter gets its response when the receiver drops it. The
    /// receiver must keep reading, and must not wait for a response while it handles a message.
    pub fn start_in_order<R, W>(reader: R, writer: W) -> (Self, IncomingStream)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (peer, messages) = Self::start_with(reader, writer, Delivery::InOrder);
        let stream = IncomingStream { messages, shared: Arc::downgrade(&peer.0) };
        (peer, stream)
    }

    fn start_with<R, W>(reader: R, writer: W, delivery: Delivery) -> (Self, mpsc::UnboundedReceiver<Incoming>)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (outgoing, to_write) = mpsc::unbounded_channel();
        let (incoming, received) = mpsc::unbounded_channel();
        let shared = Arc::new(PeerState::new(delivery, outgoing));
        tokio::spawn(transport::write(writer, to_write, Arc::downgrade(&shared), shared.ended.clone()));
        tokio::spawn(transport::read(reader, incoming, Arc::downgrade(&shared), shared.ended.clone()));
        (Self(shared), received)
    }

    /// Sends a request and waits at most `deadline`.
    ///
    /// # Errors
    /// The failure of the other side; `TIMEOUT`; `ENGINE_FAILED` if the connection ends first.
    pub async fn request(
        &self,
        command: &str,
        arguments: Value,
        deadline: Duration,
    ) -> Result<Value, Failure> {
        self.request_or_cancel(command, arguments, deadline, &CancellationToken::new()).await
    }

    /// Sends a request, waits at most `deadline`, and passes a cancellation on as DAP `cancel` if the other
    /// side has announced it. So do dropping the future and the deadline.
    ///
    /// # Errors
    /// As for [`Peer::request`], and `CANCELLED`.
    pub async fn request_or_cancel(
        &self,
        command: &str,
        arguments: Value,
        deadline: Duration,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        let (sender, answer) = oneshot::channel();
        let request = Message::Request(Request::new(command, arguments));
        let Some(number) = self.0.send(request, Some(sender)) else { return Err(closed_failure(command)) };
        let mut unanswered = OutstandingRequest::new(&self.0, number);
        tokio::pin!(answer);
        tokio::select! {
            biased;
            answered = &mut answer => {
                unanswered.note_response();
                answered.unwrap_or_else(|_| Err(closed_failure(command)))
            }
            () = cancel.cancelled() => {
                if !self.0.supports_cancel() {
                    return Err(Failure::cancelled());
                }
                unanswered.cancel();
                // The other side still responds, most likely with `cancelled`. This response counts if it
                // arrives soon.
                match tokio::time::timeout(Duration::from_millis(500), answer).await {
                    Ok(Ok(answered)) => answered,
                    _ => Err(Failure::cancelled()),
                }
            }
            () = tokio::time::sleep(deadline) => {
                Err(Failure::new(
                    ErrorCode::Timeout,
                    format!("`{command}` was not answered within {} ms", deadline.as_millis()),
                ))
            }
        }
    }

    /// Responds to a reverse request.
    pub fn respond(&self, request: &Request, outcome: Result<Value, Failure>) {
        let response = Response::to(request.seq, request.command.clone(), outcome);
        // A connection that has ended needs no response.
        self.0.send(Message::Response(response), None);
    }

    /// Closes the connection; every waiter fails.
    pub fn close(&self) {
        self.0.ended.cancel();
    }

    /// The protocol error of the other side that ended the connection, if any.
    pub fn protocol_error(&self) -> Option<String> {
        self.0.broken.get().cloned()
    }

    /// Whether the connection ended.
    pub fn is_closed(&self) -> bool {
        self.0.ended.is_cancelled()
    }
}

fn closed_failure(command: &str) -> Failure {
    Failure::new(
        ErrorCode::EngineFailed,
        format!("the debug adapter went away before it answered `{command}`"),
    )
    .hint("the session has ended; start or join another")
}
