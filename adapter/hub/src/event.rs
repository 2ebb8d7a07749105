//! The hub's interface: the events that can wake it, and the effects that it can request. Both lists are
//! closed.
//!
//! Carries no effect out: the actor of `tandem-session` does.

use std::time::Duration;

use serde_json::Value;
use tandem_wire::{Failure, Message, MessageError};

use tandem_engine::{EngineAnswer, EngineEvent, EngineRequest, StartedEngine};
use tandem_process::stdin::InputRecord;
use tandem_process::terminal_size::TerminalSize;
use tandem_process::{OutputRead, ReadRequest, WriteOutcome};

/// One connection to this session. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

impl std::fmt::Display for ClientId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "client {}", self.0)
    }
}

/// A request of a client, which must get its one response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRequest {
    pub client: ClientId,
    /// The client's `seq` of the request.
    pub seq: i64,
    /// The command, which the response repeats.
    pub command: String,
}

/// A request of the hub to the engine or the broker, until the reply. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// A reverse request of the engine, sent to one client at a time: its number inside the hub. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReverseRequestId(pub i64);

/// The way in which a client connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientOrigin {
    /// The connection the host was started for: it may launch or attach, and the session ends when it leaves.
    First,
    /// The session's socket: it joins.
    Socket,
}

/// An event that can wake the hub.
#[derive(Debug)]
pub enum HubEvent {
    ClientJoined {
        client: ClientId,
        origin: ClientOrigin,
    },
    /// A client sent a message.
    ClientMessage {
        client: ClientId,
        message: Message,
    },
    /// A client sent a frame that is not a DAP message; `error` has what could be read of it.
    ClientMessageInvalid {
        client: ClientId,
        error: MessageError,
    },
    /// The connection ended, for any reason.
    ClientLeft {
        client: ClientId,
    },
    /// A client does not read and was disconnected: its queue was full.
    ClientStalled {
        client: ClientId,
    },
    /// The engine was made, or could not be; follows [`HubEffect::StartEngine`].
    EngineStarted(Result<StartedEngine, Failure>),
    /// The engine's reply to [`HubEffect::RequestEngine`], with the engine's ids.
    EngineReplied {
        ticket: Ticket,
        result: Result<EngineAnswer, Failure>,
    },
    /// The engine reports something by itself.
    EngineEvent(EngineEvent),
    /// The broker's reply to [`HubEffect::Io`].
    IoReplied {
        ticket: Ticket,
        result: Result<IoAnswer, Failure>,
    },
    /// A timer of [`HubEffect::StartTimer`] fired.
    TimerFired(Timer),
    /// The host has to end (a signal).
    ShutdownRequested,
}

/// The purpose of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Timer {
    /// How long others may read output after the session has ended and its first client gone.
    Linger,
    /// How long a client may take to present the token, or to send `initialize`.
    Handshake(ClientId),
    /// How long an engine may take to send `initialized` after its launch succeeded.
    EarlyLaunchReply,
    /// How long a client may take to answer this reverse request.
    ReverseRequest(ReverseRequestId),
    /// How long the call with this number is followed.
    Follow(u64),
    /// How long the program may take to end; counts from the resume with this number.
    Terminate(u64),
}

/// A request to the process I/O broker.
#[derive(Debug, Clone, PartialEq)]
pub enum IoRequest {
    /// `processWriteInput`: bytes for stdin, perhaps none, and whether to close stdin after them.
    Write { data: Vec<u8>, close: bool },
    /// `processReadOutput`: a read at once, or after a wait.
    Read(ReadRequest),
    /// `processReadInput`: the clients' input so far.
    ReadInput,
    /// `processResizeTerminal`: the size of the program's terminal.
    Resize(TerminalSize),
}

/// The broker's answer to an [`IoRequest`].
#[derive(Debug, Clone, PartialEq)]
pub enum IoAnswer {
    /// To [`IoRequest::Write`].
    Written(WriteOutcome),
    /// To [`IoRequest::Read`].
    Output(OutputRead),
    /// To [`IoRequest::ReadInput`].
    Input(InputRecord),
    /// To [`IoRequest::Resize`].
    Resized,
}

/// Data of the session's file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionDescription {
    /// For users: usually the program's file name.
    pub title: String,
    /// The debuggee: a path, or `process N`.
    pub program: String,
    /// The launch attribute `engine`.
    pub engine: String,
    /// The program's working directory.
    pub cwd: Option<String>,
    /// Name of the client that launched or attached.
    pub client: Option<String>,
    /// The client's kind: `editor` or `agent`.
    pub kind: Option<String>,
}

/// An action for the actor to carry out.
#[derive(Debug, PartialEq)]
pub enum HubEffect {
    /// Queue a message to a client; its writer numbers it.
    Send {
        client: ClientId,
        message: Message,
    },
    /// Send the program's output to this client from now on, beginning with what is still kept.
    StartOutput {
        client: ClientId,
    },
    /// Send this client no more output.
    StopOutput {
        client: ClientId,
    },
    /// Send what the program printed until now before the next message to this client.
    FlushOutput {
        client: ClientId,
    },
    /// Close the connection after what is queued.
    Close {
        client: ClientId,
    },
    /// Make the engine for these launch or attach arguments; [`HubEvent::EngineStarted`] follows.
    StartEngine {
        arguments: Value,
    },
    /// Connect this client to another session. `seq` is the number of its `attach`, which has no response
    /// yet; `initialize` are its arguments of that request. `child`: a client opens the session of a child
    /// process, which may have ended already.
    JoinSession {
        client: ClientId,
        session: String,
        initialize: Value,
        seq: i64,
        child: bool,
    },
    /// Send the engine a request with its own ids; [`HubEvent::EngineReplied`] follows, with
    /// `TIMEOUT` after `deadline`.
    RequestEngine {
        ticket: Ticket,
        request: EngineRequest,
        deadline: Duration,
    },
    /// Send the engine the one reply to its reverse request with this number of the engine's own.
    ReplyToEngine {
        id: i64,
        result: Result<Value, Failure>,
    },
    /// Cancel a request to the engine or the broker.
    Cancel {
        ticket: Ticket,
    },
    /// Send the broker a request on behalf of this client (`clear` is per client);
    /// [`HubEvent::IoReplied`] follows.
    Io {
        ticket: Ticket,
        client: ClientId,
        request: IoRequest,
    },
    StartTimer {
        timer: Timer,
        after: Duration,
    },
    /// Let others join: write the session's file, listen on its socket.
    Publish(SessionDescription),
    /// Accept no more clients.
    Unpublish,
    /// Kill all remaining processes of the program now.
    KillProgram,
    /// End the host after the queued messages are sent: the session has ended.
    End,
}
