//! The one task that may wait for a client's socket. It numbers what goes out, and fits the program's output in.
//!
//! Its queue is bounded by the actor, which drops a client whose queue is full. Output is not queued at all: it is
//! taken from the rings when the socket has room, so a slow client gets merged events and, past the rings, a note of
//! what it missed, and nobody waits for it.

use dap_wire::codec::{DapCodec, FrameError};
use dap_wire::{Event, Message};
use futures::SinkExt;
use serde_json::json;
use tokio::io::AsyncWrite;
use tokio::sync::mpsc;
use tokio_util::codec::FramedWrite;

use super::numbers::Numbers;
use crate::io::{Chunk, OutputCursor, Positions};

/// What the actor queues for a client.
#[derive(Debug)]
pub enum Outgoing {
    /// A message, not yet numbered.
    Message(Message),
    /// From now on output goes out.
    StartOutput(OutputCursor),
    /// No more output.
    StopOutput,
    /// Output up to here goes out before what follows.
    FlushOutput(Positions),
}

struct Writer<W> {
    sink: FramedWrite<W, DapCodec>,
    seq: i64,
    numbers: Numbers,
}

/// Writes until the queue's sender is dropped or the socket fails.
pub async fn run<W: AsyncWrite + Unpin>(socket: W, mut queue: mpsc::Receiver<Outgoing>, numbers: Numbers) {
    let mut writer = Writer { sink: FramedWrite::new(socket, DapCodec::default()), seq: 0, numbers };
    let mut output: Option<OutputCursor> = None;
    loop {
        let outcome = tokio::select! {
            biased;
            outgoing = queue.recv() => match outgoing {
                Some(Outgoing::Message(message)) => writer.write(message).await,
                Some(Outgoing::StartOutput(cursor)) => {
                    output = Some(cursor);
                    Ok(())
                }
                Some(Outgoing::StopOutput) => {
                    output = None;
                    Ok(())
                }
                Some(Outgoing::FlushOutput(positions)) => match &mut output {
                    Some(cursor) => writer.flush_output(cursor, Some(positions)).await,
                    None => Ok(()),
                },
                None => break,
            },
            () = changed(output.as_mut()) => match &mut output {
                // One piece at a time: a message that came meanwhile goes first.
                Some(cursor) => match cursor.next_chunk() {
                    Some(chunk) => {
                        cursor.mark_changed();
                        writer.write_chunk(chunk).await
                    }
                    None => Ok(()),
                },
                None => Ok(()),
            },
        };
        if let Err(error) = outcome {
            tracing::debug!(%error, "a client's connection failed");
            break;
        }
    }
}

async fn changed(output: Option<&mut OutputCursor>) {
    match output {
        Some(cursor) => cursor.changed().await,
        None => std::future::pending().await,
    }
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    async fn write(&mut self, mut message: Message) -> Result<(), FrameError> {
        self.seq += 1;
        if let Message::Request(request) = &message {
            self.numbers.note(self.seq, request.seq);
        }
        message.set_seq(self.seq);
        self.sink.send(&message).await
    }

    async fn flush_output(
        &mut self,
        cursor: &mut OutputCursor,
        to: Option<Positions>,
    ) -> Result<(), FrameError> {
        while !to.is_some_and(|to| cursor.has_reached(to)) {
            match cursor.next_chunk() {
                Some(chunk) => self.write_chunk(chunk).await?,
                None => break,
            }
        }
        Ok(())
    }

    async fn write_chunk(&mut self, chunk: Chunk) -> Result<(), FrameError> {
        if chunk.dropped > 0 {
            let text = format!(
                "[{} bytes of {} were not shown: they came too fast]\n",
                chunk.dropped, chunk.category
            );
            let body = json!({ "category": "important", "output": text });
            self.write(Message::Event(Event::new("output", body))).await?;
        }
        if chunk.text.is_empty() {
            return Ok(());
        }
        let body = json!({ "category": chunk.category, "output": chunk.text });
        self.write(Message::Event(Event::new("output", body))).await
    }
}
