//! The host: the process of one session. Its stdin is the connection of its first client, or a socket over
//! which that client's own pipes were passed; other clients connect to its socket. Not here: the session
//! ([`tandem_session::actor`]).
//!
//! One thread runs everything except the engine and the pipes; it is the last to end. It ends when the hub
//! does, or on SIGTERM, SIGINT and SIGHUP, which end the session in good order first.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use dap_wire::peer::Peer;
use dap_wire::{ErrorCode, Failure};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use session_registry::{PublishedSession, ReservedId, SessionLauncher};

use super::child_hosts::{self, ChildHosts};
use super::relay::ChildOf;
use super::{child_session_client, fd_passing, stale_files};
use crate::engines::{expected_filters, select};
use crate::logging::LogSettings;
use tandem_engine::{ChildProcess, ChildSession, Engine, EngineEvent, StartedEngine};
use tandem_hub::access::{AgentAccess, Token};
use tandem_hub::clients::ParentClients;
use tandem_hub::event::{ClientOrigin, SessionDescription};
use tandem_process::terminal_size::TerminalSize;
use tandem_process::{Broker, Redirection};
use tandem_session::actor::Actor;
use tandem_session::connection::Connection;
use tandem_session::host::{Host, HostedChild};
use tandem_session::inbox::Inbox;

/// `outputBufferBytes` when the launch does not say.
const DEFAULT_BUFFER_LEN: usize = 8 * 1024 * 1024;
const MIN_BUFFER_LEN: usize = 1024;
const MAX_BUFFER_LEN: usize = 1 << 30;

/// Size of the buffer between a child session and its internal client, bytes.
const CHILD_CLIENT_BUFFER_LEN: usize = 64 * 1024;

/// Maximum time for which the end of a session waits for the hosts of its child sessions, which end with it.
const CHILDREN_END_TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum time for which the end of a session waits for the files of crashed hosts to be removed.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(2);

/// How a host is started.
#[derive(Debug)]
pub struct HostStart {
    /// Its first client must present the token that comes on stdout.
    pub token: bool,
    /// Its first client's stdin and stdout come over its own stdin.
    pub handed_over: bool,
    /// Attributes of the launch or attach that will come, as JSON.
    pub expect: Option<String>,
    /// What agents may do when these do not say.
    pub access: AgentAccess,
    /// For the host of a child session.
    pub child: Option<ChildOf>,
    /// For the hosts of its child sessions.
    pub logging: LogSettings,
}

/// Hosts one session to its end, with those of the programs its program starts.
///
/// # Errors
/// When stdin is not a connection or the session folder is not safe.
pub fn run(start: HostStart) -> anyhow::Result<()> {
    // Neither it nor what it starts (builds, adapters) is to use the terminal that an editor or an agent runs
    // in.
    if let Err(error) = rustix::process::setsid() {
        tracing::debug!(%error, "the host leads a process group already");
    }
    let attributes = start.expect.as_deref().map(serde_json::from_str).transpose();
    let attributes = attributes.context("`--expect` is not JSON")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(host(start, attributes));
    // Threads that wait for the program's pipes hold nothing that outlives the process.
    runtime.shutdown_background();
    outcome
}

async fn host(start: HostStart, attributes: Option<Value>) -> anyhow::Result<()> {
    let HostStart { token, handed_over, access, child, logging, .. } = start;
    cordebug::allocator::give_back_large_blocks();
    let token = if token { Some(read_token()?) } else { None };
    let (folder, refused) = session_registry::prepare_one(&session_registry::folders())?;
    for error in refused {
        tracing::warn!(folder = %folder.display(), "sessions are in another folder: {error:#}");
    }
    // The host of the parent session has swept.
    let swept = child.is_none().then(stale_files::begin_sweep);
    let (id, reserved) = match &child {
        // The host of the parent session has reserved it.
        Some(child) => (child.id.clone(), None),
        None => {
            let reserved = ReservedId::new(&folder);
            (reserved.to_string(), Some(reserved))
        }
    };
    let first = first_client(handed_over)?;
    let stub = std::env::current_exe().context("cannot find the program itself")?;
    let broker = Broker::new(DEFAULT_BUFFER_LEN, stub.clone());
    let children = ChildHosts::new(id.clone(), folder.clone(), logging);
    let running = children.task_tracker();
    let (parent, title) = child.map(|child| (child.parent, child.title)).unzip();
    let process = HostProcess {
        id: id.clone(),
        _reserved: reserved,
        folder,
        stub,
        published: None,
        parent,
        title,
        waiting: None,
        children,
    };
    let (mut actor, inbox) = Actor::new(&id, process, broker);
    actor.allow_agents(access);
    if let Some(token) = token {
        actor.require_token(token);
    }
    if let Some(filters) = attributes.as_ref().and_then(expected_filters::exception_filters) {
        actor.expect_exception_filters(filters);
    }
    let mut signals = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()]
        .map(signal)
        .into_iter()
        .collect::<Result<Vec<_>, _>>()?;
    for mut signal in signals.drain(..) {
        let inbox = inbox.clone();
        tokio::spawn(async move {
            signal.recv().await;
            inbox.shutdown().await;
        });
    }
    inbox.connected(ClientOrigin::First, first).await;
    drop(inbox);
    // A task like all others: the runtime would look for input each time before it runs the one it was
    // started with.
    tokio::spawn(actor.run()).await.context("the hub task failed")?;
    running.close();
    // They have been detached; one that takes longer ends by itself.
    drop(tokio::time::timeout(CHILDREN_END_TIMEOUT, running.wait()).await);
    if let Some(swept) = swept {
        // A short session would end before the files are removed.
        swept.recv_timeout(SWEEP_TIMEOUT).unwrap_or_default();
        // A process that was still exiting when this host started, and left its files, has ended by now.
        cordebug::startup::sweep_stale();
    }
    Ok(())
}

/// Reads the token, which the listener passes on a pipe in place of stdout, for which a host has no other
/// use: others could read an argument, and the program would inherit a variable.
fn read_token() -> anyhow::Result<Token> {
    let mut text = Vec::new();
    let mut block = [0u8; 4096];
    loop {
        match rustix::io::read(rustix::stdio::stdout(), &mut block).context("cannot read the token")? {
            0 => return Ok(Token::new(text)),
            count => text.extend_from_slice(block.get(..count).unwrap_or_default()),
        }
    }
}

/// Stdin is a socket from a relay, or an accepted connection from the listener.
fn first_client(handed_over: bool) -> anyhow::Result<Connection> {
    let stdin: OwnedFd = std::io::stdin().as_fd().try_clone_to_owned().context("cannot use stdin")?;
    // The connection must close when the first client goes, also while others stay.
    let null = std::fs::File::open("/dev/null").context("cannot open /dev/null")?;
    rustix::stdio::dup2_stdin(&null).context("cannot replace stdin")?;
    let family =
        rustix::net::getsockname(&stdin).context("stdin is not a socket; `host` is for tandem-dap itself")?;
    if family.address_family() == rustix::net::AddressFamily::UNIX {
        let socket = UnixStream::from(stdin);
        if handed_over {
            return fd_passing::receive(socket);
        }
        socket.set_nonblocking(true)?;
        Ok(split_connection(tokio::net::UnixStream::from_std(socket)?))
    } else {
        let socket = std::net::TcpStream::from(stdin);
        socket.set_nonblocking(true)?;
        Ok(split_connection(tokio::net::TcpStream::from_std(socket)?))
    }
}

/// Where relative paths of a launch begin.
fn base_folder(arguments: &Value) -> PathBuf {
    let workspace = arguments["__workspaceFolder"].as_str().map(PathBuf::from).unwrap_or_default();
    let folder = arguments["cwd"].as_str().map_or_else(|| workspace.clone(), |cwd| workspace.join(cwd));
    // The host's own folder is that of the process that started it.
    std::path::absolute(folder).or_else(|_| std::env::current_dir()).unwrap_or_else(|_| PathBuf::from("/"))
}

fn split_connection<S: AsyncRead + AsyncWrite + Send + 'static>(socket: S) -> Connection {
    let (reader, writer) = tokio::io::split(socket);
    Connection { reader: Box::new(reader), writer: Box::new(writer) }
}

/// This process as the hub's host.
struct HostProcess {
    id: String,
    /// As long as the session lives, unless another process has reserved its id.
    _reserved: Option<ReservedId>,
    folder: PathBuf,
    /// Path of the `tandem-dap` executable.
    stub: PathBuf,
    published: Option<(PublishedSession, AbortHandle)>,
    /// Of a child session: its parent session, what its program is, for users, and the engine that waits for
    /// it if that is in this process.
    parent: Option<String>,
    title: Option<String>,
    waiting: Option<ChildSession>,
    children: ChildHosts,
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
        let entry = session_registry::find(session);
        let entry = entry.ok_or_else(|| missing("it does not exist".into()))?;
        if let Some(reason) = entry.join_obstacle() {
            return Err(Failure::new(
                ErrorCode::Unsupported,
                format!("cannot join session `{session}`: {reason}"),
            )
            .hint("update Tandem here, or use the release that started the session"));
        }
        let socket = session_registry::connect(&entry.socket).map_err(|error| missing(error.to_string()))?;
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
        let entry = session_registry::SessionRecord {
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
        if !peers::user_of_unix(&socket).is_ok_and(peers::is_trusted) {
            tracing::warn!("a connection of another user was refused");
            continue;
        }
        inbox.connected(ClientOrigin::Socket, split_connection(socket)).await;
    }
}
