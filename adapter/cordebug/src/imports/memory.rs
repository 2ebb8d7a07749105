//! The program's memory as the debugging library reads it: a few bytes at a time, five hundred times for the
//! top frame of a stack. While the program is stopped, whole pages are read instead, and reads are served
//! from them.
//!
//! A page is valid as long as nothing can have changed it: on a thread that has recorded that the program is
//! stopped ([`assume_stopped`]), and until the library exchanges a message with the runtime in the program:
//! only then can it write or resume. The cache never outlives a request: writes of native threads of the
//! program show at the next one.
//!
//! The library's own threads read, too: for each exception they look for its frame, some 1,300 reads of fewer
//! than 60 pages. There a page is valid from the end of one wait to the beginning of the next
//! ([`set_library_working`]). The thread of the program that the event is about is stopped then. Others may
//! still run for a moment, so such a thread sees their writes up to one event late, as the library itself
//! does, which keeps its own reads for as long.

use core::cell::RefCell;
use core::ffi::c_void;
use std::collections::HashMap;

use crate::activity;

/// A page of the program, in bytes.
const PAGE_LEN: u64 = 4096;
/// Longer reads are not gathered, in bytes.
const MAX_READ: usize = 2 * PAGE_LEN as usize;
/// More pages than this are not kept at a time.
const MAX_PAGES: usize = 1024;

/// Kind of a message of the library's transport that writes to the program's memory, and the length of every
/// message's header, in bytes: `MT_WriteMemory` and `MessageHeader` in the runtime's dbgtransportsession.h.
/// The kind is at byte 0, the address at byte 24 and the length of the data at byte 32.
const WRITES_MEMORY: [u8; 4] = 7_u32.to_le_bytes();
const HEADER_LEN: usize = 48;

thread_local! {
    static PAGES: RefCell<Pages> = RefCell::default();
    static WRITTEN: RefCell<Option<Vec<WrittenRange>>> = const { RefCell::new(None) };
}

/// A range of the program's memory that the library has written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenRange {
    /// Address of the first byte.
    pub address: u64,
    /// Number of bytes that were written.
    pub length: u32,
}

/// Runs `work` and returns its result, with the ranges of the program's memory that the library
/// wrote to on this thread.
pub fn record_writes<T>(work: impl FnOnce() -> T) -> (T, Vec<WrittenRange>) {
    WRITTEN.set(Some(Vec::new()));
    let result = work();
    (result, WRITTEN.take().unwrap_or_default())
}

/// Records a message that writes to the program's memory, if recording is on.
fn record(message: &[u8]) {
    let noted = WRITTEN.try_with(|written| {
        let mut written = written.try_borrow_mut().ok()?;
        let written = written.as_mut()?;
        if message.len() == HEADER_LEN && message.starts_with(&WRITES_MEMORY) {
            let address = u64::from_le_bytes(message.get(24..32)?.try_into().ok()?);
            let length = u32::from_le_bytes(message.get(32..36)?.try_into().ok()?);
            written.push(WrittenRange { address, length });
        }
        Some(())
    });
    // Recording is over when the thread ends.
    noted.unwrap_or_default().unwrap_or_default();
}

type Page = Box<[u8; PAGE_LEN as usize]>;

/// The pages read so far, by file and number.
#[derive(Default)]
struct Pages {
    /// Number of [`AssumedStopped`] of this thread.
    assumed: usize,
    /// Whether this is a thread of the library that handles an event.
    works: bool,
    /// [`activity::messages`] when the pages were read.
    messages: u64,
    read: HashMap<(i32, u64), Page>,
    /// Free pages for reuse.
    spare: Vec<Page>,
}

impl Pages {
    fn forget(&mut self) {
        self.spare.extend(self.read.drain().map(|(_, page)| page));
    }

    /// Fills `bytes` with the memory at this address; false if a page of it cannot be read as a whole.
    fn fill(&mut self, file: i32, address: u64, bytes: &mut [u8]) -> bool {
        let messages = activity::messages();
        if self.messages != messages || self.read.len() >= MAX_PAGES {
            self.forget();
            self.messages = messages;
        }
        let (mut at, mut rest) = (address, bytes);
        while !rest.is_empty() {
            let (number, within) = (at / PAGE_LEN, (at % PAGE_LEN) as usize);
            let Some(page) = self.page(file, number) else { return false };
            let length = rest.len().min(PAGE_LEN as usize - within);
            let (now, later) = core::mem::take(&mut rest).split_at_mut(length);
            let Some(part) = page.get(within..within + length) else { return false };
            now.copy_from_slice(part);
            rest = later;
            let Some(next) = at.checked_add(length as u64) else { return false };
            at = next;
        }
        true
    }

    fn page(&mut self, file: i32, number: u64) -> Option<&Page> {
        use std::collections::hash_map::Entry;
        match self.read.entry((file, number)) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(new) => {
                let mut page = self.spare.pop().unwrap_or_else(|| Box::new([0; PAGE_LEN as usize]));
                let offset = i64::try_from(number.checked_mul(PAGE_LEN)?).ok()?;
                // SAFETY: we own the page, and it has this length.
                let read =
                    unsafe { libc::pread64(file, page.as_mut_ptr().cast(), PAGE_LEN as usize, offset) };
                if read == PAGE_LEN as isize {
                    Some(new.insert(page))
                } else {
                    self.spare.push(page);
                    None
                }
            }
        }
    }
}

/// While it exists, the program is stopped unless this thread resumes it. Not for another thread.
#[derive(Debug)]
pub struct AssumedStopped(core::marker::PhantomData<*const ()>);

/// From now on this thread's reads of the program's memory are gathered.
#[must_use = "the program counts as stopped while this exists"]
pub fn assume_stopped() -> AssumedStopped {
    PAGES.with_borrow_mut(|pages| pages.assumed += 1);
    AssumedStopped(core::marker::PhantomData)
}

impl Drop for AssumedStopped {
    fn drop(&mut self) {
        PAGES.with_borrow_mut(|pages| {
            pages.assumed = pages.assumed.saturating_sub(1);
            pages.forget();
        });
    }
}

/// Records that a thread of the library begins to wait for the program, or handles an event from now on. Not
/// for a thread that calls the library.
pub(super) fn set_library_working(works: bool) {
    // The pages are gone when the thread ends.
    let filled = PAGES.try_with(|pages| {
        if let Ok(mut pages) = pages.try_borrow_mut() {
            pages.works = works;
            pages.forget();
        }
    });
    filled.unwrap_or_default();
}

/// pread(2), with which the data access library reads the program's memory.
///
/// # Safety
/// The same as for the system call.
pub(super) unsafe extern "C" fn pread(
    file: i32,
    bytes: *mut c_void,
    count: usize,
    offset: libc::off64_t,
) -> isize {
    if count > 0
        && count <= MAX_READ
        && let Ok(address) = u64::try_from(offset)
    {
        // SAFETY: the caller gives memory of this length to be written to.
        let buffer = unsafe { core::slice::from_raw_parts_mut(bytes.cast::<u8>(), count) };
        let filled = PAGES.try_with(|pages| match pages.try_borrow_mut() {
            Ok(mut pages) if pages.assumed > 0 || pages.works => pages.fill(file, address, buffer),
            _ => false,
        });
        if filled == Ok(true) {
            return count.cast_signed();
        }
    }
    // SAFETY: the caller's own request.
    unsafe { libc::pread64(file, bytes, count, offset) }
}

/// read(2), with which the debugging library receives messages of the runtime.
///
/// # Safety
/// The same as for the system call.
pub(super) unsafe extern "C" fn read(file: i32, bytes: *mut c_void, count: usize) -> isize {
    // SAFETY: the caller's own request.
    let read = unsafe { libc::read(file, bytes, count) };
    activity::count_message();
    read
}

/// write(2), with which the debugging library sends messages to the runtime.
///
/// # Safety
/// The same as for the system call.
pub(super) unsafe extern "C" fn write(file: i32, bytes: *const c_void, count: usize) -> isize {
    activity::count_message();
    if count == HEADER_LEN {
        // SAFETY: the caller gives memory of this length to be read from.
        record(unsafe { core::slice::from_raw_parts(bytes.cast::<u8>(), count) });
    }
    // SAFETY: the caller's own request.
    unsafe { libc::write(file, bytes, count) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;

    use super::*;

    fn at(file: &std::fs::File, offset: i64, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        // SAFETY: memory of this length.
        let read = unsafe { pread(file.as_raw_fd(), bytes.as_mut_ptr().cast(), count, offset) };
        bytes.truncate(usize::try_from(read).ok()?);
        Some(bytes)
    }

    /// An unlinked file of pages full of ones.
    fn pages(name: &str, count: usize) -> std::fs::File {
        let path = std::env::temp_dir().join(format!("tandem-{name}-{}", std::process::id()));
        let mut file = std::fs::File::options().create_new(true).read(true).write(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file.write_all(&vec![1; count * PAGE_LEN as usize]).unwrap();
        file
    }

    #[test]
    fn cached_pages_are_valid_until_a_message_is_exchanged_or_the_guard_is_dropped() {
        let file = pages("memory", 3);

        assert_eq!(at(&file, 10, 2).unwrap(), [1, 1]);
        file.write_all_at(&[2, 2], 10).unwrap();
        assert_eq!(at(&file, 10, 2).unwrap(), [2, 2], "nothing says that it is stopped");

        let stopped = assume_stopped();
        assert_eq!(at(&file, 10, 2).unwrap(), [2, 2]);
        file.write_all_at(&[3, 3], 10).unwrap();
        assert_eq!(at(&file, 10, 2).unwrap(), [2, 2], "from the page that was read");
        let mut pipe = [0; 2];
        // SAFETY: room for the two ends; then one byte from memory of one byte.
        unsafe {
            assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
            assert_eq!(write(pipe[1], [0_u8].as_ptr().cast(), 1), 1);
        }
        assert_eq!(at(&file, 10, 2).unwrap(), [3, 3], "a message was sent");
        file.write_all_at(&[4, 4], 10).unwrap();
        // SAFETY: room for the byte that is in the pipe; both ends are this test's.
        unsafe {
            assert_eq!(read(pipe[0], [0_u8].as_mut_ptr().cast(), 1), 1);
            libc::close(pipe[0]);
            libc::close(pipe[1]);
        }
        assert_eq!(at(&file, 10, 2).unwrap(), [4, 4], "a message was received");
        file.write_all_at(&[5, 5], 10).unwrap();
        drop(stopped);
        let _stopped = assume_stopped();
        assert_eq!(at(&file, 10, 2).unwrap(), [5, 5], "a new guard reads again");
    }

    #[test]
    fn writes_of_the_library_to_the_program_are_noted_during_a_recording() {
        let file = pages("memory-written", 1);
        let mut head = [0; HEADER_LEN];
        head[..4].copy_from_slice(&WRITES_MEMORY);
        head[24..32].copy_from_slice(&0x1234_5678_9abc_u64.to_le_bytes());
        head[32..36].copy_from_slice(&4_u32.to_le_bytes());
        // SAFETY: memory of these lengths.
        let write_bytes =
            |bytes: &[u8]| unsafe { write(file.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
        let (outcomes, written) = record_writes(|| {
            let mut other = head;
            other[0] = 5;
            [write_bytes(&head), write_bytes(&other), write_bytes(&head[..4])]
        });
        assert_eq!(outcomes, [48, 48, 4]);
        assert_eq!(written, [WrittenRange { address: 0x1234_5678_9abc, length: 4 }]);
        write_bytes(&head);
        assert_eq!(record_writes(|| ()).1, [], "no recording was on");
    }

    #[test]
    fn a_thread_of_the_library_reads_a_page_once_from_one_wait_to_the_next() {
        let file = pages("memory-works", 1);
        let changed = |to: u8| {
            file.write_all_at(&[to], 10).unwrap();
            at(&file, 10, 1).unwrap()[0]
        };

        assert_eq!((changed(1), changed(2)), (1, 2), "it waits");
        set_library_working(true);
        assert_eq!((changed(3), changed(4)), (3, 3));
        activity::count_message();
        assert_eq!((changed(5), changed(6)), (5, 5), "a message was exchanged");
        std::thread::scope(|scope| {
            assert_eq!(scope.spawn(|| changed(7)).join().unwrap(), 7, "not for others")
        });
        set_library_working(true);
        assert_eq!((changed(8), changed(9)), (8, 8), "another wait has ended");
        set_library_working(false);
        assert_eq!((changed(10), changed(11)), (10, 11), "it waits again");
    }

    #[test]
    fn reads_across_pages_and_past_the_end_are_as_the_system_has_them() {
        let path = std::env::temp_dir().join(format!("tandem-memory-end-{}", std::process::id()));
        let mut file =
            std::fs::File::options().create(true).read(true).write(true).truncate(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let bytes: Vec<u8> = (0..2 * PAGE_LEN as usize + 100).map(|n| (n % 251) as u8).collect();
        file.write_all(&bytes).unwrap();
        let _stopped = assume_stopped();
        for (offset, count) in
            [(0, 1), (4090, 12), (4095, 4098), (8000, 250), (8190, 400), (9000, 8), (0, 9000)]
        {
            let expected: Vec<u8> = bytes.iter().skip(offset).take(count).copied().collect();
            assert_eq!(at(&file, offset as i64, count).unwrap(), expected, "{count} bytes at {offset}");
        }
        // SAFETY: memory of one byte.
        let refused = unsafe { pread(file.as_raw_fd(), [0_u8].as_mut_ptr().cast(), 1, -1) };
        assert_eq!(refused, -1);
    }
}
