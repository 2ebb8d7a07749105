//! The git tools, confined to the roots: their declarations.
//!
//! Runs no git: [`tandem_workspace::git`] does.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tandem_wire::Failure;
use tandem_workspace::git::repository::Repository;
use tandem_workspace::git::{changes, diff, history, status};

use crate::arguments::schema::ArgumentSchema;
use crate::call::ToolCall;
use crate::tool::{AnswerField, StopUse, Tool, ToolEffect, ToolGroup, run};

/// Commits of one `git_log` by default.
const DEFAULT_COMMITS: u64 = 10;
/// Bytes of a patch in one answer by default.
const DEFAULT_PATCH_BYTES: u64 = 64 << 10;
/// The largest `maxBytes` of a patch.
const MAX_PATCH_BYTES: u64 = 4 << 20;

/// The tools for Git repositories.
pub const GROUP: ToolGroup = ToolGroup {
    name: "git",
    tools: &[
        Tool {
            name: "git_status",
            core: false,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Independent,
            description: "Branch, and changed, staged, untracked files.",
            input: ArgumentSchema::of::<RepositoryArguments>,
            output: &[
                AnswerField::text("output"),
                AnswerField::text("branch"),
                AnswerField::flag("clean"),
                AnswerField::list("files"),
            ],
            run: run!(git_status),
        },
        Tool {
            name: "git_log",
            core: false,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Independent,
            description: "Commits, latest first.",
            input: ArgumentSchema::of::<LogArguments>,
            output: &[
                AnswerField::text("output"),
                AnswerField::list("commits"),
                AnswerField::integer("next"),
            ],
            run: run!(log),
        },
        Tool {
            name: "git_diff",
            core: false,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Independent,
            description: "Patch of unstaged or staged changes, or against a revision, in parts.",
            input: ArgumentSchema::of::<PatchArguments>,
            output: &[AnswerField::text("output"), AnswerField::list("files"), AnswerField::integer("next")],
            run: run!(git_diff),
        },
        Tool {
            name: "git_list_branches",
            core: false,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Independent,
            description: "Local and remote branches.",
            input: ArgumentSchema::of::<RepositoryArguments>,
            output: &[AnswerField::text("output"), AnswerField::list("branches")],
            run: run!(branches),
        },
        Tool {
            name: "git_current_branch",
            core: false,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Independent,
            description: "The branch that is checked out.",
            input: ArgumentSchema::of::<RepositoryArguments>,
            output: &[AnswerField::text("branch"), AnswerField::flag("detached")],
            run: run!(current_branch),
        },
        Tool {
            name: "git_add",
            core: false,
            effect: ToolEffect::Idempotent,
            stop: StopUse::Independent,
            description: "Stage files, also deleted ones.",
            input: ArgumentSchema::of::<AddArguments>,
            output: &[AnswerField::list("staged")],
            run: run!(add),
        },
        Tool {
            name: "git_commit",
            core: false,
            effect: ToolEffect::Mutating,
            stop: StopUse::Independent,
            description: "Commit staged changes.",
            input: ArgumentSchema::of::<CommitArguments>,
            output: &[AnswerField::text("hash"), AnswerField::text("branch")],
            run: run!(commit),
        },
    ],
};

/// Arguments of a tool that takes only a repository.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RepositoryArguments {
    repository_path: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LogArguments {
    repository_path: Option<String>,
    #[schemars(extend("default" = DEFAULT_COMMITS))]
    max_count: Option<u64>,
    #[schemars(description = "skip")]
    #[serde(default)]
    start: u64,
    revision: Option<String>,
    #[serde(default)]
    files: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-unlisted" = ["maxBytes"]))]
struct PatchArguments {
    repository_path: Option<String>,
    #[serde(default)]
    staged: bool,
    #[schemars(description = "or A..B")]
    revision: Option<String>,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    start: u64,
    max_bytes: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AddArguments {
    files: Vec<String>,
    repository_path: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CommitArguments {
    message: String,
    repository_path: Option<String>,
}

async fn git_status(call: &ToolCall, arguments: RepositoryArguments) -> Result<Value, Failure> {
    super::answer(&status::status(&open(call, arguments.repository_path).await?).await?)
}

async fn current_branch(call: &ToolCall, arguments: RepositoryArguments) -> Result<Value, Failure> {
    super::answer(&status::current_branch(&open(call, arguments.repository_path).await?).await?)
}

async fn branches(call: &ToolCall, arguments: RepositoryArguments) -> Result<Value, Failure> {
    super::answer(&history::branches(&open(call, arguments.repository_path).await?).await?)
}

async fn log(call: &ToolCall, arguments: LogArguments) -> Result<Value, Failure> {
    let selection = history::LogOptions {
        count: arguments.max_count.unwrap_or(DEFAULT_COMMITS),
        start: arguments.start,
        revision: arguments.revision,
        files: arguments.files,
    };
    super::answer(&history::log(&open(call, arguments.repository_path).await?, &selection).await?)
}

async fn git_diff(call: &ToolCall, arguments: PatchArguments) -> Result<Value, Failure> {
    let most = arguments.max_bytes.unwrap_or(DEFAULT_PATCH_BYTES).min(MAX_PATCH_BYTES);
    let selection = diff::DiffOptions {
        staged: arguments.staged,
        revision: arguments.revision,
        files: arguments.files,
        start: arguments.start,
        max_bytes: usize::try_from(most).unwrap_or(usize::MAX),
    };
    super::answer(&diff::diff(&open(call, arguments.repository_path).await?, &selection).await?)
}

async fn add(call: &ToolCall, arguments: AddArguments) -> Result<Value, Failure> {
    super::answer(&changes::add(&open(call, arguments.repository_path).await?, &arguments.files).await?)
}

async fn commit(call: &ToolCall, arguments: CommitArguments) -> Result<Value, Failure> {
    super::answer(&changes::commit(&open(call, arguments.repository_path).await?, &arguments.message).await?)
}

async fn open(call: &ToolCall, folder: Option<String>) -> Result<Repository<'_>, Failure> {
    let options = &call.bridge.options;
    // `--read-only` forbids running programs, even if other flags allow it.
    let commands = options.offer.commands && !options.offer.read_only;
    Repository::open(&options.roots, folder.as_deref(), commands, &call.cancel).await
}
