//! The moment after a message, in which the next one is looked for instead of slept for.
//!
//! A message is seldom alone: an adapter answers, the client asks the next thing. A core that sleeps in between takes as long to
//! wake as the hub takes for the message. Not for waiting longer than that: an idle session uses no core, and a machine
//! that has but one gives it to whoever has the next message to write.

use std::time::{Duration, Instant};

/// Longer gains nothing: what has not come by then comes much later.
const MOMENT: Duration = Duration::from_micros(50);

/// Whether the hub looks for the next message at once.
pub(super) struct Awake {
    worthwhile: bool,
    until: Option<Instant>,
}

impl Awake {
    pub(super) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { worthwhile: cores > 1, until: None }
    }

    /// There was a message.
    pub(super) fn start(&mut self) {
        self.until = self.worthwhile.then(|| Instant::now() + MOMENT);
    }

    /// Ends when sockets have been looked at once more; never when the moment is over.
    pub(super) async fn look(&mut self) {
        if self.until.is_none_or(|until| Instant::now() >= until) {
            self.until = None;
            return std::future::pending().await;
        }
        // Whoever has the message to write may want this very core.
        std::thread::yield_now();
        tokio::task::yield_now().await;
    }
}
