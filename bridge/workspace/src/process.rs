//! Runs a program to its end: both pipes are drained at once, what is kept is bounded, and a deadline or a
//! cancellation ends the program with everything it started. No shell is involved; stdin is empty.
//!
//! Processes that outlive the program in its process group are killed, too: nothing that a tool starts is
//! left running, also when this process is killed ([`CommandGuard`]). The caller's session should have no
//! terminal, or programs can use it (`/dev/tty`).
//! In the child: [`output`], the bounded memory of an output.

pub mod output;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tandem_error::{ErrorCode, Failure, describe_exit_code};
use tandem_process_tree::command_guard::CommandGuard;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

/// Between the request to end and the order.
const TERMINATE_TIMEOUT: Duration = Duration::from_secs(2);
/// Time that a pipe may stay open after the program has ended: a process that it started may still hold it.
const PIPE_TIMEOUT: Duration = Duration::from_millis(500);
/// The variable that may hold the bridge's own token. No child sees it.
pub const TOKEN_VARIABLE: &str = "TANDEM_MCP_TOKEN";

/// A program to run, with its environment.
#[derive(Debug, Clone)]
pub struct ProcessCommand {
    /// Its file, or a name to look up in PATH.
    pub program: OsString,
    /// Its arguments, passed unchanged.
    pub arguments: Vec<OsString>,
    /// Working folder of the program.
    pub folder: PathBuf,
    /// Set (or with `None` unset) in its environment.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// Bytes that are written to its stdin.
    pub input: Vec<u8>,
}

/// An output stream of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    /// The program's standard output.
    Out,
    /// The program's standard error.
    Err,
}

/// Receives the output as it arrives; must not block.
pub trait Sink: Send {
    /// Some bytes of a pipe, in order.
    fn take(&mut self, stream: OutputStream, bytes: &[u8]);
}

/// Exit status of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessExit {
    /// Its exit code; 128 + the signal's number when a signal ended it, as shells say it.
    pub code: i32,
}

impl ProcessExit {
    /// Whether the exit code is 0.
    pub fn success(self) -> bool {
        self.code == 0
    }
}

impl From<ExitStatus> for ProcessExit {
    fn from(status: ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt;
        Self { code: status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(-1) }
    }
}

/// `exit code 139 (SIGSEGV)`, for messages.
impl std::fmt::Display for ProcessExit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&describe_exit_code(self.code.into()))
    }
}

/// Hints for installing the programs that build and test code.
const SOURCES: [(&str, &str); 9] = [
    ("bundle", "gem install bundler"),
    ("cargo", "https://rustup.rs"),
    ("cmake", "apt-get install cmake"),
    ("ctest", "apt-get install cmake"),
    ("dotnet", "the .NET SDK, https://dotnet.microsoft.com/download"),
    ("go", "https://go.dev/dl"),
    ("node", "https://nodejs.org"),
    ("python3", "apt-get install python3"),
    ("ruby", "apt-get install ruby"),
];

/// A program that is missing, with how to get it.
fn install_hint(program: &str) -> String {
    match SOURCES.iter().find(|(name, _)| *name == program) {
        Some((_, source)) => format!("`{program}` ({source})"),
        None => format!("`{program}`"),
    }
}

impl ProcessCommand {
    /// A program without arguments.
    pub fn new(program: impl AsRef<OsStr>, folder: impl AsRef<Path>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            folder: folder.as_ref().to_owned(),
            environment: Vec::new(),
            input: Vec::new(),
        }
    }

    /// Appends an argument to the command.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Appends arguments to the command.
    #[must_use]
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|one| one.as_ref().to_owned()));
        self
    }

    /// Sets a variable in its environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), Some(value.as_ref().to_owned())));
        self
    }

    /// Sets variables in its environment, or with `None` unsets them.
    #[must_use]
    pub fn envs<'a>(mut self, variables: impl IntoIterator<Item = &'a (String, Option<String>)>) -> Self {
        let variables = variables.into_iter();
        self.environment.extend(variables.map(|(name, value)| (name.into(), value.as_ref().map(Into::into))));
        self
    }

    /// Program and arguments for messages.
    pub fn line(&self) -> String {
        let words = std::iter::once(&self.program).chain(&self.arguments);
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    fn start(&self) -> Result<Child, Failure> {
        let mut command = tokio::process::Command::new(&self.program);
        let input = if self.input.is_empty() { Stdio::null() } else { Stdio::piped() };
        command.args(&self.arguments).current_dir(&self.folder).env_remove(TOKEN_VARIABLE);
        command
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        // A relative folder in PATH would be resolved in the program's working folder, which may
        // contain a stranger's files.
        if let Some(path) = absolute_path() {
            command.env("PATH", path);
        }
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.spawn().map_err(|error| {
            let program = self.program.to_string_lossy();
            let reason = match error.kind() {
                std::io::ErrorKind::NotFound => "not found in PATH".to_owned(),
                _ => error.to_string(),
            };
            Failure::new(ErrorCode::CommandFailed, format!("cannot start `{program}`: {reason}")).hint(
                format!("install {}, or start tandem-mcp with a PATH that has it", install_hint(&program)),
            )
        })
    }

    /// Runs it to its end. Dropping the future kills it.
    ///
    /// # Errors
    /// `COMMAND_FAILED` when it cannot be started, `TIMEOUT` past the deadline, `CANCELLED`. A failing
    /// exit code is not an error here.
    pub async fn run(
        &self,
        sink: &mut dyn Sink,
        deadline: Duration,
        cancel: &CancellationToken,
    ) -> Result<ProcessExit, Failure> {
        self.run_reporting(sink, deadline, cancel, drop).await
    }

    /// As [`run`](Self::run); `started` is called with the process id.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_reporting(
        &self,
        sink: &mut dyn Sink,
        deadline: Duration,
        cancel: &CancellationToken,
        started: impl FnOnce(u32),
    ) -> Result<ProcessExit, Failure> {
        // Only its name: arguments may hold secrets.
        tracing::debug!(program = ?self.program, "running");
        let mut guard = CommandGuard::new();
        let mut child = self.start()?;
        if let Some(pid) = child.id() {
            guard.watch(pid);
            started(pid);
        }
        let leader = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let group = ProcessGroup { leader, _guard: guard };
        let mut pipes = OutputPipes::of(&mut child, sink);
        if let Some(mut stdin) = child.stdin.take() {
            let input = self.input.clone();
            // Ends with the program: its end of the pipe closes.
            tokio::spawn(async move { stdin.write_all(&input).await.unwrap_or_default() });
        }
        let until = Instant::now() + deadline;
        let why = tokio::select! {
            ended = child_and_pipes(&mut child, &mut pipes) => return ended,
            () = tokio::time::sleep_until(until) => Failure::new(
                ErrorCode::Timeout,
                format!("`{}` ran longer than {} s and was ended", self.program.to_string_lossy(),
                    deadline.as_secs()),
            ),
            () = cancel.cancelled() => Failure::cancelled(),
        };
        group.signal(Signal::TERM);
        if timeout(TERMINATE_TIMEOUT, child_and_pipes(&mut child, &mut pipes)).await.is_err() {
            group.signal(Signal::KILL);
            timeout(TERMINATE_TIMEOUT, child.wait()).await.map(drop).unwrap_or_default();
        }
        Err(why)
    }
}

/// PATH without its relative folders, when it has some.
fn absolute_path() -> Option<OsString> {
    let path = std::env::var_os("PATH")?;
    let kept: Vec<PathBuf> = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    let changed = kept.len() < std::env::split_paths(&path).count();
    if changed { std::env::join_paths(kept).ok() } else { None }
}

/// Waits for the program's end while it drains the pipes, and a moment longer for other
/// processes that hold them.
async fn child_and_pipes(child: &mut Child, pipes: &mut OutputPipes<'_>) -> Result<ProcessExit, Failure> {
    let failed =
        |error: std::io::Error| Failure::new(ErrorCode::IoFailed, format!("cannot wait for it: {error}"));
    tokio::select! {
        status = child.wait() => {
            timeout(PIPE_TIMEOUT, pipes.drain()).await.unwrap_or_default();
            status.map(ProcessExit::from).map_err(failed)
        }
        // All pipes closed first: it only has to be waited for.
        () = pipes.drain() => child.wait().await.map(ProcessExit::from).map_err(failed),
    }
}

/// Kills the whole process group on drop, so that no process outlives a call.
struct ProcessGroup {
    leader: Option<Pid>,
    /// Dropped once the group is killed.
    _guard: CommandGuard,
}

impl ProcessGroup {
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.leader {
            // An error means that no process is left.
            kill_process_group(group, signal).unwrap_or_default();
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// The two pipes of a process and the sink for their data.
struct OutputPipes<'a> {
    out: Option<tokio::process::ChildStdout>,
    err: Option<tokio::process::ChildStderr>,
    buffers: [Vec<u8>; 2],
    sink: &'a mut dyn Sink,
}

impl<'a> OutputPipes<'a> {
    fn of(child: &mut Child, sink: &'a mut dyn Sink) -> Self {
        let buffers = [vec![0; 64 << 10], vec![0; 64 << 10]];
        Self { out: child.stdout.take(), err: child.stderr.take(), buffers, sink }
    }

    /// Reads until both pipes are closed.
    async fn drain(&mut self) {
        let [out_buffer, err_buffer] = &mut self.buffers;
        while self.out.is_some() || self.err.is_some() {
            let (stream, bytes) = tokio::select! {
                bytes = read(&mut self.out, out_buffer), if self.out.is_some() => (OutputStream::Out, bytes),
                bytes = read(&mut self.err, err_buffer), if self.err.is_some() => (OutputStream::Err, bytes),
            };
            match stream {
                _ if !bytes.is_empty() => self.sink.take(stream, bytes),
                OutputStream::Out => self.out = None,
                OutputStream::Err => self.err = None,
            }
        }
    }
}

/// The next bytes; none at the end.
async fn read<'b>(pipe: &mut Option<impl AsyncRead + Unpin>, buffer: &'b mut [u8]) -> &'b [u8] {
    let count = match pipe {
        // A pipe that breaks has ended.
        Some(pipe) => pipe.read(buffer).await.unwrap_or(0),
        None => 0,
    };
    buffer.get(..count).unwrap_or_default()
}

#[cfg(test)]
mod tests;
