//! The program's stdio for the hub and the engines: starts the program, or takes it over from the adapter
//! that started it; drains its output, writes its input and reports its end. Not here: reading the output
//! ([`output_read`](super::output_read), [`cursor`](super::cursor)).
//!
//! Memory is bounded by the two rings; dropped bytes are counted and reported.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tandem_error::{ErrorCode, Failure};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::child::{Child, ChildPipes, SpawnSpec};
use super::drain::{DrainStep, DrainedStream};
use super::drain_thread;
use super::exec_shim::ExecShim;
use super::exit::ExitInfo;
use super::file_input::feed_file;
use super::named_pipes::NamedPipes;
use super::needs_terminal;
use super::output_copy::OutputCopy;
use super::rate_limiter::RateLimiter;
use super::redirection::Redirection;
use super::stdin::{self, InputRecord, ProgramStdin};
use super::streams::{Ownership, StreamPositions, Streams};
use super::terminal::{self, Pty};
use super::terminal_launch::{HeldProgram, TerminalLaunch};
use super::terminal_size::TerminalSize;

/// The answer to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteOutcome {
    /// The number of bytes that the program's pipe accepted.
    pub bytes_written: usize,
    /// Whether stdin is closed now.
    pub stdin_closed: bool,
}

#[derive(Debug)]
struct BrokerState {
    streams: Mutex<Streams>,
    rate_limiter: Mutex<RateLimiter>,
    redirection: Mutex<Redirection>,
    changed: watch::Sender<()>,
    stub: PathBuf,
    runtime: tokio::runtime::Handle,
}

/// The program's input and output. Clones share it.
#[derive(Debug, Clone)]
pub struct Broker(Arc<BrokerState>);

impl Broker {
    /// Keeps at most `buffer_bytes` per stream. `stub` is the `tandem-dap` executable.
    /// Inside a tokio runtime.
    pub fn new(buffer_bytes: usize, stub: PathBuf) -> Self {
        Self(Arc::new(BrokerState {
            streams: Mutex::new(Streams::new(buffer_bytes)),
            rate_limiter: Mutex::default(),
            redirection: Mutex::default(),
            changed: watch::Sender::new(()),
            stub,
            runtime: tokio::runtime::Handle::current(),
        }))
    }

    /// A receiver that is notified of new output, and of the end of the program.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// Notifies these receivers.
    pub(super) fn report_change(&self) {
        self.0.changed.send_replace(());
    }

    /// The number of receivers that `changes` has returned and that still exist.
    pub(super) fn followers(&self) -> usize {
        self.0.changed.receiver_count()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Streams> {
        self.0.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rate limit of all clients that follow the output.
    pub(super) fn rate_limiter(&self) -> MutexGuard<'_, RateLimiter> {
        self.0.rate_limiter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes how many bytes are kept; only before a program was started.
    pub fn set_buffer_bytes(&self, bytes: usize) {
        let mut streams = self.lock();
        if matches!(streams.ownership, Ownership::NoProgram) {
            streams.stdout = DrainedStream::new(bytes);
            streams.stderr = DrainedStream::new(bytes);
        }
    }

    /// Files for the streams of each program that is started from now on. They are opened once now, since an
    /// engine may build first, and again at each start.
    ///
    /// # Errors
    /// `LAUNCH_FAILED` when they cannot be opened.
    pub fn redirect(&self, redirection: Redirection) -> Result<(), Failure> {
        redirection.open()?;
        *self.0.redirection.lock().unwrap_or_else(PoisonError::into_inner) = redirection;
        Ok(())
    }

    fn redirection(&self) -> Redirection {
        self.0.redirection.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Starts a program held (see [`Child::spawn`]) and drains it from its first byte.
    ///
    /// # Errors
    /// `LAUNCH_FAILED`, `ALREADY_ATTACHED` when there was one before.
    pub fn spawn(&self, spec: &SpawnSpec) -> Result<Child, Failure> {
        self.lock().refuse_second_program()?;
        let files = self.redirection().open()?;
        let (mut child, pipes) = Child::spawn(&self.0.stub, spec)?;
        let input = files.stdin.map(|file| (file, child.when_released()));
        let stdin = self.take_over(child.pid(), pipes, files.copies, child.exit())?;
        if let Some((file, released)) = input {
            self.0.runtime.spawn(feed_file(stdin, file, released, child.exit(), self.warner()));
        }
        Ok(child)
    }

    /// Prepares a socket for a runner that starts the program, held, in a client's terminal
    /// (see [`TerminalLaunch`]).
    ///
    /// # Errors
    /// `LAUNCH_FAILED`, `ALREADY_ATTACHED` when there was one before.
    pub fn offer_terminal(&self, spec: SpawnSpec) -> Result<TerminalLaunch, Failure> {
        self.lock().refuse_second_program()?;
        if !self.redirection().is_empty() {
            return Err(Failure::invalid("`stdio` names files, but `console` requests a terminal")
                .hint("omit one of them"));
        }
        TerminalLaunch::new(&self.0.stub, spec)
    }

    /// Waits at most `limit` for the terminal's runner; `None` when none came. The program is held, and its
    /// stdio is the terminal's.
    ///
    /// # Errors
    /// `LAUNCH_FAILED` when it cannot be started there.
    pub fn accept(&self, launch: &TerminalLaunch, limit: Duration) -> Result<Option<Child>, Failure> {
        let Some(HeldProgram { child, ended, runner }) = launch.accept(limit)? else { return Ok(None) };
        let wait = move || {
            ended.send_replace(Some(runner.wait()));
        };
        std::thread::Builder::new().name("program-exit".into()).spawn(wait).map_err(|error| {
            Failure::new(ErrorCode::LaunchFailed, format!("cannot watch the program end: {error}"))
        })?;
        self.lock().set_ownership(Ownership::Terminal { pid: child.pid(), exit: child.exit() });
        Ok(Some(child))
    }

    /// Makes our own pipes, or a terminal, for a program that an adapter starts.
    ///
    /// # Errors
    /// `LAUNCH_FAILED`, `ALREADY_ATTACHED` when there was a program before.
    pub fn create_named_pipes(&self, pty: Pty) -> Result<NamedPipes, Failure> {
        self.lock().refuse_second_program()?;
        let files = self.redirection().open()?;
        let (named_pipes, pipes) = NamedPipes::new(pty).map_err(|error| {
            Failure::new(ErrorCode::LaunchFailed, format!("cannot make pipes for the program: {error}"))
        })?;
        let stdin = self.take_over(0, pipes, files.copies, named_pipes.exit())?;
        if let Some(file) = files.stdin {
            let released = std::future::ready(Ok(()));
            self.0.runtime.spawn(feed_file(stdin, file, released, named_pipes.exit(), self.warner()));
        }
        Ok(named_pipes)
    }

    /// Prepares a socket for the stub that an adapter starts instead of the program (see [`ExecShim`]).
    ///
    /// # Errors
    /// `LAUNCH_FAILED` when the folder to run in does not exist, or the socket cannot be created.
    pub fn prepare_exec_shim(&self, spec: SpawnSpec, stdio: [PathBuf; 3]) -> Result<ExecShim, Failure> {
        ExecShim::new(&self.0.stub, spec, stdio)
    }

    fn take_over(
        &self,
        pid: u32,
        pipes: ChildPipes,
        [stdout_copy, stderr_copy]: [Option<OutputCopy>; 2],
        exit: watch::Receiver<Option<ExitInfo>>,
    ) -> Result<Arc<ProgramStdin>, Failure> {
        let runtime = self.0.runtime.enter();
        let stdin = Arc::new(ProgramStdin::new(pipes.stdin, pipes.terminal.as_deref())?);
        drop(runtime);
        let mut streams = self.lock();
        streams.stdout.copy_to(stdout_copy);
        streams.stderr.copy_to(stderr_copy);
        streams.set_ownership(Ownership::Ours { pid, reader: pid, stdin: stdin.clone(), exit });
        streams.hinted = false;
        let failed = |error: std::io::Error| {
            Failure::new(ErrorCode::LaunchFailed, format!("cannot prepare the program's pipes: {error}"))
        };
        let size = streams.terminal_size;
        let answers = terminal::answers(pipes.pty, size);
        let stdout = streams.stdout.attach(pipes.stdout, answers).map_err(failed)?;
        streams.stdout.resize(size).map_err(failed)?;
        let stderr = pipes.stderr.map(|stderr| streams.stderr.attach(stderr, None)).transpose();
        let stderr = stderr.map_err(failed)?;
        drop(streams);
        self.drain_in_thread("program-stdout", stdout, |streams| &mut streams.stdout).map_err(failed)?;
        if let Some(stderr) = stderr {
            self.drain_in_thread("program-stderr", stderr, |streams| &mut streams.stderr).map_err(failed)?;
        }
        Ok(stdin)
    }

    /// Adds a line about a fault for all clients.
    fn warner(&self) -> impl FnOnce(&str) + Send + use<> {
        let broker = self.clone();
        move |text| {
            broker.lock().warn(text);
            broker.report_change();
        }
    }

    /// Starts a process that serves the debugger and is not the program; the caller gets its pipes.
    ///
    /// # Errors
    /// `LAUNCH_FAILED` when the executable cannot be started.
    pub fn spawn_helper(&self, spec: &SpawnSpec) -> Result<(Child, ChildPipes), Failure> {
        Child::spawn(&self.0.stub, spec)
    }

    /// From now on all output comes from [`Broker::feed`]; there is no stdin.
    pub fn expect_reported_output(&self) {
        self.lock().set_ownership(Ownership::Reported { ended: false });
    }

    /// Adds output of a program whose pipes belong to an adapter.
    pub fn feed(&self, to_stderr: bool, text: &str) {
        let mut streams = self.lock();
        let stream = if to_stderr { &mut streams.stderr } else { &mut streams.stdout };
        stream.push(text.as_bytes());
        streams.note_stream_warnings();
        drop(streams);
        self.report_change();
    }

    /// A program whose output an adapter reports has ended.
    pub fn end_reported_output(&self) {
        if let Ownership::Reported { ended } = &mut self.lock().ownership {
            *ended = true;
        }
        self.report_change();
    }

    /// Clients are about to see the program's end, also when its debugger still runs.
    pub fn report_exit(&self) {
        self.lock().exit_reported = true;
        self.report_change();
    }

    /// Sets the process that reads stdin, if it is not the started process but one below it.
    pub fn set_reader(&self, process: u32) {
        if let Ownership::Ours { reader, .. } = &mut self.lock().ownership {
            *reader = process;
        }
    }

    /// The `tandem-dap` executable.
    pub fn stub_path(&self) -> &Path {
        &self.0.stub
    }

    /// The tokio runtime, for threads that wait.
    pub fn runtime(&self) -> tokio::runtime::Handle {
        self.0.runtime.clone()
    }

    /// Kills the rest of the program's process group; used when no other owner does.
    pub fn kill(&self) {
        self.lock().ownership.kill();
    }

    fn drain_in_thread(
        &self,
        name: &str,
        polled: File,
        pick: fn(&mut Streams) -> &mut DrainedStream,
    ) -> std::io::Result<()> {
        let (broker, mine) = (self.clone(), pick(&mut self.lock()).attached());
        drain_thread::spawn(name, polled, move || {
            let step = broker.lock().drain_step(pick, mine);
            if step != DrainStep::StillHungUp {
                broker.report_change();
            }
            step
        })
    }

    /// The program's stdio does not belong to us: every request answers `IO_NOT_OWNED`.
    pub fn set_not_owned(&self) {
        self.lock().set_ownership(Ownership::NotOurs);
    }

    /// The advice for a program whose output reports that it needs a terminal; `None` if it has one.
    pub fn terminal_hint(&self, text: &str) -> Option<&'static str> {
        let has_pipes = self.lock().stdin().is_ok_and(|stdin| !stdin.is_terminal());
        (has_pipes && needs_terminal::reports_missing_terminal(text)).then_some(needs_terminal::HINT)
    }

    /// The same, at most once for each program: for a line on the console.
    pub fn first_terminal_hint(&self, text: &str) -> Option<&'static str> {
        let hint = self.terminal_hint(text)?;
        (!std::mem::replace(&mut self.lock().hinted, true)).then_some(hint)
    }

    /// Takes in what the program has printed until now, within a limit.
    pub fn drain_output(&self) -> StreamPositions {
        let mut streams = self.lock();
        streams.drain();
        let positions = streams.positions();
        drop(streams);
        self.report_change();
        positions
    }

    /// Whether a program we started has ended.
    pub fn has_ended(&self) -> bool {
        self.lock().has_exited()
    }

    /// Waits until nothing more can come, at most `limit`: a grandchild may hold the pipes.
    pub async fn wait_until_drained(&self, limit: Duration) {
        let mut changed = self.changes();
        let all_in = async { while !self.lock().is_drained() && changed.changed().await.is_ok() {} };
        if tokio::time::timeout(limit, all_in).await.is_err() {
            tracing::debug!("the program's pipes are still open after its end");
        }
    }

    /// Waits until a program we started has ended, at most `limit`. Returns at once when there is none.
    pub async fn wait_until_exited(&self, limit: Duration) {
        let Some(mut exit) = self.lock().ownership.exit() else { return };
        if tokio::time::timeout(limit, exit.wait_for(Option::is_some)).await.is_err() {
            tracing::warn!("the program did not end");
        }
    }

    /// How a program ended that we started: the kernel reports its end to us, not to an adapter.
    pub fn exit_info(&self) -> Option<ExitInfo> {
        self.lock().ownership.exit_info()
    }

    /// Writes to the program's stdin, after earlier writers.
    ///
    /// # Errors
    /// `NO_SESSION`, `IO_NOT_OWNED`, and those of [`ProgramStdin::write`].
    pub async fn write_input(
        &self,
        data: &[u8],
        close: bool,
        cancel: &CancellationToken,
    ) -> Result<WriteOutcome, Failure> {
        let stdin = self.lock().stdin()?;
        if stdin.is_terminal() && self.has_ended() {
            // A terminal takes input that nothing will read.
            self.drain_output();
            if self.lock().stdout.at_end() {
                return Err(stdin::closed_failure("the program has ended").data(stdin::bytes_written(0)));
            }
        }
        let stdin_closed = stdin.write(data, close, cancel).await?;
        Ok(WriteOutcome { bytes_written: data.len(), stdin_closed })
    }

    /// Changes the size of the program's terminal, or that of the terminal which the session's first program
    /// will get. A restarted program's terminal has the same size.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for a program that uses pipes, `IO_NOT_OWNED`, `IO_FAILED`.
    pub fn resize_terminal(&self, size: TerminalSize) -> Result<(), Failure> {
        self.lock().resize_terminal(size)
    }

    /// The input that clients have written to the program's stdin.
    ///
    /// # Errors
    /// `NO_SESSION`, `IO_NOT_OWNED`.
    pub fn input(&self) -> Result<InputRecord, Failure> {
        Ok(self.lock().stdin()?.input_record())
    }
}
