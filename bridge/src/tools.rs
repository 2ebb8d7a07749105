//! The tools: one verb, one object each; an answer has everything that an agent needs to continue. Each
//! module opens with the table of its tools. Not here: the list of all tools ([`crate::catalog`]), MCP
//! ([`crate::handler`]).
//!
//! By need: [`launch`] and [`sessions`], [`breakpoints`], [`execution`] with [`waiting`] and [`repeats`],
//! [`inspect`], [`assignment`] and [`snapshot`] (looking), [`trace`], [`follow`] with [`life`] and
//! [`timeline`] (over time), [`trying`] (experiments), [`testing`] with [`test_launch`] and
//! [`test_processes`], [`program_io`]; [`files`], [`git`], [`builds`].

use serde::Serialize;
use serde_json::Value;
use tandem_wire::{ErrorCode, Failure};

mod assignment;
mod attach;
pub mod breakpoints;
pub mod builds;
pub mod execution;
pub mod files;
pub mod follow;
mod frames;
pub mod git;
pub mod inspect;
pub mod launch;
mod launch_breakpoints;
mod life;
pub mod other_breakpoints;
pub mod program_io;
pub mod repeats;
mod row_path;
mod run_answer;
mod server_urls;
mod session_list;
mod session_state;
mod session_summary;
pub mod sessions;
mod shown_frame;
pub mod snapshot;
mod snapshot_difference;
mod source_lines;
mod stop_exception;
mod stops;
pub mod test_launch;
mod test_processes;
mod test_stops;
pub mod testing;
mod threads;
pub mod timeline;
pub mod trace;
pub mod trying;
mod unreadable;
mod value_path;
mod values;
mod waiting;

/// Converts an answer to JSON.
fn answer(value: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(value).map_err(|error| {
        Failure::new(ErrorCode::IoFailed, format!("cannot write the answer as JSON: {error}"))
    })
}
