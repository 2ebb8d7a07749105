//! The actor's interface to its process: engines, child sessions, connections to other sessions, and the
//! entry by which others find this one.
//!
//! Not here: an implementation, which `tandem-dap` has.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;
use tandem_wire::{ErrorCode, Failure};
use tokio::sync::{mpsc, watch};

use super::connection::Connection;
use super::inbox::Inbox;
use tandem_engine::{ChildProcess, ChildSession, Engine, EngineEvent, StartedEngine};
use tandem_hub::clients::ParentClients;
use tandem_hub::event::SessionDescription;
use tandem_process::Broker;

/// The process that hosts a session.
pub trait Host {
    /// Makes the engine for these arguments.
    ///
    /// # Errors
    /// If the engine cannot be created.
    fn start_engine(
        &mut self,
        arguments: &Value,
        broker: &Broker,
        events: mpsc::UnboundedSender<EngineEvent>,
    ) -> Result<(StartedEngine, Arc<dyn Engine>), Failure>;

    /// Hosts the session of a child process, which follows changes of `clients`.
    ///
    /// # Errors
    /// The reason why the session cannot be hosted; `UNSUPPORTED` from a host for one session only.
    fn host_child(
        &mut self,
        child: ChildSession,
        _clients: watch::Receiver<ParentClients>,
    ) -> Result<HostedChild, Failure> {
        let message = format!("too many sessions of {} are open", child.name);
        Err(Failure::new(ErrorCode::Unsupported, message))
    }

    /// Starts a host process for the session of a child process; otherwise as [`Host::host_child`].
    ///
    /// # Errors
    /// The reason why no host was started; `UNSUPPORTED` from a host that does not start others.
    fn start_child_host(
        &mut self,
        child: ChildProcess,
        _clients: watch::Receiver<ParentClients>,
    ) -> Result<HostedChild, Failure> {
        let message = format!("no host can be started for {}", child.name);
        Err(Failure::new(ErrorCode::Unsupported, message))
    }

    /// Connects to another live session's socket.
    ///
    /// # Errors
    /// `NO_SESSION` when no session listens there.
    fn connect(&mut self, session: &str) -> Result<Connection, Failure>;

    /// Publishes the session, so that others can join.
    fn publish(&mut self, description: SessionDescription, inbox: &Inbox);

    /// Accepts no more clients.
    fn unpublish(&mut self);
}

/// The session of a child process.
pub struct HostedChild {
    /// The id of the child's session.
    pub id: String,
    /// Whether it can be joined, as soon as that is known; `None` when it can be.
    pub joinable: Option<BoxFuture<'static, bool>>,
}
