//! The connection to a session: to its socket, and the first request on it.

use serde_json::Value;
use tandem_registry::SessionRecord;
use tandem_wire::peer::Peer;
use tandem_wire::types::{self, InitializeRequestArguments};
use tandem_wire::{ErrorCode, Failure};
use tokio::net::UnixStream;

use super::REQUEST_TIMEOUT;

/// Removes fields that an adapter added to a body and that do not matter to agents.
pub(super) fn body(mut body: Value) -> Value {
    if let Some(fields) = body.as_object_mut() {
        fields.shift_remove(tandem_wire::EXTRA_FIELDS);
    }
    body
}

/// Connects to a live session.
///
/// # Errors
/// `UNSUPPORTED` when a newer release started it, `NO_SESSION` when its host does not answer.
pub(super) async fn connect(entry: &SessionRecord) -> Result<UnixStream, Failure> {
    if let Some(reason) = entry.join_obstacle() {
        return Err(Failure::new(
            ErrorCode::Unsupported,
            format!("cannot join session `{}`: {reason}", entry.id),
        )
        .hint("update tandem-mcp, or use the release that started the session"));
    }
    UnixStream::connect(&entry.socket).await.map_err(|error| {
        Failure::new(ErrorCode::NoSession, format!("cannot join session `{}`: {error}", entry.id))
            .hint("`debug_sessions` lists the live ones")
    })
}

/// Introduces this agent; with `looks_only`, as a client that may only look.
pub(super) async fn initialize(peer: &Peer, client: &str, looks_only: bool) -> Result<Value, Failure> {
    let yes = Some(true);
    let mut arguments = InitializeRequestArguments {
        client_id: Some("tandem-mcp".into()),
        client_name: Some(client.to_owned()),
        adapter_id: "tandem".into(),
        path_format: Some("path".into()),
        lines_start_at1: yes,
        columns_start_at1: yes,
        supports_variable_type: yes,
        supports_variable_paging: yes,
        supports_progress_reporting: yes,
        supports_invalidated_event: yes,
        ..InitializeRequestArguments::default()
    };
    if looks_only {
        arguments.rest.insert("tandemAccess".into(), "readOnly".into());
    }
    peer.request("initialize", types::body(&arguments), REQUEST_TIMEOUT).await
}
