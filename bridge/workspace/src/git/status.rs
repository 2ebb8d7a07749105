//! `git_status` and `git_current_branch`.
//!
//! Not here: patches ([`super::diff`]), other branches ([`super::history`]).

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use serde::Serialize;
use tandem_error::Failure;

use super::repository::Repository;
use super::submodules;
use crate::quoted_path::quote;

/// Maximum number of paths in an answer.
pub const MAX_PATHS: usize = 500;
/// Submodules that one answer looks into.
const MAX_SUBMODULES: usize = 50;

/// The answer of `git_status`.
#[derive(Debug, Default, Serialize)]
pub struct Status {
    /// The status in the format of `git status --porcelain`.
    pub output: String,
    /// The branch, also before its first commit; empty when detached.
    pub branch: String,
    /// Abbreviated; absent before the first commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Branch that the current one tracks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// Commits the upstream does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u64>,
    /// Commits only the upstream has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behind: Option<u64>,
    /// Whether nothing is changed, staged or untracked.
    pub clean: bool,
    /// Changed files, up to [`MAX_PATHS`].
    pub files: Vec<ChangedFile>,
    /// Number of changed files, including those not listed.
    pub total: usize,
    /// Parts that were not checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A file or submodule that differs from HEAD or the index.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    /// Two letters, index and working tree, as git prints them (` M`, `A `, `??`, `UU`).
    pub status: String,
    /// Relative to the top, quoted as git does when it is not plain text.
    pub path: String,
    /// Path before it was renamed or copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Changes inside a submodule: `modified content`, `untracked content`, or both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submodule: Option<&'static str>,
}

/// `git_current_branch`.
#[derive(Debug, Serialize)]
pub struct CurrentBranch {
    /// Current branch; empty when detached.
    pub branch: String,
    /// Absent before the first commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// HEAD is a commit, not a branch.
    pub detached: bool,
}

/// Returns changed, staged and untracked files.
///
/// # Errors
/// `COMMAND_FAILED` and those of running git.
pub async fn status(repository: &Repository<'_>) -> Result<Status, Failure> {
    let submodules = submodules::list(repository).await?;
    let mut arguments: Vec<std::ffi::OsString> = [
        "status",
        "--porcelain=v2",
        "--branch",
        "-z",
        "--untracked-files=normal",
        "--ignore-submodules=dirty",
        "--",
    ]
    .map(Into::into)
    .into();
    arguments.extend(repository.paths(&[])?);
    let out = repository.need(arguments).await?;
    let mut status = parse(&out);
    add_changed(repository, &submodules, &mut status).await?;
    status.output = status.files.iter().map(ChangedFile::line).collect();
    Ok(status)
}

/// Adds the submodules in which something is changed.
///
/// # Errors
/// Those of opening a submodule and of running git.
async fn add_changed(
    repository: &Repository<'_>,
    paths: &[PathBuf],
    found: &mut Status,
) -> Result<(), Failure> {
    if repository.depth >= submodules::MAX_DEPTH {
        return Ok(());
    }
    if paths.len() > MAX_SUBMODULES {
        found
            .notes
            .push(format!("of {} submodules, only the first {MAX_SUBMODULES} were looked into", paths.len()));
    }
    for path in paths.iter().take(MAX_SUBMODULES) {
        let Some(own) = repository.submodule(path).await? else { continue };
        let inner = Box::pin(status(&own)).await?;
        if inner.clean {
            continue;
        }
        let untracked = inner.files.iter().any(|file| file.status == "??");
        let modified = inner.files.iter().any(|file| file.status != "??");
        let what = match (modified, untracked) {
            (true, true) => "modified content, untracked content",
            (_, true) => "untracked content",
            _ => "modified content",
        };
        let below = repository.below_top(path);
        note(found, &quote(below.as_os_str().as_bytes()), what);
    }
    Ok(())
}

/// Marks one path as changed inside.
fn note(found: &mut Status, path: &str, what: &'static str) {
    found.clean = false;
    if let Some(file) = found.files.iter_mut().find(|file| file.path == path) {
        if file.status.ends_with(' ') {
            file.status.truncate(1);
            file.status.push('M');
        }
        file.submodule = Some(what);
        return;
    }
    found.total += 1;
    let tracked = found.files.iter().position(|file| file.status == "??").unwrap_or(found.files.len());
    let changed =
        ChangedFile { status: " M".into(), path: path.to_owned(), from: None, submodule: Some(what) };
    found.files.insert(tracked, changed);
}

impl ChangedFile {
    /// The line in the format of `git status --porcelain`.
    fn line(&self) -> String {
        match &self.from {
            Some(from) => format!("{} {from} -> {}\n", self.status, self.path),
            None => format!("{} {}\n", self.status, self.path),
        }
    }
}

/// The branch HEAD names.
///
/// # Errors
/// Those of running git.
pub async fn current_branch(repository: &Repository<'_>) -> Result<CurrentBranch, Failure> {
    let branch = repository.run(["symbolic-ref", "--quiet", "--short", "HEAD"]).await?;
    let commit = repository.run(["rev-parse", "--verify", "--quiet", "--short", "HEAD^{commit}"]).await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes.trim_ascii_end()).into_owned();
    Ok(CurrentBranch {
        branch: text(&branch.out),
        commit: commit.ended.success().then(|| text(&commit.out)),
        detached: !branch.ended.success(),
    })
}

/// Reads `--porcelain=v2 --branch -z`.
fn parse(out: &[u8]) -> Status {
    let mut status = Status { clean: true, ..Status::default() };
    let mut records = out.split(|byte| *byte == 0);
    while let Some(record) = records.next() {
        // How many fields, separated by spaces, precede the path.
        let fields = match record.first() {
            Some(b'#') => {
                header(&mut status, &String::from_utf8_lossy(record));
                continue;
            }
            Some(b'1') => 8,
            Some(b'2') => 9,
            Some(b'u') => 10,
            Some(b'?' | b'!') => 1,
            _ => continue,
        };
        let mut parts = record.splitn(fields + 1, |byte| *byte == b' ');
        let kind = parts.next().unwrap_or_default();
        let letters = match kind {
            b"?" => "??".to_owned(),
            b"!" => "!!".to_owned(),
            _ => String::from_utf8_lossy(parts.next().unwrap_or_default()).replace('.', " "),
        };
        let path = quote(parts.last().unwrap_or_default());
        let from = (kind == b"2").then(|| quote(records.next().unwrap_or_default()));
        status.clean = false;
        status.total += 1;
        if status.files.len() < MAX_PATHS {
            status.files.push(ChangedFile { status: letters, path, from, submodule: None });
        }
    }
    status
}

fn header(status: &mut Status, line: &str) {
    let mut words = line.split(' ').skip(1);
    match (words.next(), words.next()) {
        (Some("branch.oid"), Some(commit)) if commit != "(initial)" => {
            status.commit = Some(commit.chars().take(10).collect());
        }
        (Some("branch.head"), Some(branch)) if branch != "(detached)" => status.branch = branch.to_owned(),
        (Some("branch.upstream"), Some(upstream)) => status.upstream = Some(upstream.to_owned()),
        (Some("branch.ab"), Some(ahead)) => {
            status.ahead = ahead.strip_prefix('+').and_then(|number| number.parse().ok());
            status.behind = words.next().and_then(|behind| behind.strip_prefix('-')?.parse().ok());
        }
        _ => {}
    }
}
