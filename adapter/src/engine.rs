//! What a debugger for one debuggee is to the hub: requests in, answers and events out.
//!
//! The built-in .NET engine and every child adapter implement [`Engine`]. An engine speaks DAP bodies with *its own*
//! ids, 1-based lines and columns and native paths; it never sees a client. The hub renumbers for each client.

pub mod builds;
pub mod child;
pub mod console;
pub mod coreclr;
pub mod expected;
pub mod hit_condition;
pub mod kind;
pub mod log_message;
pub mod path_map;
pub mod select;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use dap_wire::{ErrorCode, Failure};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::io::Broker;

/// Commands that mean something only at a stop.
pub const NEED_STOP: [&str; 19] = [
    "continue",
    "next",
    "stepIn",
    "stepOut",
    "stepBack",
    "reverseContinue",
    "goto",
    "restartFrame",
    "stackTrace",
    "scopes",
    "variables",
    "evaluate",
    "setVariable",
    "setExpression",
    "exceptionInfo",
    "gotoTargets",
    "stepInTargets",
    "completions",
    "dataBreakpointInfo",
];

/// The argument of `variables` by which the hub tells an engine that nothing may run: the client may only look.
pub const LOOKS_ONLY: &str = "tandemLooksOnly";

/// The argument of `terminate` by which the hub tells an engine to end the program whatever it wants.
pub const BY_FORCE: &str = "tandemByForce";

/// The argument of `terminate` by which the hub tells an engine that the program stands, as far as clients know, and will be
/// resumed.
pub const STANDS: &str = "tandemStands";

/// Key of an engine's answer to `terminate`: the program got a signal, which one that stands hears when it goes on.
pub const HEARS_WHEN_IT_RUNS: &str = "hearsWhenItRuns";

/// Key that an engine adds to the body of `stopped` when a breakpoint's condition could not be evaluated: `condition` if it is
/// known, and `reason`. The hub takes it out.
pub const CONDITION_FAILURE: &str = "conditionFailure";

/// Key that the hub adds to a breakpoint whose `condition` joins several: their texts. The engine takes it out; where it cannot
/// read one of them, it is to stop each time.
pub const JOINED_CONDITIONS: &str = "joinedConditions";

/// A DAP request to an engine.
#[derive(Debug, Clone)]
pub struct EngineRequest {
    /// DAP command, for example `stackTrace`.
    pub command: String,
    /// DAP arguments; `Null` when there are none.
    pub arguments: Value,
}

/// An engine's answer to a request of the hub.
#[derive(Debug)]
pub struct Answer {
    /// The hub's number of the request.
    pub number: u64,
    /// DAP command.
    pub command: String,
    /// The body, with the engine's ids.
    pub result: Result<Value, Failure>,
}

/// Where the one answer to a request goes. Answers reach the hub in the order in which they are given, from whatever
/// thread: one queue carries them all.
#[derive(Debug)]
pub struct Reply {
    number: u64,
    /// Taken with the answer.
    command: Option<String>,
    answers: mpsc::UnboundedSender<Answer>,
}

impl Reply {
    /// For the request of this number and command.
    pub fn new(number: u64, command: String, answers: mpsc::UnboundedSender<Answer>) -> Self {
        Self { number, command: Some(command), answers }
    }

    /// Gives the answer.
    pub fn send(mut self, result: Result<Value, Failure>) {
        self.give(result);
    }

    fn give(&mut self, result: Result<Value, Failure>) {
        if let Some(command) = self.command.take() {
            // A hub that has ended needs no answer.
            drop(self.answers.send(Answer { number: self.number, command, result }));
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.give(Err(Failure::new(ErrorCode::EngineFailed, "the debug engine has ended")));
    }
}

/// What an engine tells of its own accord.
#[derive(Debug, Clone)]
pub enum EngineEvent {
    /// A DAP event, with the engine's ids. `initialized` means: breakpoints may come now.
    Dap {
        /// For example `stopped`.
        event: String,
        /// Its body; `Null` when there is none.
        body: Value,
    },
    /// A reverse request (DAP `runInTerminal`, `startDebugging`): the hub finds the one client that carries it out, and
    /// [`Engine::answer`] gets exactly one answer, however that client behaves.
    Asks {
        /// The engine's own number for it; the answer repeats it.
        ask: i64,
        /// DAP command.
        command: String,
        /// Its arguments, as the client is to see them.
        arguments: Value,
    },
    /// All it can do, as DAP `Capabilities`, before it says `initialized`; what is not named it cannot. An engine that
    /// never says this offers what `hub::capabilities::initial` promises.
    Capabilities(Value),
    /// A program that this one has started is debugged too, in a session of its own.
    Spawned(Spawned),
    /// The engine broke and answers nothing more.
    Died(Failure),
}

impl EngineEvent {
    /// What it is, for a log: never what it says.
    pub fn name(&self) -> &str {
        match self {
            Self::Dap { event, .. } => event,
            Self::Asks { command, .. } => command,
            Self::Capabilities(_) => "capabilities",
            Self::Spawned(_) => "spawned",
            Self::Died(_) => "died",
        }
    }
}

/// Breakpoint requests as an engine got them last: command and source to arguments.
pub type Marks = BTreeMap<(String, String), Value>;

/// The number under which the hub itself asks a client to open a child session; no engine uses it.
pub const CHILD_SESSION: i64 = 0;

/// Makes the engine of a session that is about to be.
type MakeEngine = Box<dyn FnOnce(Broker, mpsc::UnboundedSender<EngineEvent>) -> Arc<dyn Engine> + Send>;

/// What a session for a program that another one has started is made of. Clones are the same.
#[derive(Clone)]
pub struct Spawned {
    /// For people: what it is.
    pub name: String,
    /// What its launch would say.
    pub launch: Value,
    /// The breakpoints of the session that started it, as they change.
    pub marks: watch::Receiver<Marks>,
    make: Arc<Mutex<Option<MakeEngine>>>,
}

impl Spawned {
    /// `make` is called once, when the session is there.
    pub fn new(
        name: String,
        launch: Value,
        marks: watch::Receiver<Marks>,
        make: impl FnOnce(Broker, mpsc::UnboundedSender<EngineEvent>) -> Arc<dyn Engine> + Send + 'static,
    ) -> Self {
        Self { name, launch, marks, make: Arc::new(Mutex::new(Some(Box::new(make)))) }
    }

    /// The engine; a second time there is none.
    pub fn engine(
        &self,
        broker: Broker,
        events: mpsc::UnboundedSender<EngineEvent>,
    ) -> Option<Arc<dyn Engine>> {
        let make = self.make.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(make(broker, events))
    }
}

impl std::fmt::Debug for Spawned {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Spawned").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A debugger for one debuggee, built in or delegated to a child adapter: a handle to a thread or task.
///
/// Events travel on a channel handed over when the engine is made (see `engine::select`).
pub trait Engine: Send + Sync {
    /// Takes one request, and gives its answer to `reply`. Several may be in flight, so that `pause` can overtake
    /// `evaluate`. Must not block.
    ///
    /// The answer is `CANCELLED` soon after `cancel` fires, and never stays away: an engine that died answers everything
    /// with `ENGINE_FAILED`, be it by dropping `reply`.
    fn request(&self, request: EngineRequest, cancel: CancellationToken, reply: Reply);

    /// Takes the one answer to an [`EngineEvent::Asks`] of this engine: the client's body, or why there is none
    /// (`UNSUPPORTED` when no client can do it, `TIMEOUT`, `CANCELLED` when the session ends). Must not block.
    fn answer(&self, ask: i64, result: Result<Value, Failure>) {
        if ask == CHILD_SESSION {
            return;
        }
        // An engine that asks nothing gets nothing.
        tracing::warn!(ask, good = result.is_ok(), "an answer nobody asked for");
    }
}
