//! `git_add` and `git_commit`.
//!
//! Not here: the list of changed files ([`super::status`]), the patch ([`super::diff`]).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde::Serialize;
use tandem_error::{ErrorCode, Failure};

use super::repository::{Repository, git_failure};
use super::status::MAX_PATHS;
use super::submodules;
use crate::quoted_path::quote;

/// Hooks that git runs for a commit.
const HOOKS: [&str; 4] = ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"];

/// The answer of `git_add`.
#[derive(Debug, Serialize)]
pub struct AddResult {
    /// Everything that is staged now, relative to the top.
    pub staged: Vec<String>,
    /// Number of staged files, including those not listed.
    pub total: usize,
}

/// The answer of `git_commit`.
#[derive(Debug, Serialize)]
pub struct CommitResult {
    /// The full hash of the commit.
    pub hash: String,
    /// Branch of the commit; empty when detached.
    pub branch: String,
    /// Summary of the changes, in one line.
    pub summary: String,
    /// Steps that were skipped for safety.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Stages files, also deleted ones.
///
/// # Errors
/// `INVALID_PARAMETER` without files, `PATH_NOT_ALLOWED`, `ACCESS_DENIED` when the repository defines filters
/// that may not run, `COMMAND_FAILED`.
pub async fn add(repository: &Repository<'_>, files: &[String]) -> Result<AddResult, Failure> {
    if files.is_empty() {
        return Err(Failure::invalid("`files` is empty; name what to stage, `.` for everything"));
    }
    let filters = if repository.runs_programs() { Vec::new() } else { repository.settings.filters() };
    if let Some(filter) = filters.first() {
        // Without the filter, git would store other content than the repository requires.
        let message =
            format!("the repository's configuration may run a program when files are added (`{filter}`)");
        return Err(Failure::new(ErrorCode::AccessDenied, message)
            .hint("start tandem-mcp with `--allow-commands`, or configure the filter globally"));
    }
    // All paths are checked before any is staged.
    let mut arguments: Vec<OsString> = ["add", "--"].map(Into::into).into();
    let paths = repository.paths(files)?;
    submodules::check(repository).await?;
    submodules::check_untracked(repository, &paths).await?;
    keep_large_files(repository).await?;
    arguments.extend(paths);
    repository.need(arguments).await?;
    let mut arguments: Vec<OsString> =
        ["diff", "--cached", "--name-only", "--no-ext-diff", "-z", "--"].map(Into::into).into();
    arguments.extend(repository.paths(&[])?);
    let out = repository.need(arguments).await?;
    let names = out.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(AddResult { staged: names.clone().take(MAX_PATHS).map(quote).collect(), total: names.count() })
}

/// Commits what is staged.
///
/// # Errors
/// `INVALID_PARAMETER` for an empty message; `COMMAND_FAILED` when nothing is staged, or
/// when a hook or git refuses.
pub async fn commit(repository: &Repository<'_>, message: &str) -> Result<CommitResult, Failure> {
    if message.trim().is_empty() {
        return Err(Failure::invalid("`message` is empty"));
    }
    submodules::check(repository).await?;
    let notes = if repository.runs_programs() { Vec::new() } else { skipped_steps(repository).await? };
    let mut command = repository.command(["commit", "--quiet", "--no-status", "--file=-"]);
    command.input = message.as_bytes().to_vec();
    let output = repository.run_command(&command).await?;
    if !output.ended.success() {
        let nothing = repository.run(["diff", "--cached", "--quiet", "--no-ext-diff"]).await?.ended.success();
        if nothing && output.err.trim().is_empty() {
            return Err(Failure::new(
                ErrorCode::CommandFailed,
                "nothing is staged, so there is nothing to commit",
            )
            .hint("git_add stages files"));
        }
        let words = format!("{}\n{}", output.err, String::from_utf8_lossy(&output.out));
        return Err(git_failure("commit", &words));
    }
    let shown = repository
        .need(["show", "--no-ext-diff", "--no-textconv", "--shortstat", "--format=%H", "HEAD"])
        .await?;
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let mut lines = shown.lines().filter(|line| !line.trim().is_empty());
    Ok(CommitResult {
        hash: lines.next().unwrap_or_default().to_owned(),
        summary: lines.next().unwrap_or_default().trim().to_owned(),
        branch: super::status::current_branch(repository).await?.branch,
        notes,
    })
}

/// Creates the folder in which Git LFS keeps files: a filter from the user's own configuration may need it,
/// and would otherwise create it in the temporary folder, which is deleted.
async fn keep_large_files(repository: &Repository<'_>) -> Result<(), Failure> {
    let Some(common_dir) = repository.safe_common_dir() else { return Ok(()) };
    let (real, link) = (repository.layout.common_dir.join("lfs"), common_dir.path().join("lfs"));
    if link.exists() || !repository.run(["config", "--get", "filter.lfs.clean"]).await?.ended.success() {
        return Ok(());
    }
    let made = std::fs::create_dir_all(&real).and_then(|()| std::os::unix::fs::symlink(&real, &link));
    made.map_err(|error| {
        Failure::new(ErrorCode::IoFailed, format!("cannot make `{}` for Git LFS: {error}", real.display()))
    })
}

/// Programs that the configuration names for a commit, and that are not run.
async fn skipped_steps(repository: &Repository<'_>) -> Result<Vec<String>, Failure> {
    let mut notes = Vec::new();
    // The setting that disables hooks hides their folder, so its value is read separately.
    let global = async |name: &str| {
        let output = repository.run(["config", "--global", "--type=path", "--get", name]).await?;
        Ok::<_, Failure>(output.ended.success().then(|| path(&output.out)))
    };
    let own = repository.settings.value("core", "hookspath").map(path);
    let folder = match own {
        Some(own) => own,
        None => global("core.hooksPath").await?.unwrap_or(repository.layout.common_dir.join("hooks")),
    };
    let folder = repository.layout.top.join(folder);
    let runs = |name: &&str| {
        let metadata = folder.join(name).metadata();
        metadata.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    let hooks: Vec<&str> = HOOKS.into_iter().filter(runs).collect();
    if !hooks.is_empty() {
        notes.push(format!("hooks not run without --allow-commands: {}", hooks.join(", ")));
    }
    let output = repository.run(["config", "--global", "--type=bool", "--get", "commit.gpgSign"]).await?;
    let global = output.ended.success() && output.out.starts_with(b"true");
    if repository
        .settings
        .value("commit", "gpgsign")
        .map_or(global, |_| repository.settings.flag("commit", "gpgsign"))
    {
        notes.push("not signed without --allow-commands".into());
    }
    Ok(notes)
}

fn path(out: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(out.trim_ascii_end().to_vec()))
}
