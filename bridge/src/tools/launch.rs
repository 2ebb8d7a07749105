//! The ways into a session: launch a program, attach to one, join a running session. [`super::sessions`]
//! handles a session as a whole afterwards.

use std::path::{Path, PathBuf};
use std::time::Duration;

use dap_wire::Failure;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::repeats::Repeat;
use super::{attach, execution, repeats, server_urls, session_list, stops, waiting};
use crate::arguments::ToolArguments;
use crate::breakpoint_requests::{BreakpointRequests, Purpose, RequestedBreakpoint};
use crate::call::ToolCall;
use crate::event_listener::ProgramState;
use crate::server::EarlyRequests;
use crate::session::breakpoints::locate_text;
use crate::session::{AgentSession, SessionPlan};
use crate::source::{absolute, in_folders};
use crate::tool::{Tool, ToolEffect, ToolGroup, run};

/// Time limit for the entry stop after the program is attached.
pub(super) const ENTRY_STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// Time limit for the engine to report the process after a launch.
const PROCESS_TIMEOUT: Duration = Duration::from_millis(700);

/// Launch attributes that are passed on unchanged; other attributes of an adapter go into `engineOptions`.
const LAUNCH_ATTRIBUTES: [&str; 42] = [
    "args",
    "engine",
    "enginePath",
    "engineOptions",
    "justMyCode",
    "console",
    "pty",
    "__ptyEcho",
    "terminalSize",
    "stdio",
    "noDebug",
    "module",
    "code",
    "python",
    "pythonArgs",
    "subProcess",
    "pathMappings",
    "runtimeExecutable",
    "runtimeArgs",
    "outFiles",
    "cargo",
    "mode",
    "buildFlags",
    "dlvFlags",
    "initCommands",
    "agentAccess",
    "outputBufferBytes",
    "terminateTimeout",
    "envFile",
    "expressionCompiler",
    "expressionEvaluationOptions",
    "enableStepFiltering",
    "sourceFileMap",
    "symbolPaths",
    "launchSettingsProfile",
    "launchProfile",
    "runtimeIdentifier",
    "configuration",
    "framework",
    "noBuild",
    "buildArguments",
    "followChildren",
];

/// Attributes of the .NET engine that launch and attach share.
pub(super) const DOTNET_ATTRIBUTES: [&str; 8] = [
    "sourceLinkOptions",
    "symbolOptions",
    "decompiler",
    "requireExactSource",
    "suppressJITOptimizations",
    "logging",
    "targetArchitecture",
    "pipeTransport",
];

/// Attributes that are true or false, which models also write as 1, 0 or text.
const FLAGS: [&str; 10] = [
    "justMyCode",
    "pty",
    "__ptyEcho",
    "noDebug",
    "subProcess",
    "enableStepFiltering",
    "noBuild",
    "followChildren",
    "requireExactSource",
    "suppressJITOptimizations",
];

/// Endings and names of what is built before it runs: its folder is where it runs.
const BUILT_EXTENSIONS: [&str; 8] = ["csproj", "fsproj", "vbproj", "sln", "slnx", "slnf", "cs", "toml"];

/// Starting and joining sessions.
pub const GROUP: ToolGroup = ToolGroup {
    name: "launch",
    tools: &[
        Tool {
            name: "debug_launch",
            core: true,
            effect: ToolEffect::Mutating,
            description: "Debug a program, building a project first. Held at entry until debug_continue; run \
                continues to a stop.",
            input: &[
                "program:s=.dll, .csproj, .py, executable, pytest",
                "module:s=python -m",
                "projectPath:s=built first",
                "args:as",
                "cwd:s=default: project, first root",
                "env:o",
                "stopAtEntry:b=true",
                "breakpoints:a=of {sourceFile, line|text|function, condition?, hitCondition?}",
                "run:b",
                "repeat:i=runs until it fails",
                "waitFor:s=output (regex)",
                "timeoutMs:i",
                "engine:so",
                "enginePath:s",
                "engineOptions:o",
                "python:s",
                "followChildren:b",
            ],
            output: &["state:s", "session:s", "pid:i", "event:o", "urls:as"],
            run: run!(launch),
        },
        Tool {
            name: "debug_attach",
            core: false,
            effect: ToolEffect::Mutating,
            description: "Attach to a process, a listening debugger or a core. Its stdio is not shared.",
            input: &[
                "processId:i",
                "connect:os={host, port}",
                "coreFile:s",
                "program:s=of the core",
                "engine:so=of connect: debugpy, lldb, gdb, delve, js, rdbg",
                "enginePath:s",
                "engineOptions:o",
            ],
            output: &["state:s", "session:s", "pid:i", "processName:s", "runtimeVersion:s", "event:o"],
            run: run!(attach::attach),
        },
        Tool {
            name: "debug_sessions",
            core: true,
            effect: ToolEffect::ReadOnly,
            description: "Live sessions, also of editors and started programs; select joins one and makes it \
                current. Every debug_ and process_ tool takes session.",
            input: &["select:s=id"],
            output: &["sessions:a", "state:s", "event:o"],
            run: run!(session_list::sessions),
        },
    ],
};

async fn launch(call: &ToolCall) -> Result<Value, Failure> {
    let plan = plan(call, call.bridge.early_requests())?;
    let mut answer = start(call, plan, continues_from_entry(call)?).await?;
    call.bridge.with_early_requests(std::mem::take);
    // A server may have said where it listens before what ended the wait.
    if let Some(session) = call.bridge.current().filter(|_| answer["event"]["type"] != "listening") {
        let urls = server_urls::addresses(&session, server_urls::OUTPUT_START).await;
        if !urls.is_empty() {
            answer["urls"] = json!(urls);
        }
    }
    Ok(answer)
}

/// Converts the arguments of `debug_launch` to a plan.
fn plan(call: &ToolCall, kept: EarlyRequests) -> Result<SessionPlan, Failure> {
    let arguments = &call.arguments;
    let mut attributes = json!({});
    let project = arguments.text("projectPath")?.map(|project| absolute(&project));
    let program = match arguments.text("program")? {
        Some(program) => Some(program_path(&program)),
        None => arguments.text("appDllPath")?.map(|built| in_project(&built, project.as_deref())),
    };
    let named = program.is_some() || project.is_some();
    if !named && arguments.text("module")?.is_none() && arguments.text("code")?.is_none() {
        return Err(Failure::invalid("`program`, `module` or `projectPath` is missing").hint(
            "give `program` (.py, .js, .rb, .go, executable, .dll, .csproj, …), `module` (what `python -m` \
                runs) or `projectPath`",
        ));
    }
    if named && arguments.text("module")?.is_some() {
        return Err(Failure::invalid("set only one of `program` and `module`")
            .hint("`module` is what `python -m` runs, with `args` for it"));
    }
    pass_on(arguments, &LAUNCH_ATTRIBUTES, &mut attributes)?;
    pass_on(arguments, &DOTNET_ATTRIBUTES, &mut attributes)?;
    let cwd = arguments.text("cwd")?.map(|cwd| absolute(&cwd));
    let cwd = cwd.or_else(|| work_folder(call, program.as_deref(), project.as_deref()));
    for (key, value) in [("program", program), ("project", project), ("cwd", cwd)] {
        if let Some(value) = value {
            attributes[key] = json!(value);
        }
    }
    for (name, value) in arguments.environment("env")? {
        attributes["env"][name] = json!(value);
    }
    attributes["stopOnEntry"] =
        json!(!continues_from_entry(call)? && arguments.flag("stopAtEntry")?.unwrap_or(true));
    let EarlyRequests { mut requested, filters } = kept;
    let repeat = Repeat::of(arguments)?;
    let mut plan = SessionPlan { attributes, filters, repeat, ..SessionPlan::default() };
    add_breakpoints(call, &mut requested, plan.folders())?;
    plan.requested = requested;
    Ok(plan)
}

/// Whether the program continues from its entry: `run`, which waiting for output or
/// repeating the launch implies.
fn continues_from_entry(call: &ToolCall) -> Result<bool, Failure> {
    let repeats = Repeat::of(&call.arguments)?.is_some();
    let waits = call.arguments.text("waitFor")?.is_some();
    Ok(repeats || call.arguments.flag("run")?.unwrap_or(waits))
}

/// Copies attributes that are given.
///
/// # Errors
/// `INVALID_PARAMETER` when a flag is neither true nor false.
pub(super) fn pass_on(
    arguments: &ToolArguments,
    keys: &[&str],
    attributes: &mut Value,
) -> Result<(), Failure> {
    for key in keys {
        let value = match FLAGS.contains(key) {
            true => json!(arguments.flag(key)?),
            false => arguments.parse_json(key),
        };
        if !value.is_null() {
            attributes[*key] = value;
        }
    }
    Ok(())
}

/// A program by its path. A bare name that is not a file here may be a command, which the session looks for
/// in the project and on PATH.
fn program_path(named: &str) -> String {
    let full = absolute(named);
    if named.contains('/') || Path::new(&full).exists() { full } else { named.to_owned() }
}

/// An assembly by its path, which begins in its project's folder.
fn in_project(built: &str, project: Option<&str>) -> String {
    let project = project.map(Path::new);
    let folder = project.and_then(|path| if path.is_dir() { Some(path) } else { path.parent() });
    match folder.map(|folder| folder.join(built)) {
        Some(there) if there.exists() || !Path::new(&absolute(built)).exists() => there.display().to_string(),
        _ => absolute(built),
    }
}

/// Default working folder of a program without a project: that of the agent.
fn work_folder(call: &ToolCall, program: Option<&str>, project: Option<&str>) -> Option<String> {
    let own = program.map(Path::new).is_some_and(|program| {
        let ending = program.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        program.is_dir() || BUILT_EXTENSIONS.contains(&ending)
    });
    if own || project.is_some() {
        return None;
    }
    let root = call.bridge.options.roots.paths().next();
    // A client that starts its servers at the root of all works nowhere.
    root.filter(|root| root.parent().is_some()).map(|root| root.display().to_string())
}

/// Adds the `breakpoints` of a launch: objects in the form of `debug_set_breakpoint`, or a JSON string
/// of them. A file that does not exist by its path is searched for in the folders. They replace earlier
/// ones at the same location.
///
/// # Errors
/// `INVALID_PARAMETER`, saying which of them.
pub(super) fn add_breakpoints(
    call: &ToolCall,
    requested: &mut BreakpointRequests,
    folders: Vec<PathBuf>,
) -> Result<(), Failure> {
    add_breakpoints_of(call, &call.arguments, requested, folders)
}

/// As [`add_breakpoints`], for given arguments instead of the call's.
///
/// # Errors
/// As [`add_breakpoints`].
pub(super) fn add_breakpoints_of(
    call: &ToolCall,
    arguments: &ToolArguments,
    requested: &mut BreakpointRequests,
    folders: Vec<PathBuf>,
) -> Result<(), Failure> {
    let wrong =
        || Failure::invalid("`breakpoints` must be an array of {sourceFile, line | text | function, …}");
    let list = match arguments.value("breakpoints") {
        Value::Null => return Ok(()),
        Value::Array(list) => list,
        Value::String(text) => serde_json::from_str(&text).map_err(|_| wrong())?,
        _ => return Err(wrong()),
    };
    let mut read = Vec::new();
    for (index, request) in list.into_iter().enumerate() {
        let request = request.as_object().cloned().ok_or_else(wrong)?;
        let mut request = ToolArguments::new(Some(request));
        if let Ok(Some(named)) = request.text("sourceFile")
            && !Path::new(&absolute(&named)).exists()
            && let Some(found) = in_folders(&named, folders.iter().cloned())
        {
            request = request.with("sourceFile", json!(found));
        }
        let request = locate_text(&request, &call.bridge.options.roots)
            .and_then(|request| RequestedBreakpoint::read(&request))
            .map_err(|failure| Failure {
                message: format!("`breakpoints[{index}]`: {}", failure.message),
                ..failure
            })?;
        requested.clear(&request);
        read.push(request);
    }
    for request in read {
        requested.add(request, call.bridge.next_breakpoint(), Purpose::Stop);
    }
    Ok(())
}

/// Starts a session by a plan and answers as `debug_launch` does.
pub(super) async fn start(call: &ToolCall, plan: SessionPlan, runs: bool) -> Result<Value, Failure> {
    let until = Instant::now() + execution::limit(call)?;
    let stop_at_entry = plan.attributes["stopOnEntry"] == true;
    let bridge = &call.bridge;
    let session =
        AgentSession::start(&bridge.options.adapter, &bridge.client(), plan, &call.cancel, &call.progress)
            .await?;
    let session = call.add_session(session);
    has_process(&session).await;
    let mut answer = if runs {
        waiting::wait_for_news(call, &session, 0, until).await?
    } else {
        if stop_at_entry {
            stops::wait_until_settled(&session, ENTRY_STOP_TIMEOUT).await;
        }
        stops::report(&session).await
    };
    // Another run of it may be the one that is answered.
    let session = repeats::latest(call, session);
    describe(&mut answer, &session);
    Ok(add_running_programs(call, &session, answer))
}

/// Waits a moment until the session has reported the program's process, which the answer names.
async fn has_process(session: &AgentSession) {
    let mut snapshot = session.watch_snapshot();
    let known = snapshot.wait_for(|now| !now.process.is_null() || now.state == ProgramState::Exited);
    // An adapter that is not Tandem's may never report it.
    drop(tokio::time::timeout(PROCESS_TIMEOUT, known).await);
}

/// Says which other programs of this agent's still run: a launch does not end them.
fn add_running_programs(call: &ToolCall, session: &AgentSession, mut answer: Value) -> Value {
    let mut others = call.bridge.joined_sessions();
    others.retain(|other| {
        let is_related = other.root().id == session.root().id;
        !is_related && other.launched && other.snapshot().state != ProgramState::Exited
    });
    let Some(first) = others.first() else { return answer };
    let state = first.snapshot().state.as_str();
    let message = format!(
        "session {} ({}) is still {state}; debug_disconnect {{session: \"{}\"}} ends it",
        first.id, first.relation.title, first.id
    );
    if answer["message"].is_null() {
        answer["message"] = json!(message);
    }
    answer["others"] = others.iter().map(|other| super::sessions::brief(other)).collect();
    answer
}

/// Adds which session it is, its process and the breakpoints in it.
pub(super) fn describe(answer: &mut Value, session: &AgentSession) {
    answer["session"] = json!(session.id);
    answer["pid"] = session.snapshot().process["systemProcessId"].clone();
    // Those of a program hold in every program that it starts.
    let mut set = session.root().with_requested(|requested| requested.bodies());
    set.iter_mut().for_each(|one| session.name_files(one));
    if !set.is_empty() {
        answer["breakpoints"] = json!(set);
    }
    drop_null(answer, "pid");
}

/// Fields with a type in the output schema are absent rather than null.
pub(super) fn drop_null(answer: &mut Value, key: &str) {
    if let Some(answer) = answer.as_object_mut()
        && answer.get(key).is_some_and(Value::is_null)
    {
        answer.shift_remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assembly_is_looked_for_in_its_project_first() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("app.csproj");
        std::fs::write(&project, "").unwrap();
        let expected = folder.path().join("bin/app.dll").display().to_string();
        for project in [project.as_path(), folder.path()] {
            assert_eq!(in_project("bin/app.dll", Some(&project.display().to_string())), expected);
        }
        assert_eq!(in_project("/there/app.dll", Some(&project.display().to_string())), "/there/app.dll");
        assert_eq!(in_project("bin/app.dll", None), absolute("bin/app.dll"));
        // A bare name that is not a file may be a command.
        assert_eq!(
            (program_path("pytest"), program_path("./pytest")),
            ("pytest".into(), absolute("./pytest"))
        );
    }
}
