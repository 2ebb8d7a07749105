//! Reading from adapters that write a message in pieces (lldb-dap 19: four) without being woken for each.
//!
//! A wake-up takes longer than such an adapter needs from one piece to the next. So after the beginning of a
//! message the reader polls the pipe briefly, and yields the processor to the adapter between two polls.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::io::Errno;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::unix::pipe;

/// Polls without data, each about a microsecond, before the reader waits for a wake-up.
const MAX_EMPTY_POLLS: u32 = 10;

/// The stdout of an adapter, polled until a message is complete.
pub(super) struct ChunkedReader(pub(super) pipe::Receiver);

impl AsyncRead for ChunkedReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        ready!(Pin::new(&mut self.0).poll_read(context, buffer))?;
        let mut looks = 0;
        // Every message is a JSON object. A piece that only looks like an end costs a wake-up, nothing else.
        while looks < MAX_EMPTY_POLLS
            && buffer.remaining() > 0
            && buffer.filled().last().is_some_and(|last| *last != b'}')
        {
            std::thread::yield_now();
            // Not through the runtime, which would wait for a readiness event.
            match rustix::io::read(&self.0, buffer.initialize_unfilled()) {
                Ok(count) if count > 0 => {
                    buffer.advance(count);
                    looks = 0;
                }
                Err(Errno::AGAIN | Errno::INTR) => looks += 1,
                // The next read sees the end, or the pipe's error, as well.
                _ => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}
