//! Sessions: starting, joining, leaving them, and where they stand.

use std::time::Duration;

use dap_wire::Failure;
use serde_json::{Value, json};

use super::execution;
use crate::call::Call;
use crate::observer::State;
use crate::registry;
use crate::session::{Session, Wanted};
use crate::tool::{Effect, Family, Tool, run};

/// How long the entry stop may take once the program is attached.
const ENTRY: Duration = Duration::from_secs(30);

/// Starting, joining and leaving sessions.
pub const FAMILY: Family = Family {
    name: "sessions",
    of_session: true,
    tools: &[
        Tool {
            name: "debug_launch",
            core: true,
            effect: Effect::Acts,
            about: "Start a program under the debugger (building a project first). Returns session, pid and state.",
            takes: &[
                "program:s=.dll, executable, .csproj or folder",
                "projectPath:s=built first",
                "appDllPath:s=built program",
                "args:a",
                "cwd:s",
                "env:o",
                "stopAtEntry:b=default true: held at entry until debug_continue",
                "breakpoints:a=[{sourceFile, line, condition?}]",
                "engine:s",
            ],
            gives: &["state:s", "session:s", "pid:i", "event:o", "breakpoints:a"],
            run: run!(launch),
        },
        Tool {
            name: "debug_attach",
            core: true,
            effect: Effect::Acts,
            about: "Attach to a running .NET process. Its stdin and stdout are not ours.",
            takes: &["processId:i!"],
            gives: &["state:s", "session:s", "pid:i", "processName:x"],
            run: run!(attach),
        },
        Tool {
            name: "debug_sessions",
            core: true,
            effect: Effect::Looks,
            about: "List live sessions, also those an editor started, and join one.",
            takes: &["select:s=id of a session to join and use from now on"],
            gives: &["sessions:a", "state:s", "event:x"],
            run: run!(sessions),
        },
        Tool {
            name: "debug_status",
            core: true,
            effect: Effect::Looks,
            about: "Where the program stands: idle, running, stopped (place, reason) or exited (code); who else is in \
                    the session.",
            takes: &[],
            gives: &["state:s", "session:s", "reason:s", "place:o", "clients:a"],
            run: run!(status),
        },
        Tool {
            name: "debug_disconnect",
            core: true,
            effect: Effect::Overwrites,
            about: "End the session you launched, or leave one you joined.",
            takes: &["terminate:b=default true for what you launched"],
            gives: &["state:s"],
            run: run!(disconnect),
        },
    ],
};

pub(super) async fn launch(call: &Call) -> Result<Value, Failure> {
    let arguments = &call.arguments;
    let mut attributes = json!({});
    let program = match arguments.text("program")? {
        Some(program) => Some(program),
        None => arguments.text("appDllPath")?,
    };
    let project = arguments.text("projectPath")?;
    for (key, value) in [("program", program), ("project", project), ("cwd", arguments.text("cwd")?)] {
        if let Some(value) = value {
            attributes[key] = json!(if key == "cwd" { value } else { absolute(&value) });
        }
    }
    for key in ["args", "engine", "justMyCode", "console", "agentAccess"] {
        if !arguments.value(key).is_null() {
            attributes[key] = arguments.value(key);
        }
    }
    match arguments.value("env") {
        Value::Null => {}
        Value::String(text) => {
            attributes["env"] = serde_json::from_str(&text)
                .map_err(|error| Failure::invalid(format!("`env` is no JSON object: {error}")))?;
        }
        other => attributes["env"] = other,
    }
    let stop_at_entry = arguments.flag("stopAtEntry")?.unwrap_or(true);
    attributes["stopOnEntry"] = json!(stop_at_entry);
    let mut wishes = call.bridge.with_early(|early| early.clone());
    for wish in arguments.value("breakpoints").as_array().cloned().unwrap_or_default() {
        let given = crate::arguments::Arguments::new(wish.as_object().cloned());
        let (file, source) = super::breakpoints::wish(&given)?;
        let id = call.bridge.next_breakpoint();
        wishes.entry(file).or_default().push(Wanted { id, dap: None, wish: source, state: Value::Null });
    }
    let session =
        Session::start(&call.bridge.options.adapter, false, attributes, wishes, &call.cancel).await?;
    let session = call.bridge.add(session);
    call.bridge.with_early(std::mem::take).clear();
    if stop_at_entry {
        let mut picture = session.picture();
        let stands = picture.wait_for(|picture| matches!(picture.state, State::Stopped | State::Exited));
        drop(tokio::time::timeout(ENTRY, stands).await);
    }
    let mut answer = execution::report(&session).await;
    answer["session"] = json!(session.id);
    answer["pid"] = session.snapshot().process["systemProcessId"].clone();
    let set: Vec<Value> = session.with_wishes(|wishes| {
        wishes
            .iter()
            .flat_map(|(file, list)| list.iter().map(|one| super::breakpoints::body(file, one)))
            .collect()
    });
    if !set.is_empty() {
        answer["breakpoints"] = json!(set);
    }
    Ok(answer)
}

/// Relative paths mean the bridge's folder, not the adapter's.
pub(super) fn absolute(path: &str) -> String {
    std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| path.display().to_string())
}

pub(super) async fn attach(call: &Call) -> Result<Value, Failure> {
    let Some(pid) = call.arguments.number("processId")? else {
        return Err(Failure::invalid("`processId` is missing; it must be the id of a running process"));
    };
    let wishes = call.bridge.with_early(|early| early.clone());
    let session =
        Session::start(&call.bridge.options.adapter, true, json!({ "processId": pid }), wishes, &call.cancel)
            .await?;
    let session = call.bridge.add(session);
    let process = session.snapshot().process;
    Ok(json!({ "state": session.snapshot().state.as_str(), "session": session.id, "pid": pid,
        "processName": process["name"] }))
}

pub(super) async fn disconnect(call: &Call) -> Result<Value, Failure> {
    let session = match call.bridge.session(&call.arguments).await {
        Ok(session) => session,
        // Nothing to leave is what was wanted.
        Err(_) if call.arguments.text("session")?.is_none() => return Ok(json!({ "state": "idle" })),
        Err(failure) => return Err(failure),
    };
    let outcome = session.leave(call.arguments.flag("terminate")?).await;
    call.bridge.forget(&session.id);
    outcome.map(|()| json!({ "state": "idle" }))
}

pub(super) async fn sessions(call: &Call) -> Result<Value, Failure> {
    if let Some(id) = call.arguments.text("select")? {
        if call.bridge.joined().iter().any(|session| session.id == id) {
            call.bridge.select(&id);
        } else {
            call.bridge.join(&id).await?;
        }
    }
    let current = call.bridge.current().map(|session| session.id.clone());
    let joined: Vec<String> = call.bridge.joined().iter().map(|session| session.id.clone()).collect();
    let list: Vec<Value> = registry::live()
        .into_iter()
        .map(|entry| {
            json!({ "session": entry.id, "title": entry.title, "program": entry.program, "engine": entry.engine,
                "joined": joined.contains(&entry.id), "current": current.as_deref() == Some(&entry.id) })
        })
        .collect();
    let mut answer = json!({ "sessions": list });
    if call.arguments.text("select")?.is_some()
        && let Some(session) = call.bridge.current()
    {
        let report = execution::report(&session).await;
        answer["state"] = report["state"].clone();
        answer["event"] = report["event"].clone();
    }
    Ok(answer)
}

pub(super) async fn status(call: &Call) -> Result<Value, Failure> {
    let named = call.arguments.text("session")?.is_some();
    if !named && call.bridge.current().is_none() {
        return Ok(json!({ "state": "idle" }));
    }
    let session = call.bridge.session(&call.arguments).await?;
    let picture = session.snapshot();
    let mut answer = json!({ "state": picture.state.as_str(), "session": session.id });
    if let Ok(info) = session.ask("sessionInfo", json!({})).await {
        for key in ["state", "reason", "threadId", "place", "agentAccess", "exitCode"] {
            if !info[key].is_null() {
                answer[key] = info[key].clone();
            }
        }
        let clients = info["clients"].as_array().into_iter().flatten();
        answer["clients"] = clients
            .map(|client| json!({ "name": client["name"], "kind": client["kind"], "launched": client["launched"] }))
            .collect();
    }
    Ok(answer)
}
