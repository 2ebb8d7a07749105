//! Messages from the engine to the hub, and requests to a client. No state: the callers make the decisions.

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use tandem_engine::EngineEvent;

/// Sender of messages to the hub.
pub(super) struct Outbox {
    sender: UnboundedSender<EngineEvent>,
}

impl Outbox {
    pub(super) fn new(sender: UnboundedSender<EngineEvent>) -> Self {
        Self { sender }
    }

    /// For events from another thread.
    pub(super) fn sender(&self) -> UnboundedSender<EngineEvent> {
        self.sender.clone()
    }

    /// Sends a request to a client; the inbox receives the answer.
    pub(super) fn ask_client(&self, command: &str, arguments: Value) {
        // A hub that has ended ends this engine, too.
        drop(self.sender.send(EngineEvent::ReverseRequest { id: 1, command: command.into(), arguments }));
    }

    /// Sends an event to the hub.
    pub(super) fn send_event(&self, event: &str, body: Value) {
        // A hub that has ended ignores events.
        drop(self.sender.send(EngineEvent::Dap { event: event.into(), body }));
    }

    /// Prints a line in the debug console.
    pub(super) fn note(&self, text: &str) {
        self.send_event("output", json!({ "category": "console", "output": format!("{text}\n") }));
    }

    /// Prints a line in the debug console about a step that has no target: the program continues.
    pub(super) fn note_lost_step(&self, text: &str) {
        let body = json!({ "category": "console", "output": format!("{text}\n"), "stepEndsNowhere": true });
        self.send_event("output", body);
    }

    /// As [`Outbox::note`], for another thread.
    pub(super) fn notes(&self) -> impl Fn(&str) + Send + use<> {
        let events = self.sender.clone();
        move |text| {
            let body = json!({ "category": "console", "output": format!("{text}\n") });
            drop(events.send(EngineEvent::Dap { event: "output".into(), body }));
        }
    }
}
