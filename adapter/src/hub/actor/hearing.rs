//! What the actor hears: one task for each client's messages, one for the engine's events. They wait for the actor, it never for them.

use dap_wire::Message;
use dap_wire::codec::DapCodec;
use futures::StreamExt;
use tokio::io::AsyncRead;
use tokio::sync::mpsc;
use tokio_util::codec::FramedRead;
use tokio_util::sync::CancellationToken;

use super::{DRAIN_LIMIT, Inbox, Wake};
use crate::engine::EngineEvent;
use crate::hub::event::{ClientId, Event};
use crate::hub::numbers::Numbers;
use crate::io::Broker;

/// Engine events in order; output that came before a stop or an end is in the rings before it is told.
pub(super) async fn pump(
    mut said: mpsc::UnboundedReceiver<EngineEvent>,
    engine: u64,
    broker: Broker,
    inbox: Inbox,
) {
    while let Some(event) = said.recv().await {
        if matches!(&event, EngineEvent::Dap { event, .. } if event == "exited" || event == "terminated") {
            broker.drained_if_exited(DRAIN_LIMIT).await;
        }
        drop(inbox.0.send(Wake::EngineSaid { engine, event }).await);
    }
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
        match item {
            Some(Ok(Ok(Message::Response(mut response)))) => match numbers.inside(response.request_seq) {
                Some(inside) => {
                    response.request_seq = inside;
                    inbox.event(Event::ClientSaid { client, message: Message::Response(response) }).await;
                }
                None => tracing::warn!(%client, ?response, "an answer to nothing that was asked"),
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
