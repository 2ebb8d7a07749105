//! The state that the handles and the tasks of one connection share: the requests that wait for a response,
//! and what is known of the other side. Reading and writing messages is [`super::transport`]'s task.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::Value;
use tandem_error::Failure;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::incoming::{ArrivedResponse, Incoming, Waiter};
use crate::message::{Message, Request};
use crate::types::{self, CancelArguments};

/// When a waiter gets its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    /// As soon as the response arrives.
    AtOnce,
    /// After the receiver has taken the response from its [`super::IncomingStream`].
    InOrder,
}

/// Requests that wait for a response, by number.
#[derive(Debug, Default)]
struct OutstandingRequests {
    /// The last number that was assigned.
    seq: i64,
    /// `None` after the connection has ended.
    waiting: Option<HashMap<i64, Waiter>>,
}

#[derive(Debug)]
pub(super) struct PeerState {
    delivery: Delivery,
    outstanding: Mutex<OutstandingRequests>,
    outgoing: mpsc::UnboundedSender<Message>,
    pub(super) ended: CancellationToken,
    /// The reason why the connection was lost, if it did not end normally.
    pub(super) broken: OnceLock<String>,
    /// Whether the other side has announced DAP's `cancel`. Some adapters that have not crash on
    /// it (lldb-dap 19, rdbg).
    supports_cancel: AtomicBool,
}

impl PeerState {
    pub(super) fn new(delivery: Delivery, outgoing: mpsc::UnboundedSender<Message>) -> Self {
        Self {
            delivery,
            outstanding: Mutex::new(OutstandingRequests { seq: 0, waiting: Some(HashMap::new()) }),
            outgoing,
            ended: CancellationToken::new(),
            broken: OnceLock::new(),
            supports_cancel: AtomicBool::new(false),
        }
    }

    fn outstanding(&self) -> MutexGuard<'_, OutstandingRequests> {
        self.outstanding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a request waits for its response.
    #[cfg(test)]
    pub(super) fn has_waiters(&self) -> bool {
        self.outstanding().waiting.as_ref().is_some_and(|waiting| !waiting.is_empty())
    }

    /// Numbers a message and queues it for writing, in this order. Returns the number, or `None` if the
    /// connection has ended.
    pub(super) fn send(&self, mut message: Message, waiter: Option<Waiter>) -> Option<i64> {
        let mut outstanding = self.outstanding();
        outstanding.seq += 1;
        let seq = outstanding.seq;
        let waiting = outstanding.waiting.as_mut()?;
        if let Some(waiter) = waiter {
            waiting.insert(seq, waiter);
        }
        message.set_seq(seq);
        self.outgoing.send(message).ok().map(|()| seq)
    }

    pub(super) fn supports_cancel(&self) -> bool {
        self.supports_cancel.load(Ordering::Relaxed)
    }

    /// Records whether the other side supports `cancel`, from the response to `initialize`
    /// and from later changes.
    pub(super) fn note_capabilities(&self, capabilities: &Value) {
        if let Some(takes) = capabilities["supportsCancelRequest"].as_bool() {
            self.supports_cancel.store(takes, Ordering::Relaxed);
        }
    }

    /// Delivers a response to its waiter, which may have given up, directly or through the stream.
    pub(super) fn deliver(
        &self,
        incoming: &mpsc::UnboundedSender<Incoming>,
        number: i64,
        command: String,
        result: Result<Value, Failure>,
    ) {
        let waiter = self.outstanding().waiting.as_mut().and_then(|waiting| waiting.remove(&number));
        if waiter.is_none() {
            tracing::debug!(seq = number, "a response to no request");
        }
        let response = ArrivedResponse { command, result, waiter };
        match self.delivery {
            // A request that was answered with success may have failed later.
            Delivery::AtOnce if response.waiter.is_none() && response.result.is_err() => {
                drop(incoming.send(Incoming::Response(response)));
            }
            Delivery::AtOnce => drop(response),
            // Without a receiver, the response is dropped, which wakes the waiter.
            Delivery::InOrder => drop(incoming.send(Incoming::Response(response))),
        }
    }

    /// Handles the end of the connection. An [`super::IncomingStream`] first has to be read to its end.
    pub(super) fn end(&self) {
        if self.delivery == Delivery::AtOnce {
            self.fail_waiters();
        }
    }

    /// Wakes all waiters, which then name their requests, and refuses new requests.
    pub(super) fn fail_waiters(&self) {
        self.outstanding().waiting.take();
    }
}

impl Drop for PeerState {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

/// A request that waits for its response. Dropping this ends the wait and cancels the request.
pub(super) struct OutstandingRequest<'a> {
    peer: &'a PeerState,
    /// `None` after the response has arrived.
    number: Option<i64>,
    cancelled: bool,
}

impl<'a> OutstandingRequest<'a> {
    pub(super) fn new(peer: &'a PeerState, number: i64) -> Self {
        Self { peer, number: Some(number), cancelled: false }
    }

    /// Records that the response has arrived: nothing is left to cancel.
    pub(super) fn note_response(&mut self) {
        self.number = None;
    }

    /// Cancels the request once, if the other side supports that. The response to `cancel` has no content,
    /// and on a connection that has ended there is nothing to cancel.
    pub(super) fn cancel(&mut self) {
        if let Some(number) = self.number
            && !std::mem::replace(&mut self.cancelled, true)
            && self.peer.supports_cancel()
        {
            let cancel = Request::new(
                "cancel",
                types::body(&CancelArguments { request_id: Some(number), ..CancelArguments::default() }),
            );
            self.peer.send(Message::Request(cancel), None);
        }
    }
}

impl Drop for OutstandingRequest<'_> {
    fn drop(&mut self) {
        self.cancel();
        if let (Some(number), Some(waiting)) = (self.number, &mut self.peer.outstanding().waiting) {
            waiting.remove(&number);
        }
    }
}
