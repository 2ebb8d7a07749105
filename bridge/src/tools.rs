//! What each tool does. One verb, one object; each answers with all an agent needs to go on.
//!
//! By need: [`launch`] (sessions), [`breakpoints`], [`execution`] (running and waiting), [`inspect`] (looking),
//! [`program_io`].

mod breakpoints;
mod execution;
mod inspect;
mod launch;
mod program_io;

use dap_wire::{ErrorCode, Failure};
use serde_json::Value;

use crate::server::Call;

/// Carries out one call.
///
/// # Errors
/// The tool's own, for the model to act on.
pub async fn call(name: &str, call: Call) -> Result<Value, Failure> {
    match name {
        "debug_launch" => launch::launch(&call).await,
        "debug_attach" => launch::attach(&call).await,
        "debug_disconnect" => launch::disconnect(&call).await,
        "debug_sessions" => launch::sessions(&call).await,
        "debug_status" => launch::status(&call).await,
        "debug_set_breakpoint" => breakpoints::set(&call).await,
        "debug_remove_breakpoint" => breakpoints::remove(&call).await,
        "debug_list_breakpoints" => breakpoints::list(&call).await,
        "debug_set_exception_breakpoints" => breakpoints::set_exception(&call).await,
        "debug_continue" => execution::run(&call, "continue").await,
        "debug_step_over" => execution::run(&call, "next").await,
        "debug_step_into" => execution::run(&call, "stepIn").await,
        "debug_step_out" => execution::run(&call, "stepOut").await,
        "debug_pause" => execution::run(&call, "pause").await,
        "debug_wait" => execution::wait(&call).await,
        "debug_variables" => inspect::variables(&call).await,
        "debug_stacktrace" => inspect::stacktrace(&call).await,
        "debug_evaluate" => inspect::evaluate(&call).await,
        "debug_snapshot" => inspect::snapshot(&call).await,
        "debug_threads" => inspect::pass(&call, "threads").await,
        "debug_modules" => inspect::pass(&call, "modules").await,
        "debug_exception_info" => inspect::exception_info(&call).await,
        "debug_set_variable" => inspect::set_variable(&call).await,
        "process_write_input" => program_io::write(&call).await,
        "process_read_output" => program_io::read(&call).await,
        other => Err(Failure::new(ErrorCode::Unsupported, format!("there is no tool `{other}`"))),
    }
}
