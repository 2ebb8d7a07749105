//! One repository, as a call may use it: where it is, which of its configuration counts, and what the call
//! sees.
//!
//! - All that git reads and writes lies in the roots (`layout`), or the call is refused before git runs.
//! - Unless commands are allowed, git does not see the repository's own configuration, but a copy with the
//!   keys that are known to name no program and no file (`settings`, `safe_common_dir`): no hooks, no
//!   file-system monitor, no filters, no signing program. A filter in the user's (global) configuration does
//!   run: without it, files that Git LFS keeps would be stored wrongly.
//! - A repository that begins above the root is seen only as far as the root reaches.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use tandem_error::{ErrorCode, Failure};
use tokio_util::sync::CancellationToken;

use super::layout::{Fence, RepositoryLayout};
use super::run::{GitOutput, git_command, run_git, run_git_into};
use super::safe_common_dir::SafeCommonDir;
use super::settings::Settings;
use crate::process::{ProcessCommand, ProcessExit, Sink};
use crate::quoted_path::path_bytes;
use crate::roots::Roots;

/// An opened repository, with the rules of the call.
#[derive(Debug)]
pub struct Repository<'a> {
    roots: &'a Roots,
    /// The folder the call named, links resolved.
    pub folder: PathBuf,
    /// Git's working folder: the top of the working tree, or the root if that is deeper.
    pub top: PathBuf,
    /// The working tree begins above the root.
    pub narrowed: bool,
    /// Number of repositories around it, if it is a submodule.
    pub depth: usize,
    /// Settings from the repository's configuration.
    pub settings: Settings,
    /// The folders of its working tree and its data.
    pub layout: RepositoryLayout,
    fence: Fence,
    /// `None` when commands are allowed: then git reads the real configuration.
    safe_common_dir: Option<SafeCommonDir>,
    cancel: CancellationToken,
}

impl<'a> Repository<'a> {
    /// The repository a folder (the first root by default) lies in; `commands` says whether its configuration
    /// may name programs to run.
    ///
    /// # Errors
    /// `PATH_NOT_ALLOWED`, `NOT_FOUND` when there is no repository, `COMMAND_FAILED`.
    pub async fn open(
        roots: &'a Roots,
        folder: Option<&str>,
        commands: bool,
        cancel: &CancellationToken,
    ) -> Result<Self, Failure> {
        let folder = roots.folder(folder)?;
        let (start, mut fence) = (folder.clone(), Fence::new(roots.paths().map(Path::to_owned).collect()));
        let (found, fence) = off_thread(move || {
            let found = RepositoryLayout::find(&mut fence, &start)?;
            found.iter().try_for_each(|layout| layout.check(&fence))?;
            Ok((found, fence))
        })
        .await?;
        let layout = found.ok_or_else(|| {
            let message = format!("`{}` is in no git repository", folder.display());
            Failure::new(ErrorCode::NotFound, message).hint("name a folder inside one as repositoryPath")
        })?;
        Self::assemble(roots, folder, (layout, fence), commands, cancel).await
    }

    async fn assemble(
        roots: &'a Roots,
        folder: PathBuf,
        (mut layout, fence): (RepositoryLayout, Fence),
        commands: bool,
        cancel: &CancellationToken,
    ) -> Result<Self, Failure> {
        let settings = Settings::read(&layout.common_dir, &layout.git_dir, cancel).await?;
        let linked = layout.git_dir != layout.common_dir;
        if settings.flag("core", "bare") && !linked {
            let message = format!("`{}` is in a bare repository, without files", folder.display());
            return Err(Failure::new(ErrorCode::Unsupported, message));
        }
        // As in git, the configuration that all working trees share names the tree of the main one.
        if let Some(named) = settings.value("core", "worktree").filter(|_| !linked) {
            layout.work_tree(&fence, named)?;
        }
        let root =
            roots.paths().filter(|root| folder.starts_with(root)).max_by_key(|root| root.as_os_str().len());
        let narrowed = !roots.paths().any(|root| layout.top.starts_with(root));
        let top = if narrowed { root.unwrap_or(&folder).to_owned() } else { layout.top.clone() };
        let safe_common_dir = if commands { None } else { Some(SafeCommonDir::make(&layout, &settings)?) };
        let cancel = cancel.clone();
        Ok(Self { roots, folder, top, narrowed, depth: 0, settings, layout, fence, safe_common_dir, cancel })
    }

    /// A submodule, by its path relative to where git works; `None` when it is not checked out.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn submodule(&self, path: &Path) -> Result<Option<Repository<'a>>, Failure> {
        let folder = self.top.join(path);
        let Ok(folder) = folder.canonicalize() else { return Ok(None) };
        self.fence.check(&self.top.join(path), &folder)?;
        let Some(layout) = RepositoryLayout::at(&self.fence, &folder)? else { return Ok(None) };
        let place = (layout, self.fence.clone());
        let mut own = Self::assemble(self.roots, folder, place, self.runs_programs(), &self.cancel).await?;
        own.depth = self.depth + 1;
        Ok(Some(own))
    }

    /// The replacement for the shared folder (`GIT_COMMON_DIR`); `None` when commands are allowed.
    pub fn safe_common_dir(&self) -> Option<&SafeCommonDir> {
        self.safe_common_dir.as_ref()
    }

    /// The paths that git may use.
    pub fn fence(&self) -> &Fence {
        &self.fence
    }

    /// A path relative to where git works, relative to the top of the working tree.
    pub fn below_top(&self, path: &Path) -> PathBuf {
        let whole = self.top.join(path);
        whole.strip_prefix(&self.layout.top).map_or(whole.clone(), Path::to_owned)
    }

    /// A run of git with these arguments, at the top.
    pub fn command(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> ProcessCommand {
        let mut command = git_command(&self.top, arguments);
        if let Some(common_dir) = &self.safe_common_dir {
            command = command
                .env("GIT_DIR", &self.layout.git_dir)
                .env("GIT_WORK_TREE", &self.layout.top)
                .env("GIT_COMMON_DIR", common_dir.path())
                .env("GIT_OBJECT_DIRECTORY", self.layout.objects());
        }
        let overrides = overrides(self.runs_programs());
        command = command.env("GIT_CONFIG_COUNT", overrides.len().to_string());
        for (number, (name, value)) in overrides.iter().enumerate() {
            command = command.env(format!("GIT_CONFIG_KEY_{number}"), name);
            command = command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        command
    }

    /// Runs git; the caller interprets its exit code.
    ///
    /// # Errors
    /// `TIMEOUT`, `CANCELLED`, `COMMAND_FAILED` when there is no git.
    pub async fn run(
        &self,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<GitOutput, Failure> {
        self.run_command(&self.command(arguments)).await
    }

    /// As [`run`](Self::run), with a prepared command.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_command(&self, command: &ProcessCommand) -> Result<GitOutput, Failure> {
        run_git(command, &self.cancel).await
    }

    /// Runs git with its output elsewhere.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_into(
        &self,
        command: &ProcessCommand,
        sink: &mut dyn Sink,
    ) -> Result<ProcessExit, Failure> {
        run_git_into(command, sink, &self.cancel).await
    }

    /// Runs git, which must succeed; returns its stdout.
    ///
    /// # Errors
    /// As [`run`](Self::run), and `COMMAND_FAILED` with git's error message.
    pub async fn need(
        &self,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Vec<u8>, Failure> {
        let command = self.command(arguments);
        let output = self.run_command(&command).await?;
        let verb =
            command.arguments.get(1).map(|verb| verb.to_string_lossy().into_owned()).unwrap_or_default();
        if output.ended.success() { Ok(output.out) } else { Err(git_failure(&verb, &output.err)) }
    }

    /// Whether the configuration may name programs to run.
    pub fn runs_programs(&self) -> bool {
        self.safe_common_dir.is_none()
    }

    /// The paths of a call, to write after `--`: those it names (checked against the roots),
    /// else all that it may read.
    ///
    /// # Errors
    /// `PATH_NOT_ALLOWED` for a path outside the roots.
    pub fn paths(&self, named: &[String]) -> Result<Vec<OsString>, Failure> {
        match named.is_empty() {
            true if self.narrowed => Ok(vec![OsString::from(".")]),
            true => Ok(Vec::new()),
            false => named.iter().map(|name| self.path(name)).collect(),
        }
    }

    /// Converts a path for git. An existing path is taken literally, whatever its name looks like; any other
    /// may be a pattern. Relative to the folder the call named or, as git_status writes them, to the top.
    fn path(&self, spelling: &str) -> Result<OsString, Failure> {
        let name = OsString::from_vec(path_bytes(spelling));
        let there = |folder: &Path| folder.join(&name).symlink_metadata().is_ok();
        let from = if !there(&self.folder) && there(&self.top) { &self.top } else { &self.folder };
        let path = from.join(&name);
        // Lexically: git itself refuses paths beyond a link.
        self.roots.place_of(&path, spelling)?;
        let literal = path.symlink_metadata().is_ok() || name.as_bytes().starts_with(b":");
        let mut spec = OsString::from(if literal { ":(literal)" } else { "" });
        let relative = path.strip_prefix(&self.top).unwrap_or(&path);
        spec.push(if relative.as_os_str().is_empty() { OsStr::new(".") } else { relative.as_os_str() });
        Ok(spec)
    }
}

/// Does what waits for a disk off the thread that serves the protocol.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(Failure::new(ErrorCode::IoFailed, format!("the repository could not be looked at: {error}")))
    })
}

/// Settings that override the configuration.
fn overrides(commands: bool) -> Vec<(&'static str, &'static str)> {
    let always = [
        ("core.fsmonitor", "false"),
        ("core.quotePath", "true"),
        ("safe.bareRepository", "explicit"),
        ("gc.auto", "0"),
        ("maintenance.auto", "false"),
        ("color.ui", "false"),
        ("log.showSignature", "false"),
        ("i18n.logOutputEncoding", "UTF-8"),
        ("diff.noprefix", "false"),
        ("diff.mnemonicPrefix", "false"),
        ("submodule.recurse", "false"),
    ];
    let unless_allowed = [("core.hooksPath", "/dev/null"), ("commit.gpgSign", "false")];
    let unless_allowed = unless_allowed.into_iter().filter(|_| !commands);
    always.into_iter().chain(unless_allowed).collect()
}

/// `COMMAND_FAILED` with git's error message.
pub fn git_failure(verb: &str, message: &str) -> Failure {
    let words: Vec<&str> =
        message.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("hint:")).collect();
    let words = if words.is_empty() { "git printed no reason".to_owned() } else { words.join("; ") };
    let failure = Failure::new(ErrorCode::CommandFailed, format!("git {verb} failed: {words}"));
    let hints: Vec<&str> =
        message.lines().filter_map(|line| line.strip_prefix("hint:")).map(str::trim).collect();
    if message.contains("index.lock") {
        failure.hint("try again when the other git process has finished")
    } else if message.contains("Please tell me who you are") || message.contains("empty ident name") {
        failure.hint("set user.name and user.email with `git config`")
    } else if hints.is_empty() {
        failure
    } else {
        failure.hint(hints.join(" "))
    }
}

/// Rejects a revision that git would read as an option.
///
/// # Errors
/// `INVALID_PARAMETER` for an option, and for an empty string.
pub fn revision(text: &str) -> Result<&str, Failure> {
    if text.is_empty() || text.starts_with('-') || text.contains(['\0', '\n']) {
        return Err(Failure::invalid(format!("`{text}` is not a revision")));
    }
    Ok(text)
}
