//! Internal DAP client that drives the session of a debugged child process.
//!
//! It launches the waiting engine, keeps the parent session's breakpoints, and what agents may do there, in
//! the child's session as long as it lives, and leaves when the child has ended. Ends with the child session.

use std::time::Duration;

use dap_wire::peer::{Incoming, Peer};
use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::engine::BreakpointSnapshot;
use crate::hub::access::AgentAccess;

/// Maximum time of a request. A child that is not configured by then has ended.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// How the child session begins and ends.
pub struct Task {
    /// `launch` or `attach`.
    pub command: &'static str,
    /// The arguments of `command`.
    pub arguments: Value,
    /// Fires when the session must detach from its program.
    pub detach: CancellationToken,
}

/// The state of the parent session that also applies to the child's, as it changes.
pub struct ParentState {
    pub breakpoints: watch::Receiver<BreakpointSnapshot>,
    /// The access of agents in the parent session.
    pub access: watch::Receiver<AgentAccess>,
}

/// Launches a child session, or attaches it, and drives it until it has ended.
///
/// # Errors
/// Why its program is not debugged.
pub async fn run(
    peer: Peer,
    mut incoming: mpsc::UnboundedReceiver<Incoming>,
    task: Task,
    mut parent: ParentState,
) -> Result<(), Failure> {
    let initialize =
        json!({ "clientID": "tandem-parent", "clientName": "parent session", "adapterID": "tandem" });
    peer.request("initialize", initialize, REQUEST_TIMEOUT).await?;
    let Task { command, mut arguments, detach } = task;
    arguments["agentAccess"] = json!(parent.access.borrow_and_update().as_str());
    let launch = peer.request(command, arguments, REQUEST_TIMEOUT);
    tokio::pin!(launch);
    let mut launched = None;
    let mut held = BreakpointSnapshot::new();
    let mut configured = false;
    loop {
        tokio::select! {
            message = incoming.recv() => match message {
                Some(Incoming::Event(event)) if event.event == "initialized" => {
                    let wanted = parent.breakpoints.borrow_and_update().clone();
                    update_breakpoints(&peer, &mut held, wanted).await;
                    let done = peer.request("configurationDone", Value::Null, REQUEST_TIMEOUT).await;
                    configured = done.is_ok();
                }
                Some(Incoming::Event(event)) if event.event == "terminated" => break,
                Some(Incoming::Event(_)) => {}
                Some(Incoming::Request(request)) => {
                    let failure = Failure::new(ErrorCode::Unsupported, "no user is connected");
                    peer.respond(&request, Err(failure));
                }
                None => break,
            },
            changed = parent.breakpoints.changed(), if configured => {
                if changed.is_err() {
                    // The parent has ended; its breakpoints stay until the child ends with it.
                    configured = false;
                    continue;
                }
                let wanted = parent.breakpoints.borrow_and_update().clone();
                update_breakpoints(&peer, &mut held, wanted).await;
            }
            Ok(()) = parent.access.changed() => {
                let access = parent.access.borrow_and_update().as_str();
                let arguments = json!({ "agentAccess": access });
                if let Err(failure) = peer.request("sessionControl", arguments, REQUEST_TIMEOUT).await {
                    tracing::warn!(%failure, access, "agents may do in a child session what they may not in \
                        its parent");
                }
            }
            outcome = &mut launch, if launched.is_none() => {
                let failed = outcome.is_err();
                launched = Some(outcome.map(drop));
                if failed {
                    break;
                }
            }
            () = detach.cancelled() => break,
        }
    }
    // The session ends; its other clients may still read.
    drop(peer.request("disconnect", json!({ "handOver": false }), REQUEST_TIMEOUT).await);
    launched.unwrap_or(Ok(()))
}

/// Sends the lists that differ from what the child holds.
async fn update_breakpoints(peer: &Peer, held: &mut BreakpointSnapshot, wanted: BreakpointSnapshot) {
    for ((command, source), arguments) in &wanted {
        if held.get(&(command.clone(), source.clone())) != Some(arguments)
            && let Err(failure) = peer.request(command, arguments.clone(), REQUEST_TIMEOUT).await
        {
            tracing::debug!(%failure, command, source, "a breakpoint of the parent does not hold in the \
                child");
        }
    }
    *held = wanted;
}
