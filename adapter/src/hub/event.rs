//! Everything that can wake the hub, and everything it can do about it. Both lists are closed.

use std::time::Duration;

use dap_wire::{Failure, Message, MessageError};
use serde_json::Value;

use crate::engine::EngineEvent;

/// One connection to this session. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

impl std::fmt::Display for ClientId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "client {}", self.0)
    }
}

/// A request of ours to the engine or the broker, until it is answered. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// A reverse request: of the engine, to one client at a time. The number it has inside the hub; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ask(pub i64);

/// Where a client came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The connection the host was started for: it may launch or attach, and its leaving ends the session.
    First,
    /// The session's socket: it joins.
    Socket,
}

/// What can wake the hub.
#[derive(Debug)]
pub enum Event {
    /// A connection was made.
    ClientJoined {
        /// Its new id.
        client: ClientId,
        /// Where it came from.
        origin: Origin,
    },
    /// A message arrived whole.
    ClientSaid {
        /// From whom.
        client: ClientId,
        /// What.
        message: Message,
    },
    /// A frame arrived whole but is no DAP message.
    ClientGarbled {
        /// From whom.
        client: ClientId,
        /// What could be read of it.
        error: MessageError,
    },
    /// The connection ended, for whatever reason.
    ClientLeft {
        /// Whose.
        client: ClientId,
    },
    /// A client has stopped reading and was cut off: too much waits for it.
    ClientStalled {
        /// Which.
        client: ClientId,
    },
    /// The engine was made, or could not be; follows [`Effect::StartEngine`].
    EngineStarted(Result<StartedEngine, Failure>),
    /// The engine answered [`Effect::AskEngine`].
    EngineAnswered {
        /// Which request.
        ticket: Ticket,
        /// Its answer, with the engine's ids.
        result: Result<Value, Failure>,
    },
    /// The engine says something of its own accord.
    EngineSaid(EngineEvent),
    /// The broker answered [`Effect::Io`].
    IoAnswered {
        /// Which request.
        ticket: Ticket,
        /// The body for the client.
        result: Result<Value, Failure>,
    },
    /// A timer of [`Effect::StartTimer`] ran out.
    TimerFired(Timer),
    /// The host was told to end (a signal).
    ShutdownAsked,
}

/// What the hub knows of an engine once it is made.
#[derive(Debug, Clone)]
pub struct StartedEngine {
    /// Its name, as in the launch attribute `engine`.
    pub name: String,
    /// It takes several breakpoints on one line (or function), each with its own condition, and judges each for itself.
    /// Most child adapters keep one: then the hub merges them and judges.
    pub several_per_line: bool,
}

/// What a timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Timer {
    /// The session is over and its first client gone; others may read output for this long.
    Linger,
    /// A client has had its time to present the token, or to introduce itself.
    Admission(ClientId),
    /// The engine has had its time to say `initialized` after its launch succeeded.
    EarlyAnswer,
    /// A client has had its time to answer this reverse request.
    Ask(Ask),
    /// The program has had its time to end, from this resume on, counted.
    Terminate(u64),
}

/// A request to the process I/O broker.
#[derive(Debug, Clone, PartialEq)]
pub enum IoRequest {
    /// `processWriteInput`.
    Write {
        /// Bytes for stdin; may be empty.
        data: Vec<u8>,
        /// Close stdin after them.
        close: bool,
    },
    /// `processReadOutput`.
    Read(ReadOutput),
}

/// Checked arguments of `processReadOutput`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadOutput {
    /// Whether stdout is asked.
    pub stdout: bool,
    /// Whether stderr is asked.
    pub stderr: bool,
    /// Move this client's start to the end of what was read.
    pub clear: bool,
    /// Cursor of an earlier answer.
    pub since: Option<String>,
    /// Bound for each stream, bytes.
    pub max_bytes: Option<usize>,
    /// The newest where there is more than that.
    pub newest: bool,
    /// Regular expression to wait for; known to compile.
    pub wait_for: Option<String>,
    /// How long to wait.
    pub timeout: Option<Duration>,
    /// Also what the program's terminal shows.
    pub screen: bool,
    /// The program is stopped by the debugger.
    pub stands: bool,
}

/// What the session's file says of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Publication {
    /// For people: usually the program's file name.
    pub title: String,
    /// What is debugged: a path, or `process N`.
    pub program: String,
    /// The launch attribute `engine`.
    pub engine: String,
    /// The program's folder to work in.
    pub cwd: Option<String>,
    /// Who launched or attached: its name, and `editor` or `agent`.
    pub client: Option<String>,
    /// The second of these.
    pub kind: Option<String>,
}

/// What the hub can do.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// Queue a message to a client; its writer numbers it.
    Send {
        /// To whom.
        client: ClientId,
        /// What.
        message: Message,
    },
    /// The program's output goes to this client from now on, beginning with what is still kept.
    StartOutput {
        /// To whom.
        client: ClientId,
    },
    /// The program's output does not go to this client any more.
    StopOutput {
        /// To whom not.
        client: ClientId,
    },
    /// What the program printed until now goes out before the next message to this client.
    FlushOutput {
        /// To whom.
        client: ClientId,
    },
    /// Close the connection after what is queued.
    Close {
        /// Whose.
        client: ClientId,
    },
    /// Make the engine for these launch or attach arguments; answered by [`Event::EngineStarted`].
    StartEngine {
        /// The client's arguments.
        arguments: Value,
    },
    /// From now on this client rides in another session, through us; its request has not been answered.
    JoinOther {
        /// Who.
        client: ClientId,
        /// The other session's id.
        session: String,
        /// What it said of itself in `initialize`.
        introduction: Value,
        /// Number of its `attach`.
        seq: i64,
    },
    /// Ask the engine; answered by [`Event::EngineAnswered`].
    AskEngine {
        /// Ours.
        ticket: Ticket,
        /// DAP command.
        command: String,
        /// DAP arguments with the engine's ids.
        arguments: Value,
        /// After this the actor answers with `TIMEOUT`.
        deadline: Duration,
    },
    /// Answer an `EngineEvent::Asks`.
    AnswerEngine {
        /// The engine's own number for it.
        ask: i64,
        /// The client's body, or why there is none.
        result: Result<Value, Failure>,
    },
    /// The client cancelled what it asked the engine or the broker.
    Cancel {
        /// Which request.
        ticket: Ticket,
    },
    /// Ask the broker; answered by [`Event::IoAnswered`].
    Io {
        /// Ours.
        ticket: Ticket,
        /// On whose behalf (`clear` is per client).
        client: ClientId,
        /// What.
        request: IoRequest,
    },
    /// Wake the hub later.
    StartTimer {
        /// What for.
        timer: Timer,
        /// When.
        after: Duration,
    },
    /// Let others join: write the session's file, listen on its socket.
    Publish(Publication),
    /// Nobody joins any more.
    Unpublish,
    /// Kill whatever is left of the program, now.
    KillProgram,
    /// The session is over: the host ends after the queued messages went out.
    End,
}
