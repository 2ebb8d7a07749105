//! The task that owns the session: events in, one at a time; effects carried out, never waiting for anybody.
//!
//! Tasks and what ends them: one reader per client (its socket ends, or the actor drops it), one writer per client (its
//! queue is dropped), one pump for engine events (the channels of the engine and of the actor end), one per request to the
//! broker (answer or cancellation). The actor ends with [`Effect::End`]; everything else ends with it.

mod asking;
mod awake;
mod deadlines;
mod hearing;
mod host;
mod inbox;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use dap_wire::{Message, Response};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::access::{AgentAccess, Token};
use super::event::{ClientId, Effect, Event, Origin, Ticket};
use super::numbers::Numbers;
use super::proxy;
use super::queue::{self, Queue};
use super::state::State;
use super::writer::{self, Outgoing};
use crate::engine::{Answer, CHILD_SESSION, Engine, EngineEvent, Spawned};
use crate::io::Broker;
use asking::{Asking, NoEngine};
use awake::Awake;
use deadlines::Deadlines;
pub use host::{Connection, Host};
pub use inbox::Inbox;
use inbox::Wake;

/// How long the program's pipes may stay open after its end.
const DRAIN_LIMIT: Duration = Duration::from_secs(1);
/// How long an event of the engine waits for clients that have much to read.
const RELIEF: Duration = Duration::from_millis(1);
/// How long a client may take to read its last messages.
const LAST_WORDS: Duration = Duration::from_secs(2);

struct Rider {
    queue: Queue,
    reader: CancellationToken,
    writer: AbortHandle,
}

impl Rider {
    /// It may read what is queued for it, for a while; then its connection closes.
    fn let_go(self) {
        self.reader.cancel();
        let writer = self.writer;
        tokio::spawn(async move {
            tokio::time::sleep(LAST_WORDS).await;
            writer.abort();
        });
    }
}

/// The actor.
pub struct Actor<H> {
    host: H,
    state: State,
    broker: Broker,
    inbox: Inbox,
    wakes: mpsc::Receiver<Wake>,
    riders: HashMap<ClientId, Rider>,
    /// Clients that ride in another session through us, and the way there.
    elsewhere: HashMap<ClientId, mpsc::Sender<Message>>,
    next_client: u64,
    engine: Option<Arc<dyn Engine>>,
    /// Counts the engines: a restart makes another.
    engines: u64,
    /// Where the engine's answer to `disconnect` goes: behind all that it said before.
    goodbyes: Option<mpsc::UnboundedSender<Event>>,
    /// What the engine and the broker were asked and have not answered.
    asking: HashMap<Ticket, Asking>,
    deadlines: Deadlines,
    /// The engine's answers, in the order it gave them.
    answers: mpsc::UnboundedSender<Answer>,
    given: mpsc::UnboundedReceiver<Answer>,
    writers: JoinSet<()>,
    /// Clients that were cut off and that the state does not know of yet.
    stalled: Vec<ClientId>,
    /// What agents may do, for sessions of programs that this one's program starts.
    access: watch::Sender<AgentAccess>,
    ended: bool,
}

impl<H: Host> Actor<H> {
    /// An actor for this session. Give its [`Inbox`] to whoever accepts connections, then [`Actor::run`] it. Must be called
    /// inside a tokio runtime.
    pub fn new(session: &str, host: H, broker: Broker) -> (Self, Inbox) {
        let (inbox, wakes) = Inbox::new();
        let (answers, given) = mpsc::unbounded_channel();
        let actor = Self {
            host,
            state: State::new(session),
            broker,
            inbox: inbox.clone(),
            wakes,
            riders: HashMap::new(),
            elsewhere: HashMap::new(),
            next_client: 0,
            engine: None,
            engines: 0,
            goodbyes: None,
            asking: HashMap::new(),
            deadlines: Deadlines::new(),
            answers,
            given,
            writers: JoinSet::new(),
            stalled: Vec::new(),
            access: watch::Sender::new(AgentAccess::default()),
            ended: false,
        };
        (actor, inbox)
    }

    /// The first client may do nothing before it presents this.
    pub fn require_token(&mut self, token: Token) {
        self.state.require_token(token);
    }

    /// What agents may do when the launch does not say.
    pub fn allow_agents(&mut self, access: AgentAccess) {
        self.state.allow_agents(access);
    }

    /// What is known of its engine before it is started: DAP `exceptionBreakpointFilters`.
    pub fn expect_exception_filters(&mut self, exception_filters: Value) {
        self.state.expect_exception_filters(exception_filters);
    }

    /// Runs the session to its end.
    pub async fn run(mut self) {
        let mut awake = Awake::new();
        while !self.ended {
            // In this order: answers are not kept waiting by whoever asks much, and the core is offered to others only when
            // nothing waits.
            let wake = tokio::select! {
                biased;
                Some(answer) = self.given.recv() => {
                    self.deadlines.start();
                    awake.start(awake::Said::Engine);
                    self.answered(answer);
                    continue;
                }
                Some(wake) = self.wakes.recv() => wake,
                late = self.deadlines.late() => {
                    self.is_late(late);
                    continue;
                }
                () = awake.look() => continue,
            };
            self.deadlines.start();
            awake.start(match &wake {
                Wake::Event(Event::ClientSaid { .. }) => awake::Said::Client,
                _ => awake::Said::Engine,
            });
            match wake {
                Wake::Connected { origin, client } => self.welcome(origin, client),
                Wake::Event(event) => self.handle(event),
                Wake::EngineSaid { engine, event } if engine == self.engines => {
                    tracing::trace!(event = event.name(), "said by the engine");
                    self.handle(Event::EngineSaid(event));
                    self.relieve().await;
                }
                Wake::EngineSaid { event, .. } => {
                    tracing::debug!(event = event.name(), "said by an engine that was replaced")
                }
            }
        }
        self.host.unpublish();
        self.broker.kill();
        self.riders.clear();
        let last_words = async { while self.writers.join_next().await.is_some() {} };
        if tokio::time::timeout(LAST_WORDS, last_words).await.is_err() {
            tracing::debug!("a client did not read its last messages");
        }
    }

    fn handle(&mut self, event: Event) {
        if let Event::EngineAnswered { ticket, .. } | Event::IoAnswered { ticket, .. } = &event {
            self.no_longer_asks(*ticket);
        }
        let event = match event {
            Event::ClientSaid { client, message } if self.elsewhere.contains_key(&client) => {
                return self.pass_on(client, message);
            }
            other => other,
        };
        let event = match event {
            Event::EngineSaid(EngineEvent::Spawned(spawned)) => match self.adopt(spawned) {
                Some(event) => event,
                None => return,
            },
            other => other,
        };
        if let Event::ClientLeft { client } = &event {
            self.elsewhere.remove(client);
            if let Some(rider) = self.riders.remove(client) {
                rider.let_go();
            }
            self.broker.forget_client(client.0);
        }
        for effect in self.state.handle(event) {
            self.carry_out(effect);
        }
        let access = self.state.agent_access();
        self.access.send_if_modified(|told| std::mem::replace(told, access) != access);
        while let Some(client) = self.stalled.pop() {
            self.broker.forget_client(client.0);
            for effect in self.state.handle(Event::ClientStalled { client }) {
                self.carry_out(effect);
            }
        }
    }

    /// In a storm of events a client that reads gets the time to: the next event waits a moment while some queue is half full. For one
    /// that does not read that is two seconds in all, until it is dropped.
    async fn relieve(&mut self) {
        if self.is_pressed() {
            tokio::task::yield_now().await;
        }
        if self.is_pressed() {
            tokio::time::sleep(RELIEF).await;
        }
    }

    fn is_pressed(&self) -> bool {
        self.riders.values().any(|rider| rider.queue.is_pressed())
    }

    /// Another session comes into being; an editor that can is asked to open it.
    fn adopt(&mut self, spawned: Spawned) -> Option<Event> {
        let name = spawned.name.clone();
        match self.host.adopt(spawned, self.access.subscribe()) {
            Ok(session) => Some(Event::EngineSaid(EngineEvent::Asks {
                ask: CHILD_SESSION,
                command: "startDebugging".into(),
                arguments: json!({ "request": "attach", "configuration": {
                    "type": "tandem", "request": "attach", "name": format!("{name} ({session})"), "session": session } }),
            })),
            Err(failure) => {
                tracing::error!(%failure, name, "a program that was started is not debugged");
                None
            }
        }
    }

    /// A session that does not take messages any more costs the client its connection, like any other.
    fn pass_on(&mut self, client: ClientId, message: Message) {
        let taken = self.elsewhere.get(&client).is_some_and(|there| there.try_send(message).is_ok());
        if !taken && let Some(rider) = self.riders.get(&client) {
            rider.reader.cancel();
        }
    }

    fn join_other(&mut self, client: ClientId, session: &str, introduction: Value, seq: i64) {
        let Some(rider) = self.riders.get(&client) else { return };
        match self.host.connect(session) {
            Ok(connection) => {
                let there =
                    proxy::start(connection, introduction, seq, rider.queue.clone(), rider.reader.clone());
                self.elsewhere.insert(client, there);
            }
            Err(failure) => {
                let response = Response::to(seq, "attach", Err(failure));
                self.queue(client, Outgoing::Message(Message::Response(response)));
            }
        }
    }

    fn welcome(&mut self, origin: Origin, connection: Connection) {
        self.next_client += 1;
        let id = ClientId(self.next_client);
        let (queue, queued) = queue::channel();
        let reader = CancellationToken::new();
        let numbers = Numbers::default();
        let writer = self.writers.spawn(writer::run(connection.writer, queued, numbers.clone()));
        tokio::spawn(hearing::read(id, connection.reader, self.inbox.clone(), reader.clone(), numbers));
        self.riders.insert(id, Rider { queue, reader, writer });
        self.handle(Event::ClientJoined { client: id, origin });
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Send { client, message } => self.queue(client, Outgoing::Message(message)),
            Effect::StartOutput { client } => {
                let cursor = self.broker.cursor();
                self.queue(client, Outgoing::StartOutput(cursor));
            }
            Effect::StopOutput { client } => self.queue(client, Outgoing::StopOutput),
            Effect::FlushOutput { client } => {
                let positions = self.broker.settle();
                self.queue(client, Outgoing::FlushOutput(positions));
            }
            Effect::Close { client } => {
                if let Some(rider) = self.riders.remove(&client) {
                    rider.let_go();
                }
                self.broker.forget_client(client.0);
            }
            Effect::StartEngine { arguments } => self.start_engine(&arguments),
            Effect::JoinOther { client, session, introduction, seq } => {
                self.join_other(client, &session, introduction, seq);
            }
            Effect::AskEngine { ticket, command, arguments, deadline } => {
                self.ask_engine(ticket, command, arguments, deadline);
            }
            Effect::AnswerEngine { ask, result } => {
                if let Some(engine) = &self.engine {
                    engine.answer(ask, result);
                }
            }
            Effect::Cancel { ticket } => {
                if let Some(asking) = self.asking.get(&ticket) {
                    asking.cancel.cancel();
                }
            }
            Effect::Io { ticket, client, request } => self.ask_broker(ticket, client, request),
            Effect::StartTimer { timer, after } => {
                let inbox = self.inbox.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(after).await;
                    inbox.event(Event::TimerFired(timer)).await;
                });
            }
            Effect::Publish(publication) => self.host.publish(publication, &self.inbox),
            Effect::Unpublish => self.host.unpublish(),
            Effect::KillProgram => self.broker.kill(),
            Effect::End => self.ended = true,
        }
    }

    fn queue(&mut self, client: ClientId, outgoing: Outgoing) {
        let Some(rider) = self.riders.get(&client) else { return };
        if let Err(queue::Full) = rider.queue.try_send(outgoing) {
            tracing::warn!(%client, "dropped: too much waits for it and it does not read");
            if let Some(rider) = self.riders.remove(&client) {
                rider.reader.cancel();
                // What it did not read it shall not read later either: the connection closes now.
                rider.writer.abort();
            }
            self.stalled.push(client);
        }
    }

    fn start_engine(&mut self, arguments: &Value) {
        let (events, said) = mpsc::unbounded_channel();
        self.engines += 1;
        let started = self.host.start_engine(arguments, &self.broker, events).map(|(started, engine)| {
            self.engine = Some(engine);
            started
        });
        if let Err(failure) = &started {
            self.engine = Some(Arc::new(NoEngine(failure.clone())));
        }
        let (goodbyes, goodbye) = mpsc::unbounded_channel();
        self.goodbyes = Some(goodbyes);
        let pump = hearing::Pump::new(self.engines, self.broker.clone(), self.inbox.clone());
        tokio::spawn(pump.run(said, goodbye));
        for effect in self.state.handle(Event::EngineStarted(started)) {
            self.carry_out(effect);
        }
    }
}
