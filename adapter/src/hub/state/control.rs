//! Who may make the program run, step and stop, and who is told.
//!
//! Of two that want the same thing at once the first does it. A second resume is refused, with the name of who was
//! first: what it wanted to step over is gone. A second pause succeeds: the program stands, as it wanted.

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::{ENGINE_DEADLINE, Phase, State};
use crate::hub::clients::Stage;
use crate::hub::event::ClientId;
use crate::hub::pending::{Asked, Waiter};

impl State {
    /// `continue`, the steps, and whatever else lets the program run.
    pub(super) fn resume(&mut self, asked: Asked, mut arguments: Value) {
        let first = match (self.pending.resume(), &self.phase, &self.resumed_by) {
            (Some((_, first)), _, _) => Some(self.name_of(first.client)),
            (None, Phase::Running, Some(first)) => Some(first.clone()),
            _ => None,
        };
        let checked = match first {
            Some(first) => Err(already_resumed(&first)),
            None => self.check(&asked, &mut arguments),
        };
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
            // What was to end has ended.
            Err(_) if asked.command == "terminate" && !self.is_live() => {
                return self.answer(asked, Ok(Value::Null));
            }
            Err(failure) => return self.refuse(asked, failure),
        };
        // DAP: whoever resumed knows from the answer; everybody else needs the event.
        let terminates = asked.command == "terminate";
        let knows = (!terminates).then_some(asked.client);
        if terminates {
            body = Value::Null;
        } else if asked.command == "continue" {
            if !body.is_object() {
                body = json!({});
            }
            body["allThreadsContinued"] = json!(true);
        }
        self.answer(asked, Ok(body));
        if !matches!(self.phase, Phase::Stopped { .. }) {
            return;
        }
        self.stop_judging();
        self.judging.last_resume = if terminates { "continue".into() } else { asked.command.clone() };
        let thread = self.stopped_thread();
        self.running(Some(self.name_of(asked.client)));
        let continued = json!({ "threadId": thread, "allThreadsContinued": true });
        self.tell_all_but(knows, "continued", &continued);
        if knows.is_some() && asked.command != "continue" && self.takes_a_step_for_its_threads(asked.client) {
            self.tell(asked.client, "continued", &continued);
        }
        self.tell_deed(asked.client, "resumed", &json!({ "command": asked.command }));
    }

    /// Whether it has a step let the stepped thread alone run, and shows the others as paused, until it hears otherwise.
    fn takes_a_step_for_its_threads(&self, client: ClientId) -> bool {
        let client = self.clients.get(client).filter(|client| client.stage == Stage::Ready);
        let id = client.map(|client| &client.introduction["clientID"]);
        id.and_then(Value::as_str).is_some_and(|id| id == "vscode")
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
        self.leave_stop(by);
        self.start_ending_clock();
    }

    /// The same, when the next stop is told at once.
    pub(super) fn leave_stop(&mut self, by: Option<String>) {
        self.phase = Phase::Running;
        self.resumed_by = by;
        self.stops += 1;
        for client in self.clients.iter_mut() {
            client.ids.expire(&self.counter);
        }
    }

    /// `pause` goes straight to the engine, past anything slow.
    pub(super) fn pause(&mut self, asked: Asked, mut arguments: Value) {
        let stands = matches!(self.phase, Phase::Stopped { .. }) && self.pending.resume().is_none();
        let checked = if stands {
            Err(Failure::new(ErrorCode::NotRunning, "the program is stopped already")
                .hint("ask for the stack, or continue it")
                .quiet())
        } else {
            self.check(&asked, &mut arguments)
        };
        match checked {
            Ok(()) if self.pause_while_judging() => self.answer(&asked, Ok(Value::Null)),
            Ok(()) => self.ask_engine(Waiter::Pause(asked), "pause", arguments, ENGINE_DEADLINE),
            Err(failure) => self.refuse(&asked, failure),
        }
    }

    /// A pause that came too late, because somebody's pause or a breakpoint was quicker, has what it wants.
    pub(super) fn paused(&mut self, asked: &Asked, result: Result<Value, Failure>) {
        let stands = matches!(self.phase, Phase::Stopped { .. });
        if result.is_err() {
            self.judging.pause_wanted = false;
        }
        let result = match result {
            Err(failure) if failure.code == ErrorCode::NotRunning && stands => Ok(Value::Null),
            other => other,
        };
        let paused = result.is_ok();
        self.answer(asked, result);
        if paused {
            self.tell_deed(asked.client, "paused", &Value::Null);
        }
    }
}

fn already_resumed(name: &str) -> Failure {
    Failure::new(ErrorCode::NotStopped, format!("the program runs: already resumed by {name}"))
        .hint("wait for the next stop")
        .quiet()
}
