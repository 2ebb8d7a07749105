//! Actions that the state of a session with an adapter has the session carry out. Not here: the events that
//! they follow from ([`super::event`]).

use serde_json::Value;
use tandem_engine::FailedCondition;
use tandem_wire::types::StoppedEventBody;
use tandem_wire::{Failure, Request};

use super::reverse::Link;
use crate::debuggee::DebuggeeProcess;

/// An action for the session to carry out.
#[derive(Debug, PartialEq)]
pub(crate) enum ChildEffect {
    /// Send this DAP event to the hub.
    SendEvent { event: String, body: Value },
    /// Report to the hub that the program stopped because it could not evaluate a condition.
    ReportFailedCondition { stop: StoppedEventBody, failure: FailedCondition },
    /// Report to the hub that the adapter broke.
    Died(Failure),
    /// Find out more about a stop that the adapter reported; [`super::ChildEvent::Stopped`] follows.
    /// `paused`: a client requested the stop.
    Examine { stop: StoppedEventBody, paused: bool },
    /// Wait until the program has left the debugger, or has stopped again (then `stops` has changed);
    /// [`super::ChildEvent::LeftDebugger`] follows.
    AwaitOutside { stops: u64 },
    /// Ask the program to end with a signal.
    SignalProgram,
    /// Kill these, also a daemon, which is not below the program any more.
    KillSubprocesses(Vec<DebuggeeProcess>),
    /// Have a client carry out a request of the adapter.
    AskClient { id: i64, command: String, arguments: Value },
    /// Answer a request of the adapter.
    Respond { link: Link, request: Request, result: Result<Value, Failure> },
    /// End the session. Comes once at most.
    EndSession,
}
