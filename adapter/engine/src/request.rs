//! Requests of the hub to an engine, and the answers. Arguments and bodies are DAP's; what the hub and an
//! engine say to each other beyond DAP has a type here, so that no adapter ever gets it.

use serde_json::Value;
use tandem_wire::{ErrorCode, Failure};
use tokio::sync::mpsc;

/// A request to an engine, with the engine's ids.
#[derive(Debug, Clone, PartialEq)]
pub enum EngineRequest {
    /// A request of DAP, or of the adapter's own.
    Dap {
        /// For example `stackTrace`.
        command: String,
        /// Its arguments; `Null` when there are none.
        arguments: Value,
    },
    /// The same of a client with look-only access: an engine that can show values without running code of the
    /// program runs none.
    LookOnly {
        /// `variables` or `evaluate`.
        command: String,
        /// Its arguments with the engine's ids.
        arguments: Value,
    },
    /// A list of breakpoints that the hub evaluates in part: one may represent several requests, or be
    /// without its condition, hit count or log message.
    MergedBreakpoints {
        /// `setBreakpoints` or one of its kin.
        command: String,
        /// Its arguments, as DAP has them.
        arguments: Value,
        /// The joined conditions, by the positions in the list.
        joined: Vec<JoinedConditions>,
        /// The arguments with each client's request, for a session whose hub merges them by itself.
        requested: Value,
    },
    /// `terminate`: the program is to end.
    Terminate(TerminateMode),
}

/// The conditions that one breakpoint's condition joins. Where an engine cannot parse one of them, it has to
/// stop each time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinedConditions {
    /// The position of the breakpoint in the list.
    pub index: usize,
    /// Their texts, as the clients have them.
    pub conditions: Vec<String>,
}

/// The way in which a program ends at `terminate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminateMode {
    /// The engine asks it to end. `is_stopped`: it is stopped, as far as clients know, and will be resumed.
    Ask { is_stopped: bool },
    /// The engine kills it, at the client's second request or when its time is up.
    Force,
}

impl EngineRequest {
    /// A request without anything beyond DAP.
    pub fn dap(command: impl Into<String>, arguments: Value) -> Self {
        Self::Dap { command: command.into(), arguments }
    }

    /// The DAP command, which the reply names again.
    pub fn command(&self) -> &str {
        match self {
            Self::Dap { command, .. }
            | Self::LookOnly { command, .. }
            | Self::MergedBreakpoints { command, .. } => command,
            Self::Terminate(_) => "terminate",
        }
    }

    /// The DAP arguments; `Null` when there are none.
    pub fn arguments(&self) -> &Value {
        match self {
            Self::Dap { arguments, .. }
            | Self::LookOnly { arguments, .. }
            | Self::MergedBreakpoints { arguments, .. } => arguments,
            Self::Terminate(_) => &Value::Null,
        }
    }

    /// The arguments for the sessions of the program's child processes, whose hubs merge breakpoints by
    /// themselves.
    pub fn arguments_for_children(&self) -> &Value {
        match self {
            Self::MergedBreakpoints { requested, .. } => requested,
            other => other.arguments(),
        }
    }
}

/// The answer to a request that succeeded.
#[derive(Debug, Clone, PartialEq)]
pub enum EngineAnswer {
    /// The body of the DAP response, with the engine's ids.
    Body(Value),
    /// The body of the response to `dataBreakpointInfo` about data in a scope that is the same at each stop
    /// of this session. DAP's `canPersist` means later sessions, too.
    LastingData(Value),
    /// The answer to [`EngineRequest::Terminate`] if the program got a signal, which a stopped program
    /// handles when it resumes.
    SignalPending,
}

impl EngineAnswer {
    /// The body of the DAP response.
    pub fn into_body(self) -> Value {
        match self {
            Self::Body(body) | Self::LastingData(body) => body,
            Self::SignalPending => Value::Null,
        }
    }
}

impl From<Value> for EngineAnswer {
    fn from(body: Value) -> Self {
        Self::Body(body)
    }
}

/// An engine's reply to a request of the hub.
#[derive(Debug)]
pub struct EngineReply {
    /// The hub's number of the request.
    pub number: u64,
    /// The DAP command of the request.
    pub command: String,
    /// The answer, or why there is none.
    pub result: Result<EngineAnswer, Failure>,
}

/// The handle for the one reply to a request. Replies reach the hub in the order in which they are sent, from
/// whatever thread: one queue carries them all.
#[derive(Debug)]
pub struct ReplyHandle {
    number: u64,
    /// Taken with the reply.
    command: Option<String>,
    replies: mpsc::UnboundedSender<EngineReply>,
}

impl ReplyHandle {
    /// A handle for the request of this number and command.
    pub fn new(number: u64, command: String, replies: mpsc::UnboundedSender<EngineReply>) -> Self {
        Self { number, command: Some(command), replies }
    }

    pub fn send(mut self, result: Result<EngineAnswer, Failure>) {
        self.send_once(result);
    }

    fn send_once(&mut self, result: Result<EngineAnswer, Failure>) {
        if let Some(command) = self.command.take() {
            // A hub that has ended needs no reply.
            drop(self.replies.send(EngineReply { number: self.number, command, result }));
        }
    }
}

impl Drop for ReplyHandle {
    fn drop(&mut self) {
        self.send_once(Err(Failure::new(ErrorCode::EngineFailed, "the debug engine has ended")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_drops_a_request_has_answered_it() {
        let (replies, mut answers) = mpsc::unbounded_channel();
        drop(ReplyHandle::new(7, "modules".into(), replies.clone()));
        ReplyHandle::new(8, "terminate".into(), replies).send(Ok(EngineAnswer::SignalPending));
        let first = answers.try_recv().unwrap();
        assert_eq!((first.number, first.result.unwrap_err().code), (7, ErrorCode::EngineFailed));
        let second = answers.try_recv().unwrap();
        assert_eq!(second.result.map(EngineAnswer::into_body), Ok(Value::Null));
        assert!(answers.try_recv().is_err());
    }
}
