//! Records how child processes ended, even if another caller has taken their status.
//!
//! The debugging library's platform layer calls `waitpid` on its debuggee every few milliseconds; the second
//! caller gets nothing. [`crate::imports`] makes it leave the status, unless a library lacks that import. For
//! such a library a handler of SIGCHLD records the status. The kernel keeps one pending SIGCHLD, so of two
//! children that end together one may be missing. Not for waiting: a thread in `waitid` is quicker, and uses
//! this if it was too late.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The way in which a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildExit {
    /// The process exited with this code.
    Exited(i32),
    /// This signal killed the process.
    Killed(i32),
}

/// Maximum number of recorded exits; a session has a handful of children.
const MAX_EXITS: usize = 64;
/// One exit each: process id, kind, and the code or signal; 0 is an empty slot.
static RECORDED: [AtomicU64; MAX_EXITS] = [const { AtomicU64::new(0) }; MAX_EXITS];
static NEXT: AtomicUsize = AtomicUsize::new(0);
static WATCH: Once = Once::new();

/// Begins to record how children end. Call it before starting a child whose end matters.
/// Later calls do nothing.
pub fn watch() {
    WATCH.call_once(|| {
        // SAFETY: the handler does nothing but atomic stores and loads, which a signal may interrupt
        // anywhere.
        let registered = unsafe { signal_hook_registry::register_sigaction(libc::SIGCHLD, record) };
        // Without the handler only the fallback is missing.
        drop(registered);
    });
}

fn record(info: &libc::siginfo_t) {
    // SAFETY: the kernel fills these fields for SIGCHLD; from another sender they are numbers of no child.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    let killed = match info.si_code {
        libc::CLD_EXITED => false,
        libc::CLD_KILLED | libc::CLD_DUMPED => true,
        _ => return,
    };
    let entry = (pid as u32 as u64) << 32 | u64::from(killed) << 16 | (status as u16 as u64);
    let at = NEXT.fetch_add(1, Ordering::Relaxed) % MAX_EXITS;
    if let Some(slot) = RECORDED.get(at) {
        slot.store(entry, Ordering::Release);
    }
}

/// How the child with this id ended, if that was recorded. Waits at most `limit` for a pending signal.
pub fn await_exit(pid: u32, limit: Duration) -> Option<ChildExit> {
    let deadline = Instant::now() + limit;
    loop {
        let next = NEXT.load(Ordering::Acquire);
        // The newest first, because the kernel reuses ids.
        let found = (1..=MAX_EXITS)
            .filter_map(|back| RECORDED.get(next.wrapping_sub(back) % MAX_EXITS))
            .map(|slot| slot.load(Ordering::Acquire))
            .find(|entry| *entry != 0 && entry >> 32 == u64::from(pid));
        if let Some(entry) = found {
            let status = (entry & 0xffff) as i32;
            return Some(if entry >> 16 & 1 == 1 {
                ChildExit::Killed(status)
            } else {
                ChildExit::Exited(status)
            });
        }
        if Instant::now() > deadline {
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn exit_is_known_though_another_process_took_its_status() {
        watch();
        for (script, expected) in [
            ("exit 7", ChildExit::Exited(7)),
            ("exit 0", ChildExit::Exited(0)),
            ("kill -9 $$", ChildExit::Killed(9)),
        ] {
            let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
            // Takes the status, as the debugging library does.
            child.wait().unwrap();
            assert_eq!(await_exit(child.id(), Duration::from_secs(5)), Some(expected), "{script}");
        }
        assert_eq!(await_exit(1, Duration::ZERO), None);
    }
}
