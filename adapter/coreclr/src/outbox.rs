//! Messages from the engine to the hub, and requests to a client. No state: the callers make the decisions.

use serde_json::Value;
use tandem_wire::types::{self, EventBody, OutputEventBody, ProcessEventBody};
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

    /// Sends an event whose body determines its name.
    pub(super) fn send<T: EventBody>(&self, body: &T) {
        self.send_event(T::EVENT, types::body(body));
    }

    /// Sends the event `process`: the program was launched or attached to.
    pub(super) fn send_process(&self, name: String, pid: u32, start_method: &str) {
        self.send(&ProcessEventBody {
            name,
            system_process_id: Some(pid.into()),
            is_local_process: Some(true),
            start_method: Some(start_method.to_owned()),
            pointer_size: Some(64),
            ..ProcessEventBody::default()
        });
    }

    /// Prints a line in the debug console.
    pub(super) fn note(&self, text: &str) {
        self.send(&OutputEventBody::console_line(text));
    }

    /// Prints a line in the debug console about a step that has no target: the program continues.
    pub(super) fn note_lost_step(&self, text: &str) {
        let mut body = OutputEventBody::console_line(text);
        body.rest.insert("stepEndsNowhere".into(), true.into());
        self.send(&body);
    }

    /// As [`Outbox::note`], for another thread.
    pub(super) fn notes(&self) -> impl Fn(&str) + Send + use<> {
        let events = self.sender.clone();
        move |text| {
            // A hub that has ended ignores events.
            drop(events.send(EngineEvent::of(&OutputEventBody::console_line(text))));
        }
    }
}
