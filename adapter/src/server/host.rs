//! The host: the process of one session. Its stdin is the connection of its first client, or a socket over
//! which that client's own pipes were passed; other clients connect to its socket. Not here: the session
//! ([`tandem_session::actor`]), and what it has its process do ([`super::host_process`]).
//!
//! One thread runs everything except the engine and the pipes; it is the last to end. It ends when the hub
//! does, or on SIGTERM, SIGINT and SIGHUP, which end the session in good order first.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};

use tandem_registry::ReservedId;

use super::child_hosts::ChildHosts;
use super::fd_passing;
use super::host_process::{DEFAULT_BUFFER_LEN, HostProcess, split_connection};
use super::relay::ChildOf;
use super::stale_files::StaleFileSweep;
use crate::engines::expected_filters;
use crate::logging::LogSettings;
use tandem_hub::access::{AgentAccess, Token};
use tandem_hub::event::ClientOrigin;
use tandem_process::Broker;
use tandem_session::actor::Actor;
use tandem_session::connection::Connection;

/// Maximum time for which the end of a session waits for the hosts of its child sessions, which end with it.
const CHILDREN_END_TIMEOUT: Duration = Duration::from_secs(3);

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
    tandem_process_tree::command_guard::enable();
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
    let (folder, refused) = tandem_registry::prepare_one(&tandem_registry::folders())?;
    for error in refused {
        tracing::warn!(folder = %folder.display(), "sessions are in another folder: {error:#}");
    }
    // The host of the parent session sweeps.
    let sweep = child.is_none().then(StaleFileSweep::begin);
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
    if let Some(sweep) = sweep {
        sweep.finish();
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
