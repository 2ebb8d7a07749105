//! The watchdog of child processes: a process that outlives the session's host. It ends the child processes
//! of a host that was killed, and releases runtimes that are held for a debugger which does not attach.
//!
//! A held runtime resumes only when a debugger attaches to it and detaches again. The host writes lines to
//! the watchdog's stdin. Not here: which runtimes are held ([`super::follower`]).

use std::collections::BTreeSet;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use cordebug::callback::Callback;
use cordebug::debugger::Process;
use cordebug::run_times::ThreadRunTimes;
use cordebug::runtime;
use cordebug::startup::StartupHold;
use rustix::process::{Pid, Signal, kill_process};
use tandem_wire::{ErrorCode, Failure};

use super::super::cor;
use super::super::runtimes::only_runtime;
use super::RootProcess;
use tandem_process_tree::descendants::Descendants;

/// How long a runtime that has found the semaphores may take until it is held.
const HOLD_DELAY: Duration = Duration::from_millis(50);
/// How long the host of a child session may take to attach, once its parent has ended, and how
/// often that is checked.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long the callbacks must pause before a runtime counts as quiet, and the limit of waiting for that.
const QUIET_INTERVAL: Duration = Duration::from_millis(200);
const QUIET_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a runtime may take to be released.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(15);
/// How long the end of all child processes may take.
const END_TIMEOUT: Duration = Duration::from_secs(3);

/// The host's side. Dropping it ends the watchdog, which releases the runtimes that are still held.
pub(super) struct Watchdog {
    stub: PathBuf,
    symbol_paths: Vec<PathBuf>,
    root: RootProcess,
    process: Option<Child>,
}

impl Watchdog {
    /// A watchdog whose process has not started yet.
    pub(super) fn new(root: RootProcess, stub: PathBuf, symbol_paths: Vec<PathBuf>) -> Self {
        Self { stub, symbol_paths, root, process: None }
    }

    /// Adds a child process: it ends when the host is killed.
    pub(super) fn add(&mut self, pid: u32) {
        self.ensure_started();
        self.send('+', pid);
    }

    /// Announces that the runtime of this process will be held. Returns whether the watchdog knows:
    /// otherwise it must not be held.
    pub(super) fn hold(&mut self, pid: u32) -> bool {
        self.ensure_started();
        self.send('=', pid)
    }

    /// Announces that the runtime of this process is no longer held.
    pub(super) fn unhold(&mut self, pid: u32) {
        self.send('-', pid);
    }

    /// Gives up a process that no host will attach to.
    pub(super) fn release(&mut self, pid: u32) {
        self.send('!', pid);
    }

    /// Starts the process if necessary.
    pub(super) fn ensure_started(&mut self) {
        if self.process.is_none() {
            self.process = self
                .start()
                .inspect_err(|error| tracing::warn!(%error, "child processes have no watchdog"))
                .ok();
        }
    }

    fn start(&self) -> std::io::Result<Child> {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new(&self.stub);
        command.arg("child-watchdog");
        if self.root.launched {
            command.arg("--ends-with").arg(self.root.pid.to_string());
        }
        for path in &self.symbol_paths {
            command.arg("--symbols").arg(path);
        }
        // Not in the host's group: signals to that are not meant for it.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    }

    fn send(&mut self, what: char, pid: u32) -> bool {
        let stdin = self.process.as_mut().and_then(|process| process.stdin.as_mut());
        stdin.is_some_and(|stdin| writeln!(stdin, "{what}{pid}").is_ok())
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // The host has not been killed.
        self.send('.', 0);
        let Some(mut process) = self.process.take() else { return };
        drop(process.stdin.take());
        let reap = move || drop(process.wait());
        if let Err(error) = std::thread::Builder::new().name("watchdog".into()).spawn(reap) {
            tracing::debug!(%error, "a process that ends will not be reaped");
        }
    }
}

/// The watchdog process: reads lines until its stdin ends. `root`: the program whose child processes end when
/// the host is killed. `symbol_paths` are further folders with debugging libraries.
///
/// # Errors
/// Why a runtime could not be released: its process was ended instead.
pub(in super::super) fn run(root: Option<u32>, symbol_paths: &[PathBuf]) -> anyhow::Result<()> {
    let mut tree = root.and_then(|root| Descendants::of_running(root).ok());
    let mut held = BTreeSet::new();
    let mut outcome = Ok(());
    let mut is_killed = true;
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Some((what, pid)) = line.split_at_checked(1) else { continue };
        let Ok(pid) = pid.parse::<u32>() else { continue };
        match what {
            "+" => {
                if let Some(tree) = &mut tree {
                    // Processes that have ended make room.
                    tree.wait(Duration::ZERO);
                    tree.add(pid);
                }
            }
            "=" => drop(held.insert(pid)),
            "!" => {
                held.remove(&pid);
                outcome = outcome.and(release_or_kill(pid, symbol_paths));
            }
            "." => is_killed = false,
            _ => drop(held.remove(&pid)),
        }
    }
    if is_killed && let Some(mut tree) = tree {
        tree.end_all(END_TIMEOUT);
    }
    Ok(outcome.and(release_all(held.into_iter(), symbol_paths))?)
}

/// Releases the runtimes that no host attaches to.
fn release_all(held: impl Iterator<Item = u32>, symbol_paths: &[PathBuf]) -> Result<(), Failure> {
    let holds: Vec<(u32, StartupHold)> =
        held.filter_map(|pid| Some((pid, StartupHold::join(pid).ok()?))).collect();
    holds.iter().for_each(|(_, hold)| hold.withdraw());
    if !holds.is_empty() {
        std::thread::sleep(HOLD_DELAY);
    }
    let until = Instant::now() + ATTACH_TIMEOUT;
    let mut outcome = Ok(());
    for (pid, hold) in holds {
        if !StartupHold::is_waited_on(pid) {
            continue;
        }
        // The host of a child session may be about to attach to it.
        while StartupHold::is_open(pid) && Instant::now() < until {
            std::thread::sleep(POLL_INTERVAL);
        }
        if StartupHold::is_open(pid) {
            hold.abandon();
            outcome = outcome.and(release_or_kill(pid, symbol_paths));
        }
    }
    outcome
}

/// Releases a runtime; ends a process that cannot be released, which would wait for ever.
fn release_or_kill(pid: u32, symbol_paths: &[PathBuf]) -> Result<(), Failure> {
    let Ok(hold) = StartupHold::join(pid) else { return Ok(()) };
    let (done, outcome) = channel();
    let symbol_paths = symbol_paths.to_vec();
    // The debugging library waits without a limit for a process that is suspended.
    std::thread::spawn(move || drop(done.send(release(pid, hold, &symbol_paths))));
    let outcome = outcome.recv_timeout(RELEASE_TIMEOUT).unwrap_or_else(|_| {
        let seconds = RELEASE_TIMEOUT.as_secs();
        Err(Failure::new(ErrorCode::Timeout, format!("process {pid} was not released within {seconds} s")))
    });
    if let (Err(failure), Some(process)) = (&outcome, i32::try_from(pid).ok().and_then(Pid::from_raw)) {
        tracing::error!(%failure, pid, "a process that was held is ended");
        // It may have ended by itself.
        kill_process(process, Signal::KILL).unwrap_or_default();
    }
    outcome
}

/// Attaches, lets the runtime resume, and detaches.
fn release(pid: u32, hold: StartupHold, symbol_paths: &[PathBuf]) -> Result<(), Failure> {
    hold.wait_for_rest();
    let runtime = only_runtime(pid, symbol_paths)?;
    let failed = |error: String| {
        Failure::new(ErrorCode::EngineFailed, format!("cannot release process {pid}: {error}"))
    };
    let debugger = runtime::create_debugger(pid, &runtime).map_err(|error| failed(error.to_string()))?;
    let (callbacks, called) = channel();
    debugger
        .start(move |callback| drop(callbacks.send(callback)))
        .map_err(cor("start the debugging library"))?;
    let process = debugger.attach(pid).map_err(cor("attach"))?;
    drop(hold);
    if resume_until_quiet(pid, &process, &called).map_err(cor("let the program resume"))? {
        process.detach().map_err(cor("detach"))?;
    }
    Ok(())
}

/// Continues after each callback until the runtime is stopped and has no more; `false` when
/// the program has ended.
fn resume_until_quiet(pid: u32, process: &Process, called: &Receiver<Callback>) -> cordebug::Result<bool> {
    let until = Instant::now() + QUIET_TIMEOUT;
    let mut run_times = ThreadRunTimes::start(pid);
    loop {
        match called.recv_timeout(QUIET_INTERVAL) {
            Ok(Callback::ExitProcess) => return Ok(false),
            Ok(_) => {
                process.resume()?;
                run_times = ThreadRunTimes::start(pid);
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(false),
            Err(RecvTimeoutError::Timeout) if !run_times.all_have_run() && Instant::now() < until => {}
            Err(RecvTimeoutError::Timeout) => {
                process.stop()?;
                if process.has_queued_callbacks() != Ok(true) || Instant::now() > until {
                    return Ok(true);
                }
                process.resume()?;
                run_times = ThreadRunTimes::start(pid);
            }
        }
    }
}
