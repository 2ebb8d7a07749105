//! `git_log` and `git_list_branches`.
//!
//! Not here: the patch of a commit ([`super::diff`]), the current branch ([`super::status`]).

use std::ffi::OsString;

use serde::Serialize;
use tandem_error::Failure;

use super::repository::{Repository, git_failure, revision};

/// Maximum number of commits in one answer.
const MAX_COMMITS: u64 = 1000;

/// The answer of `git_log`.
#[derive(Debug, Default, Serialize)]
pub struct GitLog {
    /// The log in the format of `git log --oneline`.
    pub output: String,
    /// The commits of `output`, with all their fields.
    pub commits: Vec<Commit>,
    /// `start` of the next part, when there may be more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// A commit, as the log lists it.
#[derive(Debug, Serialize)]
pub struct Commit {
    /// The full hash of the commit.
    pub hash: String,
    /// Name and mail address of the author.
    pub author: String,
    /// Date of the author, in ISO 8601.
    pub date: String,
    /// First line of the message.
    pub subject: String,
}

/// The answer of `git_list_branches`.
#[derive(Debug, Default, Serialize)]
pub struct BranchList {
    /// The list in the format of `git branch -a`.
    pub output: String,
    /// The branches of `output`, with all their fields.
    pub branches: Vec<BranchInfo>,
}

/// A local or remote branch.
#[derive(Debug, Serialize)]
pub struct BranchInfo {
    /// `main`, or `origin/main` for one of a remote.
    pub name: String,
    /// Abbreviated hash of its commit.
    pub commit: String,
    /// Whether it is checked out here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub current: bool,
    /// Whether it belongs to a remote.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub remote: bool,
    /// Branch that it tracks; empty if it tracks none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub upstream: String,
}

/// The part of the log to list.
#[derive(Debug, Clone)]
pub struct LogOptions {
    /// Maximum number of commits.
    pub count: u64,
    /// Number of commits to skip.
    pub start: u64,
    /// The newest commit; HEAD by default.
    pub revision: Option<String>,
    /// Selects commits that touch these files.
    pub files: Vec<String>,
}

/// Commits, latest first; none before the first commit.
///
/// # Errors
/// `COMMAND_FAILED`, `INVALID_PARAMETER` for a revision that is none.
pub async fn log(repository: &Repository<'_>, selection: &LogOptions) -> Result<GitLog, Failure> {
    let count = selection.count.min(MAX_COMMITS);
    let mut arguments: Vec<OsString> = vec!["log".into(), "-z".into(), "--no-show-signature".into()];
    arguments.push("--format=tformat:%H%n%h%n%an <%ae>%n%aI%n%s".into());
    // One more shows whether there are more.
    arguments
        .extend([format!("--max-count={}", count + 1).into(), format!("--skip={}", selection.start).into()]);
    if let Some(text) = &selection.revision {
        arguments.extend(["--end-of-options".into(), revision(text)?.into()]);
    }
    arguments.push("--".into());
    arguments.extend(repository.paths(&selection.files)?);
    let output = repository.run(arguments).await?;
    if !output.ended.success() {
        let unborn = selection.revision.is_none()
            && !repository.run(["rev-parse", "--verify", "--quiet", "HEAD"]).await?.ended.success();
        return if unborn { Ok(GitLog::default()) } else { Err(git_failure("log", &output.err)) };
    }
    let text = String::from_utf8_lossy(&output.out);
    let mut log = GitLog::default();
    for record in text.split('\0').filter(|record| !record.is_empty()) {
        if log.commits.len() as u64 == count {
            log.next = Some(selection.start + count);
            break;
        }
        let mut fields = record.splitn(5, '\n').map(str::to_owned);
        let mut field = || fields.next().unwrap_or_default();
        let (hash, short, author, date, subject) = (field(), field(), field(), field(), field());
        log.output += &format!("{short} {subject}\n");
        log.commits.push(Commit { hash, author, date, subject });
    }
    Ok(log)
}

/// Lists all branches, including those of remotes as of the last fetch.
///
/// # Errors
/// `COMMAND_FAILED` when git reports an error.
pub async fn branches(repository: &Repository<'_>) -> Result<BranchList, Failure> {
    let format = "--format=%(HEAD)%00%(refname)%00%(objectname:short)%00%(upstream:short)%00%(symref:short)";
    let out = repository.need(["for-each-ref", format, "refs/heads", "refs/remotes"]).await?;
    let text = String::from_utf8_lossy(&out);
    let mut branches = BranchList::default();
    let current = super::status::current_branch(repository).await?;
    if current.detached {
        branches.output += &format!("* (HEAD detached at {})\n", current.commit.unwrap_or_default());
    }
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\0').collect();
        let [head, name, commit, upstream, leads_to] = fields.as_slice() else { continue };
        let remote = name.strip_prefix("refs/remotes/");
        let short = remote.or(name.strip_prefix("refs/heads/")).unwrap_or(name);
        let mark = if *head == "*" { "* " } else { "  " };
        let shown = if remote.is_some() { format!("remotes/{short}") } else { short.to_owned() };
        let arrow = if leads_to.is_empty() { String::new() } else { format!(" -> {leads_to}") };
        branches.output += &format!("{mark}{shown}{arrow}\n");
        branches.branches.push(BranchInfo {
            name: short.to_owned(),
            commit: (*commit).to_owned(),
            current: *head == "*",
            remote: remote.is_some(),
            upstream: (*upstream).to_owned(),
        });
    }
    Ok(branches)
}
