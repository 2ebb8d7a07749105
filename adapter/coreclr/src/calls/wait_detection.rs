//! Determines whether a call may be aborted.
//!
//! The runtime of .NET Core ends the whole program if a wait of the thread times out while the thread is
//! being aborted. So a thread that waits repeatedly is not aborted there; one that waits for a long time, or
//! computes, is.
//!
//! Not here: how far the call has come ([`super::abort_safety`]), and the decision to abort
//! ([`super::phase`]).

use std::time::{Duration, Instant};

/// Age up to which waits count.
const MAX_WAIT_AGE: Duration = Duration::from_secs(2);
/// Longest wait for the next wait to begin if there is no history, and pause between two samples.
const NEXT_WAIT_TIMEOUT: Duration = Duration::from_millis(500);
const SAMPLE_INTERVAL: Duration = Duration::from_millis(5);

/// The waits of a thread since the beginning of a call.
pub(super) struct WaitSamples {
    pid: Option<u32>,
    thread: u32,
    /// Samples of when the thread was checked, and how many waits it had begun: the last one before
    /// `MAX_WAIT_AGE`, and those since.
    samples: Vec<(Instant, Option<u64>)>,
}

impl WaitSamples {
    pub(super) fn of(pid: Option<u32>, thread: u32) -> Self {
        let mut waits = Self { pid, thread, samples: Vec::new() };
        waits.sample();
        waits
    }

    /// Takes a sample, as history to compare with.
    pub(super) fn sample(&mut self) {
        let now = Instant::now();
        self.samples.push((now, self.count_waits()));
        let old = self.samples.iter().take_while(|(at, _)| now.duration_since(*at) >= MAX_WAIT_AGE).count();
        self.samples.drain(..old.saturating_sub(1));
    }

    /// Whether it has begun more than one wait recently; samples for a moment if the history is too short.
    ///
    /// A call that has just begun also waits for locks of the runtime until its code is compiled, on a
    /// busy machine several times. So a call younger than `MAX_WAIT_AGE` waits repeatedly only if it
    /// does not stop doing so.
    pub(super) fn waits_repeatedly(&self) -> bool {
        let Some((first, Some(before))) = self.samples.first().copied() else { return false };
        let mut again =
            self.begins_more_than_one(before, first + MAX_WAIT_AGE.min(first.elapsed() + NEXT_WAIT_TIMEOUT));
        while again && first.elapsed() < MAX_WAIT_AGE {
            let Some(before) = self.count_waits() else { return false };
            let until = (first + MAX_WAIT_AGE).max(Instant::now() + NEXT_WAIT_TIMEOUT);
            again = self.begins_more_than_one(before, until);
        }
        again
    }

    /// Whether it begins a second wait by then. The first is the wait it is in now.
    fn begins_more_than_one(&self, before: u64, until: Instant) -> bool {
        loop {
            if self.count_waits().is_some_and(|now| now > before + 1) {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(SAMPLE_INTERVAL);
        }
    }

    /// How many waits the thread has begun (proc(5): `voluntary_ctxt_switches`); `None` if it has ended.
    fn count_waits(&self) -> Option<u64> {
        let status =
            std::fs::read_to_string(format!("/proc/{}/task/{}/status", self.pid?, self.thread)).ok()?;
        let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        count.trim().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_waits_are_detected_and_a_missing_thread_has_none() {
        let own = std::process::id();
        let (sender, receiver) = std::sync::mpsc::channel();
        let waiter = std::thread::spawn(move || {
            // proc(5): `/proc/thread-self` names the thread that asks, as `PID/task/TID`.
            let link = std::fs::read_link("/proc/thread-self").unwrap();
            sender
                .send(link.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()).unwrap())
                .unwrap();
            loop {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        assert!(WaitSamples::of(Some(own), receiver.recv().unwrap()).waits_repeatedly());
        assert!(!waiter.is_finished());
        assert!(!WaitSamples::of(Some(own), 1).waits_repeatedly());
        assert!(!WaitSamples::of(None, own).waits_repeatedly());
        let mut long = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let is_called = |name: &str| {
            std::fs::read_to_string(format!("/proc/{}/stat", long.id()))
                .unwrap()
                .contains(&format!("({name}) S "))
        };
        while !is_called("sleep") {
            std::thread::yield_now();
        }
        assert!(!WaitSamples::of(Some(long.id()), long.id()).waits_repeatedly());
        long.kill().unwrap();
        long.wait().unwrap();
    }
}
