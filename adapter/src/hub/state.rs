//! The hub's decisions: `State::handle(Event) -> Vec<Effect>`. No I/O, no clock, no async, so every race can be
//! written down as a test.
//!
//! In reading order: this file (the state, who said what, answering), [`lifecycle`] (handshakes, launch, leaving, end),
//! [`control`] (resuming and pausing), [`restart`], [`inspect`] (everything that is asked of the engine as it is), [`marks`]
//! (breakpoints and exception filters), [`terminate`],
//! [`judge`] (stops only the hub can tell from others) with [`values_at_hit`], [`program_io`] (stdin,
//! output, the debug console), [`session`] (sessionInfo, sessionControl), [`deeds`] (who is told what a client did), [`owed`] (who waits for an answer), [`told`] (what the engine says of its own
//! accord), [`reverse`] (what it asks of a client).

mod control;
mod deeds;
mod inspect;
mod judge;
mod lifecycle;
mod marks;
mod owed;
mod program_io;
#[cfg(test)]
mod races;
#[cfg(any(test, feature = "rehearsal"))]
pub mod rehearsal;
mod restart;
mod reverse;
mod session;
mod terminate;
#[cfg(test)]
mod tests;
mod told;
mod values_at_hit;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use dap_wire::{ErrorCode, Failure, Message, Request, Response};
use serde_json::Value;

use super::access::{AgentAccess, Rule, Token};
use super::arguments;
use super::breakpoints::Ledger;
use super::capabilities::Capabilities;
use super::clients::{Client, Clients, Kind, Stage};
use super::event::{ClientId, Effect, Event, IoRequest, Origin, Ticket, Timer};
use super::facts::Facts;
use super::ids::IdCounter;
use super::looking;
use super::pending::{Asked, Pending, Waiter};
use super::shown;
pub use inspect::Touched;
use judge::Judging;
use restart::Restart;
use reverse::Reverse;
use terminate::Terminating;

/// How long a client may take to present the token, or on the socket to introduce itself.
const ADMISSION_LIMIT: Duration = Duration::from_secs(20);
/// How long an engine may take for an ordinary request. Evaluations have the engine's own, shorter deadline.
pub(super) const ENGINE_DEADLINE: Duration = Duration::from_secs(30);

/// Where the session stands. Which command is legal when follows from it.
#[derive(Debug, Clone, PartialEq)]
enum Phase {
    /// No program was asked for.
    Idle,
    /// The engine builds, starts or attaches; not yet configured.
    Starting,
    /// The program runs.
    Running,
    /// The program is stopped.
    Stopped {
        /// Body of the engine's `stopped` event.
        body: Value,
    },
    /// The program has ended or was let go.
    Over {
        /// Its exit code, if it ended.
        exit_code: Option<i64>,
    },
}

/// One debug session.
#[derive(Debug)]
pub struct State {
    session: String,
    clients: Clients,
    phase: Phase,
    /// The engine's name, once it is made.
    engine: Option<String>,
    capabilities: Capabilities,
    /// It said `initialized`.
    engine_ready: bool,
    /// It was told `configurationDone`.
    configured: bool,
    /// What the first client must present.
    token: Option<Token>,
    /// What agents may do; before the launch, what they may when the launch does not say.
    rule: Rule,
    /// Arguments of the launch or attach that made the session.
    launch: Value,
    attached: bool,
    /// The launch or attach succeeded before the engine was ready; its answer waits for that.
    early_answer: Option<(Asked, Value)>,
    counter: IdCounter,
    pending: Pending,
    ledger: Ledger,
    /// Counts engines, so that an answer of one that is gone is not taken for another's.
    engines: u64,
    /// The engine takes several breakpoints on one line.
    several_per_line: bool,
    /// Who changed breakpoints the engine has not answered for.
    changed_by: BTreeSet<ClientId>,
    /// Data ids that do not outlive their stop, and the stop.
    data_ids: BTreeMap<String, u64>,
    judging: Judging,
    facts: Facts,
    reverse: Reverse,
    restart: Option<Restart>,
    /// How long the program may take to end when it is asked to; `None`: as long as it likes.
    limit: Option<Duration>,
    /// It was asked to.
    terminating: Option<Terminating>,
    /// The engine of a restart has not been told `configurationDone`.
    unconfigured: bool,
    /// Counts stops and resumes: what was asked at one stop is nothing at the next.
    stops: u64,
    /// Who resumed the program last, for whoever came second.
    resumed_by: Option<String>,
    /// `exited` was sent.
    told_exit: bool,
    /// Body of the engine's `terminated`.
    farewell: Value,
    /// The session ends; everything else is refused.
    ending: bool,
    effects: Vec<Effect>,
}

impl State {
    /// A session with this id, without clients.
    pub fn new(session: impl Into<String>) -> Self {
        Self {
            session: session.into(),
            clients: Clients::default(),
            phase: Phase::Idle,
            engine: None,
            capabilities: Capabilities::default(),
            engine_ready: false,
            configured: false,
            token: None,
            rule: Rule::default(),
            launch: Value::Null,
            attached: false,
            early_answer: None,
            counter: IdCounter::default(),
            pending: Pending::default(),
            ledger: Ledger::default(),
            engines: 0,
            several_per_line: true,
            changed_by: BTreeSet::new(),
            data_ids: BTreeMap::new(),
            judging: Judging::default(),
            facts: Facts::default(),
            reverse: Reverse::default(),
            restart: None,
            limit: None,
            terminating: None,
            unconfigured: false,
            stops: 0,
            resumed_by: None,
            told_exit: false,
            farewell: Value::Null,
            ending: false,
            effects: Vec::new(),
        }
    }

    /// Takes one event and says what to do about it, in order.
    pub fn handle(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::ClientJoined { client, origin } => self.joined(client, origin),
            Event::ClientSaid { client, message: Message::Request(request) } => self.asked(client, request),
            Event::ClientSaid { client, message: Message::Response(response) } => {
                self.client_answered(client, response);
            }
            Event::ClientSaid { client, message: Message::Event(event) } => {
                tracing::debug!(%client, event = event.event, "an event of a client has no meaning");
            }
            Event::ClientGarbled { client, error } => {
                if let Some(seq) = error.seq {
                    let command = error.command.clone().unwrap_or_default();
                    self.answer(&Asked { client, seq, command }, Err(Failure::invalid(error.to_string())));
                }
            }
            Event::ClientLeft { client } => self.left(client, None),
            Event::ClientStalled { client } => self.left(client, Some("it does not read what it is sent")),
            Event::EngineStarted(result) => self.engine_started(result),
            Event::EngineAnswered { ticket, result } => self.engine_answered(ticket, result),
            Event::EngineSaid(event) => self.engine_said(event),
            Event::IoAnswered { ticket, result } => {
                let waiter = self.pending.take(ticket);
                if let Some(Waiter::Write { asked, text, closes }) = &waiter
                    && let Ok(body) = &result
                {
                    self.tell_input(asked, text, *closes, body);
                }
                if let Some(Waiter::Io(asked) | Waiter::Write { asked, .. }) = waiter {
                    self.io_answered(&asked, &result);
                    self.answer(&asked, result);
                }
            }
            Event::TimerFired(timer) => self.timer_fired(timer),
            Event::ShutdownAsked => self.end_session(None, true),
        }
        std::mem::take(&mut self.effects)
    }

    /// Whoever comes first must present this; the session's socket is private to its user and needs none.
    pub fn require_token(&mut self, token: Token) {
        self.token = Some(token);
    }

    /// What agents may do when the launch does not say.
    pub fn allow_agents(&mut self, access: AgentAccess) {
        self.rule.agents = access;
    }

    /// What agents may do now.
    pub fn agent_access(&self) -> AgentAccess {
        self.rule.agents
    }

    /// The engine will most likely have these exception filters.
    pub fn expect_exception_filters(&mut self, exception_filters: Value) {
        self.capabilities.expect_exception_filters(exception_filters);
    }

    fn joined(&mut self, id: ClientId, origin: Origin) {
        let mut client = Client::new(id, origin);
        client.admitted = self.token.is_none() || origin != Origin::First;
        if !client.admitted || origin == Origin::Socket {
            self.effects.push(Effect::StartTimer { timer: Timer::Admission(id), after: ADMISSION_LIMIT });
        }
        self.clients.add(client);
    }

    /// Takes the token out of the arguments: nobody behind here needs it.
    ///
    /// # Errors
    /// `ACCESS_DENIED` without the token, and `Some` guess that was wrong.
    fn admit(&mut self, asked: &Asked, arguments: &mut Value) -> Result<(), Failure> {
        let presented = match (asked.command.as_str(), arguments.as_object_mut()) {
            ("initialize" | "launch" | "attach", Some(arguments)) => arguments.shift_remove("token"),
            _ => None,
        };
        let (Some(token), Some(client)) = (&self.token, self.clients.get_mut(asked.client)) else {
            return Ok(());
        };
        if client.admitted {
            return Ok(());
        }
        let denied = |what: &str| {
            Err(Failure::new(ErrorCode::AccessDenied, what)
                .hint("put `\"token\": \"…\"` into the launch configuration; the listener printed it, or its user chose it"))
        };
        match presented.as_ref().map(Value::as_str) {
            Some(Some(presented)) if token.is(presented) => {
                client.admitted = true;
                Ok(())
            }
            Some(_) => {
                client.stage = Stage::Leaving;
                denied("this is not the token of this adapter")
            }
            None if matches!(asked.command.as_str(), "initialize" | "disconnect") => Ok(()),
            None => denied("this adapter wants a token before it does anything"),
        }
    }

    /// What a client may do and see. The agent that launched is bound by a person's word only.
    fn access_of(&self, client: &Client) -> AgentAccess {
        let may = match client.kind {
            Kind::Agent if !client.launched || self.rule.by_person => self.rule.agents,
            _ => AgentAccess::Full,
        };
        may.min(client.wants)
    }

    fn asked(&mut self, id: ClientId, request: Request) {
        let asked = Asked { client: id, seq: request.seq, command: request.command };
        let mut arguments = request.arguments;
        if let Err(failure) = self.owe(&asked) {
            return self.answer(&asked, Err(failure));
        }
        if let Err(failure) = self.admit(&asked, &mut arguments) {
            self.answer(&asked, Err(failure));
            if self.clients.get(id).is_some_and(|client| client.stage == Stage::Leaving) {
                self.let_client_go(id);
            }
            return;
        }
        let Some(client) = self.clients.get(id) else { return };
        client.convention.to_hub(&mut arguments);
        let well_formed = arguments::check(&asked.command, &arguments);
        let outcome = match (client.stage, asked.command.as_str()) {
            (Stage::Leaving, _) => Err(Failure::invalid("this client has disconnected").quiet()),
            (Stage::Connected, "initialize" | "disconnect") => Ok(()),
            (Stage::Connected, _) => Err(Failure::invalid(format!(
                "`{}` came before `initialize`; a client introduces itself first",
                asked.command
            ))),
            _ => well_formed.and_then(|()| {
                let access = self.access_of(client);
                access.check(&asked.command, self.engine.as_deref()).inspect(|()| {
                    if access != AgentAccess::Full {
                        looking::restrain(&asked.command, &mut arguments);
                    }
                })
            }),
        };
        if let Err(failure) = &outcome
            && failure.code == ErrorCode::AccessDenied
        {
            self.tell_refused(&asked);
        }
        match outcome {
            Ok(()) => self.dispatch(asked, arguments),
            Err(failure) => self.answer(&asked, Err(failure)),
        }
    }

    /// Every command we know, by topic; what is not here is the engine's to know or refuse.
    fn dispatch(&mut self, asked: Asked, arguments: Value) {
        match asked.command.as_str() {
            "initialize" => self.initialize(&asked, &arguments),
            "launch" => self.launch(asked, arguments, false),
            "attach" => self.attach(asked, arguments),
            "configurationDone" => self.configuration_done(&asked),
            "disconnect" => self.disconnect(asked, &arguments),
            "terminate" => self.terminate(asked),
            "cancel" => self.cancel(&asked, &arguments),
            "continue" | "next" | "stepIn" | "stepOut" | "goto" | "stepBack" | "reverseContinue"
            | "restartFrame" => self.resume(asked, arguments),
            "restart" => self.restart(asked, &arguments),
            "pause" => self.pause(asked, arguments),
            "setBreakpoints"
            | "setFunctionBreakpoints"
            | "setExceptionBreakpoints"
            | "setDataBreakpoints"
            | "setInstructionBreakpoints" => self.set_breakpoints(asked, arguments),
            "evaluate" => self.evaluate(asked, arguments),
            "processWriteInput" => self.write_input(asked, &arguments),
            "processReadOutput" => self.read_output(asked, &arguments),
            "sessionInfo" => self.session_info(asked, &arguments),
            "sessionControl" => self.session_control(&asked, &arguments),
            _ => self.inspect(asked, arguments),
        }
    }

    fn engine_answered(&mut self, ticket: Ticket, result: Result<Value, Failure>) {
        match self.pending.take(ticket) {
            None | Some(Waiter::Nobody) => {}
            Some(Waiter::Client(asked)) => self.inspected(&asked, None, Touched::Nothing, result),
            Some(Waiter::Inspect { asked, stop, touched }) => self.inspected(&asked, stop, touched, result),
            Some(Waiter::Launch(asked)) => self.launched(&asked, result),
            // The broker answers elsewhere.
            Some(Waiter::Io(asked) | Waiter::Write { asked, .. }) => self.answer(&asked, result),
            Some(Waiter::Terminate { asked, stop }) => self.asked_to_end(asked, stop, result),
            Some(Waiter::Pause(asked)) => self.paused(&asked, result),
            Some(Waiter::Restarting) => self.relaunch(),
            Some(Waiter::Relaunched) => self.relaunched(result),
            Some(Waiter::Resume(asked)) => self.resumed(&asked, result),
            Some(Waiter::Breakpoints { place, ids, engine }) => {
                self.breakpoints_applied(&place, &ids, engine, result);
            }
            Some(Waiter::Question(question)) => self.question_answered(question, result),
            Some(Waiter::GoOn { body, stops }) => self.went_on(body, stops, result),
            Some(Waiter::SessionInfo(asked)) => self.session_info_with_place(&asked, result.ok()),
            Some(Waiter::Ending(asked)) => self.engine_let_go(asked.as_ref(), result),
        }
    }

    /// Sends the one answer. A client that left is owed nothing.
    fn answer(&mut self, asked: &Asked, outcome: Result<Value, Failure>) {
        self.no_longer_owe(asked);
        let Some(client) = self.clients.get(asked.client) else { return };
        let (convention, announced) = (client.convention, client.announced);
        let mut response = Response::to(asked.seq, asked.command.clone(), outcome);
        if !response.success {
            shown::only_what_a_person_started(&asked.command, &mut response.body);
        }
        announced.mask(&asked.command, &mut response.body);
        convention.to_client(&mut response.body);
        self.effects.push(Effect::Send { client: asked.client, message: Message::Response(response) });
    }

    fn refuse(&mut self, asked: &Asked, failure: Failure) {
        self.answer(asked, Err(failure));
    }

    fn ask_engine(&mut self, waiter: Waiter, command: &str, arguments: Value, deadline: Duration) {
        let ticket = self.pending.add(waiter);
        self.effects.push(Effect::AskEngine { ticket, command: command.into(), arguments, deadline });
    }

    fn ask_io(&mut self, asked: Asked, request: IoRequest) {
        let client = asked.client;
        let ticket = self.pending.add(match &request {
            IoRequest::Write { data, close } => {
                Waiter::Write { asked, text: deeds::excerpt(&String::from_utf8_lossy(data)), closes: *close }
            }
            IoRequest::Read(_) => Waiter::Io(asked),
        });
        self.effects.push(Effect::Io { ticket, client, request });
    }

    /// Sends an event to one client, if it takes it, in its own ids, lines and paths.
    fn tell(&mut self, id: ClientId, event: &str, body: &Value) {
        let access = self.clients.get(id).map_or(AgentAccess::None, |client| self.access_of(client));
        let Some(client) = self.clients.get_mut(id) else { return };
        let hidden =
            event == "sessionChanged" && !access.shows_change(body["change"].as_str().unwrap_or_default());
        if !client.takes(event) || !access.shows(event) || hidden {
            return;
        }
        let mut body = body.clone();
        client.ids.to_client(&mut self.counter, event, &mut body);
        client.announced.mask(event, &mut body);
        client.convention.to_client(&mut body);
        let message = Message::Event(dap_wire::Event::new(event, body));
        self.effects.push(Effect::Send { client: id, message });
    }

    /// Sends a line of the debug console to everybody who launched, attached or joined, configured or not.
    fn note_all(&mut self, body: &Value) {
        self.tell_waiting("output", body);
    }

    /// Sends an event to everybody who launched, attached or joined, configured or not: what goes on before a program runs
    /// belongs to those who wait for it.
    fn tell_waiting(&mut self, event: &str, body: &Value) {
        for id in self.clients.at_the_console() {
            self.tell(id, event, body);
        }
    }

    /// Sends an event to everybody who gets events.
    fn tell_all(&mut self, event: &str, body: &Value) {
        self.tell_all_but(None, event, body);
    }

    fn tell_all_but(&mut self, but: Option<ClientId>, event: &str, body: &Value) {
        for id in self.clients.ready() {
            if Some(id) != but {
                self.tell(id, event, body);
            }
        }
    }

    fn name_of(&self, id: ClientId) -> String {
        self.clients.get(id).map_or_else(|| id.to_string(), |client| client.name.clone())
    }

    /// A program exists and has not ended.
    fn is_live(&self) -> bool {
        matches!(self.phase, Phase::Starting | Phase::Running | Phase::Stopped { .. })
    }

    fn need_program(&self) -> Result<(), Failure> {
        match self.phase {
            Phase::Idle => Err(Failure::new(ErrorCode::NoSession, "there is no program in this session yet")
                .hint("send `launch` or `attach` first")),
            Phase::Over { .. } => Err(Failure::new(ErrorCode::NoSession, "the program has ended")
                .hint("its output can still be read; launch again to go on")
                .quiet()),
            _ => Ok(()),
        }
    }

    fn need_stop(&self, command: &str) -> Result<(), Failure> {
        self.need_program()?;
        match self.phase {
            Phase::Stopped { .. } => Ok(()),
            _ => Err(Failure::new(
                ErrorCode::NotStopped,
                format!("`{command}` needs a stopped program; it runs"),
            )
            .hint("pause it, or wait for a breakpoint")
            .quiet()),
        }
    }
}
