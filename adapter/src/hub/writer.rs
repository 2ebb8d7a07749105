//! The one task that may wait for a client's socket. It numbers what goes out, and fits the program's output in.
//!
//! Its queue is bounded, and a client whose queue is full is dropped. Output is not queued at all: it is
//! taken from the rings when the socket has room and it is this client's turn, so a slow client gets merged events and, past
//! the rings, a note of what it missed, and nobody waits for it.

use dap_wire::codec::{DapCodec, FrameError};
use dap_wire::{Event, Message};
use futures::SinkExt;
use serde_json::json;
use tokio::io::AsyncWrite;
use tokio_util::codec::FramedWrite;

use super::numbers::Numbers;
use super::queue::Queued;
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

/// Messages that wait are written together up to about so many bytes.
const TOGETHER: usize = 32 * 1024;

struct Writer<W> {
    sink: FramedWrite<W, DapCodec>,
    seq: i64,
    numbers: Numbers,
}

/// Writes until the queue's sender is dropped or the socket fails.
pub async fn run<W: AsyncWrite + Unpin>(socket: W, mut queue: Queued, numbers: Numbers) {
    let mut writer = Writer { sink: FramedWrite::new(socket, DapCodec::default()), seq: 0, numbers };
    writer.sink.set_backpressure_boundary(TOGETHER);
    let mut output: Option<OutputCursor> = None;
    loop {
        let outcome = tokio::select! {
            biased;
            outgoing = queue.recv() => match outgoing {
                Some(outgoing) => writer.take(outgoing, &mut queue, &mut output).await,
                None => break,
            },
            () = changed(output.as_mut()) => match &mut output {
                // One piece at a time: a message that came meanwhile goes first.
                Some(cursor) => match cursor.next_chunk() {
                    Some(chunk) => {
                        cursor.mark_changed();
                        let written = writer.write_chunk(chunk).await;
                        // So do the others of this thread: what they have to do is short.
                        tokio::task::yield_now().await;
                        written
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
    /// Writes this and what else waits, in one piece where it is short: in a storm of messages each costs less than it takes to
    /// queue the next.
    async fn take(
        &mut self,
        first: Outgoing,
        queue: &mut Queued,
        output: &mut Option<OutputCursor>,
    ) -> Result<(), FrameError> {
        let mut next = Some(first);
        while let Some(outgoing) = next {
            match outgoing {
                Outgoing::Message(message) => self.feed(message).await?,
                Outgoing::StartOutput(cursor) => *output = Some(cursor),
                Outgoing::StopOutput => *output = None,
                Outgoing::FlushOutput(positions) => {
                    if let Some(cursor) = output {
                        self.flush_output(cursor, positions).await?;
                    }
                }
            }
            next = if self.sink.write_buffer().len() < TOGETHER { queue.try_recv() } else { None };
        }
        self.sink.flush().await
    }

    /// Takes a message in, to be written with others.
    async fn feed(&mut self, mut message: Message) -> Result<(), FrameError> {
        self.seq += 1;
        if let Message::Request(request) = &message {
            self.numbers.note(self.seq, request.seq);
        }
        message.set_seq(self.seq);
        self.sink.feed(&message).await
    }

    async fn write(&mut self, message: Message) -> Result<(), FrameError> {
        self.feed(message).await?;
        self.sink.flush().await
    }

    async fn flush_output(&mut self, cursor: &mut OutputCursor, to: Positions) -> Result<(), FrameError> {
        cursor.pass_over();
        while !cursor.has_reached(to) {
            match cursor.next_chunk() {
                Some(chunk) => self.write_chunk(chunk).await?,
                None => break,
            }
            // All who are told of a stop are told in turn, and whoever asks something meanwhile is heard.
            tokio::task::yield_now().await;
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
