//! Sessions for unit tests, with the other end of the connection in the hands of the test. Starts no program.

use std::sync::Arc;

use tandem_wire::Request;
use tandem_wire::peer::{Incoming, Peer};
use tokio::sync::mpsc;

use super::AgentSession;
use crate::event_listener::listen;

/// A session, and the other end of its connection.
pub(crate) fn connect() -> (Arc<AgentSession>, Peer, mpsc::UnboundedReceiver<Incoming>) {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let ((reader, writer), (their_reader, their_writer)) = (tokio::io::split(ours), tokio::io::split(theirs));
    let (peer, incoming) = Peer::start_in_order(reader, writer);
    let session = AgentSession::of(peer.clone(), listen(incoming, peer), "agent");
    let (adapter, requests) = Peer::start(their_reader, their_writer);
    (Arc::new(session), adapter, requests)
}

/// The next request of the session.
pub(crate) async fn receive(requests: &mut mpsc::UnboundedReceiver<Incoming>) -> Request {
    match requests.recv().await {
        Some(Incoming::Request(request)) => request,
        other => panic!("{other:?}"),
    }
}
