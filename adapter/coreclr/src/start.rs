//! Start of debugging: launch, held before any user code, and attach. Not here: the command of the program
//! ([`tandem_dotnet_launch`]). [`super::termination`] detaches.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cordebug::runtime::{self, ClrRuntime};
use cordebug::startup::{HoldResult, StartupHold};
use serde_json::Value;
use tandem_wire::types::{self, AttachBody};
use tandem_wire::{ErrorCode, Failure};

use super::attributes;
use super::children::{ChildAttachAttributes, ChildProcessPolicy, RootProcess};
use super::compiler::Compiler;
use super::cor;
use super::debuggee::RunState;
use super::inbox::EngineInput;
use super::options::SessionOptions;
use super::runtime_async;
use super::runtimes::only_runtime;
use super::session::ClrSession;
use super::sources::SourceLocator;
use super::stack_overflow;
use super::termination::discard;
use crate::types::ClrTypeSystem;
use tandem_dotnet_launch::services;
use tandem_dotnet_launch::{Attributes, native_host, program};
use tandem_engine::console::Console;
use tandem_engine::env_file;
use tandem_engine::process_name::{self, ProcessAttributes};
use tandem_engine::running_process;

/// How long a runtime may take to start. A cold disk is slow.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the debugging library may take to shake hands with a runtime that has started.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a debugger that has detached from a process may take to disconnect.
const HANG_UP_TIMEOUT: Duration = Duration::from_secs(2);

impl ClrSession {
    pub(super) fn launch(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let arguments = &env_file::merge(arguments, &mut |line| self.hub.outbox.note(line))?;
        let attributes = Attributes(arguments);
        self.breakpoints.stop_on_entry = attributes.flag("stopOnEntry", false)?;
        self.attributes(arguments)?;
        let request = self.hub.request.clone();
        let give_up = || request.is_abandoned();
        let mut program =
            program::resolve(&attributes, &|event, body| self.hub.outbox.send_event(event, body), &give_up)?;
        if self.options.suppress_optimizations {
            services::compile_everything(&mut program.spec.env);
        }
        if attributes.flag("noDebug", false)? {
            return self.launch_without_debugger(&program, &give_up);
        }
        native_host::refuse_unable(&program.spec)?;
        self.program.debuggee.entry_module.clone_from(&program.assembly);
        // Clients configure while the runtime starts.
        self.hub.outbox.send_event("initialized", Value::Null);
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
        let follow = attributes.flag("followChildren", program.starts_programs)?;
        let following = ChildProcessPolicy::new(follow, arguments, self.program.types.modules.symbol_paths());
        self.watch_children(RootProcess { pid, launched: true }, following);
        child.release()?;
        tracing::debug!(pid, "the program begins");
        let starting = preload(pid);
        let started = hold.wait(START_TIMEOUT, &|| child.exited().is_none() && !give_up());
        starting.is_needed.store(false, Ordering::Relaxed);
        if started != HoldResult::Held {
            let has_runtime = starting.found.load(Ordering::Relaxed);
            let failure = match has_runtime && child.exited().is_none_or(|info| info.code == 0) && !give_up()
            {
                true => {
                    failed("a .NET runtime started in it, but no debugging services of that runtime".into())
                        .hint(
                            "check that it can create files in its TMPDIR, and that no variable \
                            `DOTNET_…` prevents debugging",
                        )
                }
                false => {
                    let failure = self.why_not_started(&child, started, &failed, give_up());
                    match native_host::exec_hint(&program.spec).filter(|_| !give_up()) {
                        Some(hint) => failure.hint(hint),
                        None => failure,
                    }
                }
            };
            discard(&child);
            return Err(failure);
        }
        tracing::debug!(pid, "its runtime is up and held");
        let runtime = only_runtime(pid, self.program.types.modules.symbol_paths());
        let able = runtime.and_then(|runtime| {
            runtime_async::refuse(pid, &runtime, program.assembly.as_deref())?;
            Ok(runtime)
        });
        let runtime = match able {
            Ok(runtime) => runtime,
            Err(failure) => {
                discard(&child);
                return Err(failure);
            }
        };
        let controlled = self.take_control(pid, &runtime, &failed);
        let child = self.program.debuggee.child.insert(child);
        if let Err(failure) = controlled {
            discard(child);
            return Err(failure);
        }
        tracing::debug!(pid, "the debugging library is attached");
        // Its callbacks wait in the inbox until the clients have configured; the runtime may run to the
        // first.
        drop(hold);
        self.program.debuggee.run = RunState::Held;
        self.watch_exit();
        let in_terminal = matches!(program.console, Console::Terminal { .. });
        stack_overflow::watch(&self.program.debuggee.broker, pid, in_terminal, self.hub.outbox.notes());
        self.hub.request.hang_watchdog.watch(pid, runtime, self.hub.outbox.notes());
        self.wait_for_first_callback();
        self.calls.first_calls.start(pid);
        tracing::debug!(pid, "the first callback came");
        let assembly =
            self.program.debuggee.entry_module.as_deref().filter(|assembly| assembly.is_absolute());
        let name = assembly.unwrap_or(&program.spec.program).display().to_string();
        self.hub.outbox.send_process(name, pid, "launch");
        Ok(Value::Null)
    }

    /// Reads the attributes that `launch` and `attach` share.
    fn attributes(&mut self, arguments: &Value) -> Result<(), Failure> {
        attributes::refuse(arguments)?;
        if let Some(complaint) = attributes::complaint(arguments) {
            self.hub.outbox.note(&complaint);
        }
        let mut ignored = Vec::new();
        self.options = SessionOptions::parse(arguments, &mut ignored)?;
        self.sources.retrieval.configure(arguments, &mut ignored)?;
        if !ignored.is_empty() {
            self.hub.outbox.note(&format!(
                "{}: the .NET engine has no such options; they are ignored",
                ignored.join(", ")
            ));
        }
        self.program
            .types
            .modules
            .set_symbol_paths(&arguments["symbolPaths"], self.sources.retrieval.symbol_folders())?;
        self.sources.locator = SourceLocator::parse(arguments, self.sources.retrieval.cache().cloned())?;
        self.compiler = Compiler::parse(arguments, &|name| Attributes(arguments).variable(name))?;
        Ok(())
    }

    /// Waits for the first callback: the debugging library does not survive the program's end before its
    /// handshake is over, which that callback shows.
    fn wait_for_first_callback(&mut self) {
        let deadline = Instant::now() + HANDSHAKE_TIMEOUT;
        while !self.hub.inbox.has_deferred() {
            match self.hub.inbox.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(EngineInput::Callback(callback)) => self.hub.inbox.defer(callback),
                Ok(EngineInput::Exited(info)) => return self.hub.inbox.postpone(EngineInput::Exited(info)),
                Ok(other) => self.hub.inbox.postpone(other),
                Err(_) => return,
            }
        }
    }

    fn why_not_started(
        &self,
        child: &tandem_process::Child,
        started: HoldResult,
        failed: &dyn Fn(String) -> Failure,
        gave_up: bool,
    ) -> Failure {
        if gave_up {
            return Failure::cancelled();
        }
        self.program.debuggee.broker.drain_output();
        let words = self.program.debuggee.broker.stderr_tail(2000);
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
                "the program ran to its end without starting a .NET runtime: it is not a .NET program",
            )
            .hint(
                "the .NET engine debugs .dll files, app hosts, .csproj files and project folders; build a \
                    native program with debug information (`-g`), or set `engine`",
            ),
            (_, Some(info)) => {
                let quoted =
                    if words.is_empty() { String::new() } else { format!("; end of its stderr: {words}") };
                failed(format!("it ended with {} before a .NET runtime started{quoted}", info.code)).hint(
                    "run it without a debugger to see whether it starts, and check that it is a .NET program",
                )
            }
            _ => failed(format!("no .NET runtime started in it within {} s", START_TIMEOUT.as_secs()))
                .hint("check that it is a .NET program"),
        }
    }

    /// Loads the debugging library of the runtime in the process and attaches to it.
    fn take_control(
        &mut self,
        pid: u32,
        runtime: &ClrRuntime,
        failed: &dyn Fn(String) -> Failure,
    ) -> Result<(), Failure> {
        self.program.debuggee.pid = Some(pid);
        let debugger = runtime::create_debugger(pid, runtime).map_err(|error| failed(error.to_string()))?;
        tracing::debug!(pid, "the debugging library is loaded");
        let inbox = self.hub.inbox.sender();
        debugger
            .start(move |callback| {
                // After the session's end the callback does not matter.
                drop(inbox.send(EngineInput::Callback(callback)));
            })
            .map_err(cor("start the debugging library"))?;
        let process = debugger.attach(pid).map_err(|error| {
            if cordebug::liveness::has_ended(pid) {
                return failed(format!("it ended while the debugger attached to it ({error})"))
                    .hint("run it without a debugger to see why it ends");
            }
            failed(error.to_string())
                .hint("detach other debuggers, and check that the debugger can enter the program's TMPDIR")
        })?;
        self.program.types.modules.set_runtime(runtime);
        let executable = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        if let Some(folder) = executable.parent().filter(|_| !executable.ends_with("dotnet")) {
            self.program.types.modules.set_program_folder(folder);
        }
        self.program.debuggee.debugger = Some(debugger);
        self.program.debuggee.process = Some(Rc::new(process));
        Ok(())
    }

    pub(super) fn watch_exit(&self) {
        let Some(child) = &self.program.debuggee.child else { return };
        let (mut exit, inbox) = (child.exit(), self.hub.inbox.sender());
        let watch = move || {
            let ended = futures::executor::block_on(exit.wait_for(Option::is_some)).map(|info| *info);
            if let Ok(Some(info)) = ended {
                drop(inbox.send(EngineInput::Exited(info)));
            }
        };
        if let Err(error) = std::thread::Builder::new().name("exit-watch".into()).spawn(watch) {
            tracing::error!(%error, "the program's end will not be noticed");
        }
    }

    pub(super) fn attach(&mut self, arguments: &Value) -> Result<Value, Failure> {
        self.attributes(arguments)?;
        super::DESCRIPTION.check_attach(arguments)?;
        let named: ProcessAttributes = types::read(arguments);
        let pid = process_name::process_of(arguments)?.or_else(|| named.pid());
        let Some(pid) = pid.and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0) else {
            let given = named.process_id;
            return Err(Failure::invalid(format!("`processId` must be a process id, not {given}")));
        };
        running_process::check(pid.into())?;
        running_process::refuse_hidden(pid.into())?;
        let follow = Attributes(arguments).flag("followChildren", false)?;
        let child: ChildAttachAttributes = types::read(arguments);
        let hold = match child.is_held {
            true => Some(take_hold(pid)?),
            false => None,
        };
        let program = child.program.as_deref();
        let controlled =
            await_runtime(&self.program.types, pid, hold.as_ref(), program).and_then(|runtime| {
                self.take_control(pid, &runtime, &|reason| {
                    Failure::new(
                        ErrorCode::NotDebuggable,
                        format!("cannot attach to process {pid}: {reason}"),
                    )
                })?;
                Ok(runtime)
            });
        let (runtime, was_held) = match (controlled, hold) {
            (Ok(runtime), hold) => (runtime, hold.is_some()),
            (Err(failure), hold) => {
                // The parent session releases it.
                hold.into_iter().for_each(StartupHold::abandon);
                return Err(failure);
            }
        };
        if self.options.suppress_optimizations {
            self.hub.outbox.note(
                "`suppressJITOptimizations` only affects code that is compiled from now on: code that the \
                    process has already compiled, and code compiled ahead of time, stays optimized.",
            );
        }
        self.program.debuggee.broker.set_not_owned();
        self.program.debuggee.run = RunState::Held;
        let version = runtime.version();
        self.hub.request.hang_watchdog.watch(pid, runtime, self.hub.outbox.notes());
        self.wait_for_first_callback();
        if !was_held
            && let Err(failure) = self
                .program
                .debuggee
                .process()
                .and_then(|process| self.exceptions.report_all_exceptions(&process))
        {
            tracing::debug!(%failure, "exceptions are reported as an earlier debugger has requested");
        }
        self.calls.first_calls.start(pid);
        if program.is_none() {
            let following =
                ChildProcessPolicy::new(follow, arguments, self.program.types.modules.symbol_paths());
            self.watch_children(RootProcess { pid, launched: false }, following);
        }
        self.hub.outbox.send_event("initialized", Value::Null);
        let executable = || std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        let name = program.map_or_else(executable, Path::to_path_buf).display().to_string();
        self.hub.outbox.send_process(name, pid, "attach");
        Ok(types::body(&AttachBody { runtime_version: version }))
    }
}

/// The runtime of a process, for an attach, as soon as it is ready. `hold` is on a process
/// that has just started.
fn await_runtime(
    types: &ClrTypeSystem,
    pid: u32,
    hold: Option<&StartupHold>,
    program: Option<&Path>,
) -> Result<ClrRuntime, Failure> {
    if hold.is_none() {
        if !cordebug::startup::wait_until_hung_up(pid, HANG_UP_TIMEOUT) {
            let message = format!("another debugger is attached to process {pid}");
            return Err(Failure::new(ErrorCode::AlreadyAttached, message).hint("detach it first"));
        }
        cordebug::startup::wait_until_ready(pid);
        if let Some(failure) = services::unreachable_because(pid) {
            // Unless it has none.
            return only_runtime(pid, types.modules.symbol_paths()).and(Err(failure));
        }
    }
    let runtime = only_runtime(pid, types.modules.symbol_paths())?;
    runtime_async::refuse(pid, &runtime, program)?;
    Ok(runtime)
}

/// The hold on a child process that the parent session has found, once its runtime is idle.
fn take_hold(pid: u32) -> Result<StartupHold, Failure> {
    let hold = StartupHold::join(pid).map_err(|error| {
        let message = format!("cannot attach to process {pid} at its start: {error}");
        Failure::new(ErrorCode::ProcessNotFound, message)
    })?;
    hold.wait_for_rest();
    Ok(hold)
}

/// State of a runtime that starts.
#[derive(Default)]
struct RuntimeStart {
    /// The start is still wanted.
    is_needed: AtomicBool,
    /// The runtime was found.
    found: AtomicBool,
}

/// Loads the debugging library while the runtime starts; ends when it is no longer wanted.
fn preload(pid: u32) -> Arc<RuntimeStart> {
    let starting = Arc::new(RuntimeStart { is_needed: AtomicBool::new(true), ..RuntimeStart::default() });
    let shared = starting.clone();
    let work = move || {
        let found = runtime::preload(pid, &shared.is_needed);
        shared.found.store(found, Ordering::Relaxed);
    };
    // Without the thread, the launch is only slower.
    drop(std::thread::Builder::new().name("preload".into()).spawn(work));
    starting
}
