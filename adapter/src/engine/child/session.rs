//! The session with one adapter: handshake, requests and events in between, and the end.
//!
//! In reading order: this file (the handshake, and what the adapter says), [`requests`] (asking it), [`reverse`] (what it asks),
//! [`family`] (programs that the program starts), [`ending`].
//!
//! The answer to `launch` may come before or after `configurationDone`, and `initialized` before, after, twice or never:
//! the hub is told of it once, after the launch was sent. `exited` and `terminated` are told
//! once, whatever the adapter says.
//!
//! Tasks: one per connection that takes what the adapter says (ends with the connection), one that takes further connections
//! (ends with the session), one for the end (bounded).

mod ending;
mod family;
mod requests;
mod reverse;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dap_wire::peer::{Incoming, Peer};
use dap_wire::{ErrorCode, Event, Failure, Request};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::connection::{self, Connection, WORDS_BYTES, with_last_words};
use super::debuggee::{self, Debuggee};
use super::profile::{Plan, Profile, ProgramIo};
use super::target::{Console, Target};
use super::{build, translate};
use crate::engine::{EngineEvent, EngineRequest, Marks};
use crate::io::{Broker, Child, Offer};
use family::Adopted;

/// How long an adapter may take for its `initialize`.
const HELLO_LIMIT: Duration = Duration::from_secs(20);
/// How long it may take until it can be configured, and from then until the program runs.
const LAUNCH_LIMIT: Duration = Duration::from_secs(60);
/// How long it may take for an ordinary request; less than the hub waits, so that its last words can be quoted.
const REQUEST_LIMIT: Duration = Duration::from_secs(28);
/// How long it may take to let go.
const GOODBYE_LIMIT: Duration = Duration::from_secs(2);
/// How long a program may take to end after it was asked to.
const TERM_LIMIT: Duration = Duration::from_secs(3);
/// How long an adapter may keep quiet about the program's end after the kernel told us of it.
const LATE_WORD: Duration = Duration::from_secs(2);
/// How long a program of ours may take to end after its adapter said that debugging is over.
const LAST_STEPS: Duration = Duration::from_secs(30);
/// How long an adapter may keep quiet about a process that runs or about being ready.
const SILENCE: Duration = Duration::from_millis(300);

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
    /// Somebody sees to the end.
    ending: bool,
    /// Nothing more is told.
    over: bool,
}

struct Live {
    connection: Connection,
    plan: Plan,
    target: Target,
    capabilities: Value,
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
    /// Somebody wants the end: a launch in progress gives up.
    give_up: CancellationToken,
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
            give_up: CancellationToken::new(),
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
        self.note_marks(&command, &arguments);
        match command.as_str() {
            "launch" | "attach" => self.launch(command == "attach", &arguments, &cancel).await,
            "configurationDone" => self.configured(&cancel).await,
            "disconnect" => {
                self.give_up.cancel();
                self.let_go(arguments["terminateDebuggee"] == true).await;
                Ok(Value::Null)
            }
            "terminate" => self.terminate(arguments).await,
            "setExceptionBreakpoints" => {
                let capabilities = self.capabilities();
                translate::exception_filters(&mut arguments, &capabilities);
                if capabilities["exceptionBreakpointFilters"].as_array().is_none_or(Vec::is_empty) {
                    return Ok(Value::Null);
                }
                self.ask(&command, arguments, &cancel).await
            }
            "setFunctionBreakpoints" if self.capabilities()["supportsFunctionBreakpoints"] != true => {
                Ok(translate::refused_breakpoints(&arguments, self.profile.name()))
            }
            _ => self.ask(&command, arguments, &cancel).await,
        }
    }

    async fn launch(
        self: &Arc<Self>,
        attach: bool,
        attributes: &Value,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        let outcome = tokio::select! {
            outcome = self.start(attach, attributes) => outcome,
            () = self.give_up.cancelled() => Err(Failure::cancelled()),
            () = cancel.cancelled() => Err(Failure::cancelled()),
        };
        if outcome.is_err() {
            self.let_go(true).await;
        }
        outcome
    }

    async fn start(self: &Arc<Self>, attach: bool, attributes: &Value) -> Result<Value, Failure> {
        let adopted = self.adopted.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (plan, target, offer, connection, incoming) = match adopted {
            Some(adopted) => {
                let Adopted { plan, target, connection, incoming } = adopted;
                (plan, target, None, connection, incoming)
            }
            None => {
                let target = Target::parse(attributes)?;
                let mut plan = self.plan(attach, &target).await?;
                let offer = match plan.program_io {
                    _ if attach || target.console != Console::Piped => {
                        self.broker.set_not_owned();
                        None
                    }
                    ProgramIo::Told => {
                        self.broker.set_told();
                        None
                    }
                    ProgramIo::Offered => Some(self.broker.offer(target.pty)?),
                    ProgramIo::Inherited | ProgramIo::Terminal | ProgramIo::Elsewhere => None,
                };
                if let Some(offer) = &offer {
                    plan.hand_over(&offer.paths);
                }
                let (connection, incoming) = connection::start(&plan, &self.broker).await?;
                (plan, target, offer, connection, incoming)
            }
        };
        self.take_in(connection, plan, target, offer, incoming).await
    }

    async fn plan(&self, attach: bool, target: &Target) -> Result<Plan, Failure> {
        let (profile, asked) = (self.profile.clone(), target.clone());
        let events = self.events.clone();
        let give_up = self.give_up.clone();
        let planning = tokio::task::spawn_blocking(move || {
            let say = |line: &str| {
                let body = json!({ "category": "console", "output": format!("{line}\n") });
                drop(events.send(EngineEvent::Dap { event: "output".into(), body }));
            };
            match (attach, profile.builds(&asked)) {
                (true, _) => profile.attach(&asked),
                (false, true) => profile.launch(&build::built(asked, &say, &|| give_up.is_cancelled())?),
                (false, false) => profile.launch(&asked),
            }
        });
        planning.await.map_err(|error| {
            Failure::new(ErrorCode::EngineFailed, format!("preparing the launch failed: {error}"))
        })?
    }

    /// Shakes hands with an adapter that can be talked to, and asks it to launch.
    async fn take_in(
        self: &Arc<Self>,
        mut connection: Connection,
        plan: Plan,
        target: Target,
        offer: Option<Offer>,
        incoming: mpsc::UnboundedReceiver<Incoming>,
    ) -> Result<Value, Failure> {
        let peer = connection.peer.clone();
        let (command, arguments) = (plan.command, plan.arguments.clone());
        let hello = introduction(&plan.adapter_id);
        if let Some(listener) = connection.listener.take() {
            self.take_in_children(listener);
        }
        *self.live() = Some(Live {
            connection,
            plan,
            target,
            capabilities: Value::Null,
            program: None,
            offer,
            debuggee: None,
            parent: None,
        });
        tokio::spawn(self.clone().listen(peer.clone(), incoming));
        let introduced = peer.request("initialize", hello, HELLO_LIMIT).await;
        let capabilities = match introduced {
            Ok(capabilities) => capabilities,
            Err(_) if peer.is_closed() => return Err(self.why_it_broke("before it introduced itself").await),
            Err(failure) => {
                return Err(with_last_words(failure.message, &self.last_words().await));
            }
        };
        self.learn_capabilities(&capabilities);
        self.progress.send_modify(|now| now.asked = true);
        let answer = tokio::select! {
            answer = peer.request(command, arguments, FOREVER) => answer,
            stalled = self.stalled() => Err(with_last_words(stalled, &self.last_words().await)),
        };
        let body = match answer {
            Err(_) if peer.is_closed() => return Err(self.why_it_broke("before the program ran").await),
            answer => answer.map_err(|failure| self.launch_failed(failure))?,
        };
        self.progress.send_modify(|now| now.launched = true);
        tokio::spawn(self.clone().say_what_the_adapter_does_not());
        Ok(body)
    }

    /// Resolves when the adapter takes too long to get ready or, once configured, to launch.
    async fn stalled(&self) -> String {
        if !self.reached(LAUNCH_LIMIT, |now| now.initialized).await {
            return format!("the debug adapter was not ready within {} s", LAUNCH_LIMIT.as_secs());
        }
        let mut progress = self.progress.subscribe();
        // The sender lives as long as we do; clients may take their time to configure.
        drop(progress.wait_for(|now| now.configured).await);
        tokio::time::sleep(LAUNCH_LIMIT).await;
        format!("the debug adapter did not launch the program within {} s", LAUNCH_LIMIT.as_secs())
    }

    /// Some adapters never say `initialized`, and some nothing of the process.
    async fn say_what_the_adapter_does_not(self: Arc<Self>) {
        let limit = if self.waits_for_first_child() { LAUNCH_LIMIT } else { SILENCE };
        if !self.reached(limit, |now| now.initialized || now.over).await {
            self.initialized();
        }
        let mut progress = self.progress.subscribe();
        drop(progress.wait_for(|now| now.configured || now.over).await);
        if self.reached(SILENCE, |now| now.process || now.over).await {
            return;
        }
        let (pid, name, how) = match self.live().as_ref() {
            Some(live) if !live.plan.launched => {
                let pid = live.target.process_id().ok();
                let known = || live.target.program.display().to_string();
                (pid, pid.map_or_else(known, debuggee::name_of), "attach")
            }
            Some(live) => {
                let ours = live.program.as_ref().map(Child::pid);
                let inherited = (live.plan.program_io == ProgramIo::Inherited
                    && !live.plan.quirks.code_is_told)
                    .then(|| live.connection.process.child().map(Child::pid))
                    .flatten();
                (ours.or(inherited), live.target.program.display().to_string(), "launch")
            }
            None => return,
        };
        let mut body = json!({ "name": name, "isLocalProcess": true, "startMethod": how });
        if let Some(pid) = pid {
            body["systemProcessId"] = json!(pid);
        }
        self.process(body);
    }

    fn learn_capabilities(&self, more: &Value) {
        let known = match self.live().as_mut() {
            Some(live) => {
                match (&mut live.capabilities, more) {
                    (Value::Object(known), Value::Object(more)) => known.extend(more.clone()),
                    (known, more) => *known = more.clone(),
                }
                live.capabilities.clone()
            }
            None => return,
        };
        // A hub that has gone needs no telling.
        drop(self.events.send(EngineEvent::Capabilities(known)));
    }

    async fn configured(&self, cancel: &CancellationToken) -> Result<Value, Failure> {
        let supported = self.capabilities()["supportsConfigurationDoneRequest"] == true;
        let outcome =
            if supported { self.ask("configurationDone", json!({}), cancel).await } else { Ok(Value::Null) };
        self.progress.send_modify(|now| now.configured = true);
        outcome
    }

    fn initialized(&self) {
        if !self.progress.send_if_modified(|now| !std::mem::replace(&mut now.initialized, true)) {
            return;
        }
        self.tell("initialized", Value::Null);
    }

    fn process(self: &Arc<Self>, body: Value) {
        let pid = body["systemProcessId"].as_u64().and_then(|pid| u32::try_from(pid).ok());
        if let (Some(live), Some(pid)) = (self.live().as_mut(), pid) {
            live.debuggee = Debuggee::of(pid);
            if live.offer.is_some() {
                tokio::spawn(self.clone().until_taken(pid));
            }
            self.broker.set_reader(pid);
        }
        self.progress.send_modify(|now| now.process = true);
        self.tell("process", body);
    }

    /// The program is told of before it has opened its pipes: what starts it does that first thing.
    async fn until_taken(self: Arc<Self>, pid: u32) {
        let taken = || {
            let mut live = self.live();
            live.as_mut().and_then(|live| live.offer.as_mut()).is_none_or(|offer| offer.taken_by(pid))
        };
        while !taken() && !self.progress.borrow().over {
            tokio::time::sleep(PROBE).await;
        }
    }

    /// Takes all that the adapter says, until it hangs up.
    async fn listen(self: Arc<Self>, peer: Peer, mut incoming: mpsc::UnboundedReceiver<Incoming>) {
        while let Some(said) = incoming.recv().await {
            match said {
                Incoming::Event(event) => self.said(event).await,
                Incoming::Request(request) => self.wanted(&peer, request),
            }
        }
        self.progress.send_modify(|now| now.closed = true);
        tokio::spawn(self.finish());
    }

    async fn said(self: &Arc<Self>, Event { event, body, .. }: Event) {
        match event.as_str() {
            "initialized" if self.waits_for_first_child() => self.configure_parent(),
            "initialized" => {
                // Some say so before they were asked to launch.
                self.reached(HELLO_LIMIT, |now| now.asked || now.over).await;
                self.initialized();
            }
            "capabilities" => self.learn_capabilities(&body["capabilities"]),
            "process" => self.process(body),
            "exited" => {
                let code = body["exitCode"].as_i64().unwrap_or(0);
                self.said_farewell(0, body);
                self.progress.send_modify(|now| now.exit = Some(code));
                tokio::spawn(self.clone().finish());
            }
            "terminated" => {
                self.said_farewell(1, body);
                self.progress.send_modify(|now| now.terminated = true);
                tokio::spawn(self.clone().finish());
            }
            "output" => self.output(body),
            _ => self.tell(&event, body),
        }
    }

    /// The first word counts; some say it twice, the second time with less.
    fn said_farewell(&self, which: usize, body: Value) {
        let mut farewell = self.farewell.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(said) = farewell.get_mut(which).filter(|said| said.is_null()) {
            *said = body;
        }
    }

    fn output(&self, mut body: Value) {
        let (told, own_word) = match self.live().as_ref() {
            Some(live) => (live.plan.program_io == ProgramIo::Told, live.plan.quirks.speaks_as_stdout),
            None => (false, false),
        };
        if own_word && body["category"] == "stdout" {
            body["category"] = json!("console");
        }
        self.remember(&body);
        if let Some(code) = self.profile.exit_code_in(body["output"].as_str().unwrap_or_default()) {
            self.progress.send_modify(|now| now.exit = Some(code));
        }
        match translate::plain_output(&body) {
            Some((category, text)) if told => self.broker.feed(category == "stderr", text),
            _ => self.tell("output", body),
        }
    }
}

impl Session {
    /// Keeps what an adapter prints while it launches, for the reason of a refusal.
    fn remember(&self, body: &Value) {
        let (category, text) = (body["category"].as_str(), body["output"].as_str().unwrap_or_default());
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if category != Some("telemetry") && said.len() < WORDS_BYTES && !self.progress.borrow().launched {
            said.extend(text.chars().take(WORDS_BYTES));
        }
    }

    /// An adapter's refusal to launch: in its own words, or as ours, to be shown, with the reason that it only printed.
    fn launch_failed(&self, failure: Failure) -> Failure {
        if failure.code != ErrorCode::EngineFailed {
            return failure;
        }
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let words = said.trim();
        if words.is_empty() {
            return Failure { code: ErrorCode::LaunchFailed, ..failure };
        }
        let message = format!("{}; it said: {words}", failure.message.trim_end_matches('.'));
        Failure::new(ErrorCode::LaunchFailed, message).data(failure.data)
    }
}

/// What we say of ourselves: once, for all clients; the hub translates for each.
fn introduction(adapter_id: &str) -> Value {
    json!({
        "clientID": "tandem", "clientName": "Tandem", "adapterID": adapter_id, "locale": "en",
        "linesStartAt1": true, "columnsStartAt1": true, "pathFormat": "path",
        "supportsVariableType": true, "supportsVariablePaging": true, "supportsRunInTerminalRequest": true,
        "supportsMemoryReferences": true, "supportsProgressReporting": true, "supportsInvalidatedEvent": true,
        "supportsMemoryEvent": true, "supportsArgsCanBeInterpretedByShell": true,
        "supportsStartDebuggingRequest": true, "supportsANSIStyling": true,
    })
}
