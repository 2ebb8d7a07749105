//! Feeds the actor's inbox: one task for each client's messages, one for the engine's events. They wait
//! for the actor, it never for them.

use futures::StreamExt;
use serde_json::Value;
use tandem_wire::codec::DapCodec;
use tandem_wire::types::{
    self, OutputDetails, OutputEventBody, ProcessEventBody, ProgramExit, StoppedEventBody,
};
use tandem_wire::{Failure, Message, MessageError, Response};
use tokio::io::AsyncRead;
use tokio::sync::mpsc;
use tokio_util::codec::FramedRead;
use tokio_util::sync::CancellationToken;

use super::DRAIN_TIMEOUT;
use crate::inbox::Inbox;
use crate::reverse_seqs::ReverseSeqs;
use tandem_engine::{EngineEvent, exited_body};
use tandem_hub::event::{ClientId, HubEvent};
use tandem_process::Broker;

/// Where the message is looked for of which a program has died, bytes: a trace may be below it.
const MAX_COMPLAINT_LEN: usize = 4096;

/// Passes on the events of an engine, and behind them its reply to `disconnect`. All that was printed before
/// an end is in the rings before the end is reported.
pub(super) struct EventPump {
    engine: u64,
    broker: Broker,
    inbox: Inbox,
    /// The program's pipes were waited for: another process holds them open, or nothing more comes.
    drained: bool,
    exited_sent: bool,
}

impl EventPump {
    pub(super) fn new(engine: u64, broker: Broker, inbox: Inbox) -> Self {
        Self { engine, broker, inbox, drained: false, exited_sent: false }
    }

    /// Ends with the engine's channel and the actor's.
    pub(super) async fn run(
        mut self,
        mut events: mpsc::UnboundedReceiver<EngineEvent>,
        mut disconnects: mpsc::UnboundedReceiver<HubEvent>,
    ) {
        loop {
            // In this order: what the engine reported before it detached is passed on before that.
            tokio::select! {
                biased;
                Some(event) = events.recv() => self.forward(event).await,
                Some(reply) = disconnects.recv() => self.finish(reply, &mut events).await,
                else => break,
            }
        }
    }

    async fn forward(&mut self, event: EngineEvent) {
        if let EngineEvent::Dap { event: name, .. } = &event
            && (name == "exited" || name == "terminated")
        {
            self.exited_sent |= name == "exited";
            self.drain().await;
        }
        if let EngineEvent::Dap { event: name, body } = &event
            && let Some(hint) = self.broker.first_terminal_hint(&self.complaint(name, body))
        {
            self.inbox.engine_event(self.engine, hint_event(hint)).await;
        }
        if let EngineEvent::Dap { event: name, body } = &event
            && name == "process"
        {
            let ProcessEventBody { system_process_id, is_local_process, .. } = types::read(body);
            let here = system_process_id.filter(|_| is_local_process != Some(false));
            self.broker.set_process(here.and_then(|pid| pid.try_into().ok()));
        }
        self.inbox.engine_event(self.engine, event).await;
    }

    /// The reason why the program stopped or ended, if that was an error; else empty.
    fn complaint(&self, event: &str, body: &Value) -> String {
        match event {
            "stopped" => {
                let StoppedEventBody { reason, text, description, .. } = types::read(body);
                if reason != "exception" {
                    return String::new();
                }
                format!("{}\n{}", text.unwrap_or_default(), description.unwrap_or_default())
            }
            "exited" if types::read::<ProgramExit>(body).exit_code != Some(0) => {
                self.broker.stderr_tail(MAX_COMPLAINT_LEN)
            }
            _ => String::new(),
        }
    }

    /// Waits for the rest of the output. A program from which the engine only detached keeps printing.
    async fn drain(&mut self) {
        if !self.drained && self.broker.has_ended() {
            self.broker.wait_until_drained(DRAIN_TIMEOUT).await;
            self.drained = true;
        }
    }

    /// Passes on the reply to `disconnect`. Whatever comes next finds no program of ours and all it
    /// printed in the rings.
    async fn finish(&mut self, reply: HubEvent, events: &mut mpsc::UnboundedReceiver<EngineEvent>) {
        let failed = matches!(reply, HubEvent::EngineReplied { result: Err(_), .. });
        if failed {
            self.broker.kill();
        }
        self.broker.wait_until_exited(DRAIN_TIMEOUT).await;
        self.drain().await;
        while let Ok(event) = events.try_recv() {
            self.forward(event).await;
        }
        // An engine that hangs does not report the end.
        if failed
            && !self.exited_sent
            && let Some(info) = self.broker.exit_info()
        {
            self.forward(EngineEvent::Dap { event: "exited".into(), body: exited_body(info) }).await;
        }
        self.inbox.event(reply).await;
    }
}

/// A line on the console with advice: `hint` marks it for clients that show it elsewhere.
pub(super) fn hint_event(hint: &str) -> EngineEvent {
    let details = OutputDetails { hint: Some(hint.to_owned()), ..OutputDetails::default() };
    let line = OutputEventBody { rest: types::fields(&details), ..OutputEventBody::console_line(hint) };
    EngineEvent::Dap { event: "output".into(), body: types::body(&line) }
}

/// A response of the client that cannot be parsed counts as a refusal: who sent the reverse
/// request gets no other.
fn refusal_for_invalid(error: MessageError) -> Result<Message, MessageError> {
    let Some(number) = error.answers else { return Err(error) };
    let command = error.command.clone().unwrap_or_default();
    Ok(Message::Response(Response::to(number, command, Err(Failure::invalid(error.to_string())))))
}

/// Reads a client's messages in order, until its connection ends or `stop` is cancelled.
pub(super) async fn read(
    client: ClientId,
    socket: Box<dyn AsyncRead + Send + Unpin>,
    inbox: Inbox,
    stop: CancellationToken,
    reverse_seqs: ReverseSeqs,
) {
    let mut frames = FramedRead::new(socket, DapCodec::default());
    loop {
        let item = tokio::select! {
            item = frames.next() => item,
            () = stop.cancelled() => None,
        };
        let item = item.map(|frame| frame.map(|message| message.or_else(refusal_for_invalid)));
        match item {
            Some(Ok(Ok(Message::Response(mut response)))) => match reverse_seqs.take(response.request_seq) {
                Some(inside) => {
                    response.request_seq = inside;
                    inbox
                        .event(HubEvent::ClientMessage { client, message: Message::Response(response) })
                        .await;
                }
                None => {
                    tracing::warn!(%client, command = response.command, "a response to no reverse request")
                }
            },
            Some(Ok(Ok(message))) => inbox.event(HubEvent::ClientMessage { client, message }).await,
            Some(Ok(Err(error))) => inbox.event(HubEvent::ClientMessageInvalid { client, error }).await,
            Some(Err(error)) => {
                tracing::warn!(%client, %error, "connection closed");
                break;
            }
            None => break,
        }
    }
    inbox.event(HubEvent::ClientLeft { client }).await;
}
