//! Builds, diagnostics, and commands. The crate `workspace-tools` carries them out; this module declares the
//! tools, and returns `pending` from a call that has waited long enough while the work continues.

use std::sync::Arc;
use std::time::Duration;

use dap_wire::Failure;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use workspace_tools::build::project::Project;
use workspace_tools::build::{self, BuildAction, RunnerArguments};
use workspace_tools::command_line;
use workspace_tools::commands;
use workspace_tools::jobs::{JobStatus, ProgressSink};
use workspace_tools::process::ProcessCommand;

use crate::call::ToolCall;
use crate::catalog::RUN_COMMAND;
use crate::tool::{Tool, ToolEffect, ToolGroup, run};

/// Default time that a call waits. Builds often take longer than debugging, and
/// clients abort calls after 60 s.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(50);
/// Output in one answer by default, bytes.
const DEFAULT_OUTPUT_BYTES: u64 = 8 << 10;
/// The largest `maxBytes` of an output.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;

/// The tools that build and run commands.
pub const GROUP: ToolGroup = ToolGroup {
    name: "builds",
    tools: &[
        Tool {
            name: "build",
            core: false,
            effect: ToolEffect::Mutating,
            description: "Build the folder's project. Returns LSP diagnostics by file; if pending, call \
                again to keep waiting.",
            input: &[
                "projectPath:s=folder or project file",
                "tool:s=dotnet, cargo, go, npm, cmake, pytest, ruby, make",
                "timeoutMs:i=50000",
                "maxBytes:i=8192",
            ],
            output: &["exitCode:i", "output:s", "diagnostics:o", "errors:i", "warnings:i", "pending:b"],
            run: run!(project, BuildAction::Build),
        },
        Tool {
            name: "restore",
            core: false,
            effect: ToolEffect::Idempotent,
            description: "Like build: fetch dependencies.",
            input: &["projectPath:s", "timeoutMs:i"],
            output: &["exitCode:i", "output:s", "pending:b"],
            run: run!(project, BuildAction::Restore),
        },
        Tool {
            name: "get_diagnostics",
            core: false,
            effect: ToolEffect::Idempotent,
            description: "Like build, but only checks.",
            input: &["projectPath:s", "timeoutMs:i"],
            output: &["diagnostics:o", "errors:i", "warnings:i", "pending:b"],
            run: run!(project, BuildAction::Check),
        },
        Tool {
            name: RUN_COMMAND,
            core: false,
            effect: ToolEffect::Destructive,
            description: "Run a program, without a shell. Double quotes keep spaces.",
            input: &["command:s!", "args:as", "workingDirectory:s", "timeoutMs:i", "maxBytes:i"],
            output: &["exitCode:i", "stdout:s", "stderr:s", "pending:b"],
            run: run!(command),
        },
    ],
};

async fn project(call: &ToolCall, action: BuildAction) -> Result<Value, Failure> {
    let (path, tool) = (call.arguments.text("projectPath")?, call.arguments.text("tool")?);
    let project = Project::find(&call.bridge.options.roots, path.as_deref(), tool.as_deref())?;
    let chosen = RunnerArguments::default();
    let most = output_bytes(call)?;
    let key = format!("{} {project:?} {chosen:?}", action.name());
    wait(call, &key, move |cancel, say| build::run(project, action, chosen, most, cancel, say)).await
}

async fn command(call: &ToolCall) -> Result<Value, Failure> {
    let (program, arguments) = command_line::parse(&call.arguments.need_text("command")?)?;
    let more = call.arguments.texts("args")?;
    let folder = call.bridge.options.roots.folder(call.arguments.text("workingDirectory")?.as_deref())?;
    let command = ProcessCommand::new(program, folder).args(arguments).args(more);
    let most = output_bytes(call)?;
    let key = format!("command {command:?}");
    wait(call, &key, move |cancel, say| commands::run(command, most, cancel, say)).await
}

pub(super) fn output_bytes(call: &ToolCall) -> Result<usize, Failure> {
    let limit = call.arguments.number("maxBytes")?.unwrap_or(DEFAULT_OUTPUT_BYTES).min(MAX_OUTPUT_BYTES);
    Ok(usize::try_from(limit).unwrap_or(usize::MAX))
}

/// Waits for work, telling how far it is; leaves it going when patience ends.
pub(super) async fn wait<W>(
    call: &ToolCall,
    key: &str,
    start: impl FnOnce(CancellationToken, ProgressSink) -> W,
) -> Result<Value, Failure>
where
    W: Future<Output = Result<Value, Failure>> + Send + 'static,
{
    let patience = call.arguments.number("timeoutMs")?.map_or(DEFAULT_TIMEOUT, Duration::from_millis);
    let jobs = Arc::clone(&call.bridge.jobs);
    let tell = |message: String| call.progress.say(message);
    match jobs.wait(key, patience, &call.cancel, start, tell).await? {
        JobStatus::Done(answer) => Ok(answer),
        JobStatus::Pending(elapsed, output) => Ok(json!({
            "pending": true,
            "durationMs": u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            "output": output,
        })),
    }
}
