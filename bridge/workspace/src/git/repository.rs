//! One repository, as a call may use it: how git is run, which of its configuration counts, and what the call sees.
//!
//! - Nothing of the bridge's own `GIT_*` environment that points elsewhere is passed on; no pager, editor, prompt, colour,
//!   background work or network.
//! - Unless commands are allowed, nothing named by the *repository's* configuration runs: no hooks, no file-system monitor,
//!   no filters, no signing program. What the person's own (global) configuration names as a filter does run: without
//!   it, what Git LFS keeps would be stored wrongly.
//! - A repository that begins above the root is seen only as far as the root reaches.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use dap_wire::{ErrorCode, Failure};
use tokio_util::sync::CancellationToken;

use crate::process::kept::Apart;
use crate::process::{Command, Ended, Sink};
use crate::roots::Roots;

/// One run of git.
const DEADLINE: Duration = Duration::from_secs(50);
/// More output of a command that is read whole is refused.
const WHOLE: usize = 64 << 20;
/// Variables of git's that say who commits or where the person's own configuration is.
const PASSED: [&str; 6] = [
    "GIT_AUTHOR_",
    "GIT_COMMITTER_",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_EXEC_PATH",
];
/// Programs a filter may name.
const FILTER: &str = r"^filter\..*\.(clean|smudge|process)$";

/// A repository.
#[derive(Debug)]
pub struct Repository<'a> {
    roots: &'a Roots,
    /// The folder the call named, links resolved.
    pub folder: PathBuf,
    /// Where git works: the top of the working tree, or the root when that lies deeper.
    pub top: PathBuf,
    /// The working tree begins above the root.
    pub narrowed: bool,
    /// The repository's own filters; not run, unless commands are allowed.
    pub filters: Vec<String>,
    commands: bool,
    settings: Vec<(String, String)>,
    cancel: CancellationToken,
}

/// What git said.
#[derive(Debug)]
pub struct Said {
    /// How it ended.
    pub ended: Ended,
    /// stdout, whole.
    pub out: Vec<u8>,
    /// stderr.
    pub err: String,
}

impl<'a> Repository<'a> {
    /// The repository a folder (the first root by default) lies in; `commands` says whether its configuration may name
    /// programs to run.
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
        let settings = settings(commands);
        let (top, cancel) = (folder.clone(), cancel.clone());
        let mut own =
            Self { roots, folder, top, narrowed: false, filters: Vec::new(), commands, settings, cancel };
        let said = own.run(["rev-parse", "--show-toplevel"]).await?;
        if !said.ended.success() {
            return Err(own.no_repository(&said.err));
        }
        let top = PathBuf::from(OsString::from_vec(said.out.trim_ascii_end().to_vec()));
        let root = roots
            .paths()
            .filter(|root| own.folder.starts_with(root))
            .max_by_key(|root| root.as_os_str().len());
        own.narrowed = !roots.paths().any(|root| top.starts_with(root));
        own.top = if own.narrowed { root.unwrap_or(&own.folder).to_owned() } else { top };
        if !commands {
            own.disarm_filters().await?;
        }
        Ok(own)
    }

    fn no_repository(&self, said: &str) -> Failure {
        let folder = self.folder.display();
        if said.contains("not a git repository") {
            return Failure::new(ErrorCode::NotFound, format!("`{folder}` is in no git repository"));
        }
        if said.contains("must be run in a work tree") {
            return Failure::new(
                ErrorCode::Unsupported,
                format!("`{folder}` is in a bare repository, without files"),
            );
        }
        refused("rev-parse", said)
    }

    /// Replaces the filters the repository itself defines by nothing.
    async fn disarm_filters(&mut self) -> Result<(), Failure> {
        let said =
            self.run(["config", "--show-scope", "--null", "--name-only", "--get-regexp", FILTER]).await?;
        let words: Vec<String> = said
            .out
            .split(|byte| *byte == 0)
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect();
        for pair in words.chunks_exact(2) {
            if let [scope, name] = pair
                && matches!(scope.as_str(), "local" | "worktree")
            {
                let driver = name.rsplit_once('.').map_or("", |(driver, _)| driver);
                self.settings.push((name.clone(), String::new()));
                self.settings.push((format!("{driver}.required"), "false".into()));
                self.filters.push(name.clone());
            }
        }
        Ok(())
    }

    /// A run of git with these arguments, at the top.
    pub fn command(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut command = Command::new("git", &self.top).arg("--no-pager").args(arguments);
        let foreign = std::env::vars_os().map(|(name, _)| name).filter(|name| {
            let name = name.to_string_lossy();
            name.starts_with("GIT_") && !PASSED.iter().any(|passed| name.starts_with(passed))
        });
        command.environment.extend(foreign.map(|name| (name, None)));
        for (name, value) in [
            ("LC_ALL", "C"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_EDITOR", ":"),
            ("GIT_PAGER", "cat"),
            ("GIT_CONFIG_COUNT", &self.settings.len().to_string()),
        ] {
            command = command.env(name, value);
        }
        for (number, (name, value)) in self.settings.iter().enumerate() {
            command = command.env(format!("GIT_CONFIG_KEY_{number}"), name);
            command = command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        command
    }

    /// Runs git; its exit code is the caller's to judge.
    ///
    /// # Errors
    /// `TIMEOUT`, `CANCELLED`, `COMMAND_FAILED` when there is no git.
    pub async fn run(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<Said, Failure> {
        self.run_command(&self.command(arguments)).await
    }

    /// As [`run`](Self::run), with a prepared command.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_command(&self, command: &Command) -> Result<Said, Failure> {
        let mut sink = Apart::new(WHOLE, 8 << 10);
        let ended = self.run_into(command, &mut sink).await?;
        let err = sink.err.text();
        let out = sink.out.whole().ok_or_else(|| {
            Failure::new(ErrorCode::Unsupported, format!("git says more than {WHOLE} bytes"))
                .hint("ask for less")
        })?;
        Ok(Said { ended, out, err })
    }

    /// Runs git with its output elsewhere.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_into(&self, command: &Command, sink: &mut dyn Sink) -> Result<Ended, Failure> {
        command.run(sink, DEADLINE, &self.cancel).await
    }

    /// Runs git, which must succeed; gives its stdout.
    ///
    /// # Errors
    /// As [`run`](Self::run), and `COMMAND_FAILED` with git's own words.
    pub async fn need(
        &self,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Vec<u8>, Failure> {
        let command = self.command(arguments);
        let said = self.run_command(&command).await?;
        let verb =
            command.arguments.get(1).map(|verb| verb.to_string_lossy().into_owned()).unwrap_or_default();
        if said.ended.success() { Ok(said.out) } else { Err(refused(&verb, &said.err)) }
    }

    /// Whether the configuration may name programs to run.
    pub fn runs_programs(&self) -> bool {
        self.commands
    }

    /// The paths a call is about, for behind `--`: those it names (checked against the roots), else all it may see.
    ///
    /// # Errors
    /// `PATH_NOT_ALLOWED`.
    pub fn paths(&self, named: &[String]) -> Result<Vec<OsString>, Failure> {
        match named.is_empty() {
            true if self.narrowed => Ok(vec![OsString::from(".")]),
            true => Ok(Vec::new()),
            false => named.iter().map(|name| self.path(name)).collect(),
        }
    }

    /// One path as git wants it. What is there is meant literally, whatever its name looks like; what is not may be a pattern.
    /// Relative to the folder the call named or, as git_status writes them, to the top.
    fn path(&self, asked: &str) -> Result<OsString, Failure> {
        let name = match crate::git::quote::unquote(asked) {
            Some(name) if !self.folder.join(asked).exists() => OsString::from_vec(name),
            _ => OsString::from(asked),
        };
        let there = |folder: &Path| folder.join(&name).symlink_metadata().is_ok();
        let from = if !there(&self.folder) && there(&self.top) { &self.top } else { &self.folder };
        let path = from.join(&name);
        // Lexically: git itself refuses what lies behind a link.
        self.roots.place(&path.to_string_lossy())?;
        let literal = path.symlink_metadata().is_ok() || name.as_bytes().starts_with(b":");
        let mut spec = OsString::from(if literal { ":(literal)" } else { "" });
        let relative = path.strip_prefix(&self.top).unwrap_or(&path);
        spec.push(if relative.as_os_str().is_empty() { OsStr::new(".") } else { relative.as_os_str() });
        Ok(spec)
    }
}

/// Settings that hold whatever the configuration says.
fn settings(commands: bool) -> Vec<(String, String)> {
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
    always.into_iter().chain(unless_allowed).map(|(name, value)| (name.into(), value.into())).collect()
}

/// `COMMAND_FAILED` with git's own words.
pub fn refused(verb: &str, said: &str) -> Failure {
    let words: Vec<&str> =
        said.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("hint:")).collect();
    let words = if words.is_empty() { "it gives no reason".to_owned() } else { words.join("; ") };
    let failure = Failure::new(ErrorCode::CommandFailed, format!("git {verb} failed: {words}"));
    let hints: Vec<&str> =
        said.lines().filter_map(|line| line.strip_prefix("hint:")).map(str::trim).collect();
    if said.contains("index.lock") {
        failure.hint("another git is at work there; try again when it is done")
    } else if said.contains("Please tell me who you are") || said.contains("empty ident name") {
        failure.hint("git needs user.name and user.email in its configuration")
    } else if hints.is_empty() {
        failure
    } else {
        failure.hint(hints.join(" "))
    }
}

/// Refuses what git would take for an option.
///
/// # Errors
/// `INVALID_PARAMETER`.
pub fn revision(text: &str) -> Result<&str, Failure> {
    if text.is_empty() || text.starts_with('-') || text.contains(['\0', '\n']) {
        return Err(Failure::invalid(format!("`{text}` is no revision")));
    }
    Ok(text)
}
