//! How long the debugging library waits in one go: for ever in pieces.
//!
//! Its platform layer asks whether a process has ended only when a wait for it begins. The library's thread that listens to the program,
//! and would learn of the end, waits for ever when it has asked the program for something: killed meanwhile, the program
//! never answers, and the end is never noticed. A call that needs what that thread holds never comes back then.
//!
//! Not for shorter waits, and not for what is waited for: pieces in a row are one wait.

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering};

use libloading::os::unix::Library;

/// What the data access library offers, and the debugging library calls.
pub(super) const NAME: &str = "DAC_WaitForMultipleObjectsEx";
/// Windows API: no limit; what comes back when a wait was too short.
const INFINITE: u32 = u32::MAX;
const WAIT_TIMEOUT: u32 = 0x102;
/// A piece of a wait without a limit, in ms.
const PIECE: u32 = 50;
/// More runtimes than this are never debugged by one process.
const MOST: usize = 4;

/// Windows API: `WaitForMultipleObjectsEx`, with a count, that many handles, whether for all, a limit in ms, and whether alertable.
type Wait = unsafe extern "C" fn(u32, *const *mut c_void, i32, u32, i32) -> u32;

/// The functions of the libraries that were met.
static FOUND: [AtomicPtr<c_void>; MOST] = [const { AtomicPtr::new(core::ptr::null_mut()) }; MOST];
/// For each of them one of ours.
const OURS: [Wait; MOST] = [wait::<0>, wait::<1>, wait::<2>, wait::<3>];

/// What stands for the function in this data access library. `None` when it has none, or there were too many.
pub(super) fn standing_for(data_access: &Library) -> Option<*const c_void> {
    // SAFETY: only its address is asked.
    let symbol = unsafe { data_access.get::<*mut c_void>(NAME.as_bytes()) }.ok()?;
    ours_for(symbol.into_raw())
}

fn ours_for(theirs: *mut c_void) -> Option<*const c_void> {
    let is_free = |slot: &AtomicPtr<c_void>| {
        let free = core::ptr::null_mut();
        let before = slot.compare_exchange(free, theirs, Ordering::SeqCst, Ordering::SeqCst);
        before.map_or_else(|found| found == theirs, |_| true)
    };
    let at = FOUND.iter().position(is_free)?;
    OURS.get(at).map(|ours| *ours as *const c_void)
}

/// # Safety
/// As `WaitForMultipleObjectsEx`; only called where it stands for what was found.
unsafe extern "C" fn wait<const AT: usize>(
    count: u32,
    handles: *const *mut c_void,
    all: i32,
    limit: u32,
    alertable: i32,
) -> u32 {
    let found = const { &FOUND[AT] }.load(Ordering::SeqCst);
    // SAFETY: the function of this name in a library that stays loaded.
    let theirs = unsafe { core::mem::transmute::<*mut c_void, Wait>(found) };
    let piece = if limit == INFINITE { PIECE } else { limit };
    loop {
        // SAFETY: the caller's own arguments, but for the limit.
        let outcome = unsafe { theirs(count, handles, all, piece, alertable) };
        if outcome != WAIT_TIMEOUT || limit != INFINITE {
            return outcome;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static LIMITS: std::sync::Mutex<Vec<u32>> = std::sync::Mutex::new(Vec::new());

    /// Signalled, by its second handle, when it was waited for the third time.
    unsafe extern "C" fn third(_: u32, _: *const *mut c_void, _: i32, limit: u32, _: i32) -> u32 {
        let mut limits = LIMITS.lock().unwrap();
        limits.push(limit);
        if limits.len().is_multiple_of(3) { 1 } else { WAIT_TIMEOUT }
    }

    unsafe extern "C" fn other(_: u32, _: *const *mut c_void, _: i32, _: u32, _: i32) -> u32 {
        7
    }

    fn ours(theirs: Wait) -> Option<Wait> {
        // SAFETY: one of ours.
        ours_for(theirs as *mut c_void)
            .map(|ours| unsafe { core::mem::transmute::<*const c_void, Wait>(ours) })
    }

    #[test]
    fn a_wait_without_a_limit_is_begun_again_and_others_are_not() {
        let wait = |ours: Wait, limit| {
            // SAFETY: those it stands for look at nothing.
            unsafe { ours(2, core::ptr::null(), 0, limit, 0) }
        };
        let ours_of_third = ours(third).unwrap();
        assert_eq!(wait(ours_of_third, INFINITE), 1);
        assert_eq!(wait(ours_of_third, 2000), WAIT_TIMEOUT);
        assert_eq!(*LIMITS.lock().unwrap(), [PIECE, PIECE, PIECE, 2000]);
        // Another library's is another function, and the same library is met again.
        assert_eq!(wait(ours(other).unwrap(), INFINITE), 7);
        assert_eq!(ours(third).map(|ours| ours as usize), Some(ours_of_third as usize));
        for more in 1..=MOST - 2 {
            assert!(ours_for(more as *mut c_void).is_some());
        }
        assert!(ours_for(usize::MAX as *mut c_void).is_none());
    }
}
