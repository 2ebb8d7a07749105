//! Objects through which a debugger reaches a starting runtime: the hold on it ([`hold`]), its pipes, its
//! sockets.
//!
//! Not here: the debugging library ([`crate::runtime`]).

use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

mod hold;
mod stale_files;
pub mod temporary_folder;
mod thread_states;

pub use hold::{HoldResult, StartupHold, raise_thread_priority};
pub use stale_files::{RuntimeFiles, sweep_stale};

/// Maximum time to wait until the threads of a held runtime are at rest. A thread that a start-up
/// hook keeps busy never is.
const REST_TIMEOUT: Duration = Duration::from_millis(500);

/// Maximum time for a runtime whose debugger has gone to replace its pipes. It takes 50 ms unless the machine
/// is busy.
const REPLACEMENT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time between two looks at the open files of processes.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// What proc(5), `/proc/PID/fd`, adds to the name of a file that was removed.
const REMOVED_SUFFIX: &str = " (deleted)";

/// Maximum age of a process whose runtime may still be starting.
const MAX_STARTUP_AGE: Duration = Duration::from_secs(10);

/// Waits until a debugger can attach to a process that is not held, at most half a second. Only a process
/// that has just started needs this, for the reason at [`StartupHold::wait_for_rest`]. The process runs in
/// the meantime, so only its helper thread must be at rest.
pub fn wait_until_ready(pid: u32) {
    if age(pid).is_some_and(|age| age < MAX_STARTUP_AGE) {
        thread_states::wait_until_asleep(pid, Some(thread_states::HELPER), REST_TIMEOUT);
    }
}

/// Time since a process started. proc(5), `/proc/uptime` is in seconds; a tick is 10 ms
/// (sysconf(3), `_SC_CLK_TCK`).
fn age(pid: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let up: f64 = std::fs::read_to_string("/proc/uptime").ok()?.split_whitespace().next()?.parse().ok()?;
    Duration::try_from_secs_f64(up)
        .ok()?
        .checked_sub(Duration::from_millis(start_time(&stat)?.checked_mul(10)?))
}

/// Start time in clock ticks. proc(5): field 22 of `stat`. Fields are counted after the program's name, which
/// may contain any character.
fn start_time(stat: &str) -> Option<u64> {
    stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Removes the debugging pipes and the diagnostics socket of a process that has ended. A runtime that was
/// killed leaves them in the temporary folder.
pub fn remove_stale_files(pid: u32) {
    for (file, left) in stale_files(&temporary_folder::folder_of(pid), usize::MAX) {
        if left.pid == pid {
            release_and_remove(&file);
        }
    }
}

/// Whether a debugger can reach the runtime of a process: its debugging pipes exist in the
/// process's temporary folder.
pub fn has_pipes(pid: u32) -> bool {
    temporary_folder::remember(pid);
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // Callers poll, and the folder may be full of other files: it is not searched.
    let name = start_time(&stat).map(|key| format!("clr-debug-pipe-{pid}-{key}-in"));
    let found = name.and_then(|name| temporary_folder::folder_of(pid).join(name).symlink_metadata().ok());
    found.is_some_and(|found| is_of_runtime(&found))
}

/// The path of a pipe that the debugging library looks for in the temporary folder of our process. The
/// runtime creates it in the temporary folder of its own process.
pub(crate) fn pipe_at(path: &Path) -> Option<PathBuf> {
    let name = path.file_name().filter(|_| is_pipe(path))?;
    Some(temporary_folder::folder_of(StaleFile::parse(name.to_str()?)?.pid).join(name))
}

/// Waits until a debugger can connect to the runtime of a process. Returns whether no other debugger is
/// connected, for which it waits at most `limit`. A debugger that has just released the process is still
/// closing its connection, and then the runtime replaces its pipes. A connection made in the meantime would
/// be mistaken for the old one, and never answered (`CORDBG_E_TIMEOUT`).
pub fn wait_until_hung_up(pid: u32, limit: Duration) -> bool {
    let others = || {
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
        processes.filter_map(number).filter(|other| *other != pid)
    };
    if !poll_until(Instant::now() + limit, || !others().any(|other| is_connected(other, pid))) {
        return false;
    }
    // A runtime that does not replace them does not run: the attempt to connect reports that.
    poll_until(Instant::now() + REPLACEMENT_TIMEOUT, || !is_connected(pid, pid));
    true
}

/// Polls until `holds`, or until the deadline. Returns whether it held.
fn poll_until(deadline: Instant, holds: impl Fn() -> bool) -> bool {
    while !holds() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    true
}

/// Whether a process has a debugging pipe of `runtime` open that was not removed. The runtime keeps its ends
/// of those that it has removed, and processes that it starts may inherit them.
fn is_connected(process: u32, runtime: u32) -> bool {
    let prefix = format!("clr-debug-pipe-{runtime}-");
    let is_pipe = |name: &str| name.starts_with(&prefix) && !name.ends_with(REMOVED_SUFFIX);
    let open = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    open.filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .any(|file| file.file_name().and_then(|name| name.to_str()).is_some_and(is_pipe))
}

/// The process of a runtime's file: `clr-debug-pipe-PID-KEY-in`, `dotnet-diagnostic-PID-KEY-socket`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct StaleFile {
    pid: u32,
    /// Start time of the process, as in [`start_time`].
    key: u64,
}

impl StaleFile {
    fn parse(name: &str) -> Option<Self> {
        let rest =
            name.strip_prefix("clr-debug-pipe-").or_else(|| name.strip_prefix("dotnet-diagnostic-"))?;
        let mut parts = rest.split('-');
        Some(Self { pid: parts.next()?.parse().ok()?, key: parts.next()?.parse().ok()? })
    }

    fn is_process_alive(self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid));
        stat.is_ok_and(|stat| !has_ended(&stat) && start_time(&stat).is_none_or(|key| key == self.key))
    }
}

/// Files that runtimes of this user created, among so many entries of a folder.
fn stale_files(folder: &Path, max_entries: usize) -> Vec<(PathBuf, StaleFile)> {
    let files = std::fs::read_dir(folder).into_iter().flatten().take(max_entries).flatten();
    files
        .filter_map(|file| {
            let left = StaleFile::parse(file.file_name().to_str()?)?;
            is_of_runtime(&file.metadata().ok()?).then(|| (file.path(), left))
        })
        .collect()
}

/// Whether it is a pipe or a socket of this user. A symbolic link is not one.
fn is_of_runtime(found: &std::fs::Metadata) -> bool {
    // SAFETY: only returns the id of the user.
    let user = unsafe { libc::getuid() };
    let kind = found.file_type();
    found.uid() == user && (kind.is_fifo() || kind.is_socket())
}

fn release_and_remove(file: &Path) {
    let held = open_to_release(file);
    // The runtime, or another process, may have removed it by now.
    drop(std::fs::remove_file(file));
    drop(held);
}

/// Whether the name of a file is that of a runtime's debugging pipe.
pub(crate) fn is_pipe(file: &Path) -> bool {
    file.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("clr-debug-pipe-"))
}

/// Opens a pipe of a runtime for reading and writing, which releases a library that waits for the other end.
/// The library blocks forever in `open` on a pipe whose runtime has died. While the file is open no other
/// wait can begin: remove the name in this time. `None` if the file is not a pipe of a runtime.
pub(crate) fn open_to_release(file: &Path) -> Option<std::fs::File> {
    if !is_pipe(file) {
        return None;
    }
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(file).ok()
}

/// Whether this `/proc/PID/stat` is that of a zombie, which has no open files.
fn has_ended(stat: &str) -> bool {
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debugger_connects_only_once_the_runtime_has_replaced_its_pipes() {
        let folder = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let pipe = folder.path().join(format!("clr-debug-pipe-{own}-1-in"));
        let _end = std::fs::File::create(&pipe).unwrap();
        assert!(is_connected(own, own) && !is_connected(std::os::unix::process::parent_id(), own));
        let removed = std::thread::spawn(move || {
            std::thread::sleep(POLL_INTERVAL * 3);
            std::fs::remove_file(pipe)
        });
        assert!(wait_until_hung_up(own, Duration::ZERO), "no other process is connected");
        assert!(!is_connected(own, own), "the pipe was removed before");
        removed.join().unwrap().unwrap();
    }

    #[test]
    fn age_of_a_process_is_known_while_it_runs() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let (own, its) = (age(std::process::id()).unwrap(), age(child.id()).unwrap());
        assert!(its <= own + Duration::from_secs(1), "{its:?} {own:?}");
        assert!(its < MAX_STARTUP_AGE, "{its:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(age(child.id()), None);
        assert!(age(1).unwrap() >= own);
    }
}
