//! Limits on the freed memory that the C library keeps, for a process that debugs one program after the
//! other. Not here: memory that the data access library maps ([`crate::imports`]).
//!
//! By default glibc adapts to large blocks: once a large block was freed, it allocates blocks of that size
//! from a heap of the thread and keeps them there, in every heap. Each session is a thread that reads whole
//! assemblies.

/// Minimum size of blocks that are mapped separately and returned to the system immediately, in bytes.
const MIN_MAPPED_LEN: i32 = 1024 * 1024;
/// Maximum number of free bytes at the end of a heap.
const MAX_FREE_LEN: i32 = 2 * 1024 * 1024;

/// Sets both limits for the whole process. Call it before threads start.
pub fn give_back_large_blocks() {
    for (parameter, bytes) in
        [(libc::M_MMAP_THRESHOLD, MIN_MAPPED_LEN), (libc::M_TRIM_THRESHOLD, MAX_FREE_LEN)]
    {
        // SAFETY: changes a limit; memory in use is not affected. If glibc refuses, it keeps more memory.
        let _accepted = unsafe { libc::mallopt(parameter, bytes) };
    }
}
