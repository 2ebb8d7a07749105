//! `sessionInfo` and `sessionControl`: who is here and what agents may do.

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::{ENGINE_DEADLINE, Phase, State};
use crate::hub::access::AgentAccess;
use crate::hub::clients::{Kind, Stage};
use crate::hub::pending::{Asked, Waiter};

impl State {
    pub(super) fn session_info(&mut self, asked: Asked, arguments: &Value) {
        if let (Some(subscribe), Some(client)) =
            (arguments["subscribe"].as_bool(), self.clients.get_mut(asked.client))
        {
            client.subscribed = subscribe;
        }
        match self.phase {
            Phase::Stopped { .. } => {
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
                let access = match client.kind {
                    Kind::Agent if !client.launched => self.access,
                    _ => AgentAccess::Full,
                };
                json!({ "id": client.id.0, "name": client.name, "kind": client.kind.as_str(),
                    "access": access.as_str(), "launched": client.launched, "you": client.id == asked.client,
                    "breakpoints": self.ledger.owned_by(client.id) })
            })
            .collect();
        let mut info = json!({ "id": self.session, "state": self.state_name(), "agentAccess": self.access.as_str(),
            "clients": clients });
        if let Some(engine) = &self.engine {
            info["engine"] = json!(engine);
        }
        if let Some(process) = &self.facts.process {
            info["process"] = process.clone();
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

    pub(super) fn session_control(&mut self, asked: &Asked, arguments: &Value) {
        let launched = self.clients.get(asked.client).is_some_and(|client| client.launched);
        if !launched && !arguments["agentAccess"].is_null() {
            let failure = Failure::new(
                ErrorCode::AccessDenied,
                "only the client that launched the session changes what agents may do",
            );
            return self.refuse(asked, failure);
        }
        match AgentAccess::parse(&arguments["agentAccess"]) {
            Ok(access) if !arguments["agentAccess"].is_null() => {
                self.access = access;
                let by = self.name_of(asked.client);
                let changed = json!({ "session": self.session, "change": "agentAccess", "client": by,
                    "agentAccess": access.as_str() });
                self.tell_all("sessionChanged", &changed);
            }
            Ok(_) => {}
            Err(failure) => return self.refuse(asked, failure),
        }
        let now = json!({ "agentAccess": self.access.as_str() });
        self.answer(asked, Ok(now));
    }
}
