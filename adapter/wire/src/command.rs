//! The table of requests: DAP's and Tandem's own. Whatever the hub, the engines or the bridge must know of a
//! request by its name is a column here; nothing else lists commands.
//!
//! A request that is not in the table is a debug adapter's own ([`find`] returns `None`): it reaches the
//! engine untouched, needs a program, and is refused to clients with look-only access. Not here: what a
//! request does (the hub's dispatch, each engine's) and the types of its arguments and body
//! ([`crate::types`]).

use crate::ids::IdKind;

/// Facts about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandSpec {
    /// The DAP `command`.
    pub name: &'static str,
    /// The part of Tandem that carries it out.
    pub recipient: Recipient,
    /// The state of the program without which it is refused.
    pub needs: RequiredState,
    /// Whether a client with look-only access (`agentAccess: readOnly`) may send it.
    pub look_only: LookOnly,
    /// How a client learns that it is supported.
    pub announced: Announced,
    /// How it changes the execution of the program.
    pub execution: Execution,
    /// What else it changes, for other clients to see.
    pub changes: Changes,
    /// The list in its body whose items have an `id` of the debug adapter.
    pub listed_ids: Option<(&'static str, IdKind)>,
    /// Where its body has values, with fields that only some clients support.
    pub values: BodyValues,
    /// A user starts it and must act on its failure (DAP `showUser`); an editor sends everything else by
    /// itself.
    pub started_by_user: bool,
    /// It carries an expression that a user typed.
    pub typed: bool,
    /// The argument without which it means nothing, where some adapters crash.
    pub required: Option<&'static str>,
}

/// Who carries out a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipient {
    /// The hub, with requests of its own to the engine.
    Hub,
    /// It needs an engine.
    Engine,
    /// One client: a reverse request.
    Client,
}

/// The state of the program that a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequiredState {
    /// The request needs no program.
    Nothing,
    /// A program that has not ended.
    Program,
    /// It needs a stopped program.
    Stop,
}

/// Whether a client with look-only access may use a request: it may look, but run no code of the program and
/// change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookOnly {
    /// It may send this, as may an agent without any access: it belongs to the handshake.
    Handshake,
    /// The client may send this.
    Always,
    /// It may send this where the engine's profile says that the engine runs no code of the program for it.
    AskProfile,
    /// It depends on the expression: the engine's binder decides. An engine without one refuses.
    AskBinder,
    /// It may not send this.
    Never,
}

/// How a client learns that a request is supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Announced {
    /// Every debug adapter supports it.
    Mandatory,
    /// Announced by this capability.
    By(&'static str),
    /// Not at all: an adapter supports it that hands out the ids it takes, or it is Tandem's own.
    Unannounced,
}

/// How a request changes the execution of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Execution {
    /// The request does not change it.
    Unchanged,
    /// The program runs until something stops it.
    Continue,
    /// One thread takes a step.
    Step,
    /// One thread continues elsewhere when it next runs.
    Move,
    /// It stops the program.
    Pause,
}

/// The part of the debug session that a request changes, besides the execution of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changes {
    /// The request changes nothing else.
    Nothing,
    /// All breakpoints of one scope.
    Breakpoints,
    /// A value that this argument names.
    Value(&'static str),
    /// Perhaps values: it depends on the expression and its `context`.
    Evaluation,
    /// Memory of the program.
    Memory,
}

/// Where a body has values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyValues {
    /// The body has no values.
    None,
    /// The body is a value.
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
            announced: Announced::Unannounced,
            execution: Execution::Unchanged,
            changes: Changes::Nothing,
            listed_ids: None,
            values: BodyValues::None,
            started_by_user: false,
            typed: false,
            required: None,
        }
    }

    const fn mandatory(mut self) -> Self {
        self.announced = Announced::Mandatory;
        self
    }

    const fn by(mut self, capability: &'static str) -> Self {
        self.announced = Announced::By(capability);
        self
    }

    const fn runs(mut self, execution: Execution) -> Self {
        self.execution = execution;
        self
    }

    const fn changes(mut self, changes: Changes) -> Self {
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

    const fn requires(mut self, argument: &'static str) -> Self {
        self.required = Some(argument);
        self
    }

    /// The capability that announces it, if one does.
    pub fn capability(&self) -> Option<&'static str> {
        match self.announced {
            Announced::By(capability) => Some(capability),
            Announced::Mandatory | Announced::Unannounced => None,
        }
    }

    /// Whether the program runs after it, or one of its threads continues elsewhere.
    pub fn resumes(&self) -> bool {
        matches!(self.execution, Execution::Continue | Execution::Step | Execution::Move)
    }
}

use BodyValues::{Body, Counts, Items};
use Changes::{Breakpoints, Evaluation, Memory, Value};
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
pub static COMMANDS: [CommandSpec; 52] = [
    row("attach",                    Hub,    Nothing, Handshake).mandatory().user(),
    row("breakpointLocations",       Engine, Program, AskProfile).by("supportsBreakpointLocationsRequest"),
    row("cancel",                    Hub,    Nothing, Handshake).by("supportsCancelRequest"),
    row("completions",               Engine, Stop,    AskProfile).by("supportsCompletionsRequest").typed(),
    row("configurationDone",         Hub,    Nothing,
        Handshake).by("supportsConfigurationDoneRequest").user(),
    row("continue",                  Engine, Stop,    Never).mandatory().runs(Continue).user(),
    row("dataBreakpointInfo",        Engine, Stop,    Never).by("supportsDataBreakpoints"),
    row("disassemble",               Engine, Program, AskProfile).by("supportsDisassembleRequest"),
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
    row("processWriteInput",         Hub,    Nothing, Never),
    row("readMemory",                Engine, Program, AskProfile).by("supportsReadMemoryRequest"),
    row("restart",                   Hub,    Program, Never).by("supportsRestartRequest").user(),
    row("restartFrame",              Engine, Stop,    Never).by("supportsRestartFrame").runs(Move).user(),
    row("reverseContinue",           Engine, Stop,    Never).by("supportsStepBack").runs(Continue).user(),
    row("runInTerminal",             Client, Nothing, Never).by("supportsRunInTerminalRequest"),
    row("scopes",                    Engine, Stop,    AskProfile).mandatory().values(Counts("scopes")),
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
        .changes(Value("name")).values(Body),
    row("source",                    Engine, Program, AskProfile).mandatory(),
    row("stackTrace",                Engine, Stop,    AskProfile).mandatory().lists("stackFrames",
        IdKind::Frame),
    row("startDebugging",            Client, Nothing, Never).by("supportsStartDebuggingRequest"),
    row("stepBack",                  Engine, Stop,    Never).by("supportsStepBack").runs(Step).user(),
    row("stepIn",                    Engine, Stop,    Never).mandatory().runs(Step).user(),
    row("stepInTargets",             Engine, Stop,
        Never).by("supportsStepInTargetsRequest").lists("targets", IdKind::Target),
    row("stepOut",                   Engine, Stop,    Never).mandatory().runs(Step).user(),
    row("terminate",                 Hub,    Program, Never).by("supportsTerminateRequest").user(),
    row("terminateThreads",          Engine, Program, Never).by("supportsTerminateThreadsRequest").user(),
    row("threads",                   Engine, Program, AskProfile).mandatory(),
    row("variables",                 Engine, Stop,    AskProfile).mandatory().values(Items("variables")),
    row("writeMemory",               Engine, Program, Never).by("supportsWriteMemoryRequest").changes(Memory),
];

/// The row of a command; `None` for a debug adapter's own.
pub fn find(name: &str) -> Option<&'static CommandSpec> {
    let at = COMMANDS.binary_search_by(|row| row.name.cmp(name)).ok()?;
    COMMANDS.get(at)
}

/// The state of the program that a command needs; an adapter's own command needs a program.
pub fn needs(name: &str) -> RequiredState {
    find(name).map_or(RequiredState::Program, |row| row.needs)
}

/// Whether a command means something only while the program is stopped.
pub fn needs_stop(name: &str) -> bool {
    needs(name) == RequiredState::Stop
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
            let acts = row.execution != Execution::Unchanged || row.changes != Changes::Nothing;
            let depends = row.changes == Changes::Evaluation && row.look_only == LookOnly::AskBinder;
            assert!(!acts || depends || row.look_only == LookOnly::Never, "{}", row.name);
        }
    }
}
