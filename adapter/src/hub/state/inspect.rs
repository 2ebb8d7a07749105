//! What is asked of the engine as it is: only the ids change on the way.

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::deeds::excerpt;
use super::{ENGINE_DEADLINE, State};
use crate::engine::{NEED_STOP, builds};
use crate::hub::access::AgentAccess;
use crate::hub::clients::Kind;
use crate::hub::event::{ClientId, Effect};
use crate::hub::pending::{Asked, Waiter};

/// What an answered request changed in the program, for everybody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touched {
    /// Nothing.
    Nothing,
    /// Values of variables, perhaps: what the others are told of it, `change` and details.
    Values(&'static str, Value),
    /// Memory: body of the `memory` event.
    Memory(Value),
}

impl Touched {
    fn by(kind: Kind, command: &str, arguments: &Value) -> Self {
        let text = |key: &str| arguments[key].as_str().map(excerpt);
        match command {
            "setVariable" => {
                Self::Values("valueSet", json!({ "name": text("name"), "value": text("value") }))
            }
            "setExpression" => {
                Self::Values("valueSet", json!({ "name": text("expression"), "value": text("value") }))
            }
            // What a person types may assign or call; a watch or a hover is asked to do neither, and an editor asks for them at each
            // stop. An agent asks for what it wants to know, whatever it calls that.
            "evaluate"
                if matches!(arguments["context"].as_str(), None | Some("repl"))
                    || kind == Kind::Agent && arguments["context"] != "hover" =>
            {
                Self::Values("evaluated", json!({ "expression": text("expression") }))
            }
            "writeMemory" => Self::Memory(json!({ "memoryReference": arguments["memoryReference"],
                "offset": arguments["offset"].as_i64().unwrap_or(0), "count": 0 })),
            _ => Self::Nothing,
        }
    }
}

impl State {
    /// What every request passes before an engine sees it: the program stands where the command needs it to, and the
    /// arguments have the engine's ids.
    pub(super) fn check(&self, asked: &Asked, arguments: &mut Value) -> Result<(), Failure> {
        if NEED_STOP.contains(&asked.command.as_str()) {
            self.need_stop(&asked.command)?;
        } else {
            self.need_program()?;
        }
        match self.clients.get(asked.client) {
            Some(client) => client.ids.to_engine(arguments),
            None => Ok(()),
        }
    }

    /// Passes a request to the engine with the engine's ids.
    pub(super) fn inspect(&mut self, asked: Asked, mut arguments: Value) {
        if let Err(failure) = self.check(&asked, &mut arguments) {
            return self.refuse(&asked, failure);
        }
        let command = asked.command.clone();
        let kind = self.clients.get(asked.client).map_or(Kind::Editor, |client| client.kind);
        let touched = Touched::by(kind, &command, &arguments);
        let stop = NEED_STOP.contains(&command.as_str()).then_some(self.stops);
        self.ask_engine(Waiter::Inspect { asked, stop, touched }, &command, arguments, ENGINE_DEADLINE);
    }

    /// Passes the engine's answer back with the client's ids; `stop` is the stop it was asked at.
    pub(super) fn inspected(
        &mut self,
        asked: &Asked,
        stop: Option<u64>,
        touched: Touched,
        result: Result<Value, Failure>,
    ) {
        let result = result.and_then(|mut body| {
            // It was asked at a stop that is over: its frames and variables would be stale from the start.
            if stop.is_some_and(|stop| stop != self.stops) {
                let message = format!("the program went on before `{}` was answered", asked.command);
                return Err(Failure::new(ErrorCode::NotStopped, message).quiet());
            }
            if asked.command == "dataBreakpointInfo" {
                self.learn_data_id(&body);
            }
            if let Some(client) = self.clients.get_mut(asked.client) {
                client.ids.to_client(&mut self.counter, &asked.command, &mut body);
            }
            Ok(body)
        });
        let written = result.as_ref().ok().map(|body| body["bytesWritten"].clone());
        self.answer(asked, result);
        let Some(written) = written else { return };
        match &touched {
            Touched::Memory(body) => {
                let mut body = body.clone();
                body["count"] = written.clone();
                self.tell_all_but(Some(asked.client), "memory", &body);
                let details = json!({ "name": body["memoryReference"], "bytes": written });
                self.tell_deed(asked.client, "valueSet", &details);
            }
            Touched::Values(change, details) => self.tell_deed(asked.client, change, details),
            Touched::Nothing => {}
        }
        if touched != Touched::Nothing {
            self.tell_all_but(Some(asked.client), "invalidated", &json!({ "areas": ["variables"] }));
        }
    }

    /// A build goes on for the launch or restart that waits for it, and is cancelled with that, by whoever may end the program.
    fn cancel_build(&mut self, by: ClientId, progress: &str) {
        let may = self.clients.get(by).is_some_and(|client| self.access_of(client) == AgentAccess::Full);
        if may && progress.starts_with(builds::PROGRESS) && self.facts.goes_on(progress) {
            let tickets = self.pending.launches();
            self.effects.extend(tickets.into_iter().map(|ticket| Effect::Cancel { ticket }));
        }
    }

    /// `cancel`: the cancelled request answers for itself; cancelling what is over is no error.
    pub(super) fn cancel(&mut self, asked: &Asked, arguments: &Value) {
        if let Some(seq) = arguments["requestId"].as_i64()
            && let Some(ticket) = self.pending.of_request(asked.client, seq)
        {
            self.effects.push(Effect::Cancel { ticket });
        }
        if let Some(id) = arguments["progressId"].as_str() {
            self.cancel_build(asked.client, id);
        }
        self.answer(asked, Ok(Value::Null));
    }
}
