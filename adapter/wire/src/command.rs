//! The table of requests of DAP and Tandem. Each fact that the hub, the engines or the bridge need about a
//! request is a column here; no other code lists commands.
//!
//! A request that is not in the table belongs to a debug adapter ([`find`] returns `None`). It reaches the
//! engine unchanged, needs a program, and is refused to clients with look-only access. Not here: what a
//! request does (the hub's dispatch, each engine's) and the types of its arguments and body
//! ([`crate::types`]).

use crate::ids::IdKind;

/// The row of a request in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandSpec {
    /// The `command` of the DAP request.
    pub name: &'static str,
    /// The part of Tandem that executes the request.
    pub recipient: Recipient,
    /// The state of the program that it needs; it is refused in another state.
    pub needs: RequiredState,
    /// Whether a client with look-only access (`agentAccess: readOnly`) may send the request.
    pub look_only: LookOnly,
    /// How a client learns that the request is supported.
    pub announced: Announcement,
    /// How it changes the execution of the program.
    pub execution: Execution,
    /// The other state that it changes, which other clients show.
    pub changes: ChangedState,
    /// The list in the response body whose items have an `id` of the debug adapter.
    pub listed_ids: Option<(&'static str, IdKind)>,
    /// The location of values in the response body; some fields of values need a capability of the client.
    pub values: BodyValues,
    /// Whether a user starts the request and must act on its failure (DAP `showUser`). An editor sends
    /// all others by itself.
    pub started_by_user: bool,
    /// Whether the request has an expression that a user typed.
    pub typed: bool,
    /// The arguments that it must have, separated by spaces.
    required: &'static str,
}

/// The part of Tandem that executes a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipient {
    /// The hub, which may send other requests to the engine.
    Hub,
    /// The engine, to which the hub passes the request.
    Engine,
    /// One client, which receives a reverse request.
    Client,
}

/// The state of the program that a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequiredState {
    /// The request needs no program.
    Nothing,
    /// The request needs a program that has not ended.
    Program,
    /// It needs a stopped program.
    Stop,
}

/// Whether a client with look-only access may send a request. Such a client may read state, but may not run
/// code of the program or change anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookOnly {
    /// The client may send this, and so may an agent without any access, because it belongs to the handshake.
    Handshake,
    /// The client may send this.
    Always,
    /// The client may send this if, by its profile, the engine runs no code of the program for it.
    AskProfile,
    /// The engine's binder decides, by the expression. An engine without a binder refuses.
    AskBinder,
    /// The client may not send this.
    Never,
}

/// How a client learns that a request is supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Announcement {
    /// Every debug adapter supports it.
    Mandatory,
    /// This capability announces the request.
    By(&'static str),
    /// No capability announces it: an adapter supports it if it returns the ids that it accepts, or it
    /// is a request of Tandem.
    Unannounced,
}

/// How a request changes the execution of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Execution {
    /// The request does not change it.
    Unchanged,
    /// The program runs until something stops it.
    Continue,
    /// One thread makes a step.
    Step,
    /// One thread continues at another location when it next runs.
    Move,
    /// The request stops the program.
    Pause,
}

/// The part of the debug session that a request changes, besides the execution of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangedState {
    /// The request changes nothing else.
    Nothing,
    /// All breakpoints of one scope.
    Breakpoints,
    /// A value that this argument names.
    Value(&'static str),
    /// Values, depending on the expression and its `context`.
    Evaluation,
    /// Memory of the program.
    Memory,
}

/// The location of values in a response body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyValues {
    /// The body has no values.
    None,
    /// The body itself is a value.
    Body,
    /// The items of this list are values.
    Items(&'static str),
    /// The items of this list only count values.
    Counts(&'static str),
}

impl CommandSpec {
    const fn new(
        name: &'static str,
        recipient: Recipient,
        needs: RequiredState,
        look_only: LookOnly,
    ) -> Self {
        Self {
            name,
            recipient,
            needs,
            look_only,
            announced: Announcement::Unannounced,
            execution: Execution::Unchanged,
            changes: ChangedState::Nothing,
            listed_ids: None,
            values: BodyValues::None,
            started_by_user: false,
            typed: false,
            required: "",
        }
    }

    const fn mandatory(mut self) -> Self {
        self.announced = Announcement::Mandatory;
        self
    }

    const fn by(mut self, capability: &'static str) -> Self {
        self.announced = Announcement::By(capability);
        self
    }

    const fn runs(mut self, execution: Execution) -> Self {
        self.execution = execution;
        self
    }

    const fn changes(mut self, changes: ChangedState) -> Self {
        self.changes = changes;
        self
    }

    const fn lists(mut self, list: &'static str, ids: IdKind) -> Self {
        self.listed_ids = Some((list, ids));
        self
    }

    const fn values(mut self, values: BodyValues) -> Self {
        self.values = values;
        self
    }

    const fn user(mut self) -> Self {
        self.started_by_user = true;
        self
    }

    const fn typed(mut self) -> Self {
        self.typed = true;
        self
    }

    const fn requires(mut self, arguments: &'static str) -> Self {
        self.required = arguments;
        self
    }

    /// The capability that announces the request, if any.
    pub fn capability(&self) -> Option<&'static str> {
        match self.announced {
            Announcement::By(capability) => Some(capability),
            Announcement::Mandatory | Announcement::Unannounced => None,
        }
    }

    /// The arguments that the request must have: an absent one would be read as 0 or as an empty string, and
    /// some adapters crash without it. The other required arguments of the schema have a default, such as the
    /// stopped thread, or the code that reads them refuses the request.
    pub fn required(&self) -> impl Iterator<Item = &'static str> {
        self.required.split_ascii_whitespace()
    }

    /// Whether the request resumes the program, or makes a thread continue at another location.
    pub fn resumes(&self) -> bool {
        matches!(self.execution, Execution::Continue | Execution::Step | Execution::Move)
    }
}

use BodyValues::{Body, Counts, Items};
use ChangedState::{Breakpoints, Evaluation, Memory, Value};
use Execution::{Continue, Move, Pause, Step};
use LookOnly::{Always, AskBinder, AskProfile, Handshake, Never};
use Recipient::{Client, Engine, Hub};
use RequiredState::{Nothing, Program, Stop};

const fn row(
    name: &'static str,
    recipient: Recipient,
    needs: RequiredState,
    look_only: LookOnly,
) -> CommandSpec {
    CommandSpec::new(name, recipient, needs, look_only)
}

/// Every request of DAP 1.71 and of Tandem, by name.
#[rustfmt::skip]
pub static COMMANDS: [CommandSpec; 53] = [
    row("attach",                    Hub,    Nothing, Handshake).mandatory().user(),
    row("breakpointLocations",       Engine, Program, AskProfile).by("supportsBreakpointLocationsRequest"),
    row("cancel",                    Hub,    Nothing, Handshake).by("supportsCancelRequest"),
    row("completions",               Engine, Stop,    AskProfile).by("supportsCompletionsRequest").typed()
        .requires("text column"),
    row("configurationDone",         Hub,    Nothing,
        Handshake).by("supportsConfigurationDoneRequest").user(),
    row("continue",                  Engine, Stop,    Never).mandatory().runs(Continue).user(),
    row("dataBreakpointInfo",        Engine, Stop,    Never).by("supportsDataBreakpoints"),
    row("disassemble",               Engine, Program, AskProfile).by("supportsDisassembleRequest")
        .requires("memoryReference instructionCount"),
    row("disconnect",                Hub,    Nothing, Handshake).mandatory().user(),
    row("evaluate",                  Engine, Stop,
        AskBinder).mandatory().typed().changes(Evaluation).values(Body),
    row("exceptionInfo",             Engine, Stop,    AskProfile).by("supportsExceptionInfoRequest"),
    row("followCall",                Hub,    Stop,    Never).user(),
    row("goto",                      Engine, Stop,
        Never).by("supportsGotoTargetsRequest").runs(Move).user(),
    row("gotoTargets",               Engine, Stop,
        Never).by("supportsGotoTargetsRequest").lists("targets", IdKind::Target),
    row("initialize",                Hub,    Nothing, Handshake).mandatory(),
    row("launch",                    Hub,    Nothing, Never).mandatory().user(),
    row("loadedSources",             Engine, Program, AskProfile).by("supportsLoadedSourcesRequest"),
    row("locations",                 Engine, Program, AskProfile).requires("locationReference"),
    row("modules",                   Engine, Program, AskProfile).by("supportsModulesRequest"),
    row("next",                      Engine, Stop,    Never).mandatory().runs(Step).user(),
    row("pause",                     Engine, Program, Never).mandatory().runs(Pause).user(),
    row("processReadInput",          Hub,    Nothing, Never),
    row("processReadOutput",         Hub,    Nothing, Always),
    row("processResizeTerminal",     Hub,    Nothing, Never),
    row("processWriteInput",         Hub,    Nothing, Never),
    row("readMemory",                Engine, Program, AskProfile).by("supportsReadMemoryRequest")
        .requires("memoryReference count"),
    row("restart",                   Hub,    Program, Never).by("supportsRestartRequest").user(),
    row("restartFrame",              Engine, Stop,    Never).by("supportsRestartFrame").runs(Move).user()
        .requires("frameId"),
    row("reverseContinue",           Engine, Stop,    Never).by("supportsStepBack").runs(Continue).user(),
    row("runInTerminal",             Client, Nothing, Never).by("supportsRunInTerminalRequest"),
    row("scopes",                    Engine, Stop,    AskProfile).mandatory().values(Counts("scopes"))
        .requires("frameId"),
    row("sessionControl",            Hub,    Nothing, Never),
    row("sessionInfo",               Hub,    Nothing, Handshake),
    row("setBreakpoints",            Engine, Nothing, Never).mandatory().changes(Breakpoints),
    row("setDataBreakpoints",        Engine, Nothing,
        Never).by("supportsDataBreakpoints").changes(Breakpoints),
    row("setExceptionBreakpoints",   Engine, Nothing, Never).mandatory().changes(Breakpoints),
    row("setExpression",             Engine, Stop,    Never).by("supportsSetExpression").typed()
        .changes(Value("expression")).values(Body),
    row("setFunctionBreakpoints",    Engine, Nothing,
        Never).by("supportsFunctionBreakpoints").changes(Breakpoints),
    row("setInstructionBreakpoints", Engine, Nothing,
        Never).by("supportsInstructionBreakpoints").changes(Breakpoints),
    row("setSourceLinkOptions",      Engine, Program, Never),
    row("setVariable",               Engine, Stop,    Never).by("supportsSetVariable").typed()
        .changes(Value("name")).values(Body).requires("variablesReference name value"),
    row("source",                    Engine, Program, AskProfile).mandatory(),
    row("stackTrace",                Engine, Stop,    AskProfile).mandatory().lists("stackFrames",
        IdKind::Frame),
    row("startDebugging",            Client, Nothing, Never).by("supportsStartDebuggingRequest"),
    row("stepBack",                  Engine, Stop,    Never).by("supportsStepBack").runs(Step).user(),
    row("stepIn",                    Engine, Stop,    Never).mandatory().runs(Step).user(),
    row("stepInTargets",             Engine, Stop,
        Never).by("supportsStepInTargetsRequest").lists("targets", IdKind::Target).requires("frameId"),
    row("stepOut",                   Engine, Stop,    Never).mandatory().runs(Step).user(),
    row("terminate",                 Hub,    Program, Never).by("supportsTerminateRequest").user(),
    row("terminateThreads",          Engine, Program, Never).by("supportsTerminateThreadsRequest").user(),
    row("threads",                   Engine, Program, AskProfile).mandatory(),
    row("variables",                 Engine, Stop,    AskProfile).mandatory().values(Items("variables"))
        .requires("variablesReference"),
    row("writeMemory",               Engine, Program, Never).by("supportsWriteMemoryRequest").changes(Memory),
];

/// The row of a command; `None` for a command of a debug adapter.
pub fn find(name: &str) -> Option<&'static CommandSpec> {
    let at = COMMANDS.binary_search_by(|row| row.name.cmp(name)).ok()?;
    COMMANDS.get(at)
}

/// The state of the program that a command needs. A command of a debug adapter needs a program.
pub fn needs(name: &str) -> RequiredState {
    find(name).map_or(RequiredState::Program, |row| row.needs)
}

/// Whether a command is only possible while the program is stopped.
pub fn needs_stop(name: &str) -> bool {
    needs(name) == RequiredState::Stop
}

/// Whether a command replaces all breakpoints of one scope.
pub fn sets_breakpoints(name: &str) -> bool {
    find(name).is_some_and(|row| row.changes == ChangedState::Breakpoints)
}

/// How a command changes the execution of the program.
pub fn execution(name: &str) -> Execution {
    find(name).map_or(Execution::Unchanged, |row| row.execution)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_a_command_is_found() {
        assert!(COMMANDS.is_sorted_by(|one, next| one.name < next.name));
        for row in &COMMANDS {
            assert_eq!(find(row.name), Some(row));
        }
        assert_eq!(find("compileUnits"), None);
        assert_eq!(needs("compileUnits"), RequiredState::Program);
    }

    /// `changes`, `execution` and the agents' column cannot contradict each other.
    #[test]
    fn changing_requests_are_never_open_to_look_only_clients() {
        for row in &COMMANDS {
            let acts = row.execution != Execution::Unchanged || row.changes != ChangedState::Nothing;
            let depends = row.changes == ChangedState::Evaluation && row.look_only == LookOnly::AskBinder;
            assert!(!acts || depends || row.look_only == LookOnly::Never, "{}", row.name);
        }
    }
}
