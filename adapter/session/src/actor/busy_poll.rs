//! Adaptive busy poll: after a message the actor polls for the next one for a moment before it parks.
//!
//! A message is seldom alone: an adapter replies, the client sends the next request. A core that sleeps in
//! between takes long to wake, and finds nothing of the hub in its caches any more: then a message takes
//! several times as long.
//!
//! It takes no core from other processes: an idle session uses none, the core is offered to others at each
//! poll, and when one of them keeps it, the actor parks for a while. A parked task is scheduled when there is
//! something for it; one that polls must wait for its turn.

use std::time::{Duration, Instant};

/// How long to poll after a client's message: about as long as an adapter takes for a request. Clients
/// send bursts, at a stop.
const CLIENT_POLL_TIME: Duration = Duration::from_millis(10);
/// The same after anything else, of which there may be any amount.
const ENGINE_POLL_TIME: Duration = Duration::from_micros(50);
/// A task that keeps an offered core for longer is busy. One that only has a message to write is done sooner.
const MAX_YIELD_TIME: Duration = Duration::from_millis(1);
/// How long the actor parks after a core was kept, at first.
const MIN_PARK_TIME: Duration = Duration::from_millis(50);
/// The same where cores are kept again and again: then polling costs one turn of another task in
/// each of these, a few ms.
const MAX_PARK_TIME: Duration = Duration::from_secs(30);

/// An adapter's event passes this many tasks before it is here (reader, session, pump), with
/// the sockets before them.
const TASKS_TO_YIELD_TO: usize = 4;

/// The sender of a message, which determines how long to poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    /// A client: it sent a request.
    Client,
    /// The engine, or the hub itself.
    Engine,
}

/// Whether the actor polls.
pub(super) struct BusyPoll {
    /// Not on a machine with one core: the sender of the next message needs it.
    worthwhile: bool,
    until: Option<Instant>,
    rests_until: Option<Instant>,
    rest: Duration,
}

impl BusyPoll {
    pub(super) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { worthwhile: cores > 1, until: None, rests_until: None, rest: MIN_PARK_TIME }
    }

    /// Polls from now on: there was a message.
    pub(super) fn start(&mut self, by: Sender) {
        self.start_at(Instant::now(), by);
    }

    /// Returns when the sockets have been polled once more; never after the polling time.
    pub(super) async fn poll(&mut self) {
        if !self.polls_at(Instant::now()) {
            return std::future::pending().await;
        }
        // First the other tasks of this thread: they have to write what was just decided, or to pass on what
        // has come.
        for _ in 0..TASKS_TO_YIELD_TO {
            tokio::task::yield_now().await;
        }
        let now = Instant::now();
        // The sender of the next message may need this very core.
        std::thread::yield_now();
        self.offered(now, now.elapsed());
    }

    fn start_at(&mut self, now: Instant, by: Sender) {
        if !self.worthwhile || self.rests_until.is_some_and(|until| now < until) {
            return;
        }
        if self.until.is_some() {
            // It came while the actor polled.
            self.rest = (self.rest / 2).max(MIN_PARK_TIME);
        }
        let until = now
            + match by {
                Sender::Client => CLIENT_POLL_TIME,
                Sender::Engine => ENGINE_POLL_TIME,
            };
        self.until = self.until.max(Some(until));
    }

    fn polls_at(&mut self, now: Instant) -> bool {
        self.until = self.until.filter(|until| now < *until);
        self.until.is_some()
    }

    /// Other tasks had the core for so long.
    fn offered(&mut self, now: Instant, kept: Duration) {
        if kept > MAX_YIELD_TIME {
            self.until = None;
            self.rests_until = Some(now + kept + self.rest);
            self.rest = (self.rest * 2).min(MAX_PARK_TIME);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_micros(10);

    fn busy_poll() -> BusyPoll {
        BusyPoll { worthwhile: true, ..BusyPoll::new() }
    }

    #[test]
    fn it_polls_longer_after_a_client_and_an_engine_does_not_shorten_that() {
        let (mut busy_poll, start) = (busy_poll(), Instant::now());
        assert!(!busy_poll.polls_at(start));
        busy_poll.start_at(start, Sender::Engine);
        assert!(busy_poll.polls_at(start + ENGINE_POLL_TIME - SHORT));
        assert!(!busy_poll.polls_at(start + ENGINE_POLL_TIME));
        busy_poll.start_at(start, Sender::Client);
        busy_poll.start_at(start + SHORT, Sender::Engine);
        assert!(busy_poll.polls_at(start + CLIENT_POLL_TIME - SHORT));
        assert!(!busy_poll.polls_at(start + CLIENT_POLL_TIME));
    }

    #[test]
    fn a_task_that_keeps_the_core_is_left_alone_longer_each_time() {
        let (mut busy_poll, mut now) = (busy_poll(), Instant::now());
        let mut rests = Vec::new();
        for _ in 0..12 {
            busy_poll.start_at(now, Sender::Client);
            assert!(busy_poll.polls_at(now));
            busy_poll.offered(now, MAX_YIELD_TIME);
            assert!(busy_poll.polls_at(now), "a task that returns it soon is not a reason");
            busy_poll.offered(now, MAX_YIELD_TIME * 2);
            assert!(!busy_poll.polls_at(now));
            let until = busy_poll.rests_until.unwrap();
            busy_poll.start_at(until - SHORT, Sender::Client);
            assert!(!busy_poll.polls_at(until - SHORT));
            rests.push(until - now - MAX_YIELD_TIME * 2);
            now = until;
        }
        assert_eq!(rests[..3], [MIN_PARK_TIME, MIN_PARK_TIME * 2, MIN_PARK_TIME * 4]);
        assert_eq!(rests[11], MAX_PARK_TIME);
    }

    #[test]
    fn a_message_that_comes_during_a_poll_shortens_the_rests_again() {
        let (mut busy_poll, now) = (busy_poll(), Instant::now());
        busy_poll.rest = MAX_PARK_TIME;
        busy_poll.start_at(now, Sender::Client);
        assert_eq!(busy_poll.rest, MAX_PARK_TIME, "nothing was found yet");
        for _ in 0..20 {
            busy_poll.start_at(now, Sender::Engine);
        }
        assert_eq!(busy_poll.rest, MIN_PARK_TIME);
    }

    #[test]
    fn one_core_is_never_kept() {
        let mut busy_poll = BusyPoll { worthwhile: false, ..BusyPoll::new() };
        let now = Instant::now();
        busy_poll.start_at(now, Sender::Client);
        assert!(!busy_poll.polls_at(now));
    }
}
