//! `git_add` and `git_commit`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use dap_wire::{ErrorCode, Failure};
use serde::Serialize;

use super::quote::quote;
use super::repository::{Repository, refused};
use super::status::MOST_PATHS;

/// Hooks of a commit.
const HOOKS: [&str; 4] = ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"];

/// `git_add`.
#[derive(Debug, Serialize)]
pub struct Added {
    /// Everything that is staged now, relative to the top.
    pub staged: Vec<String>,
    /// All of it, also what is not listed.
    pub total: usize,
}

/// `git_commit`.
#[derive(Debug, Serialize)]
pub struct Committed {
    /// In full.
    pub hash: String,
    /// Empty when detached.
    pub branch: String,
    /// What changed, in one line.
    pub summary: String,
    /// What was left out for safety.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Stages files, also deleted ones.
///
/// # Errors
/// `INVALID_PARAMETER` without files, `PATH_NOT_ALLOWED`, `ACCESS_DENIED` when the repository has filters of its own that may
/// not run, `COMMAND_FAILED`.
pub async fn add(repository: &Repository<'_>, files: &[String]) -> Result<Added, Failure> {
    if files.is_empty() {
        return Err(Failure::invalid("`files` is empty; name what to stage, `.` for everything"));
    }
    if let Some(filter) = repository.filters.first() {
        // Without it, something else than the repository wants would be stored.
        let message =
            format!("the repository's configuration runs a program when files are added (`{filter}`)");
        return Err(Failure::new(ErrorCode::AccessDenied, message)
            .hint("only with `--allow-commands`, or when the filter is in your global configuration"));
    }
    // All paths are checked before any is staged.
    let mut arguments: Vec<OsString> = ["add", "--"].map(Into::into).into();
    arguments.extend(repository.paths(files)?);
    repository.need(arguments).await?;
    let mut arguments: Vec<OsString> =
        ["diff", "--cached", "--name-only", "--no-ext-diff", "-z", "--"].map(Into::into).into();
    arguments.extend(repository.paths(&[])?);
    let out = repository.need(arguments).await?;
    let names = out.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(Added { staged: names.clone().take(MOST_PATHS).map(quote).collect(), total: names.count() })
}

/// Commits what is staged.
///
/// # Errors
/// `INVALID_PARAMETER` without a message, `COMMAND_FAILED` when nothing is staged, a hook refuses, or git does.
pub async fn commit(repository: &Repository<'_>, message: &str) -> Result<Committed, Failure> {
    if message.trim().is_empty() {
        return Err(Failure::invalid("`message` is empty"));
    }
    let notes = if repository.runs_programs() { Vec::new() } else { left_out(repository).await? };
    let mut command = repository.command(["commit", "--quiet", "--no-status", "--file=-"]);
    command.input = message.as_bytes().to_vec();
    let said = repository.run_command(&command).await?;
    if !said.ended.success() {
        let nothing = repository.run(["diff", "--cached", "--quiet", "--no-ext-diff"]).await?.ended.success();
        if nothing && said.err.trim().is_empty() {
            return Err(Failure::new(
                ErrorCode::CommandFailed,
                "nothing is staged, so there is nothing to commit",
            )
            .hint("git_add stages files"));
        }
        let words = format!("{}\n{}", said.err, String::from_utf8_lossy(&said.out));
        return Err(refused("commit", &words));
    }
    let shown = repository
        .need(["show", "--no-ext-diff", "--no-textconv", "--shortstat", "--format=%H", "HEAD"])
        .await?;
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let mut lines = shown.lines().filter(|line| !line.trim().is_empty());
    Ok(Committed {
        hash: lines.next().unwrap_or_default().to_owned(),
        summary: lines.next().unwrap_or_default().trim().to_owned(),
        branch: super::status::current_branch(repository).await?.branch,
        notes,
    })
}

/// What a commit would run by its configuration, and will not.
async fn left_out(repository: &Repository<'_>) -> Result<Vec<String>, Failure> {
    let mut notes = Vec::new();
    // The setting that turns hooks off hides where they are, so it is asked for by scope.
    let mut folders = Vec::new();
    for scope in ["--local", "--global"] {
        let said = repository.run(["config", scope, "--type=path", "--get", "core.hooksPath"]).await?;
        folders.extend(said.ended.success().then(|| path(&said.out)));
    }
    if folders.is_empty() {
        let common = repository.need(["rev-parse", "--git-common-dir"]).await?;
        folders.push(path(&common).join("hooks"));
    }
    let folder = repository.top.join(folders.swap_remove(0));
    let runs = |name: &&str| {
        let metadata = folder.join(name).metadata();
        metadata.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    let hooks: Vec<&str> = HOOKS.into_iter().filter(runs).collect();
    if !hooks.is_empty() {
        notes.push(format!("hooks not run without --allow-commands: {}", hooks.join(", ")));
    }
    for scope in ["--local", "--global"] {
        let said = repository.run(["config", scope, "--type=bool", "--get", "commit.gpgSign"]).await?;
        if said.ended.success() && said.out.starts_with(b"true") {
            notes.push("not signed without --allow-commands".into());
            break;
        }
    }
    Ok(notes)
}

fn path(out: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(out.trim_ascii_end().to_vec()))
}
