//! What is asked of the engine as it is: only the ids change on the way.

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::{ENGINE_DEADLINE, State};
use crate::hub::pending::{Asked, Waiter};

/// Commands that mean something only at a stop.
const NEED_STOP: [&str; 19] = [
    "continue",
    "next",
    "stepIn",
    "stepOut",
    "stepBack",
    "reverseContinue",
    "goto",
    "restartFrame",
    "stackTrace",
    "scopes",
    "variables",
    "evaluate",
    "setVariable",
    "setExpression",
    "exceptionInfo",
    "gotoTargets",
    "stepInTargets",
    "completions",
    "dataBreakpointInfo",
];

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
        self.ask_engine(Waiter::Client(asked), &command, arguments, ENGINE_DEADLINE);
    }

    /// Passes the engine's answer back with the client's ids.
    pub(super) fn inspected(&mut self, asked: &Asked, result: Result<Value, Failure>) {
        let result = match result {
            // It was asked at a stop that is over: its frames and variables would be stale from the start.
            Ok(_)
                if NEED_STOP.contains(&asked.command.as_str()) && self.need_stop(&asked.command).is_err() =>
            {
                Err(Failure::new(
                    ErrorCode::NotStopped,
                    format!("the program went on before `{}` was answered", asked.command),
                )
                .quiet())
            }
            Ok(mut body) => {
                if let Some(client) = self.clients.get_mut(asked.client) {
                    client.ids.to_client(&mut self.counter, &asked.command, &mut body);
                }
                Ok(body)
            }
            Err(failure) => Err(failure),
        };
        let changed = result.is_ok() && matches!(asked.command.as_str(), "setVariable" | "setExpression");
        self.answer(asked, result);
        if changed {
            let body = json!({ "areas": ["variables"] });
            self.tell_all_but(Some(asked.client), "invalidated", &body);
        }
    }

    /// `cancel`: the cancelled request answers for itself; cancelling what is over is no error.
    pub(super) fn cancel(&mut self, asked: &Asked, arguments: &Value) {
        if let Some(seq) = arguments["requestId"].as_i64()
            && let Some(ticket) = self.pending.of_request(asked.client, seq)
        {
            self.effects.push(crate::hub::event::Effect::Cancel { ticket });
        }
        self.answer(asked, Ok(Value::Null));
    }
}
