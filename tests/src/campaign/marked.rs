//! The processes and files of one session, whoever started them: processes carry a mark in their environment, files are in folders of
//! the session's own.
//!
//! Not ours, and not looked for: what a program or its language's library makes elsewhere by a name of its own, such as the
//! semaphores of Python's `multiprocessing` in `/dev/shm`.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::fixture;

/// The variable that every process of a session inherits.
const MARK: &str = "TANDEM_CAMPAIGN";

/// A place for one session's processes and files.
pub(super) struct Marked {
    folder: tempfile::TempDir,
    mark: String,
    /// All that was ever seen, by process number: what they were.
    pub(super) seen: BTreeMap<u64, String>,
}

impl Marked {
    pub(super) fn new(number: u64) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        for name in ["run", "tmp"] {
            std::fs::DirBuilder::new().mode(0o700).create(folder.path().join(name))?;
        }
        let mark = format!("{MARK}={}-{number}", std::process::id());
        Ok(Self { folder, mark, seen: BTreeMap::new() })
    }

    /// The variables with which the session's first process starts.
    pub(super) fn environment(&self) -> HashMap<String, String> {
        let folder = |name: &str| self.folder.path().join(name).display().to_string();
        let value = self.mark.split_once('=').map(|(_, value)| value.to_owned()).unwrap_or_default();
        [(MARK, value), ("XDG_RUNTIME_DIR", folder("run")), ("TMPDIR", folder("tmp"))]
            .map(|(name, value)| (name.to_owned(), value))
            .into()
    }

    /// A name for a socket of ours.
    pub(super) fn socket(&self) -> PathBuf {
        self.folder.path().join("listener")
    }

    /// Sockets of live sessions.
    pub(super) fn sessions(&self) -> Vec<PathBuf> {
        let files = files_beneath(&self.folder.path().join("run"));
        files.into_iter().filter(|file| file.extension().is_some_and(|ending| ending == "sock")).collect()
    }

    /// The processes that are there now and no zombies: number and part.
    pub(super) fn processes(&mut self) -> Vec<(u64, String)> {
        let mark = self.mark.as_bytes();
        let found = std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
            let pid: u64 = entry.file_name().to_str()?.parse().ok()?;
            let environment = std::fs::read(entry.path().join("environ")).ok()?;
            let is_ours = environment.split(|byte| *byte == 0).any(|variable| variable == mark);
            (is_ours && fixture::alive(pid)).then(|| (pid, part(&entry.path())))
        });
        let found: Vec<_> = found.collect();
        self.seen.extend(found.iter().cloned());
        found
    }

    /// Files of the session that are there now. What a host that was killed had not yet given its name is swept a minute later.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let mut files = files_beneath(self.folder.path());
        files.retain(|file| file.extension().is_none_or(|ending| ending != "new"));
        let shared = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
        files.extend(shared.map(|file| file.path()).filter(|file| self.is_semaphore(file)));
        files
    }

    /// The runtime's, of a process of this session: `sem.clrst` or `sem.clrco`, its number in hexadecimal, its start.
    fn is_semaphore(&self, file: &Path) -> bool {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let rest = name.strip_prefix("sem.clrst").or_else(|| name.strip_prefix("sem.clrco"));
        let number = rest.and_then(|rest| u64::from_str_radix(rest.get(..8)?, 16).ok());
        number.is_some_and(|number| self.seen.contains_key(&number))
    }
}

impl Drop for Marked {
    fn drop(&mut self) {
        for (pid, _) in self.processes() {
            kill(pid);
        }
    }
}

/// Kills one process, at once.
pub(super) fn kill(pid: u64) {
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

/// What a process is in a session: one of Tandem's parts, else its program's name.
fn part(process: &Path) -> String {
    let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let program = words.next().unwrap_or_default().into_owned();
    let name = program.rsplit('/').next().unwrap_or_default().to_owned();
    let first = words.next().unwrap_or_default();
    match (name.as_str(), &*first) {
        ("tandem-mcp", _) => "bridge".into(),
        ("tandem-dap", "--listen") => "listener".into(),
        ("tandem-dap", word) if word.is_empty() || word.starts_with('-') => "relay".into(),
        ("tandem-dap", word) => word.to_owned(),
        _ => name,
    }
}
