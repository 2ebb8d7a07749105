//! Messages that have arrived. Reading them from the connection is [`super::transport`]'s task.

use serde_json::Value;
use tandem_error::Failure;
use tokio::sync::oneshot;

use crate::message::{Event, Request};

/// A message of the other side.
#[derive(Debug)]
pub enum Incoming {
    /// A response to a request of this side. Where responses are delivered at once, only a failure for which
    /// no request waits any more.
    Response(ArrivedResponse),
    /// An event from the other side.
    Event(Event),
    /// A reverse request; answer it with [`super::Peer::respond`].
    Request(Request),
}

/// Wakes the task that waits for a response.
pub(super) type Waiter = oneshot::Sender<Result<Value, Failure>>;

/// A response that has arrived. Its waiter gets the result when this is dropped.
#[derive(Debug)]
pub struct ArrivedResponse {
    pub(super) command: String,
    pub(super) result: Result<Value, Failure>,
    /// `None` if the waiter has given up.
    pub(super) waiter: Option<Waiter>,
}

impl ArrivedResponse {
    /// The command of the request, as the other side repeats it.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// The body of a successful response, or the failure.
    pub fn result(&self) -> &Result<Value, Failure> {
        &self.result
    }
}

impl Drop for ArrivedResponse {
    fn drop(&mut self) {
        if let Some(waiter) = self.waiter.take() {
            // A waiter may give up between the arrival and now.
            drop(waiter.send(std::mem::replace(&mut self.result, Ok(Value::Null))));
        }
    }
}
