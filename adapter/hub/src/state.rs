//! The hub's decisions: `State::handle(HubEvent) -> Vec<HubEffect>`. No I/O, no clock, no async, so that each
//! race can be written down as a test.
//!
//! In reading order: this file (the state, dispatch, sending), [`lifecycle`] (handshakes, leaving, end),
//! [`start_up`] (launch and join), [`control`] (resuming and pausing), [`restart`], [`inspect`] (requests
//! that pass to the engine), [`breakpoints`] (and exception filters), [`terminate`], [`conditions`] (stops
//! that only the hub can tell apart) with [`condition_check`] and [`hit_output`], [`program_io`] (stdin,
//! output, the debug console), [`session_info`] (`sessionInfo`, `sessionControl`), [`session_changes`] (which
//! clients learn what a client did), [`engine_events`], [`follow_call`] (the life of a call), [`reverse`]
//! (reverse requests of the engine).

mod bodies;
mod breakpoints;
mod condition_check;
mod conditions;
mod control;
mod engine_events;
mod follow_call;
mod hit_output;
mod inspect;
mod lifecycle;
mod program;
mod program_io;
#[cfg(test)]
mod races;
mod restart;
mod reverse;
mod session_changes;
mod session_engine;
mod session_info;
#[cfg(any(test, feature = "simulation"))]
pub mod simulation;
mod start_up;
mod terminate;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::Value;
use tandem_wire::command::{self, ChangedState, CommandSpec};
use tandem_wire::types::{self, SessionChangedBody};
use tandem_wire::{ErrorCode, Failure, Message, Request, Response};

use super::access::{AgentAccess, SessionAccess, Token};
use super::arguments;
use super::breakpoints::BreakpointStore;
use super::clients::{Client, Clients, HandshakeStage, ParentClients};
use super::event::{ClientId, ClientOrigin, ClientRequest, HubEffect, HubEvent, IoRequest, Ticket, Timer};
use super::ids::IdCounter;
use super::look_only;
use super::pending::ReplyAction;
use bodies::{invalidated, output_line, unset_show_user};
use condition_check::ConditionChecks;
use follow_call::Following;
use program::{Phase, SessionProgram};
use session_changes::client_input;
use session_engine::{HeldRequest, SessionEngine};
use start_up::{Configuration, StartUp};
use tandem_engine::{EngineAnswer, EngineRequest};
use terminate::SessionEnd;

/// Maximum time in which a client must present the token, or on the socket send `initialize`.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum time of the engine for an ordinary request. Evaluations have the engine's own, shorter deadline.
pub const ENGINE_TIMEOUT: Duration = Duration::from_secs(30);
/// The same for the source of an engine that may have to fetch or decompile it first.
pub(super) const SOURCE_TIMEOUT: Duration = Duration::from_secs(300);

/// The state of a debug session.
#[derive(Debug)]
pub struct State {
    session: String,
    clients: Clients,
    program: SessionProgram,
    engine: SessionEngine,
    access: SessionAccess,
    start: StartUp,
    counter: IdCounter,
    breakpoints: BreakpointStore,
    checks: ConditionChecks,
    following: Following,
    end: SessionEnd,
    /// The effects that [`State::handle`] returns.
    effects: Vec<HubEffect>,
}

impl State {
    /// A session with this id, without clients.
    pub fn new(session: impl Into<String>) -> Self {
        Self {
            session: session.into(),
            clients: Clients::default(),
            program: SessionProgram::default(),
            engine: SessionEngine::default(),
            access: SessionAccess::default(),
            start: StartUp::default(),
            counter: IdCounter::default(),
            breakpoints: BreakpointStore::default(),
            checks: ConditionChecks::default(),
            following: Following::default(),
            end: SessionEnd::default(),
            effects: Vec::new(),
        }
    }

    /// Takes one event; returns what to do about it, in order.
    pub fn handle(&mut self, event: HubEvent) -> Vec<HubEffect> {
        match event {
            HubEvent::ClientJoined { client, origin } => self.add_client(client, origin),
            HubEvent::ClientMessage { client, message } => match message {
                Message::Request(request) => self.receive_request(client, request),
                Message::Response(response) => self.receive_reverse_response(client, response),
                Message::Event(event) => {
                    tracing::debug!(%client, event = event.event, "an event of a client has no meaning");
                }
            },
            HubEvent::ClientMessageInvalid { client, error } => {
                if let Some(seq) = error.seq {
                    let command = error.command.clone().unwrap_or_default();
                    let request = ClientRequest { client, seq, command };
                    self.respond(&request, Err(Failure::invalid(error.to_string())));
                }
            }
            HubEvent::ClientLeft { client } => self.remove_client(client, None),
            HubEvent::ClientStalled { client } => {
                self.remove_client(client, Some("it does not read what it is sent"))
            }
            HubEvent::EngineStarted(result) => self.receive_engine(result),
            HubEvent::EngineReplied { ticket, result } => self.receive_engine_reply(ticket, result),
            HubEvent::EngineEvent(event) => self.receive_engine_event(event),
            HubEvent::IoReplied { ticket, result } => self.receive_io_reply(ticket, result),
            HubEvent::TimerFired(timer) => self.receive_timer(timer),
            HubEvent::ShutdownRequested => self.end_session(None, true),
        }
        std::mem::take(&mut self.effects)
    }

    /// Requires the first client to present this token; the session's socket is private to
    /// the user and needs none.
    pub fn require_token(&mut self, token: Token) {
        self.access.token = Some(token);
    }

    /// Sets the access of agents for a launch that does not set it.
    pub fn allow_agents(&mut self, access: AgentAccess) {
        self.access.policy.agents = access;
    }

    /// What child sessions follow.
    pub fn parent_clients(&self) -> ParentClients {
        ParentClients {
            agent_access: self.access.policy.agents,
            notice_children: self.clients.iter().any(|client| self.notices_children(client)),
        }
    }

    /// Sets the exception filters that the engine will most likely have.
    pub fn expect_exception_filters(&mut self, exception_filters: Value) {
        self.engine.capabilities.expect_exception_filters(exception_filters);
    }

    fn add_client(&mut self, id: ClientId, origin: ClientOrigin) {
        let mut client = Client::new(id, origin);
        client.access.is_admitted = self.access.token.is_none() || origin != ClientOrigin::First;
        if !client.access.is_admitted || origin == ClientOrigin::Socket {
            self.effects
                .push(HubEffect::StartTimer { timer: Timer::Handshake(id), after: HANDSHAKE_TIMEOUT });
        }
        self.clients.add(client);
    }

    /// Takes the token out of the arguments: the engine must not see it.
    ///
    /// # Errors
    /// `ACCESS_DENIED` without the token, or with a wrong one.
    fn admit(&mut self, request: &ClientRequest, arguments: &mut Value) -> Result<(), Failure> {
        let presented = match (request.command.as_str(), arguments.as_object_mut()) {
            ("initialize" | "launch" | "attach", Some(arguments)) => arguments.shift_remove("token"),
            _ => None,
        };
        match (&self.access.token, self.clients.get_mut(request.client)) {
            (Some(token), Some(client)) => client.admit(token, &request.command, presented.as_ref()),
            _ => Ok(()),
        }
    }

    fn receive_request(&mut self, id: ClientId, request: Request) {
        if self.clients.get(id).is_none() {
            return;
        }
        let mut arguments = request.arguments;
        let request = ClientRequest { client: id, seq: request.seq, command: request.command };
        let counted = self.clients.get_mut(request.client).map(|client| client.unanswered.add(&request));
        if let Some(Err(failure)) = counted {
            return self.refuse(&request, failure);
        }
        if let Err(failure) = self.admit(&request, &mut arguments) {
            self.refuse(&request, failure);
            if self.clients.get(id).is_some_and(|client| client.stage == HandshakeStage::Leaving) {
                self.close_client(id);
            }
            return;
        }
        if let Err(failure) = self.validate(&request, &mut arguments) {
            if failure.code == ErrorCode::AccessDenied {
                self.report_refused(&request);
            }
            return self.refuse(&request, failure);
        }
        self.dispatch(request, arguments);
    }

    /// Checks that a client may send this now, and rewrites lines, columns and paths of the arguments.
    fn validate(&self, request: &ClientRequest, arguments: &mut Value) -> Result<(), Failure> {
        let Some(client) = self.clients.get(request.client) else { return Ok(()) };
        client.protocol.convention.to_hub(arguments);
        match (client.stage, request.command.as_str()) {
            (HandshakeStage::Leaving, _) => Err(Failure::invalid("this client has disconnected").quiet()),
            (HandshakeStage::Connected, "initialize" | "disconnect") => Ok(()),
            (HandshakeStage::Connected, command) => Err(Failure::invalid(format!(
                "`{command}` came before `initialize`; send `initialize` first"
            ))),
            (_, command) => {
                arguments::validate(command, arguments)?;
                let access = self.access.of(client);
                access.check(command, self.engine.started())?;
                if access != AgentAccess::Full {
                    look_only::restrict(command, arguments);
                }
                Ok(())
            }
        }
    }

    /// Calls the handler of a request; a request without a handler here goes to the engine.
    fn dispatch(&mut self, request: ClientRequest, arguments: Value) {
        let spec = command::find(&request.command);
        if spec.is_some_and(CommandSpec::resumes) {
            return self.resume(request, arguments);
        }
        if spec.is_some_and(|spec| spec.changes == ChangedState::Breakpoints) {
            return self.set_breakpoints(request, arguments);
        }
        match request.command.as_str() {
            "initialize" => self.initialize(&request, &arguments),
            "launch" | "attach" => self.configured(request, arguments),
            "configurationDone" => self.configuration_done(&request),
            "disconnect" => self.disconnect(request, &arguments),
            "terminate" => self.terminate(request),
            "cancel" => self.cancel(&request, &arguments),
            "restart" => self.restart(request, &arguments),
            "pause" => self.pause(request, arguments),
            "followCall" => self.follow_call(request, arguments),
            "evaluate" => self.evaluate(request, arguments),
            "processWriteInput" => self.write_input(request, &arguments),
            "processReadOutput" => self.read_output(request, &arguments),
            "processReadInput" => self.request_io(request, IoRequest::ReadInput),
            "processResizeTerminal" => self.resize_terminal(request, &arguments),
            "sessionInfo" => self.session_info(request, &arguments),
            "sessionControl" => self.session_control(&request, &arguments),
            "setSourceLinkOptions" => self.set_source_link_options(request, arguments),
            _ => self.inspect(request, arguments),
        }
    }

    fn receive_engine_reply(&mut self, ticket: Ticket, result: Result<EngineAnswer, Failure>) {
        let action = self.engine.pending.take(ticket);
        let is_signal_pending = matches!(result, Ok(EngineAnswer::SignalPending));
        let is_lasting = matches!(result, Ok(EngineAnswer::LastingData(_)));
        let result = result.map(EngineAnswer::into_body);
        match action {
            None | Some(ReplyAction::Ignore) => {}
            Some(ReplyAction::Inspect { request, stop, effect }) => {
                self.receive_inspect_reply(&request, stop.filter(|_| !is_lasting), effect, result);
            }
            Some(ReplyAction::Launch(request)) => self.receive_launch_reply(&request, result),
            // The broker replies elsewhere.
            Some(ReplyAction::Io(request) | ReplyAction::Write { request, .. }) => {
                self.respond(&request, result)
            }
            Some(ReplyAction::Terminate { request, stop }) => {
                self.receive_terminate_reply(request, stop, is_signal_pending, result)
            }
            Some(ReplyAction::Pause(request)) => self.receive_pause_reply(&request, result),
            Some(ReplyAction::RestartDisconnect) => self.relaunch(),
            Some(ReplyAction::RestartLaunch) => self.receive_relaunch_reply(result),
            Some(ReplyAction::Resume(request)) => self.receive_resume_reply(&request, result),
            Some(ReplyAction::Breakpoints { scope, ids, engine }) => {
                self.receive_breakpoints_reply(&scope, &ids, engine, result);
            }
            Some(ReplyAction::Follow(number)) => self.receive_follow_reply(number, result),
            Some(ReplyAction::Query(query)) => self.receive_query_reply(query, result),
            Some(ReplyAction::Resumption { stop, stops }) => self.receive_resumption(stop, stops, result),
            Some(ReplyAction::SessionInfo(request)) => self.respond_with_session_info(&request, result.ok()),
            Some(ReplyAction::SessionEnd(request)) => self.receive_disconnect_reply(request.as_ref(), result),
        }
    }

    /// Sends the one response. A client that left gets none.
    fn respond(&mut self, request: &ClientRequest, outcome: Result<Value, Failure>) {
        if let Some(client) = self.clients.get_mut(request.client) {
            client.unanswered.remove(request);
        }
        let Some(client) = self.clients.get(request.client) else { return };
        let mut response = Response::to(request.seq, request.command.clone(), outcome);
        if !response.success && !command::find(&request.command).is_some_and(|spec| spec.started_by_user) {
            unset_show_user(&mut response.body);
        }
        client.protocol.finish_response(&request.command, &mut response.body);
        self.effects.push(HubEffect::Send { client: request.client, message: Message::Response(response) });
    }

    fn refuse(&mut self, request: &ClientRequest, failure: Failure) {
        self.respond(request, Err(failure));
    }

    fn request_engine(&mut self, action: ReplyAction, command: &str, arguments: Value, deadline: Duration) {
        self.send_to_engine(action, EngineRequest::dap(command, arguments), deadline);
    }

    /// Sends a request that may hold more than DAP does.
    fn send_to_engine(&mut self, action: ReplyAction, request: EngineRequest, deadline: Duration) {
        let ticket = self.engine.pending.add(action);
        if self.waits_for_breakpoints(request.command()) {
            return self.engine.held.push(HeldRequest { ticket, request, deadline });
        }
        self.effects.push(HubEffect::RequestEngine { ticket, request, deadline });
    }

    fn request_io(&mut self, request: ClientRequest, io: IoRequest) {
        let client = request.client;
        let ticket = self.engine.pending.add(match &io {
            IoRequest::Write { data, close } => {
                let Some(input) = self.clients.get(client).map(|by| client_input(by, data, *close)) else {
                    return;
                };
                ReplyAction::Write { request, input }
            }
            IoRequest::Read(_) | IoRequest::ReadInput | IoRequest::Resize(_) => ReplyAction::Io(request),
        });
        self.effects.push(HubEffect::Io { ticket, client, request: io });
    }

    fn cancel_all(&mut self, tickets: Vec<Ticket>) {
        self.effects.extend(tickets.into_iter().map(|ticket| HubEffect::Cancel { ticket }));
    }

    /// Sends an event to one client, if it supports it, in its own ids, lines and paths.
    fn send_event(&mut self, id: ClientId, event: &str, body: &Value) {
        let access = self.clients.get(id).map_or(AgentAccess::None, |client| self.access.of(client));
        let Some(client) = self.clients.get_mut(id) else { return };
        let hidden = event == "sessionChanged"
            && !access.shows_change(&types::read::<SessionChangedBody>(body).change);
        if !client.accepts_event(event) || !access.shows(event) || hidden {
            return;
        }
        let mut body = body.clone();
        client.protocol.to_event(&mut self.counter, event, &mut body);
        let message = Message::Event(tandem_wire::Event::new(event, body));
        self.effects.push(HubEffect::Send { client: id, message });
    }

    /// Sends an event to all clients that launched, attached or joined, configured or not: what happens
    /// before a program runs is for those who wait for it.
    fn broadcast_to_joined(&mut self, event: &str, body: &Value) {
        for id in self.clients.joined() {
            self.send_event(id, event, body);
        }
    }

    /// Sends an event to all clients that get events.
    fn broadcast(&mut self, event: &str, body: &Value) {
        self.broadcast_except(None, event, body);
    }

    fn broadcast_except(&mut self, except: Option<ClientId>, event: &str, body: &Value) {
        for id in self.clients.ready() {
            if Some(id) != except {
                self.send_event(id, event, body);
            }
        }
    }

    /// The same, after all output that the program printed before.
    fn broadcast_after_output(&mut self, event: &str, body: &Value) {
        for id in self.clients.ready() {
            self.effects.push(HubEffect::FlushOutput { client: id });
            self.send_event(id, event, body);
        }
    }

    fn name_of(&self, id: ClientId) -> String {
        self.clients.get(id).map_or_else(|| id.to_string(), |client| client.identity.name.clone())
    }
}
