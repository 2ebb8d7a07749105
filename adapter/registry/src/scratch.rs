//! A folder for sockets and temporary files of an adapter during a session. Some adapters do not remove them
//! when they are killed; Tandem removes the folder with the session. If a host is killed, the next listing of
//! live sessions removes its folders.

use std::fs::File;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};

use crate::{MAX_PARTIAL_FILE_AGE, is_older, user};

/// A scratch folder with mode 0700. Dropping this removes it with its content.
#[derive(Debug)]
pub struct ScratchFolder {
    path: PathBuf,
    /// Locked as long as the folder is in use. The kernel releases the lock when this process ends.
    _lock: File,
}

impl ScratchFolder {
    /// Creates a folder in the session folder, which must exist.
    ///
    /// # Errors
    /// When the folder cannot be created or locked.
    pub fn new(folder: &Path) -> std::io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{}-{number}.d", std::process::id()));
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                // A folder of an earlier process with the same id.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(()) => {
                    let lock = File::open(&path)?;
                    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
                    return Ok(Self { path, _lock: lock });
                }
            }
        }
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // The folder may have been removed already. The next host tries again to remove files that cannot be
        // removed now.
        drop(std::fs::remove_dir_all(&self.path));
    }
}

/// Removes a scratch folder that is no longer in use.
pub(crate) fn sweep(path: &Path) {
    let ours = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == user());
    // A folder that has just been created is not locked yet, unless its creator has ended.
    if !ours || !(is_older(path, MAX_PARTIAL_FILE_AGE) || has_creator_ended(path)) {
        return;
    }
    if let Ok(folder) = File::open(path)
        && flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok()
    {
        // Another process may have removed it first.
        drop(std::fs::remove_dir_all(path));
    }
}

/// Whether the process that created the folder has ended. Its id is at the beginning of the name. A process
/// that has not been reaped yet has ended, too.
fn has_creator_ended(path: &Path) -> bool {
    let maker = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.split_once('-'));
    let Some(pid) = maker.and_then(|(pid, _)| pid.parse::<u32>().ok()) else { return false };
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X'])),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_session_and_a_leftover_with_the_next_look() {
        let sessions = tempfile::tempdir().unwrap();
        let scratch = ScratchFolder::new(sessions.path()).unwrap();
        let path = scratch.path().to_owned();
        std::fs::write(path.join("socket"), "").unwrap();
        let long_ago = std::time::SystemTime::now() - 2 * MAX_PARTIAL_FILE_AGE;
        File::open(&path).unwrap().set_modified(long_ago).unwrap();
        sweep(&path);
        assert!(path.join("socket").exists(), "it is in use");
        drop(scratch);
        assert!(!path.exists());

        // No process can have this number (proc(5), pid_max).
        let orphan = sessions.path().join("4194305-0.d");
        std::fs::create_dir(&orphan).unwrap();
        sweep(&orphan);
        assert!(!orphan.exists(), "its maker is gone");

        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("socket"), "").unwrap();
        sweep(&path);
        assert!(path.exists(), "it may be one that is being made");
        File::open(&path).unwrap().set_modified(long_ago).unwrap();
        sweep(&path);
        assert!(!path.exists());
    }
}
