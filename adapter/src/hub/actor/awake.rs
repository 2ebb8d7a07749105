//! The moment after a message, in which the next one is looked for instead of slept for.
//!
//! A message is seldom alone: an adapter answers, the client asks the next thing. A core that sleeps in between takes long to
//! wake, and finds nothing of the hub in its caches any more: then a message takes several times as long as it must.
//!
//! Not for taking a core from anybody: an idle session uses none, the core is offered to others at each look, and when one
//! of them kept it, the hub sleeps as it would have: who sleeps is let in when there is something for it, who looks must
//! wait for its turn.

use std::time::{Duration, Instant};

/// How long after what a client said: about as long as an adapter takes for what it is asked. Clients ask in bursts, at a stop.
const AFTER_CLIENT: Duration = Duration::from_millis(10);
/// How long after anything else, of which there may be any amount.
const AFTER_ENGINE: Duration = Duration::from_micros(50);
/// Who keeps an offered core for longer works hard. One who has only a message to write is done sooner.
const KEPT: Duration = Duration::from_millis(1);
/// How long the hub does not look after a core was kept, at first.
const SHORTEST_REST: Duration = Duration::from_millis(50);
/// The same where cores are kept again and again: then looking costs a turn of somebody else's in each of these, a few ms.
const LONGEST_REST: Duration = Duration::from_secs(30);

/// An event of an adapter's passes this many tasks before it is here (reader, session, pump); with the sockets before them.
const TASKS: usize = 4;

/// Who said it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// A client: it asked something.
    Client,
    /// The engine, or the hub itself.
    Engine,
}

/// Whether the hub looks for the next message at once.
pub(super) struct Awake {
    /// A machine that has but one core gives it to whoever has the next message to write.
    worthwhile: bool,
    until: Option<Instant>,
    rests_until: Option<Instant>,
    rest: Duration,
}

impl Awake {
    pub(super) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { worthwhile: cores > 1, until: None, rests_until: None, rest: SHORTEST_REST }
    }

    /// There was a message.
    pub(super) fn start(&mut self, by: Said) {
        self.start_at(Instant::now(), by);
    }

    /// Ends when sockets have been looked at once more; never when the moment is over.
    pub(super) async fn look(&mut self) {
        if !self.looks_at(Instant::now()) {
            return std::future::pending().await;
        }
        // First the others in this thread: they have to write what was just decided, or to pass on what has come.
        for _ in 0..TASKS {
            tokio::task::yield_now().await;
        }
        let now = Instant::now();
        // Whoever has the next message to write may want this very core.
        std::thread::yield_now();
        self.offered(now, now.elapsed());
    }

    fn start_at(&mut self, now: Instant, by: Said) {
        if !self.worthwhile || self.rests_until.is_some_and(|until| now < until) {
            return;
        }
        if self.until.is_some() {
            // It came while it was looked for.
            self.rest = (self.rest / 2).max(SHORTEST_REST);
        }
        let until = now
            + match by {
                Said::Client => AFTER_CLIENT,
                Said::Engine => AFTER_ENGINE,
            };
        self.until = self.until.max(Some(until));
    }

    fn looks_at(&mut self, now: Instant) -> bool {
        self.until = self.until.filter(|until| now < *until);
        self.until.is_some()
    }

    /// Others had the core for so long.
    fn offered(&mut self, now: Instant, kept: Duration) {
        if kept > KEPT {
            self.until = None;
            self.rests_until = Some(now + kept + self.rest);
            self.rest = (self.rest * 2).min(LONGEST_REST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_micros(10);

    fn awake() -> Awake {
        Awake { worthwhile: true, ..Awake::new() }
    }

    #[test]
    fn it_looks_longer_after_a_client_and_an_engine_does_not_shorten_that() {
        let (mut awake, start) = (awake(), Instant::now());
        assert!(!awake.looks_at(start));
        awake.start_at(start, Said::Engine);
        assert!(awake.looks_at(start + AFTER_ENGINE - SHORT));
        assert!(!awake.looks_at(start + AFTER_ENGINE));
        awake.start_at(start, Said::Client);
        awake.start_at(start + SHORT, Said::Engine);
        assert!(awake.looks_at(start + AFTER_CLIENT - SHORT));
        assert!(!awake.looks_at(start + AFTER_CLIENT));
    }

    #[test]
    fn who_keeps_the_core_is_left_alone_longer_each_time() {
        let (mut awake, mut now) = (awake(), Instant::now());
        let mut rests = Vec::new();
        for _ in 0..12 {
            awake.start_at(now, Said::Client);
            assert!(awake.looks_at(now));
            awake.offered(now, KEPT);
            assert!(awake.looks_at(now), "one who gives it back soon is no reason");
            awake.offered(now, KEPT * 2);
            assert!(!awake.looks_at(now));
            let until = awake.rests_until.unwrap();
            awake.start_at(until - SHORT, Said::Client);
            assert!(!awake.looks_at(until - SHORT));
            rests.push(until - now - KEPT * 2);
            now = until;
        }
        assert_eq!(rests[..3], [SHORTEST_REST, SHORTEST_REST * 2, SHORTEST_REST * 4]);
        assert_eq!(rests[11], LONGEST_REST);
    }

    #[test]
    fn what_comes_while_it_is_looked_for_shortens_the_rests_again() {
        let (mut awake, now) = (awake(), Instant::now());
        awake.rest = LONGEST_REST;
        awake.start_at(now, Said::Client);
        assert_eq!(awake.rest, LONGEST_REST, "nothing was found yet");
        for _ in 0..20 {
            awake.start_at(now, Said::Engine);
        }
        assert_eq!(awake.rest, SHORTEST_REST);
    }

    #[test]
    fn one_core_is_never_kept() {
        let mut awake = Awake { worthwhile: false, ..Awake::new() };
        let now = Instant::now();
        awake.start_at(now, Said::Client);
        assert!(!awake.looks_at(now));
    }
}
