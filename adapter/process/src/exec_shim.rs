//! A program that an adapter starts by itself, with our pipes: the adapter is given the stub `tandem-dap
//! exec-shim SOCKET` to start. It connects to our socket, fetches the command, opens the offered pipes
//! ([`super::named_pipes`]) as its stdin, stdout and stderr, and becomes the program. So the process is the
//! one the adapter has made, and its id is known before the program's first instruction; and arguments and
//! variables never pass through the adapter, which may corrupt them (netcoredbg: an argument that ends in a
//! backslash).
//!
//! The kernel cannot kill the program together with us, because it is not our child: a *watchdog* does
//! ([`super::detach_watchdog`]).
//!
//! Not here: requests to the adapter, and programs in a client's terminal ([`super::terminal_launch`]).

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use serde::{Deserialize, Serialize};
use tandem_error::{ErrorCode, Failure};
use tandem_registry::ScratchFolder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;

use super::child::{SpawnSpec, signal_group};
use super::detach_watchdog;
use super::terminal::Pty;
use super::terminal_launch::MAX_LINE;

/// How long the stub may take from its connection to the program's first instruction.
const EXEC_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest reason of a stub that cannot become the program, bytes.
const MAX_REASON_LEN: u64 = 4096;

/// The program that the stub becomes. The rest of the environment is the adapter's.
#[derive(Debug, Serialize, Deserialize)]
struct ShimProgram {
    program: OsString,
    args: Vec<OsString>,
    cwd: OsString,
    env: Vec<(String, Option<String>)>,
    /// The files to open as stdin, stdout and stderr.
    stdio: [PathBuf; 3],
    /// They are one terminal, which becomes the program's controlling terminal.
    terminal: bool,
}

/// A socket to which the stub connects. Dropping it removes the socket.
#[derive(Debug)]
pub struct ExecShim {
    program: ShimProgram,
    stub: PathBuf,
    listener: UnixListener,
    command: [OsString; 3],
    _scratch: ScratchFolder,
}

/// The program that the adapter has started.
#[derive(Debug)]
pub struct StartedProgram {
    /// Its process id, which is also that of its process group.
    pub pid: u32,
    ended: oneshot::Receiver<()>,
}

impl ExecShim {
    /// Creates the socket, in a new folder in the session folder. `stub` is the `tandem-dap` executable.
    /// Inside a tokio runtime.
    pub(super) fn new(stub: &Path, spec: SpawnSpec, stdio: [PathBuf; 3]) -> Result<Self, Failure> {
        let SpawnSpec { program, args, cwd, env, pty, ends_by_itself: _ } = spec;
        let program = ShimProgram {
            program: program.into(),
            args,
            cwd: cwd.clone().into(),
            env,
            stdio,
            terminal: pty != Pty::No,
        };
        if !cwd.is_dir() {
            return Err(program
                .failure(&format!("there is no folder `{}`", cwd.display()))
                .hint("set `cwd` to an existing folder"));
        }
        let scratch = ScratchFolder::new(&tandem_registry::folder())
            .map_err(|error| program.failure(&format!("cannot create a folder for its socket: {error}")))?;
        let socket = scratch.path().join("program");
        let listener = UnixListener::bind(&socket)
            .map_err(|error| program.failure(&format!("cannot listen at `{}`: {error}", socket.display())))?;
        let command = [stub.into(), "exec-shim".into(), socket.into()];
        Ok(Self { program, stub: stub.to_owned(), listener, command, _scratch: scratch })
    }

    /// The command that the adapter must start.
    pub fn command(&self) -> &[OsString] {
        &self.command
    }

    /// Waits until the adapter has started it and it is the program; the caller stops waiting.
    ///
    /// # Errors
    /// `LAUNCH_FAILED` with the reason when it cannot become the program.
    pub async fn wait_until_started(self) -> Result<StartedProgram, Failure> {
        let lost = |error: std::io::Error| self.program.failure(&format!("the connection was lost: {error}"));
        let (stream, pid) = self.visitor().await.map_err(lost)?;
        // Before it can be the program: should we be killed, it ends.
        let begun = StartedProgram::watch(&self.stub, pid).map_err(lost)?;
        let reason = tokio::time::timeout(EXEC_TIMEOUT, self.program.release(stream)).await;
        match reason.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into())) {
            Ok(reason) if reason.is_empty() => Ok(begun),
            Ok(reason) => {
                begun.wait_for_end().await;
                Err(self.program.failure(&reason))
            }
            Err(error) => {
                signal_group(begun.pid, Signal::KILL);
                begun.wait_for_end().await;
                Err(lost(error))
            }
        }
    }

    /// Accepts the first process of this user that connects.
    async fn visitor(&self) -> std::io::Result<(UnixStream, i32)> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            let peer = stream.peer_cred()?;
            match peer.pid() {
                Some(pid) if peer.uid() == rustix::process::getuid().as_raw() => return Ok((stream, pid)),
                _ => {
                    tracing::warn!(
                        uid = peer.uid(),
                        "a process of another user connected to the socket of the program's command"
                    )
                }
            }
        }
    }
}

impl ShimProgram {
    /// Releases the stub, and returns why it cannot become the program: an empty text if it has, because
    /// the socket closes then.
    async fn release(&self, mut stream: UnixStream) -> std::io::Result<String> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        stream.write_all(&line).await?;
        let mut reason = String::new();
        stream.take(MAX_REASON_LEN).read_to_string(&mut reason).await?;
        Ok(reason)
    }

    fn failure(&self, reason: &str) -> Failure {
        let program = Path::new(&self.program);
        Failure::new(ErrorCode::LaunchFailed, format!("cannot start `{}`: {reason}", program.display()))
    }

    /// Becomes the program. Returns only when that fails.
    fn exec_program(&self) -> std::io::Error {
        let [stdin, stdout, stderr] = &self.stdio;
        let opened = (|| {
            // While the program holds an end of the adapter's pipes, the adapter's end is not seen.
            cordebug::descriptors::keep_from_programs()?;
            // Only the leader of a session can have its own terminal, and one without a terminal does not
            // get Tandem's.
            let leads = rustix::process::setsid();
            if self.terminal {
                leads?;
            }
            let stdin = OpenOptions::new().read(true).write(self.terminal).open(stdin)?;
            if self.terminal {
                rustix::process::ioctl_tiocsctty(&stdin)?;
            }
            let output = |path: &PathBuf| OpenOptions::new().write(true).open(path);
            Ok::<_, std::io::Error>((stdin, output(stdout)?, output(stderr)?))
        })();
        let (stdin, stdout, stderr) = match opened {
            Ok(opened) => opened,
            Err(error) => return error,
        };
        let mut command = Command::new(&self.program);
        command.args(&self.args).current_dir(&self.cwd).stdin(stdin).stdout(stdout).stderr(stderr);
        for (name, value) in &self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.exec()
    }
}

impl StartedProgram {
    /// Starts the watchdog of this process, and the thread that waits for the end of both.
    fn watch(stub: &Path, pid: i32) -> std::io::Result<Self> {
        let id =
            Pid::from_raw(pid).ok_or_else(|| std::io::Error::other(format!("{pid} is not a process id")))?;
        let process = pidfd_open(id, PidfdFlags::empty())?;
        let pid = pid.unsigned_abs();
        let watchdog = detach_watchdog::start(stub, pid)?;
        let (end, ended) = oneshot::channel();
        let watch = move || {
            // An interrupted wait is begun again.
            while poll(&mut [PollFd::new(&process, PollFlags::IN)], None).is_err() {}
            // There is no receiver any more when the session has ended.
            end.send(()).unwrap_or_default();
            // It sees the same end.
            drop(watchdog);
        };
        std::thread::Builder::new().name("program-end".into()).spawn(watch)?;
        Ok(Self { pid, ended })
    }

    /// Waits until the program has ended. Only the adapter, its parent, knows the exit code.
    pub async fn wait_for_end(self) {
        // The thread says so, or could not.
        self.ended.await.unwrap_or_default();
    }
}

/// The stub: fetches its program from the socket and becomes the program. Returns only if that fails, after
/// reporting it to the host.
pub fn exec_shim(socket: &Path) -> std::io::Error {
    let (host, program) = match fetch(socket) {
        Ok(fetched) => fetched,
        Err(error) => return error,
    };
    let error = program.exec_program();
    // A host that has ended needs no reason.
    drop((&host).write_all(error.to_string().as_bytes()));
    error
}

fn fetch(socket: &Path) -> std::io::Result<(std::os::unix::net::UnixStream, ShimProgram)> {
    let host = std::os::unix::net::UnixStream::connect(socket)?;
    host.set_read_timeout(Some(EXEC_TIMEOUT))?;
    let mut line = Vec::new();
    BufReader::new(&host).take(MAX_LINE).read_until(b'\n', &mut line)?;
    let program = serde_json::from_slice(&line)?;
    Ok((host, program))
}
