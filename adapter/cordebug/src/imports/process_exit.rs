//! The calls by which the debugging library learns that the program has ended: waitpid(2) for a child process
//! of ours, and kill(2) without a signal for other processes.
//!
//! The kernel reports a process as present when it has ended and its parent has not reaped it, which some
//! parents do late or never. The library would wait forever for such a program: its end would not be
//! reported, and a pending stop or detach would not return.
//!
//! Once it knows the end, the library frees its data about the program, and calls may crash. So no call is
//! made from then on ([`knows_end`]), and the library is held until those under way have returned
//! ([`await_calls`]).

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::activity::{self, Activity};
use crate::liveness;

/// How long the library is held for calls under way, which take that long on a busy machine.
const CALL_END_TIMEOUT: Duration = Duration::from_secs(5);
/// The same if it is unknown whether a call waits for the library itself.
const BLIND_CALL_END_TIMEOUT: Duration = Duration::from_millis(200);
/// Time between two checks for calls under way.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The debugged process, and the one whose end was reported to the library; 0 means none.
static DEBUGGED: AtomicU32 = AtomicU32::new(0);
static REPORTED: AtomicU32 = AtomicU32::new(0);

/// Whether the library waits through our functions, which show if a call waits for the library.
static WAITS_SEEN: AtomicBool = AtomicBool::new(false);
/// Number of our calls that wait for another thread of the library.
static BLOCKED: AtomicUsize = AtomicUsize::new(0);

/// Records the process that the library is about to debug.
pub(crate) fn set_debugged(pid: u32) {
    REPORTED.store(0, Ordering::SeqCst);
    DEBUGGED.store(pid, Ordering::SeqCst);
}

/// Records that the library starts again and debugs no process yet.
pub(crate) fn clear_debugged() {
    set_debugged(0);
}

/// Whether the debugged process has ended. The library may not know it yet.
pub(super) fn has_debugged_ended() -> bool {
    let pid = DEBUGGED.load(Ordering::SeqCst);
    pid != 0 && liveness::has_ended(pid)
}

/// Whether the library knows that the program has ended. Ask after the call is counted as begun: then either
/// this returns true, or the library waits for the call.
pub(crate) fn knows_end() -> bool {
    let reported = REPORTED.load(Ordering::SeqCst);
    reported != 0 && reported == DEBUGGED.load(Ordering::SeqCst)
}

/// Records that the library learns the end of this process now. At this moment it may hold locks that
/// calls under way need. So it is held later, after its wait; only if its waits do not go through our
/// functions, it is held here.
fn report_end(pid: u32) {
    if pid != DEBUGGED.load(Ordering::SeqCst) || REPORTED.swap(pid, Ordering::SeqCst) == pid {
        return;
    }
    if !are_waits_seen() {
        hold_library(BLIND_CALL_END_TIMEOUT);
    }
}

/// If the library knows the end, waits until no call is under way, or only one that waits for the library.
/// Returns immediately on a thread that makes a call itself.
pub(super) fn await_calls() {
    if knows_end() && !activity::is_inside_call() {
        hold_library(CALL_END_TIMEOUT);
    }
}

fn hold_library(patience: Duration) {
    let deadline = Instant::now() + patience;
    while Activity::now().is_inside() && !is_call_blocked() && Instant::now() < deadline {
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Records that the library waits through our functions from now on.
pub(super) fn set_waits_seen() {
    WAITS_SEEN.store(true, Ordering::SeqCst);
}

/// Whether the library waits through our functions.
pub(super) fn are_waits_seen() -> bool {
    WAITS_SEEN.load(Ordering::SeqCst)
}

/// Whether one of our calls waits for another thread of the library.
pub(super) fn is_call_blocked() -> bool {
    BLOCKED.load(Ordering::SeqCst) > 0
}

/// A call of ours that waits for the library while this exists.
pub(super) struct BlockedCall(());

impl BlockedCall {
    /// Counts a call that waits; `None` on a thread of the library.
    pub(super) fn begin() -> Option<Self> {
        activity::is_inside_call().then(|| {
            BLOCKED.fetch_add(1, Ordering::SeqCst);
            Self(())
        })
    }
}

impl Drop for BlockedCall {
    fn drop(&mut self) {
        BLOCKED.fetch_sub(1, Ordering::SeqCst);
    }
}

/// kill(2), for the data access library.
///
/// # Safety
/// The same as for the system call.
pub(super) unsafe extern "C" fn kill(pid: libc::pid_t, signal: i32) -> i32 {
    if let Ok(process) = u32::try_from(pid)
        && signal == 0
        && process > 0
        && liveness::has_ended(process)
    {
        report_end(process);
        // SAFETY: the calling thread's own error number.
        unsafe { *libc::__errno_location() = libc::ESRCH };
        return -1;
    }
    // SAFETY: the caller's own request.
    unsafe { libc::kill(pid, signal) }
}

/// waitpid(2), for the data access library. It leaves the exit status to the thread that started the process:
/// only the first caller that reaps a child learns how it ended.
///
/// # Safety
/// The same as for the system call.
pub(super) unsafe extern "C" fn waitpid(pid: libc::pid_t, status: *mut i32, options: i32) -> libc::pid_t {
    let peeks = pid > 0 && options & !libc::WNOHANG == 0;
    // SAFETY: the caller's own request.
    let found = unsafe {
        if peeks { peek(pid.cast_unsigned(), status, options) } else { libc::waitpid(pid, status, options) }
    };
    // SAFETY: the calling thread's own error number.
    let error = unsafe { *libc::__errno_location() };
    // Another waiter may have reaped it first.
    if let Ok(process) = u32::try_from(pid)
        && (found == pid || (found < 0 && error == libc::ECHILD && liveness::has_ended(process)))
    {
        report_end(process);
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = error };
    }
    found
}

/// waitpid(2) for one process, which stays a zombie.
///
/// # Safety
/// `status` must be null or have room for a status.
unsafe fn peek(process: u32, status: *mut i32, options: i32) -> libc::pid_t {
    // SAFETY: a structure of numbers, which waitid(2) leaves as it is when no process has ended.
    let (failed, info) = unsafe {
        let mut info: libc::siginfo_t = core::mem::zeroed();
        let how = libc::WEXITED | libc::WNOWAIT | options;
        (libc::waitid(libc::P_PID, process, &raw mut info, how) < 0, info)
    };
    if failed {
        return -1;
    }
    // SAFETY: waitid(2) sets these two, or leaves them 0.
    let (found, value) = unsafe { (info.si_pid(), info.si_status()) };
    if found > 0 && !status.is_null() {
        // As WIFEXITED, WTERMSIG and WCOREDUMP of <sys/wait.h> read it.
        let encoded = match info.si_code {
            libc::CLD_EXITED => (value & 0xff) << 8,
            libc::CLD_DUMPED => value | 0x80,
            _ => value,
        };
        // SAFETY: the caller's promise.
        unsafe { *status = encoded };
    }
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command};

    use super::*;
    use crate::activity::LibraryCall;

    fn sleeper() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    /// Kills the child and waits until it has ended, without reaping it.
    fn end(child: &mut Child) {
        child.kill().unwrap();
        // SAFETY: the result has room; the child is not reaped.
        unsafe {
            let mut status = core::mem::zeroed();
            let how = libc::WEXITED | libc::WNOWAIT;
            assert_eq!(libc::waitid(libc::P_PID, child.id(), &raw mut status, how), 0);
        }
    }

    /// Whether the library sees that a process exists that is not a child.
    fn is_there(pid: u32) -> bool {
        // SAFETY: signal 0 only checks the process.
        unsafe { kill(pid.cast_signed(), 0) == 0 }
    }

    #[test]
    fn the_end_is_reported_without_a_wait_and_calls_under_way_return_first() {
        let mut other = sleeper();
        assert!(is_there(other.id()) && is_there(std::process::id()));
        end(&mut other);
        // SAFETY: signal 0 only checks the process.
        assert_eq!(unsafe { libc::kill(other.id().cast_signed(), 0) }, 0, "the kernel says that it is there");
        assert!(!is_there(other.id()));
        assert!(!knows_end(), "it was not debugged");
        other.wait().unwrap();
        assert!(!is_there(other.id()));

        let mut debugged = sleeper();
        set_debugged(debugged.id());
        let pid = debugged.id().cast_signed();
        // SAFETY: no status is wanted.
        assert_eq!(unsafe { waitpid(pid, core::ptr::null_mut(), libc::WNOHANG) }, 0);
        assert!(!knows_end());
        end(&mut debugged);
        let mut status = 0;
        // SAFETY: the status has room.
        assert_eq!(unsafe { waitpid(pid, &raw mut status, libc::WNOHANG) }, pid);
        assert_eq!(status, libc::SIGKILL);
        assert!(knows_end());
        let call = LibraryCall::begin(&"ICorDebug::Initialize");
        await_calls();
        let (begun, has_begun) = std::sync::mpsc::channel();
        let held = std::thread::spawn(move || {
            begun.send(()).unwrap();
            await_calls();
            Activity::now().is_inside()
        });
        has_begun.recv().unwrap();
        std::thread::sleep(20 * POLL_INTERVAL);
        drop(call);
        assert!(!held.join().unwrap(), "it comes back when the call has");
        assert_eq!(debugged.wait().unwrap().signal(), Some(libc::SIGKILL), "the library took the status");
        set_debugged(1);
        assert!(!knows_end(), "the next program is another");
    }

    #[test]
    fn an_exit_code_reaches_the_library_and_the_thread_that_started_the_process() {
        for (script, expected, encoded) in [("exit 7", Some(7), 7 << 8), ("kill -9 $$", None, libc::SIGKILL)]
        {
            let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
            let pid = child.id().cast_signed();
            for _ in 0..2 {
                let mut status = -1;
                // SAFETY: the status has room.
                assert_eq!(unsafe { waitpid(pid, &raw mut status, 0) }, pid);
                assert_eq!(status, encoded, "{script}");
            }
            assert_eq!(child.wait().unwrap().code(), expected, "{script}");
            // SAFETY: no status is wanted.
            assert_eq!(unsafe { waitpid(pid, core::ptr::null_mut(), 0) }, -1);
        }
    }
}
