//! Where the runtime of a process has its debugging pipes: the temporary folder of that process, which need
//! not be ours.
//!
//! Kept from the time the process is seen, because it cannot be read after the process has ended. Not here:
//! the pipes themselves.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The variable that names it. When it is empty or not set, the folder is [`USUAL`].
pub const VARIABLE: &str = "TMPDIR";
/// The runtime's own default.
const USUAL: &str = "/tmp";
/// More entries than that are looked through for processes that are gone.
const MIN_SWEPT_ENTRIES: usize = 64;

static FOLDERS: Mutex<BTreeMap<u32, PathBuf>> = Mutex::new(BTreeMap::new());

/// A variable of a process, as it was when the process became the program it is; `None` also when that cannot
/// be read.
pub fn variable_of(pid: u32, name: &str) -> Option<OsString> {
    let environment = std::fs::read(Path::new("/proc").join(pid.to_string()).join("environ")).ok()?;
    let mut lines = environment.split(|byte| *byte == 0);
    lines.find_map(|line| {
        let value = line.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        Some(OsString::from_vec(value.to_vec()))
    })
}

/// Looks the folder of a process up and keeps it. Nothing is kept of a process that is not ours to see, or
/// has ended.
pub(crate) fn remember(pid: u32) {
    let process = Path::new("/proc").join(pid.to_string());
    // A zombie has an environment without variables, and no executable.
    if std::fs::read_link(process.join("exe")).is_err() {
        return;
    }
    let named = variable_of(pid, VARIABLE).filter(|named| !named.is_empty());
    // A relative one begins where the process is.
    let folder = std::fs::read_link(process.join("cwd"))
        .unwrap_or_default()
        .join(named.unwrap_or_else(|| USUAL.into()));
    let folder = folder.canonicalize().unwrap_or(folder);
    let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    if folders.len() > MIN_SWEPT_ENTRIES {
        folders.retain(|pid, _| Path::new("/proc").join(pid.to_string()).exists());
    }
    folders.insert(pid, folder);
}

/// The folder of a process that was seen; otherwise ours.
pub(crate) fn folder_of(pid: u32) -> PathBuf {
    let folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    folders.get(&pid).cloned().unwrap_or_else(std::env::temp_dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeping(folder: Option<&str>, within: &Path) -> std::process::Child {
        let mut command = std::process::Command::new("sleep");
        command.arg("60").current_dir(within).env_remove(VARIABLE);
        let child = command.envs(folder.map(|folder| (VARIABLE, folder))).spawn().unwrap();
        // It is the program before its environment can be seen.
        while std::fs::read(format!("/proc/{}/environ", child.id())).unwrap().is_empty() {
            std::thread::yield_now();
        }
        child
    }

    #[test]
    fn the_folder_of_a_process_is_kept_when_it_has_ended() {
        let scratch = tempfile::tempdir().unwrap();
        let within = scratch.path().canonicalize().unwrap();
        let own = within.join("own");
        std::fs::create_dir(&own).unwrap();
        std::os::unix::fs::symlink(&own, own.with_extension("link")).unwrap();
        let name = own.file_name().unwrap().to_str().unwrap();
        let link = own.with_extension("link");
        let usual = Path::new(USUAL).canonicalize().unwrap();
        let named =
            [None, Some(""), Some(own.to_str().unwrap()), Some(name), link.to_str(), Some("/no/such")];
        let expected = [&usual, &usual, &own, &own, &own, Path::new("/no/such")];
        for (named, expected) in named.into_iter().zip(expected) {
            let mut child = sleeping(named, &within);
            remember(child.id());
            child.kill().unwrap();
            child.wait().unwrap();
            // It can no longer be read; keep what is known.
            remember(child.id());
            assert_eq!(folder_of(child.id()), expected, "{named:?}");
        }
        // No process can have this number (proc(5), pid_max).
        assert_eq!(folder_of(4_194_305), std::env::temp_dir());
    }
}
