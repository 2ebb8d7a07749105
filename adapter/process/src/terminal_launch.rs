//! A program in a client's terminal, as seen from the host: the command for the terminal, and the program
//! held.
//!
//! The client runs `tandem-dap in-terminal PATH` in its terminal ([`super::runner`]). It connects to our
//! socket at that path, in a folder that only this user can enter, under a name that cannot be guessed; it
//! gets the program, starts the stub and reports the stub's process id. The stub connects to the same socket
//! and waits there for the byte that lets it become the program. The kernel identifies the peer; connections
//! of other users are closed. So the command line that passes through the client, and perhaps through a
//! shell, is two paths: arguments and variables of the program never do.
//!
//! Not here: asking the client (the engine does), and the program's input and output, which are the
//! terminal's.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde::{Deserialize, Serialize};
use tandem_error::{ErrorCode, Failure};
use tandem_registry::ScratchFolder;
use tokio::sync::watch;

use super::child::{Child, SpawnSpec, signal_group};
use super::exit::ExitInfo;

/// How long a runner that has connected may take to start the stub.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a runner may take to report the exit code of a program whose end we have seen.
const REPORT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a killed program may take to end.
const KILL_TIMEOUT: Duration = Duration::from_secs(3);
/// Longest line of either side, bytes: a command line and an environment have at most 2 MiB.
pub(super) const MAX_LINE: u64 = 16 * 1024 * 1024;

/// The program that a runner starts. The rest of the environment is the terminal's.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RunnerProgram {
    pub(super) program: OsString,
    pub(super) args: Vec<OsString>,
    pub(super) cwd: OsString,
    pub(super) env: Vec<(String, Option<String>)>,
}

/// A message from a runner about its program.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum RunnerReport {
    /// The stub waits for its byte.
    Started { pid: u32 },
    /// The stub could not be started, with the reason.
    Failed { reason: String },
    /// The program has ended; `hung_up` when its terminal went first.
    Ended { code: i32, signal: Option<i32>, hung_up: bool },
}

/// A socket to which a runner connects. Dropping it removes the socket.
#[derive(Debug)]
pub struct TerminalLaunch {
    spec: SpawnSpec,
    listener: UnixListener,
    socket: PathBuf,
    command: [String; 3],
    _scratch: ScratchFolder,
}

impl TerminalLaunch {
    /// Creates the socket, in a new folder in the session folder. `stub` is the `tandem-dap` executable.
    pub(super) fn new(stub: &Path, spec: SpawnSpec) -> Result<Self, Failure> {
        let failed = |reason: String| start_failure(&spec, &reason);
        if !spec.cwd.is_dir() {
            return Err(failed(format!("there is no folder `{}`", spec.cwd.display()))
                .hint("set `cwd` to an existing folder"));
        }
        spec.refuse_foreign()?;
        let stub_name =
            stub.to_str().ok_or_else(|| failed(format!("`{}` is not UTF-8", stub.display())))?.to_owned();
        let scratch = ScratchFolder::new(&tandem_registry::folder())
            .map_err(|error| failed(format!("cannot create a folder for its socket: {error}")))?;
        let mut name = [0u8; 8];
        getrandom::fill(&mut name).map_err(|error| failed(format!("no random name: {error}")))?;
        let socket = scratch.path().join(format!("{:016x}", u64::from_ne_bytes(name)));
        let place =
            socket.to_str().ok_or_else(|| failed(format!("`{}` is not UTF-8", socket.display())))?.to_owned();
        let listener = UnixListener::bind(&socket)
            .map_err(|error| failed(format!("cannot listen at `{}`: {error}", socket.display())))?;
        listener.set_nonblocking(true).map_err(|error| failed(error.to_string()))?;
        let command = [stub_name, "in-terminal".into(), place];
        Ok(Self { spec, listener, socket, command, _scratch: scratch })
    }

    /// The command that the client must run in its terminal.
    pub fn command(&self) -> &[String] {
        &self.command
    }

    /// Waits at most `limit` for a runner; then lets it start the program, held. `None` when none came.
    ///
    /// # Errors
    /// `LAUNCH_FAILED` when the runner cannot start it.
    pub(super) fn accept(&self, limit: Duration) -> Result<Option<HeldProgram>, Failure> {
        let Some((runner, runner_pid)) = self.next(limit)? else { return Ok(None) };
        let wrong = |reason: String| start_failure(&self.spec, &reason);
        let lost = |error: std::io::Error| wrong(format!("the connection to the terminal was lost: {error}"));
        let program = RunnerProgram {
            program: self.spec.program.clone().into(),
            args: self.spec.args.clone(),
            cwd: self.spec.cwd.clone().into(),
            env: self.spec.env.clone(),
        };
        runner.set_read_timeout(Some(START_TIMEOUT)).map_err(lost)?;
        runner.set_write_timeout(Some(START_TIMEOUT)).map_err(lost)?;
        let mut line = serde_json::to_vec(&program).map_err(|error| wrong(error.to_string()))?;
        line.push(b'\n');
        (&runner).write_all(&line).map_err(lost)?;
        let mut reports = RunnerReports(BufReader::new(runner));
        let pid = match reports.next().map_err(lost)? {
            Some(RunnerReport::Started { pid }) => pid,
            Some(RunnerReport::Failed { reason }) => return Err(wrong(reason)),
            Some(RunnerReport::Ended { .. }) => return Err(wrong("it ended before it was started".into())),
            None => return Err(wrong("the terminal was closed before it was started".into())),
        };
        let (gate, stub_pid) = self
            .next(START_TIMEOUT)?
            .ok_or_else(|| wrong(format!("process {pid} of the terminal does not wait to be released")))?;
        if stub_pid != pid {
            return Err(wrong(format!("the terminal knows it as process {pid}, this machine as {stub_pid}"))
                .hint("use a terminal in the same container as the debugger"));
        }
        let process = process_id(pid)
            .ok_or_else(|| wrong(format!("{pid} is not a process id")))
            .and_then(|id| pidfd_open(id, PidfdFlags::empty()).map_err(|error| lost(error.into())))?;
        // Words of a stub that could not become the program are there when it has ended, or never.
        gate.set_nonblocking(true).map_err(lost)?;
        let words = gate.try_clone().map_err(lost)?;
        let (ended, exit) = watch::channel(None);
        let lost_terminal = Arc::new(AtomicBool::new(false));
        let child = Child::in_terminal(pid, OwnedFd::from(gate).into(), exit, words, lost_terminal.clone());
        let runner = TerminalRunner { reports, pid: runner_pid, program: pid, process, lost_terminal };
        Ok(Some(HeldProgram { child, ended, runner }))
    }

    /// The next connection of a process of this user, and its process id.
    fn next(&self, limit: Duration) -> Result<Option<(UnixStream, u32)>, Failure> {
        let wrong = |error: std::io::Error| {
            start_failure(&self.spec, &format!("cannot be reached at `{}`: {error}", self.socket.display()))
        };
        let deadline = Instant::now() + limit;
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let peer = rustix::net::sockopt::socket_peercred(&stream)
                        .map_err(|error| wrong(error.into()))?;
                    if peer.uid == rustix::process::getuid() {
                        stream.set_nonblocking(false).map_err(wrong)?;
                        return Ok(Some((stream, peer.pid.as_raw_nonzero().get().unsigned_abs())));
                    }
                    tracing::warn!(
                        uid = peer.uid.as_raw(),
                        "a process of another user connected to the terminal's socket"
                    );
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(None);
                    }
                    wait(self.listener.as_fd(), left);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(wrong(error)),
            }
        }
    }
}

/// A program that waits in a client's terminal to be released.
pub(super) struct HeldProgram {
    pub(super) child: Child,
    /// Tells the child's handle about its end.
    pub(super) ended: watch::Sender<Option<ExitInfo>>,
    pub(super) runner: TerminalRunner,
}

/// The process in the terminal that has started the program, and waits for its end.
#[derive(Debug)]
pub(super) struct TerminalRunner {
    reports: RunnerReports,
    pid: u32,
    program: u32,
    process: OwnedFd,
    lost_terminal: Arc<AtomicBool>,
}

impl TerminalRunner {
    /// Waits, on a separate thread, until the program has ended. A runner that ends earlier has lost its
    /// terminal or was killed; then the program ends with it.
    pub(super) fn wait(mut self) -> ExitInfo {
        let stream = self.reports.0.get_ref();
        let mut descriptors = [
            PollFd::from_borrowed_fd(self.process.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(stream.as_fd(), PollFlags::IN),
        ];
        while poll(&mut descriptors, None).is_err() {}
        stream.set_read_timeout(Some(REPORT_TIMEOUT)).unwrap_or_default();
        // A program that was stopped from the keyboard has stopped its runner too.
        if let Some(runner) = process_id(self.pid) {
            kill_process(runner, Signal::CONT).unwrap_or_default();
        }
        match self.reports.next() {
            Ok(Some(RunnerReport::Ended { code, signal, hung_up })) => {
                self.lost_terminal.store(hung_up, Ordering::Relaxed);
                ExitInfo { code, signal }
            }
            other => {
                tracing::debug!(?other, "the runner of the program is gone");
                self.lost_terminal.store(true, Ordering::Relaxed);
                signal_group(self.program, Signal::KILL);
                wait(self.process.as_fd(), KILL_TIMEOUT);
                ExitInfo { code: 128 + Signal::KILL.as_raw(), signal: Some(Signal::KILL.as_raw()) }
            }
        }
    }
}

#[derive(Debug)]
struct RunnerReports(BufReader<UnixStream>);

impl RunnerReports {
    /// The next report; `None` when the runner has ended, or sends invalid data.
    fn next(&mut self) -> std::io::Result<Option<RunnerReport>> {
        let mut line = Vec::new();
        self.0.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)?;
        Ok(serde_json::from_slice(&line).ok())
    }
}

fn wait(descriptor: std::os::fd::BorrowedFd<'_>, limit: Duration) {
    let mut descriptors = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
    let limit = Timespec::try_from(limit).ok();
    // An interrupted wait is a short wait: callers look at the clock, or at what they waited for.
    poll(&mut descriptors, limit.as_ref()).unwrap_or_default();
}

fn process_id(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

fn start_failure(spec: &SpawnSpec, reason: &str) -> Failure {
    Failure::new(
        ErrorCode::LaunchFailed,
        format!("cannot start `{}` in a terminal: {reason}", spec.program.display()),
    )
}
