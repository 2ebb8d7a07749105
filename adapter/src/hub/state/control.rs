//! Who may make the program run, step and stop, and who is told.

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::{ENGINE_DEADLINE, Phase, State};
use crate::hub::pending::{Asked, Waiter};

impl State {
    /// `continue`, the steps, and whatever else lets the program run. The first of two wins.
    pub(super) fn resume(&mut self, asked: Asked, mut arguments: Value) {
        if let Some((_, other)) = self.pending.resume() {
            let name = self.name_of(other.client);
            return self.refuse(&asked, already_resumed(&name));
        }
        let checked = match &self.phase {
            Phase::Running if self.resumed_by.is_some() => {
                Err(already_resumed(self.resumed_by.as_deref().unwrap_or_default()))
            }
            _ => self.need_stop(&asked.command),
        };
        let checked = checked.and_then(|()| match self.clients.get(asked.client) {
            Some(client) => client.ids.to_engine(&mut arguments),
            None => Ok(()),
        });
        if let Err(failure) = checked {
            return self.refuse(&asked, failure);
        }
        let command = asked.command.clone();
        self.ask_engine(Waiter::Resume(asked), &command, arguments, ENGINE_DEADLINE);
    }

    /// The engine let the program run, or would not.
    pub(super) fn resumed(&mut self, asked: &Asked, result: Result<Value, Failure>) {
        let mut body = match result {
            Ok(body) => body,
            Err(failure) => return self.refuse(asked, failure),
        };
        if asked.command == "continue" {
            if !body.is_object() {
                body = json!({});
            }
            body["allThreadsContinued"] = json!(true);
        }
        self.answer(asked, Ok(body));
        if !matches!(self.phase, Phase::Stopped { .. }) {
            return;
        }
        let thread = self.stopped_thread();
        self.running(Some(self.name_of(asked.client)));
        // DAP: whoever resumed knows from the answer; everybody else needs the event.
        let continued = json!({ "threadId": thread, "allThreadsContinued": true });
        self.tell_all_but(Some(asked.client), "continued", &continued);
        let changed = json!({ "session": self.session, "change": "resumed", "client": self.name_of(asked.client),
            "command": asked.command });
        self.tell_all("sessionChanged", &changed);
    }

    /// The thread of the current stop.
    pub(super) fn stopped_thread(&self) -> Value {
        match &self.phase {
            Phase::Stopped { body } => body["threadId"].clone(),
            _ => Value::Null,
        }
    }

    /// From here on every frame and variable of the last stop is stale.
    pub(super) fn running(&mut self, by: Option<String>) {
        self.phase = Phase::Running;
        self.resumed_by = by;
        for client in self.clients.iter_mut() {
            client.ids.expire(&self.counter);
        }
    }

    /// `pause` goes straight to the engine, past anything slow.
    pub(super) fn pause(&mut self, asked: Asked, arguments: Value) {
        let checked = self.need_program().and_then(|()| match self.phase {
            Phase::Stopped { .. } if self.pending.resume().is_none() => {
                Err(Failure::new(ErrorCode::NotRunning, "the program is stopped already")
                    .hint("ask for the stack, or continue it")
                    .quiet())
            }
            _ => Ok(()),
        });
        match checked {
            Ok(()) => self.ask_engine(Waiter::Client(asked), "pause", arguments, ENGINE_DEADLINE),
            Err(failure) => self.refuse(&asked, failure),
        }
    }
}

fn already_resumed(name: &str) -> Failure {
    Failure::new(ErrorCode::NotStopped, format!("the program runs: already resumed by {name}"))
        .hint("wait for the next stop")
        .quiet()
}
