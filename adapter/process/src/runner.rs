//! `tandem-dap in-terminal`: the process in a client's terminal that starts the program there, waits for it
//! and reports to the host how it ended. The host's side, and why it is so: [`super::terminal_launch`].
//!
//! It handles its program as a shell does a job: the program leads its own process group, has the
//! terminal's foreground, and so gets what is typed and Ctrl+C; the runner takes the foreground back when the
//! program ends or is stopped from the keyboard, and returns it when the program is continued. It ends with
//! the program's exit code.
//!
//! Neither outlives the other, nor the session: the host's hanging up kills the program, the terminal's asks
//! it to end (SIGHUP) and kills it when it does not; and the kernel kills it when the runner is killed.

use std::ffi::OsString;
use std::io::{IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpgrp, kill_process, waitid};
use rustix::stdio::stdin;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::sync::mpsc;

use super::child::signal_group;
use super::exit::ExitInfo;
use super::terminal_launch::{MAX_LINE, RunnerProgram, RunnerReport};

/// How long the host may take to say what is to run.
const PROGRAM_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a program may take to end after its terminal was closed.
const HANG_UP_TIMEOUT: Duration = Duration::from_secs(3);

/// Runs the program that the host at this socket names; returns the exit code for the shell.
///
/// # Errors
/// When there is no host, or it cannot be understood.
pub fn run(socket: &Path) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // On this thread: the kernel kills the program when the thread that started it ends.
    let outcome = runtime.block_on(serve(socket));
    runtime.shutdown_background();
    outcome
}

async fn serve(socket: &Path) -> anyhow::Result<u8> {
    let stream = UnixStream::connect(socket).await;
    let stream = stream.context("the debug session that asked for this terminal has ended")?;
    let (reader, mut host) = stream.into_split();
    let mut host_says = BufReader::new(reader);
    let mut line = Vec::new();
    let mut limited = (&mut host_says).take(MAX_LINE);
    let read = tokio::time::timeout(PROGRAM_REQUEST_TIMEOUT, limited.read_until(b'\n', &mut line));
    read.await.context("the debug session names no program to run")??;
    let launch: RunnerProgram = serde_json::from_slice(&line).context("the debug session has ended")?;
    let mut program = match ForegroundProgram::start(socket, &launch) {
        Ok(program) => program,
        Err(error) => {
            let reason = format!("{error:#}");
            send_report(&mut host, &RunnerReport::Failed { reason: reason.clone() }).await?;
            bail!("cannot start `{}`: {reason}", launch.program.display());
        }
    };
    send_report(&mut host, &RunnerReport::Started { pid: program.pid }).await?;
    let (ended, hung_up) = program.wait(&mut host_says).await?;
    program.terminal.take_back();
    // The host may have ended; then the report is not needed.
    drop(
        send_report(&mut host, &RunnerReport::Ended { code: ended.code, signal: ended.signal, hung_up })
            .await,
    );
    Ok(u8::try_from(ended.code & 0xff).unwrap_or(u8::MAX))
}

async fn send_report(host: &mut (impl AsyncWriteExt + Unpin), report: &RunnerReport) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    host.write_all(&line).await.context("the debug session has ended")
}

struct ForegroundProgram {
    pid: u32,
    terminal: Foreground,
}

impl ForegroundProgram {
    /// Starts the stub, which waits at the host's gate.
    fn start(socket: &Path, launch: &RunnerProgram) -> anyhow::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("exec-held").arg("--parent").arg(std::process::id().to_string());
        command.arg("--gate").arg(socket).arg("--").arg(&launch.program).args(&launch.args);
        command.current_dir(&launch.cwd).process_group(0);
        for (name, value) in &launch.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        // Reaped by `ended`.
        let pid = command.spawn().with_context(|| format!("in `{}`", launch.cwd.display()))?.id();
        cordebug::signals::ignore_background_writes();
        let terminal = Foreground::of_terminal();
        terminal.pass_foreground(pid);
        Ok(Self { pid, terminal })
    }

    /// Waits for its end; returns whether its terminal was closed first.
    async fn wait(
        &mut self,
        host_says: &mut (impl AsyncReadExt + Unpin),
    ) -> anyhow::Result<(ExitInfo, bool)> {
        let mut changed = signal(SignalKind::child())?;
        let mut hang_up = signal(SignalKind::hangup())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut quit = signal(SignalKind::quit())?;
        let mut gone = watch_terminal()?;
        let (mut host_is_gone, mut hung_up) = (false, false);
        let mut patience: Option<tokio::time::Instant> = None;
        let mut byte = [0u8];
        loop {
            match self.state()? {
                ProgramRunState::Ended(info) => return Ok((info, hung_up)),
                ProgramRunState::Stopped => self.step_back()?,
                ProgramRunState::Runs => {}
            }
            let deadline = patience;
            let impatient = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = changed.recv() => {}
                // It says nothing more until it goes.
                _ = host_says.read(&mut byte), if !host_is_gone => {
                    host_is_gone = true;
                    signal_group(self.pid, Signal::KILL);
                }
                () = wait_for_either(&mut hang_up, &mut gone), if !hung_up => {
                    hung_up = true;
                    patience = Some(tokio::time::Instant::now() + HANG_UP_TIMEOUT);
                    signal_group(self.pid, Signal::HUP);
                    signal_group(self.pid, Signal::CONT);
                }
                () = impatient => {
                    patience = None;
                    signal_group(self.pid, Signal::KILL);
                }
                _ = terminate.recv() => signal_group(self.pid, Signal::TERM),
                _ = interrupt.recv() => signal_group(self.pid, Signal::INT),
                _ = quit.recv() => signal_group(self.pid, Signal::QUIT),
            }
        }
    }

    /// The program's change of state since the last call. Reaps it.
    fn state(&self) -> anyhow::Result<ProgramRunState> {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw).context("no process id")?;
        let options = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        let Some(status) = waitid(WaitId::Pid(pid), options).context("cannot wait for the program")? else {
            return Ok(ProgramRunState::Runs);
        };
        Ok(match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => ProgramRunState::Ended(ExitInfo { code, signal: None }),
            (None, Some(signal)) => {
                ProgramRunState::Ended(ExitInfo { code: 128 + signal, signal: Some(signal) })
            }
            (None, None) => ProgramRunState::Stopped,
        })
    }

    /// The program was stopped from the keyboard: stops with it, so that a shell gets its terminal back, and
    /// continues with it. If no shell could continue this process the kernel leaves it alone (an orphaned
    /// group), and so the program continues.
    fn step_back(&mut self) -> anyhow::Result<()> {
        self.terminal.take_back();
        kill_process(rustix::process::getpid(), Signal::TSTP).context("cannot stop")?;
        self.terminal = Foreground::of_terminal();
        self.terminal.pass_foreground(self.pid);
        signal_group(self.pid, Signal::CONT);
        Ok(())
    }
}

enum ProgramRunState {
    Runs,
    Stopped,
    Ended(ExitInfo),
}

/// Our terminal's foreground group and modes; `None` if we may not change them.
struct Foreground(Option<(Pid, Termios)>);

impl Foreground {
    fn of_terminal() -> Self {
        let own = getpgrp();
        // Only a process in the foreground of its terminal may pass the foreground on.
        let ours = stdin().is_terminal() && tcgetpgrp(stdin()).is_ok_and(|group| group == own);
        Self(ours.then(|| tcgetattr(stdin()).ok()).flatten().map(|modes| (own, modes)))
    }

    fn pass_foreground(&self, group: u32) {
        if let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw).filter(|_| self.0.is_some()) {
            // It may have ended, or the terminal be gone.
            tcsetpgrp(stdin(), group).unwrap_or_default();
        }
    }

    fn take_back(&self) {
        if let Some((own, modes)) = &self.0 {
            // A killed program leaves the modes it has set. It is not an error if the terminal is gone.
            tcsetpgrp(stdin(), *own).unwrap_or_default();
            tcsetattr(stdin(), OptionalActions::Drain, modes).unwrap_or_default();
        }
    }
}

/// A signal reported that the terminal is closing, or we noticed it.
async fn wait_for_either(signals: &mut Signals, seen: &mut mpsc::Receiver<()>) {
    tokio::select! {
        _ = signals.recv() => {}
        Some(()) = seen.recv() => {}
    }
}

/// Reports when the terminal has gone, of which no signal informs a process that is not in its foreground.
fn watch_terminal() -> anyhow::Result<mpsc::Receiver<()>> {
    let (gone, closed) = mpsc::channel(1);
    let terminal = stdin().try_clone_to_owned()?;
    if terminal.is_terminal() {
        let watch = move || loop {
            let mut descriptors = [PollFd::from_borrowed_fd(terminal.as_fd(), PollFlags::empty())];
            if poll(&mut descriptors, None).is_ok() {
                // There is no receiver any more when the program has ended.
                return gone.blocking_send(()).unwrap_or_default();
            }
        };
        std::thread::Builder::new().name("terminal-watch".into()).spawn(watch)?;
    }
    Ok(closed)
}

/// The stub of a program in a terminal: waits for one byte from the host, then becomes the program. Returns
/// only when that fails, after reporting it to the host. `parent`: the runner, which takes the program with
/// it when it is killed.
pub fn exec_at_gate(gate: &Path, program: &Path, args: &[OsString], parent: Option<u32>) -> std::io::Error {
    if let Err(error) = super::held_exec::die_with(parent) {
        return error;
    }
    let mut host = match std::os::unix::net::UnixStream::connect(gate) {
        Ok(host) => host,
        Err(error) => return error,
    };
    let mut byte = [0u8];
    match host.read(&mut byte) {
        Ok(1) => {
            let error = Command::new(program).args(args).exec();
            // If the host does not receive it, it sees the exit code.
            drop(host.write_all(error.to_string().as_bytes()));
            error
        }
        Ok(_) => std::io::Error::other("the debugger went away before the program was started"),
        Err(error) => error,
    }
}
