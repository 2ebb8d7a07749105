//! The debugging library's waits: those that would never end, and those after which it frees its data about
//! the program.
//!
//! Its platform layer checks whether a process has ended only when a wait for it begins. A thread that has
//! sent a request to the program waits without a limit, and a program that is killed in the meantime never
//! answers. If this is the thread that listens to the program, the library never notices the end, and calls
//! that need the thread's locks never return. So a wait without a limit is split into short waits.
//!
//! Between two waits a thread of the library handles one event, and its reads of the program are gathered
//! ([`memory`]).
//!
//! An attach waits ten seconds for the program's answer, longer than a session takes to end. Such a wait is
//! split, too, and ends soon after the program.
//!
//! The thread that listens checks every few milliseconds. When it learns that the program has ended, it is
//! held until no call is under way that it could crash ([`process_exit`]).

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, Ordering};

use libloading::os::unix::Library;

use super::{memory, process_exit};
use crate::activity;

/// Windows API: the limit of a wait without one, and the result of a wait whose limit has passed.
const INFINITE: u32 = u32::MAX;
const WAIT_TIMEOUT: u32 = 0x102;
/// Length of one part of a split wait, in ms.
const WAIT_INTERVAL_MS: u32 = 50;
/// Minimum limit of a wait for a program that is split, in ms.
const MIN_SPLIT_MS: u32 = 2000;
/// Maximum number of runtimes that one process debugs.
const MAX_RUNTIMES: usize = 4;

/// Functions of the data access library that the debugging library calls.
const NAMES: [&str; 3] =
    ["DAC_WaitForMultipleObjectsEx", "DAC_WaitForSingleObjectEx", "DAC_WaitForSingleObject"];
/// Count, that many handles, whether for all, a limit in ms, whether alertable.
type Multiple = unsafe extern "C" fn(u32, *const *mut c_void, i32, u32, i32) -> u32;
/// Handle, limit in ms, whether alertable.
type SingleEx = unsafe extern "C" fn(*mut c_void, u32, i32) -> u32;
type Single = unsafe extern "C" fn(*mut c_void, u32) -> u32;

/// The functions of a library, in the order of [`NAMES`].
type WaitFunctions = [AtomicPtr<c_void>; NAMES.len()];
/// The functions of each data access library that was loaded.
static FOUND: [WaitFunctions; MAX_RUNTIMES] =
    [const { [const { AtomicPtr::new(core::ptr::null_mut()) }; NAMES.len()] }; MAX_RUNTIMES];

/// Replacements for the functions of this data access library. `None` if it lacks one, or if too many
/// libraries were loaded.
pub(super) fn replacements(data_access: &Library) -> Option<[(&'static str, *const c_void); NAMES.len()]> {
    let [multiple, single_ex, single] = NAMES.map(|name| {
        // SAFETY: only its address is used.
        unsafe { data_access.get::<*mut c_void>(name) }.map(|symbol| symbol.into_raw()).ok()
    });
    replacements_for([multiple?, single_ex?, single?])
}

fn replacements_for(
    theirs: [*mut c_void; NAMES.len()],
) -> Option<[(&'static str, *const c_void); NAMES.len()]> {
    let take = |found: &WaitFunctions| {
        let is_free = |(slot, address): (&AtomicPtr<c_void>, *mut c_void)| {
            let before =
                slot.compare_exchange(core::ptr::null_mut(), address, Ordering::SeqCst, Ordering::SeqCst);
            before.map_or_else(|found| found == address, |_| true)
        };
        found.iter().zip(theirs).all(is_free)
    };
    let ours = match FOUND.iter().position(take)? {
        0 => own_functions::<0>(),
        1 => own_functions::<1>(),
        2 => own_functions::<2>(),
        _ => own_functions::<{ MAX_RUNTIMES - 1 }>(),
    };
    process_exit::set_waits_seen();
    let [multiple, single_ex, single] = NAMES;
    Some([(multiple, ours[0]), (single_ex, ours[1]), (single, ours[2])])
}

fn own_functions<const AT: usize>() -> [*const c_void; NAMES.len()] {
    let (multiple, single_ex, single): (Multiple, SingleEx, Single) =
        (wait_for_multiple::<AT>, wait_for_single_ex::<AT>, wait_for_single::<AT>);
    [multiple as *const c_void, single_ex as *const c_void, single as *const c_void]
}

/// # Safety
/// The same as for `WaitForMultipleObjectsEx` of the Windows API. Only called in place of the function found.
unsafe extern "C" fn wait_for_multiple<const AT: usize>(
    count: u32,
    handles: *const *mut c_void,
    all: i32,
    limit: u32,
    alertable: i32,
) -> u32 {
    let found = const { &FOUND[AT][0] }.load(Ordering::SeqCst);
    // SAFETY: the function of this name in a library that stays loaded.
    let theirs = unsafe { core::mem::transmute::<*mut c_void, Multiple>(found) };
    let piece = if limit == INFINITE { WAIT_INTERVAL_MS } else { limit };
    let is_from_library = !activity::is_inside_call();
    loop {
        if is_from_library {
            memory::set_library_working(false);
        }
        // SAFETY: the caller's own arguments, except the limit.
        let outcome = unsafe { theirs(count, handles, all, piece, alertable) };
        if is_from_library {
            memory::set_library_working(true);
        }
        if limit != INFINITE {
            // A thread that waits without a limit has more to do before it sees that the program has ended.
            process_exit::await_calls();
            return outcome;
        }
        if outcome != WAIT_TIMEOUT {
            return outcome;
        }
    }
}

/// # Safety
/// The same as for `WaitForSingleObjectEx` of the Windows API. Only called in place of the function found.
unsafe extern "C" fn wait_for_single_ex<const AT: usize>(
    handle: *mut c_void,
    limit: u32,
    alertable: i32,
) -> u32 {
    let found = const { &FOUND[AT][1] }.load(Ordering::SeqCst);
    // SAFETY: as above.
    let theirs = unsafe { core::mem::transmute::<*mut c_void, SingleEx>(found) };
    let _blocked = process_exit::BlockedCall::begin();
    // SAFETY: the caller's own arguments.
    unsafe { theirs(handle, limit, alertable) }
}

/// # Safety
/// The same as for `WaitForSingleObject` of the Windows API. Only called in place of the function found.
unsafe extern "C" fn wait_for_single<const AT: usize>(handle: *mut c_void, limit: u32) -> u32 {
    let found = const { &FOUND[AT][2] }.load(Ordering::SeqCst);
    // SAFETY: as above.
    let theirs = unsafe { core::mem::transmute::<*mut c_void, Single>(found) };
    let _blocked = process_exit::BlockedCall::begin();
    // SAFETY: the caller's own arguments, except the limit.
    let wait = |limit| unsafe { theirs(handle, limit) };
    if limit < MIN_SPLIT_MS || limit == INFINITE {
        return wait(limit);
    }
    let mut left = limit;
    loop {
        // The library itself may still answer after the program's end: one part is waited for in any case.
        let has_ended = process_exit::has_debugged_ended();
        let piece = left.min(WAIT_INTERVAL_MS);
        let outcome = wait(piece);
        left = left.saturating_sub(piece);
        if outcome != WAIT_TIMEOUT || left == 0 || has_ended {
            return outcome;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::activity::LibraryCall;

    static LIMITS: Mutex<Vec<u32>> = Mutex::new(Vec::new());

    /// Its third wait returns the index of the second handle.
    unsafe extern "C" fn third(_: u32, _: *const *mut c_void, _: i32, limit: u32, _: i32) -> u32 {
        let mut limits = LIMITS.lock().unwrap();
        limits.push(limit);
        if limits.len().is_multiple_of(3) { 1 } else { WAIT_TIMEOUT }
    }

    unsafe extern "C" fn other(_: u32, _: *const *mut c_void, _: i32, _: u32, _: i32) -> u32 {
        7
    }

    unsafe extern "C" fn single_ex(_: *mut c_void, limit: u32, _: i32) -> u32 {
        limit + u32::from(process_exit::is_call_blocked())
    }

    unsafe extern "C" fn single(_: *mut c_void, limit: u32) -> u32 {
        limit + 10 * u32::from(process_exit::is_call_blocked())
    }

    fn ours(multiple: Multiple) -> Option<(Multiple, SingleEx, Single)> {
        let theirs = [multiple as *mut c_void, single_ex as *mut c_void, single as *mut c_void];
        let [ours_of_multiple, ours_of_single_ex, ours_of_single] =
            replacements_for(theirs)?.map(|(_, ours)| ours);
        // SAFETY: ours, in this order.
        unsafe {
            Some((
                core::mem::transmute::<*const c_void, Multiple>(ours_of_multiple),
                core::mem::transmute::<*const c_void, SingleEx>(ours_of_single_ex),
                core::mem::transmute::<*const c_void, Single>(ours_of_single),
            ))
        }
    }

    #[test]
    fn a_wait_without_a_limit_is_begun_again_and_a_call_that_waits_is_known() {
        let wait = |ours: Multiple, limit| {
            // SAFETY: the functions it replaces read no argument.
            unsafe { ours(2, core::ptr::null(), 0, limit, 0) }
        };
        let (multiple, single_ex, single) = ours(third).unwrap();
        assert!(process_exit::are_waits_seen());
        assert_eq!(wait(multiple, INFINITE), 1);
        assert_eq!(wait(multiple, 2000), WAIT_TIMEOUT);
        assert_eq!(*LIMITS.lock().unwrap(), [WAIT_INTERVAL_MS, WAIT_INTERVAL_MS, WAIT_INTERVAL_MS, 2000]);

        let singles = || {
            // SAFETY: as above.
            unsafe { (single_ex(core::ptr::null_mut(), 5, 0), single(core::ptr::null_mut(), 5)) }
        };
        assert_eq!(singles(), (5, 5));
        let call = LibraryCall::begin(&"ICorDebugController::Stop");
        assert_eq!(singles(), (6, 15));
        drop(call);
        assert!(!process_exit::is_call_blocked());

        // Another library has other functions. The same library gets the same replacements again.
        assert_eq!(wait(ours(other).unwrap().0, INFINITE), 7);
        assert_eq!(ours(third).unwrap().0 as usize, multiple as usize);
        for more in 1..=MAX_RUNTIMES - 2 {
            assert!(replacements_for([more as *mut c_void; 3]).is_some());
        }
        assert!(replacements_for([usize::MAX as *mut c_void; 3]).is_none());
    }
    #[test]
    fn a_long_wait_for_a_program_ends_with_it() {
        unsafe extern "C" fn pending(_: *mut c_void, limit: u32) -> u32 {
            LIMITS.lock().unwrap().push(limit);
            WAIT_TIMEOUT
        }
        let theirs = [third as *mut c_void, single_ex as *mut c_void, pending as *mut c_void];
        let (_, ours) = replacements_for(theirs).unwrap()[2];
        // SAFETY: ours for that function.
        let ours = unsafe { core::mem::transmute::<*const c_void, Single>(ours) };
        let parts = |limit| {
            LIMITS.lock().unwrap().clear();
            // SAFETY: the function it replaces reads no handle.
            assert_eq!(unsafe { ours(core::ptr::null_mut(), limit) }, WAIT_TIMEOUT);
            LIMITS.lock().unwrap().clone()
        };
        let mut program = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        process_exit::set_debugged(program.id());
        assert_eq!(parts(1999), [1999]);
        assert_eq!(parts(INFINITE), [INFINITE]);
        let all = parts(10_001);
        assert_eq!((all.len(), all.iter().sum::<u32>()), (201, 10_001));
        program.kill().unwrap();
        program.wait().unwrap();
        assert_eq!(parts(10_000), [WAIT_INTERVAL_MS]);
    }
}
