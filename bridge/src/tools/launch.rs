//! The ways into a session: starting a program, attaching to one, joining a session that lives. What is done with a session
//! as a whole afterwards is [`super::sessions`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use dap_wire::Failure;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{execution, stops};
use crate::arguments::Arguments;
use crate::call::Call;
use crate::server::Early;
use crate::session::{Plan, Session};
use crate::source::{absolute, in_folders};
use crate::tool::{Effect, Family, Tool, run};
use crate::wishes::{Purpose, Wish, Wishes};

/// How long the entry stop may take once the program is attached.
pub(super) const ENTRY: Duration = Duration::from_secs(30);

/// Launch attributes that go on to the session as they are.
const PASSED_ON: [&str; 13] = [
    "args",
    "engine",
    "enginePath",
    "engineOptions",
    "justMyCode",
    "console",
    "pty",
    "python",
    "agentAccess",
    "outputBufferBytes",
    "expressionEvaluationOptions",
    "sourceFileMap",
    "symbolPaths",
];

/// Starting and joining sessions.
pub const FAMILY: Family = Family {
    name: "launch",
    of_session: false,
    tools: &[
        Tool {
            name: "debug_launch",
            core: true,
            effect: Effect::Acts,
            about: "Debug a program, building a project first. Held at entry until debug_continue; with run it goes on \
                    to the first stop.",
            takes: &[
                "program:s=.dll, .csproj, executable, .py…",
                "projectPath:s=built first",
                "appDllPath:s",
                "args:as",
                "cwd:s",
                "env:o",
                "stopAtEntry:b=true",
                "breakpoints:a=of {sourceFile, line|text|function, condition?}",
                "run:b",
                "timeoutMs:i",
                "engine:s",
            ],
            gives: &["state:s", "session:s", "pid:i", "event:o", "breakpoints:a"],
            run: run!(launch),
        },
        Tool {
            name: "debug_attach",
            core: true,
            effect: Effect::Acts,
            about: "Attach to a process. Its stdin and output are not ours.",
            takes: &["processId:i!", "engine:s"],
            gives: &["state:s", "session:s", "pid:i", "processName:s", "runtimeVersion:s"],
            run: run!(attach),
        },
        Tool {
            name: "debug_sessions",
            core: true,
            effect: Effect::Looks,
            about: "Live sessions, also of editors; select joins one and makes it current.",
            takes: &["select:s=id"],
            gives: &["sessions:a", "state:s", "event:o"],
            run: run!(sessions),
        },
    ],
};

async fn launch(call: &Call) -> Result<Value, Failure> {
    let early = call.bridge.with_early(|early| early.clone());
    let plan = plan(call, early)?;
    let answer = start(call, plan).await?;
    call.bridge.with_early(std::mem::take);
    Ok(answer)
}

/// What the arguments of `debug_launch` mean.
fn plan(call: &Call, early: Early) -> Result<Plan, Failure> {
    let arguments = &call.arguments;
    let mut attributes = json!({});
    let program = match arguments.text("program")? {
        Some(program) => Some(program),
        None => arguments.text("appDllPath")?,
    };
    let project = arguments.text("projectPath")?;
    if program.is_none() && project.is_none() {
        return Err(Failure::invalid("`program` is missing: what shall be debugged?")
            .hint("give `program` (.dll, executable, .py…) or `projectPath` (.csproj or folder)"));
    }
    for (key, value) in [("program", program), ("project", project), ("cwd", arguments.text("cwd")?)] {
        if let Some(value) = value {
            attributes[key] = json!(absolute(&value));
        }
    }
    for key in PASSED_ON {
        let value = arguments.parsed(key);
        if !value.is_null() {
            attributes[key] = value;
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
    let runs = arguments.flag("run")?.unwrap_or(false);
    attributes["stopOnEntry"] = json!(!runs && arguments.flag("stopAtEntry")?.unwrap_or(true));
    let Early { mut wishes, filters } = early;
    wishes = wishes.anew();
    let mut plan = Plan { attach: false, attributes, wishes: Wishes::default(), filters };
    add_breakpoints(call, &mut wishes, plan.folders())?;
    plan.wishes = wishes;
    Ok(plan)
}

/// `breakpoints`: objects as `debug_set_breakpoint` takes them, also as a JSON string.
/// A file that is not there by its path is looked for in the folders.
///
/// # Errors
/// `INVALID_PARAMETER`, saying which of them.
pub(super) fn add_breakpoints(
    call: &Call,
    wishes: &mut Wishes,
    folders: Vec<PathBuf>,
) -> Result<(), Failure> {
    let wrong =
        || Failure::invalid("`breakpoints` must be an array of {sourceFile, line | text | function, …}");
    let list = match call.arguments.value("breakpoints") {
        Value::Null => return Ok(()),
        Value::Array(list) => list,
        Value::String(text) => serde_json::from_str(&text).map_err(|_| wrong())?,
        _ => return Err(wrong()),
    };
    for (index, wish) in list.into_iter().enumerate() {
        let wish = wish.as_object().cloned().ok_or_else(wrong)?;
        let mut wish = Arguments::new(Some(wish));
        if let Ok(Some(named)) = wish.text("sourceFile")
            && !Path::new(&absolute(&named)).exists()
            && let Some(found) = in_folders(&named, folders.iter().cloned())
        {
            wish = wish.with("sourceFile", json!(found));
        }
        let wish = Wish::read(&wish).map_err(|failure| Failure {
            message: format!("`breakpoints[{index}]`: {}", failure.message),
            ..failure
        })?;
        wishes.add(wish, call.bridge.next_breakpoint(), Purpose::Stop);
    }
    Ok(())
}

/// Starts a session by a plan and answers as `debug_launch` does.
pub(super) async fn start(call: &Call, plan: Plan) -> Result<Value, Failure> {
    let runs = call.arguments.flag("run")?.unwrap_or(false);
    let until = Instant::now() + execution::limit(call)?;
    let stop_at_entry = plan.attributes["stopOnEntry"] == true;
    let bridge = &call.bridge;
    let session =
        Session::start(&bridge.options.adapter, &bridge.client(), plan, &call.cancel, &call.progress).await?;
    let session = bridge.add(session);
    let mut answer = if runs {
        execution::wait_for_news(call, &session, 0, until).await?
    } else {
        if stop_at_entry {
            stops::settled(&session, ENTRY).await;
        }
        stops::report(&session).await
    };
    describe(&mut answer, &session);
    Ok(answer)
}

/// Adds which session it is, its process and the breakpoints in it.
pub(super) fn describe(answer: &mut Value, session: &Session) {
    answer["session"] = json!(session.id);
    answer["pid"] = session.snapshot().process["systemProcessId"].clone();
    let set = session.with_wishes(|wishes| wishes.bodies());
    if !set.is_empty() {
        answer["breakpoints"] = json!(set);
    }
    drop_null(answer, "pid");
}

/// Fields with a type in the output schema are absent rather than null.
fn drop_null(answer: &mut Value, key: &str) {
    if let Some(answer) = answer.as_object_mut()
        && answer.get(key).is_some_and(Value::is_null)
    {
        answer.shift_remove(key);
    }
}

async fn attach(call: &Call) -> Result<Value, Failure> {
    let Some(pid) = call.arguments.number("processId")? else {
        return Err(Failure::invalid("`processId` is missing; it must be the id of a running process"));
    };
    let mut attributes = json!({ "processId": pid });
    if let Some(engine) = call.arguments.text("engine")? {
        attributes["engine"] = json!(engine);
    }
    attach_with(call, pid, attributes).await
}

/// Attaches by these attributes and answers as `debug_attach` does.
pub(super) async fn attach_with(call: &Call, pid: u64, attributes: Value) -> Result<Value, Failure> {
    let Early { wishes, filters } = call.bridge.with_early(|early| early.clone());
    let mut wishes = wishes.anew();
    add_breakpoints(call, &mut wishes, Vec::new())?;
    let plan = Plan { attach: true, attributes, wishes, filters };
    let bridge = &call.bridge;
    let session =
        Session::start(&bridge.options.adapter, &bridge.client(), plan, &call.cancel, &call.progress).await?;
    let session = bridge.add(session);
    bridge.with_early(std::mem::take);
    let process = session.snapshot().process;
    let mut answer = json!({ "state": session.snapshot().state.as_str(), "session": session.id, "pid": pid,
        "processName": process["name"], "runtimeVersion": runtime_version(&session).await });
    drop_null(&mut answer, "processName");
    drop_null(&mut answer, "runtimeVersion");
    Ok(answer)
}

/// The version of the runtime, from where its core library lies (`…/Microsoft.NETCore.App/9.0.1/…`).
async fn runtime_version(session: &Session) -> Value {
    let Ok(modules) = session.ask("modules", json!({})).await else { return Value::Null };
    let core = modules["modules"].as_array().into_iter().flatten();
    let core = core.filter_map(|module| module["path"].as_str()).find_map(|path| {
        let folder = path.strip_suffix("/System.Private.CoreLib.dll")?;
        folder.rsplit('/').next().filter(|name| name.starts_with(|first: char| first.is_ascii_digit()))
    });
    json!(core)
}

async fn sessions(call: &Call) -> Result<Value, Failure> {
    let select = call.arguments.text("select")?;
    if let Some(id) = &select {
        if call.bridge.joined().iter().any(|session| session.id == *id) {
            call.bridge.select(id);
        } else {
            call.bridge.join(id).await?;
        }
    }
    let current = call.bridge.current().map(|session| session.id.clone());
    let joined = call.bridge.joined();
    let mut list: Vec<Value> = registry::live(&registry::folder())
        .into_iter()
        .map(|entry| {
            json!({ "session": entry.id, "title": entry.title, "program": entry.program, "engine": entry.engine,
                "joined": joined.iter().any(|session| session.id == entry.id) })
        })
        .collect();
    // A session whose program has ended may be published no more; its output is still ours to read.
    for session in joined {
        if !list.iter().any(|entry| entry["session"] == session.id.as_str()) {
            let state = session.snapshot().state.as_str();
            list.push(json!({ "session": session.id, "joined": true, "state": state }));
        }
    }
    for entry in &mut list {
        if entry["session"].as_str() == current.as_deref() {
            entry["current"] = json!(true);
        }
    }
    let mut answer = json!({ "sessions": list });
    if select.is_some()
        && let Some(session) = call.bridge.current()
    {
        let report = stops::report(&session).await;
        for key in ["state", "event", "output"] {
            answer[key] = report[key].clone();
            drop_null(&mut answer, key);
        }
    }
    Ok(answer)
}
