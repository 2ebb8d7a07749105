//! Breakpoints of this agent, by line, by the text of a line or by function, and exception filters.
//!
//! Not here: the lists that DAP gets ([`crate::session::breakpoints`]), traces ([`super::trace`]).

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::types::{self, SessionInfoArguments, SetExceptionBreakpointsArguments};
use tandem_wire::{ErrorCode, Failure};

use super::answer;
use super::other_breakpoints::{OtherBreakpoint, others};
use crate::arguments::schema::{ArgumentSchema, NoArguments};
use crate::breakpoint_body::{BreakpointBody, RequestedLine};
use crate::breakpoint_requests::{
    AgentBreakpoint, BreakpointArguments, BreakpointRequests, FUNCTIONS, PlaceArguments, Purpose,
    RequestedBreakpoint,
};
use crate::call::ToolCall;
use crate::session::AgentSession;
use crate::session::breakpoints::locate_text;
use crate::snapshot::ProgramState;
use crate::source::SourceText;
use crate::tool::{AnswerField, StopUse, Tool, ToolEffect, ToolGroup, run};

/// Note on breakpoints that are set without a program.
const DEFERRED_NOTE: &str = "kept for the next debug_launch, debug_restart or debug_attach";

/// Tools that decide where and why the program stops.
pub const GROUP: ToolGroup = ToolGroup {
    name: "breakpoints",
    tools: &[
        Tool {
            name: "debug_set_breakpoint",
            core: true,
            effect: ToolEffect::Mutating,
            stop: StopUse::Inspects,
            description: "Set a breakpoint, also before launch, by line, or by its text, which survives \
                edits.",
            input: || ArgumentSchema::of::<BreakpointArguments>().describe("text", "of the line"),
            output: &[
                AnswerField::integer("id"),
                AnswerField::integer("line"),
                AnswerField::flag("verified"),
            ],
            run: run!(set),
        },
        Tool {
            name: "debug_remove_breakpoint",
            core: true,
            effect: ToolEffect::Idempotent,
            stop: StopUse::Inspects,
            description: "Remove one of your breakpoints, or all.",
            input: ArgumentSchema::of::<RemoveArguments>,
            output: &[AnswerField::integer("id")],
            run: run!(remove),
        },
        Tool {
            name: "debug_list_breakpoints",
            core: false,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Inspects,
            description: "Your breakpoints and exception filters, and others' breakpoints.",
            input: ArgumentSchema::of::<NoArguments>,
            output: &[
                AnswerField::list("breakpoints"),
                AnswerField::list("exceptions"),
                AnswerField::list("others"),
            ],
            run: run!(list),
        },
        Tool {
            name: "debug_set_function_breakpoint",
            core: false,
            effect: ToolEffect::Mutating,
            stop: StopUse::Inspects,
            description: "Stop where a function begins, named like Name or Type.Name.",
            input: ArgumentSchema::of::<FunctionArguments>,
            output: &[
                AnswerField::integer("id"),
                AnswerField::integer("line"),
                AnswerField::flag("verified"),
            ],
            run: run!(set_function),
        },
        Tool {
            name: "debug_set_exception_breakpoints",
            core: true,
            effect: ToolEffect::Idempotent,
            stop: StopUse::Inspects,
            description: "Choose which exceptions stop the program, also before launch.",
            input: ArgumentSchema::of::<FilterArguments>,
            output: &[AnswerField::list("filters")],
            run: run!(set_exception),
        },
    ],
};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RemoveArguments {
    breakpoint_id: Option<u64>,
    #[serde(default)]
    all: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-unlisted" = ["logMessage", "dllPath"]))]
struct FunctionArguments {
    function: String,
    condition: Option<String>,
    hit_condition: Option<String>,
    log_message: Option<String>,
    dll_path: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct FilterArguments {
    // An empty list means that no exception stops the program.
    #[schemars(
        description = ".NET: all, userUnhandled, unhandled; Python: raised, uncaught",
        length(min = 0)
    )]
    filters: Vec<String>,
}

/// The answer of `debug_set_breakpoint`.
#[derive(Serialize)]
struct SetAnswer {
    #[serde(flatten)]
    breakpoint: Option<BreakpointBody>,
    /// Arguments that this engine does not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    ignored: Option<[&'static str; 1]>,
}

/// The answer of `debug_remove_breakpoint` about one breakpoint.
#[derive(Serialize)]
struct RemovedBreakpoint {
    id: u64,
}

/// The answer of `debug_remove_breakpoint` about all of them.
#[derive(Serialize)]
struct RemovedBreakpoints {
    removed: usize,
}

/// The answer of `debug_list_breakpoints`.
#[derive(Serialize)]
struct ListedBreakpoints {
    breakpoints: Vec<BreakpointBody>,
    exceptions: Option<Vec<String>>,
    others: Vec<OtherBreakpoint>,
}

/// The answer of `debug_set_exception_breakpoints`.
#[derive(Serialize)]
struct ChosenFilters {
    filters: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
}

/// The session that has the breakpoints: those of a program hold in every program that it starts.
async fn owner(call: &ToolCall) -> Result<Arc<AgentSession>, Failure> {
    let session = call.session().await?;
    Ok(session.relation.root.clone().unwrap_or(session))
}

async fn set(call: &ToolCall, arguments: BreakpointArguments) -> Result<Value, Failure> {
    let id = call.bridge.next_breakpoint();
    if call.is_before_a_launch() {
        let request = RequestedBreakpoint::read(&locate_text(&arguments, &call.bridge.options.roots)?)?;
        let location = location_of(&request);
        let breakpoint = call.bridge.with_early_requests(|early| {
            early.requested.add(request, id, Purpose::Stop);
            early.requested.find(id).map(|(_, breakpoint)| breakpoint.clone())
        });
        let kept = DEFERRED_NOTE;
        let message = if location.0 == FUNCTIONS || Path::new(&location.0).exists() {
            kept.to_owned()
        } else {
            format!(
                "{kept}; there is no file `{}` here: if the breakpoint does not bind, pass the full path",
                location.0
            )
        };
        let mut breakpoint = describe(&location, breakpoint.as_ref());
        if let Some(body) = &mut breakpoint {
            body.message = Some(message);
        }
        return answer(&SetAnswer { breakpoint, ignored: None });
    }
    let session = owner(call).await?;
    let mut request = session.request(&arguments, &call.bridge.options.roots).await?;
    let ignored = forget_assembly(&session, &mut request);
    let location = location_of(&request);
    session.with_requested(|requested| requested.add(request, id, Purpose::Stop));
    if let Err(failure) = session.send_breakpoints(&location.0).await {
        session.with_requested(|requested| requested.take(id));
        return Err(failure);
    }
    let mut breakpoint = describe(&location, find(&session, id).as_ref());
    if let Some(body) = &mut breakpoint {
        explain(body, &location.0);
        session.name_files(body);
    }
    answer(&SetAnswer { breakpoint, ignored: ignored.then_some(["dllPath"]) })
}

/// Removes `dllPath` for engines other than .NET, which have no assemblies. Returns whether it was set.
fn forget_assembly(session: &AgentSession, request: &mut RequestedBreakpoint) -> bool {
    session.engine != "coreclr" && request.dap.module_path.take().is_some()
}

/// The file and line of a request.
fn location_of(request: &RequestedBreakpoint) -> (String, Option<u64>) {
    (request.file.clone(), request.dap.line.and_then(|line| u64::try_from(line).ok()))
}

fn find(session: &AgentSession, id: u64) -> Option<AgentBreakpoint> {
    session.with_requested(|requested| requested.find(id).map(|(_, breakpoint)| breakpoint.clone()))
}

/// A breakpoint with the source line where it bound. If it bound at another line, or did not bind, the
/// lines around it are included.
fn describe(
    (file, requested_line): &(String, Option<u64>),
    breakpoint: Option<&AgentBreakpoint>,
) -> Option<BreakpointBody> {
    let breakpoint = breakpoint?;
    let mut body = breakpoint.body(file);
    let source = body.file.as_deref().and_then(SourceText::read);
    let line = body.line.and_then(|line| u64::try_from(line).ok());
    let (Some(source), Some(line)) = (source, line) else { return Some(body) };
    body.text.source = source.line(line);
    match *requested_line {
        Some(requested) if requested != line => {
            body.text.asked = Some(RequestedLine { line: requested, source: source.line(requested) });
            body.message = Some(format!("line {requested} has no code; it stops at line {line}"));
        }
        Some(requested) if breakpoint.refusal().is_some() => {
            body.text.lines = Some(source.around(requested, 2));
        }
        _ => {}
    }
    Some(body)
}

/// Says why one that did not bind may not have, where the engine does not.
fn explain(body: &mut BreakpointBody, file: &str) {
    if !body.verified && body.message.as_deref().is_none_or(|message| message == types::UNBOUND) {
        let there = file == FUNCTIONS || Path::new(file).exists();
        body.message = Some(if there {
            types::UNBOUND.to_owned()
        } else {
            format!("there is no file `{file}` here; if the breakpoint does not bind, pass the full path")
        });
    }
}

async fn set_function(call: &ToolCall, arguments: FunctionArguments) -> Result<Value, Failure> {
    let FunctionArguments { function, condition, hit_condition, log_message, dll_path } = arguments;
    // `name` is DAP's word for it.
    let place = PlaceArguments { function: Some(function), ..PlaceArguments::default() };
    set(call, BreakpointArguments { place, condition, hit_condition, log_message, dll_path }).await
}

async fn remove(call: &ToolCall, arguments: RemoveArguments) -> Result<Value, Failure> {
    match (arguments.breakpoint_id, arguments.all) {
        (Some(id), false) => remove_one(call, id).await,
        (None, true) => remove_all(call).await,
        (Some(_), true) => Err(Failure::invalid("set only one of `breakpointId` and `all`")),
        (None, false) => Err(Failure::invalid("`breakpointId` is missing; debug_set_breakpoint returned it")
            .hint("`all: true` removes all of yours")),
    }
}

/// Removes breakpoints only: exception filters stay.
async fn remove_all(call: &ToolCall) -> Result<Value, Failure> {
    let before = call.is_before_a_launch();
    let take =
        |requested: &mut BreakpointRequests| (requested.bodies().len(), requested.take_all(Purpose::Stop));
    let mut removed =
        if before { call.bridge.with_early_requests(|early| take(&mut early.requested)).0 } else { 0 };
    if call.names_session() || call.bridge.current().is_some() {
        let session = owner(call).await?;
        let (count, files) = session.with_requested(take);
        removed += count;
        for file in files {
            // After the program's end there is no engine to notify; its next run starts without them.
            if !before {
                session.send_breakpoints(&file).await?;
            }
        }
    }
    answer(&RemovedBreakpoints { removed })
}

async fn remove_one(call: &ToolCall, id: u64) -> Result<Value, Failure> {
    let unknown = || {
        Failure::new(ErrorCode::BreakpointNotFound, format!("you have no breakpoint {id}"))
            .hint("debug_list_breakpoints lists yours")
    };
    let before = call.is_before_a_launch();
    if before && call.bridge.with_early_requests(|early| early.requested.take(id)).is_some() {
        return answer(&RemovedBreakpoint { id });
    }
    if before && call.bridge.current().is_none() {
        return Err(unknown());
    }
    let session = owner(call).await?;
    let file = session.with_requested(|requested| requested.take(id)).ok_or_else(unknown)?;
    // After the program's end there is no engine to notify; its next run starts without it.
    if !before {
        session.send_breakpoints(&file).await?;
    }
    answer(&RemovedBreakpoint { id })
}

async fn list(call: &ToolCall, _: NoArguments) -> Result<Value, Failure> {
    let (mut early, early_filters) = match call.is_before_a_launch() {
        true => call.bridge.with_early_requests(|early| (early.requested.bodies(), early.filters.clone())),
        false => (Vec::new(), None),
    };
    if !call.names_session() && call.bridge.current().is_none() {
        let others = Vec::new();
        return answer(&ListedBreakpoints { breakpoints: early, exceptions: early_filters, others });
    }
    for one in &mut early {
        one.message = Some(DEFERRED_NOTE.to_owned());
    }
    let session = owner(call).await?;
    // Another client may have removed one just now: its event comes before this response. The last state of
    // an ended session stays readable.
    let info = session.send(&SessionInfoArguments::default()).await;
    let (own, filters) = (bodies(&session), session.with_plan(|plan| plan.filters.clone()));
    // An agent that chose no filters has the default ones of the programs that it starts, and none in
    // sessions of others.
    let filters = filters.or_else(|| session.launched.then(|| session.usual_filters()).flatten());
    let breakpoints = own.into_iter().chain(early).collect();
    let clients = info.ok().and_then(|info| info.clients).unwrap_or_default();
    answer(&ListedBreakpoints {
        breakpoints,
        exceptions: early_filters.or(filters),
        others: others(&clients),
    })
}

/// This agent's breakpoints in a session. Where the program has ended nothing is bound any more.
pub fn bodies(session: &AgentSession) -> Vec<BreakpointBody> {
    let mut own = session.with_requested(|requested| requested.bodies());
    own.iter_mut().for_each(|one| session.name_files(one));
    if session.snapshot().state == ProgramState::Exited {
        for one in &mut own {
            one.verified = false;
            one.message = Some(DEFERRED_NOTE.to_owned());
        }
    }
    own
}

async fn set_exception(call: &ToolCall, arguments: FilterArguments) -> Result<Value, Failure> {
    let filters = arguments.filters;
    if call.is_before_a_launch() {
        call.bridge.with_early_requests(|early| early.filters = Some(filters.clone()));
        return answer(&ChosenFilters { filters, message: Some(DEFERRED_NOTE) });
    }
    let session = owner(call).await?;
    let known: Vec<String> = session.offered_filters().into_iter().map(|filter| filter.filter).collect();
    if let Some(unknown) = filters.iter().find(|name| !known.is_empty() && !known.contains(name)) {
        return Err(Failure::invalid(format!("this engine has no exception filter `{unknown}`"))
            .hint(format!("it has {}", known.join(", "))));
    }
    let arguments = SetExceptionBreakpointsArguments {
        filters: filters.clone(),
        ..SetExceptionBreakpointsArguments::default()
    };
    session.send(&arguments).await?;
    session.with_plan(|plan| plan.filters = Some(filters.clone()));
    answer(&ChosenFilters { filters, message: None })
}
