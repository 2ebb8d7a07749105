//! The hold on a starting runtime: two named semaphores that it looks for before it runs any managed code.
//!
//! Their names contain the process id and its start time, which survive `exec`. So they are created while the
//! process waits to become the program. The runtime posts one when its debugger transport is up and waits on
//! the other.
//!
//! A runtime that was held behaves from then on as if a debugger were attached. A debugger must attach before
//! it releases the runtime, or the runtime waits forever at its first event. Not here: attaching
//! ([`crate::debugger`]).

use std::ffi::CString;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{REST_TIMEOUT, start_time, temporary_folder, thread_states};

/// Time between two checks during a wait whether the process is still alive.
const LIVENESS_INTERVAL: Duration = Duration::from_millis(20);

/// Nice value of a thread if the user may not set a real-time priority.
const NICE: i32 = -10;

/// How a wait for the runtime ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldResult {
    /// The runtime is up and held.
    Held,
    /// The process ended, or the caller gave up.
    GivenUp,
    /// The deadline passed before the runtime was up.
    TimedOut,
}

/// The two semaphores. Dropping this removes them. It also releases the runtime, unless the
/// hold was only prepared.
#[derive(Debug)]
pub struct StartupHold {
    pid: u32,
    /// `None` if it had been withdrawn before this process opened it.
    started: Option<Semaphore>,
    release: Semaphore,
    releases: bool,
}

impl StartupHold {
    /// Creates both semaphores for a process that has not become the program yet.
    ///
    /// # Errors
    /// When the process has ended, or from `sem_open`.
    pub fn create(pid: u32) -> std::io::Result<Self> {
        Self::make(pid, true)
    }

    /// Creates both semaphores for a process to which another Tandem process will attach. That process calls
    /// [`StartupHold::join`]. This hold does not release the runtime when it is dropped.
    ///
    /// # Errors
    /// As for [`StartupHold::create`]; also when another debugger already holds the process.
    pub fn prepare(pid: u32) -> std::io::Result<Self> {
        Self::make(pid, false)
    }

    fn make(pid: u32, releases: bool) -> std::io::Result<Self> {
        let [release, started] = names(pid)?;
        temporary_folder::remember(pid);
        // The runtime opens this one second. When it finds the other, this one must exist.
        let release = Semaphore::create(&release)?;
        let started = Some(Semaphore::create(&started)?);
        Ok(Self { pid, started, release, releases })
    }

    /// Opens the semaphores that another process has created, to release the runtime.
    ///
    /// # Errors
    /// When the process has ended, or is not held.
    pub fn join(pid: u32) -> std::io::Result<Self> {
        let [release, started] = names(pid)?;
        temporary_folder::remember(pid);
        let release = Semaphore::open_existing(&release)?;
        Ok(Self { pid, started: Semaphore::open_existing(&started).ok(), release, releases: true })
    }

    /// Waits until the runtime is up and at rest, at most `limit`, and only while
    /// `keep_waiting` returns true.
    pub fn wait(&self, limit: Duration, keep_waiting: &dyn Fn() -> bool) -> HoldResult {
        let deadline = Instant::now() + limit;
        loop {
            if self.started.as_ref().is_some_and(|started| started.wait(LIVENESS_INTERVAL)) {
                self.wait_for_rest();
                return HoldResult::Held;
            }
            if !keep_waiting() {
                return HoldResult::GivenUp;
            }
            if Instant::now() > deadline {
                return HoldResult::TimedOut;
            }
        }
    }

    /// Waits until a held runtime is at rest, at most half a second.
    ///
    /// Its helper thread has just been created. It records in the runtime's control block that it is ready. A
    /// debugging library that attaches reads that block and writes all of it back. If the thread writes in
    /// between, its record is lost. The runtime then does the helper's work while the helper does it too, and
    /// soon each waits for the other forever.
    pub fn wait_for_rest(&self) {
        thread_states::wait_until_asleep(self.pid, None, REST_TIMEOUT);
    }

    /// Whether the runtime is up and held. Does not wait; costs no system call.
    pub fn has_started(&self) -> bool {
        self.started.as_ref().is_some_and(|started| started.value() > 0)
    }

    /// Removes the name of one semaphore, so that no runtime finds both from now on. A runtime that has just
    /// found them may still be held; it is released like any other.
    pub fn withdraw(&self) {
        if let Some(started) = &self.started {
            started.unlink();
        }
    }

    /// Leaves both semaphores in place, for the debugger that joins the hold.
    pub fn abandon(self) {
        std::mem::forget(self);
    }

    /// Whether a debugger can still join the hold on this process. The debugger that releases the
    /// runtime removes the names.
    pub fn is_open(pid: u32) -> bool {
        let exists = |name: &String| Path::new("/dev/shm").join(format!("sem.{name}")).exists();
        names(pid).is_ok_and(|[release, _]| exists(&release))
    }

    /// Whether a runtime in this process waits to be released, or is about to wait. It has the semaphores
    /// open during this time (proc(5), `/proc/PID/maps`).
    pub fn is_waited_on(pid: u32) -> bool {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        maps.lines().any(|line| line.contains("/sem.clrco") || line.contains("/sem.clrst"))
    }
}

impl Drop for StartupHold {
    fn drop(&mut self) {
        // A held runtime that is not released would hang forever.
        if self.releases {
            self.release.post();
        }
    }
}

/// Raises the priority of the calling thread, if the user may do that (sched(7)): a thread that holds
/// runtimes has to be on time. Processes that the thread starts are not affected.
pub fn raise_thread_priority() {
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: both calls concern this thread alone, and the structure is a local. Refused, they change
    // nothing.
    unsafe {
        if libc::sched_setscheduler(0, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, &raw const priority) != 0 {
            libc::setpriority(libc::PRIO_PROCESS, 0, NICE);
        }
    }
}

/// The names of the two semaphores. The runtime waits on the first.
fn names(pid: u32) -> std::io::Result<[String; 2]> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let key =
        start_time(&stat).ok_or_else(|| std::io::Error::other(format!("no start time of process {pid}")))?;
    Ok(["clrco", "clrst"].map(|kind| format!("{kind}{pid:08x}{key:016x}")))
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
        Self::open(name, libc::O_CREAT | libc::O_EXCL)
    }

    fn open_existing(name: &str) -> std::io::Result<Self> {
        Self::open(name, 0)
    }

    fn open(name: &str, flags: i32) -> std::io::Result<Self> {
        let name = CString::new(format!("/{name}")).map_err(std::io::Error::other)?;
        // SAFETY: the name ends with a zero; mode and value are what `sem_open` takes with O_CREAT.
        let pointer = unsafe { libc::sem_open(name.as_ptr(), flags, 0o700 as libc::mode_t, 0u32) };
        if pointer == libc::SEM_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        Ok(Self { pointer, name })
    }

    fn wait(&self, limit: Duration) -> bool {
        let mut until = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the semaphore is open until drop, and the time is a local.
        unsafe {
            libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut until);
            until.tv_nsec += i64::from(limit.subsec_nanos());
            until.tv_sec += until.tv_nsec / 1_000_000_000;
            until.tv_nsec %= 1_000_000_000;
            libc::sem_timedwait(self.pointer, &raw const until) == 0
        }
    }

    fn value(&self) -> i32 {
        let mut value = 0;
        // SAFETY: the semaphore is open until drop, and the number is a local.
        unsafe { libc::sem_getvalue(self.pointer, &raw mut value) };
        value
    }

    fn post(&self) {
        // SAFETY: the semaphore is open until drop.
        unsafe { libc::sem_post(self.pointer) };
    }

    fn unlink(&self) {
        // SAFETY: the name ends with a zero. It may have been removed already.
        unsafe { libc::sem_unlink(self.name.as_ptr()) };
    }
}

impl Drop for Semaphore {
    fn drop(&mut self) {
        self.unlink();
        // SAFETY: this is the only call that closes it.
        unsafe { libc::sem_close(self.pointer) };
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
        assert_eq!(hold.wait(Duration::from_secs(5), &|| false), HoldResult::GivenUp);
        assert_eq!(hold.wait(Duration::ZERO, &|| true), HoldResult::TimedOut);
        hold.started.as_ref().unwrap().post();
        assert!(hold.has_started());
        assert_eq!(hold.wait(Duration::from_secs(5), &|| true), HoldResult::Held);
        drop(hold);
        assert_eq!(left_of(pid), 0);
    }

    #[test]
    fn a_prepared_hold_is_released_by_the_client_that_joined_it() {
        let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = other.id();
        assert!(StartupHold::join(pid).is_err() && !StartupHold::is_open(pid));
        let prepared = StartupHold::prepare(pid).unwrap();
        assert!(StartupHold::prepare(pid).is_err(), "it is held already");
        assert!(StartupHold::is_open(pid) && !prepared.has_started());
        let joined = StartupHold::join(pid).unwrap();
        joined.started.as_ref().unwrap().post();
        assert!(prepared.has_started());
        drop(joined);
        assert!(!StartupHold::is_open(pid));
        assert_eq!(prepared.release.value(), 1, "it was released");
        drop(prepared);

        let withdrawn = StartupHold::prepare(pid).unwrap();
        let runtimes = StartupHold::join(pid).unwrap();
        withdrawn.withdraw();
        assert!(StartupHold::is_open(pid) && !StartupHold::is_waited_on(pid));
        // It had found them before.
        runtimes.started.as_ref().unwrap().post();
        assert!(withdrawn.has_started());
        drop(withdrawn);
        assert!(!StartupHold::is_open(pid));
        assert_eq!(runtimes.release.value(), 0, "it was not released");
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
