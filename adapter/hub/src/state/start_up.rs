//! The start of the program, until the client that launched it has configured: `launch` and `attach`, also to
//! a session that has a program. Not here: `initialize` and `configurationDone` ([`super::lifecycle`]).

use std::time::Duration;

use serde_json::Value;
use tandem_engine::configurations;
use tandem_engine::{JoinAttributes, StartedEngine};
use tandem_wire::types;
use tandem_wire::{ErrorCode, Failure};

use super::{ENGINE_TIMEOUT, Phase, State, output_line};
use crate::clients::HandshakeStage;
use crate::event::{ClientId, ClientRequest, HubEffect, SessionDescription, Timer};
use crate::launch::{self, Launch};
use crate::pending::ReplyAction;

/// Maximum time of a launch, which may build first; the engine bounds its own steps more tightly.
pub(super) const LAUNCH_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// Attributes of `attach` that name a target of any engine. With none of them it joins the session, unless it
/// names an engine.
const TARGETS_OF_ATTACH: [&str; 4] = ["processId", "processName", "connect", "coreFile"];

/// Whether the clients, and the engine, are configured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Configuration {
    /// The client that launched has not sent `configurationDone`.
    #[default]
    Open,
    /// The client has sent it, and the engine receives it when it has replied to all breakpoints.
    Due,
    /// The client has sent it, and the engine has received it.
    Done,
    /// The client has sent it, but the engine of a restart has not received it yet.
    Repeat,
}

/// The start of the program, until the client that launched has configured.
#[derive(Debug, Default)]
pub(super) struct StartUp {
    pub(super) launch: Launch,
    pub(super) configuration: Configuration,
    /// The launch or attach succeeded before the engine was initialized; its response waits for that.
    pub(super) early_reply: Option<(ClientRequest, Value)>,
}

impl StartUp {
    /// Whether the client that launched has sent `configurationDone`.
    pub(super) fn is_configured(&self) -> bool {
        self.configuration != Configuration::Open
    }
}

impl State {
    /// A launch or attach, with the attributes of any debugger that its configuration was written for.
    pub(super) fn configured(&mut self, request: ClientRequest, mut arguments: Value) {
        let remarks = match configurations::translate_configuration(&mut arguments) {
            Ok(remarks) => remarks,
            Err(failure) => return self.refuse(&request, failure),
        };
        let without_effect = configurations::explain_attribute_without_effect(&arguments);
        match request.command.as_str() {
            "attach" => self.attach(request, arguments),
            _ => self.launch(request, arguments, false),
        }
        for remark in remarks.into_iter().chain(without_effect) {
            self.broadcast_to_joined("output", &output_line("console", &remark));
        }
    }

    pub(super) fn launch(&mut self, request: ClientRequest, attributes: Value, attached: bool) {
        let launch = match self.check_launch(&request, attributes, attached) {
            Ok(launch) => launch,
            Err(failure) => return self.refuse(&request, failure),
        };
        if let Some(client) = self.clients.get_mut(request.client) {
            client.launched = true;
            client.stage = HandshakeStage::Joined;
        }
        self.program.start();
        self.end.terminating = None;
        if attached {
            self.engine.capabilities.set_attached();
        }
        self.start.launch = launch;
        let (command, arguments) = (self.start.launch.command(), self.start.launch.attributes.clone());
        self.effects.push(HubEffect::StartEngine { arguments: arguments.clone() });
        self.request_engine(ReplyAction::Launch(request), command, arguments, LAUNCH_TIMEOUT);
    }

    /// Reads the attributes, and takes what they say of the session itself.
    fn check_launch(
        &mut self,
        request: &ClientRequest,
        attributes: Value,
        attached: bool,
    ) -> Result<Launch, Failure> {
        if *self.program.phase() != Phase::Idle || self.end.is_ending {
            return Err(Failure::new(
                ErrorCode::AlreadyAttached,
                format!("session `{}` already has a program", self.session),
            )
            .hint("`attach` without attributes joins it; start another `tandem-dap` for another program"));
        }
        let launch = Launch::parse(attributes, attached)?;
        let hands_over = launch::hand_over(&launch.attributes)?.unwrap_or(false);
        // Without the attribute it is what the adapter was started with.
        if let Some(access) = launch.agent_access()? {
            self.access.policy.agents = access;
        }
        if let Some(client) = self.clients.get_mut(request.client) {
            client.departure.hands_over = hands_over;
        }
        Ok(launch)
    }

    /// Joins this session, or attaches to a process.
    pub(super) fn attach(&mut self, request: ClientRequest, arguments: Value) {
        let names = |key: &str| !arguments[key].is_null();
        // The engine of another language may have its own attributes for the target of an attach.
        let by_engine = *self.program.phase() == Phase::Idle && names("engine") && !names("session");
        if TARGETS_OF_ATTACH.iter().any(|key| names(key)) || by_engine {
            return self.launch(request, arguments, true);
        }
        let is_own = arguments["session"].as_str().is_none_or(|session| session == self.session);
        if !is_own {
            return self.join_other(&request, &arguments);
        }
        if *self.program.phase() == Phase::Idle {
            let failure = Failure::new(ErrorCode::NoSession, "there is no program in this session to join")
                .hint(
                    "`launch` a program, or `attach` with `processId`, `processName`, `connect`, `coreFile` \
                     or `session`",
                );
            return self.refuse(&request, failure);
        }
        let client = self.clients.get_mut(request.client);
        let Some(client) = client.filter(|client| client.stage == HandshakeStage::Initialized) else {
            let failure = Failure::new(ErrorCode::AlreadyAttached, "this client has already joined");
            return self.refuse(&request, failure);
        };
        client.stage = HandshakeStage::Joined;
        self.respond(&request, Ok(Value::Null));
        self.send_initialized(request.client);
    }

    /// Joins another session: an editor that can only start adapters does so through the one it started.
    fn join_other(&mut self, request: &ClientRequest, arguments: &Value) {
        let session = &arguments["session"];
        let client = self.clients.get(request.client).filter(|_| *self.program.phase() == Phase::Idle);
        match (session.as_str(), client) {
            (Some(session), Some(client)) => self.effects.push(HubEffect::JoinSession {
                client: request.client,
                session: session.to_owned(),
                initialize: client.identity.initialize_arguments.clone(),
                seq: request.seq,
                child: types::read::<JoinAttributes>(arguments).is_child,
            }),
            _ => {
                let message = format!("this is session `{}`, not {session}", self.session);
                let failure = Failure::new(ErrorCode::NoSession, message)
                    .hint("start another adapter and join with it");
                self.refuse(request, failure);
            }
        }
    }

    /// The engine was made; the launch itself is already on its way to it.
    pub(super) fn receive_engine(&mut self, result: Result<StartedEngine, Failure>) {
        let Ok(engine) = result else { return };
        let program = self.start.launch.program();
        let launcher = self.clients.iter().find(|client| client.launched);
        self.effects.push(HubEffect::Publish(SessionDescription {
            title: program.rsplit('/').next().unwrap_or_default().to_owned(),
            cwd: self.start.launch.cwd(),
            program,
            engine: engine.name.clone(),
            client: launcher.map(|client| client.identity.name.clone()),
            kind: launcher.map(|client| client.identity.kind.as_str().to_owned()),
        }));
        self.engine.start(engine);
    }

    pub(super) fn receive_launch_reply(&mut self, request: &ClientRequest, result: Result<Value, Failure>) {
        // An engine that died has ended the session already.
        if result.is_err() && !self.program.is_over() {
            self.forget_launch(request.client);
        }
        let joins =
            self.clients.get(request.client).is_some_and(|client| client.stage == HandshakeStage::Joined);
        match result {
            // Events take another way than replies, which may be quicker.
            Ok(body) if joins && self.program.is_live() => {
                self.start.early_reply = Some((request.clone(), body));
                let timer = Timer::EarlyLaunchReply;
                self.effects.push(HubEffect::StartTimer { timer, after: ENGINE_TIMEOUT });
            }
            Ok(body) => {
                self.respond(request, Ok(body));
                self.send_early_end(request.client);
            }
            Err(failure) => self.refuse(request, failure),
        }
    }

    /// Nothing runs: the same client may try again with better arguments.
    fn forget_launch(&mut self, launcher: ClientId) {
        self.end_progress();
        self.abandon_reverse_requests();
        self.abandon_following();
        self.abandon_checks();
        self.end.terminating = None;
        self.program.abandon_start();
        self.start.configuration = Configuration::Open;
        self.engine.abandon();
        self.forget_engine_breakpoints();
        self.effects.push(HubEffect::KillProgram);
        self.effects.push(HubEffect::Unpublish);
        if let Some(client) = self.clients.get_mut(launcher) {
            (client.stage, client.launched) = (HandshakeStage::Initialized, false);
        }
        self.refuse_engine_requests("the launch failed");
    }

    /// Configures the engine once it has replied to the breakpoints that clients set before. One that carries
    /// out two requests side by side would run past them, and the later of two lists still waits for the
    /// earlier one.
    pub(super) fn configure_engine(&mut self) {
        if self.start.configuration == Configuration::Due && !self.breakpoints.are_under_way() {
            self.start.configuration = Configuration::Done;
            self.request_engine(ReplyAction::Ignore, "configurationDone", Value::Null, ENGINE_TIMEOUT);
        }
    }

    /// Sends the response to the launch. DAP has `initialized` before it, and some clients count on
    /// that. It does not wait for `configurationDone`, as DAP has it too: other clients configure
    /// only when they have it.
    pub(super) fn respond_to_launch(&mut self) {
        if let Some((request, body)) = self.start.early_reply.take() {
            self.respond(&request, Ok(body));
        }
    }
}
