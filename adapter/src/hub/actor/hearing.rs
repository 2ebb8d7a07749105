//! What the actor hears: one task for each client's messages, one for the engine's events. They wait for the actor, it never for them.

use dap_wire::codec::DapCodec;
use dap_wire::{Failure, Message, MessageError, Response};
use futures::StreamExt;
use serde_json::json;
use tokio::io::AsyncRead;
use tokio::sync::mpsc;
use tokio_util::codec::FramedRead;
use tokio_util::sync::CancellationToken;

use super::{DRAIN_LIMIT, Inbox};
use crate::engine::EngineEvent;
use crate::hub::event::{ClientId, Event};
use crate::hub::numbers::Numbers;
use crate::io::Broker;

/// What an engine says, and its answer to `disconnect` behind it, on their way to the actor. All that was printed before an
/// end is in the rings before it is told.
pub(super) struct Pump {
    engine: u64,
    broker: Broker,
    inbox: Inbox,
    /// The program's pipes were waited for: something else holds them open, or nothing more comes.
    drained: bool,
    told_exit: bool,
}

impl Pump {
    pub(super) fn new(engine: u64, broker: Broker, inbox: Inbox) -> Self {
        Self { engine, broker, inbox, drained: false, told_exit: false }
    }

    /// Ends with the engine's channel and the actor's.
    pub(super) async fn run(
        mut self,
        mut said: mpsc::UnboundedReceiver<EngineEvent>,
        mut goodbyes: mpsc::UnboundedReceiver<Event>,
    ) {
        loop {
            // In this order: what the engine said before it let go of its program is told before that.
            tokio::select! {
                biased;
                Some(event) = said.recv() => self.pass(event).await,
                Some(answer) = goodbyes.recv() => self.part(answer, &mut said).await,
                else => break,
            }
        }
    }

    async fn pass(&mut self, event: EngineEvent) {
        if let EngineEvent::Dap { event: name, .. } = &event
            && (name == "exited" || name == "terminated")
        {
            self.told_exit |= name == "exited";
            self.drain().await;
        }
        self.inbox.said(self.engine, event).await;
    }

    /// A program that was only let go keeps printing.
    async fn drain(&mut self) {
        if !self.drained && self.broker.has_ended() {
            self.broker.drained(DRAIN_LIMIT).await;
            self.drained = true;
        }
    }

    /// Whatever comes next finds no program of ours and all it printed in the rings.
    async fn part(&mut self, answer: Event, said: &mut mpsc::UnboundedReceiver<EngineEvent>) {
        let failed = matches!(answer, Event::EngineAnswered { result: Err(_), .. });
        if failed {
            self.broker.kill();
        }
        self.broker.exited(DRAIN_LIMIT).await;
        self.drain().await;
        while let Ok(event) = said.try_recv() {
            self.pass(event).await;
        }
        // An engine that hangs says nothing of the end.
        if failed
            && !self.told_exit
            && let Some(info) = self.broker.how_it_ended()
        {
            let body = json!({ "exitCode": info.code });
            self.pass(EngineEvent::Dap { event: "exited".into(), body }).await;
        }
        self.inbox.event(answer).await;
    }
}

/// An answer of the client that cannot be read is a refusal: who asked does not wait for another.
fn unreadable_answer(error: MessageError) -> Result<Message, MessageError> {
    let Some(number) = error.answers else { return Err(error) };
    let command = error.command.clone().unwrap_or_default();
    Ok(Message::Response(Response::to(number, command, Err(Failure::invalid(error.to_string())))))
}

/// A client's messages in order, until its connection ends or it is let go.
pub(super) async fn read(
    client: ClientId,
    socket: Box<dyn AsyncRead + Send + Unpin>,
    inbox: Inbox,
    stop: CancellationToken,
    numbers: Numbers,
) {
    let mut frames = FramedRead::new(socket, DapCodec::default());
    loop {
        let item = tokio::select! {
            item = frames.next() => item,
            () = stop.cancelled() => None,
        };
        let item = item.map(|frame| frame.map(|message| message.or_else(unreadable_answer)));
        match item {
            Some(Ok(Ok(Message::Response(mut response)))) => match numbers.inside(response.request_seq) {
                Some(inside) => {
                    response.request_seq = inside;
                    inbox.event(Event::ClientSaid { client, message: Message::Response(response) }).await;
                }
                None => {
                    tracing::warn!(%client, command = response.command, "an answer to nothing that was asked")
                }
            },
            Some(Ok(Ok(message))) => inbox.event(Event::ClientSaid { client, message }).await,
            Some(Ok(Err(error))) => inbox.event(Event::ClientGarbled { client, error }).await,
            Some(Err(error)) => {
                tracing::warn!(%client, %error, "connection closed");
                break;
            }
            None => break,
        }
    }
    inbox.event(Event::ClientLeft { client }).await;
}
