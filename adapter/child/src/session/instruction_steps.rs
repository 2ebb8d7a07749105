//! Steps of one instruction for an adapter that steps whole lines only, by commands in its console.
//!
//! Not here: the commands, which are in the adapter's profile.

use serde::Deserialize;
use serde_json::Value;
use tandem_wire::command::Execution;
use tandem_wire::types;
use tandem_wire::{ErrorCode, Failure};
use tokio_util::sync::CancellationToken;

use super::super::profile::ConsoleProfile;
use super::super::state::ChildEvent;
use super::{AdapterSession, console};

/// The arguments of `next` and `stepIn` (DAP), as far as a step of one instruction needs them.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct StepToMake {
    thread_id: i64,
    #[serde(deserialize_with = "types::optional")]
    granularity: Option<String>,
    #[serde(deserialize_with = "types::optional")]
    single_thread: Option<bool>,
}

/// Whether a command makes this step: one of an instruction, which the adapter has no request for.
pub(super) fn need_command(session: &AdapterSession, arguments: &Value) -> bool {
    let step: StepToMake = types::read(arguments);
    step.granularity.as_deref() == Some("instruction") && !session.can("supportsSteppingGranularity")
}

/// Makes a step of one instruction.
///
/// # Errors
/// The adapter's own, and what its console prints if a command fails.
pub(super) async fn step(
    session: &AdapterSession,
    command: &str,
    arguments: Value,
    cancel: &CancellationToken,
) -> Result<Value, Failure> {
    let step: StepToMake = types::read(&arguments);
    let alone = step.single_thread == Some(true);
    let Some(console) = session.profile.console() else {
        return session.ask(command, arguments, cancel).await;
    };
    let [select, make] = console.instruction_step(command, step.thread_id, alone);
    run_command(session, console, &select, cancel).await?;
    session.learn(|known| known.step.begin(&arguments));
    drop(session.decide(ChildEvent::RequestSent(Execution::Step)));
    run_command(session, console, &make, cancel).await?;
    Ok(Value::Null)
}

async fn run_command(
    session: &AdapterSession,
    console: &dyn ConsoleProfile,
    command: &str,
    cancel: &CancellationToken,
) -> Result<(), Failure> {
    let printed = console::run(session, console, command, None, cancel).await?;
    match printed.split_once("error: ") {
        Some((_, reason)) => {
            let message = format!("cannot step by one instruction: {}", reason.trim());
            Err(Failure::new(ErrorCode::EngineFailed, message).hint("step by lines"))
        }
        None => Ok(()),
    }
}
