//! When requests to the engine must be answered: one timer for all of them.
//!
//! It also runs for a while after each message without being needed. A timer that becomes the first of all makes the runtime
//! write to itself, so that it looks at its timers anew, and wake up once more for that, also on its own thread. Each
//! request has a deadline on its way to the adapter, too: without this, most of those are the only ones there are, and so
//! the first: two system calls and a wake-up for each.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::hub::event::Ticket;

/// Below the deadlines of nearly all requests.
const SOONER: Duration = Duration::from_secs(4);

/// A request whose time is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Late {
    pub(super) ticket: Ticket,
    pub(super) command: String,
    /// How long it had.
    pub(super) limit: Duration,
}

/// When a request must be answered.
pub(super) type Due = (Instant, Ticket);

/// Requests that wait for their answer.
pub(super) struct Deadlines {
    due: BTreeMap<Due, Late>,
    timer: Pin<Box<Sleep>>,
    /// Whether the timer is looked at; an idle session wakes nobody.
    runs: bool,
}

impl Deadlines {
    /// Must be called inside a tokio runtime.
    pub(super) fn new() -> Self {
        Self { due: BTreeMap::new(), timer: Box::pin(tokio::time::sleep(SOONER)), runs: true }
    }

    /// There is work: the timer runs from now on, if it did not.
    pub(super) fn start(&mut self) {
        if !self.runs {
            self.run_until(Instant::now() + SOONER);
        }
    }

    /// From now on the request has so long.
    pub(super) fn add(&mut self, ticket: Ticket, command: &str, limit: Duration) -> Due {
        let at = Instant::now() + limit;
        self.due.insert((at, ticket), Late { ticket, command: command.to_owned(), limit });
        if !self.runs || at < self.timer.deadline() {
            self.run_until(at.min(Instant::now() + SOONER));
        }
        (at, ticket)
    }

    /// The request was answered.
    pub(super) fn remove(&mut self, due: Due) {
        self.due.remove(&due);
    }

    /// Ends with a request whose time is up. May be dropped and called anew at any time.
    pub(super) async fn late(&mut self) -> Late {
        loop {
            if !self.runs {
                return std::future::pending().await;
            }
            self.timer.as_mut().await;
            let now = Instant::now();
            match self.due.first_entry() {
                // The timer stays as it is: there may be more.
                Some(first) if first.key().0 <= now => return first.remove(),
                Some(first) => {
                    let next = first.key().0.min(now + SOONER);
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
    async fn each_is_late_in_its_turn_and_what_was_answered_never() {
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
            let late = deadlines.late().await;
            assert_eq!(late, Late { ticket: Ticket(ticket), command: "next".into(), limit: seconds(limit) });
            assert!(start.elapsed() >= seconds(limit) && start.elapsed() < seconds(limit) + seconds(1));
        }
        tokio::time::timeout(LONG, deadlines.late()).await.unwrap_err();
        assert!(!deadlines.runs);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_is_added_while_nothing_runs_is_late_too() {
        let mut deadlines = Deadlines::new();
        tokio::time::timeout(LONG, deadlines.late()).await.unwrap_err();
        let start = Instant::now();
        deadlines.add(Ticket(1), "threads", Duration::from_secs(2));
        assert_eq!(deadlines.late().await.ticket, Ticket(1));
        assert!(start.elapsed() < Duration::from_secs(3));
        deadlines.start();
        deadlines.add(Ticket(2), "threads", Duration::from_secs(20));
        assert_eq!(deadlines.late().await.ticket, Ticket(2));
    }
}
