//! Limits how fast all clients together get the program's output. A program prints more than anyone reads;
//! sent to many at full speed, it uses the cores that their requests need. Output that falls out of the ring
//! before its turn counts as not shown.
//!
//! Not for reading output by request, and not for the output that is sent before a stop or an end is
//! reported.

use std::time::{Duration, Instant};

/// Bytes per second for all clients together. One editor reads less; 64 of them use a part of a core for it.
const BYTES_PER_SECOND: u64 = 64 * 1024 * 1024;
/// Cost of an event besides its text, in bytes: readers that wake for each line cost more than the lines.
const EVENT_COST: u64 = 4 * 1024;
/// No client waits while the amount sent is less than what this time allows.
const BURST: Duration = Duration::from_millis(100);

/// Gives each event a time to be sent, at [`BYTES_PER_SECOND`].
#[derive(Debug, Default)]
pub(super) struct RateLimiter {
    /// When, at this rate, everything requested so far will have been sent.
    done: Option<Instant>,
}

impl RateLimiter {
    /// Reserves the time to send an event of so many bytes; a later caller gets a later time.
    pub(super) fn reserve(&mut self, now: Instant, bytes: usize) -> Instant {
        let earliest = now.checked_sub(BURST).unwrap_or(now);
        let turn = self.done.unwrap_or(earliest).max(earliest);
        self.done = Some(turn + time(bytes));
        turn
    }

    /// Gives back the unused part of a reservation for `bytes`; `used`: the bytes that were sent, `None` if
    /// none was.
    pub(super) fn refund(&mut self, bytes: usize, used: Option<usize>) {
        let back = time(bytes).saturating_sub(used.map(time).unwrap_or_default());
        self.done = self.done.and_then(|done| done.checked_sub(back));
    }
}

fn time(bytes: usize) -> Duration {
    Duration::from_nanos((bytes as u64 + EVENT_COST).saturating_mul(1_000_000_000) / BYTES_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;

    #[test]
    fn clients_share_the_rate_in_order_of_requests() {
        let (mut rate_limiter, start) = (RateLimiter::default(), Instant::now());
        let turns: Vec<Instant> = (0..128).map(|_| rate_limiter.reserve(start, MIB)).collect();
        assert!(turns.is_sorted());
        let (first, last) = (turns[0], turns[127]);
        assert!(first <= start, "a little passes at once");
        assert!(last - first > Duration::from_millis(1900) && last - first < Duration::from_millis(2100));
        let later = start + Duration::from_secs(60);
        assert!(rate_limiter.reserve(later, MIB) <= later, "what was not used is not saved up");
        assert!(rate_limiter.reserve(later, 64 * MIB) <= later);
        assert!(rate_limiter.reserve(later, MIB) > later);
    }

    #[test]
    fn a_turn_that_was_not_used_costs_nothing() {
        let (mut rate_limiter, now) = (RateLimiter::default(), Instant::now());
        for _ in 0..100_000 {
            assert!(rate_limiter.reserve(now, MIB) <= now);
            rate_limiter.refund(MIB, None);
        }
        rate_limiter.reserve(now, 64 * MIB);
        rate_limiter.refund(64 * MIB, Some(MIB));
        assert!(rate_limiter.reserve(now, MIB) <= now);
    }
}
