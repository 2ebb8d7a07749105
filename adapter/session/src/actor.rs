//! The task that owns the session: it takes one event at a time, carries out the effects, and never waits for
//! a client or an engine.
//!
//! Tasks and what ends them: one reader per client (its socket ends, or the actor drops it), one writer per
//! client (its queue is dropped), one pump for engine events (the channels of the engine and of the actor
//! end), one per request to the broker (reply or cancellation). The actor ends with [`HubEffect::End`];
//! everything else ends with it.
//!
//! Not here: decisions about the session ([`tandem_hub::state`]).

mod busy_poll;
mod connections;
mod deadlines;
mod engine_slot;
mod readers;
mod requests;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::Value;
use tandem_wire::types::{self, OutputEventBody, StartDebuggingRequestArguments};
use tandem_wire::{ErrorCode, Event, Failure, Message, Response};
use tokio::sync::{mpsc, watch};

use super::connection::Connection;
use super::host::{Host, HostedChild};
use super::inbox::{Inbox, InboxItem};
use super::queue::Outgoing;
use busy_poll::{BusyPoll, Sender};
use connections::ClientConnections;
use engine_slot::EngineSlot;
use requests::RequestsInFlight;
use tandem_engine::{
    CHILD_SESSION_REQUEST, ChildProcess, ChildSession, ChildSessionConfiguration, EngineEvent,
};
use tandem_hub::access::{AgentAccess, Token};
use tandem_hub::clients::ParentClients;
use tandem_hub::event::{ClientId, ClientOrigin, HubEffect, HubEvent};
use tandem_hub::state::State;
use tandem_process::Broker;

/// Maximum time for which the program's pipes may stay open after its end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How long an event of the engine waits while a client has much to read.
const BACKPRESSURE_DELAY: Duration = Duration::from_millis(1);

/// Runs the hub's state: feeds it events and carries out its effects.
pub struct Actor<H> {
    host: H,
    state: State,
    broker: Broker,
    inbox: Inbox,
    items: mpsc::Receiver<InboxItem>,
    clients: ClientConnections,
    engine: EngineSlot,
    /// Requests to the engine and the broker that have no reply.
    requests: RequestsInFlight,
    /// For the sessions of child processes.
    parent_clients: watch::Sender<ParentClients>,
    ended: bool,
}

impl<H: Host> Actor<H> {
    /// An actor for this session. Give its [`Inbox`] to the task that accepts connections, then
    /// [`Actor::run`] it. Must be called inside a tokio runtime.
    pub fn new(session: &str, host: H, broker: Broker) -> (Self, Inbox) {
        let (inbox, items) = Inbox::new();
        let actor = Self {
            host,
            state: State::new(session),
            broker,
            inbox: inbox.clone(),
            items,
            clients: ClientConnections::default(),
            engine: EngineSlot::default(),
            requests: RequestsInFlight::new(),
            parent_clients: watch::Sender::new(ParentClients::default()),
            ended: false,
        };
        (actor, inbox)
    }

    /// Requires the first client to present this before anything else.
    pub fn require_token(&mut self, token: Token) {
        self.state.require_token(token);
    }

    /// Sets the access of agents for a launch that does not set it.
    pub fn allow_agents(&mut self, access: AgentAccess) {
        self.state.allow_agents(access);
    }

    /// Sets what is known of the engine before it is started: DAP `exceptionBreakpointFilters`.
    pub fn expect_exception_filters(&mut self, exception_filters: Value) {
        self.state.expect_exception_filters(exception_filters);
    }

    /// Runs the session to its end.
    pub async fn run(mut self) {
        let mut busy_poll = BusyPoll::new();
        while !self.ended {
            // In this order: replies do not wait behind the requests of a busy client, and the core is
            // offered to others only when nothing waits.
            let item = tokio::select! {
                biased;
                Some(reply) = self.requests.replies.recv() => {
                    self.requests.deadlines.start();
                    busy_poll.start(Sender::Engine);
                    self.receive_reply(reply);
                    continue;
                }
                Some(item) = self.items.recv() => item,
                late = self.requests.deadlines.next_timeout() => {
                    self.time_out(late);
                    continue;
                }
                () = busy_poll.poll() => continue,
            };
            self.requests.deadlines.start();
            busy_poll.start(match &item {
                InboxItem::Event(HubEvent::ClientMessage { .. }) => Sender::Client,
                _ => Sender::Engine,
            });
            match item {
                InboxItem::Connected { origin, client } => self.accept_client(origin, client),
                InboxItem::Event(event) => self.handle(event),
                InboxItem::EngineEvent { engine, event } if self.engine.is_current(engine) => {
                    tracing::trace!(event = event.name(), "engine event");
                    self.handle(HubEvent::EngineEvent(event));
                    self.apply_backpressure().await;
                }
                InboxItem::EngineEvent { event, .. } => {
                    tracing::debug!(event = event.name(), "event of an engine that was replaced")
                }
            }
        }
        self.host.unpublish();
        self.broker.kill();
        self.clients.finish().await;
    }

    fn handle(&mut self, event: HubEvent) {
        let event = match event {
            HubEvent::ClientMessage { client, message } if self.clients.is_proxied(client) => {
                return self.clients.forward(client, message);
            }
            HubEvent::EngineEvent(EngineEvent::ChildSession(child)) => match self.host_child(child) {
                Some(event) => event,
                None => return,
            },
            HubEvent::EngineEvent(EngineEvent::ChildProcess(child)) => match self.start_child_host(child) {
                Some(event) => event,
                None => return,
            },
            other => other,
        };
        match &event {
            HubEvent::EngineReplied { ticket, .. } | HubEvent::IoReplied { ticket, .. } => {
                self.requests.remove(*ticket)
            }
            HubEvent::EngineEvent(EngineEvent::Dap { event: name, .. }) if name == "exited" => {
                self.broker.report_exit();
            }
            HubEvent::ClientLeft { client } => {
                self.clients.leave_session(*client);
                self.close_client(*client);
            }
            _ => {}
        }
        for effect in self.state.handle(event) {
            self.carry_out(effect);
        }
        let clients = self.state.parent_clients();
        self.parent_clients.send_if_modified(|sent| std::mem::replace(sent, clients) != clients);
        while let Some(client) = self.clients.take_stalled() {
            self.broker.forget_client(client.0);
            for effect in self.state.handle(HubEvent::ClientStalled { client }) {
                self.carry_out(effect);
            }
        }
    }

    /// In a burst of events, lets clients that read keep up: the next event waits a moment while some queue
    /// is half full. For a client that does not read that is two seconds in all, until it is disconnected.
    async fn apply_backpressure(&mut self) {
        if self.clients.is_congested() {
            tokio::task::yield_now().await;
        }
        if self.clients.is_congested() {
            tokio::time::sleep(BACKPRESSURE_DELAY).await;
        }
    }

    fn host_child(&mut self, child: ChildSession) -> Option<HubEvent> {
        let name = child.name.clone();
        let hosted = self.host.host_child(child, self.parent_clients.subscribe());
        self.open_child_session(&name, hosted)
    }

    fn start_child_host(&mut self, child: ChildProcess) -> Option<HubEvent> {
        let name = child.name.clone();
        let hosted = self.host.start_child_host(child, self.parent_clients.subscribe());
        self.open_child_session(&name, hosted)
    }

    /// Asks a capable editor to open the session of a child process, as soon as it can be joined.
    fn open_child_session(&mut self, name: &str, hosted: Result<HostedChild, Failure>) -> Option<HubEvent> {
        let HostedChild { id: session, joinable } = hosted
            .inspect_err(|failure| tracing::error!(%failure, name, "a child process is not debugged"))
            .ok()?;
        let arguments = StartDebuggingRequestArguments {
            configuration: types::body(&ChildSessionConfiguration::new(name, session)),
            request: "attach".into(),
            ..StartDebuggingRequestArguments::default()
        };
        let request = EngineEvent::ReverseRequest {
            id: CHILD_SESSION_REQUEST,
            command: "startDebugging".into(),
            arguments: types::body(&arguments),
        };
        let Some(joinable) = joinable else { return Some(HubEvent::EngineEvent(request)) };
        let (engine, inbox) = (self.engine.number(), self.inbox.clone());
        tokio::spawn(async move {
            if joinable.await {
                inbox.engine_event(engine, request).await;
            }
        });
        None
    }

    fn join_session(&mut self, client: ClientId, session: &str, initialize: Value, seq: i64, child: bool) {
        if !self.clients.is_connected(client) {
            return;
        }
        match self.host.connect(session) {
            Ok(there) => self.clients.connect_to_session(client, there, initialize, seq),
            Err(failure) => {
                let is_over = child && failure.code == ErrorCode::NoSession;
                let result = if is_over { Ok(Value::Null) } else { Err(failure) };
                let response = Message::Response(Response::to(seq, "attach", result));
                // A client that did what the hub requested gets no error for it.
                let output = OutputEventBody::console_line("The program has ended already.");
                let ended = [("output", types::body(&output)), ("terminated", Value::Null)]
                    .map(|(event, body)| Message::Event(Event::new(event, body)));
                let messages = std::iter::once(response).chain(ended.into_iter().filter(|_| is_over));
                messages.for_each(|message| self.clients.queue(client, Outgoing::Message(message)));
            }
        }
    }

    fn accept_client(&mut self, origin: ClientOrigin, connection: Connection) {
        let id = self.clients.accept(connection, &self.inbox);
        self.handle(HubEvent::ClientJoined { client: id, origin });
    }

    fn close_client(&mut self, client: ClientId) {
        self.clients.close(client);
        self.broker.forget_client(client.0);
    }

    fn carry_out(&mut self, effect: HubEffect) {
        match effect {
            HubEffect::Send { client, message } => self.clients.queue(client, Outgoing::Message(message)),
            HubEffect::StartOutput { client } => {
                let cursor = self.broker.cursor();
                self.clients.queue(client, Outgoing::StartOutput(cursor));
            }
            HubEffect::StopOutput { client } => self.clients.queue(client, Outgoing::StopOutput),
            HubEffect::FlushOutput { client } => {
                let positions = self.broker.drain_output();
                self.clients.queue(client, Outgoing::FlushOutput(positions));
            }
            HubEffect::Close { client } => self.close_client(client),
            HubEffect::StartEngine { arguments } => self.start_engine(&arguments),
            HubEffect::JoinSession { client, session, initialize, seq, child } => {
                self.join_session(client, &session, initialize, seq, child);
            }
            HubEffect::RequestEngine { ticket, request, deadline } => {
                self.request_engine(ticket, request, deadline);
            }
            HubEffect::ReplyToEngine { id, result } => {
                if let Some(engine) = self.engine.get() {
                    engine.reverse_reply(id, result);
                }
            }
            HubEffect::Cancel { ticket } => {
                if let Some(cancel) = self.requests.cancellation(ticket) {
                    cancel.cancel();
                }
            }
            HubEffect::Io { ticket, client, request } => self.request_io(ticket, client, request),
            HubEffect::StartTimer { timer, after } => {
                let inbox = self.inbox.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(after).await;
                    inbox.event(HubEvent::TimerFired(timer)).await;
                });
            }
            HubEffect::Publish(description) => self.host.publish(description, &self.inbox),
            HubEffect::Unpublish => self.host.unpublish(),
            HubEffect::KillProgram => self.broker.kill(),
            HubEffect::End => self.ended = true,
        }
    }

    fn start_engine(&mut self, arguments: &Value) {
        let (sender, events) = mpsc::unbounded_channel();
        let (started, engine) = match self.host.start_engine(arguments, &self.broker, sender) {
            Ok((started, engine)) => (Ok(started), Ok(engine)),
            Err(failure) => (Err(failure.clone()), Err(failure)),
        };
        let (number, disconnect) = self.engine.replace(engine);
        let pump = readers::EventPump::new(number, self.broker.clone(), self.inbox.clone());
        tokio::spawn(pump.run(events, disconnect));
        for effect in self.state.handle(HubEvent::EngineStarted(started)) {
            self.carry_out(effect);
        }
    }
}
