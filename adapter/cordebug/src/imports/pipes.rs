//! The pipes of a runtime as the debugging library uses them: open(2) and unlink(2).
//!
//! The library looks for them in the temporary folder of our process; they are in the program's
//! ([`crate::startup::temporary_folder`]).
//!
//! The library's transport, a thread for each program, has two defects when its program has ended. It may
//! wait in open(2) for the program's end of a pipe, and would wait forever once the name is gone. And it
//! closes none of its pipes. A process that debugs one program after the other would keep a thread and some
//! descriptors of each.

use core::cell::RefCell;
use core::ffi::{CStr, c_char};
use std::ffi::{CString, OsStr};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::startup::{open_to_release, pipe_at};

/// A pipe that the current thread of the library has opened.
struct OpenedPipe {
    descriptor: RawFd,
    path: PathBuf,
}

impl Drop for OpenedPipe {
    fn drop(&mut self) {
        let now = std::fs::read_link(format!("/proc/self/fd/{}", self.descriptor)).unwrap_or_default();
        // A library that closes its pipes may use the number for another file by now.
        if now.as_os_str().as_bytes().starts_with(self.path.as_os_str().as_bytes()) {
            // SAFETY: the descriptor still is this pipe, and its transport has ended.
            drop(unsafe { OwnedFd::from_raw_fd(self.descriptor) });
        }
    }
}

thread_local! {
    /// Closed when the thread ends, because the thread is the transport.
    static OPENED: RefCell<Vec<OpenedPipe>> = const { RefCell::new(Vec::new()) };
}

/// # Safety
/// `path` must be null or a string that ends with 0.
unsafe fn path_of<'a>(path: *const c_char) -> Option<&'a Path> {
    // SAFETY: the caller's promise.
    (!path.is_null()).then(|| Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes())))
}

/// open(2), for the debugging library.
///
/// # Safety
/// The same as for the system call. `mode` has no meaning unless `flags` require it.
pub(super) unsafe extern "C" fn open(path: *const c_char, flags: i32, mode: libc::mode_t) -> i32 {
    // SAFETY: the caller's promise.
    let pipe = unsafe { path_of(path) }.and_then(pipe_at);
    let there = pipe.as_deref().and_then(as_text);
    // SAFETY: the caller's promise, or our own path.
    let descriptor = unsafe { libc::open(there.as_ref().map_or(path, |there| there.as_ptr()), flags, mode) };
    if let Some(path) = pipe.filter(|_| descriptor >= 0) {
        let opened = OpenedPipe { descriptor, path };
        // A thread that is ending cannot record it any more.
        OPENED.try_with(|all| all.borrow_mut().push(opened)).unwrap_or_default();
    }
    descriptor
}

/// unlink(2), for the debugging library: threads that wait in a pipe of a runtime are released first.
///
/// # Safety
/// The same as for the system call.
pub(super) unsafe extern "C" fn unlink(path: *const c_char) -> i32 {
    // SAFETY: the caller's promise.
    let pipe = unsafe { path_of(path) }.and_then(pipe_at);
    let there = pipe.as_deref().and_then(as_text);
    let held = pipe.as_deref().and_then(open_to_release);
    // SAFETY: the caller's promise, or our own path.
    let result = unsafe { libc::unlink(there.as_ref().map_or(path, |there| there.as_ptr())) };
    // SAFETY: this thread's own.
    let error = unsafe { *libc::__errno_location() };
    drop(held);
    // SAFETY: this thread's own; closing has changed it.
    unsafe { *libc::__errno_location() = error };
    result
}

/// A path as a C string. A path from an environment contains no zero.
fn as_text(path: &Path) -> Option<CString> {
    CString::new(path.as_os_str().as_bytes()).ok()
}
