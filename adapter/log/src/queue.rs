//! A bounded queue of lines for a writer that may block forever, with a count of dropped lines.
//!
//! Formats no line and chooses no level: `tracing-subscriber` does, as [`super`] sets it up.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::time::{Duration, Instant};

use tracing_subscriber::fmt::MakeWriter;

/// Maximum number of lines that wait.
const MAX_LINES: usize = 1024;
/// Maximum length of a line, in bytes; a longer one is truncated. With [`MAX_LINES`] this limits the memory
/// of the queue to 8 MiB.
const MAX_LINE_LEN: usize = 8 * 1024;
/// Time between two attempts to queue a flush in a full queue, at the end of the program.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

enum LogItem {
    Line(Vec<u8>),
    /// Sent back when all items before it are written.
    Flushed(mpsc::Sender<()>),
}

/// The sender to the writer thread. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    items: SyncSender<LogItem>,
    dropped: Arc<AtomicU64>,
}

impl Queue {
    /// Starts the thread that writes to `to`. It ends when the last clone is dropped, or with the process.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub(crate) fn start(to: Box<dyn Write + Send>) -> std::io::Result<Self> {
        let (items, received) = mpsc::sync_channel(MAX_LINES);
        let dropped = Arc::<AtomicU64>::default();
        let queue = Self { items, dropped: dropped.clone() };
        std::thread::Builder::new().name("log".into()).spawn(move || write(to, &received, &dropped))?;
        Ok(queue)
    }

    fn push(&self, line: Vec<u8>) {
        if self.items.try_send(LogItem::Line(line)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits at most `limit` until all queued lines are written.
    pub(crate) fn flush(&self, limit: Duration) {
        let until = Instant::now() + limit;
        let (done, flushed) = mpsc::channel();
        let mut item = LogItem::Flushed(done);
        while let Err(TrySendError::Full(again)) = self.items.try_send(item) {
            if Instant::now() >= until {
                return;
            }
            item = again;
            std::thread::sleep(POLL_INTERVAL);
        }
        flushed.recv_timeout(until.saturating_duration_since(Instant::now())).unwrap_or_default();
    }
}

/// Writes queued items. A failure of the writer is not reported, because only the log could report it.
fn write(mut to: Box<dyn Write + Send>, items: &Receiver<LogItem>, dropped: &AtomicU64) {
    for item in items {
        match item {
            LogItem::Line(line) => {
                drop(to.write_all(&line));
                let missing = dropped.swap(0, Ordering::Relaxed);
                if missing > 0 {
                    drop(writeln!(to, "[{missing} lines of the log were dropped: it was not read in time]"));
                }
            }
            LogItem::Flushed(done) => {
                drop(to.flush());
                done.send(()).unwrap_or_default();
            }
        }
    }
}

impl<'a> MakeWriter<'a> for Queue {
    type Writer = LogLine;

    fn make_writer(&'a self) -> LogLine {
        LogLine { queue: self.clone(), text: Vec::new() }
    }
}

/// A line that is being formatted. Dropping it puts it into the queue.
#[derive(Debug)]
pub(crate) struct LogLine {
    queue: Queue,
    text: Vec<u8>,
}

impl Write for LogLine {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let room = MAX_LINE_LEN.saturating_sub(self.text.len());
        self.text.extend(bytes.iter().take(room));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for LogLine {
    fn drop(&mut self) {
        let mut text = std::mem::take(&mut self.text);
        if text.len() >= MAX_LINE_LEN {
            text.extend_from_slice("…\n".as_bytes());
        }
        if !text.is_empty() {
            self.queue.push(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Condvar, Mutex};

    use super::*;

    /// Whether the writer is open, and the bytes that were written.
    type Gate = (Mutex<(bool, Vec<u8>)>, Condvar);

    /// A writer that blocks until it is opened.
    #[derive(Clone, Default)]
    struct GatedWriter(Arc<Gate>);

    impl GatedWriter {
        fn open(&self) {
            self.0.0.lock().unwrap().0 = true;
            self.0.1.notify_all();
        }

        fn text(&self) -> String {
            String::from_utf8(self.0.0.lock().unwrap().1.clone()).unwrap()
        }
    }

    impl Write for GatedWriter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let guard = self.0.0.lock().unwrap();
            let mut guard = self.0.1.wait_while(guard, |state| !state.0).unwrap();
            guard.1.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn unread_log_blocks_no_writer_and_reports_dropped_lines_later() {
        let sink = GatedWriter::default();
        let queue = Queue::start(Box::new(sink.clone())).unwrap();
        for number in 0..3 * MAX_LINES {
            writeln!(queue.make_writer(), "line {number}").unwrap();
        }
        queue.flush(Duration::from_millis(20));
        assert_eq!(sink.text(), "");
        sink.open();
        queue.flush(Duration::from_secs(60));
        let text = sink.text();
        let shown = text.lines().filter(|line| line.starts_with("line ")).count();
        assert!((MAX_LINES..=MAX_LINES + 1).contains(&shown), "{shown}");
        let missing = format!("[{} lines of the log were dropped", 3 * MAX_LINES - shown);
        assert!(text.contains(&missing), "{missing} in {text}");
    }

    #[test]
    fn a_long_line_is_cut() {
        let sink = GatedWriter::default();
        sink.open();
        let queue = Queue::start(Box::new(sink.clone())).unwrap();
        writeln!(queue.make_writer(), "{}", "x".repeat(1 << 20)).unwrap();
        queue.flush(Duration::from_secs(60));
        assert_eq!(sink.text().len(), MAX_LINE_LEN + "…\n".len());
    }
}
