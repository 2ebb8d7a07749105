//! The thread that finds child processes, and holds each .NET runtime before its first code until a debugger
//! is attached to it.
//!
//! Each process gets the two semaphores of [`StartupHold`] within a tick of executing its program; a .NET
//! runtime takes several ticks to reach the place where it looks for them. Other programs never look. Not
//! here: attaching, and the reports to the user ([`super::reports`]).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::{Duration, Instant};

use cordebug::startup::{StartupHold, has_pipes, raise_thread_priority};
use serde_json::json;
use tandem_wire::types;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::super::inbox::EngineInput;
use super::exec_checks::{OtherUsers, is_due};
use super::identity::{Identities, Identity, ProgramInfo};
use super::process_stage::{ProcessStage, StartingProcess};
use super::reports::ChildReports;
use super::watchdog::Watchdog;
use super::{ChildAttachAttributes, ChildProcessPolicy, FollowerCommand, RootProcess};
use tandem_engine::{BreakpointSnapshot, ChildProcess, DebuggerEnd, EngineEvent};
use tandem_process_tree::descendants::Descendants;

/// Interval between two checks while runtimes are to be held: one takes at least 6 ms to reach the
/// point where it can be.
const HOLD_INTERVAL: Duration = Duration::from_millis(1);
/// Interval between two checks while child processes are only reported.
const REPORT_INTERVAL: Duration = Duration::from_millis(25);
/// How long a .NET program may take to start its runtime.
const RUNTIME_START_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a runtime that has its debugging pipes may take until it is held; later it is too late.
const HOLD_TIMEOUT: Duration = Duration::from_millis(100);
/// Child processes debugged at a time; each has its own host process, which takes about 20 MiB.
const MAX_FOLLOWED: usize = 64;
/// Senders of the thread's events.
pub(super) struct Channels {
    pub(super) hub: UnboundedSender<EngineEvent>,
    pub(super) engine: Sender<EngineInput>,
    /// Sender of this follower's own queue.
    pub(super) commands: Sender<FollowerCommand>,
}

/// The state of the thread.
pub(super) struct Follower {
    tree: Descendants,
    following: ChildProcessPolicy,
    identities: Identities,
    processes: BTreeMap<u32, ProcessStage>,
    breakpoints: watch::Receiver<BreakpointSnapshot>,
    channels: Channels,
    /// How many are debugged, or soon will be.
    followed: usize,
    /// Fires when the child sessions must detach.
    detach: CancellationToken,
    watchdog: Watchdog,
    ticks: u64,
    reports: ChildReports,
    of_other_users: OtherUsers,
}

impl Follower {
    pub(super) fn new(
        tree: Descendants,
        root: RootProcess,
        following: ChildProcessPolicy,
        stub: PathBuf,
        breakpoints: watch::Receiver<BreakpointSnapshot>,
        channels: Channels,
    ) -> Self {
        let reports = ChildReports::new(channels.hub.clone(), following.follow);
        let watchdog = Watchdog::new(root, stub, following.symbol_paths.clone());
        Self {
            tree,
            identities: Identities::new(following.symbol_paths.clone()),
            following,
            processes: BTreeMap::new(),
            breakpoints,
            channels,
            followed: 0,
            detach: CancellationToken::new(),
            watchdog,
            ticks: 0,
            reports,
            of_other_users: OtherUsers::default(),
        }
    }

    /// Checks processes until a command ends it.
    pub(super) fn run(mut self, commands: &Receiver<FollowerCommand>) {
        let tick = if self.following.follow { HOLD_INTERVAL } else { REPORT_INTERVAL };
        if self.following.follow {
            // Before there is a process to hold, the time this takes does not matter.
            self.watchdog.ensure_started();
            // If the user may: it must be on time on a busy machine, too.
            raise_thread_priority();
        }
        loop {
            for pid in self.tree.wait(tick) {
                self.on_process_ended(pid);
            }
            self.find_new();
            match commands.try_recv() {
                Ok(FollowerCommand::DebuggerEnded(pid, end)) => self.on_debugger_ended(pid, end),
                Ok(FollowerCommand::Count(counted)) => {
                    self.find_new();
                    // The engine's thread may have given up.
                    counted.send(self.followed).unwrap_or_default();
                }
                Ok(FollowerCommand::Kill(done)) => {
                    self.kill();
                    return done.send(()).unwrap_or_default();
                }
                Ok(FollowerCommand::Detach(done)) => {
                    self.detach();
                    return done.send(()).unwrap_or_default();
                }
                Err(TryRecvError::Empty) => {}
                // Unreachable: this thread has a sender.
                Err(TryRecvError::Disconnected) => return self.detach(),
            }
        }
    }

    fn find_new(&mut self) {
        for pid in self.tree.find_new() {
            tracing::debug!(pid, "a child process");
            if self.following.follow {
                self.watchdog.add(pid);
            }
            self.processes.insert(pid, ProcessStage::Copy);
        }
        self.ticks += 1;
        let is_alone = self.processes.is_empty() && self.of_other_users.is_empty();
        // Most programs start no others.
        if is_alone && self.followed == 0 && !self.tree.is_full() {
            return;
        }
        self.advance();
        let is_counted = |stage: &&ProcessStage| self.following.follow && stage.is_followed();
        let followed = self.processes.values().filter(is_counted).count();
        if std::mem::replace(&mut self.followed, followed) > 0 && followed == 0 {
            // The engine may have ended.
            drop(self.channels.engine.send(EngineInput::ChildrenEnded));
        }
    }

    fn on_process_ended(&mut self, pid: u32) {
        tracing::debug!(pid, "a child process has ended");
        self.watchdog.unhold(pid);
        let Some(ProcessStage::Ready(StartingProcess { identity: Identity::Dotnet(program), .. })) =
            self.processes.remove(&pid)
        else {
            return;
        };
        self.reports.report_not_debugged(
            pid,
            &program.name,
            &format!("{} ended before the debugger could attach to it.", program.name),
        );
    }

    /// Updates the stage of every process.
    fn advance(&mut self) {
        for (pid, stage) in std::mem::take(&mut self.processes) {
            let next = self.next_stage(pid, stage);
            self.processes.insert(pid, next);
        }
        for (pid, identity) in self.of_other_users.take_changed(self.ticks, &mut self.identities) {
            self.report(pid, &identity);
        }
        if self.tree.is_full() && self.following.follow {
            self.reports.report_full(
                "The program has more child processes than the debugger follows; the further \
                ones are not debugged.",
            );
        }
    }

    fn next_stage(&mut self, pid: u32, stage: ProcessStage) -> ProcessStage {
        match stage {
            ProcessStage::Copy => match self.tree.is_copy(pid) {
                Some(false) => self.on_exec(pid),
                // Its end is seen later.
                Some(true) | None => ProcessStage::Copy,
            },
            ProcessStage::Ready(ready) => self.check_starting(pid, ready),
            ProcessStage::Withdrawn { hold, .. } if hold.has_started() => self.release(pid, hold),
            ProcessStage::Withdrawn { until, .. }
                if Instant::now() > until && !StartupHold::is_waited_on(pid) =>
            {
                self.watchdog.unhold(pid);
                ProcessStage::NotDebugged
            }
            ProcessStage::Followed { hold: Some(hold), name } => {
                let taken_over = self.ticks.is_multiple_of(8) && !StartupHold::is_open(pid);
                if taken_over {
                    self.watchdog.unhold(pid);
                }
                ProcessStage::Followed { hold: (!taken_over).then_some(hold), name }
            }
            other => other,
        }
    }

    /// It may start a runtime, or have started one.
    fn check_starting(&mut self, pid: u32, mut ready: StartingProcess) -> ProcessStage {
        if ready.hold.has_started() {
            return self.on_runtime_held(pid, ready.hold, ready.identity);
        }
        if ready.late.is_some_and(|late| Instant::now() > late) {
            return self.on_late_runtime(pid, ready.hold, ready.identity);
        }
        let age = ready.since.elapsed();
        let may_change = !matches!(ready.identity, Identity::Dotnet(_));
        if may_change
            && is_due(self.ticks, ready.since)
            && let Some(now) = self.identities.of(pid).filter(|now| *now != ready.identity)
        {
            // A shell has executed its program.
            return self.on_second_exec(pid, ready.hold, now);
        }
        if age > RUNTIME_START_TIMEOUT && !std::mem::replace(&mut ready.silent, true) {
            self.reports.report_silent(pid, &ready.identity);
        }
        ProcessStage::Ready(ready)
    }

    /// It has executed a program.
    fn on_exec(&mut self, pid: u32) -> ProcessStage {
        let follows = self.following.follow;
        // First, because it can be undone: a runtime may start while the executable is being examined.
        let is_first = follows && !Identities::may_lack_its_debugger(pid);
        let early = if is_first { self.prepare(pid) } else { None };
        let Some(identity) = self.identities.of(pid) else {
            // The end of a process is noticed later.
            if early.is_some() {
                self.watchdog.unhold(pid);
            }
            return ProcessStage::Copy;
        };
        tracing::debug!(pid, ?identity, "a child process has executed a program");
        self.report(pid, &identity);
        if !identity.may_start_a_runtime() {
            return early.map_or(ProcessStage::NotDebugged, ProcessStage::withdraw);
        }
        let late = if follows && !is_first { self.prepare(pid) } else { None };
        let Some(hold) = early.or(late) else { return ProcessStage::NotDebugged };
        // Its runtime may have started already, or may be about to check the semaphores.
        let is_up = matches!(identity, Identity::Dotnet(_)) && has_pipes(pid);
        let late = is_up.then(|| Instant::now() + HOLD_TIMEOUT);
        ProcessStage::Ready(StartingProcess { late, ..StartingProcess::new(hold, identity) })
    }

    /// Reports a process that is not debugged, if a user may want to know.
    fn report(&mut self, pid: u32, identity: &Identity) {
        match identity {
            Identity::OtherUser { is_dotnet: false, .. } => {
                self.of_other_users.insert(pid, identity.clone());
            }
            Identity::Debugger => self.tree.leave_out(pid),
            _ => {}
        }
        self.reports.report(pid, identity);
    }

    fn on_second_exec(&mut self, pid: u32, hold: StartupHold, identity: Identity) -> ProcessStage {
        tracing::debug!(pid, ?identity, "a child process has executed another program");
        self.report(pid, &identity);
        match identity.may_start_a_runtime() {
            true => ProcessStage::Ready(StartingProcess::new(hold, identity)),
            false => ProcessStage::withdraw(hold),
        }
    }

    /// Prepares to hold a runtime that starts in this process.
    fn prepare(&mut self, pid: u32) -> Option<StartupHold> {
        if self.followed > MAX_FOLLOWED {
            self.reports.report_full(&format!(
                "{MAX_FOLLOWED} child processes are debugged already; further ones are not."
            ));
            return None;
        }
        // Before there is something to release.
        if !self.watchdog.hold(pid) {
            let text = "Child processes are not debugged: the debugger could not start a process that it \
                        needs for this.";
            self.reports.report_full(text);
            return None;
        }
        let hold = StartupHold::prepare(pid);
        hold.inspect_err(|error| {
            tracing::debug!(pid, %error, "a process is not held: it has ended, or another debugger holds it");
            self.watchdog.unhold(pid);
        })
        .ok()
    }

    /// Its runtime has started and is held.
    fn on_runtime_held(&mut self, pid: u32, hold: StartupHold, identity: Identity) -> ProcessStage {
        match self.identities.of(pid).unwrap_or(identity) {
            Identity::Dotnet(program) | Identity::Other(program) => self.follow(pid, program, Some(hold)),
            // It has just executed another program.
            _ => self.release(pid, hold),
        }
    }

    /// Releases a held runtime that no debugger attaches to.
    fn release(&mut self, pid: u32, hold: StartupHold) -> ProcessStage {
        self.watchdog.release(pid);
        ProcessStage::Released { _hold: hold }
    }

    /// Its runtime had started before it could be held.
    fn on_late_runtime(&mut self, pid: u32, hold: StartupHold, identity: Identity) -> ProcessStage {
        hold.withdraw();
        if hold.has_started() || StartupHold::is_waited_on(pid) {
            // It has just found the semaphores, and is about to be held.
            return ProcessStage::Ready(StartingProcess::new(hold, identity));
        }
        self.watchdog.unhold(pid);
        let Identity::Dotnet(program) = identity else { return ProcessStage::NotDebugged };
        let name = &program.name;
        self.reports.console(&format!(
            "Child process {pid}: {name} started before the debugger could hold it; it may have missed \
                breakpoints."
        ));
        self.follow(pid, program, None)
    }

    /// Has a child session created for it.
    fn follow(&mut self, pid: u32, program: ProgramInfo, hold: Option<StartupHold>) -> ProcessStage {
        let ProgramInfo { name, path } = program;
        self.reports.console(&format!("Child process {pid}: {name} is debugged in a child session."));
        let mut attach = self.following.attach.clone();
        attach["processId"] = json!(pid);
        // JSON cannot hold a path that is not UTF-8.
        let program = path.to_str().map(PathBuf::from);
        let known = ChildAttachAttributes { program, is_held: hold.is_some() };
        types::extend(&mut attach, &known);
        let commands = self.channels.commands.clone();
        let ended = move |end| {
            // This thread may have ended.
            drop(commands.send(FollowerCommand::DebuggerEnded(pid, end)));
        };
        let title = format!("{name} [{pid}]");
        let child = ChildProcess::new(title, attach, self.breakpoints.clone(), self.detach.clone(), ended);
        drop(self.channels.hub.send(EngineEvent::ChildProcess(child)));
        ProcessStage::Followed { hold, name }
    }

    /// Its session has ended, or has never started. The process may still run.
    fn on_debugger_ended(&mut self, pid: u32, end: DebuggerEnd) {
        let Some(ProcessStage::Followed { hold, name }) = self.processes.remove(&pid) else { return };
        let hold = hold.filter(|_| StartupHold::is_open(pid));
        self.reports.report_debugger_end(pid, &name, &end, hold.is_some());
        if matches!(end, DebuggerEnd::Died(_)) && hold.is_none() {
            self.tree.kill(pid);
        }
        let next = match hold {
            // The host that should have attached has left it held.
            Some(hold) => self.release(pid, hold),
            None => {
                self.watchdog.unhold(pid);
                ProcessStage::NotDebugged
            }
        };
        self.processes.insert(pid, next);
    }

    fn kill(&mut self) {
        if !self.following.follow {
            return;
        }
        self.tree.end_all(super::END_TIMEOUT);
        if self.tree.count() > 0 {
            tracing::warn!(count = self.tree.count(), "child processes that were killed have not ended");
        }
    }

    fn detach(&mut self) {
        self.detach.cancel();
        for (pid, stage) in std::mem::take(&mut self.processes) {
            match stage {
                // Its session detaches it, else the watchdog releases it when this thread ends.
                ProcessStage::Ready(StartingProcess { hold, .. })
                | ProcessStage::Withdrawn { hold, .. }
                | ProcessStage::Followed { hold: Some(hold), .. }
                | ProcessStage::Released { _hold: hold } => hold.abandon(),
                ProcessStage::Followed { hold: None, .. } => self.watchdog.unhold(pid),
                ProcessStage::Copy | ProcessStage::NotDebugged => {}
            }
        }
    }
}
