//! Repositories inside a working tree: submodules, and others that lie in it.
//!
//! Git reads the HEAD of each submodule wherever its `.git` leads, so all of them are checked before git
//! runs. Git itself never enters one: a separate run finds the changes inside, with the same checks as
//! for the outer repository.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tandem_error::Failure;

use super::layout::RepositoryLayout;
use super::repository::{Repository, git_failure};
use crate::process::output::BoundedOutput;
use crate::process::{OutputStream, Sink};

/// Submodules of submodules, so deep.
pub const MAX_DEPTH: usize = 4;
/// A longer record is not a path.
const MAX_RECORD_LEN: usize = 64 << 10;

/// The submodules below the folder of the call, relative to where git works. Everything that git
/// reads of them is in the roots.
///
/// # Errors
/// `PATH_NOT_ALLOWED` when one leads out of the roots; the errors of running git.
pub async fn list(repository: &Repository<'_>) -> Result<Vec<PathBuf>, Failure> {
    let mut arguments: Vec<OsString> = ["ls-files", "--stage", "-z", "--"].map(Into::into).into();
    arguments.extend(repository.paths(&[])?);
    let submodule = |record: &[u8]| {
        let at = record.iter().position(|byte| *byte == b'\t').filter(|_| record.starts_with(b"160000 "))?;
        record.get(at + 1..).map(<[u8]>::to_owned)
    };
    let found = records(repository, arguments, submodule).await?;
    for path in &found {
        check_submodule(repository, path)?;
    }
    Ok(found)
}

/// Checks everything that git reads when it compares or stores files: the submodules, and the folders of
/// tracked files. If such a folder has become a link, git would look for attributes beyond it.
///
/// # Errors
/// The errors of [`list`], also for folders of tracked files.
pub async fn check(repository: &Repository<'_>) -> Result<(), Failure> {
    list(repository).await?;
    let mut arguments: Vec<OsString> = ["ls-files", "-z", "--"].map(Into::into).into();
    arguments.extend(repository.paths(&[])?);
    let folder = |path: &[u8]| {
        let end = path.iter().rposition(|byte| *byte == b'/')?;
        path.get(..end).map(<[u8]>::to_owned)
    };
    for path in records(repository, arguments, folder).await? {
        let folder = repository.top.join(path);
        // Git does not read a folder that is gone.
        if let Ok(real) = folder.canonicalize() {
            repository.fence().check(&folder, &real)?;
        }
    }
    Ok(())
}

/// Checks the repositories that lie untracked at the paths a call is about to add.
///
/// # Errors
/// The errors of [`list`], for these repositories.
pub async fn check_untracked(repository: &Repository<'_>, paths: &[OsString]) -> Result<(), Failure> {
    let mut arguments: Vec<OsString> =
        ["ls-files", "--others", "--exclude-standard", "-z", "--"].map(Into::into).into();
    arguments.extend_from_slice(paths);
    // Only another repository is listed as a folder.
    let folder = |record: &[u8]| record.ends_with(b"/").then(|| record.to_owned());
    for path in records(repository, arguments, folder).await? {
        check_submodule(repository, &path)?;
    }
    Ok(())
}

/// Whether all that git reads at a submodule's place is in the roots.
fn check_submodule(repository: &Repository<'_>, path: &Path) -> Result<(), Failure> {
    let folder = repository.top.join(path);
    if folder.symlink_metadata().is_err() {
        return Ok(());
    }
    let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
    repository.fence().check(&folder, &real)?;
    match RepositoryLayout::at(repository.fence(), &real)? {
        Some(layout) => layout.check(repository.fence()),
        None => Ok(()),
    }
}

/// Records of a run of git, apart by NUL, that `keep` takes a path from; each path once.
async fn records(
    repository: &Repository<'_>,
    arguments: Vec<OsString>,
    keep: impl Fn(&[u8]) -> Option<Vec<u8>> + Send,
) -> Result<Vec<PathBuf>, Failure> {
    let verb = "ls-files";
    let mut sink =
        RecordSink { keep, record: Vec::new(), found: BTreeSet::new(), err: BoundedOutput::new(4096) };
    let ended = repository.run_into(&repository.command(arguments), &mut sink).await?;
    if !ended.success() {
        return Err(git_failure(verb, &sink.err.text()));
    }
    Ok(sink.found.iter().map(|path| PathBuf::from(OsStr::from_bytes(path))).collect())
}

struct RecordSink<F> {
    keep: F,
    record: Vec<u8>,
    found: BTreeSet<Vec<u8>>,
    err: BoundedOutput,
}

impl<F: Fn(&[u8]) -> Option<Vec<u8>> + Send> Sink for RecordSink<F> {
    fn take(&mut self, stream: OutputStream, bytes: &[u8]) {
        if stream == OutputStream::Err {
            return self.err.push(bytes);
        }
        for part in bytes.split_inclusive(|byte| *byte == 0) {
            let room = MAX_RECORD_LEN.saturating_sub(self.record.len()).min(part.len());
            self.record.extend_from_slice(part.get(..room).unwrap_or_default());
            if part.ends_with(&[0]) {
                let record = self.record.strip_suffix(&[0]).unwrap_or(&self.record);
                self.found.extend((self.keep)(record));
                self.record.clear();
            }
        }
    }
}
