//! Data that is not in memory, so that nothing can watch it.
//!
//! Not here: the names by which an adapter finds data (`registry::lldb`).

use serde::Deserialize;
use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{
    self, DataBreakpointInfoResponseBody, EvaluateArguments, EvaluateResponseBody, optional,
};
use tokio_util::sync::CancellationToken;

use super::AdapterSession;

/// The data that a `dataBreakpointInfo` names in a frame.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DataInFrame {
    name: String,
    #[serde(deserialize_with = "optional")]
    frame_id: Option<i64>,
}

/// `dataBreakpointInfo`, without an id for data in a register: the adapter would have a copy watched.
pub(super) async fn describe_data(
    session: &AdapterSession,
    arguments: Value,
    cancel: &CancellationToken,
) -> Result<Value, Failure> {
    if let Some(query) = session.profile.location_query(&arguments) {
        let DataInFrame { name, frame_id } = types::read(&arguments);
        let query = EvaluateArguments {
            expression: query,
            frame_id,
            context: Some("repl".into()),
            ..EvaluateArguments::default()
        };
        let answer = session.ask("evaluate", types::body(&query), cancel).await;
        // A name that the command does not find may be an expression.
        let answer: EvaluateResponseBody = types::read(&answer.unwrap_or_default());
        if let Some(location) = session.profile.location_outside_memory(&answer.result) {
            return Ok(types::body(&DataBreakpointInfoResponseBody {
                description: format!("`{name}` is in `{location}`; only memory can be watched"),
                ..DataBreakpointInfoResponseBody::default()
            }));
        }
    }
    session.ask("dataBreakpointInfo", arguments, cancel).await
}
