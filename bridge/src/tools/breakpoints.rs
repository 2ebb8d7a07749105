//! Breakpoints of this agent, by line, by the text of a line or by function, and exception filters.
//!
//! Not here: the lists that DAP gets ([`crate::session::breakpoints`]), traces ([`super::trace`]).

use std::path::Path;
use std::sync::Arc;

use dap_wire::{ErrorCode, Failure};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::schema::{ArgumentSchema, NoArguments};
use crate::breakpoint_requests::{
    AgentBreakpoint, BreakpointArguments, BreakpointRequests, FUNCTIONS, PlaceArguments, Purpose,
    RequestedBreakpoint,
};
use crate::call::ToolCall;
use crate::session::AgentSession;
use crate::session::breakpoints::locate_text;
use crate::snapshot::ProgramState;
use crate::source::SourceText;
use crate::tool::{AnswerField, Tool, ToolEffect, ToolGroup, run};

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
            description: "Remove one of your breakpoints, or all.",
            input: ArgumentSchema::of::<RemoveArguments>,
            output: &[AnswerField::integer("id")],
            run: run!(remove),
        },
        Tool {
            name: "debug_list_breakpoints",
            core: false,
            effect: ToolEffect::ReadOnly,
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
        let mut answer = describe(&location, breakpoint.as_ref());
        let kept = DEFERRED_NOTE;
        answer["message"] = json!(if location.0 == FUNCTIONS || Path::new(&location.0).exists() {
            kept.to_owned()
        } else {
            format!(
                "{kept}; there is no file `{}` here: if the breakpoint does not bind, pass the full path",
                location.0
            )
        });
        return Ok(answer);
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
    let mut answer = explain(describe(&location, find(&session, id).as_ref()), &location.0);
    session.name_files(&mut answer);
    if ignored {
        answer["ignored"] = json!(["dllPath"]);
    }
    Ok(answer)
}

/// Removes `dllPath` for engines other than .NET, which have no assemblies. Returns whether it was set.
fn forget_assembly(session: &AgentSession, request: &mut RequestedBreakpoint) -> bool {
    let named = session.engine != "coreclr" && !request.dap["modulePath"].is_null();
    if let Some(request) = request.dap.as_object_mut().filter(|_| named) {
        request.shift_remove("modulePath");
    }
    named
}

/// The file and line of a request.
fn location_of(request: &RequestedBreakpoint) -> (String, Option<u64>) {
    (request.file.clone(), request.dap["line"].as_u64())
}

fn find(session: &AgentSession, id: u64) -> Option<AgentBreakpoint> {
    session.with_requested(|requested| requested.find(id).map(|(_, breakpoint)| breakpoint.clone()))
}

/// A breakpoint with the source line where it bound. If it bound at another line, or did not bind, the
/// lines around it are included.
fn describe((file, requested_line): &(String, Option<u64>), breakpoint: Option<&AgentBreakpoint>) -> Value {
    let Some(breakpoint) = breakpoint else { return Value::Null };
    let mut body = breakpoint.body(file);
    let source = body["file"].as_str().and_then(SourceText::read);
    let (Some(source), Some(line)) = (source, body["line"].as_u64()) else { return body };
    if let Some(text) = source.line(line) {
        body["source"] = json!(text);
    }
    match requested_line {
        Some(requested_line) if *requested_line != line => {
            body["asked"] = json!({ "line": requested_line, "source": source.line(*requested_line) });
            let moved = format!("line {requested_line} has no code; it stops at line {line}");
            body["message"] = json!(moved);
        }
        Some(requested_line) if body["verified"] == false && breakpoint.state["reason"] == "failed" => {
            body["lines"] = json!(source.around(*requested_line, 2));
        }
        _ => {}
    }
    body
}

/// Says why one that did not bind may not have, where the engine does not.
fn explain(mut body: Value, file: &str) -> Value {
    if body["verified"] == false && body.get("message").is_none() {
        let there = file == FUNCTIONS || Path::new(file).exists();
        body["message"] = json!(if there {
            "no loaded code is there yet; it binds when such code is loaded".to_owned()
        } else {
            format!("there is no file `{file}` here; if the breakpoint does not bind, pass the full path")
        });
    }
    body
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
    Ok(json!({ "removed": removed }))
}

async fn remove_one(call: &ToolCall, id: u64) -> Result<Value, Failure> {
    let unknown = || {
        Failure::new(ErrorCode::BreakpointNotFound, format!("you have no breakpoint {id}"))
            .hint("debug_list_breakpoints lists yours")
    };
    let before = call.is_before_a_launch();
    if before && call.bridge.with_early_requests(|early| early.requested.take(id)).is_some() {
        return Ok(json!({ "id": id }));
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
    Ok(json!({ "id": id }))
}

async fn list(call: &ToolCall, _: NoArguments) -> Result<Value, Failure> {
    let (mut early, early_filters) = match call.is_before_a_launch() {
        true => call.bridge.with_early_requests(|early| (early.requested.bodies(), early.filters.clone())),
        false => (Vec::new(), None),
    };
    if !call.names_session() && call.bridge.current().is_none() {
        return Ok(json!({ "breakpoints": early, "exceptions": early_filters, "others": [] }));
    }
    for one in &mut early {
        one["message"] = json!(DEFERRED_NOTE);
    }
    let session = owner(call).await?;
    // Another client may have removed one just now: its event comes before this response. The last state of
    // an ended session stays readable.
    let info = session.ask("sessionInfo", json!({})).await;
    let (own, filters) = (bodies(&session), session.with_plan(|plan| plan.filters.clone()));
    // An agent that chose no filters has the default ones of the programs that it starts, and none in
    // sessions of others.
    let filters = filters.or_else(|| session.launched.then(|| session.usual_filters()).flatten());
    let own: Vec<Value> = own.into_iter().chain(early).collect();
    let mut answer = json!({ "breakpoints": own, "exceptions": early_filters.or(filters), "others": [] });
    if let Ok(info) = info {
        answer["others"] = json!(others(&info));
    }
    Ok(answer)
}

/// This agent's breakpoints in a session. Where the program has ended nothing is bound any more.
pub fn bodies(session: &AgentSession) -> Vec<Value> {
    let mut own = session.with_requested(|requested| requested.bodies());
    own.iter_mut().for_each(|one| session.name_files(one));
    if session.snapshot().state == ProgramState::Exited {
        for one in &mut own {
            one["verified"] = json!(false);
            one["message"] = json!(DEFERRED_NOTE);
        }
    }
    own
}

/// Breakpoints of the other clients.
pub fn others(info: &Value) -> Vec<Value> {
    let clients = info["clients"].as_array().into_iter().flatten();
    clients
        .filter(|client| client["you"] != true)
        .flat_map(|client| {
            let owner = client["name"].clone();
            client["breakpoints"].as_array().cloned().unwrap_or_default().into_iter().map(move |one| {
                let mut shown = json!({ "owner": owner, "verified": one["verified"] });
                // A function breakpoint has a name, an exception filter its id, and a
                // location only once it is known.
                let fields = [
                    ("file", &one["source"]["path"]),
                    ("line", &one["line"]),
                    ("function", &one["name"]),
                    ("filter", &one["filterId"]),
                    ("data", &one["dataId"]),
                    ("instruction", &one["instructionReference"]),
                    ("condition", &one["condition"]),
                    ("logMessage", &one["logMessage"]),
                ];
                for (key, value) in fields.into_iter().filter(|(_, value)| !value.is_null()) {
                    shown[key] = value.clone();
                }
                shown
            })
        })
        .collect()
}

async fn set_exception(call: &ToolCall, arguments: FilterArguments) -> Result<Value, Failure> {
    let filters = arguments.filters;
    if call.is_before_a_launch() {
        call.bridge.with_early_requests(|early| early.filters = Some(filters.clone()));
        return Ok(json!({ "filters": filters, "message": DEFERRED_NOTE }));
    }
    let session = owner(call).await?;
    let known = known_filters(&session);
    if let Some(unknown) = filters.iter().find(|name| !known.is_empty() && !known.contains(name)) {
        return Err(Failure::invalid(format!("this engine has no exception filter `{unknown}`"))
            .hint(format!("it has {}", known.join(", "))));
    }
    session.ask("setExceptionBreakpoints", json!({ "filters": filters })).await?;
    session.with_plan(|plan| plan.filters = Some(filters.clone()));
    Ok(json!({ "filters": filters }))
}

fn known_filters(session: &AgentSession) -> Vec<String> {
    let filters = session.capability("exceptionBreakpointFilters");
    let filters = filters.as_array().into_iter().flatten();
    filters.filter_map(|filter| filter["filter"].as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breakpoints_of_others_are_listed_with_their_details() {
        let info = json!({ "clients": [
            { "name": "me", "you": true, "breakpoints": [{ "line": 1, "verified": true }] },
            { "name": "ann", "breakpoints": [
                { "line": 3, "verified": true, "source": { "path": "/w/a.cs" }, "condition": "i > 2" },
                { "name": "Main", "verified": false },
                { "filterId": "all", "verified": true } ] } ] });
        assert_eq!(
            json!(others(&info)),
            json!([
                { "owner": "ann", "verified": true, "file": "/w/a.cs", "line": 3, "condition": "i > 2" },
                { "owner": "ann", "verified": false, "function": "Main" },
                { "owner": "ann", "verified": true, "filter": "all" }
            ])
        );
    }
}
