//! Data breakpoints: what an expression names without a frame, and ids that the adapter must not see.
//!
//! Not here: what an id means, and how long it is valid, which the hub decides.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tandem_wire::Failure;
use tandem_wire::types::{self, StackTraceResponseBody, ThreadsResponseBody};
use tokio_util::sync::CancellationToken;

use super::super::translate;
use super::AdapterSession;
use super::data_locations::describe_data;

/// Frames among which the outermost one is searched for.
const MAX_FRAMES: usize = 1000;

/// The arguments of `dataBreakpointInfo` (DAP), as far as they name a scope.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DataInScope {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    frame_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variables_reference: Option<i64>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl DataInScope {
    fn has_scope(&self) -> bool {
        self.frame_id.is_some() || self.variables_reference.is_some_and(|reference| reference != 0)
    }
}

/// Answers `dataBreakpointInfo`. Without a frame, an expression means what it does in the global scope,
/// also for an adapter that finds nothing without one.
pub(super) async fn find(
    session: &AdapterSession,
    mut arguments: Value,
    cancel: &CancellationToken,
) -> Result<Value, Failure> {
    let mut data: DataInScope = types::read(&arguments);
    if !data.has_scope()
        && let Some(global) = session.profile.global_expression(&data.name)
        && let Some(frame) = outermost_frame(session, cancel).await
    {
        (data.name, data.frame_id) = (global, Some(frame));
        arguments = types::body(&data);
    }
    describe_data(session, arguments, cancel).await
}

/// The outermost frame of a thread, which has no local variables of the user's: in a function of C, a name
/// with `::` is also a local one.
async fn outermost_frame(session: &AdapterSession, cancel: &CancellationToken) -> Option<i64> {
    let threads = session.ask("threads", Value::Null, cancel).await.ok()?;
    let thread = types::read::<ThreadsResponseBody>(&threads).threads.first()?.id;
    let stack = session.ask("stackTrace", types::top_frames(Some(thread), MAX_FRAMES), cancel).await.ok()?;
    Some(types::read::<StackTraceResponseBody>(&stack).stack_frames.last()?.id)
}

/// Sets data breakpoints, without those whose ids the adapter would not survive.
pub(super) async fn set_breakpoints(
    session: &AdapterSession,
    mut arguments: Value,
    cancel: &CancellationToken,
) -> Result<Value, Failure> {
    let taken = translate::take_data_breakpoints(&mut arguments, |id| session.profile.accepts_data_id(id));
    let mut answer = session.ask("setDataBreakpoints", arguments, cancel).await?;
    translate::insert_answers(&mut answer, taken);
    Ok(answer)
}
