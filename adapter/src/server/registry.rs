//! The folder that says which sessions live: `ID.json` and `ID.sock` for each, both gone when it ends.
//!
//! The folder must be ours alone: whoever can write there can make us talk to a false session.

use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

/// What `ID.json` holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Short and easy to type.
    pub id: String,
    /// The host's process.
    pub pid: u32,
    /// For people.
    pub title: String,
    /// What is debugged.
    pub program: String,
    /// Which engine.
    pub engine: String,
    /// The program's folder to work in.
    pub cwd: Option<String>,
    /// Seconds since 1970.
    pub started: u64,
    /// Where to join.
    pub socket: PathBuf,
}

/// `$XDG_RUNTIME_DIR/tandem`, else `tandem-UID` in the temporary folder.
pub fn folder() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty()) {
        Some(runtime) => Path::new(&runtime).join("tandem"),
        None => std::env::temp_dir().join(format!("tandem-{}", rustix::process::getuid().as_raw())),
    }
}

/// Makes the folder, or checks that it is a real folder of ours that nobody else may enter.
///
/// # Errors
/// When it cannot be made or is not safe.
pub fn prepare(folder: &Path) -> anyhow::Result<()> {
    let made = std::fs::DirBuilder::new().recursive(false).mode(0o700).create(folder);
    if let Err(error) = made
        && error.kind() != std::io::ErrorKind::AlreadyExists
    {
        return Err(error).with_context(|| format!("cannot make the session folder `{}`", folder.display()));
    }
    let found = std::fs::symlink_metadata(folder)
        .with_context(|| format!("cannot look at the session folder `{}`", folder.display()))?;
    if !found.is_dir() || found.uid() != rustix::process::getuid().as_raw() {
        bail!("the session folder `{}` is not a folder of this user; remove it", folder.display());
    }
    if found.permissions().mode() & 0o077 != 0 {
        bail!("others may enter the session folder `{}`; make it private with `chmod 700`", folder.display());
    }
    Ok(())
}

/// All sessions that live. What a crashed host left is removed.
pub fn live(folder: &Path) -> Vec<Entry> {
    let Ok(files) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut entries = Vec::new();
    for file in files.flatten() {
        let path = file.path();
        let is = |ending: &str| path.extension().is_some_and(|extension| extension == ending);
        // A host may have been killed between its two files; nobody listens on what it left.
        if is("sock")
            && !path.with_extension("json").exists()
            && std::os::unix::net::UnixStream::connect(&path).is_err()
        {
            drop(std::fs::remove_file(&path));
        }
        if !is("json") {
            continue;
        }
        let entry = std::fs::read(&path).ok().and_then(|text| serde_json::from_slice::<Entry>(&text).ok());
        match entry {
            // A socket nobody listens on belongs to a host that is gone.
            Some(entry) if std::os::unix::net::UnixStream::connect(&entry.socket).is_ok() => {
                entries.push(entry)
            }
            _ => {
                drop(std::fs::remove_file(&path));
                drop(std::fs::remove_file(path.with_extension("sock")));
            }
        }
    }
    entries.sort_by(|one, other| one.started.cmp(&other.started).then_with(|| one.id.cmp(&other.id)));
    entries
}

/// A session's two files; dropping it removes them.
#[derive(Debug)]
pub struct Published {
    json: PathBuf,
    socket: PathBuf,
}

impl Published {
    /// Listens on the session's socket, then writes its file, so that whoever reads the file can connect.
    ///
    /// # Errors
    /// From the file system.
    pub fn new(
        folder: &Path,
        publication: crate::hub::event::Publication,
        id: &str,
    ) -> anyhow::Result<(Self, tokio::net::UnixListener)> {
        let published =
            Self { json: folder.join(format!("{id}.json")), socket: folder.join(format!("{id}.sock")) };
        let listener = tokio::net::UnixListener::bind(&published.socket)
            .with_context(|| format!("cannot listen on `{}`", published.socket.display()))?;
        std::fs::set_permissions(&published.socket, std::fs::Permissions::from_mode(0o600))?;
        let entry = Entry {
            id: id.to_owned(),
            pid: std::process::id(),
            title: publication.title,
            program: publication.program,
            engine: publication.engine,
            cwd: publication.cwd,
            started: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            socket: published.socket.clone(),
        };
        let written = published.json.with_extension("new");
        std::fs::write(&written, serde_json::to_vec_pretty(&entry)?)?;
        std::fs::rename(&written, &published.json)?;
        Ok((published, listener))
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        // Gone already is as good.
        drop(std::fs::remove_file(&self.json));
        drop(std::fs::remove_file(&self.socket));
    }
}

/// An id no live session has: a short word and a number.
pub fn new_id(folder: &Path) -> String {
    const WORDS: [&str; 24] = [
        "ant", "bee", "cat", "cod", "cow", "doe", "dog", "eel", "elk", "emu", "fox", "gnu", "hen", "jay",
        "kid", "owl", "pig", "ram", "rat", "ray", "sow", "wren", "yak", "zebu",
    ];
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    let mut seed = u64::from(clock) ^ (u64::from(std::process::id()) << 20);
    loop {
        // A step of a linear congruential generator: enough to make two hosts' guesses differ.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = WORDS.get((seed >> 33) as usize % WORDS.len()).copied().unwrap_or("fox");
        let id = format!("{word}{}", (seed >> 45) % 100);
        if !folder.join(format!("{id}.sock")).exists() {
            return id;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_a_link_or_open_to_others_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let real = place.path().join("real");
        prepare(&real).unwrap();
        prepare(&real).unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert!(prepare(&link).is_err());
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(prepare(&real).is_err());
    }

    #[tokio::test]
    async fn a_session_is_found_while_it_lives_and_swept_when_it_crashed() {
        let place = tempfile::tempdir().unwrap();
        let (published, listener) = Published::new(place.path(), Default::default(), "fox1").unwrap();
        assert_eq!(live(place.path()).len(), 1);
        // As after a crash: the files stay, nobody listens.
        std::mem::forget(published);
        drop(listener);
        drop(std::os::unix::net::UnixListener::bind(place.path().join("owl2.sock")).unwrap());
        assert_eq!(live(place.path()), vec![]);
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
