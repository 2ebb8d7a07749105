//! Deadlines of requests to the engine: one timer for all of them.
//!
//! The timer also runs for a while after each message without being needed. A timer that becomes the earliest
//! of all makes the runtime write to itself, so that it checks its timers again, and wake up once more for
//! that, also on its own thread. Each request to a child adapter also has its own deadline: without this
//! timer, most of those would be the only one, and so the earliest: two system calls and a wake-up for each.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use tandem_hub::event::Ticket;

/// How long the timer runs without being needed: less than the deadlines of nearly all requests.
const IDLE_PERIOD: Duration = Duration::from_secs(4);

/// A request that has timed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TimedOutRequest {
    pub(super) ticket: Ticket,
    pub(super) command: String,
    /// Time within which it had to be answered.
    pub(super) limit: Duration,
}

/// When a request must have its reply.
pub(super) type ReplyDeadline = (Instant, Ticket);

/// The deadlines of all requests without a reply.
pub(super) struct Deadlines {
    due: BTreeMap<ReplyDeadline, TimedOutRequest>,
    timer: Pin<Box<Sleep>>,
    /// Whether the timer is polled; an idle session wakes no core.
    runs: bool,
}

impl Deadlines {
    /// No deadlines. Must be called inside a tokio runtime.
    pub(super) fn new() -> Self {
        Self { due: BTreeMap::new(), timer: Box::pin(tokio::time::sleep(IDLE_PERIOD)), runs: true }
    }

    /// Starts the timer, if it does not run: there is work.
    pub(super) fn start(&mut self) {
        if !self.runs {
            self.run_until(Instant::now() + IDLE_PERIOD);
        }
    }

    /// Adds a request that may take so long from now on.
    pub(super) fn add(&mut self, ticket: Ticket, command: &str, limit: Duration) -> ReplyDeadline {
        let at = Instant::now() + limit;
        self.due.insert((at, ticket), TimedOutRequest { ticket, command: command.to_owned(), limit });
        if !self.runs || at < self.timer.deadline() {
            self.run_until(at.min(Instant::now() + IDLE_PERIOD));
        }
        (at, ticket)
    }

    /// Removes a request that has its reply.
    pub(super) fn remove(&mut self, due: ReplyDeadline) {
        self.due.remove(&due);
    }

    /// Waits for the next request that times out. Cancellation safe.
    pub(super) async fn next_timeout(&mut self) -> TimedOutRequest {
        loop {
            if !self.runs {
                return std::future::pending().await;
            }
            self.timer.as_mut().await;
            let now = Instant::now();
            match self.due.first_entry() {
                // The timer is not reset: there may be more.
                Some(first) if first.key().0 <= now => return first.remove(),
                Some(first) => {
                    let next = first.key().0.min(now + IDLE_PERIOD);
                    self.run_until(next);
                }
                None => self.runs = false,
            }
        }
    }

    fn run_until(&mut self, at: Instant) {
        self.runs = true;
        self.timer.as_mut().reset(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn each_times_out_in_its_turn_and_one_with_a_reply_never() {
        let mut deadlines = Deadlines::new();
        let start = Instant::now();
        let seconds = |seconds| Duration::from_secs(seconds);
        for (ticket, limit) in [(1, 30), (2, 1), (3, 9), (4, 9), (5, 600)] {
            let due = deadlines.add(Ticket(ticket), "next", seconds(limit));
            if ticket == 3 {
                deadlines.remove(due);
            }
        }
        for (ticket, limit) in [(2, 1), (4, 9), (1, 30), (5, 600)] {
            let late = deadlines.next_timeout().await;
            assert_eq!(
                late,
                TimedOutRequest { ticket: Ticket(ticket), command: "next".into(), limit: seconds(limit) }
            );
            assert!(start.elapsed() >= seconds(limit) && start.elapsed() < seconds(limit) + seconds(1));
        }
        tokio::time::timeout(LONG, deadlines.next_timeout()).await.unwrap_err();
        assert!(!deadlines.runs);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_is_added_while_no_timer_runs_times_out_too() {
        let mut deadlines = Deadlines::new();
        tokio::time::timeout(LONG, deadlines.next_timeout()).await.unwrap_err();
        let start = Instant::now();
        deadlines.add(Ticket(1), "threads", Duration::from_secs(2));
        assert_eq!(deadlines.next_timeout().await.ticket, Ticket(1));
        assert!(start.elapsed() < Duration::from_secs(3));
        deadlines.start();
        deadlines.add(Ticket(2), "threads", Duration::from_secs(20));
        assert_eq!(deadlines.next_timeout().await.ticket, Ticket(2));
    }
}
