//! Whether a call may be aborted.
//!
//! The runtime of .NET Core ends the whole program when a wait of the thread runs out just while the thread is being aborted. A
//! thread that waits again and again is not aborted there; one that waits long, or computes, is.

use std::time::{Duration, Instant};

/// How far back waits count.
const LONG_AGO: Duration = Duration::from_secs(2);
/// How long the next wait is waited for at most where there is no past to look at, and between two looks.
const PATIENCE: Duration = Duration::from_millis(500);
const LOOK: Duration = Duration::from_millis(5);

/// The waits of a thread, from the beginning of a call on.
pub(super) struct Waits {
    pid: Option<u32>,
    thread: u32,
    /// When it was looked at, and how often it had begun to wait then: the last look before `LONG_AGO`, and those since.
    looks: Vec<(Instant, Option<u64>)>,
}

impl Waits {
    pub(super) fn of(pid: Option<u32>, thread: u32) -> Self {
        let mut waits = Self { pid, thread, looks: Vec::new() };
        waits.look();
        waits
    }

    /// Looks at the thread, so that there is a past to compare with.
    pub(super) fn look(&mut self) {
        let now = Instant::now();
        self.looks.push((now, self.begun()));
        let old = self.looks.iter().take_while(|(at, _)| now.duration_since(*at) >= LONG_AGO).count();
        self.looks.drain(..old.saturating_sub(1));
    }

    /// Whether it has begun to wait more than once of late; looks on for a moment when there was no time for that yet.
    ///
    /// A call that has just begun waits for locks of the runtime too, until its code is made; on a busy machine several times.
    /// So one that is not `LONG_AGO` old waits again and again only when it does not stop doing so.
    pub(super) fn again_and_again(&self) -> bool {
        let Some((first, Some(before))) = self.looks.first().copied() else { return false };
        let mut again = self.begins_more_than_one(before, first + LONG_AGO.min(first.elapsed() + PATIENCE));
        while again && first.elapsed() < LONG_AGO {
            let Some(before) = self.begun() else { return false };
            let until = (first + LONG_AGO).max(Instant::now() + PATIENCE);
            again = self.begins_more_than_one(before, until);
        }
        again
    }

    /// Whether it begins a second wait by then. The first is the wait it is in now.
    fn begins_more_than_one(&self, before: u64, until: Instant) -> bool {
        loop {
            if self.begun().is_some_and(|now| now > before + 1) {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// How often the thread has begun to wait (proc(5): `voluntary_ctxt_switches`); none when it has ended.
    fn begun(&self) -> Option<u64> {
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
        let (tell, told) = std::sync::mpsc::channel();
        let waiter = std::thread::spawn(move || {
            // proc(5): `/proc/thread-self` names the thread that asks, as `PID/task/TID`.
            let link = std::fs::read_link("/proc/thread-self").unwrap();
            tell.send(link.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()).unwrap()).unwrap();
            loop {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        assert!(Waits::of(Some(own), told.recv().unwrap()).again_and_again());
        assert!(!waiter.is_finished());
        assert!(!Waits::of(Some(own), 1).again_and_again());
        assert!(!Waits::of(None, own).again_and_again());
        let mut long = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let is_called = |name: &str| {
            std::fs::read_to_string(format!("/proc/{}/stat", long.id()))
                .unwrap()
                .contains(&format!("({name}) S "))
        };
        while !is_called("sleep") {
            std::thread::yield_now();
        }
        assert!(!Waits::of(Some(long.id()), long.id()).again_and_again());
        long.kill().unwrap();
        long.wait().unwrap();
    }
}
