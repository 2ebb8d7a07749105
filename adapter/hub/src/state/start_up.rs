//! The start of the program, until the client that launched it has configured. Not here: its requests
//! ([`super::lifecycle`]).

use serde_json::Value;

use crate::event::ClientRequest;
use crate::launch::Launch;

/// Whether the clients, and the engine, are configured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Configuration {
    /// The client that launched has not sent `configurationDone`.
    #[default]
    Open,
    /// The client has sent it, and the engine has received it.
    Done,
    /// The client has sent it, but the engine of a restart has not received it yet.
    Repeat,
}

/// The start of the program, until the client that launched has configured.
#[derive(Debug, Default)]
pub(super) struct StartUp {
    pub(super) launch: Launch,
    pub(super) configuration: Configuration,
    /// The launch or attach succeeded before the engine was initialized; its response waits for that.
    pub(super) early_reply: Option<(ClientRequest, Value)>,
}

impl StartUp {
    /// Whether the client that launched has sent `configurationDone`.
    pub(super) fn is_configured(&self) -> bool {
        self.configuration != Configuration::Open
    }
}
