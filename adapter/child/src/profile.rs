//! The interface to a child adapter: how to find, start and configure it, and how it differs from DAP. Files
//! in [`super::registry`] implement it, mostly as data; [`super::session`] acts on it.

mod conditions;
mod console;

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{Breakpoint, DapVariable, StoppedEventBody};

pub(super) use self::conditions::ConditionProfile;
pub(super) use self::console::ConsoleProfile;
pub(super) use super::differences::{AttachCorrection, ExpressionAssignment, IdlePause, KeptValue};
use super::launch_plan::LaunchPlan;
use super::target::Target;
use super::test_files::{self, Runner};
use super::{build, find};
use tandem_engine::builds::{self, EventSink};
use tandem_engine::description::Description;
use tandem_engine::result_names::ResultNames;
use tandem_engine::{ExceptionFilter, LookOnlyRequests, StartedEngine, kind};

/// Interface of a child adapter, apart from its conditions; the defaults describe one that follows DAP.
pub(super) trait Profile: ConditionProfile {
    /// Metadata of the adapter, known without starting it.
    fn description(&self) -> &'static Description;

    /// The launch attribute `engine`.
    fn name(&self) -> &str {
        self.description().name
    }

    /// The exception filters that the adapters of today announce.
    fn exception_filters(&self) -> &'static [ExceptionFilter] {
        &[]
    }

    /// The attach attributes for a debugger that listens at this host and port (`connect`), for an adapter
    /// that does not read `connect`.
    fn connect_attributes(&self, _host: &str, _port: &Value) -> Option<Value> {
        None
    }

    /// Requests that run no code of the program, apart from those about the stop itself.
    fn look_only_requests(&self) -> LookOnlyRequests {
        LookOnlyRequests::Unknown
    }

    /// The forms of the names by which it shows what calls have returned, and of rows that tell a user
    /// nothing.
    fn result_names(&self) -> ResultNames {
        ResultNames::default()
    }

    /// The facts the hub needs. No child adapter keeps several breakpoints on one line.
    fn started(&self) -> StartedEngine {
        StartedEngine {
            name: self.name().to_owned(),
            several_per_line: false,
            look_only: self.look_only_requests(),
            conditions: self.condition_language(),
            results: self.result_names(),
            fetches_sources: false,
        }
    }

    /// Whether its programs must be compiled: then packages and sources are built first.
    fn builds(&self, _target: &Target) -> bool {
        false
    }

    /// Whether it sends `initialized` when it can be configured, as DAP requires, however long that takes.
    fn sends_initialized(&self) -> bool {
        true
    }

    /// Whether it sends `process`, at least in some versions, or whether clients must not see the
    /// program at its very beginning: Delve shows no stack before the first goroutine, and bash-dap
    /// loses an early pause.
    fn reports_process(&self) -> bool {
        true
    }

    /// Plans a launch. May read files and run short commands: the caller may block.
    ///
    /// # Errors
    /// `ENGINE_NOT_FOUND` with the locations that were searched and how to install it,
    /// `INVALID_PARAMETER`, `LAUNCH_FAILED`.
    fn launch(&self, target: &Target) -> Result<LaunchPlan, Failure>;

    /// The version of the adapter that a launch would start; `None` when it does not report one. May run a
    /// short command: the caller may block.
    fn version(&self, target: &Target) -> Option<String> {
        let adapter = self.launch(target).ok()?.spec.program;
        let mut query = Command::new(adapter);
        query.arg("--version");
        find::printed_version(query)
    }

    /// The adapter's requests beyond DAP, if any other request crashes it; `None` if the
    /// adapter may get any request.
    fn own_requests(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// The unknown request that this line of the adapter's stderr names, for an adapter that never
    /// answers unknown requests.
    fn unknown_request_in<'line>(&self, _line: &'line str) -> Option<&'line str> {
        None
    }

    /// Whether it numbers breakpoints from the start again once it debugs the program, so that new ones get
    /// the ids of earlier ones.
    fn renumbers_breakpoints(&self) -> bool {
        false
    }

    /// Whether it makes up an answer to `exceptionInfo` for a thread that no exception stopped.
    fn invents_exceptions(&self) -> bool {
        false
    }

    /// Whether the adapter survives a data breakpoint with this `dataId`, which only the adapter can parse.
    fn accepts_data_id(&self, _id: &str) -> bool {
        true
    }

    /// The expression that names in any frame what this one names in the global scope, for an adapter that
    /// finds data in frames only.
    fn global_expression(&self, _expression: &str) -> Option<String> {
        None
    }

    /// Whether the elements of a value of this type are copies, so that an assignment to one changes nothing.
    fn copies_elements_of(&self, _kind: &str) -> bool {
        false
    }

    /// The commands of the adapter's console, for an adapter that lacks requests.
    fn console(&self) -> Option<&dyn ConsoleProfile> {
        None
    }

    /// The test runner for a program that is a test source, which does not run by itself.
    fn runner_of_tests(&self, _target: &Target) -> Option<Runner> {
        None
    }

    /// As [`Profile::launch`], after building the program if necessary. `tell` gets the build's events.
    ///
    /// # Errors
    /// As [`Profile::launch`], and `BUILD_FAILED` with `data.diagnostics`.
    fn launch_built(
        &self,
        target: &Target,
        tell: EventSink<'_>,
        give_up: &dyn Fn() -> bool,
    ) -> Result<LaunchPlan, Failure> {
        let target = &test_files::with_runner(target, self.runner_of_tests(target), tell);
        if self.builds(target) {
            let target = build::build_target(target.clone(), tell, give_up)?;
            let program = target.existing_program().ok().filter(|_| self.is_native());
            if let Some(line) = program.and_then(|path| kind::remark_on_native_dotnet(path, self.name())) {
                builds::print_line(tell, &line);
            }
            self.launch(&target)
        } else {
            self.launch(target)
        }
    }

    /// The program's exit code, if the adapter reports it in this console output.
    fn exit_code_in(&self, _output: &str) -> Option<i64> {
        None
    }

    /// Whether the adapter's `terminate` lets the program end by itself; most adapters kill the program.
    fn ends_gently(&self, _arguments: &Value) -> bool {
        false
    }

    /// Whether the debugger is code in the program's language, so that signal handlers also interrupt it.
    fn is_in_the_program(&self) -> bool {
        false
    }

    /// Whether it loses a program that executes another one (`exec`).
    fn loses_replaced_programs(&self) -> bool {
        self.is_in_the_program()
    }

    /// Whether `exited` only reports that the program will execute another one.
    fn reports_exec(&self, _exited: &Value) -> bool {
        false
    }

    /// The correction of the debugger in an attached program, if its capabilities show that it needs one. If
    /// breakpoints need it, the debugger also stops the program when a client connects, and reports that stop
    /// several times.
    fn correction(&self, _capabilities: &Value) -> Option<AttachCorrection> {
        None
    }

    /// The reason why it cannot step the thread `thread`, for an adapter that keeps a step which a
    /// breakpoint in another thread has interrupted, here that of the thread `stepping`. A `continue`
    /// resumes the kept step.
    fn refusal_of_step(&self, _thread: i64, _stepping: i64) -> Option<Failure> {
        None
    }

    /// An expression for the version of the program's language, for an adapter that may crash when it assigns
    /// the string that this expression evaluates to, in a program of a newer version than its own.
    fn version_of_language(&self, _value: &str) -> Option<&'static str> {
        None
    }

    /// The reason why an adapter of the first version cannot assign a string in a program of the second.
    fn refusal_of_string(&self, _adapter: &str, _program: &str) -> Option<Failure> {
        None
    }

    /// The reason why it cannot evaluate an expression, for an adapter that would answer as if it had.
    fn refusal_of_evaluation(&self, _expression: &str) -> Option<Failure> {
        None
    }

    /// Rewrites a failure of the adapter that says nothing to users.
    fn explain_failure(&self, failure: Failure) -> Failure {
        failure
    }

    /// A value to assign, for an adapter that does not report why a value cannot be evaluated.
    fn kept_value(&self, _value: &str) -> Option<KeptValue> {
        None
    }

    /// Whether an adapter that assigns only literals gets the value of this expression instead.
    fn assigns_value_of(&self, _expression: &str) -> bool {
        false
    }

    /// The way to assign to an expression, for an adapter that does not offer `setExpression`.
    fn expression_assignment(&self) -> Option<ExpressionAssignment> {
        None
    }

    /// An expression for the number of the signal that ended the program, for an adapter that
    /// reports only exit codes.
    fn signal_expression(&self) -> Option<&'static str> {
        None
    }

    /// Requests that prepare the adapter, such as its own to stop where a condition fails; sent before it
    /// gets breakpoints.
    fn settings(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// Whether it debugs machine code: its values have addresses, and the sources of its frames may
    /// be on another machine.
    fn is_native(&self) -> bool {
        false
    }

    /// Whether a stop may be at a signal, which each adapter describes differently.
    fn reports_signals(&self) -> bool {
        self.is_native()
    }

    /// Whether a stop at a panic may come without the panic's message.
    fn loses_panics(&self) -> bool {
        false
    }

    /// The function that every Rust panic calls, spelled for this adapter; for one that debugs Rust.
    fn panic_function(&self) -> Option<&'static str> {
        None
    }

    /// Whether the value of an object shows its parts.
    fn summarizes(&self) -> bool {
        true
    }

    /// An expression, evaluated once in a frame of the program, that makes the debugger inside it show the
    /// fields of objects without a text.
    fn summaries(&self) -> Option<String> {
        None
    }

    /// Corrects a `stopped` event; `pausing`: a client has requested a pause.
    fn correct_stop(&self, _stop: &mut StoppedEventBody, _pausing: bool) {}

    /// The statement of the language at which this `stopped` event reports a stop, if the adapter may report
    /// an unrequested stop so.
    fn statement_of_stop(&self, _stop: &StoppedEventBody) -> Option<&'static str> {
        None
    }

    /// Why the adapter's breakpoints no longer stop after this stop.
    fn breakpoint_loss(&self, _stop: &StoppedEventBody) -> Option<&'static str> {
        None
    }

    /// Whether programs have helpers ([`Profile::is_helper`]).
    fn has_helpers(&self) -> bool {
        false
    }

    /// Whether a process with these arguments ends by itself after the program, and cleans up after it.
    fn is_helper(&self, _words: &[String]) -> bool {
        false
    }

    /// Removes files that a launched program may have left behind because it was killed.
    fn clean_up_after(&self, _program: u32) {}

    /// Label of a process that the program has started, from its command line, for users.
    fn name_of_child(&self, words: &[String], _parent: &Path) -> Option<String> {
        let name = Path::new(words.first()?).file_name()?.to_string_lossy().into_owned();
        (!name.is_empty()).then_some(name)
    }

    /// Changes a request to the form that this adapter understands.
    fn adapt_request(&self, _command: &str, _arguments: &mut Value) {}

    /// Corrects the answers to breakpoints on `lines` of a source of this machine. May read the source.
    fn correct_breakpoints(&self, _source: &Path, _lines: &[i64], _breakpoints: &mut [Breakpoint]) {}

    /// Changes an answer, or the body of an event, that clients would misunderstand.
    fn adapt_incoming(&self, _what: &str, _body: &mut Value) {}

    /// The failure that an answer means, for an adapter that answers with success.
    fn failure_in_answer(&self, _command: &str, _answer: &Value) -> Option<Failure> {
        None
    }

    /// Adds capabilities that the adapter does not announce, and removes those that clients must not use.
    fn complete_capabilities(&self, _capabilities: &mut Value) {}

    /// Its behaviour on a `pause` of a program that runs none of its code.
    fn idle_pause(&self) -> IdlePause {
        IdlePause::Stops
    }

    /// Whether the adapter sends the program small TCP segments that wait for acknowledgements.
    fn has_slow_connections(&self) -> bool {
        false
    }

    /// Whether the adapter answers a pause while the program is about to run, and then does not stop it.
    fn misses_pauses(&self) -> bool {
        false
    }

    /// Whether it may report a stop once more, as a pause, while the program is still stopped.
    fn repeats_stops(&self) -> bool {
        false
    }

    /// Whether its `disassemble` finds no instructions before an address.
    fn disassembles_forward_only(&self) -> bool {
        false
    }

    /// Whether a value that announces elements (`indexedVariables`) may also have other children.
    fn mixes_children(&self) -> bool {
        true
    }

    /// Whether `variables` without a filter leaves out the elements that a value has announced.
    fn hides_elements(&self) -> bool {
        false
    }

    /// The index of the row that represents further elements among the children of a value.
    fn further_elements(&self, _rows: &[DapVariable]) -> Option<usize> {
        None
    }

    /// Plans an attach to a running process, usually by `processId`.
    ///
    /// # Errors
    /// As [`Profile::launch`]; `UNSUPPORTED` if the adapter cannot attach.
    fn attach(&self, target: &Target) -> Result<LaunchPlan, Failure> {
        Err(find::unsupported(self.name(), target, "attach to a running process"))
    }
}
