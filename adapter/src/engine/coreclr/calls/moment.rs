//! The moment at which a call is aborted.
//!
//! The runtime of .NET Core 3.1 ends the whole program when a wait of the thread runs out just while the thread is being
//! aborted. So a thread that waits again and again is caught when it has just begun to wait; one that waits long, or
//! computes, is caught where it is.

use std::time::{Duration, Instant};

/// How long the beginning of a wait is waited for.
const PATIENCE: Duration = Duration::from_millis(60);
/// Between two looks.
const LOOK: Duration = Duration::from_micros(200);

/// Returns when the thread has just begun to wait, or does not for a while; at once when it cannot be looked at.
pub(super) fn of_a_new_wait(pid: Option<u32>, thread: u32) {
    let Some(pid) = pid else { return };
    let until = Instant::now() + PATIENCE;
    let first = waits(pid, thread);
    while first.is_some() && waits(pid, thread) == first && Instant::now() < until {
        std::thread::sleep(LOOK);
    }
}

/// How often a thread has begun to wait (proc(5): `voluntary_ctxt_switches`); none when it has ended.
fn waits(pid: u32, thread: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/status")).ok()?;
    let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    count.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_counted_and_who_is_gone_is_not() {
        let own = std::process::id();
        // proc(5): `/proc/thread-self` names the thread that asks, as `PID/task/TID`.
        let link = std::fs::read_link("/proc/thread-self").unwrap();
        let thread = link.file_name().and_then(|name| name.to_str()?.parse().ok()).unwrap();
        let before = waits(own, thread).unwrap();
        std::thread::sleep(Duration::from_millis(1));
        assert!(waits(own, thread).unwrap() > before);
        assert_eq!(waits(own, 1), None);
        of_a_new_wait(Some(own), 1);
        of_a_new_wait(None, thread);
    }
}
