//! What each tool does. One verb, one object; each answers with all an agent needs to go on. Each module opens with the
//! table of its tools.
//!
//! By need: [`launch`] and [`sessions`], [`breakpoints`], [`execution`] (running and waiting), [`inspect`] and [`snapshot`]
//! (looking), [`trace`] and [`timeline`] (over time), [`test_run`], [`program_io`]; [`files`], [`git`], [`builds`].

use dap_wire::{ErrorCode, Failure};
use serde::Serialize;
use serde_json::Value;

mod attaching;
pub mod breakpoints;
pub mod builds;
pub mod execution;
pub mod files;
pub mod git;
pub mod inspect;
pub mod launch;
mod listing;
pub mod program_io;
mod serving;
pub mod sessions;
pub mod snapshot;
mod stops;
mod test_kinds;
pub mod test_run;
pub mod timeline;
pub mod trace;
mod values;

/// An answer as JSON.
fn answer(value: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(value).map_err(|error| {
        Failure::new(ErrorCode::IoFailed, format!("the answer cannot be written as JSON: {error}"))
    })
}
