//! The ways into a session: launch a program, attach to one, join a running session. Not here: a session as a
//! whole afterwards ([`super::sessions`]).

use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tandem_wire::Failure;
use tokio::time::Instant;

use super::launch_breakpoints::{add_breakpoints, find_source};
use super::run_answer::{EventDetails, OtherEvent, RunAnswer};
use super::session_summary::SessionSummary;
use super::waiting::{self, ENTRY_STOP_TIMEOUT};
use super::{answer, attach, repeats, server_urls, session_list, stops};
use crate::arguments;
use crate::arguments::attributes::{self, LaunchFlags, LaunchNames, PassedAttributes};
use crate::arguments::schema::{ArgumentSchema, TextOrObject};

use crate::breakpoint_requests::EarlyRequests;
use crate::call::ToolCall;
use crate::repeat::{Repeat, RepeatArguments};
use crate::session::{AgentSession, SessionPlan};
use crate::snapshot::ProgramState;
use crate::source::absolute;
use crate::tool::{AnswerField, StopUse, Tool, ToolEffect, ToolGroup, run};

/// Time limit for the engine to report the process after a launch.
const PROCESS_TIMEOUT: Duration = Duration::from_millis(700);

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
            stop: StopUse::Launches,
            description: "Debug a program, building a project first. Held at entry until debug_continue; run \
                continues to a stop.",
            input: ArgumentSchema::of::<LaunchArguments>,
            output: &[
                AnswerField::text("state"),
                AnswerField::text("session"),
                AnswerField::integer("pid"),
                AnswerField::object("event"),
                AnswerField::texts("urls"),
            ],
            run: run!(launch),
        },
        Tool {
            name: "debug_attach",
            core: false,
            effect: ToolEffect::Mutating,
            stop: StopUse::Selects,
            description: "Attach to a process, a listening debugger or a core. Its stdio is not shared.",
            input: ArgumentSchema::of::<attach::AttachArguments>,
            output: &[
                AnswerField::text("state"),
                AnswerField::text("session"),
                AnswerField::integer("pid"),
                AnswerField::text("processName"),
                AnswerField::text("runtimeVersion"),
                AnswerField::object("event"),
            ],
            run: run!(attach::attach),
        },
        Tool {
            name: "debug_sessions",
            core: true,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Selects,
            description: "Live sessions, also of editors and started programs; select joins one and makes it \
                current. Every debug_ and process_ tool takes session.",
            input: ArgumentSchema::of::<session_list::SessionsArguments>,
            output: &[
                AnswerField::list("sessions"),
                AnswerField::text("state"),
                AnswerField::object("event"),
            ],
            run: run!(session_list::sessions),
        },
    ],
};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LaunchArguments {
    #[serde(flatten)]
    program: ProgramArguments,
    #[serde(flatten)]
    runs: RunArguments,
    #[serde(flatten)]
    engine: EngineArguments,
    #[serde(flatten)]
    passed: PassedAttributes<LaunchNames>,
}

/// The program of a launch.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ProgramArguments {
    #[schemars(description = ".dll, .csproj, .py, executable, pytest")]
    program: Option<String>,
    #[schemars(description = "python -m")]
    module: Option<String>,
    #[schemars(description = "built first")]
    project_path: Option<String>,
    #[schemars(extend("x-unlisted" = true))]
    app_dll_path: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[schemars(description = "default: project, first root")]
    cwd: Option<String>,
    #[serde(default)]
    env: Map<String, Value>,
}

/// How far a launch runs before it is answered.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RunArguments {
    #[schemars(extend("default" = true))]
    stop_at_entry: Option<bool>,
    #[schemars(description = "of {sourceFile, line|text|function, condition?, hitCondition?}")]
    #[serde(default)]
    breakpoints: Vec<Value>,
    run: Option<bool>,
    #[serde(flatten)]
    repeat: RepeatArguments,
    #[schemars(description = "output (regex)")]
    wait_for: Option<String>,
    timeout_ms: Option<u64>,
}

/// The engine of a launch, and what only it knows.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct EngineArguments {
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<TextOrObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine_options: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    python: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    follow_children: Option<bool>,
}

/// The program of a launch, as attributes.
#[derive(Serialize)]
struct ProgramAttributes<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<String>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    args: &'a [String],
    #[serde(skip_serializing_if = "Map::is_empty")]
    env: Map<String, Value>,
}

impl RunArguments {
    /// Whether the program continues from its entry: `run`, which waiting for output or repeating the launch
    /// implies.
    fn continues_from_entry(&self) -> Result<bool, Failure> {
        let repeats = Repeat::of(&self.repeat)?.is_some();
        Ok(repeats || self.run.unwrap_or(self.wait_for.is_some()))
    }
}

async fn launch(call: &ToolCall, arguments: LaunchArguments) -> Result<Value, Failure> {
    let plan = plan(call, &arguments, call.bridge.early_requests())?;
    let runs = arguments.runs.continues_from_entry()?;
    let mut launched = start(call, plan, runs, arguments.runs.timeout_ms).await?;
    let event = launched.event.as_ref().map(|event| &event.details);
    let has_urls = matches!(event, Some(EventDetails::Other(OtherEvent::Listening { .. })));
    // A server may have said where it listens before what ended the wait.
    if let Some(session) = call.bridge.current().filter(|_| !has_urls) {
        launched.launch.urls = server_urls::addresses(&session, server_urls::OUTPUT_START).await;
    }
    answer(&launched)
}

/// Converts the arguments of `debug_launch` to a plan.
fn plan(call: &ToolCall, arguments: &LaunchArguments, kept: EarlyRequests) -> Result<SessionPlan, Failure> {
    let LaunchArguments { program: given, runs, engine, passed } = arguments;
    let mut attributes = passed.to_object();
    attributes::add(&mut attributes, engine);
    let project = given.project_path.as_deref().map(absolute);
    let program = match &given.program {
        Some(program) => Some(program_path(program)),
        None => given.app_dll_path.as_deref().map(|built| in_project(built, project.as_deref())),
    };
    let named = program.is_some() || project.is_some();
    if !named && given.module.is_none() && !passed.has("code") {
        return Err(Failure::invalid("`program`, `module` or `projectPath` is missing").hint(
            "give `program` (.py, .js, .rb, .go, executable, .dll, .csproj, …), `module` (what `python -m` \
                runs) or `projectPath`",
        ));
    }
    if named && given.module.is_some() {
        return Err(Failure::invalid("set only one of `program` and `module`")
            .hint("`module` is what `python -m` runs, with `args` for it"));
    }
    let cwd = given.cwd.as_deref().map(absolute);
    let cwd = cwd.or_else(|| work_folder(call, program.as_deref(), project.as_deref()));
    let module = given.module.clone();
    let stop_on_entry = !runs.continues_from_entry()? && runs.stop_at_entry.unwrap_or(true);
    let env = arguments::environment("env", &given.env)?;
    let env = env.into_iter().map(|(name, value)| (name, value.into())).collect();
    let own = ProgramAttributes { program, project, cwd, module, args: &given.args, env };
    attributes::add(&mut attributes, &own);
    LaunchFlags::stopping_on_entry(stop_on_entry).set_in(&mut attributes);
    let EarlyRequests { mut requested, filters } = kept;
    let repeat = Repeat::of(&runs.repeat)?;
    let mut plan = SessionPlan { attributes, filters, repeat, ..SessionPlan::default() };
    requested.resolve_files(|named| find_source(call, named, plan.folders()));
    add_breakpoints(call, &runs.breakpoints, &mut requested, plan.folders())?;
    plan.requested = requested;
    Ok(plan)
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

/// Starts a session by a plan and answers as `debug_launch` does.
pub(super) async fn start(
    call: &ToolCall,
    plan: SessionPlan,
    runs: bool,
    timeout_ms: Option<u64>,
) -> Result<RunAnswer, Failure> {
    let until = Instant::now() + waiting::limit(timeout_ms);
    let stop_at_entry = LaunchFlags::of(&plan.attributes).stop_on_entry == Some(true);
    let session = call.start_session(plan).await?;
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
    answer.describe_session(&session);
    add_running_programs(call, &session, &mut answer);
    Ok(answer)
}

/// Waits a moment until the session has reported the program's process, which the answer names.
async fn has_process(session: &AgentSession) {
    let mut snapshot = session.watch_snapshot();
    let known = snapshot.wait_for(|now| now.process.is_some() || now.state == ProgramState::Exited);
    // An adapter that is not Tandem's may never report it.
    drop(tokio::time::timeout(PROCESS_TIMEOUT, known).await);
}

/// Says which other programs of this agent's still run: a launch does not end them.
fn add_running_programs(call: &ToolCall, session: &AgentSession, answer: &mut RunAnswer) {
    let mut others = call.bridge.joined_sessions();
    others.retain(|other| {
        let is_related = other.root().id == session.root().id;
        !is_related && other.launched && other.snapshot().state != ProgramState::Exited
    });
    let Some(first) = others.first() else { return };
    let state = first.snapshot().state.as_str();
    let message = format!(
        "session {} ({}) is still {state}; debug_disconnect {{session: \"{}\"}} ends it",
        first.id, first.relation.title, first.id
    );
    if !answer.has_message() {
        answer.set_message(message);
    }
    answer.launch.others = others.iter().map(|other| SessionSummary::of(other)).collect();
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
