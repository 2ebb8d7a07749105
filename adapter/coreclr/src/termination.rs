//! The end of a debugged program: detach, request to end, kill, or exit; reported once. Not here: a runtime
//! that hangs ([`super::hang_watchdog`]).

mod kill;

use std::rc::Rc;
use std::time::{Duration, Instant};

use cordebug::callback::Callback;
use cordebug::debugger::Process;
use cordebug::hresult::CORDBG_E_DETACH_FAILED_OUTSTANDING_EVALS;
use cordebug::run_times::ThreadRunTimes;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tandem_wire::types::{self, DisconnectArguments};
use tandem_wire::{ErrorCode, Failure};

use super::compiler::Compiler;
use super::cor;
use super::debuggee::RunState;
use super::exceptions::ExceptionSuppression;
use super::inbox::EngineInput;
use super::session::ClrSession;
use tandem_engine::exited_body;
use tandem_process::child::{is_suspended, signal_group};
use tandem_process::exit::signal_name;
use tandem_process::{Child, ExitInfo};

pub(super) use kill::discard;
use kill::{KILL_TIMEOUT, killed};

/// How long the callbacks must pause before a program counts as quiet, and the limit of waiting for
/// that, before detaching.
const QUIET_INTERVAL: Duration = Duration::from_millis(50);
const QUIET_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a call that could not be aborted may take to end before the detach.
const LAST_CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// How long after SIGTERM a suspended program is resumed, so that it receives the signal.
const WAKE_DELAY: Duration = Duration::from_secs(3);
/// Pause between two checks in that time.
const WAKE_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// How often a program that is suspended again is resumed.
const MAX_SUSPENSIONS: u32 = 5;

impl ClrSession {
    /// Ends the program, or detaches from it; the hub waits for the answer.
    pub(super) fn disconnect(&mut self, arguments: &Value) -> Result<Value, Failure> {
        self.sources.retrieval.stop();
        // A program that Tandem has started uses Tandem's pipes for its stdio: it cannot outlive the session.
        let DisconnectArguments { restart, terminate_debuggee, .. } = types::read(arguments);
        let restarts = restart == Some(true);
        let kill = self.program.debuggee.child.is_some() || terminate_debuggee == Some(true);
        match (kill, self.program.debuggee.process.take()) {
            (_, None) => {
                let begun = self.program.debuggee.run != RunState::None;
                // One that has ended may not be reported yet: the report is still in the inbox.
                let known = |child: &&Child| begun || child.exited().is_none();
                let ended = |child: &Child| child.exited().map_or_else(|| killed(child), Ok);
                let info = self.program.debuggee.child.as_ref().filter(known).map(ended).transpose()?;
                self.end_children(kill);
                if info.is_some() || self.program.debuggee.run == RunState::Over {
                    self.end(info);
                }
            }
            (false, Some(process)) => {
                self.end_children(false);
                let released = self.release(&process);
                if let Err(failure) = &released {
                    self.hub.outbox.note(&failure.to_string());
                }
                self.end(None);
                released?;
            }
            (true, Some(process)) => {
                match &self.program.debuggee.child {
                    Some(child) => {
                        // The debugging library does not survive the end of a program that it is
                        // communicating with, and it will debug the next one in the same process: it must be
                        // idle.
                        if restarts && self.program.debuggee.run == RunState::Running {
                            self.program.debuggee.stop(&process).unwrap_or_default();
                        }
                        let info = killed(child)?;
                        if restarts {
                            // The library's transport may wait in these for the program; the library only
                            // removes their names.
                            cordebug::startup::remove_stale_files(child.pid());
                            self.library_rests(&process);
                        }
                        self.end_children(true);
                        self.end(Some(info));
                    }
                    None => {
                        // Not Tandem's child: the runtime ends it, which it must be stopped for.
                        process.stop().unwrap_or_default();
                        process.terminate(1).map_err(cor("end the program"))?;
                        self.end_children(true);
                        self.end(None);
                    }
                }
            }
        }
        Ok(Value::Null)
    }

    /// Waits until the debugging library has noticed the end of the program and can be shut down: this
    /// process continues, and an instance that was not shut down keeps its threads, descriptors and memory.
    fn library_rests(&mut self, process: &Process) {
        let deadline = Instant::now() + KILL_TIMEOUT;
        while self.program.debuggee.debugger.is_some() {
            match self.hub.inbox.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(EngineInput::Callback(Callback::ExitProcess)) => self.on_process_ended(),
                // Callbacks from before the end block it. The program is gone, so resuming cannot fail in a
                // way that matters.
                Ok(EngineInput::Callback(_)) => process.resume().unwrap_or_default(),
                Ok(other) => self.hub.inbox.postpone(other),
                Err(_) => {
                    tracing::warn!("the debugging library has not noticed the end of the program");
                    return;
                }
            }
        }
    }

    /// Leaves the program as if there had been no debugger. If the program ends in the meantime,
    /// nothing is left to do.
    fn release(&mut self, process: &Rc<Process>) -> Result<(), Failure> {
        let mut steps = || -> Result<(), Failure> {
            if self.program.debuggee.run == RunState::Running {
                self.program.debuggee.stop(process).map_err(cor("stop the program to detach from it"))?;
            }
            self.breakpoints.remove_all();
            self.stepping.give_up(self.program.debuggee.process.as_deref());
            process.unsuspend_all().unwrap_or_default();
            self.forget_stop();
            let suppression =
                self.exceptions.suppress_exceptions(&self.program.debuggee, &self.program.types, process);
            if !self.resume_pending_callbacks(process)? {
                return Ok(());
            }
            self.detach(process)?;
            suppression.iter().for_each(ExceptionSuppression::end);
            Ok(())
        };
        steps().or_else(|failure| if failure.code == ErrorCode::NoSession { Ok(()) } else { Err(failure) })
    }

    /// Answers what threads have run into already, without reporting it: a thread that waits at a breakpoint
    /// to report it when the debugger leaves crashes or blocks for ever. Each thread gets a processor for
    /// this. The program is stopped at the end; `false` if it has exited.
    fn resume_pending_callbacks(&mut self, process: &Rc<Process>) -> Result<bool, Failure> {
        let deadline = Instant::now() + QUIET_TIMEOUT;
        let pid = self.program.debuggee.pid.unwrap_or_default();
        let resume = || -> Result<ThreadRunTimes, Failure> {
            process.resume().map_err(cor("resume the program"))?;
            Ok(ThreadRunTimes::start(pid))
        };
        let mut run_times = ThreadRunTimes::start(pid);
        // The callback of the current stop needs an answer, too; a program that is not configured is held at
        // the first one.
        let current = usize::from(self.program.debuggee.run != RunState::Held);
        for _ in 0..self.hub.inbox.forget_deferred() + current {
            run_times = resume()?;
        }
        loop {
            match self.hub.inbox.recv_timeout(QUIET_INTERVAL) {
                Ok(EngineInput::Callback(Callback::ExitProcess)) => {
                    self.hub.inbox.postpone(EngineInput::Callback(Callback::ExitProcess));
                    return Ok(false);
                }
                Ok(EngineInput::Callback(_)) if Instant::now() < deadline => {
                    run_times = resume()?;
                }
                // It is stopped at this callback.
                Ok(EngineInput::Callback(_)) => return Ok(true),
                Ok(other) => self.hub.inbox.postpone(other),
                Err(_) if !run_times.all_have_run() && Instant::now() < deadline => {}
                Err(_) => {
                    self.program.debuggee.stop(process).map_err(cor("stop the program to detach from it"))?;
                    if process.has_queued_callbacks() != Ok(true) || Instant::now() > deadline {
                        return Ok(true);
                    }
                    run_times = resume()?;
                }
            }
        }
    }

    /// Detaches from the stopped program. While a call of an evaluation is still on a thread, the runtime
    /// refuses: then the program runs until the call has ended.
    fn detach(&mut self, process: &Rc<Process>) -> Result<(), Failure> {
        let deadline = Instant::now() + LAST_CALL_TIMEOUT;
        loop {
            match process.detach() {
                Err(error) if error.hresult == CORDBG_E_DETACH_FAILED_OUTSTANDING_EVALS => {}
                done => return done.map_err(cor("detach")),
            }
            process.resume().map_err(cor("resume the program"))?;
            loop {
                let Ok(input) =
                    self.hub.inbox.recv_timeout(deadline.saturating_duration_since(Instant::now()))
                else {
                    // It is running; nothing more can be done.
                    return Err(Failure::new(
                        ErrorCode::EngineFailed,
                        format!(
                            "cannot detach in order: {} is still under way in the program",
                            self.calls.stuck.describe()
                        ),
                    )
                    .hint("the program is resumed, but may hang at its next new thread or module"));
                };
                let EngineInput::Callback(callback) = input else { continue };
                if matches!(callback, Callback::ExitProcess) {
                    return Ok(());
                }
                let ended =
                    matches!(callback, Callback::EvalComplete { .. } | Callback::EvalException { .. });
                if self.calls.stuck.of_abandoned_call(&mut self.program.debuggee.threads, &callback) && ended
                {
                    break;
                }
                process.resume().map_err(cor("resume the program"))?;
            }
        }
    }

    /// Kills the program; reports its end when it happens.
    pub(super) fn end_by_force(&mut self) -> Result<Value, Failure> {
        match &self.program.debuggee.child {
            Some(child) => {
                child.signal(Signal::KILL);
                self.end_children(true);
                // The program may have ended before; the session may have waited only for its child
                // processes.
                self.children_ended();
                Ok(Value::Null)
            }
            None => self.disconnect(&types::body(&DisconnectArguments {
                terminate_debuggee: Some(true),
                ..DisconnectArguments::default()
            })),
        }
    }

    /// Sends the program the signal that asks it to end. The hub decides how long to wait.
    pub(super) fn ask_to_end(&self) -> Result<(), Failure> {
        let Some(child) = &self.program.debuggee.child else {
            let process =
                self.program.debuggee.pid.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
            let Some(process) = process else { return Ok(()) };
            for signal in [Signal::TERM, Signal::CONT] {
                kill_process(process, signal).map_err(|error| {
                    let what = format!(
                        "cannot ask process {} to end with {}: {error}",
                        process.as_raw_nonzero(),
                        signal_name(signal.as_raw())
                    );
                    Failure::new(ErrorCode::EngineFailed, what)
                        .hint("disconnect with `terminateDebuggee` to kill it")
                })?;
            }
            return Ok(());
        };
        child.signal(Signal::TERM);
        // A program that was suspended from its terminal's keyboard receives the signal when it continues.
        child.signal(Signal::CONT);
        // On another thread: while exiting, the program makes callbacks that must be answered.
        let (broker, pid, mut exit) = (self.program.debuggee.broker.clone(), child.pid(), child.exit());
        let wake = move || {
            let runtime = broker.runtime();
            let ignores_signal = runtime.block_on(async {
                let patience = tokio::time::Instant::now() + WAKE_DELAY;
                let mut suspended = 0;
                loop {
                    let look = tokio::time::Instant::now() + WAKE_CHECK_INTERVAL;
                    match tokio::time::timeout_at(look, exit.wait_for(Option::is_some)).await {
                        Ok(_) => return false,
                        // A program that reads in the background of its terminal is suspended again and again
                        // (SIGTTIN), and never handles the signal.
                        Err(_) if suspended > MAX_SUSPENSIONS => return true,
                        Err(_) if look >= patience => return false,
                        Err(_) if is_suspended(pid) => {
                            suspended += 1;
                            signal_group(pid, Signal::CONT);
                        }
                        Err(_) => {}
                    }
                }
            });
            if ignores_signal {
                broker.kill();
            }
        };
        std::thread::Builder::new().name("terminate".into()).spawn(wake).map_or_else(
            |error| {
                Err(Failure::new(ErrorCode::EngineFailed, format!("cannot watch the program end: {error}")))
            },
            |_| Ok(()),
        )
    }

    /// Ends the child processes with the session, or detaches from them.
    fn end_children(&mut self, kill: bool) {
        match kill {
            true => self.children.kill(),
            false => self.children.detach(),
        }
    }

    /// The program has ended.
    pub(super) fn exited(&mut self, info: ExitInfo) {
        self.on_program_exited(Some(info));
    }

    /// The program has ended; the session lasts until its debugged child processes, whose input and output
    /// it carries, have ended.
    pub(super) fn on_program_exited(&mut self, info: Option<ExitInfo>) {
        self.close(info);
        let how = info.map_or_else(String::new, |info| format!(" with {info}"));
        match self.children.count() {
            0 => self.report_end(),
            1 => self
                .hub
                .outbox
                .note(&format!("The program has ended{how}. A child process is still debugged.")),
            count => self
                .hub
                .outbox
                .note(&format!("The program has ended{how}. {count} child processes are still debugged.")),
        }
    }

    /// No child process is debugged any more.
    pub(super) fn children_ended(&mut self) {
        if self.program.debuggee.run == RunState::Over {
            self.report_end();
        }
    }

    /// Ends the session: the program has exited, or was detached from.
    pub(super) fn end(&mut self, info: Option<ExitInfo>) {
        self.close(info);
        self.report_end();
    }

    /// The program has ended, or is no longer debugged.
    fn close(&mut self, info: Option<ExitInfo>) {
        if self.program.debuggee.run == RunState::Over {
            return;
        }
        self.program.debuggee.run = RunState::Over;
        // Its process and the files of this session end with the program.
        self.compiler = Compiler::default();
        if let Some(child) = self.program.debuggee.child.as_ref().filter(|child| child.exited().is_some()) {
            cordebug::startup::remove_stale_files(child.pid());
        }
        self.program.values.references.clear();
        self.hub.inbox.forget_deferred();
        if let Some(info) = info {
            if self.program.debuggee.child.as_ref().is_some_and(Child::lost_terminal) {
                self.hub.outbox.note("The program's terminal was closed, and so the program has ended.");
            }
            if let Some(signal) = info.signal_name() {
                self.hub.outbox.note(&format!("The program was ended by {signal}."));
            }
        }
        self.program.debuggee.end.exit = info;
    }

    /// Reports the end once.
    fn report_end(&mut self) {
        if !self.program.debuggee.end.take_report() {
            return;
        }
        if let Some(info) = self.program.debuggee.end.exit {
            if self.options.logging.process_exit {
                self.hub.outbox.note(&format!("The program has ended with {info}."));
            }
            self.hub.outbox.send_event("exited", exited_body(info));
        }
        self.hub.outbox.send_event("terminated", Value::Null);
    }
}
