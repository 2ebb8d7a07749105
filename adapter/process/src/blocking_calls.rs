//! Descriptors that a blocked thread waits to read, from the system call that it is in (`syscall` of
//! proc(5)).
//!
//! Knows the calls that wait for input: `read` and its like, `poll`, `select`, `epoll_wait` and
//! `io_uring_enter`. Linux only; elsewhere no thread is known to wait. Used by
//! [`input_wait`](super::input_wait).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

/// How many descriptors of one call are checked.
const MAX_DESCRIPTORS: usize = 1024;
/// How deep sets of `epoll` may contain one another; the kernel allows five.
const MAX_DEPTH: u32 = 5;
/// How many entries of a submission queue are checked.
const MAX_ENTRIES: usize = 4096;
/// The most descriptors of a `poll` that was interrupted: its arguments may be those of another call.
const MAX_RESTARTED: u64 = 16;

/// `POLLIN` and `POLLRDNORM`, which `epoll` has with the same values.
const READABLE: u32 = 0x41;
/// The size of a `struct pollfd`, and of an entry of a submission queue.
const POLLFD_LEN: usize = 8;
const ENTRY_LEN: usize = 64;
/// Offset of the entries in the memory of a ring (`IORING_OFF_SQES`), as `/proc/PID/maps` writes it.
const ENTRIES_OFFSET: &str = "10000000";
/// `READV`, `READ_FIXED`, `POLL_ADD` and `READ` of io_uring.
const RING_READS: [u8; 4] = [1, 4, 6, 22];
/// The name of a ring in `/proc/PID/fd`.
const RING: &str = "anon_inode:[io_uring]";

/// How a system call names what it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockingCall {
    /// The first argument is the descriptor.
    Read,
    /// The first argument is a list of `struct pollfd`, the second its length.
    Poll,
    /// `restart_syscall`, with the arguments of what was interrupted: a `poll`, if they can be its arguments.
    Restarted,
    /// The second argument is a bit set, the first its length.
    Select,
    /// The first argument is a set that knows its members.
    Epoll,
    /// The program shares memory with the kernel, and the submitted entries are there.
    Ring,
}

/// `read`, `readv`, `preadv2`, `splice`, `tee`; then those that wait for several descriptors.
#[cfg(target_arch = "x86_64")]
const CALLS: [(u64, BlockingCall); 15] = [
    (0, BlockingCall::Read),
    (19, BlockingCall::Read),
    (327, BlockingCall::Read),
    (275, BlockingCall::Read),
    (276, BlockingCall::Read),
    (7, BlockingCall::Poll),
    (271, BlockingCall::Poll),
    (219, BlockingCall::Restarted),
    (23, BlockingCall::Select),
    (270, BlockingCall::Select),
    (232, BlockingCall::Epoll),
    (281, BlockingCall::Epoll),
    (441, BlockingCall::Epoll),
    (426, BlockingCall::Ring),
    (333, BlockingCall::Ring),
];
/// The same, with the numbers that newer architectures share.
#[cfg(not(target_arch = "x86_64"))]
const CALLS: [(u64, BlockingCall); 11] = [
    (63, BlockingCall::Read),
    (65, BlockingCall::Read),
    (286, BlockingCall::Read),
    (76, BlockingCall::Read),
    (77, BlockingCall::Read),
    (73, BlockingCall::Poll),
    (128, BlockingCall::Restarted),
    (72, BlockingCall::Select),
    (22, BlockingCall::Epoll),
    (441, BlockingCall::Epoll),
    (426, BlockingCall::Ring),
];

/// The pipe or the terminal that a program reads its input from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InputFile {
    /// Its stdin, as links in `/proc/PID/fd` name it: a pipe, or the name of a terminal.
    name: PathBuf,
    /// The number of the terminal, as `/proc/PID/stat` has it (`tty_nr`).
    terminal: Option<u64>,
}

impl InputFile {
    /// The stdin with this name in `/proc`.
    pub(super) fn new(name: &Path) -> Self {
        let device = if name.starts_with("/dev") { rustix::fs::stat(name).ok() } else { None };
        let terminal = device.map(|device| {
            let (major, minor) = (u64::from(major(device.st_rdev)), u64::from(minor(device.st_rdev)));
            minor & 0xff | major << 8 | (minor & !0xff) << 12
        });
        Self { name: name.to_owned(), terminal }
    }

    /// Whether a process has this terminal as its own, which it opens as `/dev/tty`.
    fn is_terminal_of(&self, process: &Path) -> bool {
        let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
        let number = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(4));
        self.terminal.is_some() && number.and_then(|number| number.parse().ok()) == self.terminal
    }

    /// Whether a process has this stdin or this terminal.
    pub(super) fn is_shared_by(&self, process: &Path) -> bool {
        std::fs::read_link(process.join("fd/0")).is_ok_and(|target| target == self.name)
            || self.is_terminal_of(process)
    }

    fn is(&self, process: &Path, descriptor: i32) -> bool {
        let Ok(target) = std::fs::read_link(process.join("fd").join(descriptor.to_string())) else {
            return false;
        };
        target == self.name || target == Path::new("/dev/tty") && self.is_terminal_of(process)
    }

    /// Whether a thread of a process is in a system call that waits until this can be read.
    pub(super) fn is_awaited_by(&self, process: &Path, task: &Path) -> bool {
        let Ok(line) = std::fs::read_to_string(task.join("syscall")) else { return false };
        let Some((call, first, second)) = call_of(&line) else { return false };
        let is = |descriptor| self.is(process, descriptor);
        match call {
            BlockingCall::Read => is(descriptor_of(first)),
            BlockingCall::Poll => polls(process, first, second, is),
            BlockingCall::Restarted => second <= MAX_RESTARTED && polls(process, first, second, is),
            BlockingCall::Select => selects(process, first, second, is),
            BlockingCall::Epoll => self.is_in_set(process, descriptor_of(first), 0),
            BlockingCall::Ring => reads_by_ring(process, is),
        }
    }

    /// Whether an `epoll` set waits for it (`fdinfo` of proc(5)).
    fn is_in_set(&self, process: &Path, set: i32, depth: u32) -> bool {
        let text = std::fs::read_to_string(process.join("fdinfo").join(set.to_string())).unwrap_or_default();
        let members = text.lines().filter_map(member_of).filter(|(_, events)| events & READABLE != 0);
        let mut members = members.take(MAX_DESCRIPTORS);
        members.any(|(descriptor, _)| {
            self.is(process, descriptor)
                || depth < MAX_DEPTH && self.is_in_set(process, descriptor, depth + 1)
        })
    }
}

/// The call in a line of `syscall`, with its first two arguments.
fn call_of(line: &str) -> Option<(BlockingCall, u64, u64)> {
    let mut words = line.split_ascii_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    let call = CALLS.iter().find(|(known, _)| *known == number)?.1;
    let mut argument = || u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok();
    Some((call, argument()?, argument()?))
}

/// A descriptor is the low half of an argument.
fn descriptor_of(argument: u64) -> i32 {
    (argument as u32).cast_signed()
}

/// A member of an `epoll` set and the events that it waits for.
fn member_of(line: &str) -> Option<(i32, u32)> {
    let mut words = line.strip_prefix("tfd:")?.split_ascii_whitespace();
    let descriptor = words.next()?.parse().ok()?;
    let events = words.skip_while(|word| *word != "events:").nth(1)?;
    Some((descriptor, u32::from_str_radix(events, 16).ok()?))
}

fn polls(process: &Path, list: u64, count: u64, is: impl Fn(i32) -> bool) -> bool {
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(MAX_DESCRIPTORS);
    let list = memory(process, list, count * POLLFD_LEN);
    list.chunks_exact(POLLFD_LEN).any(|entry| match *entry {
        [a, b, c, d, low, high, ..] => {
            let descriptor = i32::from_ne_bytes([a, b, c, d]);
            let events = u32::from(u16::from_ne_bytes([low, high]));
            descriptor >= 0 && events & READABLE != 0 && is(descriptor)
        }
        _ => false,
    })
}

fn selects(process: &Path, count: u64, set: u64, is: impl Fn(i32) -> bool) -> bool {
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(MAX_DESCRIPTORS);
    if set == 0 {
        return false;
    }
    // The words of the set are little-endian on every system that we run on.
    let bits = memory(process, set, count.div_ceil(8));
    let chosen =
        |descriptor: &usize| bits.get(descriptor / 8).is_some_and(|byte| byte >> (descriptor % 8) & 1 != 0);
    (0..count).filter(chosen).any(|descriptor| i32::try_from(descriptor).is_ok_and(&is))
}

/// Whether a ring of this process has a read of such a descriptor under way. The kernel says which operations
/// wait, and the queue, in which older entries remain, which descriptors they have.
fn reads_by_ring(process: &Path, is: impl Fn(i32) -> bool) -> bool {
    let waiting = waiting_operations(process);
    let maps = std::fs::read_to_string(process.join("maps")).unwrap_or_default();
    let queues = maps.lines().filter_map(queue_of);
    let mut entries = queues.flat_map(|(start, len)| {
        memory(process, start, len.min(MAX_ENTRIES * ENTRY_LEN))
            .chunks_exact(ENTRY_LEN)
            .map(<[u8]>::to_vec)
            .collect::<Vec<_>>()
    });
    entries.any(|entry| match *entry {
        [operation, _, _, _, a, b, c, d, ..] => {
            RING_READS.contains(&operation)
                && waiting.contains(&operation)
                && is(i32::from_ne_bytes([a, b, c, d]))
        }
        _ => false,
    })
}

/// The operations that wait in the rings of a process (`PollList` of `fdinfo`).
fn waiting_operations(process: &Path) -> Vec<u8> {
    let open = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten().take(MAX_DESCRIPTORS);
    let rings =
        open.filter(|entry| std::fs::read_link(entry.path()).is_ok_and(|target| target == Path::new(RING)));
    let texts = rings.map(|entry| {
        std::fs::read_to_string(process.join("fdinfo").join(entry.file_name())).unwrap_or_default()
    });
    texts
        .flat_map(|text| {
            let waiting = text.lines().skip_while(|line| !line.starts_with("PollList:")).skip(1);
            let operations = waiting
                .map_while(|line| line.trim_start().strip_prefix("op=")?.split(',').next()?.parse().ok());
            operations.collect::<Vec<u8>>()
        })
        .collect()
}

/// Address and size in bytes of the entries of a ring.
fn queue_of(line: &str) -> Option<(u64, usize)> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let is_queue = line.ends_with(RING) && words.nth(1)? == ENTRIES_OFFSET;
    let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    Some((start, usize::try_from(end.checked_sub(start)?).ok()?)).filter(|_| is_queue)
}

/// Memory of a process; nothing where it cannot be read.
fn memory(process: &Path, address: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    let read = File::open(process.join("mem")).and_then(|memory| memory.read_exact_at(&mut bytes, address));
    if read.is_ok() { bytes } else { Vec::new() }
}
