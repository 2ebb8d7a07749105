//! The end of a session, which is noticed in several ways and handled once. The program's exit code is
//! the kernel's where the program is our child, or is unreaped because its adapter has lost the code;
//! otherwise the adapter's.
//!
//! Not here: asking the program to end ([`super::terminating`]).

use std::sync::{Arc, PoisonError};

use rustix::process::Signal;
use tandem_registry::ScratchFolder;
use tandem_wire::types::{self, DisconnectArguments, EvaluateResponseBody};
use tokio::sync::watch;

use super::super::connection::{self, AdapterProcess, STDERR_TAIL_TIMEOUT};
use super::super::debuggee::{self, DebuggeeProcess};
use super::super::inspector::OpenedPort;
use super::super::launch_plan::ProgramIo;
use super::super::state::{ChildEvent, ChildState, EndKind};
use super::{
    AdapterSession, DISCONNECT_TIMEOUT, END_EVENT_GRACE, LiveAdapter, POLL_INTERVAL, PROGRAM_END_GRACE,
    RELEASE_TIMEOUT,
};
use tandem_process::child::is_suspended;
use tandem_process::{Child, ExitInfo};

impl AdapterSession {
    /// The kernel knows of the program's end; an adapter that hangs may never say so.
    pub(super) fn watch(self: &Arc<Self>, child: &Child) {
        let (session, mut exit) = (self.clone(), child.exit());
        tokio::spawn(async move {
            connection::wait_for_exit(&mut exit).await;
            session
                .wait_for_state(END_EVENT_GRACE, |now| {
                    now.is_terminated() || now.has_hung_up() || now.is_over()
                })
                .await;
            session.finish().await;
        });
    }

    /// The kernel's word on the program's end, if it is our child.
    pub(super) fn own_exit(&self) -> Option<watch::Receiver<Option<ExitInfo>>> {
        let live = self.live();
        let live = live.as_ref()?;
        let inherited = live.plan.program_io == ProgramIo::Inherited && !live.plan.quirks.forwards_stdio;
        match &live.program {
            Some(program) => Some(program.exit()),
            None if inherited => live.connection.process.child().map(Child::exit),
            None => None,
        }
    }

    /// Whether the adapter, if it is a separate process, hung up because it crashed or was killed.
    async fn adapter_crashed(&self) -> bool {
        let has_reported = !self.state(ChildState::hung_up_without_a_word);
        let silent = |live: &&LiveAdapter| live.plan.quirks.ends_silently;
        let exits = self.live().as_ref().filter(|live| !has_reported && !silent(live)).and_then(|live| {
            let AdapterProcess::Adapter(child, _) = &live.connection.process else { return None };
            Some((child.exit(), live.program.as_ref().map(Child::exit)))
        });
        let Some((mut exit, program)) = exits else { return false };
        let runs = program.is_none_or(|exit| exit.borrow().is_none());
        match tokio::time::timeout(STDERR_TAIL_TIMEOUT, connection::wait_for_exit(&mut exit)).await {
            Ok(info) => info.signal.is_some() || (runs && info.code != 0),
            Err(_) => false,
        }
    }

    /// Sees to the end, if nothing does yet.
    pub(super) async fn finish(self: Arc<Self>) {
        self.handle_in_place(ChildEvent::EndNoticed).await;
    }

    /// Ends the session, however its end was noticed.
    pub(super) async fn end_session(self: Arc<Self>) {
        // A program that ends because its adapter was killed has not ended by itself, and one that does not
        // is not waited for.
        if !self.adapter_crashed().await {
            let mut exit = self.kernel_exit().await;
            // Only now: Node says that nothing is left to debug before it becomes another program.
            if exit.is_none() && (self.wait_for_replacement().await || self.has_just_ended()) {
                exit = self.kernel_exit().await;
            }
            if let Some(exit) = exit {
                self.handle(ChildEvent::KernelCode(exit.code.into()));
                if let Some(signal) = exit.signal {
                    self.handle(ChildEvent::EndedBySignal(signal));
                }
            }
        }
        let silent = self.live().as_ref().is_some_and(|live| live.plan.quirks.ends_silently);
        match self.state(|state| state.end_kind(silent)) {
            EndKind::AdapterBroke => {
                let failure = self.explain_exit("while the program was being debugged").await;
                self.kill();
                self.close_opened().await;
                return self.handle(ChildEvent::AdapterBroke(failure));
            }
            EndKind::NoExitCode => self.send_disconnect(true).await,
            EndKind::ExitCode => {
                self.wait_for_state(END_EVENT_GRACE, |now| now.is_terminated() || now.has_hung_up()).await;
            }
        }
        let code = self.exit_code().await;
        self.program_ended(code);
        self.handle(ChildEvent::EndKnown(code));
        if self.live().as_ref().is_some_and(|live| live.plan.launched) {
            self.end_before_helpers().await;
        }
        self.send_disconnect(true).await;
        self.kill();
        self.close_opened().await;
    }

    /// Stores the debugger that planning has opened. In a session that is over already it would stay open.
    pub(super) fn keep_opened(&self, opened: Option<OpenedPort>, over: bool) {
        match opened {
            Some(opened) if over => opened.close(),
            opened => *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = opened,
        }
    }

    /// Closes the port that was opened for the adapter in a program that we have not started.
    async fn close_opened(&self) {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(opened) = opened {
            drop(tokio::task::spawn_blocking(move || opened.close()).await);
        }
    }

    /// Whether the program has ended, and the kernel's word on it is still to come. It may end just when the
    /// wait for that word is over.
    fn has_just_ended(&self) -> bool {
        let ended = |process: DebuggeeProcess| debuggee::image_of(process.pid()).is_empty();
        self.own_exit().is_some() && self.process_of_launch().is_none_or(ended)
    }

    /// The exit code and the signal that the kernel reports, if it does in time.
    async fn kernel_exit(&self) -> Option<ExitInfo> {
        let Some(mut exit) = self.own_exit() else { return self.unreaped_exit().await };
        // A program with the debugger inside it (Python) says that debugging is over before it has shut down:
        // its last steps are not to be cut short.
        let inside = self.live().as_ref().is_some_and(|live| live.program.is_none());
        let limit =
            if inside && self.state(ChildState::is_terminated) { PROGRAM_END_GRACE } else { END_EVENT_GRACE };
        tokio::time::timeout(limit, connection::wait_for_exit(&mut exit)).await.ok()
    }

    /// The exit of a program that the adapter started, says has ended, and has not reaped. Delve does
    /// not reap a program that exits on one thread while its first thread is stopped at a signal, of which
    /// Go's scheduler sends many. It says -1, whatever the code is; since 1.22 it looks once more, and says 0
    /// if that was too early. The kernel forgets the code when Delve exits.
    async fn unreaped_exit(&self) -> Option<ExitInfo> {
        let has_reported = !self.state(ChildState::hung_up_without_a_word);
        let program = self.live().as_ref().filter(|_| has_reported).and_then(|live| {
            let below = live.plan.launched && live.plan.quirks.forwards_stdio;
            live.debuggee.clone().filter(|_| below)
        })?;
        let ended = async {
            while program.is_there() {
                let exit = program.exit();
                if exit.is_some() {
                    return exit;
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
            None
        };
        tokio::time::timeout(END_EVENT_GRACE, ended).await.ok().flatten()
    }

    /// The exit code that is reported.
    async fn exit_code(self: &Arc<Self>) -> Option<i64> {
        let (code, by_kernel) = self.state(|state| (state.known_code(), state.has_kernel_code()));
        let expression = self.profile.signal_expression().filter(|_| !by_kernel);
        let (Some(0), Some(expression), Ok(peer)) = (code, expression, self.peer()) else {
            return code;
        };
        let arguments = types::watch(expression, None);
        let answer = peer.request("evaluate", arguments, DISCONNECT_TIMEOUT).await.unwrap_or_default();
        let EvaluateResponseBody { result, .. } = types::read(&answer);
        let Ok(signal) = result.trim().parse::<i32>() else { return code };
        self.handle(ChildEvent::EndedBySignal(signal));
        Some(128 + i64::from(signal))
    }

    /// All output of the program has arrived.
    fn program_ended(&self, code: Option<i64>) {
        self.broker.end_reported_output();
        if let Some(named_pipes) = self.live().as_mut().and_then(|live| live.named_pipes.as_mut()) {
            named_pipes.report_end(code.and_then(|code| i32::try_from(code).ok()).unwrap_or(-1));
        }
    }

    async fn send_disconnect(self: &Arc<Self>, kill: bool) {
        let Ok(peer) = self.peer() else { return };
        if kill {
            self.wake_program();
        }
        // The program's end and the hub's request to leave may come at the same time.
        let _only_one = self.disconnecting.lock().await;
        if !peer.is_closed() && !self.state(ChildState::is_disconnected) {
            let arguments = types::body(&DisconnectArguments {
                restart: Some(false),
                terminate_debuggee: Some(kill),
                ..DisconnectArguments::default()
            });
            let limit = if kill { DISCONNECT_TIMEOUT } else { RELEASE_TIMEOUT };
            let answer = peer.request("disconnect", arguments, limit).await;
            match answer {
                Ok(_) => self.handle(ChildEvent::Disconnected),
                Err(failure) => tracing::debug!(%failure, "the adapter did not answer `disconnect`"),
            }
        }
    }

    /// Ends the session for the hub: an attached program keeps running, a launched one ends with its pipes.
    pub(in super::super) async fn disconnect(self: &Arc<Self>, terminate: bool) {
        self.handle(ChildEvent::Released);
        self.planning.close();
        // A build looks every few milliseconds whether it is to give up.
        drop(tokio::time::timeout(DISCONNECT_TIMEOUT, self.planning.wait()).await);
        let launched = self.live().as_ref().is_some_and(|live| live.plan.launched);
        if launched || terminate {
            // debugpy kills everything below its program.
            self.end_before_helpers().await;
        }
        self.send_disconnect(launched || terminate).await;
        if launched {
            self.handle(ChildEvent::SubprocessesEnd);
        }
        if terminate && let Some(live) = self.live().as_ref() {
            live.signal(Signal::KILL);
        }
        self.await_detach().await;
        self.kill();
        if let Some(mut exit) = self.own_exit() {
            // It was killed; this only waits for the kernel to say so.
            drop(tokio::time::timeout(DISCONNECT_TIMEOUT, connection::wait_for_exit(&mut exit)).await);
        }
        if self.live().as_ref().is_some_and(LiveAdapter::is_started_by_stub) {
            self.wait_for_state(DISCONNECT_TIMEOUT, ChildState::is_gone).await;
        }
        self.close_opened().await;
        self.program_ended(None);
    }

    /// An adapter that is killed while it is attached may leave its breakpoints in the program, which then
    /// crashes. One that has not answered `disconnect` in time may still be detaching; it also detaches at
    /// the end of its input. The same holds for a helper (debugpy's gdb) that is killed during its call in
    /// the program: the program would resume with the call's registers.
    async fn await_detach(&self) {
        let exit = self.live().as_ref().filter(|live| live.plan.spec.ends_by_itself).and_then(|live| {
            live.connection.peer.close();
            live.connection.process.child().map(Child::exit)
        });
        if let Some(mut exit) = exit {
            drop(tokio::time::timeout(DISCONNECT_TIMEOUT, connection::wait_for_exit(&mut exit)).await);
        }
        let live =
            self.live().as_ref().map(|live| (live.plan.launched, live.plan.arguments["processId"].as_u64()));
        if let Some((false, Some(pid))) = live {
            let untraced = async {
                while debuggee::is_traced(pid) {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
            };
            drop(tokio::time::timeout(RELEASE_TIMEOUT, untraced).await);
        }
    }

    /// A program that was suspended from its terminal's keyboard handles no signal: resumes
    /// it so that it can end.
    pub(super) fn wake_program(&self) {
        if let Some(live) = self.live().as_ref()
            && live.processes().any(is_suspended)
        {
            live.signal(Signal::CONT);
        }
    }

    /// Kills the program, and reports its end like any other.
    pub(super) async fn end_program(self: Arc<Self>) {
        self.end_before_helpers().await;
        self.send_disconnect(true).await;
        self.handle(ChildEvent::SubprocessesEnd);
        if let Some(live) = self.live().as_ref() {
            live.signal(Signal::KILL);
        }
        self.finish().await;
    }

    /// The adapter and the program have ended.
    pub(super) fn kill(&self) {
        self.closing.cancel();
        if let Some(live) = self.live().as_mut() {
            live.connection.peer.close();
            if let Some(parent) = live.parent.take() {
                parent.close();
            }
            if let Some(process) = live.connection.process.child() {
                process.signal(Signal::KILL);
            }
            if live.plan.launched {
                live.signal(Signal::KILL);
            }
            if let Some(scratch) = live.connection.scratch.take() {
                let exit = live.connection.process.child().map(Child::exit);
                spawn_removal(scratch, exit);
            }
        }
    }

    /// The handle was dropped: no more requests come, and no events are read.
    pub(in super::super) fn abandon(self: &Arc<Self>) {
        self.give_up.cancel();
        self.handle(ChildEvent::Released);
        self.kill();
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(opened), Ok(runtime)) = (opened, tokio::runtime::Handle::try_current()) {
            runtime.spawn_blocking(move || opened.close());
        }
    }
}

/// Removes an adapter's scratch folder once it writes no more, or when the host ends, if that is sooner.
fn spawn_removal(scratch: ScratchFolder, exit: Option<watch::Receiver<Option<ExitInfo>>>) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    runtime.spawn(async move {
        if let Some(mut exit) = exit {
            drop(tokio::time::timeout(DISCONNECT_TIMEOUT, connection::wait_for_exit(&mut exit)).await);
        }
        drop(scratch);
    });
}

impl LiveAdapter {
    /// Whether the adapter has started the program through our stub, and so its end will be seen.
    fn is_started_by_stub(&self) -> bool {
        matches!(self.plan.program_io, ProgramIo::ExecShim(_)) && self.debuggee.is_some()
    }

    /// The processes that [`LiveAdapter::signal`] reaches.
    pub(super) fn processes(&self) -> impl Iterator<Item = u32> {
        let inherited =
            (self.plan.program_io == ProgramIo::Inherited).then(|| self.connection.process.child());
        let children = [self.program.as_ref(), inherited.flatten()].into_iter().flatten();
        children
            .map(Child::pid)
            .chain(self.debuggee.as_ref().map(DebuggeeProcess::pid))
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// The processes that this session has started, or was requested to attach to.
    pub(super) fn origins(&self) -> Vec<u32> {
        let attached = self.target.process_id().ok().filter(|_| !self.plan.launched);
        self.connection.process.origins().into_iter().chain(self.processes()).chain(attached).collect()
    }

    /// The children of a launcher that is to be killed, if the adapter has not reported yet which
    /// process the program is.
    fn launcher_children(&self) -> Vec<DebuggeeProcess> {
        let unnamed = self.plan.quirks.has_launcher && self.debuggee.is_none();
        let Some(launcher) = self.program.as_ref().filter(|_| unnamed) else { return Vec::new() };
        let started = if launcher.exited().is_none() {
            // It must start nothing more once its children are counted.
            launcher.signal(Signal::STOP);
            debuggee::children_of(launcher.pid())
        } else {
            // It was killed: its child now has another parent, but still its stdin.
            debuggee::with_stdin(launcher.stdin())
        };
        started.into_iter().filter_map(DebuggeeProcess::of).collect()
    }

    /// To the program, wherever it is.
    fn signal(&self, signal: Signal) {
        let started = if signal == Signal::KILL { self.launcher_children() } else { Vec::new() };
        if let Some(program) = &self.program {
            program.signal(signal);
        }
        for process in started {
            process.signal(signal);
        }
        if self.plan.program_io == ProgramIo::Inherited
            && let Some(process) = self.connection.process.child()
        {
            process.signal(signal);
        }
        if let Some(debuggee) = &self.debuggee {
            debuggee.signal(signal);
        }
    }
}
