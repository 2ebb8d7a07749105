//! Runs the git program without `GIT_*` variables of the bridge that point elsewhere, and with no pager,
//! editor, prompt, colour or network.
//!
//! Not here: which repository it sees, and what of that repository's configuration counts (`repository`).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use tandem_error::{ErrorCode, Failure};
use tokio_util::sync::CancellationToken;

use crate::process::output::CapturedOutput;
use crate::process::{ProcessCommand, ProcessExit, Sink};

/// Time limit of one git command.
const GIT_TIMEOUT: Duration = Duration::from_secs(50);
/// More output of a command that is read whole is refused.
const MAX_OUTPUT_BYTES: usize = 64 << 20;
/// Variables of git's that say who commits or where the person's own configuration is.
const PASSED: [&str; 6] = [
    "GIT_AUTHOR_",
    "GIT_COMMITTER_",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_EXEC_PATH",
];

/// The result of a run of git.
#[derive(Debug)]
pub struct GitOutput {
    /// The exit code or signal.
    pub ended: ProcessExit,
    /// Output of git on stdout.
    pub out: Vec<u8>,
    /// Output of git on stderr.
    pub err: String,
}

/// A run of git that knows no repository yet.
pub fn git_command(folder: &Path, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> ProcessCommand {
    let mut command = ProcessCommand::new("git", folder).arg("--no-pager").args(arguments);
    let foreign = std::env::vars_os().map(|(name, _)| name).filter(|name| {
        let name = name.as_bytes();
        name.starts_with(b"GIT_") && !PASSED.iter().any(|passed| name.starts_with(passed.as_bytes()))
    });
    command.environment.extend(foreign.map(|name| (name, None)));
    for (name, value) in [
        ("LC_ALL", "C"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_ALLOW_PROTOCOL", "none"),
        ("GIT_EDITOR", ":"),
        ("GIT_PAGER", "cat"),
    ] {
        command = command.env(name, value);
    }
    command
}

/// Runs git and returns its output; the caller interprets the exit code.
///
/// # Errors
/// `TIMEOUT`, `CANCELLED`, `COMMAND_FAILED` when there is no git.
pub async fn run_git(command: &ProcessCommand, cancel: &CancellationToken) -> Result<GitOutput, Failure> {
    let mut sink = CapturedOutput::new(MAX_OUTPUT_BYTES, 8 << 10);
    let ended = run_git_into(command, &mut sink, cancel).await?;
    let err = sink.err.text();
    let out = sink.out.whole().ok_or_else(|| {
        Failure::new(ErrorCode::Unsupported, format!("git's output exceeds {MAX_OUTPUT_BYTES} bytes"))
            .hint("request less")
    })?;
    Ok(GitOutput { ended, out, err })
}

/// Runs git and passes its output to `sink`.
///
/// # Errors
/// `TIMEOUT`, `CANCELLED`, `COMMAND_FAILED` when there is no git.
pub async fn run_git_into(
    command: &ProcessCommand,
    sink: &mut dyn Sink,
    cancel: &CancellationToken,
) -> Result<ProcessExit, Failure> {
    command.run(sink, GIT_TIMEOUT, cancel).await
}
