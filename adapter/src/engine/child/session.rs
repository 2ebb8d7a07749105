//! The session with one adapter: handshake, requests and events in between, and the end.
//!
//! The answer to `launch` may come before or after `configurationDone`, and `initialized` before, after, twice or never:
//! the hub is told of it once, after the launch was sent. At the end the program's exit code is the kernel's word where
//! the program is our child, else the adapter's; `exited` and `terminated` are told once, whatever the adapter says.
//!
//! Tasks: one that takes what the adapter says (ends with the connection), one for the end (bounded).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dap_wire::peer::{Incoming, Peer};
use dap_wire::{ErrorCode, Event, Failure, Request};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::connection::{self, Connection, with_last_words};
use super::debuggee::Debuggee;
use super::profile::{Plan, Profile, ProgramIo};
use super::target::Target;
use super::{terminal, translate};
use crate::engine::{EngineEvent, EngineRequest};
use crate::io::{Broker, Child};

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
/// How long an adapter may keep quiet about a process that runs or about being ready.
const SILENCE: Duration = Duration::from_millis(300);

/// Requests whose refusal is about what was typed, not about the engine.
const EVALUATING: [&str; 3] = ["evaluate", "setVariable", "setExpression"];

/// How far the session is. Nothing in it goes back.
#[derive(Debug, Clone, Default)]
struct Progress {
    /// `launch` or `attach` was sent.
    asked: bool,
    /// The hub was told `initialized`.
    initialized: bool,
    /// The hub has configured.
    configured: bool,
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
    /// The process the adapter told of, or that we know.
    debuggee: Option<Debuggee>,
}

/// One session.
pub(super) struct Session {
    profile: Arc<dyn Profile>,
    broker: Broker,
    events: mpsc::UnboundedSender<EngineEvent>,
    progress: watch::Sender<Progress>,
    live: Mutex<Option<Live>>,
    /// Somebody wants the end: a launch in progress gives up.
    give_up: CancellationToken,
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
            give_up: CancellationToken::new(),
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
        match command.as_str() {
            "launch" | "attach" => self.launch(command == "attach", &arguments, &cancel).await,
            "configurationDone" => self.configured(&cancel).await,
            "disconnect" => {
                self.give_up.cancel();
                self.let_go().await;
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

    fn capabilities(&self) -> Value {
        self.live().as_ref().map_or(Value::Null, |live| live.capabilities.clone())
    }

    fn peer(&self) -> Result<Peer, Failure> {
        let gone = || Failure::new(ErrorCode::EngineFailed, "the debug adapter does not run");
        self.live().as_ref().map(|live| live.connection.peer.clone()).ok_or_else(gone)
    }

    /// Asks the adapter; a failure of the adapter itself quotes its last words.
    async fn ask(
        &self,
        command: &str,
        arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        let peer = self.peer()?;
        let understands_cancel = self.capabilities()["supportsCancelRequest"] == true;
        let outcome = if understands_cancel {
            peer.request_or_cancel(command, arguments, REQUEST_LIMIT, cancel).await
        } else {
            tokio::select! {
                outcome = peer.request(command, arguments, REQUEST_LIMIT) => outcome,
                () = cancel.cancelled() => Err(Failure::cancelled()),
            }
        };
        match outcome {
            Err(failure) if peer.is_closed() && failure.code == ErrorCode::EngineFailed => {
                Err(self.why_it_broke(&format!("before it answered `{command}`")).await)
            }
            Err(failure) if failure.code == ErrorCode::Timeout => {
                let words = self.last_words().await;
                let quoted = if words.is_empty() { words } else { format!("; its last words: {words}") };
                Err(Failure { message: format!("{}{quoted}", failure.message), ..failure })
            }
            Err(failure) if failure.code == ErrorCode::EngineFailed && EVALUATING.contains(&command) => {
                Err(Failure { code: ErrorCode::EvaluationFailed, ..failure })
            }
            outcome => outcome,
        }
    }

    async fn last_words(&self) -> String {
        let lines = match self.live().as_ref() {
            Some(live) => live.connection.process.lines(),
            None => None,
        };
        if let Some(lines) = lines {
            lines.settled().await;
        }
        self.live().as_ref().map_or_else(String::new, |live| live.connection.process.last_words(&self.broker))
    }

    async fn why_it_broke(&self, when: &str) -> Failure {
        let words = self.last_words().await;
        let (what, code, why) = match self.live().as_ref() {
            Some(live) => (
                live.plan.spec.program.display().to_string(),
                live.connection.process.child().exited(),
                live.connection.peer.why_broken(),
            ),
            None => (self.profile.name().to_owned(), None, None),
        };
        let how = match (why, code) {
            (Some(why), _) => format!("broke the protocol ({why})"),
            (None, Some(info)) => match info.signal {
                Some(signal) => format!("was ended by signal {signal}"),
                None => format!("ended with {}", info.code),
            },
            (None, None) => "hung up".into(),
        };
        with_last_words(format!("the debug adapter `{what}` {how} {when}"), &words)
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
            self.let_go().await;
        }
        outcome
    }

    async fn start(self: &Arc<Self>, attach: bool, attributes: &Value) -> Result<Value, Failure> {
        let target = Target::parse(attributes)?;
        let (profile, asked) = (self.profile.clone(), target.clone());
        let planning =
            tokio::task::spawn_blocking(
                move || {
                    if attach { profile.attach(&asked) } else { profile.launch(&asked) }
                },
            );
        let plan = planning.await.map_err(|error| {
            Failure::new(ErrorCode::EngineFailed, format!("preparing the launch failed: {error}"))
        })??;
        if attach {
            self.broker.set_not_owned();
        } else if plan.program_io == ProgramIo::Told {
            self.broker.set_told();
        }
        let (connection, incoming) = connection::start(&plan, &self.broker).await?;
        let peer = connection.peer.clone();
        let (command, arguments) = (plan.command, plan.arguments.clone());
        let hello = introduction(&plan.adapter_id);
        *self.live() =
            Some(Live { connection, plan, target, capabilities: Value::Null, program: None, debuggee: None });
        tokio::spawn(self.clone().listen(incoming));
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
            answer = peer.request(command, arguments, Duration::from_secs(24 * 3600)) => answer,
            stalled = self.stalled() => Err(with_last_words(stalled, &self.last_words().await)),
        };
        let body = match answer {
            Err(_) if peer.is_closed() => return Err(self.why_it_broke("before the program ran").await),
            answer => answer.map_err(launch_failed)?,
        };
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
        if !self.reached(SILENCE, |now| now.initialized).await {
            self.initialized();
        }
        let mut progress = self.progress.subscribe();
        drop(progress.wait_for(|now| now.configured || now.over).await);
        if self.reached(SILENCE, |now| now.process || now.over).await {
            return;
        }
        let (pid, name) = match self.live().as_ref() {
            Some(live) => {
                let ours = live.program.as_ref().map(Child::pid);
                let inherited = (live.plan.program_io == ProgramIo::Inherited
                    && !live.plan.quirks.code_is_told)
                    .then(|| live.connection.process.child().pid());
                (ours.or(inherited), live.target.program.display().to_string())
            }
            None => return,
        };
        let mut body = json!({ "name": name, "isLocalProcess": true, "startMethod": "launch" });
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

    fn process(&self, mut body: Value) {
        if let Some(live) = self.live().as_mut() {
            if live.plan.quirks.attached_for_us {
                body["startMethod"] = json!("launch");
            }
            if let Some(pid) = body["systemProcessId"].as_u64().and_then(|pid| u32::try_from(pid).ok()) {
                live.debuggee = Debuggee::of(pid);
                self.broker.set_reader(pid);
            }
        }
        self.progress.send_modify(|now| now.process = true);
        self.tell("process", body);
    }

    /// Takes all that the adapter says, until it hangs up.
    async fn listen(self: Arc<Self>, mut incoming: mpsc::UnboundedReceiver<Incoming>) {
        while let Some(said) = incoming.recv().await {
            match said {
                Incoming::Event(event) => self.said(event).await,
                Incoming::Request(request) => self.wanted(&request),
            }
        }
        self.progress.send_modify(|now| now.closed = true);
        tokio::spawn(self.finish());
    }

    async fn said(self: &Arc<Self>, Event { event, body, .. }: Event) {
        match event.as_str() {
            "initialized" => {
                // Some say so before they were asked to launch.
                self.reached(HELLO_LIMIT, |now| now.asked || now.over).await;
                self.initialized();
            }
            "capabilities" => self.learn_capabilities(&body["capabilities"]),
            "process" => self.process(body),
            "exited" => {
                let code = body["exitCode"].as_i64().unwrap_or(0);
                self.progress.send_modify(|now| now.exit = Some(code));
                tokio::spawn(self.clone().finish());
            }
            "terminated" => {
                self.progress.send_modify(|now| now.terminated = true);
                tokio::spawn(self.clone().finish());
            }
            "output" => self.output(body),
            _ => self.tell(&event, body),
        }
    }

    fn output(&self, body: Value) {
        let told = self.live().as_ref().is_some_and(|live| live.plan.program_io == ProgramIo::Told);
        if let Some(code) = self.profile.exit_code_in(body["output"].as_str().unwrap_or_default()) {
            self.progress.send_modify(|now| now.exit = Some(code));
        }
        match translate::plain_output(&body) {
            Some((category, text)) if told => self.broker.feed(category == "stderr", text),
            _ => self.tell("output", body),
        }
    }

    /// A reverse request.
    fn wanted(self: &Arc<Self>, request: &Request) {
        let outcome = match request.command.as_str() {
            "runInTerminal" => self.run_program(&request.arguments),
            other => Err(Failure::new(ErrorCode::Unsupported, format!("`{other}` is not supported here"))),
        };
        if let Ok(peer) = self.peer() {
            peer.answer(request, outcome);
        }
    }

    fn run_program(self: &Arc<Self>, arguments: &Value) -> Result<Value, Failure> {
        let mut live = self.live();
        let Some(live) = live.as_mut() else { return Err(Failure::cancelled()) };
        let mut child = self.broker.spawn(&terminal::spec(arguments, &live.target, &live.plan.spec)?)?;
        child.release()?;
        let pid = child.pid();
        // An adapter that seemed to keep the program's stdio has given them to us.
        live.plan.program_io = ProgramIo::Terminal;
        self.watch(&child);
        live.program = Some(child);
        Ok(json!({ "processId": pid }))
    }

    /// The kernel knows of the program's end; an adapter that hangs may never say so.
    fn watch(self: &Arc<Self>, child: &Child) {
        let (session, mut exit) = (self.clone(), child.exit());
        tokio::spawn(async move {
            connection::ended(&mut exit).await;
            session.reached(LATE_WORD, |now| now.terminated || now.closed || now.over).await;
            session.finish().await;
        });
    }

    /// The kernel's word on the program's end, if it is our child.
    fn own_exit(&self) -> Option<watch::Receiver<Option<crate::io::ExitInfo>>> {
        let live = self.live();
        let live = live.as_ref()?;
        let inherited = live.plan.program_io == ProgramIo::Inherited && !live.plan.quirks.code_is_told;
        match &live.program {
            Some(program) => Some(program.exit()),
            None if inherited => Some(live.connection.process.child().exit()),
            None => None,
        }
    }

    /// Sees to the end, once, whatever made it noticed.
    async fn finish(self: Arc<Self>) {
        if !self.progress.send_if_modified(|now| !std::mem::replace(&mut now.ending, true)) {
            return;
        }
        let own = self.own_exit();
        let mut code = None;
        if let Some(mut exit) = own {
            code = tokio::time::timeout(LATE_WORD, connection::ended(&mut exit))
                .await
                .ok()
                .map(|info| info.code);
        }
        let now = self.progress.borrow().clone();
        if code.is_none() && now.exit.is_none() && now.closed && !now.terminated {
            let failure = self.why_it_broke("while the program was being debugged").await;
            self.kill();
            self.progress.send_modify(|now| now.over = true);
            // A hub that has gone needs no telling.
            drop(self.events.send(EngineEvent::Died(failure)));
            return;
        }
        if code.is_none() && now.exit.is_none() {
            // Some say how it ended only when they are told goodbye.
            self.say_goodbye(true).await;
        } else {
            self.reached(LATE_WORD, |now| now.terminated || now.closed).await;
        }
        let code = code.map(i64::from).or(self.progress.borrow().exit);
        self.broker.told_end();
        if let Some(code) = code {
            self.tell("exited", json!({ "exitCode": code }));
        }
        self.tell("terminated", Value::Null);
        self.progress.send_modify(|now| now.over = true);
        self.say_goodbye(true).await;
        self.kill();
    }

    async fn say_goodbye(&self, kill: bool) {
        let Ok(peer) = self.peer() else { return };
        if !peer.is_closed() {
            let arguments = json!({ "restart": false, "terminateDebuggee": kill });
            let answer = peer.request("disconnect", arguments, GOODBYE_LIMIT).await;
            if let Err(failure) = answer {
                tracing::debug!(%failure, "the adapter did not say goodbye");
            }
        }
    }

    /// The hub wants the end: an attached program lives on, one we launched ends with its pipes.
    async fn let_go(&self) {
        self.progress.send_modify(|now| (now.ending, now.over) = (true, true));
        let launched = self.live().as_ref().is_some_and(|live| live.plan.launched);
        self.say_goodbye(launched).await;
        self.kill();
        if let Some(mut exit) = self.own_exit() {
            // It was killed; this only waits for the kernel to say so.
            drop(tokio::time::timeout(GOODBYE_LIMIT, connection::ended(&mut exit)).await);
        }
        self.broker.told_end();
    }

    async fn terminate(self: Arc<Self>, arguments: Value) -> Result<Value, Failure> {
        if self.capabilities()["supportsTerminateRequest"] == true {
            let cancel = CancellationToken::new();
            if let Err(failure) = self.ask("terminate", arguments, &cancel).await {
                tracing::debug!(%failure, "the adapter did not end the program");
            }
            let session = self.clone();
            tokio::spawn(async move {
                if !session.reached(TERM_LIMIT, |now| now.ending).await {
                    session.end_program().await;
                }
            });
        } else {
            self.end_program().await;
        }
        Ok(Value::Null)
    }

    /// Ends the program whatever it wants, and tells of it as of any end.
    async fn end_program(self: Arc<Self>) {
        self.say_goodbye(true).await;
        if let Some(live) = self.live().as_ref() {
            live.signal(Signal::KILL);
        }
        self.finish().await;
    }

    /// The adapter and the program are no more.
    fn kill(&self) {
        if let Some(live) = self.live().as_mut() {
            live.connection.peer.close();
            live.connection.listener = None;
            live.connection.process.child().signal(Signal::KILL);
            if live.plan.launched {
                live.signal(Signal::KILL);
            }
        }
    }

    /// The handle was dropped: nobody asks or listens any more.
    pub(super) fn abandon(&self) {
        self.give_up.cancel();
        self.progress.send_modify(|now| (now.ending, now.over) = (true, true));
        self.kill();
    }
}

impl Live {
    /// To the program, wherever it is.
    fn signal(&self, signal: Signal) {
        if let Some(program) = &self.program {
            program.signal(signal);
        }
        if self.plan.program_io == ProgramIo::Inherited {
            self.connection.process.child().signal(signal);
        }
        if let Some(debuggee) = &self.debuggee {
            debuggee.signal(signal);
        }
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

/// An adapter's refusal to launch, as ours.
fn launch_failed(failure: Failure) -> Failure {
    match failure.code {
        ErrorCode::EngineFailed => Failure { code: ErrorCode::LaunchFailed, ..failure },
        _ => failure,
    }
}
