//! Data breakpoints: what an expression names in the global scope, ids that the adapter must not see, and the
//! breakpoint of a stop.
//!
//! Not here: what an id means, and how long it is valid, which the hub decides.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tandem_wire::Failure;
use tandem_wire::types::{
    self, Breakpoint, BreakpointTarget, DataBreakpointInfoResponseBody, StackTraceResponseBody,
    ThreadsResponseBody,
};
use tokio_util::sync::CancellationToken;

use super::super::translate;
use super::data_locations::describe_data;
use super::{AdapterSession, console};
use tandem_engine::EngineAnswer;

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
/// also for an adapter that finds nothing without one. In a scope, it may mean that too.
pub(super) async fn find(
    session: Arc<AdapterSession>,
    mut arguments: Value,
    cancel: &CancellationToken,
) -> Result<EngineAnswer, Failure> {
    let data: DataInScope = types::read(&arguments);
    if !data.has_scope()
        && let Some(global) = in_outermost_frame(&session, &data, cancel).await
    {
        arguments = global;
    }
    let answer =
        session.clone().handle_command("dataBreakpointInfo".to_owned(), arguments, &[], cancel.clone());
    let answer = answer.await?;
    match data.has_scope() && is_global(&session, &data, &answer, cancel).await {
        true => Ok(EngineAnswer::LastingData(answer)),
        false => Ok(EngineAnswer::Body(answer)),
    }
}

/// Whether the data that was found in a scope is that of a global variable: its name is that of the same data
/// in the global scope.
async fn is_global(
    session: &AdapterSession,
    data: &DataInScope,
    answer: &Value,
    cancel: &CancellationToken,
) -> bool {
    let found: DataBreakpointInfoResponseBody = types::read(answer);
    if found.data_id.is_null() || !is_path(&data.name) {
        return false;
    }
    let Some(arguments) = in_outermost_frame(session, data, cancel).await else { return false };
    let global = describe_data(session, arguments, cancel).await.unwrap_or_default();
    types::read::<DataBreakpointInfoResponseBody>(&global).data_id == found.data_id
}

/// Whether a name can be evaluated once more: it calls and assigns nothing.
fn is_path(name: &str) -> bool {
    let is_of_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '[' | ']' | '*' | '&');
    name.replace("->", ".").chars().all(is_of_path)
}

/// The arguments for what the name means in the global scope; `None` if the adapter finds that by itself, or
/// nothing is stopped.
async fn in_outermost_frame(
    session: &AdapterSession,
    data: &DataInScope,
    cancel: &CancellationToken,
) -> Option<Value> {
    let name = session.profile.global_expression(&data.name)?;
    let frame_id = Some(outermost_frame(session, cancel).await?);
    let rest = data.rest.clone();
    Some(types::body(&DataInScope { name, frame_id, variables_reference: None, rest }))
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

#[cfg(test)]
mod tests {
    use super::is_path;

    #[test]
    fn only_a_path_to_data_is_looked_up_again() {
        for name in ["total", "a::total", "*first", "&total", "list[2].next", "p->next"] {
            assert!(is_path(name), "{name}");
        }
        for name in ["i = 5", "list[i++]", "list[i--]", "f(x)", "a, b", "i -= 1"] {
            assert!(!is_path(name), "{name}");
        }
    }
}
