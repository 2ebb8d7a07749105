//! Getting the program under control: launch held before any user code, attach, and letting go.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use cordebug::callback::Callback;
use cordebug::debugger::Process;
use cordebug::hresult::CORDBG_E_DETACH_FAILED_OUTSTANDING_EVALS;
use cordebug::runtime::{self, Runtime, RuntimeError};
use cordebug::startup::{Started, StartupHold};
use dap_wire::{ErrorCode, Failure};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::cor;
use super::overflow;
use super::program::{self, Attributes};
use super::session::{Input, Run, Session};
use super::sources::Sources;
use crate::io::ExitInfo;
use crate::io::child::{is_suspended, signal_group};

/// How long a runtime may take to start. A cold disk is slow.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long the debugging library may take to shake hands with a runtime that has started.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);
/// How long a debugger that has let go of a process may take to hang up.
const HANG_UP_LIMIT: Duration = Duration::from_secs(2);
/// How long nothing is told before a program counts as quiet, and how long that is waited for, when it is let go.
const QUIET: Duration = Duration::from_millis(50);
const QUIET_LIMIT: Duration = Duration::from_secs(2);
/// How long a call that could not be aborted may take to end when the program is let go.
const LAST_CALL_LIMIT: Duration = Duration::from_secs(5);
/// How long a killed program may take to end.
const KILL_LIMIT: Duration = Duration::from_secs(3);
/// How long a program may take to end after SIGTERM.
const TERM_LIMIT: Duration = Duration::from_secs(3);
/// How often it is looked at meanwhile.
const TERM_LOOK: Duration = Duration::from_millis(50);
/// How often one that is suspended again meanwhile is let go on.
const MOST_SUSPENSIONS: u32 = 5;

impl Session {
    pub(super) fn launch(
        &mut self,
        arguments: &Value,
        cancel: &CancellationToken,
        inputs: &Receiver<Input>,
    ) -> Result<Value, Failure> {
        let attributes = Attributes(arguments);
        self.stop_on_entry = attributes.flag("stopOnEntry", false)?;
        self.attributes(arguments)?;
        let (ending, cancel) = (self.ending.clone(), cancel.clone());
        let give_up = || ending.load(Ordering::Relaxed) || cancel.is_cancelled();
        let program = program::resolve(&attributes, &mut |line| self.note(line), &give_up)?;
        if attributes.flag("noDebug", false)? {
            return self.launch_undebugged(&program, &give_up);
        }
        self.entry_module.clone_from(&program.assembly);
        // Clients configure while the runtime starts.
        self.tell("initialized", Value::Null);
        let mut child = self.start_held(&program, &give_up)?;
        let pid = child.pid();
        let failed = |reason: String| {
            Failure::new(
                ErrorCode::LaunchFailed,
                format!("cannot debug `{}`: {reason}", program.spec.program.display()),
            )
        };
        let hold =
            StartupHold::create(pid).map_err(|error| failed(format!("no startup semaphores: {error}")))?;
        child.release()?;
        tracing::debug!(pid, "the program begins");
        let starting = preload(pid);
        let started = hold.wait(START_LIMIT, &|| child.exited().is_none() && !give_up());
        starting.store(false, Ordering::Relaxed);
        if started != Started::Held {
            let failure = self.why_not_started(&child, started, &failed, give_up());
            child.signal(Signal::KILL);
            return Err(failure);
        }
        tracing::debug!(pid, "its runtime is up and held");
        self.child = Some(child);
        self.take_control(pid, &failed)?;
        tracing::debug!(pid, "the debugging library is attached");
        // Its callbacks wait in the inbox until the clients have configured; the runtime may go on to the first.
        drop(hold);
        self.run = Run::Held;
        self.watch_exit();
        overflow::watch(&self.broker, pid, self.notes());
        self.wait_for_first_callback(inputs);
        tracing::debug!(pid, "the first callback came");
        let assembly = self.entry_module.as_deref().filter(|assembly| assembly.is_absolute());
        let name = assembly.unwrap_or(&program.spec.program).display().to_string();
        self.tell(
            "process",
            json!({ "name": name, "systemProcessId": pid, "isLocalProcess": true,
            "startMethod": "launch", "pointerSize": 64 }),
        );
        Ok(Value::Null)
    }

    /// What `launch` and `attach` have in common.
    fn attributes(&mut self, arguments: &Value) -> Result<(), Failure> {
        self.just_my_code = Attributes(arguments).flag("justMyCode", true)?;
        self.step_filters = Attributes(arguments).flag("enableStepFiltering", true)?;
        self.modules.set_symbol_paths(&arguments["symbolPaths"])?;
        self.sources = Sources::parse(&arguments["sourceFileMap"])?;
        Ok(())
    }

    /// The debugging library does not survive the program's end before its own handshake is over, which the first
    /// callback shows.
    fn wait_for_first_callback(&mut self, inputs: &Receiver<Input>) {
        let deadline = Instant::now() + HANDSHAKE_LIMIT;
        while self.deferred.is_empty() {
            match inputs.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Input::Callback(callback)) => self.deferred.push_back(callback),
                Ok(Input::Exited(info)) => return self.postponed.push_back(Input::Exited(info)),
                Ok(other) => self.postponed.push_back(other),
                Err(_) => return,
            }
        }
    }

    fn why_not_started(
        &self,
        child: &crate::io::Child,
        started: Started,
        failed: &dyn Fn(String) -> Failure,
        gave_up: bool,
    ) -> Failure {
        if gave_up {
            return Failure::cancelled();
        }
        self.broker.settle();
        let words = self.broker.last_words(2000);
        match (started, child.exited()) {
            (_, Some(_)) if child.lost_terminal() => failed("its terminal was closed".into()),
            (_, Some(info)) if info.code == 127 && words.starts_with("tandem-dap:") => failed(words),
            (_, Some(info))
                if info.code == 127
                    && let Some(why) = child.why_not_started() =>
            {
                failed(why)
            }
            (_, Some(info)) if info.code == 0 => Failure::new(
                ErrorCode::NotDebuggable,
                "the program ran to its end without starting a .NET runtime: it is no .NET program",
            )
            .hint("the .NET engine debugs .dll files, app hosts, .csproj files and project folders"),
            (_, Some(info)) => {
                let quoted =
                    if words.is_empty() { String::new() } else { format!("; its last words: {words}") };
                failed(format!("it ended with {} before a .NET runtime started{quoted}", info.code))
                    .hint("run it without a debugger to see whether it starts; is it a .NET program?")
            }
            _ => failed(format!("no .NET runtime started in it within {} s", START_LIMIT.as_secs()))
                .hint("is it a .NET program?"),
        }
    }

    /// Loads the debugging library of the runtime in the process and attaches to it.
    fn take_control(&mut self, pid: u32, failed: &dyn Fn(String) -> Failure) -> Result<(), Failure> {
        let runtime = only_runtime(pid)?;
        self.pid = Some(pid);
        let debugger = runtime::create_debugger(pid, &runtime).map_err(|error| failed(error.to_string()))?;
        tracing::debug!(pid, "the debugging library is loaded");
        let inbox = self.inbox.clone();
        debugger
            .start(move |callback| {
                // After the session's end nobody needs to know.
                drop(inbox.send(Input::Callback(callback)));
            })
            .map_err(cor("start the debugging library"))?;
        let process = debugger.attach(pid).map_err(|error| {
            failed(error.to_string())
                .hint("is another debugger attached? Does the program use another TMPDIR than the debugger?")
        })?;
        self.modules.set_runtime(&runtime.folder);
        let executable = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        if let Some(folder) = executable.parent().filter(|_| !executable.ends_with("dotnet")) {
            self.modules.set_program_folder(folder);
        }
        self.debugger = Some(debugger);
        self.process = Some(Rc::new(process));
        Ok(())
    }

    pub(super) fn watch_exit(&self) {
        let Some(child) = &self.child else { return };
        let (mut exit, inbox) = (child.exit(), self.inbox.clone());
        let watch = move || {
            let ended = futures::executor::block_on(exit.wait_for(Option::is_some)).map(|info| *info);
            if let Ok(Some(info)) = ended {
                drop(inbox.send(Input::Exited(info)));
            }
        };
        if let Err(error) = std::thread::Builder::new().name("exit-watch".into()).spawn(watch) {
            tracing::error!(%error, "the program's end will not be noticed");
        }
    }

    pub(super) fn attach(&mut self, arguments: &Value, inputs: &Receiver<Input>) -> Result<Value, Failure> {
        self.attributes(arguments)?;
        let pid = arguments["processId"].as_u64().or_else(|| arguments["processId"].as_str()?.parse().ok());
        let Some(pid) = pid.and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0) else {
            return Err(Failure::invalid(format!(
                "`processId` must be a process id, not {}",
                arguments["processId"]
            )));
        };
        if !Path::new("/proc").join(pid.to_string()).exists() {
            return Err(Failure::new(ErrorCode::ProcessNotFound, format!("there is no process {pid}")));
        }
        if !cordebug::startup::wait_until_hung_up(pid, HANG_UP_LIMIT) {
            let message = format!("another debugger is attached to process {pid}");
            return Err(Failure::new(ErrorCode::AlreadyAttached, message).hint("detach it first"));
        }
        self.take_control(pid, &|reason| {
            Failure::new(ErrorCode::NotDebuggable, format!("cannot attach to process {pid}: {reason}"))
        })?;
        self.broker.set_not_owned();
        self.run = Run::Held;
        self.wait_for_first_callback(inputs);
        self.tell("initialized", Value::Null);
        let name = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default().display().to_string();
        self.tell(
            "process",
            json!({ "name": name, "systemProcessId": pid, "isLocalProcess": true,
            "startMethod": "attach", "pointerSize": 64 }),
        );
        Ok(
            json!({ "runtimeVersion": only_runtime(pid).map(|runtime| runtime.version()).unwrap_or_default() }),
        )
    }

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
                    child.signal(Signal::KILL);
                    let info = wait_for_exit(child, KILL_LIMIT);
                    self.end(info);
                }
            }
            (false, Some(process)) => {
                if self.run == Run::Running {
                    self.stand(&process).map_err(cor("stop the program to detach from it"))?;
                }
                self.breakpoints.remove_all();
                self.give_up_step();
                process.hold_nobody().unwrap_or_default();
                self.forget_stop();
                let detached = match self.settle(&process, inputs) {
                    Ok(true) => self.detach(&process, inputs),
                    ended => ended.map(drop),
                };
                if let Err(failure) = &detached {
                    self.note(&failure.to_string());
                }
                self.end(None);
                detached?;
            }
            (true, Some(process)) => {
                match &self.child {
                    Some(child) => {
                        // The debugging library does not survive the end of a program it is just talking to, and the next
                        // one is debugged by the same library in the same process: it must be at rest.
                        if arguments["restart"] == true && self.run == Run::Running {
                            self.stand(&process).unwrap_or_default();
                        }
                        child.signal(Signal::KILL);
                        let info = wait_for_exit(child, KILL_LIMIT);
                        self.end(info);
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

    /// Asks the program to end, and ends it when it does not.
    pub(super) fn terminate(&mut self, inputs: &Receiver<Input>) -> Result<Value, Failure> {
        let Some(child) = &self.child else {
            return self.disconnect(&json!({ "terminateDebuggee": true }), inputs);
        };
        // A stopped program cannot answer a signal.
        if self.run != Run::Running {
            child.signal(Signal::KILL);
            return Ok(Value::Null);
        }
        child.signal(Signal::TERM);
        // One that was suspended from its terminal's keyboard hears it when it goes on.
        child.signal(Signal::CONT);
        // Not here: on its way out the program calls back, and must be answered.
        let (broker, pid, mut exit) = (self.broker.clone(), child.pid(), child.exit());
        let insist = move || {
            let runtime = broker.runtime();
            let ended = runtime.block_on(async {
                let patience = tokio::time::Instant::now() + TERM_LIMIT;
                let mut suspended = 0;
                loop {
                    let look = tokio::time::Instant::now() + TERM_LOOK;
                    match tokio::time::timeout_at(look, exit.wait_for(Option::is_some)).await {
                        Ok(_) => return true,
                        // One that reads in the background of its terminal is suspended again and again (SIGTTIN), and
                        // hears nobody.
                        Err(_) if look >= patience || suspended > MOST_SUSPENSIONS => return false,
                        Err(_) if is_suspended(pid) => {
                            suspended += 1;
                            signal_group(pid, Signal::CONT);
                        }
                        Err(_) => {}
                    }
                }
            });
            if !ended {
                broker.kill();
            }
        };
        std::thread::Builder::new().name("terminate".into()).spawn(insist).map(|_| Value::Null).map_err(
            |error| Failure::new(ErrorCode::EngineFailed, format!("cannot watch the program end: {error}")),
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

/// Loads the debugging library while the runtime starts; ends with the flag it gives.
fn preload(pid: u32) -> Arc<AtomicBool> {
    let starting = Arc::new(AtomicBool::new(true));
    let wanted = starting.clone();
    // Without the thread the launch is only slower.
    drop(std::thread::Builder::new().name("preload".into()).spawn(move || runtime::preload(pid, &wanted)));
    starting
}

fn wait_for_exit(child: &crate::io::Child, limit: Duration) -> Option<ExitInfo> {
    let deadline = Instant::now() + limit;
    let mut pause = Duration::from_millis(1);
    // The exit is noticed by another thread; this one has no runtime to wait with.
    while child.exited().is_none() && Instant::now() < deadline {
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
    child.exited()
}

fn only_runtime(pid: u32) -> Result<Runtime, Failure> {
    let mut found = runtime::find(pid).map_err(|error| {
        let code = match &error {
            RuntimeError::Maps { reason, .. } if reason.kind() == std::io::ErrorKind::NotFound => {
                ErrorCode::ProcessNotFound
            }
            _ => ErrorCode::NotDebuggable,
        };
        Failure::new(code, error.to_string())
    })?;
    match (found.pop(), found.is_empty()) {
        (Some(runtime), true) => Ok(runtime),
        (Some(_), false) => Err(Failure::new(
            ErrorCode::NotDebuggable,
            format!("process {pid} has several .NET runtimes; only one can be debugged"),
        )),
        (None, _) if has_runtime_inside(pid) => Err(Failure::new(
            ErrorCode::NotDebuggable,
            format!(
                "process {pid} is a self-contained .NET program in one file: its runtime is inside the executable and comes \
                 without a debugging library"
            ),
        )
        .hint("to debug it, publish it with `--self-contained false`, or without `PublishSingleFile`")),
        (None, _) => Err(Failure::new(
            ErrorCode::NotDebuggable,
            format!("process {pid} has no .NET runtime loaded: it is no .NET program"),
        )
        .hint("if it is one, its runtime has not started yet: try again")),
    }
}

/// Whether the runtime is linked into the executable, which then tells debuggers of it by this symbol (.NET 6 and later).
fn has_runtime_inside(pid: u32) -> bool {
    const SYMBOL: &[u8] = b"DotNetRuntimeInfo";
    const LARGEST: u64 = 256 * 1024 * 1024;
    let mut bytes = Vec::new();
    let read = std::fs::File::open(format!("/proc/{pid}/exe"))
        .and_then(|file| std::io::Read::read_to_end(&mut std::io::Read::take(file, LARGEST), &mut bytes));
    read.is_ok() && bytes.windows(SYMBOL.len()).any(|found| found == SYMBOL)
}
