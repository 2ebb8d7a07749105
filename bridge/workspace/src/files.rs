//! The file tools: each call is bounded, and done through a root's handle ([`Roots::at`]).
//!
//! In the children: [`reading`] (text by lines) and [`writing`] (whole files, atomically).
//!
//! Not here: whether a path is in a root ([`crate::roots`]), commands ([`crate::commands`]).

pub mod reading;
pub mod writing;

use std::io;
use std::os::unix::ffi::OsStrExt;

use serde::Serialize;
use tandem_error::Failure;

use crate::quoted_path::entry;
use crate::roots::Roots;

/// The answer of `list_directory`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listing {
    /// Names, sorted by their bytes.
    pub entries: Vec<String>,
    /// Entries that are folders (a link to a folder is a link).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<String>,
    /// Entries that are symbolic links.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// Number of entries, including those not listed.
    pub total: usize,
    /// Offset for the next call, if there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<usize>,
    /// Number of names that are not UTF-8. They are quoted as git does (`"\377"`), and
    /// every tool accepts them so.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_utf8: usize,
}

/// `file_exists` and `directory_exists`.
#[derive(Debug, Serialize)]
pub struct Existence {
    /// Whether it exists and is of the requested kind; links are followed.
    pub exists: bool,
    /// Size of a file, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Type of the existing entry, if another one was asked for: `file`, `directory`, `other`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<&'static str>,
}

/// The type of entry that `file_exists` and `directory_exists` look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryType {
    /// A regular file; links are followed.
    File,
    /// A folder; links are followed.
    Directory,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Names in a folder, from the `start`th (from 0), at most `count`.
///
/// # Errors
/// `PATH_NOT_ALLOWED`, `NOT_FOUND`, `INVALID_PARAMETER` when it is not a folder.
pub fn list(roots: &Roots, path: &str, start: usize, count: usize) -> Result<Listing, Failure> {
    let place = roots.place(path)?;
    let mut found = roots.at(&place, "list", true, |dir, path| {
        let mut found = Vec::new();
        for entry in dir.read_dir(path)? {
            let entry = entry?;
            // If an entry disappears in between, only its type is missing.
            found.push((entry.file_name(), entry.file_type().ok()));
        }
        Ok(found)
    })?;
    found.sort_by(|one, other| one.0.cmp(&other.0));
    let total = found.len();
    let mut listing = Listing {
        entries: Vec::new(),
        directories: Vec::new(),
        links: Vec::new(),
        total,
        next: (start.saturating_add(count) < total).then(|| start.saturating_add(count)),
        not_utf8: 0,
    };
    for (name, kind) in found.into_iter().skip(start).take(count) {
        listing.not_utf8 += usize::from(name.to_str().is_none());
        let name = entry(name.as_bytes());
        match kind {
            Some(kind) if kind.is_dir() => listing.directories.push(name.clone()),
            Some(kind) if kind.is_symlink() => listing.links.push(name.clone()),
            _ => {}
        }
        listing.entries.push(name);
    }
    Ok(listing)
}

/// Whether an entry of that kind exists.
///
/// # Errors
/// `PATH_NOT_ALLOWED`, also for a link that leads out; `IO_FAILED`.
pub fn exists(roots: &Roots, path: &str, entry_type: EntryType) -> Result<Existence, Failure> {
    let place = roots.place(path)?;
    let metadata = roots.at(&place, "look at", true, |dir, path| match dir.metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    })?;
    let Some(metadata) = metadata else {
        return Ok(Existence { exists: false, size: None, instead: None });
    };
    let kind = if metadata.is_file() {
        Some(EntryType::File)
    } else {
        metadata.is_dir().then_some(EntryType::Directory)
    };
    let exists = kind == Some(entry_type);
    Ok(Existence {
        exists,
        size: (exists && entry_type == EntryType::File).then(|| metadata.len()),
        instead: (!exists).then_some(match kind {
            Some(EntryType::File) => "file",
            Some(EntryType::Directory) => "directory",
            None => "other",
        }),
    })
}

#[cfg(test)]
mod tests;
