//! The process of a session as the session's host: starts its engine and the hosts of its child sessions, and
//! lets clients find it. Not here: the start and the end of the process ([`super::host`]).

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tandem_wire::peer::Peer;
use tandem_wire::{ErrorCode, Failure};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixListener;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use tandem_registry::{PublishedSession, ReservedId, SessionLauncher};

use super::child_hosts::{self, ChildHosts};
use super::child_session_client;
use crate::engines::select;
use tandem_engine::{ChildProcess, ChildSession, Engine, EngineEvent, StartedEngine};
use tandem_hub::clients::ParentClients;
use tandem_hub::event::{ClientOrigin, SessionDescription};
use tandem_process::terminal_size::TerminalSize;
use tandem_process::{Broker, Redirection};
use tandem_session::actor::Actor;
use tandem_session::connection::Connection;
use tandem_session::host::{Host, HostedChild};
use tandem_session::inbox::Inbox;

/// `outputBufferBytes` when the launch does not say.
pub(super) const DEFAULT_BUFFER_LEN: usize = 8 * 1024 * 1024;
const MIN_BUFFER_LEN: usize = 1024;
const MAX_BUFFER_LEN: usize = 1 << 30;

/// Size of the buffer between a child session and its internal client, bytes.
const CHILD_CLIENT_BUFFER_LEN: usize = 64 * 1024;

/// This process as the hub's host.
pub(super) struct HostProcess {
    pub(super) id: String,
    /// As long as the session lives, unless another process has reserved its id.
    pub(super) _reserved: Option<ReservedId>,
    pub(super) folder: PathBuf,
    /// Path of the `tandem-dap` executable.
    pub(super) stub: PathBuf,
    pub(super) published: Option<(PublishedSession, AbortHandle)>,
    /// Of a child session: its parent session, what its program is, for users, and the engine that waits for
    /// it if that is in this process.
    pub(super) parent: Option<String>,
    pub(super) title: Option<String>,
    pub(super) waiting: Option<ChildSession>,
    pub(super) children: ChildHosts,
}

impl Host for HostProcess {
    fn start_engine(
        &mut self,
        arguments: &Value,
        broker: &Broker,
        events: mpsc::UnboundedSender<EngineEvent>,
    ) -> Result<(StartedEngine, Arc<dyn Engine>), Failure> {
        if let Some(child) = &self.waiting {
            let gone = || Failure::new(ErrorCode::NoSession, "the program of this session has ended");
            let engine = child.engine(broker.clone(), events).ok_or_else(gone)?;
            return Ok((child.started.clone(), engine));
        }
        match &arguments["outputBufferBytes"] {
            Value::Null => {}
            bytes => match bytes.as_u64().and_then(|bytes| usize::try_from(bytes).ok()) {
                Some(bytes @ MIN_BUFFER_LEN..=MAX_BUFFER_LEN) => broker.set_buffer_bytes(bytes),
                _ => {
                    return Err(Failure::invalid(format!(
                        "`outputBufferBytes` is {bytes}; it must be a number from {MIN_BUFFER_LEN} to \
                         {MAX_BUFFER_LEN}"
                    )));
                }
            },
        }
        if !arguments["terminalSize"].is_null() {
            broker.resize_terminal(TerminalSize::parse(&arguments["terminalSize"])?)?;
        }
        broker.redirect(Redirection::parse(&arguments["stdio"], &base_folder(arguments))?)?;
        select::start(arguments, broker.clone(), events)
    }

    fn host_child(
        &mut self,
        child: ChildSession,
        clients: watch::Receiver<ParentClients>,
    ) -> Result<HostedChild, Failure> {
        let reserved = self.children.new_id();
        let id = reserved.to_string();
        // Its stdin, stdout and stderr are those of the program that started it.
        let broker = Broker::new(DEFAULT_BUFFER_LEN, self.stub.clone());
        broker.set_not_owned();
        let (launch, breakpoints) = (child.launch.clone(), child.breakpoints.clone());
        let process = Self {
            id: id.clone(),
            _reserved: Some(reserved),
            folder: self.folder.clone(),
            stub: self.stub.clone(),
            published: None,
            parent: Some(self.id.clone()),
            title: Some(child.name.clone()),
            waiting: Some(child),
            children: self.children.of_session(id.clone()),
        };
        let (actor, inbox) = Actor::new(&id, process, broker);
        let (ours, theirs) = tokio::io::duplex(CHILD_CLIENT_BUFFER_LEN);
        let (reader, writer) = tokio::io::split(ours);
        let (peer, incoming) = Peer::start(reader, writer);
        let ended = CancellationToken::new();
        let has_ended = ended.clone();
        tokio::spawn(async move {
            inbox.connected(ClientOrigin::First, split_connection(theirs)).await;
            drop(inbox);
            actor.run().await;
            has_ended.cancel();
        });
        let task = child_session_client::Task {
            command: "launch",
            arguments: launch,
            detach: CancellationToken::new(),
        };
        let session = child_session_client::run(
            peer,
            incoming,
            task,
            child_session_client::ParentState { breakpoints, clients },
        );
        tokio::spawn(async move {
            if let Err(failure) = session.await {
                tracing::warn!(%failure, "a child process is not debugged");
            }
        });
        // A client that is asked to open the session before its socket exists could not join it.
        let joinable = child_hosts::is_published(self.folder.join(format!("{id}.json")), ended);
        Ok(HostedChild { id, joinable: Some(Box::pin(joinable)) })
    }

    fn start_child_host(
        &mut self,
        child: ChildProcess,
        clients: watch::Receiver<ParentClients>,
    ) -> Result<HostedChild, Failure> {
        self.children.start(child, clients)
    }

    fn connect(&mut self, session: &str) -> Result<Connection, Failure> {
        let missing = |reason: String| {
            Failure::new(ErrorCode::NoSession, format!("cannot join session `{session}`: {reason}"))
                .hint("`tandem-dap sessions` lists the live ones")
        };
        let entry = tandem_registry::find(session);
        let entry = entry.ok_or_else(|| missing("it does not exist".into()))?;
        if let Some(reason) = entry.join_obstacle() {
            return Err(Failure::new(
                ErrorCode::Unsupported,
                format!("cannot join session `{session}`: {reason}"),
            )
            .hint("update Tandem here, or use the release that started the session"));
        }
        let socket = tandem_registry::connect(&entry.socket).map_err(|error| missing(error.to_string()))?;
        tokio::net::UnixStream::from_std(socket)
            .map(split_connection)
            .map_err(|error| missing(error.to_string()))
    }

    fn publish(&mut self, mut description: SessionDescription, inbox: &Inbox) {
        if let Some(title) = &self.title {
            // The program of its launch is the one that started it.
            description.title.clone_from(title);
        }
        if let Some((published, _)) = &mut self.published {
            let changed = published.change(|entry| {
                entry.title = description.title;
                entry.program = description.program;
                entry.engine = description.engine;
                entry.cwd = description.cwd;
                entry.launched_by = SessionLauncher { client: description.client, kind: description.kind };
            });
            return changed
                .unwrap_or_else(|error| tracing::error!("the session's file is out of date: {error:#}"));
        }
        let entry = tandem_registry::SessionRecord {
            id: self.id.clone(),
            pid: std::process::id(),
            title: description.title,
            program: description.program,
            engine: description.engine,
            cwd: description.cwd,
            version: String::new(),
            protocol: 0,
            started: 0,
            socket: PathBuf::new(),
            launched_by: SessionLauncher { client: description.client, kind: description.kind },
            parent: self.parent.clone(),
        };
        let listening = PublishedSession::new(&self.folder, entry).and_then(|(published, listener)| {
            listener.set_nonblocking(true)?;
            Ok((published, UnixListener::from_std(listener)?))
        });
        match listening {
            Ok((published, listener)) => {
                let accepting = tokio::spawn(accept(listener, inbox.clone()));
                self.published = Some((published, accepting.abort_handle()));
            }
            // The session works; it only cannot be joined.
            Err(error) => tracing::error!("the session cannot be joined: {error:#}"),
        }
    }

    fn unpublish(&mut self) {
        if let Some((published, accepting)) = self.published.take() {
            accepting.abort();
            drop(published);
        }
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        self.unpublish();
    }
}

async fn accept(listener: UnixListener, inbox: Inbox) {
    while let Ok((socket, _)) = listener.accept().await {
        // No other user can reach it, unless the mode of its folder was changed.
        if !tandem_peers::user_of_unix(&socket).is_ok_and(tandem_peers::is_trusted) {
            tracing::warn!("a connection of another user was refused");
            continue;
        }
        inbox.connected(ClientOrigin::Socket, split_connection(socket)).await;
    }
}

/// Where relative paths of a launch begin.
fn base_folder(arguments: &Value) -> PathBuf {
    let workspace = arguments["__workspaceFolder"].as_str().map(PathBuf::from).unwrap_or_default();
    let folder = arguments["cwd"].as_str().map_or_else(|| workspace.clone(), |cwd| workspace.join(cwd));
    // The host's own folder is that of the process that started it.
    std::path::absolute(folder).or_else(|_| std::env::current_dir()).unwrap_or_else(|_| PathBuf::from("/"))
}

pub(super) fn split_connection<S: AsyncRead + AsyncWrite + Send + 'static>(socket: S) -> Connection {
    let (reader, writer) = tokio::io::split(socket);
    Connection { reader: Box::new(reader), writer: Box::new(writer) }
}
