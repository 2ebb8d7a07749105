//! The engine: a debugger for one debuggee. Requests in, replies and events out.
//!
//! The built-in .NET engine and every child adapter implement [`Engine`]. An engine speaks DAP bodies with
//! *its own* ids, 1-based lines and columns and native paths; it never sees a client. The hub renumbers for
//! each client.

pub mod builds;
mod child_process;
pub mod condition_language;
pub mod configurations;
pub mod console;
pub mod description;
mod engine_facts;
pub mod env_file;
mod exception_filter;
pub mod hit_condition;
pub mod kind;
pub mod log_message;
pub mod path_map;
pub mod process_name;
mod request;
pub mod result_names;
pub mod running_process;
mod shell_words;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{self, EventBody, ProgramExit};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

pub use child_process::{ChildProcess, DebuggerEnd, EndNotice};
pub use engine_facts::{LookOnlyRequests, StartedEngine};
pub use exception_filter::ExceptionFilter;
pub use request::{EngineAnswer, EngineReply, EngineRequest, JoinedConditions, ReplyHandle, TerminateMode};
use tandem_process::{Broker, ExitInfo};

/// A breakpoint's condition that could not be evaluated.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct FailedCondition {
    /// Its text, if it is known.
    pub condition: Option<String>,
    /// The error message of the language.
    pub reason: String,
    /// Whether `evaluate` understands more than the engine does in conditions: the hub evaluates it.
    pub is_for_hub: bool,
}

impl EngineEvent {
    /// The DAP event with a body.
    pub fn of<T: EventBody>(body: &T) -> Self {
        Self::Dap { event: T::EVENT.into(), body: types::body(body) }
    }
}

/// An event of an engine, not a response to a request.
#[derive(Debug, Clone)]
pub enum EngineEvent {
    /// A DAP event, with the engine's ids. `initialized` means: breakpoints may come now.
    Dap {
        /// For example `stopped`.
        event: String,
        /// Its body; `Null` when there is none.
        body: Value,
    },
    /// The program stopped at a breakpoint because it could not evaluate the condition.
    ConditionFailed {
        /// The body of DAP `stopped`.
        body: Value,
        /// The condition, and why.
        failure: FailedCondition,
    },
    /// A reverse request (DAP `runInTerminal`, `startDebugging`): the hub finds the one client that carries
    /// it out, and [`Engine::reverse_reply`] gets exactly one reply, however that client behaves.
    ReverseRequest {
        /// The engine's own number for it; the reply repeats it.
        id: i64,
        command: String,
        /// Its arguments, as the client sees them.
        arguments: Value,
    },
    /// All that the engine supports, as DAP `Capabilities`, before it sends `initialized`; it does not
    /// support what is not named. An engine that never reports this offers what
    /// `hub::capabilities::initial` promises.
    Capabilities(Value),
    /// A child process of the program is also debugged, in a separate session.
    ChildSession(ChildSession),
    /// A child process of the program is also debugged, in a separate session and host process.
    ChildProcess(ChildProcess),
    /// A child process of the program is not debugged.
    ChildNotDebugged { pid: u32, name: String },
    /// The engine broke and replies to nothing more.
    Died(Failure),
}

impl EngineEvent {
    /// Its name for a log, which never shows what it holds.
    pub fn name(&self) -> &str {
        match self {
            Self::Dap { event, .. } => event,
            Self::ConditionFailed { .. } => "stopped",
            Self::ReverseRequest { command, .. } => command,
            Self::Capabilities(_) => "capabilities",
            Self::ChildSession(_) => "childSession",
            Self::ChildProcess(_) => "childProcess",
            Self::ChildNotDebugged { .. } => "childNotDebugged",
            Self::Died(_) => "died",
        }
    }
}

/// Breakpoint requests of a session, as they were last: command and source to arguments.
pub type BreakpointSnapshot = BTreeMap<(String, String), Value>;

/// Records a breakpoint request of a session for the child processes of its program.
pub fn record_breakpoints(snapshot: &watch::Sender<BreakpointSnapshot>, command: &str, arguments: &Value) {
    let source = match command {
        "setBreakpoints" => types::source_path(arguments).unwrap_or_default(),
        "setFunctionBreakpoints" | "setExceptionBreakpoints" => String::new(),
        _ => return,
    };
    let key = (command.to_owned(), source);
    snapshot.send_modify(|snapshot| drop(snapshot.insert(key, arguments.clone())));
}

/// The number of the hub's own requests to open a child session; no engine uses it.
pub const CHILD_SESSION_REQUEST: i64 = 0;

/// The body of `exited` for a program whose end the kernel reported.
pub fn exited_body(exit: ExitInfo) -> Value {
    types::body(&ProgramExit { exit_code: Some(exit.code.into()), signal: exit.signal_name() })
}

/// The attributes by which a client joins a session with `attach`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JoinAttributes {
    /// The id of the session.
    pub session: String,
    /// It is a child session, which the client opens at the hub's request and which may have ended already.
    #[serde(rename = "tandemChild", skip_serializing_if = "std::ops::Not::not")]
    pub is_child: bool,
}

/// The configuration with which a client opens a child session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChildSessionConfiguration {
    #[serde(rename = "type")]
    kind: &'static str,
    request: &'static str,
    name: String,
    #[serde(flatten)]
    join: JoinAttributes,
}

impl ChildSessionConfiguration {
    /// The configuration of a session, whose program has this name.
    pub fn new(program: &str, session: String) -> Self {
        let name = format!("{program} ({session})");
        let join = JoinAttributes { session, is_child: true };
        Self { kind: "tandem", request: "attach", name, join }
    }
}

/// Makes the engine of a child session.
type MakeEngine = Box<dyn FnOnce(Broker, mpsc::UnboundedSender<EngineEvent>) -> Arc<dyn Engine> + Send>;

/// The parts of a child process's session. Clones are the same.
#[derive(Clone)]
pub struct ChildSession {
    /// The name of the process for users.
    pub name: String,
    /// The facts about its engine that the hub needs.
    pub started: StartedEngine,
    /// The attributes of its launch.
    pub launch: Value,
    /// The breakpoints of the parent session, as they change.
    pub breakpoints: watch::Receiver<BreakpointSnapshot>,
    make: Arc<Mutex<Option<MakeEngine>>>,
}

impl ChildSession {
    /// A session whose engine `make` makes, once, when the session exists.
    pub fn new(
        name: String,
        started: StartedEngine,
        launch: Value,
        breakpoints: watch::Receiver<BreakpointSnapshot>,
        make: impl FnOnce(Broker, mpsc::UnboundedSender<EngineEvent>) -> Arc<dyn Engine> + Send + 'static,
    ) -> Self {
        Self { name, started, launch, breakpoints, make: Arc::new(Mutex::new(Some(Box::new(make)))) }
    }

    /// Makes the engine; the second time returns `None`.
    pub fn engine(
        &self,
        broker: Broker,
        events: mpsc::UnboundedSender<EngineEvent>,
    ) -> Option<Arc<dyn Engine>> {
        let make = self.make.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(make(broker, events))
    }
}

impl std::fmt::Debug for ChildSession {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ChildSession").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A debugger for one debuggee, built in or a child adapter: a handle to a thread or task.
///
/// Events travel on a channel that the engine gets when it is made (see `engine::select`).
pub trait Engine: Send + Sync {
    /// Takes one request, and sends its result to `reply`. Several may be in flight, so that `pause` can
    /// overtake `evaluate`. Must not block.
    ///
    /// The reply is `CANCELLED` soon after `cancel` fires, and never stays away: an engine that died replies
    /// to everything with `ENGINE_FAILED`, be it by dropping `reply`.
    fn request(&self, request: EngineRequest, cancel: CancellationToken, reply: ReplyHandle);

    /// Takes the one reply to an [`EngineEvent::ReverseRequest`] of this engine: the client's body, or why
    /// there is none (`UNSUPPORTED` when no client can do it, `TIMEOUT`, `CANCELLED` when the session
    /// ends). Must not block.
    fn reverse_reply(&self, id: i64, result: Result<Value, Failure>) {
        if id != CHILD_SESSION_REQUEST {
            // An engine that sends no reverse request gets no reply.
            tracing::warn!(id, good = result.is_ok(), "a reply to no reverse request");
        }
    }
}
