//! `sessionInfo` and `sessionControl`: who is here and what agents may do.

use std::collections::BTreeMap;

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::lifecycle::hand_over_flag;
use super::{ENGINE_DEADLINE, Phase, State};
use crate::hub::access::{AgentAccess, Rule};
use crate::hub::clients::{Kind, Stage};
use crate::hub::event::{ClientId, Effect};
use crate::hub::pending::{Asked, Waiter};

impl State {
    pub(super) fn session_info(&mut self, asked: Asked, arguments: &Value) {
        if let (Some(subscribe), Some(client)) =
            (arguments["subscribe"].as_bool(), self.clients.get_mut(asked.client))
        {
            client.subscribed = subscribe;
        }
        let shut_out =
            self.clients.get(asked.client).is_some_and(|client| self.access_of(client) == AgentAccess::None);
        match self.phase {
            _ if shut_out => {
                let info = json!({ "id": self.session, "state": self.state_name(),
                    "agentAccess": self.rule.agents.as_str(), "engine": self.engine });
                self.answer(&asked, Ok(info));
            }
            // An adapter that nobody knows is asked nothing for one who may only look.
            Phase::Stopped { .. } if self.may_look(asked.client, "stackTrace") => {
                let arguments = json!({ "threadId": self.stopped_thread(), "startFrame": 0, "levels": 1 });
                self.ask_engine(Waiter::SessionInfo(asked), "stackTrace", arguments, ENGINE_DEADLINE);
            }
            _ => self.session_info_with_place(&asked, None),
        }
    }

    pub(super) fn session_info_with_place(&mut self, asked: &Asked, stack: Option<Value>) {
        let clients: Vec<Value> = self
            .clients
            .iter()
            .filter(|client| client.stage > Stage::Connected && client.stage < Stage::Leaving)
            .map(|client| {
                let access = self.access_of(client);
                json!({ "id": client.id.0, "name": client.name, "kind": client.kind.as_str(),
                    "access": access.as_str(), "launched": client.launched, "you": client.id == asked.client,
                    "breakpoints": self.ledger.owned_by(client.id) })
            })
            .collect();
        let mut info = json!({ "id": self.session, "state": self.state_name(), "agentAccess": self.rule.agents.as_str(),
            "clients": clients });
        if let Some(engine) = &self.engine {
            info["engine"] = json!(engine);
        }
        if let Some(process) = &self.facts.process {
            info["process"] = process.clone();
        }
        let children: Vec<&Value> = self.facts.children().collect();
        if !children.is_empty() {
            info["children"] = json!(children);
        }
        match &self.phase {
            Phase::Stopped { body } => {
                info["reason"] = body["reason"].clone();
                info["threadId"] = body["threadId"].clone();
                if let Some(frame) = stack.as_ref().and_then(|stack| stack["stackFrames"].get(0)) {
                    info["place"] = json!({ "name": frame["name"], "source": frame["source"],
                        "line": frame["line"], "column": frame["column"] });
                }
            }
            Phase::Over { exit_code: Some(code) } => info["exitCode"] = json!(code),
            _ => {}
        }
        self.answer(asked, Ok(info));
    }

    /// `idle`, `running`, `stopped` or `exited`.
    pub(super) fn state_name(&self) -> &'static str {
        match self.phase {
            Phase::Idle => "idle",
            Phase::Starting | Phase::Running => "running",
            Phase::Stopped { .. } => "stopped",
            Phase::Over { .. } => "exited",
        }
    }

    /// People, and the agent that launched, rule; asking without arguments tells the values.
    pub(super) fn session_control(&mut self, asked: &Asked, arguments: &Value) {
        match self.control(asked, arguments) {
            Ok(()) => {
                let hands_over = self.clients.iter().any(|client| client.launched && client.hands_over);
                let now = json!({ "agentAccess": self.rule.agents.as_str(), "handOver": hands_over });
                self.answer(asked, Ok(now));
            }
            Err(failure) => {
                if failure.code == ErrorCode::AccessDenied {
                    self.tell_refused(asked);
                }
                self.refuse(asked, failure);
            }
        }
    }

    /// Agents that may see again are told where things stand; those that may not any more see no output either.
    fn let_agents_see(&mut self, before: &BTreeMap<ClientId, AgentAccess>) {
        let agents: Vec<_> = self
            .clients
            .iter()
            .filter(|client| client.kind == Kind::Agent && client.stage == Stage::Ready)
            .map(|client| (client.id, self.access_of(client)))
            .collect();
        for (agent, now) in agents {
            match (before.get(&agent), now) {
                (Some(was), now) if *was == now => {}
                (Some(AgentAccess::None), _) => self.catch_up(agent),
                (_, AgentAccess::None) => self.effects.push(Effect::StopOutput { client: agent }),
                _ => {}
            }
        }
    }

    fn control(&mut self, asked: &Asked, arguments: &Value) -> Result<(), Failure> {
        let access = match &arguments["agentAccess"] {
            Value::Null => None,
            spelled => Some(AgentAccess::parse(spelled)?),
        };
        let hands_over = hand_over_flag(arguments)?;
        let Some(client) = self.clients.get_mut(asked.client) else { return Ok(()) };
        if !client.launched && hands_over.is_some() {
            return Err(denied("only the client that launched the session decides who comes after it"));
        }
        let person = client.kind == Kind::Editor;
        if access.is_some() && !person && !client.launched {
            return Err(denied(
                "only people, and the client that launched the session, change what agents may do",
            ));
        }
        if access.is_some() && !person && self.rule.by_person {
            return Err(denied("a person decided what agents may do in this session; only people change it"));
        }
        client.hands_over = hands_over.unwrap_or(client.hands_over);
        let Some(agents) = access else { return Ok(()) };
        let before = self.accesses();
        let was = self.rule;
        self.rule = Rule { agents, by_person: was.by_person || person };
        if was.agents != agents || before != self.accesses() {
            self.clients.iter_mut().for_each(|client| client.refused.clear());
            self.let_agents_see(&before);
            self.tell_deed(asked.client, "agentAccess", &json!({ "agentAccess": agents.as_str() }));
        }
        Ok(())
    }

    /// What each client may do now.
    fn accesses(&self) -> BTreeMap<ClientId, AgentAccess> {
        self.clients.iter().map(|client| (client.id, self.access_of(client))).collect()
    }

    /// Whether something may be asked of the engine for this client.
    fn may_look(&self, id: ClientId, command: &str) -> bool {
        let client = self.clients.get(id);
        client.is_some_and(|client| self.access_of(client).check(command, self.engine.as_deref()).is_ok())
    }
}

fn denied(what: &str) -> Failure {
    Failure::new(ErrorCode::AccessDenied, what).quiet()
}
