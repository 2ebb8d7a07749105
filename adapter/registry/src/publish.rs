//! The two files of a session: the socket of the host, and its record.
//!
//! Not here: the choice of the id ([`crate::ReservedId`]), the list of sessions ([`crate::live`]).

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::{PROTOCOL, SessionRecord};

/// The two files of a published session. Dropping this removes them.
#[derive(Debug)]
pub struct PublishedSession {
    json: PathBuf,
    socket: PathBuf,
    entry: SessionRecord,
}

impl PublishedSession {
    /// Listens on the session's socket, then writes its file, so that a reader of the file can connect. This
    /// sets the socket, the time, the release and the protocol. Each file gets its name when it is complete,
    /// and never replaces the file of another session.
    ///
    /// # Errors
    /// From the file system; also if a live session has this id.
    pub fn new(folder: &Path, mut entry: SessionRecord) -> anyhow::Result<(Self, UnixListener)> {
        let id = &entry.id;
        let (json, socket) = (folder.join(format!("{id}.json")), folder.join(format!("{id}.sock")));
        let new = folder.join(format!("{id}.sock.new"));
        // Incomplete files of an earlier host with this id.
        drop(std::fs::remove_file(&new));
        let listener =
            UnixListener::bind(&new).with_context(|| format!("cannot listen on `{}`", new.display()))?;
        std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o600))?;
        finish(&new, &socket)?;
        entry.socket = socket.clone();
        entry.version = env!("CARGO_PKG_VERSION").to_owned();
        entry.protocol = PROTOCOL;
        entry.started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let published = Self { json, socket, entry };
        finish(&published.write()?, &published.json)?;
        Ok((published, listener))
    }

    /// Changes the record, for example if the session runs another program now.
    ///
    /// # Errors
    /// From the file system; the file is unchanged then.
    pub fn change(&mut self, change: impl FnOnce(&mut SessionRecord)) -> anyhow::Result<()> {
        change(&mut self.entry);
        let new = self.write()?;
        std::fs::rename(&new, &self.json).with_context(|| format!("cannot replace `{}`", self.json.display()))
    }

    /// Writes the complete file under a name that is never read.
    fn write(&self) -> anyhow::Result<PathBuf> {
        let new = self.json.with_extension("json.new");
        std::fs::write(&new, serde_json::to_vec_pretty(&self.entry)?)?;
        std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o600))?;
        Ok(new)
    }
}

fn finish(new: &Path, name: &Path) -> anyhow::Result<()> {
    renameat_with(CWD, new, CWD, name, RenameFlags::NOREPLACE).map_err(|error| {
        drop(std::fs::remove_file(new));
        anyhow::Error::new(error).context(format!("cannot make `{}`", name.display()))
    })
}

impl Drop for PublishedSession {
    fn drop(&mut self) {
        // The files may have been removed already.
        drop(std::fs::remove_file(&self.json));
        drop(std::fs::remove_file(&self.socket));
    }
}
