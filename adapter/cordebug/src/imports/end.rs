//! How the debugging library learns of the program's end: it asks waitpid(2) of a child of ours, kill(2) with no signal of others.
//!
//! Of one that has ended and whose parent has not asked how, which some parents do late or never, the kernel says that it is there. The
//! library would wait for such a program for ever: its end would not be told, and a stop or a detach under way would not come back.
//!
//! Once it has learned of the end, the library takes apart what it knows of the program, and calls of it then crash now and then. So
//! no call is made any more from then on ([`is_told`]), and the library is held until those under way have come back
//! ([`let_calls_end`]).

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::waits;
use crate::activity::{self, Activity};
use crate::alive;

/// How long the library is held for calls under way, which take that long on a machine that has much to do.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same where nobody sees whether a call waits for the library itself.
const BLIND_PATIENCE: Duration = Duration::from_millis(200);
/// How often it looks.
const PAUSE: Duration = Duration::from_millis(1);

/// The process that is debugged, and the one whose end the library was told; 0 is none.
static DEBUGGED: AtomicU32 = AtomicU32::new(0);
static TOLD: AtomicU32 = AtomicU32::new(0);

/// The library is about to debug this process.
pub(crate) fn debugs(pid: u32) {
    TOLD.store(0, Ordering::SeqCst);
    DEBUGGED.store(pid, Ordering::SeqCst);
}

/// The library begins anew, and debugs no process yet.
pub(crate) fn debugs_nothing() {
    debugs(0);
}

/// Whether the library knows that the program has ended. Ask when the call counts as begun already: then either this says so, or the
/// library waits for the call.
pub(crate) fn is_told() -> bool {
    let told = TOLD.load(Ordering::SeqCst);
    told != 0 && told == DEBUGGED.load(Ordering::SeqCst)
}

/// The library learns that this process has ended. It asks while it holds what calls under way may need, so it is not held here,
/// but when it has waited; unless it waits without us.
fn tell(pid: u32) {
    if pid != DEBUGGED.load(Ordering::SeqCst) || TOLD.swap(pid, Ordering::SeqCst) == pid {
        return;
    }
    if !waits::are_ours() {
        hold(BLIND_PATIENCE);
    }
}

/// When the end is known: comes back when no call is under way any more, or only one that waits for the library. At once
/// on a thread that makes a call itself.
pub(super) fn let_calls_end() {
    if is_told() && !activity::calls_here() {
        hold(PATIENCE);
    }
}

fn hold(patience: Duration) {
    let deadline = Instant::now() + patience;
    while Activity::now().is_inside() && !waits::hold_a_call() && Instant::now() < deadline {
        std::thread::sleep(PAUSE);
    }
}

/// kill(2), for the data access library.
///
/// # Safety
/// As the system call's.
pub(super) unsafe extern "C" fn kill(pid: libc::pid_t, signal: i32) -> i32 {
    if let Ok(asked) = u32::try_from(pid)
        && signal == 0
        && asked > 0
        && alive::has_ended(asked)
    {
        tell(asked);
        // SAFETY: the calling thread's own error number.
        unsafe { *libc::__errno_location() = libc::ESRCH };
        return -1;
    }
    // SAFETY: the caller's own request.
    unsafe { libc::kill(pid, signal) }
}

/// waitpid(2), for the data access library.
///
/// # Safety
/// As the system call's.
pub(super) unsafe extern "C" fn waitpid(pid: libc::pid_t, status: *mut i32, options: i32) -> libc::pid_t {
    // SAFETY: the caller's own request.
    let found = unsafe { libc::waitpid(pid, status, options) };
    // SAFETY: the calling thread's own error number.
    let error = unsafe { *libc::__errno_location() };
    // Somebody else may have asked first.
    if let Ok(asked) = u32::try_from(pid)
        && (found == pid || (found < 0 && error == libc::ECHILD && alive::has_ended(asked)))
    {
        tell(asked);
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = error };
    }
    found
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;
    use crate::activity::Call;

    fn sleeper() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    /// Waits until it has ended; asks nothing.
    fn end(child: &mut Child) {
        child.kill().unwrap();
        // SAFETY: room for what is told; the child stays as it is.
        unsafe {
            let mut told = core::mem::zeroed();
            let how = libc::WEXITED | libc::WNOWAIT;
            assert_eq!(libc::waitid(libc::P_PID, child.id(), &raw mut told, how), 0);
        }
    }

    /// What the library is told of one that is no child.
    fn is_there(pid: u32) -> bool {
        // SAFETY: signal 0 is none.
        unsafe { kill(pid.cast_signed(), 0) == 0 }
    }

    #[test]
    fn the_end_is_told_though_nobody_asked_how_and_calls_under_way_come_back_first() {
        let mut other = sleeper();
        assert!(is_there(other.id()) && is_there(std::process::id()));
        end(&mut other);
        // SAFETY: signal 0 is none.
        assert_eq!(unsafe { libc::kill(other.id().cast_signed(), 0) }, 0, "the kernel says that it is there");
        assert!(!is_there(other.id()));
        assert!(!is_told(), "it was not debugged");
        other.wait().unwrap();
        assert!(!is_there(other.id()));

        let mut debugged = sleeper();
        debugs(debugged.id());
        let pid = debugged.id().cast_signed();
        // SAFETY: no status is wanted.
        assert_eq!(unsafe { waitpid(pid, core::ptr::null_mut(), libc::WNOHANG) }, 0);
        assert!(!is_told());
        end(&mut debugged);
        // SAFETY: no status is wanted.
        assert_eq!(unsafe { waitpid(pid, core::ptr::null_mut(), libc::WNOHANG) }, pid);
        assert!(is_told());
        let call = Call::begin(&"ICorDebug::Initialize");
        let_calls_end();
        let (begun, has_begun) = std::sync::mpsc::channel();
        let held = std::thread::spawn(move || {
            begun.send(()).unwrap();
            let_calls_end();
            Activity::now().is_inside()
        });
        has_begun.recv().unwrap();
        std::thread::sleep(20 * PAUSE);
        drop(call);
        assert!(!held.join().unwrap(), "it comes back when the call has");
        debugs(1);
        assert!(!is_told(), "the next program is another");
    }
}
