//! Starting a program held, learning how it ended, and ending it. In a client's terminal:
//! [`super::terminal_launch`].
//!
//! The program is started through a stub (`tandem-dap exec-held`) that waits for one byte on its stdin, which
//! is already the program's stdin, and then turns into the program. So its pid and start time are known
//! before its first instruction, no descriptor leaks into it, and none of our code runs between fork and
//! exec.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cordebug::exit_status::{self, ChildExit};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use tandem_error::{ErrorCode, Failure};
use tokio::sync::{oneshot, watch};

use super::detach_watchdog;
use super::executable::{self, HostSupport};
use super::exit::ExitInfo;
use super::terminal::{PseudoTerminal, Pty};

/// How long the note of an end may take to arrive.
const EXIT_RECORD_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(2);

/// The command line, folder and environment of a process to start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpawnSpec {
    /// The executable; absolute, or looked up in PATH.
    pub program: PathBuf,
    /// Its arguments, without the name.
    pub args: Vec<OsString>,
    /// The folder to run in.
    pub cwd: PathBuf,
    /// Changes to our own environment; `None` unsets.
    pub env: Vec<(String, Option<String>)>,
    /// Our terminal instead of pipes: stdout and stderr are one then.
    pub pty: Pty,
    /// When we are killed it is not killed with us but finds the end of its stdin: a debugger detaches from
    /// its program then. One that takes too long is still killed ([`super::detach_watchdog`]).
    pub ends_by_itself: bool,
}

impl SpawnSpec {
    /// Refuses a program of another machine or system, and a script without its interpreter.
    /// A name that is looked up in PATH has its reason there.
    pub(super) fn refuse_foreign(&self) -> Result<(), Failure> {
        match self.program.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => {
                let program = self.cwd.join(&self.program);
                executable::refuse_uninterpreted(&program)?;
                executable::refuse_foreign(&program, HostSupport::Kernel)
            }
            _ => Ok(()),
        }
    }
}

/// A program we started. Dropping it kills what is left of its process group.
#[derive(Debug)]
pub struct Child {
    pid: u32,
    gate: Option<File>,
    /// Notified when the program passes the gate.
    released: Option<oneshot::Sender<()>>,
    exit: watch::Receiver<Option<ExitInfo>>,
    /// The path of its stdin in `/proc`; empty for a program in a client's terminal.
    stdin: PathBuf,
    /// Data of a program in a client's terminal; `None` for any other.
    terminal: Option<InTerminal>,
}

/// Of a program in a client's terminal.
#[derive(Debug)]
struct InTerminal {
    /// On it a stub that could not become the program reports the reason; nonblocking.
    words: UnixStream,
    /// Set before the end is known.
    lost: Arc<AtomicBool>,
}

/// Our ends of the three pipes, or of the one terminal.
#[derive(Debug)]
pub struct ChildPipes {
    /// Write end of the program's stdin.
    pub stdin: File,
    /// Read end of its stdout.
    pub stdout: File,
    /// Read end of its stderr; none with a terminal.
    pub stderr: Option<File>,
    /// The name of the terminal, if it is one.
    pub terminal: Option<PathBuf>,
    /// How a terminal treats what is typed.
    pub pty: Pty,
}

impl Child {
    /// Starts `spec` held, in a new process session. Call it on a thread that ends with the session: the
    /// kernel kills the program when that thread ends, so that nothing outlives a host that was killed (but
    /// see [`SpawnSpec::ends_by_itself`]).
    ///
    /// # Errors
    /// `LAUNCH_FAILED` naming the folder or the program.
    pub fn spawn(stub: &Path, spec: &SpawnSpec) -> Result<(Self, ChildPipes), Failure> {
        let failed = |reason: String| {
            Failure::new(
                ErrorCode::LaunchFailed,
                format!("cannot start `{}`: {reason}", spec.program.display()),
            )
        };
        if !spec.cwd.is_dir() {
            return Err(failed(format!("there is no folder `{}`", spec.cwd.display()))
                .hint("set `cwd` to an existing folder"));
        }
        spec.refuse_foreign()?;
        let mut command = Command::new(stub);
        command.arg("exec-held").arg("--parent").arg(std::process::id().to_string());
        let terminal = if spec.pty == Pty::No { None } else { Some(PseudoTerminal::open()) };
        let terminal =
            terminal.transpose().map_err(|error| failed(format!("cannot create a terminal: {error}")))?;
        match &terminal {
            Some(terminal) => {
                let end = || terminal.programs.try_clone().map(Stdio::from);
                let ends = (|| Ok::<_, std::io::Error>((end()?, end()?, end()?)))();
                let (stdin, stdout, stderr) = ends.map_err(|error| failed(error.to_string()))?;
                command.arg("--terminal");
                if spec.pty == Pty::Echoing {
                    command.arg("--echo");
                }
                command.stdin(stdin).stdout(stdout).stderr(stderr);
            }
            None => {
                command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            }
        }
        if spec.ends_by_itself {
            command.arg("--ends-by-itself");
        }
        command.arg("--").arg(&spec.program).args(&spec.args).current_dir(&spec.cwd);
        for (name, value) in &spec.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        exit_status::watch();
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        // It holds the program's ends of a terminal.
        drop(command);
        let pid = child.id();
        let pipes = match (terminal, child.stdin.take(), child.stdout.take(), child.stderr.take()) {
            (Some(PseudoTerminal { ours, path, .. }), ..) => ChildPipes {
                stdin: ours.try_clone().map_err(|error| failed(error.to_string()))?,
                stdout: ours,
                stderr: None,
                terminal: Some(path),
                pty: spec.pty,
            },
            (None, Some(stdin), Some(stdout), Some(stderr)) => ChildPipes {
                stdin: OwnedFd::from(stdin).into(),
                stdout: OwnedFd::from(stdout).into(),
                stderr: Some(OwnedFd::from(stderr).into()),
                terminal: None,
                pty: Pty::No,
            },
            _ => return Err(failed("its pipes are missing".into())),
        };
        // It waits at its gate: if we are killed before the watchdog starts, it finds no listener and ends.
        let watchdog = if spec.ends_by_itself { Some(detach_watchdog::start(stub, pid)) } else { None };
        let watchdog = watchdog
            .transpose()
            .map_err(|error| failed(format!("the watchdog cannot be started: {error}")))?;
        let gate = pipes.stdin.try_clone().map_err(|error| failed(error.to_string()))?;
        let (ended, exit) = watch::channel(None);
        std::thread::Builder::new()
            .name("program-exit".into())
            .spawn(move || {
                let info = wait_for_exit(pid);
                // Reaps it, unless mscordbi, which also waits for its debuggee, was quicker.
                drop(child.wait());
                ended.send_replace(Some(info));
                // It sees the same end.
                drop(watchdog);
            })
            .map_err(|error| failed(error.to_string()))?;
        let stdin = pipes.terminal.clone().unwrap_or_else(|| {
            // Both ends of a pipe have one name.
            let end = format!("/proc/self/fd/{}", pipes.stdin.as_raw_fd());
            std::fs::read_link(end).unwrap_or_default()
        });
        Ok((Self { pid, gate: Some(gate), released: None, exit, stdin, terminal: None }, pipes))
    }

    /// A program that waits at `gate` in a client's terminal.
    pub(super) fn in_terminal(
        pid: u32,
        gate: File,
        exit: watch::Receiver<Option<ExitInfo>>,
        words: UnixStream,
        lost: Arc<AtomicBool>,
    ) -> Self {
        Self {
            pid,
            gate: Some(gate),
            released: None,
            exit,
            stdin: PathBuf::new(),
            terminal: Some(InTerminal { words, lost }),
        }
    }

    /// Why the stub in a client's terminal could not become the program, when it has ended.
    pub fn why_not_started(&self) -> Option<String> {
        let mut words = String::new();
        // It does not wait: the output at the stub's end is complete.
        drop((&self.terminal.as_ref()?.words).take(4096).read_to_string(&mut words));
        Some(words).filter(|words| !words.is_empty())
    }

    /// Whether it has ended because its terminal was closed.
    pub fn lost_terminal(&self) -> bool {
        self.terminal.as_ref().is_some_and(|terminal| terminal.lost.load(Ordering::Relaxed))
    }

    /// The path of its stdin in `/proc/PID/fd` of it and of processes that inherit it (proc(5)).
    pub fn stdin(&self) -> &Path {
        &self.stdin
    }

    /// Its process id, which is also the id of its process group.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Releases the program to run its first instruction. Call it once.
    ///
    /// # Errors
    /// `LAUNCH_FAILED` when it has already ended.
    pub fn release(&mut self) -> Result<(), Failure> {
        let Some(mut gate) = self.gate.take() else { return Ok(()) };
        gate.write_all(b"\n").map_err(|error| {
            Failure::new(
                ErrorCode::LaunchFailed,
                format!("process {} ended before it was started: {error}", self.pid),
            )
        })?;
        if let Some(released) = self.released.take() {
            // A receiver that is gone does not wait for it.
            released.send(()).unwrap_or_default();
        }
        Ok(())
    }

    /// Resolves when the program is released: what is written to its stdin before opens the gate. An
    /// error when it never is.
    pub fn when_released(&mut self) -> oneshot::Receiver<()> {
        let (released, receiver) = oneshot::channel();
        self.released = Some(released);
        receiver
    }

    /// Exit code and signal; `None` while it runs.
    pub fn exited(&self) -> Option<ExitInfo> {
        *self.exit.borrow()
    }

    /// Becomes `Some` when it has ended.
    pub fn exit(&self) -> watch::Receiver<Option<ExitInfo>> {
        self.exit.clone()
    }

    /// Sends a signal to its process group. It is not an error if the group has already ended.
    pub fn signal(&self, signal: Signal) {
        // The number of an ended process stays its group's while that has members. After that the kernel may
        // reuse it, also for the leader of another group.
        if self.exited().is_none() || !runs(self.pid) {
            signal_group(self.pid, signal);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// Whether there is a process of this number that has not ended (proc(5)).
fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

/// Sends a signal to a process group. It is not an error if the group has already ended.
pub fn signal_group(pid: u32, signal: Signal) {
    if let Some(group) = i32::try_from(pid).ok().and_then(Pid::from_raw)
        && kill_process_group(group, signal).is_err()
    {
        // It leads no group in its first moment; later only "no such process" can happen.
        kill_process(group, signal).unwrap_or_default();
    }
}

/// Whether a process was stopped by a signal, such as Ctrl+Z makes, or is about to be: on a busy machine it
/// takes a while until it gets as far. One that its debugger stopped was not.
pub fn is_suspended(pid: u32) -> bool {
    // proc(5): the signals that wait for the process as a whole; and threads stop one after the other.
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"));
    let pending = pending.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    let stops = [Signal::STOP, Signal::TSTP, Signal::TTIN, Signal::TTOU];
    let stopped = |task: std::fs::DirEntry| {
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
    };
    let mut tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    stops.iter().any(|stop| pending & (1 << (stop.as_raw() - 1)) != 0) || tasks.any(stopped)
}

/// Waits without reaping: mscordbi's PAL calls `waitpid` on its debuggee and would steal
/// the status otherwise.
fn wait_for_exit(pid: u32) -> ExitInfo {
    let lost = ExitInfo { code: -1, signal: None };
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return lost };
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Ok(Some(status)) => {
                return match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => ExitInfo { code, signal: None },
                    (None, Some(signal)) => ExitInfo { code: 128 + signal, signal: Some(signal) },
                    (None, None) => lost,
                };
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            // The PAL of a library whose `waitpid` could not be replaced was quicker.
            Err(rustix::io::Errno::CHILD) => {
                return match exit_status::await_exit(
                    pid.as_raw_nonzero().get().unsigned_abs(),
                    EXIT_RECORD_TIMEOUT,
                ) {
                    Some(ChildExit::Exited(code)) => ExitInfo { code, signal: None },
                    Some(ChildExit::Killed(signal)) => ExitInfo { code: 128 + signal, signal: Some(signal) },
                    None => {
                        tracing::warn!(?pid, "the exit status of the program was lost");
                        lost
                    }
                };
            }
            Err(error) => {
                tracing::warn!(?pid, %error, "cannot wait for the program's end");
                return lost;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_that_reuses_the_id_of_an_ended_program_gets_none_of_its_signals() {
        use std::os::unix::process::{CommandExt, ExitStatusExt};
        let mut other = std::process::Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        let ended = Some(ExitInfo { code: 0, signal: None });
        let (_told, exit) = watch::channel(ended);
        let pid = other.id();
        let child =
            |exit| Child { pid, gate: None, released: None, exit, stdin: PathBuf::new(), terminal: None };
        drop(child(exit));
        assert!(other.try_wait().unwrap().is_none());
        // One that has not ended is killed with its group.
        let (_told, exit) = watch::channel(None);
        drop(child(exit));
        assert_eq!(other.wait().unwrap().signal(), Some(9));
        assert!(!runs(pid));
    }

    #[test]
    fn a_suspended_process_is_distinguished_from_one_that_runs() {
        let mut sleeper = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let process = Pid::from_child(&sleeper);
        assert!(!is_suspended(sleeper.id()));
        // At once, however long it takes to stop and to continue.
        for _ in 0..1000 {
            kill_process(process, Signal::STOP).unwrap();
            assert!(is_suspended(sleeper.id()));
            kill_process(process, Signal::CONT).unwrap();
            assert!(!is_suspended(sleeper.id()));
        }
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
    }
}
