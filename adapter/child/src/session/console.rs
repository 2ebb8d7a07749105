//! Commands in the adapter's console, for what it has no request for.
//!
//! Not here: the commands, which are in the adapter's profile.

use std::time::Duration;

use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{self, EvaluateArguments, EvaluateResponseBody};
use tokio_util::sync::CancellationToken;

use super::super::profile::ConsoleProfile;
use super::AdapterSession;

/// How long the command that follows a request for breakpoints may take.
const FOLLOWING_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs a command, in a frame if there is one; returns what it prints.
///
/// # Errors
/// The adapter's own. A command that fails may only print why.
pub(super) async fn run(
    session: &AdapterSession,
    console: &dyn ConsoleProfile,
    command: &str,
    frame_id: Option<i64>,
    cancel: &CancellationToken,
) -> Result<String, Failure> {
    let prefix = prefix(session, console);
    let arguments = EvaluateArguments {
        expression: format!("{prefix}{command}"),
        frame_id,
        context: Some("repl".to_owned()),
        ..EvaluateArguments::default()
    };
    let answer = session.ask("evaluate", types::body(&arguments), cancel).await?;
    let EvaluateResponseBody { result, .. } = types::read(&answer);
    Ok(result)
}

/// Runs the command that follows a request for breakpoints.
pub(super) async fn follow_breakpoints(session: &AdapterSession, cancel: &CancellationToken) {
    let Some(console) = session.profile.console() else { return };
    let command = run(session, console, console.after_breakpoints(), None, cancel);
    if !matches!(tokio::time::timeout(FOLLOWING_TIMEOUT, command).await, Ok(Ok(_))) {
        tracing::debug!("a breakpoint may stop several times in its line");
    }
}

/// What marks an expression as a command.
pub(super) fn prefix(session: &AdapterSession, console: &dyn ConsoleProfile) -> String {
    let attributes = session.live().as_ref().map(|live| Value::clone(&live.plan.arguments));
    console.command_prefix(attributes.as_ref().unwrap_or(&Value::Null))
}
