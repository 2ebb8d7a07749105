//! The file tools, confined to the roots: their declarations.
//!
//! Opens no file: [`tandem_workspace::files`] does.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::{ErrorCode, Failure};
use tandem_workspace::files::{self, EntryType, reading, writing};
use tandem_workspace::roots::Roots;

use crate::arguments::schema::{ArgumentSchema, IntegerOrText};
use crate::call::ToolCall;
use crate::tool::{AnswerField, StopUse, Tool, ToolEffect, ToolGroup, run};

/// Entries of one `list_directory`.
const DEFAULT_ENTRIES: u64 = 1000;

/// The tools for files and folders.
pub const GROUP: ToolGroup = ToolGroup {
    name: "files",
    tools: &[
        Tool {
            name: "read_file",
            core: false,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Independent,
            description: "Read a text file, or lines of it, in parts.",
            input: ArgumentSchema::of::<ReadArguments>,
            output: &[AnswerField::text("content"), AnswerField::integer("lines"), AnswerField::text("next")],
            run: run!(read),
        },
        Tool {
            name: "write_file",
            core: false,
            effect: ToolEffect::DestructiveIdempotent,
            stop: StopUse::Independent,
            description: "Create or replace a whole file, atomically.",
            input: ArgumentSchema::of::<WriteArguments>,
            output: &[AnswerField::integer("bytesWritten"), AnswerField::flag("created")],
            run: run!(write),
        },
        Tool {
            name: "list_directory",
            core: false,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Independent,
            description: "Names in a folder, and which are folders.",
            input: ArgumentSchema::of::<DirectoryArguments>,
            output: &[
                AnswerField::list("entries"),
                AnswerField::list("directories"),
                AnswerField::integer("next"),
            ],
            run: run!(list),
        },
        Tool {
            name: "delete_file",
            core: false,
            effect: ToolEffect::Destructive,
            stop: StopUse::Independent,
            description: "Delete a file or link.",
            input: ArgumentSchema::of::<PathArguments>,
            output: &[AnswerField::text("path")],
            run: run!(delete),
        },
        Tool {
            name: "create_directory",
            core: false,
            effect: ToolEffect::Idempotent,
            stop: StopUse::Independent,
            description: "Create a folder and its parents.",
            input: ArgumentSchema::of::<PathArguments>,
            output: &[AnswerField::flag("created")],
            run: run!(create_directory),
        },
        Tool {
            name: "file_exists",
            core: false,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Independent,
            description: "Whether a path is a file.",
            input: ArgumentSchema::of::<PathArguments>,
            output: &[AnswerField::flag("exists")],
            run: run!(exists, EntryType::File),
        },
        Tool {
            name: "directory_exists",
            core: false,
            effect: ToolEffect::ReadOnly,
            stop: StopUse::Independent,
            description: "Whether a path is a folder.",
            input: ArgumentSchema::of::<PathArguments>,
            output: &[AnswerField::flag("exists")],
            run: run!(exists, EntryType::Directory),
        },
    ],
};

/// Arguments of a tool that takes only a path.
#[derive(Deserialize, JsonSchema)]
struct PathArguments {
    path: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ReadArguments {
    path: String,
    #[schemars(description = "line, or next")]
    start: Option<IntegerOrText>,
    count: Option<u64>,
    #[schemars(extend("default" = reading::DEFAULT_ANSWER_BYTES))]
    max_bytes: Option<u64>,
    #[schemars(description = "or base64")]
    encoding: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct WriteArguments {
    path: String,
    #[schemars(length(min = 0))]
    content: String,
    #[schemars(description = "or base64")]
    encoding: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct DirectoryArguments {
    path: Option<String>,
    start: Option<u64>,
    #[schemars(extend("default" = DEFAULT_ENTRIES))]
    count: Option<u64>,
}

async fn read(call: &ToolCall, arguments: ReadArguments) -> Result<Value, Failure> {
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let selection = reading::ReadOptions {
        start: arguments.start.map(|start| start.to_string()),
        count: arguments.count.map(size),
        max_bytes: arguments.max_bytes.map_or(reading::DEFAULT_ANSWER_BYTES, size),
        base64: is_base64(arguments.encoding.as_deref())?,
    };
    with_roots(call, move |roots| reading::read(roots, &arguments.path, &selection)).await
}

async fn write(call: &ToolCall, arguments: WriteArguments) -> Result<Value, Failure> {
    let WriteArguments { path, content, encoding } = arguments;
    let content = match is_base64(encoding.as_deref())? {
        true => writing::decode(&content)?,
        false => content.into_bytes(),
    };
    with_roots(call, move |roots| writing::write(roots, &path, &content)).await
}

async fn list(call: &ToolCall, arguments: DirectoryArguments) -> Result<Value, Failure> {
    let start = usize::try_from(arguments.start.unwrap_or(0)).unwrap_or(usize::MAX);
    let count = arguments.count.unwrap_or(DEFAULT_ENTRIES).clamp(1, 10 * DEFAULT_ENTRIES);
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let path = arguments.path.unwrap_or_else(|| ".".into());
    with_roots(call, move |roots| files::list(roots, &path, start, count)).await
}

async fn delete(call: &ToolCall, PathArguments { path }: PathArguments) -> Result<Value, Failure> {
    with_roots(call, move |roots| writing::delete(roots, &path)).await
}

async fn create_directory(call: &ToolCall, PathArguments { path }: PathArguments) -> Result<Value, Failure> {
    with_roots(call, move |roots| writing::create_directory(roots, &path)).await
}

async fn exists(
    call: &ToolCall,
    PathArguments { path }: PathArguments,
    kind: EntryType,
) -> Result<Value, Failure> {
    with_roots(call, move |roots| files::exists(roots, &path, kind)).await
}

fn is_base64(encoding: Option<&str>) -> Result<bool, Failure> {
    match encoding {
        None | Some("utf8" | "utf-8") => Ok(false),
        Some("base64") => Ok(true),
        Some(other) => Err(Failure::invalid(format!("`encoding` must be utf8 or base64, not `{other}`"))),
    }
}

/// Does something that may wait for a disk, off the thread that serves the protocol.
async fn with_roots<T: Serialize + Send + 'static>(
    call: &ToolCall,
    work: impl FnOnce(&Roots) -> Result<T, Failure> + Send + 'static,
) -> Result<Value, Failure> {
    let roots = Arc::clone(&call.bridge.options.roots);
    match tokio::task::spawn_blocking(move || work(&roots)).await {
        Ok(answer) => super::answer(&answer?),
        Err(error) => Err(Failure::new(ErrorCode::IoFailed, format!("the tool crashed: {error}"))),
    }
}
