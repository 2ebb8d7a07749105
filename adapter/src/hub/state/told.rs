//! What the engine says of its own accord, and who is told.

use dap_wire::Failure;
use serde_json::{Value, json};

use super::{Phase, State};
use crate::engine::EngineEvent;
use crate::hub::clients::Stage;
use crate::hub::event::{ClientId, Effect};

impl State {
    pub(super) fn engine_said(&mut self, event: EngineEvent) {
        if self.is_old_news(&event) {
            tracing::debug!(event = event.name(), "said by the engine that is being replaced");
            // It may not let go before it has an answer.
            if let EngineEvent::Asks { ask, .. } = event {
                self.effects.push(Effect::AnswerEngine { ask, result: Err(Failure::cancelled()) });
            }
            return;
        }
        match event {
            EngineEvent::Dap { event, body } => self.engine_event(&event, body),
            EngineEvent::Asks { ask, command, arguments } => self.engine_asks(ask, command, arguments),
            EngineEvent::Capabilities(all) => {
                self.capabilities.replace(all);
                self.tell_capabilities();
            }
            // The actor has made a session of it.
            EngineEvent::Spawned(_) => {}
            EngineEvent::Died(failure) => self.engine_died(&failure),
        }
    }

    fn engine_event(&mut self, event: &str, body: Value) {
        let is_over = matches!(self.phase, Phase::Over { .. });
        if is_over && matches!(event, "initialized" | "stopped" | "continued" | "process" | "exited") {
            // A program that has ended does not come back, whatever its engine still says.
            tracing::debug!(event, "said after the end");
            return;
        }
        let ended = |id: &str| !self.facts.goes_on(id);
        if matches!(event, "progressUpdate" | "progressEnd") && body["progressId"].as_str().is_none_or(ended)
        {
            // Clients were told its end, or nothing of it.
            return;
        }
        self.facts.learn(event, &body);
        match event {
            "initialized" => {
                if self.engine_ready {
                    return;
                }
                self.engine_ready = true;
                self.push_all_breakpoints();
                self.configure_relaunched();
                let waiting: Vec<_> = self
                    .clients
                    .iter()
                    .filter(|client| client.stage == Stage::Joined)
                    .map(|client| client.id)
                    .collect();
                waiting.into_iter().for_each(|id| self.offer_configuration(id));
            }
            "stopped" => self.engine_stopped(body),
            "continued" => {
                if matches!(self.phase, Phase::Stopped { .. }) && self.pending.resume().is_none() {
                    self.running(None);
                    self.tell_all("continued", &body);
                }
            }
            "breakpoint" => {
                self.breakpoint_told(&body["breakpoint"]);
            }
            "exited" => {
                self.answer_launch();
                self.answer_resume();
                self.stop_judging();
                self.phase = Phase::Over { exit_code: body["exitCode"].as_i64() };
                if !self.told_exit {
                    self.told_exit = true;
                    self.flush_and_tell("exited", &body);
                }
            }
            "terminated" => {
                self.answer_resume();
                if self.farewell.is_null() {
                    self.farewell = body;
                }
                self.over(None);
            }
            "capabilities" => {
                self.capabilities.amend(&body["capabilities"]);
                self.tell_capabilities();
            }
            "process" => {
                // The engine is attached: the program runs unless a stop is told.
                if self.phase == Phase::Starting {
                    self.phase = Phase::Running;
                }
                self.tell_all(event, &body);
            }
            "output" | "progressStart" | "progressUpdate" | "progressEnd" => self.tell_waiting(event, &body),
            _ => self.tell_all(event, &body),
        }
    }

    /// What an engine was at ends with it, whether or not it could say so.
    pub(super) fn end_progress(&mut self) {
        for body in self.facts.end_progress() {
            self.tell_waiting("progressEnd", &body);
        }
    }

    /// The answer to a resume may overtake the stop it led to; a client must see them in order.
    pub(super) fn answer_resume(&mut self) {
        if let Some((ticket, asked)) = self.pending.resume() {
            self.pending.take(ticket);
            self.resumed(&asked, Ok(Value::Null));
        }
    }

    /// What the program printed before goes out before.
    pub(super) fn flush_and_tell(&mut self, event: &str, body: &Value) {
        for id in self.clients.ready() {
            self.effects.push(Effect::FlushOutput { client: id });
            self.tell(id, event, body);
        }
    }

    /// Those that configure or ride are told at once; the others before they are asked to configure.
    fn tell_capabilities(&mut self) {
        let told: Vec<_> = self
            .clients
            .iter()
            .filter(|client| matches!(client.stage, Stage::Configuring | Stage::Ready))
            .map(|client| client.id)
            .collect();
        told.into_iter().for_each(|id| self.update_capabilities(id));
    }

    /// Tells one client what changed since it was told last.
    pub(super) fn update_capabilities(&mut self, id: ClientId) {
        let Some(client) = self.clients.get_mut(id) else { return };
        if let Some(news) = self.capabilities.news(&client.capabilities) {
            client.capabilities = self.capabilities.offered().clone();
            self.tell(id, "capabilities", &json!({ "capabilities": news }));
        }
    }

    fn engine_died(&mut self, failure: &Failure) {
        if let Some((asked, _)) = self.early_answer.take() {
            // It never got as far as to be configured.
            return self.launched(&asked, Err(failure.clone()));
        }
        let text = format!("the debug engine ended: {failure}\n");
        self.note_all(&json!({ "category": "important", "output": text }));
        self.effects.push(Effect::KillProgram);
        self.over(None);
    }
}
