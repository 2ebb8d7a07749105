//! A host's side: its id, its socket and its file.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::Entry;

/// A session's two files; dropping it removes them.
#[derive(Debug)]
pub struct Published {
    json: PathBuf,
    socket: PathBuf,
    entry: Entry,
}

impl Published {
    /// Listens on the session's socket, then writes its file, so that whoever reads the file can connect. `entry.socket` and
    /// `entry.started` are filled in. Each file gets its name when it is complete, and never another session's.
    ///
    /// # Errors
    /// From the file system; when a live session has this id.
    pub fn new(folder: &Path, mut entry: Entry) -> anyhow::Result<(Self, UnixListener)> {
        let id = &entry.id;
        let (json, socket) = (folder.join(format!("{id}.json")), folder.join(format!("{id}.sock")));
        let new = folder.join(format!("{id}.sock.new"));
        // What a host of this id left half done, if anything.
        drop(std::fs::remove_file(&new));
        let listener =
            UnixListener::bind(&new).with_context(|| format!("cannot listen on `{}`", new.display()))?;
        std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o600))?;
        finish(&new, &socket)?;
        entry.socket = socket.clone();
        entry.started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let published = Self { json, socket, entry };
        finish(&published.write()?, &published.json)?;
        Ok((published, listener))
    }

    /// The same session runs another program now: its file says so from here on.
    ///
    /// # Errors
    /// From the file system; the file is as it was then.
    pub fn change(&mut self, change: impl FnOnce(&mut Entry)) -> anyhow::Result<()> {
        change(&mut self.entry);
        let new = self.write()?;
        std::fs::rename(&new, &self.json).with_context(|| format!("cannot replace `{}`", self.json.display()))
    }

    /// The file under a name nobody reads, complete.
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
        // More numbers when many sessions live.
        let numbers = if seed % 4 == 0 { 10_000 } else { 100 };
        let id = format!("{word}{}", (seed >> 45) % numbers);
        if !folder.join(format!("{id}.sock")).exists() {
            return id;
        }
    }
}
