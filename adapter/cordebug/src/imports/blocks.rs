//! The data access library's memory blocks, kept from one stop to the next.
//!
//! It maps two blocks of 4 MiB at every stop, writes to every page and unmaps them when the program resumes:
//! two thousand page faults, which are most of the cost of a stop. So a block of that size and kind is kept
//! and returned again, filled with zeros. All other calls reach the kernel unchanged. Only blocks that were
//! returned here are kept.

use core::ffi::c_void;
use std::sync::{Mutex, PoisonError};

/// Size of the blocks, in bytes.
const BLOCK_LEN: usize = 4 << 20;
/// Maximum number of blocks that are kept.
const MAX_KEPT_BLOCKS: usize = 4;
/// Maximum number of blocks in use that are known. Any further one is not kept later.
const MAX_KNOWN_BLOCKS: usize = 16;

/// Addresses of blocks in use and of free ones.
#[derive(Debug, Default)]
struct BlockPool {
    free: Vec<usize>,
    given: Vec<usize>,
}

static BLOCKS: Mutex<BlockPool> = Mutex::new(BlockPool { free: Vec::new(), given: Vec::new() });

impl BlockPool {
    /// Records a block that the library uses from now on.
    fn note_given(&mut self, block: usize) {
        if self.given.len() < MAX_KNOWN_BLOCKS {
            self.given.push(block);
        }
    }

    /// Whether this is a whole block that the library used. A block that is unmapped in part, or mapped over,
    /// no longer counts as one.
    fn take_back(&mut self, start: usize, length: usize) -> bool {
        let end = start.saturating_add(length);
        let is_whole = length == BLOCK_LEN && self.given.contains(&start);
        self.given.retain(|block| start >= block + BLOCK_LEN || end <= *block);
        is_whole
    }
}

/// mmap(2), for the data access library.
///
/// # Safety
/// The same as for the system call.
pub(super) unsafe extern "C" fn mmap(
    address: *mut c_void,
    length: usize,
    protection: i32,
    flags: i32,
    file: i32,
    offset: libc::off_t,
) -> *mut c_void {
    let is_block = address.is_null()
        && length == BLOCK_LEN
        && protection == libc::PROT_NONE
        && file == -1
        && flags & (libc::MAP_FIXED | libc::MAP_SHARED) == 0;
    let mut blocks = BLOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    if is_block && let Some(kept) = blocks.free.pop() {
        let block = kept as *mut c_void;
        // SAFETY: our own mapping of this length, which is not in use: it was unmapped and is no longer in
        // the list. The caller requested no access; it makes a block readable and writable before it uses it.
        unsafe {
            if libc::mprotect(block, BLOCK_LEN, libc::PROT_READ | libc::PROT_WRITE) == 0 {
                core::ptr::write_bytes(block.cast::<u8>(), 0, BLOCK_LEN);
                blocks.note_given(kept);
                return block;
            }
            libc::munmap(block, BLOCK_LEN);
        }
    }
    if flags & libc::MAP_FIXED != 0 {
        blocks.take_back(address as usize, length);
    }
    // SAFETY: the caller's own request.
    let mapped = unsafe { libc::mmap(address, length, protection, flags, file, offset) };
    if is_block && mapped != libc::MAP_FAILED {
        blocks.note_given(mapped as usize);
    }
    mapped
}

/// munmap(2), for the data access library.
///
/// # Safety
/// The same as for the system call.
pub(super) unsafe extern "C" fn munmap(address: *mut c_void, length: usize) -> i32 {
    let mut blocks = BLOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    if blocks.take_back(address as usize, length) && blocks.free.len() < MAX_KEPT_BLOCKS {
        blocks.free.push(address as usize);
        return 0;
    }
    // SAFETY: the caller's own request.
    unsafe { libc::munmap(address, length) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(length: usize, address: *mut c_void, protection: i32, more: i32) -> *mut c_void {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | more;
        // SAFETY: anonymous memory, placed by the kernel or over a mapping of this test.
        unsafe { mmap(address, length, protection, flags, -1, 0) }
    }

    #[test]
    fn a_whole_block_comes_back_as_zeros_and_nothing_else_is_kept() {
        let none = core::ptr::null_mut();
        let block = map(BLOCK_LEN, none, libc::PROT_NONE, 0);
        assert_ne!(block, libc::MAP_FAILED);
        // SAFETY: a mapping of this test, 4 MiB long.
        unsafe {
            assert_eq!(libc::mprotect(block, BLOCK_LEN, libc::PROT_READ | libc::PROT_WRITE), 0);
            core::ptr::write_bytes(block.cast::<u8>(), 7, BLOCK_LEN);
            assert_eq!(munmap(block, BLOCK_LEN), 0);
        }
        let again = map(BLOCK_LEN, none, libc::PROT_NONE, 0);
        assert_eq!(again, block, "the same block is given out again");
        // SAFETY: as above, and it is given out readable.
        let bytes = unsafe { core::slice::from_raw_parts(again.cast::<u8>(), BLOCK_LEN) };
        assert!(bytes.iter().all(|byte| *byte == 0));

        // Mapped over in part: not whole any more, so the kernel takes it back.
        assert_eq!(map(1 << 20, again, libc::PROT_NONE, libc::MAP_FIXED), again);
        // SAFETY: a mapping of this test.
        assert_eq!(unsafe { munmap(again, BLOCK_LEN) }, 0);
        assert!(BLOCKS.lock().unwrap().free.is_empty());

        // Another size or protection is not such a block.
        for (length, protection) in [(BLOCK_LEN * 2, libc::PROT_NONE), (BLOCK_LEN, libc::PROT_READ)] {
            let other = map(length, none, protection, 0);
            // SAFETY: a mapping of this test.
            assert_eq!(unsafe { munmap(other, length) }, 0);
            assert!(BLOCKS.lock().unwrap().free.is_empty());
        }
    }
}
