//! Data that is not in memory, so that nothing can watch it.
//!
//! Not here: the names by which an adapter finds data (`registry::lldb`).

use serde::Deserialize;
use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{self, DataBreakpointInfoResponseBody, optional};
use tokio_util::sync::CancellationToken;

use super::{AdapterSession, console};

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
    if let Some(console) = session.profile.console()
        && let Some(query) = console.location_query(&arguments)
    {
        let DataInFrame { name, frame_id } = types::read(&arguments);
        // A name that the command does not find may be an expression.
        let answer = console::run(session, console, &query, frame_id, cancel).await.unwrap_or_default();
        if let Some(location) = console.location_outside_memory(&answer) {
            return Ok(types::body(&DataBreakpointInfoResponseBody {
                description: format!("`{name}` is in `{location}`; only memory can be watched"),
                ..DataBreakpointInfoResponseBody::default()
            }));
        }
    }
    session.ask("dataBreakpointInfo", arguments, cancel).await
}
