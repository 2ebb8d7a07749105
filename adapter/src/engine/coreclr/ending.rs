//! The end of a debugged program: let go of, asked to end, killed, or gone by itself, and told once.

use std::rc::Rc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use cordebug::callback::Callback;
use cordebug::debugger::Process;
use cordebug::hresult::CORDBG_E_DETACH_FAILED_OUTSTANDING_EVALS;
use dap_wire::{ErrorCode, Failure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::cor;
use super::exceptions::Silence;
use super::session::{Input, Run, Session};
use crate::engine::HEARS_WHEN_IT_RUNS;
use crate::io::ExitInfo;
use crate::io::child::{is_suspended, signal_group};

/// How long nothing is told before a program counts as quiet, and how long that is waited for, when it is let go.
const QUIET: Duration = Duration::from_millis(50);
const QUIET_LIMIT: Duration = Duration::from_secs(2);
/// How long a call that could not be aborted may take to end when the program is let go.
const LAST_CALL_LIMIT: Duration = Duration::from_secs(5);
/// How long a killed program may take to end.
const KILL_LIMIT: Duration = Duration::from_secs(3);
/// How long after SIGTERM a program that is suspended is resumed, so that it receives the signal.
const WAKE_LIMIT: Duration = Duration::from_secs(3);
/// How often it is looked at meanwhile.
const WAKE_LOOK: Duration = Duration::from_millis(50);
/// How often one that is suspended again meanwhile is resumed.
const MOST_SUSPENSIONS: u32 = 5;

impl Session {
    /// Ends the program or lets it go on alone; the hub waits for this answer.
    pub(super) fn disconnect(
        &mut self,
        arguments: &Value,
        inputs: &Receiver<Input>,
    ) -> Result<Value, Failure> {
        // A program we started has our pipes for its stdio: it cannot outlive the session.
        let kill = self.child.is_some() || arguments["terminateDebuggee"].as_bool().unwrap_or(false);
        match (kill, self.process.take()) {
            (_, None) => {
                if let Some(child) = self.child.as_ref().filter(|child| child.exited().is_none()) {
                    let info = killed(child)?;
                    self.end(Some(info));
                }
            }
            (false, Some(process)) => {
                let let_go = self.let_go(&process, inputs);
                if let Err(failure) = &let_go {
                    self.note(&failure.to_string());
                }
                self.end(None);
                let_go?;
            }
            (true, Some(process)) => {
                match &self.child {
                    Some(child) => {
                        // The debugging library does not survive the end of a program it is just talking to, and the next
                        // one is debugged by the same library in the same process: it must be at rest.
                        if arguments["restart"] == true && self.run == Run::Running {
                            self.stand(&process).unwrap_or_default();
                        }
                        let info = killed(child)?;
                        if arguments["restart"] == true {
                            // Its transport may wait in these for the program; the library only removes their names.
                            cordebug::startup::remove_leftovers(child.pid());
                            self.library_rests(&process, inputs);
                        }
                        self.end(Some(info));
                    }
                    None => {
                        // Not our child: the runtime ends it, which it must stand for.
                        process.stop().unwrap_or_default();
                        process.terminate(1).map_err(cor("end the program"))?;
                        self.end(None);
                    }
                }
            }
        }
        Ok(Value::Null)
    }

    /// Waits until the debugging library has noticed the end of the program and can be shut down: this process goes on, and an
    /// instance that was not shut down keeps its threads, descriptors and memory.
    fn library_rests(&mut self, process: &Process, inputs: &Receiver<Input>) {
        let deadline = Instant::now() + KILL_LIMIT;
        while self.debugger.is_some() {
            match inputs.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Input::Callback(Callback::ExitProcess)) => self.process_ended(),
                // What was said before the end is in its way. There is no program any more that could refuse.
                Ok(Input::Callback(_)) => process.resume().unwrap_or_default(),
                Ok(other) => self.postponed.push_back(other),
                Err(_) => {
                    tracing::warn!("the debugging library has not noticed the end of the program");
                    return;
                }
            }
        }
    }

    /// Leaves the program as if there had been no debugger. One that ends meanwhile needs no more.
    fn let_go(&mut self, process: &Rc<Process>, inputs: &Receiver<Input>) -> Result<(), Failure> {
        let mut steps = || -> Result<(), Failure> {
            if self.run == Run::Running {
                self.stand(process).map_err(cor("stop the program to detach from it"))?;
            }
            self.breakpoints.remove_all();
            self.give_up_step();
            process.hold_nobody().unwrap_or_default();
            self.forget_stop();
            let silence = self.silence_exceptions(process);
            if !self.settle(process, inputs)? {
                return Ok(());
            }
            self.detach(process, inputs)?;
            silence.iter().for_each(Silence::end);
            Ok(())
        };
        steps().or_else(|failure| if failure.code == ErrorCode::NoSession { Ok(()) } else { Err(failure) })
    }

    /// Lets what threads have run into already be told, and to nobody's interest: a thread that waits at a breakpoint to be
    /// heard when the debugger leaves crashes or stays there for ever. The program stands again in the end; `false` when it
    /// has ended.
    fn settle(&mut self, process: &Rc<Process>, inputs: &Receiver<Input>) -> Result<bool, Failure> {
        let deadline = Instant::now() + QUIET_LIMIT;
        let resume = || process.resume().map_err(cor("let the program go on"));
        for _ in 0..=self.deferred.drain(..).len() {
            resume()?;
        }
        loop {
            match inputs.recv_timeout(QUIET) {
                Ok(Input::Callback(Callback::ExitProcess)) => {
                    self.postponed.push_back(Input::Callback(Callback::ExitProcess));
                    return Ok(false);
                }
                Ok(Input::Callback(_)) if Instant::now() < deadline => resume()?,
                // It stands where it told this.
                Ok(Input::Callback(_)) => return Ok(true),
                Ok(other) => self.postponed.push_back(other),
                Err(_) => {
                    self.stand(process).map_err(cor("stop the program to detach from it"))?;
                    if process.has_queued_callbacks() != Ok(true) || Instant::now() > deadline {
                        return Ok(true);
                    }
                    resume()?;
                }
            }
        }
    }

    /// Lets go of the program, which stands. A call of an evaluation that is still on a thread keeps the runtime from it:
    /// then the program runs until that has ended.
    fn detach(&mut self, process: &Rc<Process>, inputs: &Receiver<Input>) -> Result<(), Failure> {
        let deadline = Instant::now() + LAST_CALL_LIMIT;
        loop {
            match process.detach() {
                Err(error) if error.hresult == CORDBG_E_DETACH_FAILED_OUTSTANDING_EVALS => {}
                done => return done.map_err(cor("detach")),
            }
            process.resume().map_err(cor("let the program go on"))?;
            loop {
                let Ok(input) = inputs.recv_timeout(deadline.saturating_duration_since(Instant::now()))
                else {
                    // It runs; nothing more can be done for it.
                    return Err(Failure::new(
                        ErrorCode::EngineFailed,
                        format!(
                            "cannot detach in order: {} is still under way in the program",
                            self.left.named()
                        ),
                    )
                    .hint("the program goes on, but may stand still at its next new thread or module"));
                };
                let Input::Callback(callback) = input else { continue };
                if matches!(callback, Callback::ExitProcess) {
                    return Ok(());
                }
                let ended =
                    matches!(callback, Callback::EvalComplete { .. } | Callback::EvalException { .. });
                if self.of_left_call(&callback) && ended {
                    break;
                }
                process.resume().map_err(cor("let the program go on"))?;
            }
        }
    }

    /// Ends the program whatever it wants; its end is told when it comes.
    pub(super) fn end_by_force(&mut self, inputs: &Receiver<Input>) -> Result<Value, Failure> {
        match &self.child {
            Some(child) => {
                child.signal(Signal::KILL);
                Ok(Value::Null)
            }
            None => self.disconnect(&json!({ "terminateDebuggee": true }), inputs),
        }
    }

    /// Asks the program to end. How long it may take is the hub's to know.
    pub(super) fn ask_to_end(&self) -> Result<Value, Failure> {
        let asked = Ok(json!({ HEARS_WHEN_IT_RUNS: true }));
        let Some(child) = &self.child else {
            let process = self.pid.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
            let Some(process) = process else { return asked };
            for signal in [Signal::TERM, Signal::CONT] {
                kill_process(process, signal).map_err(|error| {
                    let what = format!(
                        "cannot ask process {} to end: SIG{signal:?}: {error}",
                        process.as_raw_nonzero()
                    );
                    Failure::new(ErrorCode::EngineFailed, what)
                        .hint("disconnect with `terminateDebuggee` to end it by force")
                })?;
            }
            return asked;
        };
        child.signal(Signal::TERM);
        // One that was suspended from its terminal's keyboard hears it when it goes on.
        child.signal(Signal::CONT);
        // Not here: on its way out the program calls back, and must be answered.
        let (broker, pid, mut exit) = (self.broker.clone(), child.pid(), child.exit());
        let wake = move || {
            let runtime = broker.runtime();
            let deaf = runtime.block_on(async {
                let patience = tokio::time::Instant::now() + WAKE_LIMIT;
                let mut suspended = 0;
                loop {
                    let look = tokio::time::Instant::now() + WAKE_LOOK;
                    match tokio::time::timeout_at(look, exit.wait_for(Option::is_some)).await {
                        Ok(_) => return false,
                        // One that reads in the background of its terminal is suspended again and again (SIGTTIN), and
                        // hears nobody.
                        Err(_) if suspended > MOST_SUSPENSIONS => return true,
                        Err(_) if look >= patience => return false,
                        Err(_) if is_suspended(pid) => {
                            suspended += 1;
                            signal_group(pid, Signal::CONT);
                        }
                        Err(_) => {}
                    }
                }
            });
            if deaf {
                broker.kill();
            }
        };
        std::thread::Builder::new().name("terminate".into()).spawn(wake).map_or_else(
            |error| {
                Err(Failure::new(ErrorCode::EngineFailed, format!("cannot watch the program end: {error}")))
            },
            |_| asked,
        )
    }

    /// The program has ended.
    pub(super) fn exited(&mut self, info: ExitInfo) {
        self.end(Some(info));
    }

    /// Tells the end once.
    pub(super) fn end(&mut self, info: Option<ExitInfo>) {
        if self.run == Run::Over {
            return;
        }
        self.run = Run::Over;
        if let Some(child) = self.child.as_ref().filter(|child| child.exited().is_some()) {
            cordebug::startup::remove_leftovers(child.pid());
        }
        self.references.clear();
        self.deferred.clear();
        if let Some(info) = info {
            if self.child.as_ref().is_some_and(crate::io::Child::lost_terminal) {
                self.note("The program's terminal was closed, and so the program has ended.");
            }
            if let Some(signal) = info.signal {
                self.note(&format!("The program was ended by signal {signal}."));
            }
            self.tell("exited", json!({ "exitCode": info.code }));
        }
        self.tell("terminated", Value::Null);
    }
}

/// Kills a program and waits for its end. One that takes longer tells it all the same, when it comes.
fn killed(child: &crate::io::Child) -> Result<ExitInfo, Failure> {
    child.signal(Signal::KILL);
    let deadline = Instant::now() + KILL_LIMIT;
    let mut pause = Duration::from_millis(1);
    // The exit is noticed by another thread; this one has no runtime to wait with.
    while child.exited().is_none() && Instant::now() < deadline {
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
    child.exited().ok_or_else(|| {
        let message =
            format!("process {} did not end within {} s of SIGKILL", child.pid(), KILL_LIMIT.as_secs());
        Failure::new(ErrorCode::EngineFailed, message)
            .hint("it may wait for a disk or a file server; it ends when that answers")
    })
}
