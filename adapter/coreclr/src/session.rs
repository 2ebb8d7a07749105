//! The engine's thread: its state, its loop, and the table of commands. Not here: the work of a command (the
//! modules that the table calls), and callbacks ([`super::callbacks`]).

use std::time::{Duration, Instant};

use cordebug::debugger::Process;
use dap_wire::types::StoppedEventBody;
use dap_wire::{ErrorCode, Failure};
use serde_json::Value;

use super::active_step::Stepping;
use super::breakpoints::{BreakpointList, Breakpoints};
use super::children::{ChildProcessPolicy, Children, RootProcess};
use super::compiler::Compiler;
use super::cor;
use super::current_request::CurrentRequest;
use super::debuggee::{ClrDebuggee, RunState};
use super::disassembly::Disassembly;
use super::exceptions::Exceptions;
use super::func_eval::FuncEval;
use super::inbox::{EngineInbox, EngineInput};
use super::options::SessionOptions;
use super::outbox::Outbox;
use super::sources::Sources;
use super::stop_context::StopContext;
use super::types::ClrTypeSystem;
use super::value_store::ValueStore;
use tandem_engine::{EngineAnswer, EngineRequest, TerminateMode};

/// How long a pause waits for callbacks that the runtime has already queued, and for one of them.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(3);
const CALLBACK_TIMEOUT: Duration = Duration::from_millis(50);

/// One debugged program.
pub(super) struct ClrSession {
    pub(super) options: SessionOptions,
    pub(super) debuggee: ClrDebuggee,
    pub(super) inbox: EngineInbox,
    pub(super) outbox: Outbox,
    pub(super) request: CurrentRequest,
    pub(super) calls: FuncEval,
    pub(super) types: ClrTypeSystem,
    pub(super) breakpoints: Breakpoints,
    pub(super) exceptions: Exceptions,
    pub(super) values: ValueStore,
    pub(super) disassembly: Disassembly,
    pub(super) stepping: Stepping,
    pub(super) sources: Sources,
    /// Compiler for expressions that Tandem does not evaluate itself.
    pub(super) compiler: Compiler,
    pub(super) children: Children,
}

impl ClrSession {
    pub(super) fn new(
        debuggee: ClrDebuggee,
        inbox: EngineInbox,
        outbox: Outbox,
        request: CurrentRequest,
    ) -> Self {
        let sources = Sources::new(inbox.sender());
        Self {
            options: SessionOptions::default(),
            debuggee,
            inbox,
            outbox,
            request,
            calls: FuncEval::default(),
            types: ClrTypeSystem::default(),
            breakpoints: Breakpoints::default(),
            exceptions: Exceptions::default(),
            values: ValueStore::default(),
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
        while let Some(input) = self.inbox.next() {
            // Memory that a request or a callback reads while the program is stopped is read once.
            let is_stopped = matches!(self.debuggee.run, RunState::Stopped { .. })
                || matches!(input, EngineInput::Callback(_));
            let _assumed = is_stopped.then(cordebug::imports::memory::assume_stopped);
            match input {
                EngineInput::Request { request, cancel, reply } => {
                    self.debuggee.threads.begin(request.command());
                    self.request.begin(cancel, reply);
                    let result = if self.request.is_cancelled() {
                        Err(Failure::cancelled())
                    } else {
                        if matches!(self.debuggee.run, RunState::Stopped { .. }) {
                            self.pass_first_calls();
                        }
                        let result = self.handle_request(&request);
                        result.map_err(|failure| self.debuggee.unless_ended(request.command(), failure))
                    };
                    self.request.reply(result);
                    self.end_request();
                }
                EngineInput::Callback(callback) => self.on_callback(callback),
                EngineInput::Exited(info) => self.exited(info),
                EngineInput::Retrieved(what) => self.on_retrieved(*what),
                EngineInput::ChildrenEnded => self.children_ended(),
                EngineInput::Shutdown => break,
            }
        }
        self.request.hang_watchdog.end();
    }

    /// Drops the limits of a request, which do not apply to callbacks after it: a condition runs code even if
    /// the last request was cancelled, or came from a client that may only look.
    fn end_request(&mut self) {
        self.request.end();
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
        self.debuggee.check_run(command)?;
        if self.debuggee.no_debug {
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
            "scopes" => self.values.scopes(arguments),
            "variables" => self.variables(arguments),
            "evaluate" => self.evaluate(arguments),
            "setVariable" => self.set_variable(arguments),
            "setExpression" => self.set_expression(arguments),
            "completions" => self.completions(arguments),
            "readMemory" => self.debuggee.read_memory(arguments),
            "disassemble" => {
                self.disassembly.disassemble(&self.debuggee, &self.types, &self.sources, arguments)
            }
            "exceptionInfo" => {
                self.exceptions.exception_info(&self.debuggee, &self.types, &self.sources, arguments)
            }
            "modules" => Ok(self.types.modules.list(arguments)),
            "loadedSources" => Ok(self.sources.loaded_sources(&self.types)),
            "source" => self.source(arguments),
            "setSourceLinkOptions" => self.set_source_link_options(arguments),
            "breakpointLocations" => self.sources.locator.breakpoint_locations(&self.types, arguments),
            "continue" => self.continue_request(arguments),
            step @ ("next" | "stepIn" | "stepOut")
                if self.calls.stuck.holds(self.debuggee.thread_of(arguments)?) =>
            {
                let thread = self.debuggee.thread_of(arguments)?;
                self.calls.stuck.step_when_call_ends(&self.outbox, thread, step, arguments);
                self.resume().map(|()| Value::Null)
            }
            "stepInTargets" => self.step_in_targets(arguments),
            "gotoTargets" => {
                self.stepping.goto_targets(&self.debuggee, &self.types, &self.sources.locator, arguments)
            }
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
            &self.debuggee.broker,
            self.outbox.sender(),
            self.inbox.sender(),
        );
    }

    /// Read access to the stopped program.
    pub(super) fn at_stop(&self) -> StopContext<'_> {
        StopContext::new(&self.debuggee, &self.types, &self.values)
    }

    /// Does something that needs a stopped program, and stops it for that if necessary.
    pub(super) fn while_stopped<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if self.debuggee.run != RunState::Running {
            return work(self);
        }
        let process = self.debuggee.process()?;
        self.debuggee.stop(&process).map_err(cor("stop the program for a moment"))?;
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
            self.debuggee.stop(process).map_err(cor("pause the program"))?;
            let next = self.inbox.try_recv();
            let more = next.is_some() || process.has_queued_callbacks() == Ok(true);
            if !more || Instant::now() > deadline {
                next.into_iter().for_each(|next| self.inbox.postpone(next));
                return Ok(true);
            }
            process.resume().map_err(cor("resume the program"))?;
            match next.or_else(|| self.inbox.recv_timeout(CALLBACK_TIMEOUT).ok()) {
                Some(EngineInput::Callback(callback)) => self.on_callback(callback),
                other => other.into_iter().for_each(|other| self.inbox.postpone(other)),
            }
            if self.debuggee.run != RunState::Running {
                return Ok(false);
            }
        }
    }

    /// Resumes the program: first from the stop that clients know, then through the callbacks that
    /// came in the meantime.
    pub(super) fn resume(&mut self) -> Result<(), Failure> {
        self.forget_stop();
        self.exceptions.forget_stop();
        self.debuggee.threads.forget_exception();
        self.debuggee.run = RunState::Running;
        self.debuggee.process()?.resume().map_err(cor("resume the program"))?;
        self.catch_up();
        Ok(())
    }

    /// Drops everything that clients received at this stop, which is stale.
    pub(super) fn forget_stop(&mut self) {
        self.values.references.clear();
        self.stepping.forget_targets();
        self.types.modules.forget_dynamic();
    }

    /// Handles deferred callbacks until one stops the program again.
    pub(super) fn catch_up(&mut self) {
        while self.debuggee.run == RunState::Running
            && let Some(callback) = self.inbox.take_deferred()
        {
            self.on_callback(callback);
        }
    }

    fn set_breakpoints(&mut self, command: &str, arguments: &Value) -> Result<Value, Failure> {
        let scope = BreakpointList::of(command, arguments, &self.types, &self.sources.locator)?;
        let requests = arguments["breakpoints"].as_array().map(Vec::as_slice).unwrap_or_default();
        self.while_stopped(|session| {
            let Self { breakpoints, types, sources, .. } = session;
            Ok(match scope {
                BreakpointList::Instructions => breakpoints.set_at_instructions(
                    &mut session.disassembly,
                    &session.debuggee,
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
        if self.debuggee.run == RunState::Held {
            self.debuggee.run = RunState::Running;
            self.catch_up();
        }
        Ok(Value::Null)
    }

    fn pause(&mut self, arguments: &Value) -> Result<Value, Failure> {
        if self.debuggee.run != RunState::Running {
            return Err(Failure::new(ErrorCode::NotRunning, "the program is not running").quiet());
        }
        let process = self.debuggee.process()?;
        if !self.stop_settled(&process)? {
            return Ok(Value::Null);
        }
        let threads = process.threads().map_err(cor("list the threads"))?;
        let requested = arguments["threadId"].as_u64().and_then(|id| u32::try_from(id).ok());
        let ids: Vec<u32> = threads.iter().filter_map(|thread| thread.id().ok()).collect();
        // The requested thread, otherwise one with user code on its stack, otherwise any.
        let thread = requested
            .filter(|id| ids.contains(id))
            .or_else(|| {
                threads
                    .iter()
                    .find(|thread| self.types.modules.has_user_code(thread))
                    .and_then(|thread| thread.id().ok())
            })
            .or(ids.first().copied())
            .unwrap_or(0);
        self.report_stop(thread, StoppedEventBody::because("pause"));
        Ok(Value::Null)
    }

    /// The program has stopped: notifies clients. The stop gets its thread here.
    pub(super) fn report_stop(&mut self, thread: u32, stop: StoppedEventBody) {
        self.debuggee.run = RunState::Stopped { thread };
        tracing::debug!(reason = stop.reason, thread, "the program has stopped");
        self.calls.stuck.forget_step();
        self.stepping.give_up(self.debuggee.process.as_deref());
        let (thread_id, all_threads_stopped) = (Some(i64::from(thread)), Some(true));
        self.outbox.send(&StoppedEventBody { thread_id, all_threads_stopped, ..stop });
        self.decompile_top_frame(thread);
    }
}
