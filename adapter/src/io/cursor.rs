//! Following the program's output as it comes, for `output` events: one reader's place in both streams.

use tokio::sync::watch;

use super::broker::Broker;
use super::drain::Stream;
use super::reading::take_text;
use super::streams::Positions;

/// Most text of one `output` event, bytes.
const CHUNK: usize = 64 * 1024;
/// The same where many follow: an answer to one of them waits at most while each of the others gets a piece.
const SMALLEST_CHUNK: usize = 4 * 1024;
/// What all of them get in one round, bytes.
const ROUND: usize = 256 * 1024;

/// A piece of output for an `output` event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// `stdout` or `stderr`.
    pub category: &'static str,
    /// Whole characters.
    pub text: String,
    /// Bytes before this that were lost because the reader was too slow.
    pub dropped: u64,
}

/// One reader's place in both streams, for `output` events.
#[derive(Debug)]
pub struct OutputCursor {
    broker: Broker,
    changed: watch::Receiver<()>,
    at: Positions,
}

impl OutputCursor {
    /// The next piece that is there already, merged up to 64 KiB, less where many follow.
    pub fn next_chunk(&mut self) -> Option<Chunk> {
        let most = (ROUND / self.broker.followers().max(1)).clamp(SMALLEST_CHUNK, CHUNK);
        let streams = self.broker.lock();
        let one = |stream: &Stream, at: &mut u64, category| {
            let (text, end, dropped) = take_text(stream, *at, most);
            *at = end;
            (!text.is_empty() || dropped > 0).then_some(Chunk { category, text, dropped })
        };
        one(&streams.stdout, &mut self.at.stdout, "stdout")
            .or_else(|| one(&streams.stderr, &mut self.at.stderr, "stderr"))
    }

    /// Whether everything up to these positions was taken. Of a character that is not all there, [`Self::next_chunk`] gives
    /// nothing.
    pub fn has_reached(&self, positions: Positions) -> bool {
        self.at.stdout >= positions.stdout && self.at.stderr >= positions.stderr
    }

    /// There may be more than was taken: the next [`OutputCursor::changed`] returns at once.
    pub fn mark_changed(&mut self) {
        self.changed.mark_changed();
    }

    /// Waits for something new. Never ends while the session lives.
    pub async fn changed(&mut self) {
        if self.changed.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Broker {
    /// Output as it comes, beginning with what is still kept.
    pub fn cursor(&self) -> OutputCursor {
        let mut changed = self.changes();
        changed.mark_changed();
        OutputCursor { changed, broker: self.clone(), at: Positions::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::path::PathBuf;

    #[tokio::test]
    async fn the_last_bytes_count_however_few_and_half_a_character_does_not() {
        let broker = Broker::new(1024, PathBuf::from("stub"));
        let mut cursor = broker.cursor();
        broker.lock().stdout.ring.push(b"42\n");
        let printed = broker.settle();
        assert!(!cursor.has_reached(printed));
        assert_eq!(cursor.next_chunk().map(|chunk| chunk.text), Some("42\n".into()));
        assert!(cursor.has_reached(printed));

        // The euro sign has three bytes; without a pipe nothing more may come, so there must be one.
        let (reader, _writer) = std::io::pipe().unwrap();
        broker.lock().stderr.attach(File::from(std::os::fd::OwnedFd::from(reader))).unwrap();
        broker.lock().stderr.ring.push(&"€".as_bytes()[..2]);
        let half = broker.settle();
        assert!(!cursor.has_reached(half) && cursor.next_chunk().is_none());
        broker.lock().stderr.ring.push(&"€".as_bytes()[2..]);
        assert_eq!(cursor.next_chunk().map(|chunk| chunk.text), Some("€".into()));
        assert!(cursor.has_reached(broker.settle()));
    }
}
