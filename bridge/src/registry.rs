//! Sessions that can be joined: the files their hosts publish.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What a session's file holds; fields we do not know are nobody's business here.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    /// To join it by.
    pub id: String,
    /// Its host's process.
    pub pid: u32,
    /// For people.
    pub title: String,
    /// What is debugged.
    pub program: String,
    /// Which engine.
    pub engine: String,
    /// Where to join.
    pub socket: PathBuf,
}

/// `$XDG_RUNTIME_DIR/tandem`, else `tandem-UID` in the temporary folder.
fn folder() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty()) {
        Some(runtime) => Path::new(&runtime).join("tandem"),
        None => std::env::temp_dir().join(format!("tandem-{}", rustix::process::getuid().as_raw())),
    }
}

/// Sessions somebody listens for. A folder that is not this user's alone is not trusted.
pub fn live() -> Vec<Entry> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let folder = folder();
    let trusted = std::fs::symlink_metadata(&folder).is_ok_and(|found| {
        found.is_dir()
            && found.uid() == rustix::process::getuid().as_raw()
            && found.permissions().mode() & 0o077 == 0
    });
    let files = if trusted { std::fs::read_dir(&folder).ok() } else { None };
    let mut entries: Vec<Entry> = files
        .into_iter()
        .flatten()
        .flatten()
        .filter(|file| file.path().extension().is_some_and(|ending| ending == "json"))
        .filter_map(|file| serde_json::from_slice(&std::fs::read(file.path()).ok()?).ok())
        .filter(|entry: &Entry| std::os::unix::net::UnixStream::connect(&entry.socket).is_ok())
        .collect();
    entries.sort_by(|one, other| one.id.cmp(&other.id));
    entries
}
