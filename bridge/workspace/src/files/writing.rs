//! `write_file`, `delete_file`, `create_directory`. A file is replaced in one step: readers see the old or
//! the new text, never half of it.
//!
//! Git's own folder is not written to: its configuration and hooks name programs that git then runs. A folder
//! is opened first, and its actual location is read from the system: a path may lead elsewhere by the time it
//! is used.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use cap_std::fs::{Dir, File, Metadata, MetadataExt, OpenOptions};
use rustix::fs::{Timespec, Timestamps, UTIME_OMIT, futimens};
use serde::Serialize;
use tandem_error::{ErrorCode, Failure};

use crate::quoted_path::quote;
use crate::roots::Roots;

/// More is not written in one call.
pub const MAX_WRITE_BYTES: usize = 64 << 20;

/// Time of change of a file that lies further ahead is left alone, seconds.
const MAX_TIME_AHEAD: i64 = 60;

/// The answer of `write_file`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteFileResult {
    /// Where, links resolved; quoted as git does when it is not plain text.
    pub path: String,
    /// Number of bytes that were written.
    pub bytes_written: usize,
    /// There was no file before.
    pub created: bool,
}

/// `delete_file` and `create_directory`.
#[derive(Debug, Serialize)]
pub struct EntryChange {
    /// Path that was deleted or created; quoted as git does when it is not plain text.
    pub path: String,
    /// `create_directory`: false when it was there before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<bool>,
}

/// Writes a whole file, atomically. A link to a file inside the roots stays a link.
///
/// # Errors
/// `PATH_NOT_ALLOWED`, `NOT_FOUND` when its folder is missing, `INVALID_PARAMETER`
/// when the path is not a file.
pub fn write(roots: &Roots, path: &str, content: &[u8]) -> Result<WriteFileResult, Failure> {
    if content.len() > MAX_WRITE_BYTES {
        let message = format!("`content` has {} bytes; at most {MAX_WRITE_BYTES} are written", content.len());
        return Err(Failure::invalid(message));
    }
    let place = roots.place(path)?;
    let created = roots.at(&place, "write", true, |dir, path| {
        let target = target(dir, path)?;
        let (folder, name) = split(&target)?;
        let folder = dir.open_dir(folder)?;
        keep_out_of_git(dir, &folder, &name)?;
        replace(&folder, &name, content)
    })?;
    let path = place.absolute();
    let path = path.canonicalize().unwrap_or(path);
    Ok(WriteFileResult { path: quote(path.as_os_str().as_bytes()), bytes_written: content.len(), created })
}

/// Decodes `content` in base64.
///
/// # Errors
/// `INVALID_PARAMETER` if it is not base64.
pub fn decode(content: &str) -> Result<Vec<u8>, Failure> {
    let decoded = base64::engine::general_purpose::STANDARD.decode(content.trim());
    decoded.map_err(|error| Failure::invalid(format!("`content` is not base64: {error}")))
}

/// Deletes a file or a link (not its target). Folders are refused.
///
/// # Errors
/// `PATH_NOT_ALLOWED`, `NOT_FOUND`, `INVALID_PARAMETER` for a folder.
pub fn delete(roots: &Roots, path: &str) -> Result<EntryChange, Failure> {
    let place = roots.place(path)?;
    roots.at(&place, "delete", false, |dir, path| {
        let (folder, name) = split(path)?;
        let folder = dir.open_dir(&folder)?;
        keep_out_of_git(dir, &folder, &name)?;
        if folder.symlink_metadata(&name)?.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::IsADirectory,
                "it is a folder; only files are deleted",
            ));
        }
        folder.remove_file(&name)
    })?;
    Ok(EntryChange { path: quote(place.absolute().as_os_str().as_bytes()), created: None })
}

/// Creates a folder and missing parents. An existing folder is not an error.
///
/// # Errors
/// `PATH_NOT_ALLOWED`, `INVALID_PARAMETER` when a file is in the way.
pub fn create_directory(roots: &Roots, path: &str) -> Result<EntryChange, Failure> {
    let place = roots.place(path)?;
    let created = roots
        .at(&place, "create", true, |dir, path| create_missing(dir, path).map(|(_, created)| created))?;
    Ok(EntryChange { path: quote(place.absolute().as_os_str().as_bytes()), created: Some(created) })
}

/// Resolves the links of a path to write to, as long as they stay beneath the handle.
fn target(dir: &Dir, path: &Path) -> io::Result<PathBuf> {
    match dir.canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if dir.symlink_metadata(path).is_ok_and(|there| there.is_symlink()) {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a link that leads nowhere"));
            }
            Ok(path.to_owned())
        }
        found => found,
    }
}

/// Splits a path into folder and name.
fn split(path: &Path) -> io::Result<(PathBuf, OsString)> {
    let missing = || io::Error::new(io::ErrorKind::IsADirectory, "it is a folder");
    let name = path.file_name().ok_or_else(missing)?.to_owned();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    Ok((folder.unwrap_or(Path::new(".")).to_owned(), name))
}

/// The folder at a path, with those above it, made where it is missing; says whether it was.
fn create_missing(root: &Dir, path: &Path) -> io::Result<(Dir, bool)> {
    match root.open_dir(path) {
        Ok(there) => {
            keep_out_of_git(root, &there, OsStr::new(""))?;
            Ok((there, false))
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(io::Error::new(io::ErrorKind::NotADirectory, "a file of that name exists"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let (folder, name) = split(path)?;
            let (folder, _) = create_missing(root, &folder)?;
            keep_out_of_git(root, &folder, &name)?;
            match folder.create_dir(&name) {
                // Another process was faster.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                done => done?,
            }
            Ok((folder.open_dir(&name)?, true))
        }
        Err(error) => Err(error),
    }
}

/// Checks that a name in an open folder does not belong to git, wherever below the root that folder is by
/// now. A process that can rename folders at the same time can give any of them to git without our help.
fn keep_out_of_git(root: &Dir, folder: &Dir, name: &OsStr) -> io::Result<()> {
    let (root, folder) = (current_path(root)?, current_path(folder)?);
    let beneath = folder.strip_prefix(&root).map_err(|_| io::Error::other("its folder was moved away"))?;
    let real = beneath.join(name);
    let git = |part: &OsStr| part.eq_ignore_ascii_case(".git");
    if real.iter().any(git) {
        let message = format!("`{}` is git's own and not written to", real.display());
        return Err(io::Error::other(
            Failure::new(ErrorCode::PathNotAllowed, message).hint("use the git tools"),
        ));
    }
    Ok(())
}

/// The path of an open folder, as the system knows it now.
fn current_path(folder: &Dir) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()))
}

/// Writes to a temporary file and renames it over the old one; returns whether the file is new.
fn replace(folder: &Dir, name: &OsStr, content: &[u8]) -> io::Result<bool> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let old = match folder.symlink_metadata(name) {
        Ok(old) if old.is_file() => Some(old),
        Ok(old) if old.is_dir() => return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder")),
        Ok(_) => {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe, socket, device or link"));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if old.as_ref().is_some_and(|old| old.permissions().readonly()) {
        return Err(io::Error::from_raw_os_error(rustix::io::Errno::ACCESS.raw_os_error()));
    }
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let temporary = format!(".tandem-{}-{number}.tmp", std::process::id());
    let written = fill(folder, &temporary, old.as_ref(), content)
        .and_then(|()| folder.rename(&temporary, folder, name));
    if written.is_err() {
        // Report the first error, not one of the clean-up.
        folder.remove_file(&temporary).unwrap_or_default();
    }
    written.map(|()| old.is_none())
}

fn fill(folder: &Dir, name: &str, old: Option<&Metadata>, content: &[u8]) -> io::Result<()> {
    let mut file = folder.open_with(name, OpenOptions::new().write(true).create_new(true))?;
    if let Some(old) = old {
        file.set_permissions(old.permissions())?;
    }
    file.write_all(content)?;
    if let Some(old) = old {
        advance_time(&file, old)?;
    }
    file.sync_all()
}

/// Gives a file that replaces one of the same size in the same second the next second as its time of change.
/// Python compares size and seconds, and would import the bytecode of the old file.
fn advance_time(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    let ahead = old.mtime().saturating_sub(new.mtime());
    if new.len() != old.len() || !(0..=MAX_TIME_AHEAD).contains(&ahead) {
        return Ok(());
    }
    let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let last_modification = Timespec { tv_sec: old.mtime() + 1, tv_nsec: 0 };
    Ok(futimens(file, &Timestamps { last_access, last_modification })?)
}
