//! The engine's side of the hub: the messages to its thread, the way back, and the request that it answers.
//! Carries out none of them ([`super::session`]).

use super::current_request::CurrentRequest;
use super::inbox::EngineInbox;
use super::outbox::Outbox;

/// The owners through which the engine's thread talks to the hub.
pub(super) struct HubLink {
    pub(super) inbox: EngineInbox,
    pub(super) outbox: Outbox,
    pub(super) request: CurrentRequest,
}
