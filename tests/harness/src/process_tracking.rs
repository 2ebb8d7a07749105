//! Tracks the processes and files of one session, whatever started them: processes have a mark in their
//! environment, and files are in separate folders of the session.
//!
//! Not checked: files that a program or its language's library creates elsewhere under its own name, such as
//! the semaphores of Python's `multiprocessing` in `/dev/shm`.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::fixture;

/// Interval of the checks whether its processes have ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The variable that every process of a session inherits.
const MARK_VARIABLE: &str = "TANDEM_CAMPAIGN";

/// Finds and ends the processes of one session, and has folders for its files.
pub struct ProcessTracker {
    folder: tempfile::TempDir,
    mark: String,
    /// All processes of the session that were ever found, with their names, by pid.
    pub seen: BTreeMap<u64, String>,
}

impl ProcessTracker {
    /// `number`: different for each that one test process makes.
    ///
    /// # Errors
    /// When the folders cannot be made.
    pub fn new(number: u64) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        for name in ["run", "tmp"] {
            std::fs::DirBuilder::new().mode(0o700).create(folder.path().join(name))?;
        }
        let mark = format!("{MARK_VARIABLE}={}-{number}", std::process::id());
        Ok(Self { folder, mark, seen: BTreeMap::new() })
    }

    /// The variables with which the session's first process starts.
    pub fn environment(&self) -> HashMap<String, String> {
        let folder = |name: &str| self.folder.path().join(name).display().to_string();
        let value = self.mark.split_once('=').map(|(_, value)| value.to_owned()).unwrap_or_default();
        [(MARK_VARIABLE, value), ("XDG_RUNTIME_DIR", folder("run")), ("TMPDIR", folder("tmp"))]
            .map(|(name, value)| (name.to_owned(), value))
            .into()
    }

    /// The path of the listener's socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("listener")
    }

    /// Sockets of live sessions.
    pub fn sessions(&self) -> Vec<PathBuf> {
        let files = files_beneath(&self.folder.path().join("run"));
        files.into_iter().filter(|file| file.extension().is_some_and(|ending| ending == "sock")).collect()
    }

    /// The processes that are there now and no zombies: number and part.
    pub fn processes(&mut self) -> Vec<(u64, String)> {
        let mark = self.mark.as_bytes();
        let found = std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
            let pid: u64 = entry.file_name().to_str()?.parse().ok()?;
            let environment = std::fs::read(entry.path().join("environ")).ok()?;
            let is_ours = environment.split(|byte| *byte == 0).any(|variable| variable == mark);
            (is_ours && fixture::is_running(pid)).then(|| (pid, process_name(pid)))
        });
        let found: Vec<_> = found.collect();
        self.seen.extend(found.iter().cloned());
        found
    }

    /// Waits until all of its processes have ended.
    ///
    /// # Errors
    /// When some are after `limit`: which.
    pub async fn wait_until_ended(&mut self, limit: Duration) -> anyhow::Result<()> {
        let deadline = tokio::time::Instant::now() + limit;
        loop {
            let left = self.processes();
            if left.is_empty() {
                return Ok(());
            }
            anyhow::ensure!(tokio::time::Instant::now() < deadline, "left after {limit:?}: {left:?}");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// The session's files, except those that a killed host has not renamed: the next sweep
    /// removes them a minute later.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = files_beneath(self.folder.path());
        files.retain(|file| file.extension().is_none_or(|ending| ending != "new"));
        let shared = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
        files.extend(shared.map(|file| file.path()).filter(|file| self.is_semaphore(file)));
        files
    }

    /// Whether a semaphore of the runtime belongs to this session: `sem.clrst` or `sem.clrco`, then pid and
    /// start time in hexadecimal.
    fn is_semaphore(&self, file: &Path) -> bool {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let rest = name.strip_prefix("sem.clrst").or_else(|| name.strip_prefix("sem.clrco"));
        let number = rest.and_then(|rest| u64::from_str_radix(rest.get(..8)?, 16).ok());
        number.is_some_and(|number| self.seen.contains_key(&number))
    }
}

impl Drop for ProcessTracker {
    fn drop(&mut self) {
        for (pid, _) in self.processes() {
            kill(pid);
        }
    }
}

/// Kills one process at once.
pub fn kill(pid: u64) {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    // Gone already is as good.
    pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok());
}

/// Files and sockets in a folder and those in it; folders count for what is in them.
fn files_beneath(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            all.extend(files_beneath(&entry.path()));
        } else {
            all.push(entry.path());
        }
    }
    all
}

/// The command line of a process; empty when it is gone or a zombie.
pub fn command_line(pid: u64) -> Vec<String> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The name of a process in a session: that of Tandem's component, else its program's.
fn process_name(pid: u64) -> String {
    let words = command_line(pid);
    let program = words.first().map(String::as_str).unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or_default();
    let first = words.get(1).map(String::as_str).unwrap_or_default();
    match (name, first) {
        ("tandem-mcp", _) => "bridge".into(),
        ("tandem-dap", "--listen") => "listener".into(),
        ("tandem-dap", word) if word.is_empty() || word.starts_with('-') => "relay".into(),
        ("tandem-dap", word) => word.to_owned(),
        _ => name.to_owned(),
    }
}
