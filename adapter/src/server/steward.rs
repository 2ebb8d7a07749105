//! Whoever launches a session that nobody asked for: the program of a session started another, and that is debugged too.
//!
//! A DAP client like any other, in this process: it launches the waiting engine, keeps the parent session's breakpoints, and
//! what agents may do, in the child's as long as it lives, and leaves when the child has ended. Ends with the child session.

use std::time::Duration;

use dap_wire::peer::{Incoming, Peer};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use crate::engine::Marks;
use crate::hub::access::AgentAccess;

/// A child that is not configured by then is not there any more.
const LIMIT: Duration = Duration::from_secs(60);

/// What of the parent session holds in the child's, as it changes.
pub struct Parent {
    /// Its breakpoints.
    pub marks: watch::Receiver<Marks>,
    /// What agents may do.
    pub access: watch::Receiver<AgentAccess>,
}

/// Launches and looks after a child session until it has ended.
pub async fn run(
    peer: Peer,
    mut incoming: mpsc::UnboundedReceiver<Incoming>,
    mut launch: Value,
    mut parent: Parent,
) {
    let hello = json!({ "clientID": "tandem-parent", "clientName": "parent session", "adapterID": "tandem" });
    if peer.request("initialize", hello, LIMIT).await.is_err() {
        return;
    }
    launch["agentAccess"] = json!(parent.access.borrow_and_update().as_str());
    let launching = tokio::spawn({
        let peer = peer.clone();
        async move { peer.request("launch", launch, LIMIT).await }
    });
    let mut set = Marks::new();
    let mut configured = false;
    loop {
        tokio::select! {
            said = incoming.recv() => match said {
                Some(Incoming::Event(event)) if event.event == "initialized" => {
                    let wanted = parent.marks.borrow_and_update().clone();
                    follow(&peer, &mut set, wanted).await;
                    configured = peer.request("configurationDone", Value::Null, LIMIT).await.is_ok();
                }
                Some(Incoming::Event(event)) if event.event == "terminated" => break,
                Some(Incoming::Event(_)) => {}
                Some(Incoming::Request(request)) => {
                    let failure = dap_wire::Failure::new(dap_wire::ErrorCode::Unsupported, "nobody is there");
                    peer.answer(&request, Err(failure));
                }
                None => break,
            },
            changed = parent.marks.changed(), if configured => {
                if changed.is_err() {
                    // The parent has ended; its breakpoints stay until the child ends with it.
                    configured = false;
                    continue;
                }
                let wanted = parent.marks.borrow_and_update().clone();
                follow(&peer, &mut set, wanted).await;
            }
            Ok(()) = parent.access.changed() => {
                let access = parent.access.borrow_and_update().as_str();
                if let Err(failure) = peer.request("sessionControl", json!({ "agentAccess": access }), LIMIT).await {
                    tracing::warn!(%failure, access, "agents may do in a child session what they may not in its parent");
                }
            }
        }
    }
    launching.abort();
    // The session ends; its other clients may still read.
    drop(peer.request("disconnect", Value::Null, LIMIT).await);
}

/// Sends what differs from what was set.
async fn follow(peer: &Peer, set: &mut Marks, wanted: Marks) {
    for ((command, place), arguments) in &wanted {
        if set.get(&(command.clone(), place.clone())) != Some(arguments)
            && let Err(failure) = peer.request(command, arguments.clone(), LIMIT).await
        {
            tracing::debug!(%failure, command, place, "a breakpoint of the parent does not hold in the child");
        }
    }
    *set = wanted;
}
