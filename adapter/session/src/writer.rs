//! The writer of one client: the only task that may wait for its socket. It numbers messages and inserts the
//! program's output.
//!
//! Its queue is bounded, and a client whose queue is full is disconnected. Output is not queued: it is taken
//! from the rings when the socket has room and nothing else waits. So a slow client gets merged events and,
//! past the rings, a note of what it missed, and never blocks the session.

use futures::SinkExt;
use tandem_wire::codec::{DapCodec, FrameError};
use tandem_wire::types::{self, OutputDetails, OutputEventBody};
use tandem_wire::{Event, Message};
use tokio::io::AsyncWrite;
use tokio_util::codec::FramedWrite;

use super::queue::{ClientQueueReceiver, Outgoing};
use super::reverse_seqs::ReverseSeqs;
use tandem_process::cursor::WARNING_CATEGORY;
use tandem_process::{OutputChunk, OutputCursor, StreamPositions};

/// Messages that wait are written together up to about so many bytes.
const BATCH_BYTES: usize = 32 * 1024;

struct Writer<W> {
    sink: FramedWrite<W, DapCodec>,
    seq: i64,
    reverse_seqs: ReverseSeqs,
}

/// Writes until the queue's sender is dropped or the socket fails.
pub async fn run<W: AsyncWrite + Unpin>(
    socket: W,
    mut queue: ClientQueueReceiver,
    reverse_seqs: ReverseSeqs,
) {
    let mut writer = Writer { sink: FramedWrite::new(socket, DapCodec::default()), seq: 0, reverse_seqs };
    writer.sink.set_backpressure_boundary(BATCH_BYTES);
    let mut output: Option<OutputCursor> = None;
    loop {
        let outcome = tokio::select! {
            biased;
            outgoing = queue.recv() => match outgoing {
                Some(outgoing) => writer.write_batch(outgoing, &mut queue, &mut output).await,
                None => break,
            },
            () = changed(output.as_mut()) => match &mut output {
                // One chunk at a time: a message that came meanwhile goes first.
                Some(cursor) => match cursor.next_chunk() {
                    Some(chunk) => {
                        cursor.mark_changed();
                        let written = writer.write_chunk(chunk).await;
                        // So do the other tasks of this thread: they are short.
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
        Some(cursor) => cursor.wait_for_change().await,
        None => std::future::pending().await,
    }
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    /// Writes this and what else waits, together where it is short: in a burst each message costs less
    /// than queuing the next.
    async fn write_batch(
        &mut self,
        first: Outgoing,
        queue: &mut ClientQueueReceiver,
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
            next = if self.sink.write_buffer().len() < BATCH_BYTES { queue.try_recv() } else { None };
        }
        self.sink.flush().await
    }

    /// Adds a message, to be written with others.
    async fn feed(&mut self, mut message: Message) -> Result<(), FrameError> {
        self.seq += 1;
        if let Message::Request(request) = &message {
            self.reverse_seqs.record(self.seq, request.seq);
        }
        message.set_seq(self.seq);
        self.sink.feed(&message).await
    }

    async fn write(&mut self, message: Message) -> Result<(), FrameError> {
        self.feed(message).await?;
        self.sink.flush().await
    }

    async fn flush_output(
        &mut self,
        cursor: &mut OutputCursor,
        to: StreamPositions,
    ) -> Result<(), FrameError> {
        cursor.pass_over();
        while !cursor.has_reached(to) {
            match cursor.next_chunk() {
                Some(chunk) => self.write_chunk(chunk).await?,
                None => break,
            }
            // All clients are notified of a stop in turn, and requests that come meanwhile are handled.
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    async fn write_chunk(&mut self, chunk: OutputChunk) -> Result<(), FrameError> {
        if chunk.dropped > 0 {
            let text = format!(
                "[{} bytes of {} were not shown: they came too fast]\n",
                chunk.dropped, chunk.category
            );
            self.write(output("important", text)).await?;
        }
        if chunk.text.is_empty() {
            return Ok(());
        }
        let message = match chunk.category {
            WARNING_CATEGORY => warning(chunk.text),
            category => output(category, chunk.text),
        };
        self.write(message).await
    }
}

/// Lines about faults of the program's input and output.
fn warning(lines: String) -> Message {
    let details = OutputDetails { from: Some("stdio".into()), ..OutputDetails::default() };
    let (category, rest) = (Some(WARNING_CATEGORY.into()), types::fields(&details));
    let body = OutputEventBody { category, output: lines, rest, ..OutputEventBody::default() };
    Message::Event(Event::new("output", types::body(&body)))
}

fn output(category: &str, output: String) -> Message {
    let body = OutputEventBody { category: Some(category.into()), output, ..OutputEventBody::default() };
    Message::Event(Event::new("output", types::body(&body)))
}
