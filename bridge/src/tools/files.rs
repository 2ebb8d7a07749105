//! Files, confined to the roots. The crate `workspace-tools` carries the work out; this module declares the
//! tools.

use std::sync::Arc;

use dap_wire::{ErrorCode, Failure};
use serde::Serialize;
use serde_json::Value;
use workspace_tools::files::{self, EntryType, reading, writing};
use workspace_tools::roots::Roots;

use crate::call::ToolCall;
use crate::tool::{Tool, ToolEffect, ToolGroup, run};

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
            description: "Read a text file, or lines of it, in parts.",
            input: &[
                "path:s!",
                "start:x=line, or next",
                "count:i",
                "maxBytes:i=65536",
                "encoding:s=or base64",
            ],
            output: &["content:s", "lines:i", "next:s"],
            run: run!(read),
        },
        Tool {
            name: "write_file",
            core: false,
            effect: ToolEffect::DestructiveIdempotent,
            description: "Create or replace a whole file, atomically.",
            input: &["path:s!", "content:s0!", "encoding:s=or base64"],
            output: &["bytesWritten:i", "created:b"],
            run: run!(write),
        },
        Tool {
            name: "list_directory",
            core: false,
            effect: ToolEffect::ReadOnly,
            description: "Names in a folder, and which are folders.",
            input: &["path:s", "start:i", "count:i=1000"],
            output: &["entries:a", "directories:a", "next:i"],
            run: run!(list),
        },
        Tool {
            name: "delete_file",
            core: false,
            effect: ToolEffect::Destructive,
            description: "Delete a file or link.",
            input: &["path:s!"],
            output: &["path:s"],
            run: run!(delete),
        },
        Tool {
            name: "create_directory",
            core: false,
            effect: ToolEffect::Idempotent,
            description: "Create a folder and its parents.",
            input: &["path:s!"],
            output: &["created:b"],
            run: run!(create_directory),
        },
        Tool {
            name: "file_exists",
            core: false,
            effect: ToolEffect::ReadOnly,
            description: "Whether a path is a file.",
            input: &["path:s!"],
            output: &["exists:b"],
            run: run!(exists, EntryType::File),
        },
        Tool {
            name: "directory_exists",
            core: false,
            effect: ToolEffect::ReadOnly,
            description: "Whether a path is a folder.",
            input: &["path:s!"],
            output: &["exists:b"],
            run: run!(exists, EntryType::Directory),
        },
    ],
};

async fn read(call: &ToolCall) -> Result<Value, Failure> {
    let start = match call.arguments.value("start") {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    };
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let selection = reading::ReadOptions {
        start,
        count: call.arguments.number("count")?.map(size),
        max_bytes: call.arguments.number("maxBytes")?.map_or(reading::DEFAULT_ANSWER_BYTES, size),
        base64: base64(call)?,
    };
    blocking(call, "path", move |roots, path| reading::read(roots, path, &selection)).await
}

async fn write(call: &ToolCall) -> Result<Value, Failure> {
    let content = call.arguments.need_content("content")?;
    let content = if base64(call)? { writing::decode(&content)? } else { content.into_bytes() };
    blocking(call, "path", move |roots, path| writing::write(roots, path, &content)).await
}

async fn list(call: &ToolCall) -> Result<Value, Failure> {
    let start = usize::try_from(call.arguments.number("start")?.unwrap_or(0)).unwrap_or(usize::MAX);
    let count = call.arguments.number("count")?.unwrap_or(DEFAULT_ENTRIES).clamp(1, 10 * DEFAULT_ENTRIES);
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let path = call.arguments.text("path")?.unwrap_or_else(|| ".".into());
    with_roots(call, move |roots| files::list(roots, &path, start, count)).await
}

async fn delete(call: &ToolCall) -> Result<Value, Failure> {
    blocking(call, "path", writing::delete).await
}

async fn create_directory(call: &ToolCall) -> Result<Value, Failure> {
    blocking(call, "path", writing::create_directory).await
}

async fn exists(call: &ToolCall, kind: EntryType) -> Result<Value, Failure> {
    blocking(call, "path", move |roots, path| files::exists(roots, path, kind)).await
}

fn base64(call: &ToolCall) -> Result<bool, Failure> {
    match call.arguments.text("encoding")?.as_deref() {
        None | Some("utf8" | "utf-8") => Ok(false),
        Some("base64") => Ok(true),
        Some(other) => Err(Failure::invalid(format!("`encoding` must be utf8 or base64, not `{other}`"))),
    }
}

/// Does something at the path of a call.
async fn blocking<T: Serialize + Send + 'static>(
    call: &ToolCall,
    key: &str,
    work: impl FnOnce(&Roots, &str) -> Result<T, Failure> + Send + 'static,
) -> Result<Value, Failure> {
    let path = call.arguments.need_text(key)?;
    with_roots(call, move |roots| work(roots, &path)).await
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
