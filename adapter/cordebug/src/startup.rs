//! Holding a runtime before it runs any managed code: two named semaphores that a starting runtime looks for.
//!
//! Their names carry the process id and its start time, which survive `exec`; so they are made while the process waits
//! to become the program. The runtime posts one when its debugger transport is up and waits on the other.

use std::ffi::CString;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

/// How long a wait sleeps before it looks whether the process still lives.
const SLICE: Duration = Duration::from_millis(20);

/// How a wait for the runtime ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Started {
    /// The runtime is up and held.
    Held,
    /// The process ended, or the caller gave up.
    GivenUp,
    /// The deadline passed.
    TimedOut,
}

/// The two semaphores. Dropping it lets the runtime go and removes them, whatever happened.
#[derive(Debug)]
pub struct StartupHold {
    started: Semaphore,
    go_on: Semaphore,
}

impl StartupHold {
    /// Makes both for a process that has not become the program yet.
    ///
    /// # Errors
    /// When the process is gone, or from `sem_open`.
    pub fn create(pid: u32) -> std::io::Result<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let key = start_time(&stat)
            .ok_or_else(|| std::io::Error::other(format!("no start time of process {pid}")))?;
        // The runtime opens this one second: when it finds the other, this must be there.
        let go_on = Semaphore::create(&format!("/clrco{pid:08x}{key:016x}"))?;
        let started = Semaphore::create(&format!("/clrst{pid:08x}{key:016x}"))?;
        Ok(Self { started, go_on })
    }

    /// Waits until the runtime is up, at most `limit`, and only while `keep_waiting` says so.
    pub fn wait(&self, limit: Duration, keep_waiting: &dyn Fn() -> bool) -> Started {
        let deadline = Instant::now() + limit;
        loop {
            if self.started.wait(SLICE) {
                return Started::Held;
            }
            if !keep_waiting() {
                return Started::GivenUp;
            }
            if Instant::now() > deadline {
                return Started::TimedOut;
            }
        }
    }
}

impl Drop for StartupHold {
    fn drop(&mut self) {
        // A held runtime that nobody lets go would hang for ever.
        self.go_on.post();
    }
}

/// proc(5): field 22 of `stat`, clock ticks; counted behind the program's name, which may hold anything.
fn start_time(stat: &str) -> Option<u64> {
    stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace().nth(19)?.parse().ok()
}

#[derive(Debug)]
struct Semaphore {
    pointer: *mut libc::sem_t,
    name: CString,
}

// SAFETY: POSIX semaphores are made to be used from any thread.
unsafe impl Send for Semaphore {}
// SAFETY: as above.
unsafe impl Sync for Semaphore {}

impl Semaphore {
    fn create(name: &str) -> std::io::Result<Self> {
        let name = CString::new(name).map_err(std::io::Error::other)?;
        // SAFETY: the name ends with a zero; mode and value are what `sem_open` takes with O_CREAT.
        let pointer = unsafe {
            libc::sem_open(name.as_ptr(), libc::O_CREAT | libc::O_EXCL, 0o700 as libc::mode_t, 0u32)
        };
        if pointer == libc::SEM_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        Ok(Self { pointer, name })
    }

    fn wait(&self, limit: Duration) -> bool {
        let mut until = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the semaphore is open until drop, and the time is ours.
        unsafe {
            libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut until);
            until.tv_nsec += i64::from(limit.subsec_nanos());
            until.tv_sec += until.tv_nsec / 1_000_000_000;
            until.tv_nsec %= 1_000_000_000;
            libc::sem_timedwait(self.pointer, &raw const until) == 0
        }
    }

    fn post(&self) {
        // SAFETY: the semaphore is open until drop.
        unsafe { libc::sem_post(self.pointer) };
    }
}

impl Drop for Semaphore {
    fn drop(&mut self) {
        // SAFETY: closed once, here; the name is ours.
        unsafe {
            libc::sem_close(self.pointer);
            libc::sem_unlink(self.name.as_ptr());
        }
    }
}

/// Removes semaphores that crashed debuggers of this user left for processes that are gone.
pub fn sweep_stale() {
    let Ok(files) = std::fs::read_dir("/dev/shm") else { return };
    // SAFETY: only asks who we are.
    let user = unsafe { libc::getuid() };
    for file in files.flatten() {
        let name = file.file_name();
        let Some(rest) = name
            .to_str()
            .and_then(|name| name.strip_prefix("sem.clrco").or_else(|| name.strip_prefix("sem.clrst")))
        else {
            continue;
        };
        let pid = rest.get(..8).and_then(|hex| u32::from_str_radix(hex, 16).ok());
        let ours = file.metadata().is_ok_and(|found| found.uid() == user);
        if let Some(pid) = pid
            && ours
            && !std::path::Path::new(&format!("/proc/{pid}")).exists()
        {
            // Somebody else may have been quicker.
            drop(std::fs::remove_file(file.path()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_of(pid: u32) -> usize {
        let part = format!("{pid:08x}");
        let files = std::fs::read_dir("/dev/shm").unwrap().flatten();
        files
            .filter(|file| {
                file.file_name().to_string_lossy().contains("clr")
                    && file.file_name().to_string_lossy().contains(&part)
            })
            .count()
    }

    #[test]
    fn a_hold_sees_the_runtime_and_leaves_nothing_behind() {
        let pid = std::process::id();
        let hold = StartupHold::create(pid).unwrap();
        assert_eq!(left_of(pid), 2);
        assert_eq!(hold.wait(Duration::from_secs(5), &|| false), Started::GivenUp);
        assert_eq!(hold.wait(Duration::ZERO, &|| true), Started::TimedOut);
        hold.started.post();
        assert_eq!(hold.wait(Duration::from_secs(5), &|| true), Started::Held);
        drop(hold);
        assert_eq!(left_of(pid), 0);
    }

    #[test]
    fn the_start_time_is_found_behind_any_name() {
        let stat = "12 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20";
        assert_eq!(start_time(stat), Some(777));
        assert_eq!(start_time("nonsense"), None);
    }
}
