//! A timer that is due before those of the requests. Nothing happens when it is.
//!
//! A timer that becomes the first of all makes the runtime write to itself, so that it looks at its timers anew, and wake up
//! once more for that, also on its own thread. Each request has a deadline on its way through the hub and another on its way
//! to the adapter: without this, most are the only ones there are, and so the first: two system calls and a wake-up for each.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// Below the deadlines of nearly all requests.
const SOONER: Duration = Duration::from_secs(4);

/// Runs while there is work; an idle session wakes nobody.
pub(super) struct Pulse {
    timer: Pin<Box<Sleep>>,
    runs: bool,
}

impl Pulse {
    /// Must be called inside a tokio runtime.
    pub(super) fn new() -> Self {
        Self { timer: Box::pin(tokio::time::sleep(SOONER)), runs: true }
    }

    /// There is work: it runs from now on, if it did not.
    pub(super) fn start(&mut self) {
        if !self.runs {
            self.runs = true;
            self.timer.as_mut().reset(Instant::now() + SOONER);
        }
    }

    /// Ends when the timer does; never when it does not run.
    pub(super) async fn beat(&mut self) {
        if !self.runs {
            return std::future::pending().await;
        }
        self.timer.as_mut().await;
        self.runs = false;
    }
}
