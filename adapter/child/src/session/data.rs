//! Data breakpoints: what an expression names without a frame, ids that the adapter must not see, and the
//! breakpoint of a stop.
//!
//! Not here: what an id means, and how long it is valid, which the hub decides.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tandem_wire::Failure;
use tandem_wire::types::{self, Breakpoint, BreakpointTarget, StackTraceResponseBody, ThreadsResponseBody};
use tokio_util::sync::CancellationToken;

use super::super::translate;
use super::data_locations::describe_data;
use super::{AdapterSession, console};

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
    let requested = types::list_mut(&mut arguments, "breakpoints").cloned().unwrap_or_default();
    let mut answer = session.ask("setDataBreakpoints", arguments, cancel).await?;
    if let Some(console) = session.profile.console()
        && let Some(breakpoints) = types::list_mut(&mut answer, "breakpoints")
        && breakpoints.iter().any(has_no_id)
    {
        let listed = console::run(session, console, console.list_of_watched(), None, cancel).await;
        let listed = listed.unwrap_or_default();
        for (breakpoint, request) in breakpoints.iter_mut().zip(requested) {
            let BreakpointTarget { data_id, .. } = types::read(&request);
            if has_no_id(breakpoint)
                && let Some(id) = data_id.and_then(|data_id| console.watched_id(&listed, &data_id))
            {
                types::set(breakpoint, "id", id);
            }
        }
    }
    translate::insert_answers(&mut answer, taken);
    Ok(answer)
}

/// Whether the adapter has set a breakpoint and not numbered it: no stop would name it.
fn has_no_id(breakpoint: &Value) -> bool {
    let Breakpoint { id, verified, .. } = types::read(breakpoint);
    verified && id.is_none()
}
