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
mod deadlines;
mod readers;
mod requests;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use dap_wire::{ErrorCode, Failure, Message, Response, types};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::host::{Host, HostedChild};
use super::inbox::{Inbox, InboxItem};
use super::proxy;
use super::queue::{self, ClientQueue, Outgoing, QueueFull};
use super::reverse_seqs::ReverseSeqs;
use super::writer;
use busy_poll::{BusyPoll, Sender};
use deadlines::Deadlines;
use requests::{FailedEngine, InFlight};
use tandem_engine::{
    CHILD_SESSION_REQUEST, ChildProcess, ChildSession, Engine, EngineEvent, EngineReply, JoinAttributes,
};
use tandem_hub::access::{AgentAccess, Token};
use tandem_hub::clients::ParentClients;
use tandem_hub::event::{ClientId, ClientOrigin, HubEffect, HubEvent, Ticket};
use tandem_hub::state::State;
use tandem_process::Broker;

/// Maximum time for which the program's pipes may stay open after its end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How long an event of the engine waits while a client has much to read.
const BACKPRESSURE_DELAY: Duration = Duration::from_millis(1);
/// Maximum time in which a client may read its last messages.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The tasks of one client.
struct ClientTasks {
    queue: ClientQueue,
    reader: CancellationToken,
    writer: AbortHandle,
}

impl ClientTasks {
    /// Reads no more from the client; closes its connection when it has read what is
    /// queued, or after a while.
    fn close(self) {
        self.reader.cancel();
        let writer = self.writer;
        tokio::spawn(async move {
            tokio::time::sleep(CLOSE_TIMEOUT).await;
            writer.abort();
        });
    }
}

/// Runs the hub's state: feeds it events and carries out its effects.
pub struct Actor<H> {
    host: H,
    state: State,
    broker: Broker,
    inbox: Inbox,
    items: mpsc::Receiver<InboxItem>,
    clients: HashMap<ClientId, ClientTasks>,
    /// Clients that are connected to another session through this process, and the way there.
    proxied: HashMap<ClientId, mpsc::Sender<Message>>,
    next_client: u64,
    engine: Option<Arc<dyn Engine>>,
    /// Counts the engines: a restart makes another.
    engines: u64,
    /// Receives the engine's reply to `disconnect`, which follows all events that the engine sent before.
    disconnects: Option<mpsc::UnboundedSender<HubEvent>>,
    /// Requests to the engine and the broker that have no reply.
    in_flight: HashMap<Ticket, InFlight>,
    deadlines: Deadlines,
    /// The engine's replies, in the order in which it sent them.
    reply_sender: mpsc::UnboundedSender<EngineReply>,
    replies: mpsc::UnboundedReceiver<EngineReply>,
    writers: JoinSet<()>,
    /// Clients that were disconnected because their queue was full, and of which the state does not know yet.
    stalled: Vec<ClientId>,
    /// For the sessions of child processes.
    parent_clients: watch::Sender<ParentClients>,
    ended: bool,
}

impl<H: Host> Actor<H> {
    /// An actor for this session. Give its [`Inbox`] to the task that accepts connections, then
    /// [`Actor::run`] it. Must be called inside a tokio runtime.
    pub fn new(session: &str, host: H, broker: Broker) -> (Self, Inbox) {
        let (inbox, items) = Inbox::new();
        let (reply_sender, replies) = mpsc::unbounded_channel();
        let actor = Self {
            host,
            state: State::new(session),
            broker,
            inbox: inbox.clone(),
            items,
            clients: HashMap::new(),
            proxied: HashMap::new(),
            next_client: 0,
            engine: None,
            engines: 0,
            disconnects: None,
            in_flight: HashMap::new(),
            deadlines: Deadlines::new(),
            reply_sender,
            replies,
            writers: JoinSet::new(),
            stalled: Vec::new(),
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
                Some(reply) = self.replies.recv() => {
                    self.deadlines.start();
                    busy_poll.start(Sender::Engine);
                    self.receive_reply(reply);
                    continue;
                }
                Some(item) = self.items.recv() => item,
                late = self.deadlines.next_timeout() => {
                    self.time_out(late);
                    continue;
                }
                () = busy_poll.poll() => continue,
            };
            self.deadlines.start();
            busy_poll.start(match &item {
                InboxItem::Event(HubEvent::ClientMessage { .. }) => Sender::Client,
                _ => Sender::Engine,
            });
            match item {
                InboxItem::Connected { origin, client } => self.accept_client(origin, client),
                InboxItem::Event(event) => self.handle(event),
                InboxItem::EngineEvent { engine, event } if engine == self.engines => {
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
        self.clients.clear();
        let closing = async { while self.writers.join_next().await.is_some() {} };
        if tokio::time::timeout(CLOSE_TIMEOUT, closing).await.is_err() {
            tracing::debug!("a client did not read its last messages");
        }
    }

    fn handle(&mut self, event: HubEvent) {
        let event = match event {
            HubEvent::ClientMessage { client, message } if self.proxied.contains_key(&client) => {
                return self.forward(client, message);
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
                self.forget_request(*ticket)
            }
            HubEvent::ClientLeft { client } => {
                self.proxied.remove(client);
                self.close_client(*client);
            }
            _ => {}
        }
        for effect in self.state.handle(event) {
            self.carry_out(effect);
        }
        let clients = self.state.parent_clients();
        self.parent_clients.send_if_modified(|sent| std::mem::replace(sent, clients) != clients);
        while let Some(client) = self.stalled.pop() {
            self.broker.forget_client(client.0);
            for effect in self.state.handle(HubEvent::ClientStalled { client }) {
                self.carry_out(effect);
            }
        }
    }

    /// In a burst of events, lets clients that read keep up: the next event waits a moment while some queue
    /// is half full. For a client that does not read that is two seconds in all, until it is disconnected.
    async fn apply_backpressure(&mut self) {
        if self.is_congested() {
            tokio::task::yield_now().await;
        }
        if self.is_congested() {
            tokio::time::sleep(BACKPRESSURE_DELAY).await;
        }
    }

    fn is_congested(&self) -> bool {
        self.clients.values().any(|client| client.queue.is_congested())
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
        let mut configuration = json!({ "type": "tandem", "request": "attach",
            "name": format!("{name} ({session})") });
        types::extend(&mut configuration, &JoinAttributes { session, is_child: true });
        let request = EngineEvent::ReverseRequest {
            id: CHILD_SESSION_REQUEST,
            command: "startDebugging".into(),
            arguments: json!({ "request": "attach", "configuration": configuration }),
        };
        let Some(joinable) = joinable else { return Some(HubEvent::EngineEvent(request)) };
        let (engine, inbox) = (self.engines, self.inbox.clone());
        tokio::spawn(async move {
            if joinable.await {
                inbox.engine_event(engine, request).await;
            }
        });
        None
    }

    /// Forwards a message to another session; where that session takes no more, the client
    /// loses its connection.
    fn forward(&mut self, client: ClientId, message: Message) {
        let forwarded = self.proxied.get(&client).is_some_and(|there| there.try_send(message).is_ok());
        if !forwarded && let Some(client) = self.clients.get(&client) {
            client.reader.cancel();
        }
    }

    fn join_session(&mut self, client: ClientId, session: &str, initialize: Value, seq: i64, child: bool) {
        let Some(tasks) = self.clients.get(&client) else { return };
        match self.host.connect(session) {
            Ok(connection) => {
                let there =
                    proxy::start(connection, initialize, seq, tasks.queue.clone(), tasks.reader.clone());
                self.proxied.insert(client, there);
            }
            Err(failure) => {
                let is_over = child && failure.code == ErrorCode::NoSession;
                let result = if is_over { Ok(Value::Null) } else { Err(failure) };
                let response = Message::Response(Response::to(seq, "attach", result));
                // A client that did what the hub requested gets no error for it.
                let output = json!({ "category": "console", "output": "The program has ended already.\n" });
                let ended = [("output", output), ("terminated", Value::Null)]
                    .map(|(event, body)| Message::Event(dap_wire::Event::new(event, body)));
                let messages = std::iter::once(response).chain(ended.into_iter().filter(|_| is_over));
                messages.for_each(|message| self.queue(client, Outgoing::Message(message)));
            }
        }
    }

    fn accept_client(&mut self, origin: ClientOrigin, connection: Connection) {
        self.next_client += 1;
        let id = ClientId(self.next_client);
        let (queue, receiver) = queue::channel();
        let reader = CancellationToken::new();
        let seqs = ReverseSeqs::default();
        let writer = self.writers.spawn(writer::run(connection.writer, receiver, seqs.clone()));
        tokio::spawn(readers::read(id, connection.reader, self.inbox.clone(), reader.clone(), seqs));
        self.clients.insert(id, ClientTasks { queue, reader, writer });
        self.handle(HubEvent::ClientJoined { client: id, origin });
    }

    fn close_client(&mut self, client: ClientId) {
        if let Some(tasks) = self.clients.remove(&client) {
            tasks.close();
        }
        self.broker.forget_client(client.0);
    }

    fn carry_out(&mut self, effect: HubEffect) {
        match effect {
            HubEffect::Send { client, message } => self.queue(client, Outgoing::Message(message)),
            HubEffect::StartOutput { client } => {
                let cursor = self.broker.cursor();
                self.queue(client, Outgoing::StartOutput(cursor));
            }
            HubEffect::StopOutput { client } => self.queue(client, Outgoing::StopOutput),
            HubEffect::FlushOutput { client } => {
                let positions = self.broker.drain_output();
                self.queue(client, Outgoing::FlushOutput(positions));
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
                if let Some(engine) = &self.engine {
                    engine.reverse_reply(id, result);
                }
            }
            HubEffect::Cancel { ticket } => {
                if let Some(request) = self.in_flight.get(&ticket) {
                    request.cancel.cancel();
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

    fn queue(&mut self, client: ClientId, outgoing: Outgoing) {
        let Some(tasks) = self.clients.get(&client) else { return };
        if let Err(QueueFull) = tasks.queue.try_send(outgoing) {
            tracing::warn!(%client, "disconnected: its queue is full and it does not read");
            if let Some(tasks) = self.clients.remove(&client) {
                tasks.reader.cancel();
                // The client must not read the unread messages later either: the connection closes now.
                tasks.writer.abort();
            }
            self.stalled.push(client);
        }
    }

    fn start_engine(&mut self, arguments: &Value) {
        let (sender, events) = mpsc::unbounded_channel();
        self.engines += 1;
        let started = self.host.start_engine(arguments, &self.broker, sender).map(|(started, engine)| {
            self.engine = Some(engine);
            started
        });
        if let Err(failure) = &started {
            self.engine = Some(Arc::new(FailedEngine(failure.clone())));
        }
        let (disconnects, disconnect) = mpsc::unbounded_channel();
        self.disconnects = Some(disconnects);
        let pump = readers::EventPump::new(self.engines, self.broker.clone(), self.inbox.clone());
        tokio::spawn(pump.run(events, disconnect));
        for effect in self.state.handle(HubEvent::EngineStarted(started)) {
            self.carry_out(effect);
        }
    }
}
