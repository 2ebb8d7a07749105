//! Handshakes, launch and join, leaving, and the end.
//!
//! The client that launched or attached owns the session: when it goes, the session ends, unless it hands over.
//! Everybody else comes and goes alone.

use std::time::Duration;

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::deeds::change;
use super::{ENGINE_DEADLINE, Phase, State, terminate};
use crate::hub::access::AgentAccess;
use crate::hub::clients::{Client, Kind, Stage};
use crate::hub::event::{ClientId, Effect, Origin, Publication, StartedEngine, Timer};
use crate::hub::pending::{Asked, Waiter};

/// A launch may build first; the engine bounds its own steps more tightly.
pub(super) const LAUNCH_DEADLINE: Duration = Duration::from_secs(15 * 60);
/// How long the engine may take to let go of the program before it is killed.
pub(super) const ENDING_DEADLINE: Duration = Duration::from_secs(6);
/// How long others may read the output of a session whose owner has gone.
const LINGER: Duration = Duration::from_secs(10 * 60);

impl State {
    pub(super) fn initialize(&mut self, asked: &Asked, arguments: &Value) {
        let Some(client) = self.clients.get_mut(asked.client) else { return };
        let outcome = if client.stage == Stage::Connected {
            client.introduce(arguments).map(|()| {
                client.capabilities = self.capabilities.offered().clone();
                client.capabilities.clone()
            })
        } else {
            Err(Failure::invalid("`initialize` came a second time; once per connection is enough"))
        };
        self.answer(asked, outcome);
    }

    pub(super) fn launch(&mut self, asked: Asked, mut arguments: Value, attach: bool) {
        under_our_names(&mut arguments);
        if self.phase != Phase::Idle || self.ending {
            return self.refuse(
                &asked,
                Failure::new(
                    ErrorCode::AlreadyAttached,
                    format!("session `{}` already has a program", self.session),
                )
                .hint("`attach` without attributes joins it; start another `tandem-dap` for another program"),
            );
        }
        // Without the attribute it is what the adapter was started with.
        if !arguments["agentAccess"].is_null() {
            match AgentAccess::parse(&arguments["agentAccess"]) {
                Ok(access) => self.rule.agents = access,
                Err(failure) => return self.refuse(&asked, failure),
            }
        }
        let hands_over = match hand_over_flag(&arguments) {
            Ok(hands_over) => hands_over.unwrap_or(false),
            Err(failure) => return self.refuse(&asked, failure),
        };
        (self.limit, self.terminating) = match terminate::limit(&arguments, attach) {
            Ok(limit) => (limit, None),
            Err(failure) => return self.refuse(&asked, failure),
        };
        if let Some(client) = self.clients.get_mut(asked.client) {
            client.hands_over = hands_over;
            client.launched = true;
            client.stage = Stage::Joined;
        }
        self.phase = Phase::Starting;
        self.attached = attach;
        if attach {
            self.capabilities.set_attached();
        }
        self.launch = arguments.clone();
        self.effects.push(Effect::StartEngine { arguments: arguments.clone() });
        let command = if attach { "attach" } else { "launch" };
        self.ask_engine(Waiter::Launch(asked), command, arguments, LAUNCH_DEADLINE);
    }

    /// The engine was made; the launch itself is already on its way to it.
    pub(super) fn engine_started(&mut self, result: Result<StartedEngine, Failure>) {
        let Ok(engine) = result else { return };
        let text = |key: &str| self.launch[key].as_str().map(str::to_owned);
        let named = ["program", "project", "module", "coreFile"].into_iter().find_map(text);
        let program = named.unwrap_or_else(|| {
            let connect = &self.launch["connect"];
            match (&self.launch["processId"], &connect["port"]) {
                (Value::Null, Value::Null) => String::new(),
                (Value::Null, port) => {
                    format!("{}:{}", connect["host"].as_str().unwrap_or("127.0.0.1"), plain(port))
                }
                (pid, _) => format!("process {}", plain(pid)),
            }
        });
        let title = program.rsplit('/').next().unwrap_or_default().to_owned();
        if self.engine.is_none() {
            self.capabilities.engine_chosen();
        }
        // The program's folder is where it starts unless it is told otherwise.
        let folder = |path: &std::path::Path| {
            path.is_absolute().then(|| path.parent()?.to_str().map(str::to_owned)).flatten()
        };
        let cwd = text("cwd").or_else(|| folder(std::path::Path::new(&program)));
        self.engine = Some(engine.name.clone());
        self.several_per_line = engine.several_per_line;
        let launcher = self.clients.iter().find(|client| client.launched);
        let client = launcher.map(|client| client.name.clone());
        let kind = launcher.map(|client| client.kind.as_str().to_owned());
        self.effects.push(Effect::Publish(Publication {
            title,
            program,
            engine: engine.name,
            cwd,
            client,
            kind,
        }));
    }

    pub(super) fn launched(&mut self, asked: &Asked, result: Result<Value, Failure>) {
        // An engine that died has ended the session already.
        if result.is_err() && !matches!(self.phase, Phase::Over { .. }) {
            // Nothing runs: the same client may try again with better arguments.
            self.end_progress();
            self.abandon_asks(&Failure::cancelled());
            self.phase = Phase::Idle;
            (self.engine, self.engine_ready, self.configured) = (None, false, false);
            self.capabilities.forget_engine();
            self.forget_engine_breakpoints();
            self.effects.push(Effect::KillProgram);
            self.effects.push(Effect::Unpublish);
            if let Some(client) = self.clients.get_mut(asked.client) {
                (client.stage, client.launched) = (Stage::Initialized, false);
            }
        }
        let waits = self.clients.get(asked.client).is_some_and(|client| client.stage == Stage::Joined);
        match result {
            // What an engine says comes on another way than its answers, which may be quicker.
            Ok(body) if waits && self.is_live() => {
                self.early_answer = Some((asked.clone(), body));
                let timer = Timer::EarlyAnswer;
                self.effects.push(Effect::StartTimer { timer, after: ENGINE_DEADLINE });
            }
            Ok(body) => {
                self.answer(asked, Ok(body));
                self.tell_early_end(asked.client);
            }
            Err(failure) => self.refuse(asked, failure),
        }
    }

    /// DAP has `initialized` before the answer to the launch, and some clients count on it. The answer does not wait for
    /// `configurationDone`, as DAP has it too: other clients configure only when they have it.
    pub(super) fn answer_launch(&mut self) {
        if let Some((asked, body)) = self.early_answer.take() {
            self.answer(&asked, Ok(body));
        }
    }

    /// Joins this session, or attaches to a process.
    pub(super) fn attach(&mut self, asked: Asked, arguments: Value) {
        let names = |key: &str| !arguments[key].is_null();
        // An engine of another language may be told in its own way what to attach to.
        let by_engine = self.phase == Phase::Idle && names("engine") && !names("session");
        if names("processId") || names("connect") || by_engine {
            return self.launch(asked, arguments, true);
        }
        let own = arguments["session"].as_str().is_none_or(|session| session == self.session);
        if !own {
            return self.join_other(&asked, &arguments["session"]);
        }
        if self.phase == Phase::Idle {
            let failure = Failure::new(ErrorCode::NoSession, "there is no program in this session to join")
                .hint("`launch` one, or `attach` with `processId`, `connect` or `session`");
            return self.refuse(&asked, failure);
        }
        let joined = self.clients.get_mut(asked.client).is_some_and(|client| {
            let first = client.stage == Stage::Initialized;
            if first {
                client.stage = Stage::Joined;
            }
            first
        });
        if !joined {
            return self
                .refuse(&asked, Failure::new(ErrorCode::AlreadyAttached, "this client has joined already"));
        }
        self.answer(&asked, Ok(Value::Null));
        self.offer_configuration(asked.client);
    }

    /// An editor that can only start adapters joins a session through the fresh one it started.
    fn join_other(&mut self, asked: &Asked, session: &Value) {
        let introduction = self.clients.get(asked.client).map(|client| client.introduction.clone());
        match (session.as_str(), introduction) {
            (Some(session), Some(introduction)) if self.phase == Phase::Idle => {
                self.effects.push(Effect::JoinOther {
                    client: asked.client,
                    session: session.to_owned(),
                    introduction,
                    seq: asked.seq,
                });
            }
            _ => {
                let message = format!("this is session `{}`, not {session}", self.session);
                let failure =
                    Failure::new(ErrorCode::NoSession, message).hint("start another adapter to join it");
                self.refuse(asked, failure);
            }
        }
    }

    /// Sends `initialized` once the engine can take breakpoints.
    pub(super) fn offer_configuration(&mut self, id: ClientId) {
        if !self.engine_ready {
            return;
        }
        if let Some(client) = self.clients.get_mut(id)
            && client.stage == Stage::Joined
        {
            client.stage = Stage::Configuring;
            self.update_capabilities(id);
            self.tell(id, "initialized", &Value::Null);
            if self.early_answer.as_ref().is_some_and(|(asked, _)| asked.client == id) {
                self.answer_launch();
            }
        }
    }

    pub(super) fn configuration_done(&mut self, asked: &Asked) {
        let Some(client) = self.clients.get_mut(asked.client) else { return };
        if client.stage != Stage::Configuring {
            let failure = Failure::invalid("`configurationDone` belongs after the `initialized` event, once");
            return self.refuse(asked, failure);
        }
        client.stage = Stage::Ready;
        let (launched, knows_all) = (client.launched, client.told_terminated);
        self.answer(asked, Ok(Value::Null));
        if !knows_all {
            self.catch_up(asked.client);
        }
        if launched && !self.configured {
            self.configured = true;
            self.ask_engine(Waiter::Nobody, "configurationDone", Value::Null, ENGINE_DEADLINE);
        }
        self.tell_joined(asked.client);
    }

    /// Tells one client all that the others know already.
    pub(super) fn catch_up(&mut self, id: ClientId) {
        let shut_out = self.clients.get(id).is_none_or(|client| self.access_of(client) == AgentAccess::None);
        if shut_out && !matches!(self.phase, Phase::Over { .. }) {
            return;
        }
        for (event, body) in self.facts.replay() {
            self.tell(id, event, &body);
        }
        if !shut_out {
            self.effects.push(Effect::StartOutput { client: id });
        }
        if self.is_live() {
            self.show_breakpoints(id);
        }
        match self.phase.clone() {
            Phase::Stopped { body } => {
                self.effects.push(Effect::FlushOutput { client: id });
                self.tell(id, "stopped", &body);
            }
            Phase::Over { exit_code } => {
                self.effects.push(Effect::FlushOutput { client: id });
                if let Some(code) = exit_code {
                    self.tell(id, "exited", &json!({ "exitCode": code }));
                }
                self.tell_terminated(id);
            }
            _ => {}
        }
    }

    pub(super) fn tell_terminated(&mut self, id: ClientId) {
        if let Some(client) = self.clients.get_mut(id)
            && !client.told_terminated
        {
            client.told_terminated = true;
            self.take_back_breakpoints(id);
            let body = self.farewell.clone();
            self.tell(id, "terminated", &body);
        }
    }

    pub(super) fn disconnect(&mut self, asked: Asked, arguments: &Value) {
        let Some(client) = self.clients.get_mut(asked.client) else { return };
        client.keeps_breakpoints = arguments["keepBreakpoints"].as_bool().unwrap_or(false);
        client.hands_over = arguments["handOver"].as_bool().unwrap_or(client.hands_over);
        let stays = client.hands_over && self.heir(asked.client).is_some();
        let launched = self.clients.get(asked.client).is_some_and(|client| client.launched);
        if launched && self.is_live() && !stays {
            let kill = arguments["terminateDebuggee"].as_bool().unwrap_or(!self.attached);
            return self.end_session(Some(asked), kill);
        }
        self.take_back_breakpoints(asked.client);
        self.part_with(&asked);
    }

    /// Answers all that the client has asked, `disconnect` last, and closes the connection.
    fn part_with(&mut self, asked: &Asked) {
        self.answer_all_but(asked.client, Some(asked));
        self.answer(asked, Ok(Value::Null));
        self.let_client_go(asked.client);
    }

    /// Who can take the place of the client that launched: an editor, else an agent, but none whose hands are bound.
    fn heir(&self, owner: ClientId) -> Option<ClientId> {
        let mut heirs: Vec<_> = self
            .clients
            .iter()
            .filter(|client| client.id != owner && client.stage == Stage::Ready)
            .filter(|client| self.access_of(client) == AgentAccess::Full)
            .collect();
        heirs.sort_by_key(|client| (client.kind == Kind::Agent, client.id));
        heirs.first().map(|client| client.id)
    }

    fn hand_over(&mut self, owner: ClientId) {
        let Some(heir) = self.heir(owner) else { return };
        if let Some(client) = self.clients.get_mut(heir) {
            client.launched = true;
        }
        self.tell_deed(heir, "owner", &Value::Null);
    }

    /// After its last answer: the connection closes, and the rest happens as if it had closed it.
    pub(super) fn let_client_go(&mut self, id: ClientId) {
        self.answer_all_but(id, None);
        self.effects.push(Effect::Close { client: id });
        self.left(id, None);
    }

    /// A connection ended.
    pub(super) fn left(&mut self, id: ClientId, reason: Option<&str>) {
        let Some(client) = self.clients.remove(id) else { return };
        for ticket in self.pending.of_client(id) {
            self.effects.push(Effect::Cancel { ticket });
        }
        self.pass_asks_of(id);
        // Whoever only looked whether the session lives was never in it.
        if client.stage >= Stage::Ready {
            let why = reason.map_or(Value::Null, |reason| json!({ "reason": reason }));
            self.tell_all("sessionChanged", &change(&self.session, "left", &client, &why));
        }
        if client.launched && client.hands_over && self.is_live() && !self.ending {
            self.hand_over(id);
        }
        let owner_gone = client.launched && !self.clients.iter().any(|other| other.launched);
        if (owner_gone || self.clients.is_empty()) && self.is_live() && !self.ending {
            self.end_session(None, !self.attached);
        } else if !self.ending {
            self.drop_wishes(&client);
        }
        self.end_if_done();
    }

    /// Ends the program, or lets go of it, and then everything.
    pub(super) fn end_session(&mut self, asked: Option<Asked>, kill: bool) {
        if self.ending || !self.is_live() {
            self.ending = true;
            if let Some(asked) = asked {
                self.part_with(&asked);
            }
            return self.end_if_done();
        }
        self.ending = true;
        self.abandon_restart();
        self.abandon_asks(&Failure::cancelled());
        let arguments = json!({ "terminateDebuggee": kill });
        self.ask_engine(Waiter::Ending(asked), "disconnect", arguments, ENDING_DEADLINE);
    }

    /// The engine has let go. Its last events come before this answer's consequences.
    pub(super) fn engine_let_go(&mut self, asked: Option<&Asked>, result: Result<Value, Failure>) {
        if let Err(failure) = result {
            tracing::warn!(%failure, "the engine did not let go of the program");
            self.effects.push(Effect::KillProgram);
        }
        self.over(None);
        if let Some(asked) = asked {
            self.part_with(asked);
        }
        self.end_if_done();
    }

    /// The program is gone, one way or the other; everybody is told once.
    pub(super) fn over(&mut self, exit_code: Option<i64>) {
        self.stop_judging();
        if !matches!(self.phase, Phase::Over { .. }) {
            self.phase = Phase::Over { exit_code };
        }
        self.answer_launch();
        self.abandon_restart();
        self.abandon_asks(&Failure::cancelled());
        self.end_progress();
        for id in self.clients.ready() {
            self.effects.push(Effect::FlushOutput { client: id });
            self.tell_terminated(id);
        }
        let early: Vec<_> = self.clients.at_the_console();
        early.into_iter().for_each(|id| self.tell_early_end(id));
    }

    /// Who has not configured yet would hear of the end when it does. Before the program was let run there is nothing to wait
    /// for, and maybe nobody to ask: an end then is told at once, but to whom the launch itself will be refused.
    fn tell_early_end(&mut self, id: ClientId) {
        let Phase::Over { exit_code } = self.phase else { return };
        let waits = self.clients.get(id).is_some_and(|client| {
            matches!(client.stage, Stage::Joined | Stage::Configuring) && !client.told_terminated
        });
        if !waits || self.configured || self.pending.launch_of(id) {
            return;
        }
        if self.clients.get(id).is_some_and(|client| self.access_of(client) != AgentAccess::None) {
            self.effects.push(Effect::StartOutput { client: id });
        }
        self.effects.push(Effect::FlushOutput { client: id });
        if let Some(code) = exit_code {
            self.tell(id, "exited", &json!({ "exitCode": code }));
        }
        self.tell_terminated(id);
    }

    pub(super) fn end_if_done(&mut self) {
        if self.is_live() {
            return;
        }
        if self.clients.is_empty() {
            self.effects.push(Effect::End);
        } else if self.ending {
            self.effects.push(Effect::Unpublish);
            self.effects.push(Effect::StartTimer { timer: Timer::Linger, after: LINGER });
        }
    }

    pub(super) fn timer_fired(&mut self, timer: Timer) {
        match timer {
            Timer::Linger => self.effects.push(Effect::End),
            Timer::EarlyAnswer => self.answer_launch(),
            Timer::Terminate(since) => self.ending_is_late(since),
            Timer::Ask(ask) => self.ask_timed_out(ask),
            Timer::Admission(client) => {
                let silent =
                    |client: &Client| client.origin == Origin::Socket && client.stage == Stage::Connected;
                if self.clients.get(client).is_some_and(|client| !client.admitted || silent(client)) {
                    self.let_client_go(client);
                }
            }
        }
    }
}

/// A number that may have been given as text.
fn plain(number: &Value) -> String {
    number.as_str().map_or_else(|| number.to_string(), str::to_owned)
}

/// Attributes of other debuggers by our names. Theirs stay: an adapter of any kind may know them.
fn under_our_names(arguments: &mut Value) {
    for (theirs, ours) in [("stopAtEntry", "stopOnEntry")] {
        // False is what holds without it, and a strict adapter is not given what its client did not say.
        if arguments[ours].is_null() && arguments[theirs] == true {
            arguments[ours] = Value::Bool(true);
        }
    }
}

/// `handOver` of `launch`, `attach` and `sessionControl`.
pub(super) fn hand_over_flag(arguments: &Value) -> Result<Option<bool>, Failure> {
    match &arguments["handOver"] {
        Value::Null => Ok(None),
        Value::Bool(value) => Ok(Some(*value)),
        other => Err(Failure::invalid(format!("`handOver` must be true or false, not {other}"))),
    }
}
