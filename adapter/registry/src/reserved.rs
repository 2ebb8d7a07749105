//! A session's id, which is reserved among the sessions of this user as soon as it is chosen. The session's
//! files are created later, when its program is launched. Not here: those files.

use std::fmt::{self, Display};
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};

const WORDS: [&str; 24] = [
    "ant", "bee", "cat", "cod", "cow", "doe", "dog", "eel", "elk", "emu", "fox", "gnu", "hen", "jay", "kid",
    "owl", "pig", "ram", "rat", "ray", "sow", "wren", "yak", "zebu",
];

/// An id that no other session has: a short word and a number. Dropping this releases the id.
#[derive(Debug)]
pub struct ReservedId {
    id: String,
    /// `ID.lock` in the session folder, and its lock, which the kernel releases in any case when this process
    /// ends. `None` if no file can be created: then the id was only unused when it was chosen.
    lock: Option<(PathBuf, File)>,
}

impl ReservedId {
    /// Chooses an id that is free in the session folder.
    pub fn new(folder: &Path) -> Self {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
        let mut seed = u64::from(clock) ^ (u64::from(std::process::id()) << 20);
        loop {
            // A step of a linear congruential generator, so that the guesses of two hosts differ.
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let word = WORDS.get((seed >> 33) as usize % WORDS.len()).copied().unwrap_or("fox");
            // More digits if many sessions are running.
            let numbers = if seed % 4 == 0 { 10_000 } else { 100 };
            if let Some(reserved) = Self::reserve(folder, format!("{word}{}", (seed >> 45) % numbers)) {
                return reserved;
            }
        }
    }

    /// Reserves this id, unless it is taken.
    pub(crate) fn reserve(folder: &Path, id: String) -> Option<Self> {
        let lock = match lock(folder, &id) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return None,
            // The session works without the reservation. If its files cannot be created either, Tandem
            // reports then that it cannot be joined.
            lock => lock.ok(),
        };
        let reserved = Self { id, lock };
        // A host of an earlier version does not reserve its id.
        let is_taken = folder.join(format!("{reserved}.sock")).exists();
        (!is_taken).then_some(reserved)
    }
}

/// Creates `ID.lock`, which is locked when it gets its name.
fn lock(folder: &Path, id: &str) -> std::io::Result<(PathBuf, File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let new = folder.join(format!("{}-{number}.lock.new", std::process::id()));
    let path = folder.join(format!("{id}.lock"));
    let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    let named = flock(&file, FlockOperation::NonBlockingLockExclusive)
        .and_then(|()| renameat_with(CWD, &new, CWD, &path, RenameFlags::NOREPLACE));
    if let Err(error) = named {
        drop(std::fs::remove_file(&new));
        return Err(error.into());
    }
    Ok((path, file))
}

impl Display for ReservedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}

impl Drop for ReservedId {
    fn drop(&mut self) {
        if let Some((path, _)) = &self.lock {
            // The file may have been removed already.
            drop(std::fs::remove_file(path));
        }
    }
}

/// Removes the file of a reservation whose process has ended.
pub(crate) fn sweep(path: &Path) {
    if let Ok(file) = File::open(path)
        && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
    {
        // Another process may have removed it first.
        drop(std::fs::remove_file(path));
    }
}
