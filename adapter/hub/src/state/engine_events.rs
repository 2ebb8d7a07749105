//! Events of the engine, and the clients that are notified of each.
//!
//! Not here: whether a stop is reported, and to which clients ([`super::conditions`]).

use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{self, CapabilitiesEventBody, ChildProgram, ProgressEndEventBody};

use super::{State, output_line};
use crate::clients::HandshakeStage;
use crate::event::{ClientId, HubEffect};
use tandem_engine::{EngineEvent, FailedCondition};

impl State {
    pub(super) fn receive_engine_event(&mut self, event: EngineEvent) {
        if self.is_outdated(&event) {
            tracing::debug!(event = event.name(), "event of an engine that is being replaced");
            // It may not detach before it has a reply.
            if let EngineEvent::ReverseRequest { id, .. } = event {
                self.effects.push(HubEffect::ReplyToEngine { id, result: Err(Failure::cancelled()) });
            }
            return;
        }
        match event {
            EngineEvent::Dap { event, body } => self.receive_dap_event(&event, body, None),
            EngineEvent::ConditionFailed { body, failure } => {
                self.receive_dap_event("stopped", body, Some(failure));
            }
            EngineEvent::ReverseRequest { id, command, arguments } => {
                self.receive_reverse_request(id, command, arguments);
            }
            EngineEvent::Capabilities(all) => {
                self.engine.capabilities.replace(all);
                self.broadcast_capabilities();
            }
            // The actor has made a session of it.
            EngineEvent::ChildSession(_) | EngineEvent::ChildProcess(_) => {}
            EngineEvent::ChildNotDebugged { pid, name } => {
                self.announce_child(&ChildProgram {
                    name: Some(name),
                    process_id: Some(pid.into()),
                    ..ChildProgram::default()
                });
            }
            EngineEvent::Died(failure) => self.receive_engine_death(&failure),
        }
    }

    /// `failure`: the program stopped because it could not evaluate this condition.
    fn receive_dap_event(&mut self, event: &str, body: Value, failure: Option<FailedCondition>) {
        if self.program.is_over()
            && matches!(event, "initialized" | "stopped" | "continued" | "process" | "exited")
        {
            // A program that has ended does not come back, whatever its engine still reports.
            tracing::debug!(event, "event after the end");
            return;
        }
        let is_in_progress = || {
            let ProgressEndEventBody { progress_id, .. } = types::read(&body);
            self.program.replay.is_in_progress(&progress_id)
        };
        if matches!(event, "progressUpdate" | "progressEnd") && !is_in_progress() {
            // Clients were sent its end, or nothing of it.
            return;
        }
        self.program.replay.record(event, &body);
        match event {
            "initialized" => self.receive_initialized(),
            "stopped" => self.receive_stop(&body, failure),
            "continued" => {
                if self.program.is_stopped() && self.engine.pending.resume().is_none() {
                    self.set_running(None);
                    self.broadcast("continued", &body);
                }
            }
            "breakpoint" => self.update_breakpoint(&body["breakpoint"]),
            "exited" => self.receive_exited(&body),
            "terminated" => {
                self.finish_resume();
                self.finish_program(body);
            }
            "capabilities" => {
                let CapabilitiesEventBody { capabilities, .. } = types::read(&body);
                self.engine.capabilities.update_engine(&capabilities);
                self.broadcast_capabilities();
            }
            "process" => {
                self.program.attach();
                self.broadcast(event, &body);
            }
            "output" | "progressStart" | "progressUpdate" | "progressEnd" => {
                self.broadcast_to_joined(event, &body);
            }
            _ => self.broadcast(event, &body),
        }
    }

    fn receive_initialized(&mut self) {
        if !self.engine.initialize() {
            return;
        }
        self.add_failure_stops();
        self.sync_all_breakpoints();
        self.configure_relaunched();
        for id in self.clients.ids_where(|client| client.stage == HandshakeStage::Joined) {
            self.send_initialized(id);
        }
    }

    fn receive_exited(&mut self, body: &Value) {
        self.respond_to_launch();
        self.finish_resume();
        self.abandon_checks();
        self.abandon_following();
        self.program.exit(body.clone());
        self.broadcast_after_output("exited", body);
    }

    /// Ends the operations in progress with their engine, whether or not the engine could report that.
    pub(super) fn end_progress(&mut self) {
        for body in self.program.replay.end_progress() {
            self.broadcast_to_joined("progressEnd", &body);
        }
    }

    /// Finishes the resume in flight: its response may be overtaken by the stop it led to, and a client
    /// must see them in order.
    pub(super) fn finish_resume(&mut self) {
        if let Some((ticket, request)) = self.engine.pending.resume() {
            self.engine.pending.take(ticket);
            self.receive_resume_reply(&request, Ok(Value::Null));
        }
    }

    /// Clients that configure or are ready are notified at once; the others before they get `initialized`.
    fn broadcast_capabilities(&mut self) {
        let notified = |stage| matches!(stage, HandshakeStage::Configuring | HandshakeStage::Ready);
        for id in self.clients.ids_where(|client| notified(client.stage)) {
            self.send_capability_changes(id);
        }
    }

    /// Sends one client what changed since its last capabilities.
    pub(super) fn send_capability_changes(&mut self, id: ClientId) {
        let Some(client) = self.clients.get_mut(id) else { return };
        if let Some(changes) = self.engine.capabilities.changes_since(&client.protocol.sent_capabilities) {
            client.protocol.sent_capabilities = self.engine.capabilities.offered().clone();
            let body = CapabilitiesEventBody { capabilities: changes, ..CapabilitiesEventBody::default() };
            self.send_event(id, "capabilities", &types::body(&body));
        }
    }

    fn receive_engine_death(&mut self, failure: &Failure) {
        if let Some((request, _)) = self.start.early_reply.take() {
            // It was never configured.
            return self.receive_launch_reply(&request, Err(failure.clone()));
        }
        let line = format!("the debug engine ended: {failure}");
        self.broadcast_to_joined("output", &output_line("important", &line));
        self.effects.push(HubEffect::KillProgram);
        self.finish_program(Value::Null);
    }
}
