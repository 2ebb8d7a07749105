//! The engine's thread: its state, its loop, and the table of commands.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use cordebug::callback::Callback;
use cordebug::debugger::{Debugger, Process};
use cordebug::thread::Thread;
use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::breakpoints::Breakpoints;
use super::calls::left::LeftCalls;
use super::cor;
use super::disassembly::Compiled;
use super::exceptions::{Filters, Thrown, When};
use super::modules::Modules;
use super::sources::Sources;
use super::standstill::{Beginners, Standstill};
use super::stepping::{Step, Target};
use super::threads::Threads;
use super::types::lookup::Known;
use super::values::References;
use crate::engine::{BY_FORCE, EngineEvent, EngineRequest, LOOKS_ONLY, Reply};
use crate::io::{Broker, Child, ExitInfo};

/// How long a pause lets the runtime tell what happened before, and how long it waits for one piece of it.
const SETTLE_LIMIT: Duration = Duration::from_secs(3);
const SETTLE_SLICE: Duration = Duration::from_millis(50);

/// What comes to the engine's thread.
pub(super) enum Input {
    /// A request; dropping `reply` answers "the engine has ended".
    Request { request: EngineRequest, cancel: CancellationToken, reply: Reply },
    /// The runtime tells something.
    Callback(Callback),
    /// The program we started has ended.
    Exited(ExitInfo),
    /// The session is over.
    Shutdown,
}

/// Where the program stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Run {
    /// No program, or not under our control yet.
    None,
    /// Attached, before the clients have configured: callbacks wait.
    Held,
    /// It runs.
    Running,
    /// It stands, and clients know it. The thread the stop is about.
    Stopped { thread: u32 },
    /// It has ended, or was let go.
    Over,
}

/// One debugged program.
pub(super) struct Session {
    pub(super) broker: Broker,
    events: tokio::sync::mpsc::UnboundedSender<EngineEvent>,
    pub(super) inbox: Sender<Input>,
    pub(super) ending: Arc<AtomicBool>,
    /// Of the request that is answered now.
    pub(super) cancel: CancellationToken,
    stopping: Arc<AtomicBool>,
    pub(super) standstill: Arc<Standstill>,
    pub(super) beginners: Beginners,
    /// What a client answered to what this engine asked of it.
    pub(super) answers: Receiver<Result<Value, Failure>>,
    pub(super) run: Run,
    pub(super) child: Option<Child>,
    /// Whether it runs without a debugger.
    pub(super) undebugged: bool,
    /// It has ended, though its end was not told yet: the debugging library must not look at it any more.
    pub(super) dead: bool,
    /// Of the program, launched or attached to.
    pub(super) pid: Option<u32>,
    pub(super) debugger: Option<Debugger>,
    pub(super) process: Option<Rc<Process>>,
    pub(super) modules: Modules,
    pub(super) breakpoints: Breakpoints,
    pub(super) filters: Filters,
    pub(super) references: References,
    pub(super) known: Known,
    /// Methods whose machine code was shown.
    pub(super) compiled: Vec<Rc<Compiled>>,
    pub(super) threads: Threads,
    /// Calls of evaluations that nothing could end.
    pub(super) left: LeftCalls,
    pub(super) step: Option<Step>,
    /// Calls and statements that clients were offered at this stop.
    pub(super) targets: Vec<Target>,
    /// The thread that runs alone until the next stop.
    pub(super) alone: Option<u32>,
    /// Steps into calls leave out accessors and operators.
    pub(super) step_filters: bool,
    /// The request that is answered now may run no code of the program.
    pub(super) looks_only: bool,
    /// Rows may run the `ToString` of what they show.
    pub(super) allow_to_string: bool,
    /// The program's own assembly, for the entry stop.
    pub(super) entry_module: Option<std::path::PathBuf>,
    pub(super) stop_on_entry: bool,
    pub(super) just_my_code: bool,
    /// Callbacks that came while the program was held or stopped; each is answered when it runs again.
    pub(super) deferred: VecDeque<Callback>,
    /// Requests that came while code of the program ran for us.
    pub(super) postponed: VecDeque<Input>,
    /// The thread that throws, at an exception stop.
    pub(super) throwing: Option<(u32, When)>,
    pub(super) thrown: Thrown,
    pub(super) sources: Sources,
}

impl Session {
    pub(super) fn new(
        broker: Broker,
        events: tokio::sync::mpsc::UnboundedSender<EngineEvent>,
        inbox: Sender<Input>,
        [ending, stopping]: [Arc<AtomicBool>; 2],
        standstill: Arc<Standstill>,
        answers: Receiver<Result<Value, Failure>>,
    ) -> Self {
        Self {
            broker,
            events,
            inbox,
            ending,
            cancel: CancellationToken::new(),
            stopping,
            standstill,
            beginners: Beginners::default(),
            answers,
            run: Run::None,
            child: None,
            dead: false,
            undebugged: false,
            pid: None,
            debugger: None,
            process: None,
            modules: Modules::default(),
            breakpoints: Breakpoints::default(),
            filters: Filters::default(),
            references: References::default(),
            known: Known::default(),
            compiled: Vec::new(),
            threads: Threads::default(),
            left: LeftCalls::default(),
            step: None,
            targets: Vec::new(),
            alone: None,
            step_filters: true,
            looks_only: false,
            allow_to_string: false,
            entry_module: None,
            stop_on_entry: false,
            just_my_code: true,
            deferred: VecDeque::new(),
            postponed: VecDeque::new(),
            throwing: None,
            thrown: Thrown::default(),
            sources: Sources::default(),
        }
    }

    /// Takes inputs until the session is over. The program is killed with the child handle, if it still lives.
    pub(super) fn run(mut self, inputs: &Receiver<Input>) {
        loop {
            let input = match self.postponed.pop_front() {
                Some(input) => input,
                None => match inputs.recv() {
                    Ok(input) => input,
                    Err(_) => break,
                },
            };
            // What a request or a callback reads while the program stands is read from it once.
            let stands = matches!(self.run, Run::Stopped { .. }) || matches!(input, Input::Callback(_));
            let _standing = stands.then(cordebug::imports::memory::standing);
            match input {
                Input::Request { request, cancel, reply } => {
                    self.threads.begin(&request.command);
                    self.cancel = cancel.clone();
                    self.standstill.begin(reply);
                    let answer = if cancel.is_cancelled() {
                        Err(Failure::cancelled())
                    } else {
                        if matches!(self.run, Run::Stopped { .. }) {
                            self.pass_beginners(inputs);
                        }
                        let answer = self.answer(&request, &cancel, inputs);
                        answer.map_err(|failure| self.unless_ended(&request.command, failure))
                    };
                    self.standstill.answer(answer);
                }
                Input::Callback(callback) => self.called_back(callback, inputs),
                Input::Exited(info) => self.exited(info),
                Input::Shutdown => break,
            }
        }
        self.standstill.end();
    }

    /// Every command, by name.
    fn answer(
        &mut self,
        request: &EngineRequest,
        cancel: &CancellationToken,
        inputs: &Receiver<Input>,
    ) -> Result<Value, Failure> {
        let arguments = &request.arguments;
        let is_end = matches!(request.command.as_str(), "disconnect" | "terminate");
        if !is_end {
            self.check_run(&request.command)?;
        }
        self.looks_only = arguments[LOOKS_ONLY] == true;
        if self.undebugged && !is_end {
            return self.answer_undebugged(&request.command, arguments);
        }
        match request.command.as_str() {
            "launch" => self.launch(arguments, cancel, inputs),
            "attach" => self.attach(arguments, inputs),
            "configurationDone" => self.configured(inputs),
            "disconnect" => self.disconnect(arguments, inputs),
            "terminate" if arguments[BY_FORCE] == true => self.end_by_force(inputs),
            "terminate" => self.ask_to_end(),
            "setBreakpoints" => self.set_breakpoints(arguments),
            "setFunctionBreakpoints" => self.set_function_breakpoints(arguments),
            "setInstructionBreakpoints" => self.set_instruction_breakpoints(arguments),
            "setExceptionBreakpoints" => self.set_exception_filters(arguments),
            "threads" => self.list_threads(),
            "stackTrace" => self.stack_trace(arguments),
            "scopes" => self.scopes(arguments),
            "variables" => self.variables(arguments, inputs),
            "evaluate" => self.evaluate(arguments, inputs),
            "setVariable" => self.set_variable(arguments, inputs),
            "setExpression" => self.set_expression(arguments, inputs),
            "completions" => self.completions(arguments, inputs),
            "readMemory" => self.read_memory(arguments),
            "disassemble" => self.disassemble(arguments),
            "exceptionInfo" => self.exception_info(arguments),
            "modules" => Ok(self.modules.list(arguments)),
            "loadedSources" => Ok(self.loaded_sources()),
            "source" => self.source(arguments),
            "breakpointLocations" => self.breakpoint_locations(arguments),
            "continue" => self.continue_request(arguments, inputs),
            step @ ("next" | "stepIn" | "stepOut") if self.left.holds(self.thread_of(arguments)?) => {
                self.step_when_call_ends(self.thread_of(arguments)?, step, arguments);
                self.go_on(inputs).map(|()| Value::Null)
            }
            "stepInTargets" => self.step_in_targets(arguments),
            "gotoTargets" => self.goto_targets(arguments),
            "goto" => self.goto(arguments),
            "next" | "stepIn" | "stepOut" => self.step(&request.command, arguments, inputs),
            "pause" => self.pause(arguments, inputs),
            other => {
                Err(Failure::new(ErrorCode::Unsupported, format!("the .NET engine does not offer `{other}`"))
                    .hint("the capabilities say what it offers")
                    .quiet())
            }
        }
    }

    /// Asks something of a client; the answer comes with `answers`.
    pub(super) fn ask_client(&self, command: &str, arguments: Value) {
        // A hub that has ended ends this too.
        drop(self.events.send(EngineEvent::Asks { ask: 1, command: command.into(), arguments }));
    }

    /// Tells the hub something.
    pub(super) fn tell(&self, event: &str, body: Value) {
        // A hub that has ended listens to nothing.
        drop(self.events.send(EngineEvent::Dap { event: event.into(), body }));
    }

    /// A line in the debug console.
    pub(super) fn note(&self, text: &str) {
        self.tell("output", json!({ "category": "console", "output": format!("{text}\n") }));
    }

    /// The same, for another thread.
    pub(super) fn notes(&self) -> impl Fn(&str) + Send + use<> {
        let events = self.events.clone();
        move |text| {
            let body = json!({ "category": "console", "output": format!("{text}\n") });
            drop(events.send(EngineEvent::Dap { event: "output".into(), body }));
        }
    }

    pub(super) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed)
    }

    pub(super) fn process(&self) -> Result<Rc<Process>, Failure> {
        self.process.clone().ok_or_else(|| Failure::new(ErrorCode::NoSession, "there is no program to debug"))
    }

    /// The managed thread with this id, at a stop.
    pub(super) fn thread(&self, id: u32) -> Result<Thread, Failure> {
        if let Some(known) = self.threads.known.borrow().get(&id) {
            return Ok(known.clone());
        }
        let threads = self.process()?.threads().map_err(cor("list the threads"))?;
        let found = threads.into_iter().find(|thread| thread.id() == Ok(id));
        let found = found.ok_or_else(|| Failure::invalid(format!("there is no managed thread {id}")))?;
        self.threads.known.borrow_mut().insert(id, found.clone());
        Ok(found)
    }

    /// `threadId` of a request, else the thread of the stop.
    pub(super) fn thread_of(&self, arguments: &Value) -> Result<u32, Failure> {
        match (&arguments["threadId"], self.run) {
            (Value::Null, Run::Stopped { thread }) => Ok(thread),
            (value, _) => value.as_u64().and_then(|id| u32::try_from(id).ok()).ok_or_else(|| {
                Failure::invalid(format!("`threadId` must be the id of a thread, not {value}"))
            }),
        }
    }

    /// Does something that needs the program to stand, whether it stands or not.
    pub(super) fn while_standing<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if self.run != Run::Running {
            return work(self);
        }
        let process = self.process()?;
        self.stand(&process).map_err(cor("stop the program for a moment"))?;
        let done = work(self);
        process.resume().map_err(cor("let the program go on"))?;
        done
    }

    /// Stops the program wherever it is. .NET Core 3.1 cannot stop a thread that never leaves managed code: then this
    /// waits until it does, or until the program ends.
    pub(super) fn stand(&self, process: &Process) -> cordebug::Result<()> {
        self.stopping.store(true, Ordering::Relaxed);
        let stopped = process.stop();
        self.stopping.store(false, Ordering::Relaxed);
        stopped
    }

    /// Stops the program behind what the runtime already had to tell: after attaching, all its modules and threads.
    /// Says whether it is this stop that holds; else one of those callbacks stopped it.
    fn stand_settled(&mut self, process: &Process, inputs: &Receiver<Input>) -> Result<bool, Failure> {
        let deadline = Instant::now() + SETTLE_LIMIT;
        loop {
            self.stand(process).map_err(cor("pause the program"))?;
            let told = inputs.try_recv().ok();
            let more = told.is_some() || process.has_queued_callbacks() == Ok(true);
            if !more || Instant::now() > deadline {
                self.postponed.extend(told);
                return Ok(true);
            }
            process.resume().map_err(cor("let the program go on"))?;
            match told.or_else(|| inputs.recv_timeout(SETTLE_SLICE).ok()) {
                Some(Input::Callback(callback)) => self.called_back(callback, inputs),
                other => self.postponed.extend(other),
            }
            if self.run != Run::Running {
                return Ok(false);
            }
        }
    }

    /// Lets the program run: first from the stop clients know of, then through what happened meanwhile.
    pub(super) fn go_on(&mut self, inputs: &Receiver<Input>) -> Result<(), Failure> {
        self.forget_stop();
        self.throwing = None;
        self.run = Run::Running;
        self.process()?.resume().map_err(cor("let the program go on"))?;
        self.catch_up(inputs);
        Ok(())
    }

    /// What clients were given at this stop is stale.
    pub(super) fn forget_stop(&mut self) {
        self.references.clear();
        self.targets.clear();
        self.modules.forget_dynamic();
    }

    /// Handles deferred callbacks until one stops the program again.
    pub(super) fn catch_up(&mut self, inputs: &Receiver<Input>) {
        while self.run == Run::Running
            && let Some(callback) = self.deferred.pop_front()
        {
            self.called_back(callback, inputs);
        }
    }

    fn configured(&mut self, inputs: &Receiver<Input>) -> Result<Value, Failure> {
        if self.run == Run::Held {
            self.run = Run::Running;
            self.catch_up(inputs);
        }
        Ok(Value::Null)
    }

    fn pause(&mut self, arguments: &Value, inputs: &Receiver<Input>) -> Result<Value, Failure> {
        if self.run != Run::Running {
            return Err(Failure::new(ErrorCode::NotRunning, "the program does not run").quiet());
        }
        let process = self.process()?;
        if !self.stand_settled(&process, inputs)? {
            return Ok(Value::Null);
        }
        let threads = process.threads().map_err(cor("list the threads"))?;
        let wanted = arguments["threadId"].as_u64().and_then(|id| u32::try_from(id).ok());
        let ids: Vec<u32> = threads.iter().filter_map(|thread| thread.id().ok()).collect();
        // The thread that was asked for, else one that has user code on its stack, else any.
        let thread = wanted
            .filter(|id| ids.contains(id))
            .or_else(|| {
                threads.iter().find(|thread| self.has_user_code(thread)).and_then(|thread| thread.id().ok())
            })
            .or(ids.first().copied())
            .unwrap_or(0);
        self.stopped("pause", thread, json!({}));
        Ok(Value::Null)
    }

    /// The program stands now, and clients are told.
    pub(super) fn stopped(&mut self, reason: &str, thread: u32, more: Value) {
        self.run = Run::Stopped { thread };
        tracing::debug!(reason, thread, "the program stands");
        self.left.forget_step();
        self.give_up_step();
        let mut body = json!({ "reason": reason, "threadId": thread, "allThreadsStopped": true });
        if let (Some(body), Some(more)) = (body.as_object_mut(), more.as_object()) {
            body.extend(more.clone());
        }
        self.tell("stopped", body);
    }
}
