//! Sessions as MCP resources: `debug://sessions/{id}/{view}`, to read and to subscribe to. They come on top
//! of the tools, never instead of one: many clients do not show them to a model.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tandem_wire::types::SessionInfoArguments;
use tandem_wire::{ErrorCode, Failure};
use tokio::sync::broadcast::error::RecvError;

use crate::bounds::Budget;
use crate::server::Bridge;
use crate::session::AgentSession;
use crate::tools::{breakpoints, other_breakpoints, sessions, timeline};

/// Prefix of every resource URI.
const PREFIX: &str = "debug://sessions/";
/// The shortest time between two notifications of one address: output may come in floods.
const NOTIFICATION_INTERVAL: Duration = Duration::from_millis(200);
/// Newest output in the resource, bytes per stream.
const MAX_OUTPUT_BYTES: u64 = 32 * 1024;

/// A view of a session: its name, its content, and the events after which the content changes.
struct ResourceView {
    name: &'static str,
    description: &'static str,
    after: &'static [&'static str],
}

const VIEWS: [ResourceView; 5] = [
    ResourceView {
        name: "state",
        description: "the program's state, and the session's clients",
        after: &["stopped", "continued", "exited", "terminated", "process", "sessionChanged"],
    },
    ResourceView {
        name: "threads",
        description: "the program's threads",
        after: &["stopped", "thread", "exited", "terminated"],
    },
    ResourceView {
        name: "breakpoints",
        description: "breakpoints of all clients",
        after: &["breakpoint", "sessionChanged"],
    },
    ResourceView { name: "output", description: "what the program printed last", after: &["output"] },
    ResourceView {
        name: "timeline",
        description: "what happened, in one order",
        after: &["stopped", "exited", "terminated", "output", "breakpoint", "sessionChanged", "process"],
    },
];

/// An address taken apart.
#[derive(Clone)]
pub struct ResourceUri {
    uri: String,
    session: String,
    view: usize,
}

impl ResourceUri {
    /// Parses the URI of a resource.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when Tandem has no such resource.
    pub fn parse(uri: &str) -> Result<Self, Failure> {
        let parts = uri.strip_prefix(PREFIX).and_then(|rest| rest.split_once('/'));
        let found = parts.and_then(|(session, name)| {
            let view = VIEWS.iter().position(|view| view.name == name)?;
            Some(Self { uri: uri.to_owned(), session: session.to_owned(), view })
                .filter(|_| !session.is_empty())
        });
        found.ok_or_else(|| {
            Failure::invalid(format!("there is no resource `{uri}`")).hint(format!("they are {TEMPLATE}"))
        })
    }

    fn view(&self) -> Option<&'static ResourceView> {
        VIEWS.get(self.view)
    }
}

/// The URI template of all of them.
pub const TEMPLATE: &str = "debug://sessions/{session}/{view}";

/// Names of the views of a session.
pub fn views() -> impl Iterator<Item = &'static str> {
    VIEWS.iter().map(|view| view.name)
}

/// URI, name and description of each resource of the sessions this agent is in.
pub fn list(bridge: &Bridge) -> Vec<(String, String, String)> {
    let joined = bridge.joined_sessions();
    let each = joined.iter().flat_map(|session| {
        VIEWS.iter().map(|view| {
            let uri = format!("{PREFIX}{}/{}", session.id, view.name);
            (
                uri,
                format!("{} {}", session.id, view.name),
                format!("Session {}: {}.", session.id, view.description),
            )
        })
    });
    each.collect()
}

async fn session(bridge: &Bridge, address: &ResourceUri) -> Result<Arc<AgentSession>, Failure> {
    let joined = bridge.joined_sessions().into_iter().find(|session| session.id == address.session);
    joined.ok_or_else(|| {
        Failure::new(ErrorCode::NoSession, format!("you are not in a session `{}`", address.session))
            .hint("debug_sessions joins one")
    })
}

/// Reads the current content of a resource.
///
/// # Errors
/// `NO_SESSION`, or the errors of the session.
pub async fn read(bridge: &Bridge, address: &ResourceUri) -> Result<Value, Failure> {
    let session = session(bridge, address).await?;
    match address.view().map(|view| view.name) {
        Some("threads") => session.ask("threads", json!({})).await,
        Some("breakpoints") => {
            let info = session.send(&SessionInfoArguments::default()).await?;
            let own = breakpoints::bodies(&session);
            let others = other_breakpoints::others(&info.clients.unwrap_or_default());
            Ok(json!({ "breakpoints": own, "others": others }))
        }
        Some("output") => session.ask("processReadOutput", json!({ "maxBytes": MAX_OUTPUT_BYTES })).await,
        Some("timeline") => Ok(timeline::read(&session, 1, &[], 500, Budget::of(None))),
        _ => sessions::state_of(&session).await,
    }
}

/// Calls `tell` each time the content of a resource changes, until the session or the client is gone.
///
/// # Errors
/// `NO_SESSION` if the resource's session is unknown.
pub async fn watch<F, T>(
    bridge: &Bridge,
    address: ResourceUri,
    mut tell: F,
) -> Result<impl Future<Output = ()> + use<F, T>, Failure>
where
    F: FnMut(String) -> T + Send,
    T: Future<Output = bool> + Send,
{
    let session = session(bridge, &address).await?;
    let mut events = session.listener.events();
    drop(session);
    Ok(async move {
        let after = address.view().map(|view| view.after).unwrap_or_default();
        loop {
            let changed = match events.recv().await {
                Ok(event) => after.contains(&event.event.as_str()),
                Err(RecvError::Lagged(_)) => true,
                Err(RecvError::Closed) => return,
            };
            if !changed {
                continue;
            }
            if !tell(address.uri.clone()).await {
                return;
            }
            // One notification covers all changes until then.
            tokio::time::sleep(NOTIFICATION_INTERVAL).await;
            let mut more = false;
            loop {
                match events.try_recv() {
                    Ok(event) => more |= after.contains(&event.event.as_str()),
                    Err(tokio::sync::broadcast::error::TryRecvError::Lagged(_)) => more = true,
                    Err(_) => break,
                }
            }
            if more && !tell(address.uri.clone()).await {
                return;
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_addresses_are_taken() {
        for uri in ["debug://sessions/fox7/state", "debug://sessions/a/timeline"] {
            assert!(ResourceUri::parse(uri).is_ok(), "{uri}");
        }
        for uri in ["debug://sessions//state", "debug://sessions/fox7/nope", "file:///etc/passwd", ""] {
            assert!(ResourceUri::parse(uri).is_err(), "{uri}");
        }
    }
}
