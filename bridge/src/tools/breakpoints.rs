//! Breakpoints of this agent: DAP replaces a file's whole list, so the list is kept here.

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};

use super::launch::absolute;
use crate::arguments::Arguments;
use crate::call::Call;
use crate::session::{Wanted, Wishes};
use crate::tool::{Effect, Family, Tool, run};

/// Where and why the program stops.
pub const FAMILY: Family = Family {
    name: "breakpoints",
    of_session: true,
    tools: &[
        Tool {
            name: "debug_set_breakpoint",
            core: true,
            effect: Effect::Acts,
            about: "Set a breakpoint, also before launch. Returns its id and where it bound.",
            takes: &[
                "sourceFile:s!",
                "line:i!=1-based",
                "condition:s",
                "hitCondition:s=like > 5 or % 10",
                "logMessage:s=logs {expressions} instead of stopping",
                "dllPath:s",
            ],
            gives: &["id:i", "file:s", "line:i", "verified:b", "message:s"],
            run: run!(set),
        },
        Tool {
            name: "debug_remove_breakpoint",
            core: true,
            effect: Effect::Sets,
            about: "Remove one of your breakpoints.",
            takes: &["breakpointId:i!"],
            gives: &["id:i"],
            run: run!(remove),
        },
        Tool {
            name: "debug_list_breakpoints",
            core: false,
            effect: Effect::Looks,
            about: "Your breakpoints and those of the other clients.",
            takes: &[],
            gives: &["breakpoints:a", "others:a"],
            run: run!(list),
        },
        Tool {
            name: "debug_set_exception_breakpoints",
            core: false,
            effect: Effect::Sets,
            about: "Choose which exceptions stop the program.",
            takes: &["filters:as!=all, unhandled"],
            gives: &["filters:a"],
            run: run!(set_exception),
        },
    ],
};

/// A source path and a DAP `SourceBreakpoint`.
pub(super) fn wish(arguments: &Arguments) -> Result<(String, Value), Failure> {
    let file = absolute(&arguments.need_text("sourceFile")?);
    let line = arguments.number("line")?.filter(|line| *line > 0);
    let line = line.ok_or_else(|| Failure::invalid("`line` is missing; it must be a number from 1 on"))?;
    let mut wish = json!({ "line": line });
    for key in ["condition", "hitCondition", "logMessage"] {
        if let Some(text) = arguments.text(key)? {
            wish[key] = json!(text);
        }
    }
    Ok((file, wish))
}

/// A breakpoint as tools answer it.
pub(super) fn body(file: &str, wanted: &Wanted) -> Value {
    let line = if wanted.state["line"].is_null() { &wanted.wish["line"] } else { &wanted.state["line"] };
    let mut body = json!({ "id": wanted.id, "file": file, "line": line,
        "verified": wanted.state["verified"].as_bool().unwrap_or(false) });
    if let Some(message) = wanted.state["message"].as_str() {
        body["message"] = json!(message);
    }
    for key in ["condition", "hitCondition", "logMessage"] {
        if !wanted.wish[key].is_null() {
            body[key] = wanted.wish[key].clone();
        }
    }
    body
}

pub(super) async fn set(call: &Call) -> Result<Value, Failure> {
    let (file, source) = wish(&call.arguments)?;
    let id = call.bridge.next_breakpoint();
    let wanted = Wanted { id, dap: None, wish: source, state: Value::Null };
    let add = |wishes: &mut Wishes| wishes.entry(file.clone()).or_default().push(wanted.clone());
    if call.arguments.text("session")?.is_none() && call.bridge.current().is_none() {
        call.bridge.with_early(add);
        let mut answer = body(&file, &wanted);
        answer["message"] = json!("kept for the next debug_launch or debug_attach");
        return Ok(answer);
    }
    let session = call.bridge.session(&call.arguments).await?;
    session.with_wishes(add);
    if let Err(failure) = session.send_breakpoints(&file).await {
        session.with_wishes(|wishes| drop(take(wishes, id)));
        return Err(failure);
    }
    let told = session.with_wishes(|wishes| {
        wishes.get(&file).and_then(|list| list.iter().find(|wanted| wanted.id == id)).cloned()
    });
    Ok(body(&file, &told.unwrap_or(wanted)))
}

/// Takes a breakpoint out; gives its file.
fn take(wishes: &mut Wishes, id: u64) -> Option<String> {
    let (file, list) = wishes.iter_mut().find(|(_, list)| list.iter().any(|wanted| wanted.id == id))?;
    list.retain(|wanted| wanted.id != id);
    Some(file.clone())
}

pub(super) async fn remove(call: &Call) -> Result<Value, Failure> {
    let id = call.arguments.number("breakpointId")?;
    let id = id.ok_or_else(|| Failure::invalid("`breakpointId` is missing; debug_set_breakpoint gave it"))?;
    let unknown = || {
        Failure::new(ErrorCode::BreakpointNotFound, format!("you have no breakpoint {id}"))
            .hint("debug_list_breakpoints lists yours")
    };
    if call.bridge.current().is_none() {
        return call
            .bridge
            .with_early(|early| take(early, id))
            .map(|_| json!({ "id": id }))
            .ok_or_else(unknown);
    }
    let session = call.bridge.session(&call.arguments).await?;
    let file = session.with_wishes(|wishes| take(wishes, id)).ok_or_else(unknown)?;
    session.send_breakpoints(&file).await?;
    Ok(json!({ "id": id }))
}

pub(super) async fn list(call: &Call) -> Result<Value, Failure> {
    let session = call.bridge.session(&call.arguments).await?;
    let own: Vec<Value> = session.with_wishes(|wishes| {
        wishes.iter().flat_map(|(file, list)| list.iter().map(|wanted| body(file, wanted))).collect()
    });
    let info = session.ask("sessionInfo", json!({})).await?;
    let others: Vec<Value> = info["clients"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|client| client["kind"] != "agent" || client["name"] != "agent")
        .flat_map(|client| {
            let owner = client["name"].clone();
            client["breakpoints"].as_array().cloned().unwrap_or_default().into_iter().map(move |one| {
                json!({ "owner": owner, "file": one["source"]["path"], "line": one["line"],
                    "verified": one["verified"] })
            })
        })
        .collect();
    Ok(json!({ "breakpoints": own, "others": others }))
}

pub(super) async fn set_exception(call: &Call) -> Result<Value, Failure> {
    let filters = call.arguments.value("filters");
    if !filters.is_array() {
        return Err(Failure::invalid(
            "`filters` is missing; it must be an array like [\"all\"] or [\"unhandled\"]",
        ));
    }
    let session = call.bridge.session(&call.arguments).await?;
    session.ask("setExceptionBreakpoints", json!({ "filters": filters })).await?;
    Ok(json!({ "filters": filters }))
}
