//! What the hub needs of the process it lives in: an engine, the way to other sessions, a place where others find it.

use std::sync::Arc;

use dap_wire::{ErrorCode, Failure};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};

use super::Inbox;
use crate::engine::{Engine, EngineEvent, Spawned};
use crate::hub::access::AgentAccess;
use crate::hub::event::{Publication, StartedEngine};
use crate::io::Broker;

/// What the hub needs of its host.
pub trait Host {
    /// Makes the engine for these arguments.
    ///
    /// # Errors
    /// Why there is none.
    fn start_engine(
        &mut self,
        arguments: &Value,
        broker: &Broker,
        events: mpsc::UnboundedSender<EngineEvent>,
    ) -> Result<(StartedEngine, Arc<dyn Engine>), Failure>;

    /// Makes a session for a program that this session's program has started; gives its id. Agents may do in it what they may
    /// do here.
    ///
    /// # Errors
    /// Why there is none; `UNSUPPORTED` from a host with room for one session.
    fn adopt(&mut self, spawned: Spawned, _access: watch::Receiver<AgentAccess>) -> Result<String, Failure> {
        let message = format!("there is no room for a session of {}", spawned.name);
        Err(Failure::new(ErrorCode::Unsupported, message))
    }

    /// Connects to another live session's socket.
    ///
    /// # Errors
    /// `NO_SESSION` when nobody listens there.
    fn connect(&mut self, session: &str) -> Result<Connection, Failure>;

    /// Lets others join.
    fn publish(&mut self, publication: Publication, inbox: &Inbox);

    /// Nobody joins any more.
    fn unpublish(&mut self);
}

/// Both halves of a client's connection.
pub struct Connection {
    /// What it says.
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    /// What it is told.
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
}
