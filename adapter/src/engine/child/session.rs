//! The session with one adapter: handshake, requests and events in between, and the end.
//!
//! In reading order: this file (what a session is), [`launch`] (the handshake), [`said`] (what the adapter says), [`requests`]
//! (asking it), [`conditions`] (breakpoints whose conditions fail), [`panics`] (of Rust), [`native`] (values and frames of
//! machine code), [`threads`], [`pausing`], [`paging`], [`reverse`] (what it asks), [`family`] (programs that the program starts), [`delegated`] (a
//! program that the adapter starts through our stub), [`undebugged`] (`noDebug`), [`terminating`], [`ending`].
//!
//! The answer to `launch` may come before or after `configurationDone`, and `initialized` before, after, twice or never:
//! the hub is notified once, after the launch was sent. `exited` and `terminated` are told
//! once, whatever the adapter says.
//!
//! Tasks: one per connection that takes what the adapter says (ends with the connection), one that takes further connections
//! (ends with the session), one for the end (bounded).

mod conditions;
mod delegated;
mod ending;
mod family;
mod helpers;
mod launch;
mod native;
mod paging;
mod panics;
mod pausing;
mod requests;
mod reverse;
mod said;
mod terminating;
mod threads;
mod undebugged;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dap_wire::peer::Peer;
use dap_wire::{Failure, Request};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::Connection;
use super::debuggee::Debuggee;
use super::inspector::Opened;
use super::profile::{Plan, Profile};
use super::target::Target;
use super::{offered, translate};
use crate::engine::{BY_FORCE, EngineEvent, EngineRequest, Marks, STANDS};
use crate::io::{Broker, Child, Offer};
use conditions::Conditions;
use family::Adopted;
use paging::Elements;
use panics::Panics;
use pausing::Motion;
use threads::Threads;

/// How long an adapter may take for its `initialize`.
const HELLO_LIMIT: Duration = Duration::from_secs(20);
/// How long it may take until it can be configured, and from then until the program runs.
const LAUNCH_LIMIT: Duration = Duration::from_secs(60);
/// How long it may take for an ordinary request; less than the hub waits, so that its last words can be quoted.
const REQUEST_LIMIT: Duration = Duration::from_secs(28);
/// How long it may take to let go.
const GOODBYE_LIMIT: Duration = Duration::from_secs(2);
/// The same of a program that lives on: the next to attach finds it held until then. Below what the hub waits.
const RELEASE_LIMIT: Duration = Duration::from_secs(4);
/// How long an adapter may keep quiet about the program's end after the kernel told us of it.
const LATE_WORD: Duration = Duration::from_secs(2);
/// How long a program of ours may take to end after its adapter said that debugging is over.
const LAST_STEPS: Duration = Duration::from_secs(30);
/// How long an adapter may keep quiet about a process that runs.
const SILENCE: Duration = Duration::from_millis(300);
/// How long one that nobody knows may take to be ready after its launch, before it is taken for one that never says so.
const READY_LIMIT: Duration = Duration::from_secs(3);

/// Between two looks at whether a program has opened its pipes.
const PROBE: Duration = Duration::from_millis(5);
/// The answer to a launch waits for clients, who may take their time.
const FOREVER: Duration = Duration::from_secs(24 * 3600);

/// How far the session is. Nothing in it goes back.
#[derive(Debug, Clone, Default)]
struct Progress {
    /// `launch` or `attach` was sent.
    asked: bool,
    /// The hub was told `initialized`.
    initialized: bool,
    /// The hub has configured.
    configured: bool,
    /// The program was seen to end; only of one that the adapter starts through our stub.
    gone: bool,
    /// `launch` or `attach` was answered with success: until then its answer tells what is wrong.
    launched: bool,
    /// The hub was told of the process.
    process: bool,
    /// The adapter said `exited`, with this code.
    exit: Option<i64>,
    /// The adapter said `terminated`.
    terminated: bool,
    /// The connection is gone.
    closed: bool,
    /// How often the program was seen to stop.
    stops: u64,
    /// Somebody sees to the end.
    ending: bool,
    /// Nothing more is told.
    over: bool,
}

struct Live {
    connection: Connection,
    plan: Plan,
    target: Target,
    capabilities: Arc<Value>,
    /// Started for a `runInTerminal`.
    program: Option<Child>,
    /// Pipes the program is to open.
    offer: Option<Offer>,
    /// The process the adapter told of, or that we know.
    debuggee: Option<Debuggee>,
    /// The adapter's first connection, when the program has one of its own.
    parent: Option<Peer>,
}

/// One session.
pub(super) struct Session {
    profile: Arc<dyn Profile>,
    broker: Broker,
    events: mpsc::UnboundedSender<EngineEvent>,
    progress: watch::Sender<Progress>,
    live: Mutex<Option<Live>>,
    /// A connection that is there already, for a program another one has started.
    adopted: Mutex<Option<Adopted>>,
    /// Breakpoints as the adapter has them, for the programs that this one starts.
    marks: watch::Sender<Marks>,
    /// What the adapter asked a client, by our number.
    asks: Mutex<HashMap<i64, (Peer, Request)>>,
    /// Bodies of the adapter's `exited` and `terminated`, which may say more than we look at.
    farewell: Mutex<[Value; 2]>,
    /// What the adapter printed before the launch was answered: a refusal often has its reason only there.
    said: Mutex<String>,
    threads: Threads,
    /// How the program was set going, and whether it is to be paused.
    motion: Mutex<Motion>,
    /// Which values have announced elements.
    elements: Mutex<Elements>,
    conditions: Conditions,
    panics: Panics,
    /// Why the adapter cannot start the program that it was configured for.
    refusal: Mutex<Option<Failure>>,
    /// Somebody wants the end: a launch in progress gives up.
    give_up: CancellationToken,
    /// What the launch has in threads of their own, such as a build, which must not outlive the session.
    planning: TaskTracker,
    /// What was opened in a program that is not ours, and is still to be closed.
    opened: Mutex<Option<Opened>>,
    /// How often the signal that asks the program to end may still wait for the program to run; 0: none is to be sent.
    owed_signals: AtomicU32,
    /// The adapter will stop at that signal.
    stops_at_signal: AtomicBool,
    /// No more connections are taken.
    closing: CancellationToken,
}

impl Session {
    pub(super) fn new(
        profile: Arc<dyn Profile>,
        broker: Broker,
        events: mpsc::UnboundedSender<EngineEvent>,
    ) -> Self {
        Self {
            profile,
            broker,
            events,
            progress: watch::Sender::default(),
            live: Mutex::default(),
            adopted: Mutex::default(),
            marks: watch::Sender::default(),
            asks: Mutex::default(),
            farewell: Mutex::default(),
            said: Mutex::default(),
            threads: Threads::default(),
            motion: Mutex::default(),
            elements: Mutex::default(),
            conditions: Conditions::default(),
            panics: Panics::default(),
            refusal: Mutex::default(),
            give_up: CancellationToken::new(),
            planning: TaskTracker::new(),
            opened: Mutex::default(),
            owed_signals: AtomicU32::new(0),
            stops_at_signal: AtomicBool::new(false),
            closing: CancellationToken::new(),
        }
    }

    fn live(&self) -> MutexGuard<'_, Option<Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, event: &str, body: Value) {
        if !self.progress.borrow().over {
            // A hub that has gone needs no telling.
            drop(self.events.send(EngineEvent::Dap { event: event.into(), body }));
        }
    }

    /// Waits at most `limit` for the session to get somewhere.
    async fn reached(&self, limit: Duration, there: impl Fn(&Progress) -> bool) -> bool {
        let mut progress = self.progress.subscribe();
        matches!(tokio::time::timeout(limit, progress.wait_for(|now| there(now))).await, Ok(Ok(_)))
    }

    /// Answers one request of the hub.
    pub(super) async fn asked(
        self: Arc<Self>,
        request: EngineRequest,
        cancel: CancellationToken,
    ) -> Result<Value, Failure> {
        let EngineRequest { command, mut arguments } = request;
        if self.is_undebugged()
            && let Some(answer) = undebugged::answer(&command, &arguments)
        {
            return Ok(answer);
        }
        self.note_marks(&command, &arguments);
        match command.as_str() {
            // What is rare and large has memory of its own: each request is moved about as often as the largest.
            "launch" | "attach" => Box::pin(self.launch(command == "attach", &arguments, &cancel)).await,
            "configurationDone" => Box::pin(self.configured(&cancel)).await,
            "disconnect" => {
                self.give_up.cancel();
                Box::pin(self.let_go(arguments["terminateDebuggee"] == true)).await;
                Ok(Value::Null)
            }
            "terminate" if arguments[BY_FORCE] == true => {
                Box::pin(self.end_program()).await;
                Ok(Value::Null)
            }
            "terminate" => Box::pin(self.ask_to_end(arguments[STANDS] == true)).await,
            "setExceptionBreakpoints" => {
                let capabilities = self.capabilities();
                translate::exception_filters(&mut arguments, &capabilities);
                Box::pin(self.choose_panics(&mut arguments, &cancel)).await;
                let capabilities = self.adapters_own(&capabilities);
                if capabilities["exceptionBreakpointFilters"].as_array().is_none_or(Vec::is_empty) {
                    return Ok(Value::Null);
                }
                self.ask(&command, arguments, &cancel).await
            }
            "setFunctionBreakpoints" if !self.can("supportsFunctionBreakpoints") => {
                Ok(translate::refused_breakpoints(&arguments, self.profile.name()))
            }
            _ => {
                let profile = &self.profile;
                if command == "exceptionInfo"
                    && let Some(info) = self.panic_info(&arguments)
                {
                    return Ok(info);
                }
                if requests::RESUMING.contains(&command.as_str()) && self.is_core() {
                    return Err(requests::core_does_not_run(&command));
                }
                offered::check(&command, &self.capabilities(), profile.own_requests(), profile.name())?;
                if let Some(thread) = self.unknown_thread(&command, &arguments) {
                    Box::pin(self.look_for_thread(thread, &cancel)).await?;
                }
                match command.as_str() {
                    "setBreakpoints" | "setFunctionBreakpoints" => {
                        return Box::pin(self.set_conditional(&command, arguments, &cancel)).await;
                    }
                    "variables" | "evaluate" | "stackTrace" if self.profile.is_native() => {
                        return Box::pin(self.ask_native(&command, arguments, &cancel)).await;
                    }
                    "continue" => {
                        let answer = Box::pin(self.go_on(arguments, &cancel)).await?;
                        self.send_owed_signal();
                        return Ok(answer);
                    }
                    "pause" => {
                        self.conditions.pausing(true);
                        return Box::pin(self.pause(arguments, &cancel)).await;
                    }
                    "variables" => return Box::pin(self.variables(arguments, &cancel)).await,
                    "setVariable" => {
                        let answer = self.ask(&command, arguments, &cancel).await?;
                        return Ok(translate::assigned(answer));
                    }
                    _ => {}
                }
                if command == "setDataBreakpoints" {
                    let taken =
                        translate::take_data_breakpoints(&mut arguments, |id| profile.takes_data_id(id));
                    let mut answer = self.ask(&command, arguments, &cancel).await?;
                    translate::put_back(&mut answer, taken);
                    return Ok(answer);
                }
                if !offered::is_standard(&command) {
                    return Box::pin(self.ask_its_own(&command, arguments, &cancel)).await;
                }
                self.ask(&command, arguments, &cancel).await
            }
        }
    }
}
