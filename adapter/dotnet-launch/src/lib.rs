//! The program that a .NET launch starts: its command, folder and variables, after a build of its project.
//!
//! For every debugger of .NET. Starts no program and knows no debugging interface; builds run the SDK.

mod attributes;
pub mod dotnet_command;
pub mod launch_settings;
pub mod native_host;
pub mod program;
pub mod project;
pub mod services;

pub use attributes::Attributes;
use serde_json::Value;
use tandem_engine::builds::EventSink;
use tandem_process::SpawnSpec;
use tandem_wire::Failure;

/// Resolves launch attributes for .NET: the program to start, where, and with which variables; builds a
/// project first. Also for other .NET debuggers. `send_event` receives the build's events.
///
/// # Errors
/// `INVALID_PARAMETER`, `LAUNCH_FAILED`, `NOT_DEBUGGABLE`, `BUILD_FAILED` with `data.diagnostics`,
/// `ENGINE_NOT_FOUND` without a `dotnet`, `CANCELLED`.
pub fn program_of(
    attributes: &Value,
    send_event: EventSink<'_>,
    give_up: &dyn Fn() -> bool,
) -> Result<SpawnSpec, Failure> {
    Ok(program::resolve(&Attributes(attributes), send_event, give_up)?.spec)
}
