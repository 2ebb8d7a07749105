//! How much freed memory the C library keeps, for a process that debugs one program after the other.
//!
//! By default glibc learns from large blocks: once one was freed, it takes others of that size from a heap of
//! the thread's and keeps them there, for as many threads as it has heaps. Each session is a thread, and
//! reads whole assemblies.

/// Blocks from here on are the system's own, and go back to it at once, bytes.
const MIN_MAPPED_LEN: i32 = 1024 * 1024;
/// Free bytes that may stay at the end of a heap.
const MAX_FREE_LEN: i32 = 2 * 1024 * 1024;

/// Sets these limits for the whole process, before its threads start.
pub fn give_back_large_blocks() {
    for (parameter, bytes) in
        [(libc::M_MMAP_THRESHOLD, MIN_MAPPED_LEN), (libc::M_TRIM_THRESHOLD, MAX_FREE_LEN)]
    {
        // SAFETY: changes a limit; memory that is in use stays as it is.
        // Where it is refused, more is kept.
        let _accepted = unsafe { libc::mallopt(parameter, bytes) };
    }
}
