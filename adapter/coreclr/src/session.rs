//! The engine's thread: its state, its loop, and the table of commands. Not here: the work of a command (the
//! modules that the table calls), and callbacks ([`super::callbacks`]).

use std::time::{Duration, Instant};

use cordebug::debugger::Process;
use serde_json::Value;
use tandem_wire::types::{self, StoppedEventBody, ThreadRequestArguments};
use tandem_wire::{ErrorCode, Failure};

use super::active_step::Stepping;
use super::breakpoints::{BreakpointList, Breakpoints};
use super::children::{ChildProcessPolicy, Children, RootProcess};
use super::compiler::Compiler;
use super::cor;
use super::debuggee::{ClrDebuggee, RunState};
use super::disassembly::Disassembly;
use super::exceptions::Exceptions;
use super::func_eval::FuncEval;
use super::hub_link::HubLink;
use super::inbox::EngineInput;
use super::inspected_program::InspectedProgram;
use super::options::SessionOptions;
use super::sources::Sources;
use super::stop_context::StopContext;
use tandem_engine::{EngineAnswer, EngineRequest, TerminateMode};

/// How long a pause waits for callbacks that the runtime has already queued, and for one of them.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(3);
const CALLBACK_TIMEOUT: Duration = Duration::from_millis(50);
/// How long a pause waits for a thread whose stack can be walked, and how long the program runs in between.
const WALKABLE_TIMEOUT: Duration = Duration::from_millis(250);
const WALKABLE_INTERVAL: Duration = Duration::from_millis(3);

/// One debugged program.
pub(super) struct ClrSession {
    pub(super) options: SessionOptions,
    pub(super) program: InspectedProgram,
    pub(super) hub: HubLink,
    pub(super) calls: FuncEval,
    pub(super) breakpoints: Breakpoints,
    pub(super) exceptions: Exceptions,
    pub(super) disassembly: Disassembly,
    pub(super) stepping: Stepping,
    pub(super) sources: Sources,
    /// Compiler for expressions that Tandem does not evaluate itself.
    pub(super) compiler: Compiler,
    pub(super) children: Children,
}

impl ClrSession {
    pub(super) fn new(debuggee: ClrDebuggee, hub: HubLink) -> Self {
        let sources = Sources::new(hub.inbox.sender());
        Self {
            options: SessionOptions::default(),
            program: InspectedProgram::new(debuggee),
            hub,
            calls: FuncEval::default(),
            breakpoints: Breakpoints::default(),
            exceptions: Exceptions::default(),
            disassembly: Disassembly::default(),
            stepping: Stepping::default(),
            sources,
            compiler: Compiler::default(),
            children: Children::default(),
        }
    }

    /// Handles inputs until the session has ended. The program is killed with the child handle
    /// if it is still running.
    pub(super) fn run(mut self) {
        while let Some(input) = self.hub.inbox.next() {
            // Memory that a request or a callback reads while the program is stopped is read once.
            let is_stopped = matches!(self.program.debuggee.run, RunState::Stopped { .. })
                || matches!(input, EngineInput::Callback(_));
            let _assumed = is_stopped.then(cordebug::imports::memory::assume_stopped);
            match input {
                EngineInput::Request { request, cancel, reply } => {
                    self.program.debuggee.threads.begin(request.command());
                    self.hub.request.begin(cancel, reply);
                    let result = if self.hub.request.is_cancelled() {
                        Err(Failure::cancelled())
                    } else {
                        if matches!(self.program.debuggee.run, RunState::Stopped { .. }) {
                            self.pass_first_calls();
                        }
                        let result = self.handle_request(&request);
                        result
                            .map_err(|failure| self.program.debuggee.unless_ended(request.command(), failure))
                    };
                    self.hub.request.reply(result);
                    self.end_request();
                }
                EngineInput::Callback(callback) => self.on_callback(callback),
                EngineInput::Exited(info) => self.exited(info),
                EngineInput::Retrieved(what) => self.on_retrieved(*what),
                EngineInput::ChildrenEnded => self.children_ended(),
                EngineInput::Shutdown => break,
            }
        }
        self.hub.request.hang_watchdog.end();
    }

    /// Drops the limits of a request, which do not apply to callbacks after it: a condition runs code even if
    /// the last request was cancelled, or came from a client that may only look.
    fn end_request(&mut self) {
        self.hub.request.end();
        self.calls.is_look_only = false;
    }

    /// Carries out a request of the hub. It takes several breakpoints on one line, so no conditions are
    /// joined.
    fn handle_request(&mut self, request: &EngineRequest) -> Result<EngineAnswer, Failure> {
        match request {
            EngineRequest::Terminate(TerminateMode::Force) => {
                return self.end_by_force().map(EngineAnswer::from);
            }
            EngineRequest::Terminate(TerminateMode::Ask { .. }) => {
                return self.ask_to_end().map(|()| EngineAnswer::SignalPending);
            }
            EngineRequest::LookOnly { .. } => self.calls.is_look_only = true,
            EngineRequest::Dap { .. } | EngineRequest::MergedBreakpoints { .. } => {}
        }
        self.children.record_breakpoints(request.command(), request.arguments_for_children());
        self.handle_command(request.command(), request.arguments()).map(EngineAnswer::from)
    }

    /// Dispatches a command by its name.
    fn handle_command(&mut self, command: &str, arguments: &Value) -> Result<Value, Failure> {
        if command == "disconnect" {
            return self.disconnect(arguments);
        }
        self.program.debuggee.check_run(command)?;
        if self.program.debuggee.no_debug {
            return self.handle_without_debugger(command, arguments);
        }
        match command {
            "launch" => self.launch(arguments),
            "attach" => self.attach(arguments),
            "configurationDone" => self.configured(),
            "setBreakpoints" | "setFunctionBreakpoints" | "setInstructionBreakpoints" => {
                self.set_breakpoints(command, arguments)
            }
            "setExceptionBreakpoints" => self.set_exception_filters(arguments),
            "threads" => self.list_threads(),
            "stackTrace" => self.stack_trace(arguments),
            "scopes" => self.program.values.scopes(arguments),
            "variables" => self.variables(arguments),
            "evaluate" => self.evaluate(arguments),
            "setVariable" => self.set_variable(arguments),
            "setExpression" => self.set_expression(arguments),
            "completions" => self.completions(arguments),
            "readMemory" => self.program.debuggee.read_memory(arguments),
            "disassemble" => self.disassembly.disassemble(
                &self.program.debuggee,
                &self.program.types,
                &self.sources,
                arguments,
            ),
            "exceptionInfo" => self.exceptions.exception_info(
                &self.program.debuggee,
                &self.program.types,
                &self.sources,
                arguments,
            ),
            "modules" => Ok(self.program.types.modules.list(arguments)),
            "loadedSources" => Ok(self.sources.loaded_sources(&self.program.types)),
            "source" => self.source(arguments),
            "setSourceLinkOptions" => self.set_source_link_options(arguments),
            "breakpointLocations" => {
                self.sources.locator.breakpoint_locations(&self.program.types, arguments)
            }
            "continue" => self.continue_request(arguments),
            step @ ("next" | "stepIn" | "stepOut")
                if self.calls.stuck.holds(self.program.debuggee.thread_of(arguments)?) =>
            {
                let thread = self.program.debuggee.thread_of(arguments)?;
                self.calls.stuck.step_when_call_ends(&self.hub.outbox, thread, step, arguments);
                self.resume().map(|()| Value::Null)
            }
            "stepInTargets" => self.step_in_targets(arguments),
            "gotoTargets" => self.stepping.goto_targets(
                &self.program.debuggee,
                &self.program.types,
                &self.sources.locator,
                arguments,
            ),
            "goto" => self.goto(arguments),
            "next" | "stepIn" | "stepOut" => self.step(command, arguments),
            "pause" => self.pause(arguments),
            other => {
                Err(Failure::new(ErrorCode::Unsupported, format!("the .NET engine does not offer `{other}`"))
                    .hint("see its capabilities")
                    .quiet())
            }
        }
    }

    /// Debugs or reports the child processes of this process from now on.
    pub(super) fn watch_children(&mut self, root: RootProcess, following: ChildProcessPolicy) {
        self.children.watch(
            root,
            following,
            &self.program.debuggee.broker,
            self.hub.outbox.sender(),
            self.hub.inbox.sender(),
        );
    }

    /// Read access to the stopped program.
    pub(super) fn at_stop(&self) -> StopContext<'_> {
        StopContext::new(&self.program)
    }

    /// Does something that needs a stopped program, and stops it for that if necessary.
    pub(super) fn while_stopped<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if self.program.debuggee.run != RunState::Running {
            return work(self);
        }
        let process = self.program.debuggee.process()?;
        self.program.debuggee.stop(&process).map_err(cor("stop the program for a moment"))?;
        let done = work(self);
        process.resume().map_err(cor("resume the program"))?;
        done
    }

    /// Stops the program after the callbacks that were already queued: after attaching, those of all its
    /// modules and threads. Returns whether the program is at this stop; otherwise one of those
    /// callbacks stopped it.
    fn stop_settled(&mut self, process: &Process) -> Result<bool, Failure> {
        let deadline = Instant::now() + SETTLE_TIMEOUT;
        loop {
            self.program.debuggee.stop(process).map_err(cor("pause the program"))?;
            let next = self.hub.inbox.try_recv();
            let more = next.is_some() || process.has_queued_callbacks() == Ok(true);
            if !more || Instant::now() > deadline {
                next.into_iter().for_each(|next| self.hub.inbox.postpone(next));
                return Ok(true);
            }
            if !self.run_to_callback(process, next, CALLBACK_TIMEOUT)? {
                return Ok(false);
            }
        }
    }

    /// Resumes the program until the next callback, which `next` may already be, and handles it. Returns
    /// whether the program still runs.
    fn run_to_callback(
        &mut self,
        process: &Process,
        next: Option<EngineInput>,
        timeout: Duration,
    ) -> Result<bool, Failure> {
        process.resume().map_err(cor("resume the program"))?;
        match next.or_else(|| self.hub.inbox.recv_timeout(timeout).ok()) {
            Some(EngineInput::Callback(callback)) => self.on_callback(callback),
            other => other.into_iter().for_each(|other| self.hub.inbox.postpone(other)),
        }
        Ok(self.program.debuggee.run == RunState::Running)
    }

    /// Resumes the program: first from the stop that clients know, then through the callbacks that
    /// came in the meantime.
    pub(super) fn resume(&mut self) -> Result<(), Failure> {
        self.forget_stop();
        self.exceptions.forget_stop();
        self.program.debuggee.threads.forget_exception();
        self.program.debuggee.run = RunState::Running;
        self.program.debuggee.process()?.resume().map_err(cor("resume the program"))?;
        self.catch_up();
        Ok(())
    }

    /// Drops everything that clients received at this stop, which is stale.
    pub(super) fn forget_stop(&mut self) {
        self.program.values.references.clear();
        self.stepping.forget_targets();
        self.program.types.modules.forget_dynamic();
    }

    /// Handles deferred callbacks until one stops the program again.
    pub(super) fn catch_up(&mut self) {
        while self.program.debuggee.run == RunState::Running
            && let Some(callback) = self.hub.inbox.take_deferred()
        {
            self.on_callback(callback);
        }
    }

    fn set_breakpoints(&mut self, command: &str, arguments: &Value) -> Result<Value, Failure> {
        let scope = BreakpointList::of(command, arguments, &self.program.types, &self.sources.locator)?;
        let requests = arguments["breakpoints"].as_array().map(Vec::as_slice).unwrap_or_default();
        self.while_stopped(|session| {
            let Self { breakpoints, program, sources, .. } = session;
            let types = &program.types;
            Ok(match scope {
                BreakpointList::Instructions => breakpoints.set_at_instructions(
                    &mut session.disassembly,
                    &program.debuggee,
                    types,
                    &sources.locator,
                    requests,
                ),
                scope => {
                    breakpoints.set_in_modules(types, &sources.locator, &session.options, scope, requests)
                }
            })
        })
    }

    fn configured(&mut self) -> Result<Value, Failure> {
        if self.program.debuggee.run == RunState::Held {
            self.program.debuggee.run = RunState::Running;
            self.catch_up();
        }
        Ok(Value::Null)
    }

    fn pause(&mut self, arguments: &Value) -> Result<Value, Failure> {
        if self.program.debuggee.run != RunState::Running {
            return Err(Failure::new(ErrorCode::NotRunning, "the program is not running").quiet());
        }
        let process = self.program.debuggee.process()?;
        let ThreadRequestArguments { thread_id } = types::read(arguments);
        let requested = thread_id.and_then(|id| u32::try_from(id).ok());
        let deadline = Instant::now() + WALKABLE_TIMEOUT;
        let thread = loop {
            if !self.stop_settled(&process)? {
                return Ok(Value::Null);
            }
            let (thread, has_frames) = self.thread_to_show(&process, requested)?;
            if has_frames || Instant::now() > deadline {
                break thread;
            }
            // A thread whose breakpoint the runtime is about to report has no stack that can be walked, and
            // cannot step.
            if !self.run_to_callback(&process, None, WALKABLE_INTERVAL)? {
                return Ok(Value::Null);
            }
        };
        self.report_stop(thread, StoppedEventBody::because("pause"));
        Ok(Value::Null)
    }

    /// The thread that a pause shows, and whether it has managed frames: the requested thread, otherwise one
    /// with user code on its stack, otherwise any. The entry point that a build generates for tests waits for
    /// the thread that runs them.
    fn thread_to_show(&self, process: &Process, requested: Option<u32>) -> Result<(u32, bool), Failure> {
        let threads = process.threads().map_err(cor("list the threads"))?;
        let modules = &self.program.types.modules;
        let with_code = |is_written| threads.iter().find(|thread| modules.has_user_code(thread, is_written));
        let shown = requested
            .and_then(|id| threads.iter().find(|thread| thread.id() == Ok(id)))
            .or_else(|| with_code(true))
            .or_else(|| with_code(false))
            .or(threads.first());
        let has_frames = shown.is_none_or(|thread| thread.frames(1).is_ok_and(|frames| !frames.is_empty()));
        Ok((shown.and_then(|thread| thread.id().ok()).unwrap_or(0), has_frames))
    }

    /// The program has stopped: notifies clients. The stop gets its thread here.
    pub(super) fn report_stop(&mut self, thread: u32, stop: StoppedEventBody) {
        self.program.debuggee.run = RunState::Stopped { thread };
        tracing::debug!(reason = stop.reason, thread, "the program has stopped");
        self.calls.stuck.forget_step();
        self.stepping.give_up(self.program.debuggee.process.as_deref());
        let (thread_id, all_threads_stopped) = (Some(i64::from(thread)), Some(true));
        self.hub.outbox.send(&StoppedEventBody { thread_id, all_threads_stopped, ..stop });
        self.decompile_top_frame(thread);
    }
}
