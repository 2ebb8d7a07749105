//! The process of one session. Its stdin is the connection of its first client, or over it
//! came that client's own pipes; others come through its socket.
//!
//! One thread runs everything but the engine and the pipes, and it is the one that lives longest.
//! Ends when the hub does, or on SIGTERM, SIGINT and SIGHUP, which end the session in good order first.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
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

use registry::Published;

use super::{handover, steward};
use crate::engine::{Engine, EngineEvent, Spawned, expected, select};
use crate::hub::access::{AgentAccess, Token};
use crate::hub::actor::{Actor, Connection, Host, Inbox};
use crate::hub::event::{Origin, Publication, StartedEngine};
use crate::io::Broker;

/// `outputBufferBytes` when the launch does not say.
const DEFAULT_BUFFER: usize = 8 * 1024 * 1024;

/// Messages on their way to and from the steward of a child session, bytes.
const STEWARD_BUFFER: usize = 64 * 1024;

/// How long the end of a session waits for the files of crashed hosts to be removed.
const SWEEP_LIMIT: Duration = Duration::from_secs(2);

/// Hosts one session to its end, with those of the programs its program starts. `expect`: attributes of the launch or attach
/// that will come, as JSON. `access`: what agents may do when these do not say.
///
/// # Errors
/// When stdin is no connection or the session folder is not safe.
pub fn run(token: bool, handed_over: bool, expect: Option<&str>, access: AgentAccess) -> anyhow::Result<()> {
    let attributes = expect.map(serde_json::from_str).transpose().context("`--expect` is no JSON")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(host(token, handed_over, attributes, access));
    // Threads that wait for the program's pipes hold nothing that outlives the process.
    runtime.shutdown_background();
    outcome
}

async fn host(
    token: bool,
    handed_over: bool,
    attributes: Option<Value>,
    access: AgentAccess,
) -> anyhow::Result<()> {
    cordebug::allocator::give_back_large_blocks();
    let token = if token { Some(read_token()?) } else { None };
    let (folder, refused) = registry::prepare_one(&registry::folders())?;
    for error in refused {
        tracing::warn!(folder = %folder.display(), "sessions are in another folder: {error:#}");
    }
    let swept = sweep();
    let id = registry::new_id(&folder);
    let first = first_client(handed_over)?;
    let stub = std::env::current_exe().context("cannot find the program itself")?;
    let broker = Broker::new(DEFAULT_BUFFER, stub.clone());
    let process = Process { id: id.clone(), folder, stub, published: None, parent: None, waiting: None };
    let (mut actor, inbox) = Actor::new(&id, process, broker);
    actor.allow_agents(access);
    if let Some(token) = token {
        actor.require_token(token);
    }
    if let Some(filters) = attributes.as_ref().and_then(expected::exception_filters) {
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
    inbox.connected(Origin::First, first).await;
    drop(inbox);
    // A task like all others: the runtime would look for input each time before it runs the one it was started with.
    tokio::spawn(actor.run()).await.context("the hub ended badly")?;
    // A short session would leave before the files are gone.
    swept.recv_timeout(SWEEP_LIMIT).unwrap_or_default();
    // What was still dying when this host started, and left its files, is dead by now.
    cordebug::startup::sweep_stale();
    Ok(())
}

/// Removes what crashed hosts left. The first client does not wait for that, which takes the longer the more sessions live and the
/// more a temporary folder holds. The receiver hears when it is done.
fn sweep() -> Receiver<()> {
    let (done, swept) = std::sync::mpsc::sync_channel(1);
    let work = move || {
        // Listing sweeps.
        drop(registry::all());
        cordebug::startup::sweep_stale();
        // Nobody may wait for it.
        done.send(()).unwrap_or_default();
    };
    if let Err(error) = std::thread::Builder::new().name("sweep".into()).spawn(work) {
        tracing::debug!(%error, "what crashed hosts left stays for the next one");
    }
    swept
}

/// The listener hands the token over on a pipe in the place of stdout, for which a host has no other use: an argument or a
/// variable could be read by others or be inherited by the program.
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
    rustix::stdio::dup2_stdin(&null).context("cannot let go of stdin")?;
    let family =
        rustix::net::getsockname(&stdin).context("stdin is no socket; `host` is for tandem-dap itself")?;
    if family.address_family() == rustix::net::AddressFamily::UNIX {
        let socket = UnixStream::from(stdin);
        if handed_over {
            return handover::take(socket);
        }
        socket.set_nonblocking(true)?;
        Ok(halves(tokio::net::UnixStream::from_std(socket)?))
    } else {
        let socket = std::net::TcpStream::from(stdin);
        socket.set_nonblocking(true)?;
        Ok(halves(tokio::net::TcpStream::from_std(socket)?))
    }
}

fn halves<S: AsyncRead + AsyncWrite + Send + 'static>(socket: S) -> Connection {
    let (reader, writer) = tokio::io::split(socket);
    Connection { reader: Box::new(reader), writer: Box::new(writer) }
}

/// What the hub needs of this process.
struct Process {
    id: String,
    folder: PathBuf,
    /// `tandem-dap` itself.
    stub: PathBuf,
    published: Option<(Published, AbortHandle)>,
    /// The session whose program started this one's, and the engine that waits for it.
    parent: Option<String>,
    waiting: Option<Spawned>,
}

impl Host for Process {
    fn start_engine(
        &mut self,
        arguments: &Value,
        broker: &Broker,
        events: mpsc::UnboundedSender<EngineEvent>,
    ) -> Result<(StartedEngine, Arc<dyn Engine>), Failure> {
        if let Some(spawned) = &self.waiting {
            let gone = || Failure::new(ErrorCode::NoSession, "the program of this session has ended");
            let engine = spawned.engine(broker.clone(), events).ok_or_else(gone)?;
            let name = arguments["engine"].as_str().unwrap_or_default().to_owned();
            return Ok((StartedEngine { name, several_per_line: false }, engine));
        }
        match &arguments["outputBufferBytes"] {
            Value::Null => {}
            bytes => match bytes.as_u64().and_then(|bytes| usize::try_from(bytes).ok()) {
                Some(bytes @ 1024..=0x4000_0000) => broker.set_buffer_bytes(bytes),
                _ => {
                    return Err(Failure::invalid(format!(
                        "`outputBufferBytes` is {bytes}; it must be a number from 1024 to 1073741824"
                    )));
                }
            },
        }
        select::start(arguments, broker.clone(), events)
    }

    fn adopt(&mut self, spawned: Spawned, access: watch::Receiver<AgentAccess>) -> Result<String, Failure> {
        let id = registry::new_id(&self.folder);
        // Its stdin, stdout and stderr are those of the program that started it.
        let broker = Broker::new(DEFAULT_BUFFER, self.stub.clone());
        broker.set_not_owned();
        let (launch, marks) = (spawned.launch.clone(), spawned.marks.clone());
        let process = Self {
            id: id.clone(),
            folder: self.folder.clone(),
            stub: self.stub.clone(),
            published: None,
            parent: Some(self.id.clone()),
            waiting: Some(spawned),
        };
        let (actor, inbox) = Actor::new(&id, process, broker);
        let (ours, theirs) = tokio::io::duplex(STEWARD_BUFFER);
        let (reader, writer) = tokio::io::split(ours);
        let (peer, incoming) = Peer::start(reader, writer);
        tokio::spawn(async move {
            inbox.connected(Origin::First, halves(theirs)).await;
            drop(inbox);
            actor.run().await;
        });
        tokio::spawn(steward::run(peer, incoming, launch, steward::Parent { marks, access }));
        Ok(id)
    }

    fn connect(&mut self, session: &str) -> Result<Connection, Failure> {
        let missing = |reason: String| {
            Failure::new(ErrorCode::NoSession, format!("cannot join session `{session}`: {reason}"))
                .hint("`tandem-dap sessions` lists the live ones")
        };
        let entry = registry::find(session);
        let entry = entry.ok_or_else(|| missing("there is none of this name".into()))?;
        let socket = UnixStream::connect(&entry.socket).map_err(|error| missing(error.to_string()))?;
        socket.set_nonblocking(true).map_err(|error| missing(error.to_string()))?;
        tokio::net::UnixStream::from_std(socket).map(halves).map_err(|error| missing(error.to_string()))
    }

    fn publish(&mut self, mut publication: Publication, inbox: &Inbox) {
        if let Some(spawned) = &self.waiting {
            // The program of its launch is the one that started it.
            publication.title.clone_from(&spawned.name);
        }
        if let Some((published, _)) = &mut self.published {
            let changed = published.change(|entry| {
                entry.title = publication.title;
                entry.program = publication.program;
                entry.engine = publication.engine;
                entry.cwd = publication.cwd;
                (entry.client, entry.kind) = (publication.client, publication.kind);
            });
            return changed
                .unwrap_or_else(|error| tracing::error!("the session's file is out of date: {error:#}"));
        }
        let entry = registry::Entry {
            id: self.id.clone(),
            pid: std::process::id(),
            title: publication.title,
            program: publication.program,
            engine: publication.engine,
            cwd: publication.cwd,
            started: 0,
            socket: PathBuf::new(),
            client: publication.client,
            kind: publication.kind,
            parent: self.parent.clone(),
        };
        let listening = Published::new(&self.folder, entry).and_then(|(published, listener)| {
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

impl Drop for Process {
    fn drop(&mut self) {
        self.unpublish();
    }
}

async fn accept(listener: UnixListener, inbox: Inbox) {
    while let Ok((socket, _)) = listener.accept().await {
        // Nobody else can reach it, unless somebody changed its folder's mode.
        if !peers::user_of_unix(&socket).is_ok_and(peers::is_trusted) {
            tracing::warn!("a connection of another user was refused");
            continue;
        }
        inbox.connected(Origin::Socket, halves(socket)).await;
    }
}
