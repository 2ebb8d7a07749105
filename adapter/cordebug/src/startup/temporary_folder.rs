//! The temporary folder of a process, in which its runtime creates the debugging pipes. It may differ from
//! ours.
//!
//! It is recorded when the process is first seen, because it cannot be read after the process has ended. Not
//! here: the pipes themselves.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The variable with the path of the folder. If it is empty or not set, the folder is [`DEFAULT_FOLDER`].
pub const VARIABLE: &str = "TMPDIR";
/// The runtime's default for the temporary folder.
const DEFAULT_FOLDER: &str = "/tmp";
/// Number of entries above which entries of ended processes are removed.
const MIN_SWEPT_ENTRIES: usize = 64;

static FOLDERS: Mutex<BTreeMap<u32, PathBuf>> = Mutex::new(BTreeMap::new());

/// A variable of a process, as it was when the process executed its program; `None` also if the
/// environment cannot be read.
pub fn variable_of(pid: u32, name: &str) -> Option<OsString> {
    let environment = std::fs::read(Path::new("/proc").join(pid.to_string()).join("environ")).ok()?;
    let mut lines = environment.split(|byte| *byte == 0);
    lines.find_map(|line| {
        let value = line.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        Some(OsString::from_vec(value.to_vec()))
    })
}

/// Records the folder of a process, unless the process has ended or belongs to another user.
pub(crate) fn remember(pid: u32) {
    let process = Path::new("/proc").join(pid.to_string());
    // A zombie has an environment without variables, and no executable.
    if std::fs::read_link(process.join("exe")).is_err() {
        return;
    }
    let named = variable_of(pid, VARIABLE).filter(|named| !named.is_empty());
    // A relative path begins at the current folder of the process.
    let folder = std::fs::read_link(process.join("cwd"))
        .unwrap_or_default()
        .join(named.unwrap_or_else(|| DEFAULT_FOLDER.into()));
    let folder = folder.canonicalize().unwrap_or(folder);
    let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    if folders.len() > MIN_SWEPT_ENTRIES {
        folders.retain(|pid, _| Path::new("/proc").join(pid.to_string()).exists());
    }
    folders.insert(pid, folder);
}

/// The recorded folder of a process; otherwise ours.
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
        // The process executes the program before its environment can be read.
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
        let usual = Path::new(DEFAULT_FOLDER).canonicalize().unwrap();
        let named =
            [None, Some(""), Some(own.to_str().unwrap()), Some(name), link.to_str(), Some("/no/such")];
        let expected = [&usual, &usual, &own, &own, &own, Path::new("/no/such")];
        for (named, expected) in named.into_iter().zip(expected) {
            let mut child = sleeping(named, &within);
            remember(child.id());
            child.kill().unwrap();
            child.wait().unwrap();
            // It can no longer be read, so the recorded folder is kept.
            remember(child.id());
            assert_eq!(folder_of(child.id()), expected, "{named:?}");
        }
        // No process can have this number (proc(5), pid_max).
        assert_eq!(folder_of(4_194_305), std::env::temp_dir());
    }
}
