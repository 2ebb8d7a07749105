//! Git, confined to the roots. The crate `workspace-tools` carries the work out; this module declares the
//! tools.

use dap_wire::Failure;
use serde_json::Value;
use workspace_tools::git::repository::Repository;
use workspace_tools::git::{changes, diff, history, status};

use crate::call::ToolCall;
use crate::tool::{Tool, ToolEffect, ToolGroup, run};

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
            description: "Branch, and changed, staged, untracked files.",
            input: &["repositoryPath:s"],
            output: &["output:s", "branch:s", "clean:b", "files:a"],
            run: run!(git_status),
        },
        Tool {
            name: "git_log",
            core: false,
            effect: ToolEffect::ReadOnly,
            description: "Commits, latest first.",
            input: &["repositoryPath:s", "maxCount:i=10", "start:i=skip", "revision:s", "files:as"],
            output: &["output:s", "commits:a", "next:i"],
            run: run!(log),
        },
        Tool {
            name: "git_diff",
            core: false,
            effect: ToolEffect::ReadOnly,
            description: "Patch of unstaged or staged changes, or against a revision, in parts.",
            input: &["repositoryPath:s", "staged:b", "revision:s=or A..B", "files:as", "start:i"],
            output: &["output:s", "files:a", "next:i"],
            run: run!(git_diff),
        },
        Tool {
            name: "git_list_branches",
            core: false,
            effect: ToolEffect::ReadOnly,
            description: "Local and remote branches.",
            input: &["repositoryPath:s"],
            output: &["output:s", "branches:a"],
            run: run!(branches),
        },
        Tool {
            name: "git_current_branch",
            core: false,
            effect: ToolEffect::ReadOnly,
            description: "The branch that is checked out.",
            input: &["repositoryPath:s"],
            output: &["branch:s", "detached:b"],
            run: run!(current_branch),
        },
        Tool {
            name: "git_add",
            core: false,
            effect: ToolEffect::Idempotent,
            description: "Stage files, also deleted ones.",
            input: &["files:as!", "repositoryPath:s"],
            output: &["staged:a"],
            run: run!(add),
        },
        Tool {
            name: "git_commit",
            core: false,
            effect: ToolEffect::Mutating,
            description: "Commit staged changes.",
            input: &["message:s!", "repositoryPath:s"],
            output: &["hash:s", "branch:s"],
            run: run!(commit),
        },
    ],
};

async fn git_status(call: &ToolCall) -> Result<Value, Failure> {
    super::answer(&status::status(&open(call).await?).await?)
}

async fn current_branch(call: &ToolCall) -> Result<Value, Failure> {
    super::answer(&status::current_branch(&open(call).await?).await?)
}

async fn branches(call: &ToolCall) -> Result<Value, Failure> {
    super::answer(&history::branches(&open(call).await?).await?)
}

async fn log(call: &ToolCall) -> Result<Value, Failure> {
    let selection = history::LogOptions {
        count: call.arguments.number("maxCount")?.unwrap_or(10),
        start: call.arguments.number("start")?.unwrap_or(0),
        revision: call.arguments.text("revision")?,
        files: call.arguments.texts("files")?,
    };
    super::answer(&history::log(&open(call).await?, &selection).await?)
}

async fn git_diff(call: &ToolCall) -> Result<Value, Failure> {
    let most = call.arguments.number("maxBytes")?.unwrap_or(DEFAULT_PATCH_BYTES).min(MAX_PATCH_BYTES);
    let selection = diff::DiffOptions {
        staged: call.arguments.flag("staged")?.unwrap_or(false),
        revision: call.arguments.text("revision")?,
        files: call.arguments.texts("files")?,
        start: call.arguments.number("start")?.unwrap_or(0),
        max_bytes: usize::try_from(most).unwrap_or(usize::MAX),
    };
    super::answer(&diff::diff(&open(call).await?, &selection).await?)
}

async fn add(call: &ToolCall) -> Result<Value, Failure> {
    let files = call.arguments.texts("files")?;
    super::answer(&changes::add(&open(call).await?, &files).await?)
}

async fn commit(call: &ToolCall) -> Result<Value, Failure> {
    let message = call.arguments.need_text("message")?;
    super::answer(&changes::commit(&open(call).await?, &message).await?)
}

async fn open(call: &ToolCall) -> Result<Repository<'_>, Failure> {
    let folder = call.arguments.text("repositoryPath")?;
    let options = &call.bridge.options;
    // `--read-only` forbids running programs, even if other flags allow it.
    let commands = options.offer.commands && !options.offer.read_only;
    Repository::open(&options.roots, folder.as_deref(), commands, &call.cancel).await
}
