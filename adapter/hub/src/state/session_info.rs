//! `sessionInfo` and `sessionControl`: the connected clients and the access of agents.
//!
//! Not here: the rules of access ([`crate::access`]), reports to other clients ([`super::session_changes`]).

use std::collections::BTreeMap;

use serde_json::Value;
use tandem_wire::types::{
    self, SessionClient, SessionControlBody, SessionInfoArguments, SessionInfoBody, SessionPlace,
    SessionStop, StackTraceResponseBody,
};
use tandem_wire::{ErrorCode, Failure};

use super::session_changes::AgentAccessSet;
use super::{ENGINE_TIMEOUT, Phase, State};
use crate::access::{AccessPolicy, AgentAccess};
use crate::clients::{ClientKind, HandshakeStage};
use crate::event::{ClientId, ClientRequest, HubEffect};
use crate::launch;
use crate::pending::ReplyAction;

impl State {
    pub(super) fn session_info(&mut self, request: ClientRequest, arguments: &Value) {
        let arguments: SessionInfoArguments = types::read(arguments);
        if let (Some(subscribe), Some(client)) = (arguments.subscribe, self.clients.get_mut(request.client)) {
            client.subscription.is_active = subscribe;
            client.subscription.overlooks_children = arguments.notices_children == Some(false);
        }
        let has_no_access = self
            .clients
            .get(request.client)
            .is_some_and(|client| self.access.of(client) == AgentAccess::None);
        match self.program.phase() {
            _ if has_no_access => {
                self.respond(&request, Ok(types::body(&self.shared_info())));
            }
            // Where an adapter is not known, a client with look-only access gets nothing from it.
            Phase::Stopped { .. } if self.is_allowed(request.client, "stackTrace") => {
                let arguments = types::top_frames(self.stopped_thread(), 1);
                self.request_engine(
                    ReplyAction::SessionInfo(request),
                    "stackTrace",
                    arguments,
                    ENGINE_TIMEOUT,
                );
            }
            _ => self.respond_with_session_info(&request, None),
        }
    }

    pub(super) fn respond_with_session_info(&mut self, request: &ClientRequest, stack: Option<Value>) {
        let clients = self
            .clients
            .iter()
            // Others do not see a client that only inspects the session, here or in `sessionChanged`.
            .filter(|client| client.id == request.client || client.has_joined())
            .map(|client| SessionClient {
                id: client.id.0,
                name: client.identity.name.clone(),
                kind: client.identity.kind.as_str().to_owned(),
                access: self.access.of(client).as_str().to_owned(),
                launched: client.launched,
                you: client.id == request.client,
                breakpoints: self.breakpoints.owned_by(client.id),
            });
        let mut info = SessionInfoBody {
            clients: Some(clients.collect()),
            process: self.program.replay.process.clone(),
            children: self.program.replay.children().cloned().collect(),
            ..self.shared_info()
        };
        match self.program.phase() {
            Phase::Stopped { stop } => {
                let stack: StackTraceResponseBody =
                    stack.map(|stack| types::read(&stack)).unwrap_or_default();
                let place = stack.stack_frames.into_iter().next().map(|frame| SessionPlace {
                    name: frame.name,
                    source: frame.source,
                    line: frame.line,
                    column: frame.column,
                });
                let (reason, thread_id) = (stop.reason.clone(), stop.thread_id);
                info.stop = Some(SessionStop { reason, thread_id, place });
            }
            Phase::Over { exited, .. } => {
                let reported = exited.as_object().into_iter().flatten();
                let known = reported
                    .filter(|(key, value)| matches!(key.as_str(), "exitCode" | "signal") && !value.is_null());
                info.end = known.map(|(key, value)| (key.clone(), value.clone())).collect();
            }
            _ => {}
        }
        self.respond(request, Ok(types::body(&info)));
    }

    /// The fields that a client without access may know, too.
    fn shared_info(&self) -> SessionInfoBody {
        SessionInfoBody {
            id: self.session.clone(),
            state: self.state_name().to_owned(),
            agent_access: self.access.policy.agents.as_str().to_owned(),
            engine: self.engine_name().map(str::to_owned),
            ..SessionInfoBody::default()
        }
    }

    fn engine_name(&self) -> Option<&str> {
        self.engine.started().map(|engine| engine.name.as_str())
    }

    /// `idle`, `running`, `stopped` or `exited`.
    pub(super) fn state_name(&self) -> &'static str {
        match self.program.phase() {
            Phase::Idle => "idle",
            Phase::Starting | Phase::Running => "running",
            Phase::Stopped { .. } => "stopped",
            Phase::Over { .. } => "exited",
        }
    }

    /// Changes what agents may do, for people and for the agent that launched; without arguments
    /// it returns the values.
    pub(super) fn session_control(&mut self, request: &ClientRequest, arguments: &Value) {
        match self.control(request, arguments) {
            Ok(()) => {
                let hands_over =
                    self.clients.iter().any(|client| client.launched && client.departure.hands_over);
                let now = SessionControlBody {
                    agent_access: self.access.policy.agents.as_str().to_owned(),
                    hand_over: hands_over,
                };
                self.respond(request, Ok(types::body(&now)));
            }
            Err(failure) => {
                if failure.code == ErrorCode::AccessDenied {
                    self.report_refused(request);
                }
                self.refuse(request, failure);
            }
        }
    }

    /// Passes on what may be fetched: people, and the client that launched, say so.
    pub(super) fn set_source_link_options(&mut self, request: ClientRequest, arguments: Value) {
        let client = self.clients.get(request.client);
        if client.is_some_and(|client| client.identity.kind == ClientKind::Editor || client.launched) {
            return self.inspect(request, arguments);
        }
        self.report_refused(&request);
        self.refuse(
            &request,
            denied("only people and the client that launched the session decide what may be fetched"),
        );
    }

    /// Brings agents that may see again to where the others are; those that may not any more
    /// get no output either.
    fn update_visibility(&mut self, before: &BTreeMap<ClientId, AgentAccess>) {
        let agents: Vec<_> = self
            .clients
            .iter()
            .filter(|client| {
                client.identity.kind == ClientKind::Agent && client.stage == HandshakeStage::Ready
            })
            .map(|client| (client.id, self.access.of(client)))
            .collect();
        for (agent, now) in agents {
            match (before.get(&agent), now) {
                (Some(was), now) if *was == now => {}
                (Some(AgentAccess::None), _) => self.catch_up(agent),
                (_, AgentAccess::None) => self.effects.push(HubEffect::StopOutput { client: agent }),
                _ => {}
            }
        }
    }

    fn control(&mut self, request: &ClientRequest, arguments: &Value) -> Result<(), Failure> {
        let access = AgentAccess::requested(arguments)?;
        let hands_over = launch::hand_over(arguments)?;
        let Some(client) = self.clients.get_mut(request.client) else { return Ok(()) };
        if !client.launched && hands_over.is_some() {
            return Err(denied("only the client that launched the session can hand it over"));
        }
        let person = client.identity.kind == ClientKind::Editor;
        if access.is_some() && !person && !client.launched {
            return Err(denied(
                "only people, and the client that launched the session, change what agents may do",
            ));
        }
        if access.is_some() && !person && self.access.policy.by_person {
            return Err(denied("a person decided what agents may do in this session; only people change it"));
        }
        client.departure.hands_over = hands_over.unwrap_or(client.departure.hands_over);
        let Some(agents) = access else { return Ok(()) };
        let before = self.accesses();
        let was = self.access.policy;
        self.access.policy = AccessPolicy { agents, by_person: was.by_person || person };
        if was.agents != agents || before != self.accesses() {
            self.clients.iter_mut().for_each(|client| client.access.forget_refused());
            self.update_visibility(&before);
            self.report_change(
                request.client,
                "agentAccess",
                &AgentAccessSet { agent_access: agents.as_str() },
            );
        }
        Ok(())
    }

    /// The current access of each client.
    fn accesses(&self) -> BTreeMap<ClientId, AgentAccess> {
        self.clients.iter().map(|client| (client.id, self.access.of(client))).collect()
    }

    /// Whether this client may have this request sent to the engine.
    fn is_allowed(&self, id: ClientId, command: &str) -> bool {
        let client = self.clients.get(id);
        client.is_some_and(|client| self.access.of(client).check(command, self.engine.started()).is_ok())
    }
}

fn denied(what: &str) -> Failure {
    Failure::new(ErrorCode::AccessDenied, what).quiet()
}
