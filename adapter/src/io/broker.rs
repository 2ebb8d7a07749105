//! What the hub and the engines call: start the program, or take it over from whoever did; drain it; write its input; know its
//! end. Reading is in [`reading`](super::reading) and [`cursor`](super::cursor).
//!
//! Memory is bounded by the two rings; bytes that fell out are counted and said.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dap_wire::{ErrorCode, Failure};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::child::{Child, ExitInfo, Pipes, SpawnSpec};
use super::delegate::Delegate;
use super::drain::{Stream, wait_readable};
use super::invitation::{Held, Invitation};
use super::offer::Offer;
use super::pace::Pace;
use super::stdin::Stdin;
use super::streams::{Ownership, Positions, Streams};
use super::terminal::Pty;
use super::waiting::{self, Waiting};

/// A program that takes keys and has neither printed nor been typed to for so long, and does not run, waits for a key.
const QUIET: Duration = Duration::from_millis(300);
/// Most blocks of a stream that are taken in at once: more than a pipe holds.
const SETTLED: usize = 64;

/// The answer to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Bytes the program's pipe took.
    pub bytes_written: usize,
    /// Whether stdin is closed now.
    pub stdin_closed: bool,
}

#[derive(Debug)]
struct Inner {
    streams: Mutex<Streams>,
    pace: Mutex<Pace>,
    changed: watch::Sender<()>,
    stub: PathBuf,
    runtime: tokio::runtime::Handle,
}

/// The program's input and output. Clones share it.
#[derive(Debug, Clone)]
pub struct Broker(Arc<Inner>);

impl Broker {
    /// Keeps at most `buffer_bytes` per stream. `stub` is the `tandem-dap` executable. Inside a tokio runtime.
    pub fn new(buffer_bytes: usize, stub: PathBuf) -> Self {
        Self(Arc::new(Inner {
            streams: Mutex::new(Streams::new(buffer_bytes)),
            pace: Mutex::default(),
            changed: watch::Sender::new(()),
            stub,
            runtime: tokio::runtime::Handle::current(),
        }))
    }

    /// Told of all that is printed, and of the end.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// How many are told.
    pub(super) fn followers(&self) -> usize {
        self.0.changed.receiver_count()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Streams> {
        self.0.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The turns of all who follow.
    pub(super) fn pace(&self) -> MutexGuard<'_, Pace> {
        self.0.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes how much is kept; only before a program was started.
    pub fn set_buffer_bytes(&self, bytes: usize) {
        let mut streams = self.lock();
        if matches!(streams.ownership, Ownership::NoProgram) {
            streams.stdout = Stream::new(bytes);
            streams.stderr = Stream::new(bytes);
        }
    }

    /// Starts a program held (see [`Child::spawn`]) and drains it from its first byte.
    ///
    /// # Errors
    /// `LAUNCH_FAILED`, `ALREADY_ATTACHED` when there was one before.
    pub fn spawn(&self, spec: &SpawnSpec) -> Result<Child, Failure> {
        if self.lock().has_live_program() {
            return Err(Failure::new(ErrorCode::AlreadyAttached, "this session already has a program"));
        }
        let (child, pipes) = Child::spawn(&self.0.stub, spec)?;
        self.take_over(child.pid(), pipes, child.exit())?;
        Ok(child)
    }

    /// Makes a place where a program in a client's terminal is started from, held (see [`Invitation`]).
    ///
    /// # Errors
    /// `LAUNCH_FAILED`, `ALREADY_ATTACHED` when there was one before.
    pub fn invite(&self, spec: SpawnSpec) -> Result<Invitation, Failure> {
        if self.lock().has_live_program() {
            return Err(Failure::new(ErrorCode::AlreadyAttached, "this session already has a program"));
        }
        Invitation::new(&self.0.stub, spec)
    }

    /// Waits at most `limit` for the invited; `None` when nobody came. The program is held, and its stdio is the terminal's.
    ///
    /// # Errors
    /// `LAUNCH_FAILED` when it cannot be started there.
    pub fn accept(&self, invitation: &Invitation, limit: Duration) -> Result<Option<Child>, Failure> {
        let Some(Held { child, ended, runner }) = invitation.accept(limit)? else { return Ok(None) };
        let wait = move || {
            ended.send_replace(Some(runner.wait()));
        };
        std::thread::Builder::new().name("program-exit".into()).spawn(wait).map_err(|error| {
            Failure::new(ErrorCode::LaunchFailed, format!("cannot watch the program end: {error}"))
        })?;
        self.lock().ownership = Ownership::Terminal { pid: child.pid(), exit: child.exit() };
        Ok(Some(child))
    }

    /// Makes pipes of ours, or a terminal, for a program that somebody else starts.
    ///
    /// # Errors
    /// `LAUNCH_FAILED`, `ALREADY_ATTACHED` when there was a program before.
    pub fn offer(&self, pty: Pty) -> Result<Offer, Failure> {
        if self.lock().has_live_program() {
            return Err(Failure::new(ErrorCode::AlreadyAttached, "this session already has a program"));
        }
        let (offer, pipes) = Offer::new(pty).map_err(|error| {
            Failure::new(ErrorCode::LaunchFailed, format!("cannot make pipes for the program: {error}"))
        })?;
        self.take_over(0, pipes, offer.exit())?;
        Ok(offer)
    }

    /// Makes a place where the stub comes to that an adapter starts instead of the program (see [`Delegate`]).
    ///
    /// # Errors
    /// `LAUNCH_FAILED`.
    pub fn delegate(&self, spec: SpawnSpec, stdio: [PathBuf; 3]) -> Result<Delegate, Failure> {
        Delegate::new(&self.0.stub, spec, stdio)
    }

    fn take_over(
        &self,
        pid: u32,
        pipes: Pipes,
        exit: watch::Receiver<Option<ExitInfo>>,
    ) -> Result<(), Failure> {
        let runtime = self.0.runtime.enter();
        let stdin = Arc::new(Stdin::new(pipes.stdin, pipes.terminal.as_deref())?);
        drop(runtime);
        let mut streams = self.lock();
        streams.ownership = Ownership::Ours { pid, reader: pid, stdin, exit };
        let failed = |error: std::io::Error| {
            Failure::new(ErrorCode::LaunchFailed, format!("cannot prepare the program's pipes: {error}"))
        };
        let stdout = streams.stdout.attach(pipes.stdout).map_err(failed)?;
        let stderr = pipes.stderr.map(|stderr| streams.stderr.attach(stderr)).transpose().map_err(failed)?;
        drop(streams);
        self.drain_in_thread("program-stdout", stdout, |streams| &mut streams.stdout).map_err(failed)?;
        if let Some(stderr) = stderr {
            self.drain_in_thread("program-stderr", stderr, |streams| &mut streams.stderr).map_err(failed)?;
        }
        Ok(())
    }

    /// Starts something that serves the debugger and is not the program: its pipes are the caller's.
    ///
    /// # Errors
    /// `LAUNCH_FAILED`.
    pub fn spawn_helper(&self, spec: &SpawnSpec) -> Result<(Child, Pipes), Failure> {
        Child::spawn(&self.0.stub, spec)
    }

    /// From now on output is what [`Broker::feed`] brings; there is no stdin.
    pub fn set_told(&self) {
        self.lock().ownership = Ownership::Told { ended: false };
    }

    /// Output of a program whose pipes are an adapter's.
    pub fn feed(&self, to_stderr: bool, text: &str) {
        let mut streams = self.lock();
        let stream = if to_stderr { &mut streams.stderr } else { &mut streams.stdout };
        stream.ring.push(text.as_bytes());
        drop(streams);
        self.0.changed.send_replace(());
    }

    /// A program of whose output we were told has ended.
    pub fn told_end(&self) {
        if let Ownership::Told { ended } = &mut self.lock().ownership {
            *ended = true;
        }
        self.0.changed.send_replace(());
    }

    /// The process that reads stdin, when it is not the one that was started but one below it.
    pub fn set_reader(&self, process: u32) {
        if let Ownership::Ours { reader, .. } = &mut self.lock().ownership {
            *reader = process;
        }
    }

    /// The runtime it lives in, for threads that wait.
    pub fn runtime(&self) -> tokio::runtime::Handle {
        self.0.runtime.clone()
    }

    /// Kills what is left of the program's process group; used when nobody else does any more.
    pub fn kill(&self) {
        if let Ownership::Ours { pid, exit, .. } | Ownership::Terminal { pid, exit } = &self.lock().ownership
            && exit.borrow().is_none()
        {
            super::child::signal_group(*pid, rustix::process::Signal::KILL);
        }
    }

    /// The thread ends with the pipe, or with the process: it holds nothing that must be released.
    fn drain_in_thread(
        &self,
        name: &str,
        polled: File,
        pick: fn(&mut Streams) -> &mut Stream,
    ) -> std::io::Result<()> {
        let broker = self.clone();
        let mine = pick(&mut self.lock()).attached();
        let work = move || {
            loop {
                wait_readable(&polled);
                let ended = {
                    let mut streams = broker.lock();
                    let stream = pick(&mut streams);
                    // A restarted program's pipe took the place of one that something else still holds open.
                    if stream.attached() != mine {
                        break;
                    }
                    stream.drain();
                    stream.at_end()
                };
                broker.0.changed.send_replace(());
                if ended {
                    break;
                }
            }
        };
        std::thread::Builder::new().name(name.into()).spawn(work).map(drop)
    }

    /// The program's stdio is somebody else's: everything answers `IO_NOT_OWNED`.
    pub fn set_not_owned(&self) {
        self.lock().ownership = Ownership::NotOurs;
    }

    /// Takes in what the program has printed until now, at most [`SETTLED`] blocks of each stream: one that runs may print for ever.
    pub fn settle(&self) -> Positions {
        let mut streams = self.lock();
        let both = &mut *streams;
        for stream in [&mut both.stdout, &mut both.stderr] {
            for _ in 0..SETTLED {
                if !stream.drain() {
                    break;
                }
            }
        }
        let positions = streams.positions();
        drop(streams);
        self.0.changed.send_replace(());
        positions
    }

    /// Whether a program we started has ended.
    pub fn has_ended(&self) -> bool {
        self.lock().has_exited()
    }

    /// Waits until nothing more can come, at most `limit`: a grandchild may hold the pipes.
    pub async fn drained(&self, limit: Duration) {
        let mut changed = self.changes();
        let all_in = async { while !self.lock().drained() && changed.changed().await.is_ok() {} };
        if tokio::time::timeout(limit, all_in).await.is_err() {
            tracing::debug!("the program's pipes are still open after its end");
        }
    }

    /// Waits until a program we started has ended, at most `limit`. Returns at once when there is none.
    pub async fn exited(&self, limit: Duration) {
        let exit = match &self.lock().ownership {
            Ownership::Ours { exit, .. } | Ownership::Terminal { exit, .. } => exit.clone(),
            _ => return,
        };
        if tokio::time::timeout(limit, exit.clone().wait_for(Option::is_some)).await.is_err() {
            tracing::warn!("the program did not end");
        }
    }

    /// How a program ended of which the kernel tells us: one that we started, and no adapter.
    pub fn how_it_ended(&self) -> Option<ExitInfo> {
        match &self.lock().ownership {
            Ownership::Ours { pid, exit, .. } if *pid != 0 => *exit.borrow(),
            Ownership::Terminal { exit, .. } => *exit.borrow(),
            _ => None,
        }
    }

    /// Writes to the program's stdin, after whoever asked before.
    ///
    /// # Errors
    /// `NO_SESSION`, `IO_NOT_OWNED`, and those of [`Stdin::write`].
    pub async fn write_input(
        &self,
        data: &[u8],
        close: bool,
        cancel: &CancellationToken,
    ) -> Result<Written, Failure> {
        let stdin = self.lock().stdin()?;
        let stdin_closed = stdin.write(data, close, cancel).await?;
        Ok(Written { bytes_written: data.len(), stdin_closed })
    }

    /// Whether the program is blocked reading a stdin that has nothing for it, and how it reads. Who polls for keys is found by
    /// [`Self::looks_idle`].
    pub fn waiting_for_input(&self) -> Option<Waiting> {
        let (pid, stdin) = self.reader()?;
        let reads = stdin.is_empty_and_open() && waiting::is_reading(pid, stdin.name());
        reads.then(|| if stdin.takes_keys() { Waiting::ForKeys } else { Waiting::Reading })
    }

    /// Whether nothing of the program runs at this moment; `None` unless it takes keys, has had them all and prints nothing, so that
    /// such moments say that it polls for more. `stands`: the debugger has stopped it, so that they say nothing.
    pub(super) fn looks_idle(&self, stands: bool) -> Option<bool> {
        let (pid, stdin) = self.reader()?;
        let quiet = !stands && !self.lock().stdout.has_printed_within(QUIET);
        let polls = quiet && !stdin.was_typed_within(QUIET) && stdin.takes_keys();
        polls.then(|| waiting::is_idle(pid))
    }

    /// The process that reads what is written, while it lives.
    fn reader(&self) -> Option<(u32, Arc<Stdin>)> {
        match &self.lock().ownership {
            Ownership::Ours { reader, stdin, exit, .. } if exit.borrow().is_none() => {
                Some((*reader, stdin.clone()))
            }
            _ => None,
        }
    }
}
