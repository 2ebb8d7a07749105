//! Threads the adapter has told of. A step of one that is not there is refused here: debugpy's thread for requests dies of
//! thread 0, and with it the session. Others answer such a step with success and do nothing.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use dap_wire::Failure;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Session;

/// Requests that let one thread go somewhere.
const STEPPING: [&str; 5] = ["goto", "next", "stepBack", "stepIn", "stepOut"];

/// Ids the adapter has named.
#[derive(Default)]
pub(super) struct Threads(Mutex<HashSet<i64>>);

impl Threads {
    /// Learns from the body of an event (`stopped`, `thread`).
    pub(super) fn learn(&self, body: &Value) {
        if let Some(id) = body["threadId"].as_i64() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        }
    }

    /// Learns from the answer to `threads`.
    fn learn_all(&self, answer: &Value) {
        let listed = answer["threads"].as_array().into_iter().flatten();
        let ids = listed.filter_map(|thread| thread["id"].as_i64());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(ids);
    }

    fn have(&self, id: i64) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&id)
    }
}

impl Session {
    /// The thread that is to go somewhere and that the adapter has not named yet.
    pub(super) fn unknown_thread(&self, command: &str, arguments: &Value) -> Option<i64> {
        let id = arguments["threadId"].as_i64().filter(|_| STEPPING.contains(&command));
        id.filter(|id| !self.threads.have(*id))
    }

    /// Asks the adapter for its threads when it has not named this one yet: not all say when one starts.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`.
    pub(super) async fn look_for_thread(&self, id: i64, cancel: &CancellationToken) -> Result<(), Failure> {
        // What it refuses to list may be there.
        let Ok(answer) = self.ask("threads", Value::Null, cancel).await else { return Ok(()) };
        self.threads.learn_all(&answer);
        if self.threads.have(id) {
            return Ok(());
        }
        Err(Failure::invalid(format!("there is no thread {id}")).hint("`threads` lists them"))
    }
}
