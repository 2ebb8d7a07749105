//! The tools for builds, diagnostics and commands: their declarations, and `pending` as the answer to a call
//! that has waited long enough while the work continues.
//!
//! Runs nothing: the crate `tandem-workspace` does.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::Failure;
use tandem_workspace::build::project::Project;
use tandem_workspace::build::{self, BuildAction, RunnerArguments};
use tandem_workspace::command_line;
use tandem_workspace::commands;
use tandem_workspace::jobs::{JobStatus, ProgressSink};
use tandem_workspace::process::ProcessCommand;
use tokio_util::sync::CancellationToken;

use super::answer;
use crate::arguments::schema::ArgumentSchema;
use crate::call::ToolCall;
use crate::tool::{AnswerField, StopUse, Tool, ToolEffect, ToolGroup, run};

/// Default time that a call waits. Builds often take longer than debugging, and
/// clients abort calls after 60 s.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(50);
/// Output in one answer by default, bytes.
const DEFAULT_OUTPUT_BYTES: u64 = 8 << 10;
/// The largest `maxBytes` of an output.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;

/// The one tool that runs any command.
pub const RUN_COMMAND: &str = "run_command";

/// The tools that build and run commands.
pub const GROUP: ToolGroup = ToolGroup {
    name: "builds",
    tools: &[
        Tool {
            name: "build",
            core: false,
            effect: ToolEffect::Mutating,
            stop: StopUse::Independent,
            description: "Build the folder's project. Returns LSP diagnostics by file; if pending, call \
                again to keep waiting.",
            input: ArgumentSchema::of::<BuildArguments>,
            output: &[
                AnswerField::integer("exitCode"),
                AnswerField::text("output"),
                AnswerField::object("diagnostics"),
                AnswerField::integer("errors"),
                AnswerField::integer("warnings"),
                AnswerField::flag("pending"),
            ],
            run: run!(project, BuildAction::Build),
        },
        Tool {
            name: "restore",
            core: false,
            effect: ToolEffect::Idempotent,
            stop: StopUse::Independent,
            description: "Like build: fetch dependencies.",
            input: ArgumentSchema::of::<ProjectArguments>,
            output: &[
                AnswerField::integer("exitCode"),
                AnswerField::text("output"),
                AnswerField::flag("pending"),
            ],
            run: run!(project_quietly, BuildAction::Restore),
        },
        Tool {
            name: "get_diagnostics",
            core: false,
            effect: ToolEffect::Idempotent,
            stop: StopUse::Independent,
            description: "Like build, but only checks.",
            input: ArgumentSchema::of::<ProjectArguments>,
            output: &[
                AnswerField::object("diagnostics"),
                AnswerField::integer("errors"),
                AnswerField::integer("warnings"),
                AnswerField::flag("pending"),
            ],
            run: run!(project_quietly, BuildAction::Check),
        },
        Tool {
            name: RUN_COMMAND,
            core: false,
            effect: ToolEffect::Destructive,
            stop: StopUse::Independent,
            description: "Run a program, without a shell. Double quotes keep spaces.",
            input: ArgumentSchema::of::<CommandArguments>,
            output: &[
                AnswerField::integer("exitCode"),
                AnswerField::text("stdout"),
                AnswerField::text("stderr"),
                AnswerField::flag("pending"),
            ],
            run: run!(command),
        },
    ],
};

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct BuildArguments {
    #[schemars(description = "folder or project file")]
    project_path: Option<String>,
    #[schemars(description = "dotnet, cargo, go, npm, cmake, pytest, ruby, make")]
    tool: Option<String>,
    #[schemars(extend("default" = DEFAULT_TIMEOUT.as_millis()))]
    timeout_ms: Option<u64>,
    #[schemars(extend("default" = DEFAULT_OUTPUT_BYTES))]
    max_bytes: Option<u64>,
}

/// Arguments of the tools that `build` explains.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-unlisted" = ["tool", "maxBytes"]))]
struct ProjectArguments {
    project_path: Option<String>,
    tool: Option<String>,
    timeout_ms: Option<u64>,
    max_bytes: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CommandArguments {
    command: String,
    #[serde(default)]
    args: Vec<String>,
    working_directory: Option<String>,
    timeout_ms: Option<u64>,
    max_bytes: Option<u64>,
}

async fn project_quietly(
    call: &ToolCall,
    arguments: ProjectArguments,
    action: BuildAction,
) -> Result<Value, Failure> {
    let ProjectArguments { project_path, tool, timeout_ms, max_bytes } = arguments;
    project(call, BuildArguments { project_path, tool, timeout_ms, max_bytes }, action).await
}

async fn project(call: &ToolCall, arguments: BuildArguments, action: BuildAction) -> Result<Value, Failure> {
    let (path, tool) = (arguments.project_path.as_deref(), arguments.tool.as_deref());
    let project = Project::find(&call.bridge.options.roots, path, tool)?;
    let chosen = RunnerArguments::default();
    let most = output_bytes(arguments.max_bytes);
    let key = format!("{} {project:?} {chosen:?}", action.name());
    wait(call, &key, arguments.timeout_ms, move |cancel, say| {
        build::run(project, action, chosen, most, cancel, say)
    })
    .await
}

async fn command(call: &ToolCall, arguments: CommandArguments) -> Result<Value, Failure> {
    let (program, words) = command_line::parse(&arguments.command)?;
    let folder = call.bridge.options.roots.folder(arguments.working_directory.as_deref())?;
    let command = ProcessCommand::new(program, folder).args(words).args(arguments.args);
    let most = output_bytes(arguments.max_bytes);
    let key = format!("command {command:?}");
    wait(call, &key, arguments.timeout_ms, move |cancel, say| async move {
        answer(&commands::run(command, most, cancel, say).await?)
    })
    .await
}

/// Bytes of output in one answer: those that a call asks for, or the default.
pub(super) fn output_bytes(max_bytes: Option<u64>) -> usize {
    let limit = max_bytes.unwrap_or(DEFAULT_OUTPUT_BYTES).min(MAX_OUTPUT_BYTES);
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// Waits for work, telling how far it is; leaves it going when patience ends.
pub(super) async fn wait<W>(
    call: &ToolCall,
    key: &str,
    timeout_ms: Option<u64>,
    start: impl FnOnce(CancellationToken, ProgressSink) -> W,
) -> Result<Value, Failure>
where
    W: Future<Output = Result<Value, Failure>> + Send + 'static,
{
    let patience = timeout_ms.map_or(DEFAULT_TIMEOUT, Duration::from_millis);
    let jobs = Arc::clone(&call.bridge.jobs);
    let tell = |message: String| call.progress.say(message);
    match jobs.wait(key, patience, &call.cancel, start, tell).await? {
        JobStatus::Done(answer) => Ok(answer),
        JobStatus::Pending(elapsed, output) => {
            let duration_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
            answer(&PendingJob { pending: true, duration_ms, output })
        }
    }
}

/// The answer while the work is not done.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PendingJob {
    pending: bool,
    duration_ms: u64,
    output: String,
}
