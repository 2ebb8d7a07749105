//! The session with one adapter: handshake, requests and events in between, and the end.
//!
//! In reading order: this file (what a session is), [`launch`] (the handshake), [`adapter_events`] (what the
//! adapter says), [`requests`] (asking it), [`correcting`] (old versions in programs that are attached to),
//! [`conditions`] (breakpoints whose conditions fail), [`panics`] (of Rust), [`native`] (values and frames of
//! machine code), [`threads`], [`pausing`], [`suspension`], [`paging`], [`reverse`] (its requests to us),
//! [`subprocesses`] (programs that the program starts), [`exec_shim`] (a program that the adapter starts
//! through our stub), [`no_debug`] (`noDebug`), [`own_stops`] (of the adapter), [`terminating`], [`ending`].
//!
//! The answer to `launch` may come before or after `configurationDone`, and `initialized` before, after,
//! twice or never: the hub is notified once, after the launch was sent. `exited` and `terminated` are
//! reported once, whatever the adapter says.
//!
//! Tasks: one per connection that takes what the adapter says (ends with the connection), one that takes
//! further connections (ends with the session), one for the end (bounded).

mod adapter_events;
mod assigned_elements;
mod assigning;
mod assignment;
mod conditions;
mod console;
mod correcting;
mod data;
mod data_locations;
mod disassembly;
mod ending;
mod exec_shim;
mod helpers;
mod instruction_steps;
mod launch;
mod native;
mod no_debug;
mod origins;
mod own_stops;
mod paging;
mod panics;
mod pausing;
mod replacing;
mod requests;
mod reverse;
mod subprocesses;
mod subscripts;
mod suspension;
mod terminating;
mod threads;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::peer::Peer;
use tandem_wire::types::{self, DisconnectArguments, EvaluateArguments};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::AdapterConnection;
use super::debuggee::DebuggeeProcess;
use super::inspector::OpenedPort;
use super::launch_plan::LaunchPlan;
use super::profile::Profile;
use super::state::{ChildEffect, ChildEvent, ChildState, Knowledge, Link};
use super::target::Target;
use super::{capability_gate, translate};
use subprocesses::SubprocessConnection;
use tandem_engine::{
    BreakpointSnapshot, EngineAnswer, EngineEvent, EngineRequest, JoinedConditions, record_breakpoints,
};
use tandem_process::{Broker, Child, NamedPipes};

/// How long an adapter may take for its `initialize`.
const INITIALIZE_TIMEOUT: Duration = Duration::from_secs(20);
/// How long it may take until it can be configured, and from then until the program runs.
const LAUNCH_TIMEOUT: Duration = Duration::from_secs(60);
/// How long an ordinary request may take; less than the hub waits, so that the end of its
/// stderr can be quoted.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(28);
/// How long it may take to detach.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// The same for a program that keeps running: the next attach finds it held until then.
/// Below what the hub waits.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(4);
/// How long an adapter may take to report the program's end after the kernel has reported it.
const END_EVENT_GRACE: Duration = Duration::from_secs(2);
/// How long a launched program may take to end after its adapter reported that debugging is over.
const PROGRAM_END_GRACE: Duration = Duration::from_secs(30);
/// How long an adapter may take to report a process that runs.
const PROCESS_EVENT_GRACE: Duration = Duration::from_millis(300);
/// How long an unknown adapter may take to become ready after its launch, before we assume that
/// it never reports this.
const READY_TIMEOUT: Duration = Duration::from_secs(3);

/// Interval between two checks whether a program has opened its pipes.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Limit of the answer to a launch, which has to wait until clients have configured.
const FOREVER: Duration = Duration::from_secs(24 * 3600);

struct LiveAdapter {
    connection: AdapterConnection,
    plan: LaunchPlan,
    target: Target,
    capabilities: Arc<Value>,
    /// Started for a `runInTerminal`.
    program: Option<Child>,
    /// Pipes that the program opens.
    named_pipes: Option<NamedPipes>,
    /// The process that the adapter reported, or that Tandem knows otherwise.
    debuggee: Option<DebuggeeProcess>,
    /// The program's process, and what it ran at first, to see when it becomes another program
    /// (`debuggee::image_of`).
    image: (u32, Vec<u8>),
    /// The adapter's first connection, if the program has a separate one.
    parent: Option<Peer>,
}

impl LiveAdapter {
    fn peer_of(&self, link: Link) -> &Peer {
        match (link, &self.parent) {
            (Link::First, Some(parent)) => parent,
            _ => &self.connection.peer,
        }
    }
}

/// The session with one adapter and its program.
pub(super) struct AdapterSession {
    profile: Arc<dyn Profile>,
    broker: Broker,
    events: mpsc::UnboundedSender<EngineEvent>,
    state: watch::Sender<ChildState>,
    live: Mutex<Option<LiveAdapter>>,
    /// An existing connection, for a program that another program has started.
    subprocess: Mutex<Option<SubprocessConnection>>,
    /// Breakpoints as the adapter has them, for the programs that this one starts.
    marks: watch::Sender<BreakpointSnapshot>,
    /// Held by the task that sends `disconnect` until it is answered.
    disconnecting: tokio::sync::Mutex<()>,
    /// The session must end: a launch in progress gives up.
    give_up: CancellationToken,
    /// Threads of the launch, such as a build, which must not outlive the session.
    planning: TaskTracker,
    /// A debugger that Tandem opened in a running program and must still close.
    opened: Mutex<Option<OpenedPort>>,
    /// Set when no more connections are accepted.
    closing: CancellationToken,
}

impl AdapterSession {
    pub(super) fn new(
        profile: Arc<dyn Profile>,
        broker: Broker,
        events: mpsc::UnboundedSender<EngineEvent>,
    ) -> Self {
        Self {
            profile,
            broker,
            events,
            state: watch::Sender::default(),
            live: Mutex::default(),
            subprocess: Mutex::default(),
            marks: watch::Sender::default(),
            disconnecting: tokio::sync::Mutex::default(),
            give_up: CancellationToken::new(),
            planning: TaskTracker::new(),
            opened: Mutex::default(),
            closing: CancellationToken::new(),
        }
    }

    fn live(&self) -> MutexGuard<'_, Option<LiveAdapter>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes an event to the state, and carries out its effects.
    fn handle(self: &Arc<Self>, event: ChildEvent) {
        for effect in self.decide(event) {
            self.carry_out(effect);
        }
    }

    /// The same, and completes effects that take time before it returns.
    async fn handle_in_place(self: &Arc<Self>, event: ChildEvent) {
        for effect in self.decide(event) {
            match effect {
                ChildEffect::Examine { stop, paused } => Box::pin(self.clone().examine(stop, paused)).await,
                ChildEffect::EndSession => Box::pin(self.clone().end_session()).await,
                quick => self.carry_out(quick),
            }
        }
    }

    /// Passes an event to the state; tasks that wait for the state check it again.
    #[must_use]
    fn decide(&self, event: ChildEvent) -> Vec<ChildEffect> {
        let mut effects = Vec::new();
        self.state.send_modify(|state| effects = state.handle(event));
        effects
    }

    /// Events to a hub that has ended are lost: it ends the session anyway.
    fn carry_out(self: &Arc<Self>, effect: ChildEffect) {
        match effect {
            ChildEffect::SendEvent { event, body } => {
                drop(self.events.send(EngineEvent::Dap { event, body }))
            }
            ChildEffect::ReportFailedCondition { stop, failure } => {
                let body = types::body(&stop);
                drop(self.events.send(EngineEvent::ConditionFailed { body, failure }));
            }
            ChildEffect::Died(failure) => drop(self.events.send(EngineEvent::Died(failure))),
            ChildEffect::Examine { stop, paused } => drop(tokio::spawn(self.clone().examine(stop, paused))),
            ChildEffect::AwaitOutside { stops } => {
                drop(tokio::spawn(self.clone().wait_until_outside_debugger(stops)))
            }
            ChildEffect::SignalProgram => self.signal_program(),
            ChildEffect::KillSubprocesses(all) => all.iter().for_each(|one| one.signal(Signal::KILL)),
            ChildEffect::AskClient { id, command, arguments } => {
                drop(self.events.send(EngineEvent::ReverseRequest { id, command, arguments }));
            }
            ChildEffect::Respond { link, request, result } => {
                if let Some(live) = self.live().as_ref() {
                    live.peer_of(link).respond(&request, result);
                }
            }
            ChildEffect::EndSession => drop(tokio::spawn(self.clone().end_session())),
        }
    }

    fn send_event(self: &Arc<Self>, event: &str, body: Value) {
        self.handle(ChildEvent::Report { event: event.into(), body });
    }

    fn state<R>(&self, read: impl FnOnce(&ChildState) -> R) -> R {
        read(&self.state.borrow())
    }

    /// Reads the knowledge about the program.
    fn with_knowledge<R>(&self, read: impl FnOnce(&Knowledge) -> R) -> R {
        read(&self.state.borrow().knowledge)
    }

    /// Updates the knowledge about the program, which no task waits for.
    fn learn<R: Default>(&self, learn: impl FnOnce(&mut Knowledge) -> R) -> R {
        let mut learned = R::default();
        self.state.send_if_modified(|state| {
            learned = learn(&mut state.knowledge);
            false
        });
        learned
    }

    /// Waits at most `limit` until the state meets the condition; returns whether it does.
    async fn wait_for_state(&self, limit: Duration, there: impl Fn(&ChildState) -> bool) -> bool {
        tokio::time::timeout(limit, self.until(there)).await.is_ok()
    }

    /// Waits until the state meets the condition.
    async fn until(&self, there: impl Fn(&ChildState) -> bool) {
        let mut state = self.state.subscribe();
        // The sender lives as long as we do.
        drop(state.wait_for(|now| there(now)).await);
    }

    /// Handles a request of the hub.
    pub(super) async fn handle_request(
        self: Arc<Self>,
        request: EngineRequest,
        cancel: CancellationToken,
    ) -> Result<EngineAnswer, Failure> {
        record_breakpoints(&self.marks, request.command(), request.arguments_for_children());
        let (command, arguments, joined) = match request {
            EngineRequest::Terminate(mode) => return Box::pin(self.terminate(mode)).await,
            // Which requests of such a client run no code is in the adapter's profile, and the hub asks that.
            EngineRequest::Dap { command, arguments } | EngineRequest::LookOnly { command, arguments } => {
                (command, arguments, Vec::new())
            }
            EngineRequest::MergedBreakpoints { command, arguments, joined, .. } => {
                (command, arguments, joined)
            }
        };
        if command == "dataBreakpointInfo" {
            return Box::pin(data::find(self, arguments, &cancel)).await;
        }
        self.handle_command(command, arguments, &joined, cancel).await.map(EngineAnswer::from)
    }

    async fn handle_command(
        self: Arc<Self>,
        command: String,
        arguments: Value,
        joined: &[JoinedConditions],
        cancel: CancellationToken,
    ) -> Result<Value, Failure> {
        if self.has_no_debugger()
            && let Some(answer) = no_debug::answer(&command, &arguments, no_debug::WHY)
        {
            return Ok(answer);
        }
        if let Some(answer) = self.answer_of_replaced(&command, &arguments) {
            return answer;
        }
        if let Some(answer) = Box::pin(self.refusal_of_uncorrected(&command, &arguments)).await {
            return Ok(answer);
        }
        match command.as_str() {
            // Rare, large requests are boxed: otherwise each request's future is as large as the largest.
            "launch" | "attach" => Box::pin(self.launch(command == "attach", &arguments, &cancel)).await,
            "configurationDone" => Box::pin(self.configure(&cancel)).await,
            "disconnect" => {
                self.give_up.cancel();
                let DisconnectArguments { terminate_debuggee, .. } = types::read(&arguments);
                Box::pin(self.disconnect(terminate_debuggee == Some(true))).await;
                Ok(Value::Null)
            }
            "setExceptionBreakpoints" => Box::pin(self.set_exception_filters(&arguments, &cancel)).await,
            "setFunctionBreakpoints" if !self.can("supportsFunctionBreakpoints") => {
                Ok(translate::refuse_breakpoints(&arguments, self.profile.name()))
            }
            _ => {
                let profile = &self.profile;
                if command == "exceptionInfo"
                    && let Some(answer) = self.known_exception(&arguments, &cancel).await
                {
                    return answer;
                }
                if requests::resumes(&command) && self.is_core() {
                    return Err(requests::core_does_not_run(&command));
                }
                if command == "setExpression"
                    && !self.offers("supportsSetExpression")
                    && let Some(way) = profile.expression_assignment()
                {
                    return Box::pin(self.assign_to_expression(way, arguments, &cancel)).await;
                }
                capability_gate::check(
                    &command,
                    &self.capabilities(),
                    profile.own_requests(),
                    profile.name(),
                )?;
                if let Some(thread) = self.unknown_thread(&command, &arguments) {
                    Box::pin(self.verify_thread(thread, &cancel)).await?;
                }
                Box::pin(self.correct_before_resuming(&command, &arguments)).await;
                let resumes_step = self.resumes_kept_step(&command, &arguments)?;
                match command.as_str() {
                    "setBreakpoints" | "setFunctionBreakpoints" => {
                        return Box::pin(self.set_conditional(&command, arguments, joined, &cancel)).await;
                    }
                    "variables" | "evaluate" | "stackTrace" if self.profile.is_native() => {
                        return Box::pin(self.ask_native(&command, arguments, &cancel)).await;
                    }
                    "disassemble" if profile.disassembles_forward_only() => {
                        return Box::pin(disassembly::disassemble(&self, arguments, &cancel)).await;
                    }
                    command if command == "continue" || resumes_step => {
                        let answer = Box::pin(self.resume(arguments, &cancel)).await?;
                        self.handle(ChildEvent::Resumed);
                        return Ok(answer);
                    }
                    "pause" => return Box::pin(self.pause(arguments, &cancel)).await,
                    "scopes" | "evaluate" => {
                        let EvaluateArguments { expression, frame_id, .. } = types::read(&arguments);
                        if let Some(refusal) = profile.refusal_of_evaluation(&expression) {
                            return Err(refusal);
                        }
                        self.prepare_summaries(frame_id, &cancel).await;
                        let answer = self.ask(&command, arguments, &cancel).await?;
                        if let Some(frame) = frame_id {
                            self.learn(|known| known.scopes.learn(frame, &answer));
                        }
                        return Ok(answer);
                    }
                    "next" | "stepIn" if instruction_steps::need_command(&self, &arguments) => {
                        return Box::pin(instruction_steps::step(&self, &command, arguments, &cancel)).await;
                    }
                    "dataBreakpointInfo" => {
                        return data_locations::describe_data(&self, arguments, &cancel).await;
                    }
                    "setDataBreakpoints" => {
                        return Box::pin(data::set_breakpoints(&self, arguments, &cancel)).await;
                    }
                    "variables" => return Box::pin(self.variables(arguments, &cancel)).await,
                    "setVariable" | "setExpression" => {
                        return Box::pin(self.assign(&command, arguments, &cancel)).await;
                    }
                    _ => {}
                }
                if !capability_gate::is_standard(&command) {
                    return Box::pin(self.ask_its_own(&command, arguments, &cancel)).await;
                }
                self.ask(&command, arguments, &cancel).await
            }
        }
    }
}
