//! The removal of files that crashed debuggers and killed runtimes left, when their processes have ended.
//!
//! Not here: the files of the runtime that a session has debugged ([`super::remove_stale_files`]).

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::{StaleFile, has_ended, release_and_remove, stale_files};

/// How many entries of the temporary folder a sweep looks at, some 30 ms: other programs may fill it.
const MAX_SWEPT_ENTRIES: usize = 65_536;

/// Removes the files that crashed debuggers and killed runtimes of this user left, if their
/// processes have ended. Returns those of the processes that still run.
pub fn sweep_stale() -> RuntimeFiles {
    sweep_semaphores();
    RuntimeFiles::of_folder(&std::env::temp_dir()).sweep()
}

/// Debugging pipes and diagnostics sockets of runtimes of this user, by process.
#[derive(Debug, Default)]
pub struct RuntimeFiles(BTreeMap<StaleFile, Vec<PathBuf>>);

impl RuntimeFiles {
    /// Those among the first [`MAX_SWEPT_ENTRIES`] entries of a folder.
    fn of_folder(folder: &Path) -> Self {
        let mut files = Self::default();
        for (file, runtime) in stale_files(folder, MAX_SWEPT_ENTRIES) {
            files.0.entry(runtime).or_default().push(file);
        }
        files
    }

    /// Removes the files of the processes that have ended, and returns the others. Searches no folder.
    #[must_use]
    pub fn sweep(mut self) -> Self {
        self.0.retain(|runtime, files| {
            // A process that cannot be seen may run in another pid namespace that shares this folder. In this
            // case a process listens on the socket.
            let lives = runtime.is_process_alive() || files.iter().any(|file| accepts_connections(file));
            if !lives {
                files.iter().for_each(|file| release_and_remove(file));
            }
            lives
        });
        self
    }
}

/// Whether a process listens on this Unix socket. Does not wait for a suspended process whose queue of
/// connections is full, as a plain `connect` would.
fn accepts_connections(socket: &Path) -> bool {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let connected = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .and_then(|stream| rustix::net::connect(&stream, &SocketAddrUnix::new(socket)?));
    matches!(connected, Ok(()) | Err(Errno::AGAIN))
}

fn sweep_semaphores() {
    let Ok(files) = std::fs::read_dir("/dev/shm") else { return };
    // SAFETY: only returns the id of the user.
    let user = unsafe { libc::getuid() };
    for file in files.flatten() {
        let name = file.file_name();
        let Some(rest) = name
            .to_str()
            .and_then(|name| name.strip_prefix("sem.clrco").or_else(|| name.strip_prefix("sem.clrst")))
        else {
            continue;
        };
        let pid = rest.get(..8).and_then(|hex| u32::from_str_radix(hex, 16).ok());
        let ours = file.metadata().is_ok_and(|found| found.uid() == user);
        if let Some(pid) = pid
            && ours
            && !std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !has_ended(&stat))
        {
            // Another process may have removed it first.
            drop(std::fs::remove_file(file.path()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::time::Duration;

    use super::super::start_time;
    use super::*;

    #[test]
    fn pipes_of_dead_processes_are_removed_and_waits_for_them_end() {
        let folder = std::env::temp_dir().join(format!("tandem-sweep-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let fifo = |name: &str| {
            let path = CString::new(folder.join(name).to_str().unwrap()).unwrap();
            // SAFETY: the path ends with a zero.
            assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
        };
        let own = std::process::id();
        let key = start_time(&std::fs::read_to_string("/proc/self/stat").unwrap()).unwrap();
        // No process can have this number (proc(5), pid_max).
        let (gone, living) = ("clr-debug-pipe-4194305-7-out", format!("clr-debug-pipe-{own}-{key}-in"));
        // Another process than the one that created it has this number now.
        let reused = format!("clr-debug-pipe-{own}-{}-in", key + 1);
        [gone, &living, &reused, "unrelated-4194305-7"].into_iter().for_each(fifo);
        // A process of another pid namespace.
        fifo("clr-debug-pipe-4194306-7-in");
        let listens =
            std::os::unix::net::UnixListener::bind(folder.join("dotnet-diagnostic-4194306-7-socket"));
        let waiting = folder.join(gone);
        let (opening, opens) = std::sync::mpsc::channel();
        let waits = std::thread::spawn(move || {
            opening.send(()).unwrap();
            std::fs::read(waiting)
        });
        opens.recv().unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let kept = RuntimeFiles::of_folder(&folder).sweep();
        assert_eq!(waits.join().unwrap().unwrap_or_default(), b"");
        let mut left: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name()).collect();
        left.sort();
        let expected = [
            "clr-debug-pipe-4194306-7-in",
            &living,
            "dotnet-diagnostic-4194306-7-socket",
            "unrelated-4194305-7",
        ];
        let mut expected = expected.map(std::ffi::OsString::from);
        expected.sort();
        assert_eq!(left, expected);
        // The other process ends later.
        drop(listens);
        fifo("clr-debug-pipe-4194307-7-in");
        let owners: Vec<u32> = kept.sweep().0.keys().map(|runtime| runtime.pid).collect();
        assert_eq!(owners, [own]);
        assert!(!folder.join("clr-debug-pipe-4194306-7-in").exists() && folder.join(&living).exists());
        assert!(folder.join("clr-debug-pipe-4194307-7-in").exists(), "the folder was searched again");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_listener_that_takes_no_more_connections_keeps_no_sweep_waiting() {
        let folder = std::env::temp_dir().join(format!("tandem-full-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        // The process that created it has ended, and a child that inherited it is suspended.
        let socket = folder.join("dotnet-diagnostic-4194307-7-socket");
        let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let address = SocketAddrUnix::new(&socket).unwrap();
        let mut waiting = Vec::new();
        loop {
            let flags = SocketFlags::NONBLOCK;
            let stream =
                rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
            match rustix::net::connect(&stream, &address) {
                Ok(()) => waiting.push(stream),
                Err(error) => break assert_eq!(error, Errno::AGAIN),
            }
        }
        let (done, swept) = std::sync::mpsc::channel();
        let place = folder.clone();
        std::thread::spawn(move || {
            drop(RuntimeFiles::of_folder(&place).sweep());
            done.send(()).unwrap_or_default();
        });
        swept.recv_timeout(Duration::from_secs(10)).expect("the sweep does not wait");
        assert!(socket.exists(), "it has a listener");
        drop(listener);
        drop(RuntimeFiles::of_folder(&folder).sweep());
        assert!(!socket.exists());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn files_of_a_process_that_was_not_waited_for_are_removed() {
        let folder = std::env::temp_dir().join(format!("tandem-zombie-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let key = start_time(&stat()).unwrap();
        let file = folder.join(format!("clr-debug-pipe-{pid}-{key}-in"));
        let semaphore = std::path::PathBuf::from(format!("/dev/shm/sem.clrco{pid:08x}{key:016x}"));
        let path = CString::new(file.to_str().unwrap()).unwrap();
        // SAFETY: the path ends with a zero.
        assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
        std::fs::write(&semaphore, "").unwrap();
        drop(RuntimeFiles::of_folder(&folder).sweep());
        sweep_semaphores();
        assert!(file.exists() && semaphore.exists(), "it lives");
        child.kill().unwrap();
        while !has_ended(&stat()) {
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(RuntimeFiles::of_folder(&folder).sweep());
        sweep_semaphores();
        assert!(!file.exists() && !semaphore.exists(), "it is only waited for");
        child.wait().unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn start_time_is_found_after_any_name() {
        let stat = "12 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20";
        assert_eq!(start_time(stat), Some(777));
        assert_eq!(start_time("nonsense"), None);
    }
}
