//! Events that can change the state of a session with an adapter: what the session does, and what the
//! adapter, the kernel and the hub report. Not here: what follows ([`super::effect`]).

use serde_json::Value;
use tandem_engine::FailedCondition;
use tandem_wire::command::Execution;
use tandem_wire::types::StoppedEventBody;
use tandem_wire::{Failure, Request};

use super::reverse::Link;
use crate::debuggee::DebuggeeProcess;

/// An event that can change the state.
#[derive(Debug)]
pub(crate) enum ChildEvent {
    /// `launch` or `attach` was sent.
    LaunchSent,
    /// The adapter can be configured: it sent `initialized`, or it never does.
    Initialized,
    /// The hub has configured.
    Configured,
    /// `launch` or `attach` was answered with success.
    Launched,
    /// The program cannot be started, or the adapter cannot be configured.
    Refused(Failure),
    /// The adapter printed this.
    Printed(String),
    /// The adapter reported the process, or we know it: the body of `process`.
    Process(Value),
    /// A program that the adapter starts through our stub has ended, or could not be started.
    ProgramGone,
    /// The adapter gets a request that resumes the program, or pauses it.
    RequestSent(Execution),
    /// The adapter answered `continue`.
    Resumed,
    /// The program stopped when we connected, which is reported when the hub has configured.
    StoppedAtConnection,
    /// The adapter sent `stopped`, with this body.
    StopReported(StoppedEventBody),
    /// The program is stopped: the body of `stopped` as the hub gets it, and the condition that could not be
    /// evaluated there.
    Stopped { stop: StoppedEventBody, failed: Option<FailedCondition> },
    /// Only our own request shows that the program is stopped, if there were `before` stops when
    /// the pause was requested.
    FoundStopped { before: u64, stop: StoppedEventBody },
    /// The signal that asks the program to end is sent when the program runs: its handler
    /// would run in the debugger.
    SignalOwed,
    /// The program that was resumed had time to leave the debugger; it may have stopped `again`.
    LeftDebugger { again: bool },
    /// The program has started a process that is debugged in a separate session; these of the earlier ones
    /// have ended.
    SubprocessStarted { process: DebuggeeProcess, ended: Vec<DebuggeeProcess> },
    /// The processes that the program has started end with it.
    SubprocessesEnd,
    /// The adapter wants a client's terminal for the program.
    WantsTerminal { link: Link, request: Request, external: bool },
    /// The client answered the request of the adapter with this number.
    ClientAnswered { id: i64, result: Result<Value, Failure> },
    /// The adapter printed the exit code.
    ExitCode(i64),
    /// The adapter sent `exited`, with this body.
    Exited(Value),
    /// The program reports that it will execute another one (`exec`), which also ends the debugger in it.
    Replaced,
    /// The adapter sent `terminated`, with this body.
    Terminated(Value),
    /// The kernel reported the program's end, with this exit code, or [`super::NO_CODE`] if it was lost.
    KernelCode(i64),
    /// A signal with this number ended the program, as the kernel or the adapter says.
    EndedBySignal(i32),
    /// The adapter answered `disconnect` with success.
    Disconnected,
    /// The adapter has closed the connection.
    HungUp,
    /// The program has ended; the adapter has not reported it.
    EndNoticed,
    /// The adapter broke while the program was debugged. It is killed.
    AdapterBroke(Failure),
    /// All that can be known of the program's end is known; it had this exit code.
    EndKnown(Option<i64>),
    /// The hub ends the session, or reads no events any more.
    Released,
    /// An event for the hub that changes nothing here.
    Report { event: String, body: Value },
}
