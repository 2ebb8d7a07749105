//! Following the program's output as it comes, for `output` events: one reader's place in both streams.
//!
//! Not here: output for one request ([`super::output_read`]).

use std::time::Instant;

use tokio::sync::watch;

use super::broker::Broker;
use super::drain::DrainedStream;
use super::output_read::{newest_start, take_text};
use super::streams::StreamPositions;
use super::text;

/// Most text of one `output` event, bytes.
const MAX_CHUNK_LEN: usize = 64 * 1024;
/// Up to this many followers get the whole buffer before a stop or an end is reported.
const MAX_FULL_FLUSH_FOLLOWERS: usize = 4;
/// How much more followers than that get together before a stop, in bytes of each stream: a client that waits
/// for the stop, or for an answer behind it, waits for all of that.
const MAX_BYTES_BEFORE_STOP: usize = 4 * 1024 * 1024;

/// The category of lines about faults of the program's input and output.
pub const WARNING_CATEGORY: &str = "important";

/// A piece of output for an `output` event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputChunk {
    /// `stdout`, `stderr` or [`WARNING_CATEGORY`].
    pub category: &'static str,
    /// The output, cut between characters.
    pub text: String,
    /// Bytes before this that were lost because the reader was too slow.
    pub dropped: u64,
}

/// One reader's place in both streams, for `output` events.
#[derive(Debug)]
pub struct OutputCursor {
    broker: Broker,
    changed: watch::Receiver<()>,
    at: StreamPositions,
    /// Its place in the lines about faults.
    warned: u64,
    /// When it may take the next piece; none before it knows that there is one.
    turn: Option<Instant>,
    /// It has once reached the end of the output: everything kept when it joined was sent.
    caught_up: bool,
    /// Bytes that were skipped and not reported to it yet.
    passed: StreamPositions,
}

impl OutputCursor {
    /// The next piece that is there already, merged up to 64 KiB.
    pub fn next_chunk(&mut self) -> Option<OutputChunk> {
        let streams = self.broker.lock();
        let one = |stream: &DrainedStream, at: &mut u64, passed: &mut u64, category| {
            let (text, end, dropped) = take_text(stream, *at, MAX_CHUNK_LEN);
            *at = end;
            let dropped = dropped + *passed;
            *passed = 0;
            (!text.is_empty() || dropped > 0).then_some(OutputChunk { category, text, dropped })
        };
        let mut chunk = one(&streams.stdout, &mut self.at.stdout, &mut self.passed.stdout, "stdout")
            .or_else(|| one(&streams.stderr, &mut self.at.stderr, &mut self.passed.stderr, "stderr"));
        if chunk.is_none() && streams.warnings.end() > self.warned {
            let lines = streams.warnings.read(self.warned, usize::MAX);
            self.warned = lines.end;
            let text = text::decode(lines.bytes);
            chunk = Some(OutputChunk { category: WARNING_CATEGORY, text, dropped: 0 });
        }
        drop(streams);
        self.caught_up |= chunk.is_none();
        if self.turn.take().is_some() {
            self.broker.rate_limiter().refund(MAX_CHUNK_LEN, chunk.as_ref().map(|chunk| chunk.text.len()));
        }
        chunk
    }

    /// Before a stop is reported: if many clients follow, each gets the newest of its unread output. A new
    /// client gets all that is kept.
    pub fn pass_over(&mut self) {
        if !self.caught_up {
            return;
        }
        let followers = self.broker.followers();
        if followers <= MAX_FULL_FLUSH_FOLLOWERS {
            return;
        }
        let most = (MAX_BYTES_BEFORE_STOP / followers).max(MAX_CHUNK_LEN);
        let streams = self.broker.lock();
        for (stream, at, passed) in [
            (&streams.stdout, &mut self.at.stdout, &mut self.passed.stdout),
            (&streams.stderr, &mut self.at.stderr, &mut self.passed.stderr),
        ] {
            let newest = newest_start(stream, *at, most);
            *passed += newest - *at;
            *at = newest;
        }
    }

    /// Whether everything up to these positions was taken, and all lines about faults. Of a character that is
    /// not all there, [`Self::next_chunk`] returns nothing.
    pub fn has_reached(&self, positions: StreamPositions) -> bool {
        self.at.stdout >= positions.stdout
            && self.at.stderr >= positions.stderr
            && self.warned >= self.broker.lock().warnings.end()
    }

    /// There may be more than was taken: the next [`OutputCursor::changed`] does not wait for it.
    pub fn mark_changed(&mut self) {
        self.changed.mark_changed();
    }

    /// Waits for something new, and until it is this reader's turn. Never ends while the session lives.
    pub async fn wait_for_change(&mut self) {
        let turn = match self.turn {
            Some(turn) => turn,
            None => {
                if self.changed.changed().await.is_err() {
                    return std::future::pending().await;
                }
                let turn = self.broker.rate_limiter().reserve(Instant::now(), MAX_CHUNK_LEN);
                *self.turn.insert(turn)
            }
        };
        if turn > Instant::now() {
            tokio::time::sleep_until(turn.into()).await;
        }
    }
}

impl Broker {
    /// New output, beginning with what is still kept.
    pub fn cursor(&self) -> OutputCursor {
        let mut changed = self.changes();
        changed.mark_changed();
        OutputCursor {
            changed,
            broker: self.clone(),
            at: StreamPositions::default(),
            warned: 0,
            turn: None,
            caught_up: false,
            passed: StreamPositions::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::path::PathBuf;

    use super::super::output_copy::OutputCopy;

    #[tokio::test]
    async fn the_last_bytes_count_however_few_and_half_a_character_does_not() {
        let broker = Broker::new(1024, PathBuf::from("stub"));
        let mut cursor = broker.cursor();
        broker.lock().stdout.ring.push(b"42\n");
        let printed = broker.drain_output();
        assert!(!cursor.has_reached(printed));
        assert_eq!(cursor.next_chunk().map(|chunk| chunk.text), Some("42\n".into()));
        assert!(cursor.has_reached(printed));

        // The euro sign has three bytes; without a pipe nothing more may come, so there must be one.
        let (reader, _writer) = std::io::pipe().unwrap();
        broker.lock().stderr.attach(File::from(std::os::fd::OwnedFd::from(reader)), None).unwrap();
        broker.lock().stderr.ring.push(&"€".as_bytes()[..2]);
        let half = broker.drain_output();
        assert!(!cursor.has_reached(half) && cursor.next_chunk().is_none());
        broker.lock().stderr.ring.push(&"€".as_bytes()[2..]);
        assert_eq!(cursor.next_chunk().map(|chunk| chunk.text), Some("€".into()));
        assert!(cursor.has_reached(broker.drain_output()));
    }

    #[tokio::test]
    async fn each_client_receives_a_warning_once_and_the_output_as_before() {
        let broker = Broker::new(1024, PathBuf::from("stub"));
        let cursor = broker.cursor();
        let full = File::options().write(true).open("/dev/full").unwrap();
        broker.lock().stdout.copy_to(Some(OutputCopy::new(full, "/dev/full".into(), "stdout")));
        broker.feed(false, "one\n");
        broker.feed(false, "two\n");
        let printed = broker.drain_output();
        for mut cursor in [cursor, broker.cursor()] {
            assert_eq!(cursor.next_chunk().map(|chunk| chunk.text), Some("one\ntwo\n".into()));
            assert!(!cursor.has_reached(printed));
            let warning = cursor.next_chunk().unwrap();
            assert_eq!(
                (warning.category, warning.text.lines().count()),
                (WARNING_CATEGORY, 1),
                "{warning:?}"
            );
            assert!(warning.text.contains("`/dev/full`: No space left"), "{warning:?}");
            assert!(cursor.has_reached(printed) && cursor.next_chunk().is_none());
        }
    }

    #[tokio::test]
    async fn before_a_stop_many_get_the_newest_and_what_they_miss_is_counted() {
        let broker = Broker::new(8 << 20, PathBuf::from("stub"));
        let mut many: Vec<OutputCursor> = (0..64).map(|_| broker.cursor()).collect();
        for cursor in &mut many {
            assert_eq!(cursor.next_chunk(), None);
        }
        let text = "0123456789abcde\n".repeat(3 << 16);
        broker.lock().stdout.ring.push(text.as_bytes());
        let mut late = broker.cursor();
        let printed = broker.drain_output();
        let read = |cursor: &mut OutputCursor| {
            cursor.pass_over();
            let (mut shown, mut missed) = (String::new(), 0);
            while let Some(chunk) = cursor.next_chunk() {
                shown += &chunk.text;
                missed += chunk.dropped;
            }
            assert!(cursor.has_reached(printed));
            (shown, missed as usize)
        };
        assert_eq!(read(&mut late), (text.clone(), 0), "a new client gets all that is kept");
        for cursor in &mut many {
            let (shown, missed) = read(cursor);
            assert_eq!(shown.len() + missed, text.len());
            assert!(missed > 0 && shown.len() >= MAX_CHUNK_LEN && text.ends_with(&shown));
        }
    }
}
