//! `git_diff`: the patch in parts, and the files that it changes.
//!
//! Not here: changed files without a patch ([`super::status`]), commits ([`super::history`]).

use std::ffi::OsString;

use serde::Serialize;
use tandem_error::Failure;

use super::repository::{Repository, git_failure, revision};
use super::status::MAX_PATHS;
use crate::process::output::BoundedOutput;
use crate::process::{OutputStream, Sink};
use crate::quoted_path::quote;

/// Options for a patch in the standard format, without running any program.
const OPTIONS: [&str; 5] =
    ["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"];

/// The answer of `git_diff`.
#[derive(Debug, Serialize)]
pub struct Diff {
    /// The patch, or a part of it.
    pub output: String,
    /// Files that the patch changes.
    pub files: Vec<DiffFile>,
    /// Number of changed files, including those not listed.
    pub total: usize,
    /// `start` of the next part of the patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// A file of a patch, with its counts.
#[derive(Debug, Serialize)]
pub struct DiffFile {
    /// Path relative to the top of the repository.
    pub path: String,
    /// Lines; absent for binary files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    /// Lines; absent for binary files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<u64>,
}

/// The versions and files to compare.
#[derive(Debug, Clone, Default)]
pub struct DiffOptions {
    /// Compare staged changes with HEAD; otherwise compare unstaged changes with the staged ones.
    pub staged: bool,
    /// Against this instead, or `A..B`.
    pub revision: Option<String>,
    /// Paths to compare; empty for all files.
    pub files: Vec<String>,
    /// Bytes of the patch to skip.
    pub start: u64,
    /// Bytes of the patch at most.
    pub max_bytes: usize,
}

/// Returns the patch between two versions.
///
/// # Errors
/// `COMMAND_FAILED`; `INVALID_PARAMETER` for an unknown revision.
pub async fn diff(repository: &Repository<'_>, selection: &DiffOptions) -> Result<Diff, Failure> {
    super::submodules::check(repository).await?;
    let mut rest: Vec<OsString> = Vec::new();
    if selection.staged {
        rest.push("--cached".into());
    }
    if let Some(text) = &selection.revision {
        rest.extend(["--end-of-options".into(), revision(text)?.into()]);
    }
    rest.push("--".into());
    rest.extend(repository.paths(&selection.files)?);
    let with = |more: &[&str]| {
        let options = OPTIONS.iter().chain(more).map(OsString::from);
        repository.command(options.chain(rest.clone()))
    };
    let mut window = Window {
        skip: selection.start,
        most: selection.max_bytes.max(1),
        kept: Vec::new(),
        more: false,
        err: BoundedOutput::new(4096),
    };
    let ended = repository.run_into(&with(&["--patch"]), &mut window).await?;
    if !ended.success() {
        return Err(git_failure("diff", &window.err.text()));
    }
    let counted = repository.run_command(&with(&["--numstat", "-z"])).await;
    let (files, total) = parse_numstat(&counted?.out);
    let (output, length) = window.text();
    Ok(Diff { output, files, total, next: window.more.then_some(selection.start + length) })
}

/// Reads `--numstat -z`: `added TAB removed TAB path NUL`, or for a rename `… TAB NUL from NUL to NUL`.
fn parse_numstat(out: &[u8]) -> (Vec<DiffFile>, usize) {
    let mut files: Vec<DiffFile> = Vec::new();
    let mut total = 0;
    let mut last: Option<&[u8]> = None;
    let mut records = out.split(|byte| *byte == 0);
    while let Some(record) = records.next() {
        let mut fields = record.splitn(3, |byte| *byte == b'\t');
        let (Some(added), Some(removed), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse().ok();
        let path = if path.is_empty() { records.nth(1).unwrap_or_default() } else { path };
        let one = DiffFile { path: quote(path), added: number(added), removed: number(removed) };
        // A file in conflict is listed twice, one after the other: as such, and compared with our side.
        if last.replace(path) == Some(path) {
            if let Some(listed) = files.last_mut().filter(|listed| listed.path == one.path) {
                *listed = one;
            }
            continue;
        }
        total += 1;
        if files.len() < MAX_PATHS {
            files.push(one);
        }
    }
    (files, total)
}

/// A part of a long output.
struct Window {
    skip: u64,
    most: usize,
    kept: Vec<u8>,
    more: bool,
    err: BoundedOutput,
}

impl Sink for Window {
    fn take(&mut self, stream: OutputStream, bytes: &[u8]) {
        if stream == OutputStream::Err {
            return self.err.push(bytes);
        }
        let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(bytes.len());
        self.skip -= skipped as u64;
        let bytes = bytes.get(skipped..).unwrap_or_default();
        let room = self.most.saturating_sub(self.kept.len()).min(bytes.len());
        self.more |= room < bytes.len();
        self.kept.extend_from_slice(bytes.get(..room).unwrap_or_default());
    }
}

impl Window {
    /// Whole lines, if there are any, and how many bytes they are.
    fn text(&self) -> (String, u64) {
        let whole = match self.kept.iter().rposition(|byte| *byte == b'\n') {
            Some(end) if self.more => self.kept.get(..=end).unwrap_or_default(),
            _ => &self.kept,
        };
        (String::from_utf8_lossy(whole).into_owned(), whole.len() as u64)
    }
}
