//! Starts an adapter and connects to it: on its pipes, on its own port or socket, or on a port that it dials.
//!
//! The last lines of the adapter's stderr are kept, to quote them when it fails.
//!
//! Not here: the handshake over the connection ([`super::session`]).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tandem_registry::ScratchFolder;
use tandem_wire::peer::{Incoming, Peer};
use tandem_wire::{ErrorCode, Failure};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::unix::pipe;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::chunked_reader::ChunkedReader;
use super::debuggee;
use super::launch_plan::{LaunchPlan, ProgramIo, Transport};
use super::socket::{self, Endpoint};
use super::user_folders;
use tandem_process::child::ChildPipes;
use tandem_process::{Broker, Child, ExitInfo};

/// How long an adapter may take until it can be talked to.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// Between two attempts to reach an adapter that is about to listen.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);
/// How often in a row it must be seen waiting.
const MIN_READY_CHECKS: u32 = 4;
/// Lines of an adapter's stderr that are kept, from its end.
const MAX_STDERR_LINES: usize = 20;
const MAX_LINE_LEN: usize = 400;

/// How long the last lines may take after the connection has ended.
pub(super) const STDERR_TAIL_TIMEOUT: Duration = Duration::from_millis(500);

/// Length of the quoted stderr of a program that contains its adapter, in bytes.
pub(super) const MAX_STDERR_TAIL_LEN: usize = 2000;

/// The last lines of an adapter's stderr, when it ended, and how many there were. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct LastLines(Arc<Mutex<VecDeque<String>>>, CancellationToken, watch::Sender<u64>);

impl LastLines {
    fn push(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == MAX_STDERR_LINES {
            lines.pop_front();
        }
        lines.push_back(line.chars().take(MAX_LINE_LEN).collect());
        self.2.send_modify(|count| *count += 1);
    }

    /// How many there were in all.
    pub(super) fn count(&self) -> u64 {
        *self.2.borrow()
    }

    /// Resolves when a wanted line arrives after the first `after` lines; never if none does.
    pub(super) async fn wait_for_line(&self, after: u64, is_wanted: impl Fn(&str) -> bool) {
        let (mut news, mut seen) = (self.2.subscribe(), after);
        loop {
            if news.wait_for(|count| *count > seen).await.is_err() {
                return std::future::pending().await;
            }
            // Both change together.
            let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let count = self.count();
            let fresh = usize::try_from(count - seen).unwrap_or(usize::MAX);
            if lines.iter().rev().take(fresh).any(|line| is_wanted(line)) {
                return;
            }
            seen = count;
        }
    }

    /// Waits, for a short time, until the output has ended.
    pub(super) async fn wait_for_output_end(&self) {
        drop(tokio::time::timeout(STDERR_TAIL_TIMEOUT, self.1.cancelled()).await);
    }

    /// All kept lines, joined.
    pub(super) fn text(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n").trim().to_owned()
    }
}

/// A connection to a running adapter, with its process.
pub(super) struct AdapterConnection {
    pub(super) peer: Peer,
    /// The adapter, or the program that contains it.
    pub(super) process: AdapterProcess,
    /// The endpoint at which the adapter listens; `None` if it uses its stdio or dialled us.
    pub(super) place: Option<Endpoint>,
    /// Further connections to the port that was dialled: subprocesses of the program.
    pub(super) listener: Option<TcpListener>,
    /// The folder of its sockets and temporary files.
    pub(super) scratch: Option<ScratchFolder>,
}

/// The process that was started for a connection.
pub(super) enum AdapterProcess {
    /// An adapter; its stderr is not the program's.
    Adapter(Child, LastLines),
    /// The program, or what hands its stdio on to it.
    Program(Child),
    /// Nothing: one that ran before is used, or another session's; then that one's stderr, if it
    /// is not its program's, and the processes that the program may descend from.
    Elsewhere { lines: Option<LastLines>, origins: Vec<u32> },
}

impl AdapterConnection {
    /// The address for a connection for a further program: the port that the adapter reported, or the
    /// address of this connection.
    pub(super) fn further_endpoint(&self, reported_port: Option<u16>) -> Option<Endpoint> {
        match (&self.place, reported_port) {
            (Some(place), Some(port)) => Some(place.with_port(port)),
            (None, Some(port)) => Some(Endpoint::Port(port)),
            (place, None) => place.clone(),
        }
    }
}

impl AdapterProcess {
    pub(super) fn child(&self) -> Option<&Child> {
        match self {
            Self::Adapter(child, _) | Self::Program(child) => Some(child),
            Self::Elsewhere { .. } => None,
        }
    }

    /// The processes that the program may descend from.
    pub(super) fn origins(&self) -> Vec<u32> {
        match self {
            Self::Adapter(child, _) | Self::Program(child) => vec![child.pid()],
            Self::Elsewhere { origins, .. } => origins.clone(),
        }
    }

    /// Its stderr, unless that is the program's.
    pub(super) fn lines(&self) -> Option<LastLines> {
        match self {
            Self::Adapter(_, lines) => Some(lines.clone()),
            Self::Elsewhere { lines, .. } => lines.clone(),
            Self::Program(_) => None,
        }
    }

    /// The end of its stderr; empty if there is none.
    pub(super) fn stderr_tail(&self, broker: &Broker) -> String {
        match self {
            Self::Adapter(_, lines) | Self::Elsewhere { lines: Some(lines), .. } => lines.text(),
            Self::Elsewhere { lines: None, .. } => String::new(),
            Self::Program(_) => {
                broker.drain_output();
                broker.stderr_tail(MAX_STDERR_TAIL_LEN)
            }
        }
    }
}

/// Starts the process of the plan and connects to it.
///
/// # Errors
/// `LAUNCH_FAILED` when it cannot be started, `ENGINE_FAILED` with the end of its stderr when it ends or does
/// not answer, `PROCESS_NOT_FOUND` when one that should run does not.
pub(super) async fn start(
    plan: &LaunchPlan,
    broker: &Broker,
) -> Result<(AdapterConnection, mpsc::UnboundedReceiver<Incoming>), Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(ErrorCode::EngineFailed, format!("cannot prepare a connection: {error}"))
    };
    if let Transport::Runs(place) = &plan.transport {
        return attach_to(place.clone()).await;
    }
    let listener = match &plan.transport {
        Transport::DialsBack => Some(TcpListener::bind(("127.0.0.1", 0)).await.map_err(failed)?),
        _ => None,
    };
    // A port that is only chosen stays bound until the adapter needs it.
    let mut reserved = match &plan.transport {
        Transport::Listens => Some(reserve_port().map_err(failed)?),
        _ => None,
    };
    let bound = match (&listener, &reserved) {
        (Some(listener), _) => listener.local_addr().ok(),
        (None, Some(reserved)) => reserved.local_addr().ok(),
        (None, None) => None,
    };
    let port = bound.map(|address| address.port());
    let wants_folder = plan.quirks.leaves_temp_files || plan.transport == Transport::ListensLocally;
    let scratch =
        wants_folder.then(|| ScratchFolder::new(&tandem_registry::folder())).transpose().map_err(failed)?;
    let place = match (&plan.transport, port, &scratch) {
        (Transport::Listens, Some(port), _) => Some(Endpoint::Port(port)),
        (Transport::ListensLocally, _, Some(scratch)) => Some(Endpoint::Folder(scratch.path().join("dap"))),
        _ => None,
    };
    if let (Some(Endpoint::Folder(socket)), Some(text)) = (&place, plan.quirks.socket_script) {
        std::fs::write(socket.with_extension("rb"), text).map_err(failed)?;
    }
    let mut spec = plan.spec.clone();
    for argument in &mut spec.args {
        let text = argument.to_string_lossy();
        *argument = match (&place, port) {
            (Some(Endpoint::Folder(socket)), _) => {
                text.replace("{socket}", &socket.display().to_string()).into()
            }
            (_, Some(port)) => text.replace("{port}", &port.to_string()).into(),
            _ => continue,
        };
    }
    if let Some(scratch) = scratch.as_ref().filter(|_| plan.quirks.leaves_temp_files) {
        // Only for the adapter: a program that it asks us to start has the original variable.
        spec.env.push(("TMPDIR".into(), Some(scratch.path().display().to_string())));
    }
    if !plan.quirks.reuses_address {
        // Such an adapter needs a port that nobody has.
        reserved = None;
    }
    let (process, pipes) = if plan.program_io == ProgramIo::Inherited {
        let mut child = broker.spawn(&spec)?;
        child.release()?;
        (AdapterProcess::Program(child), None)
    } else {
        if !matches!(plan.program_io, ProgramIo::ExecShim(_)) {
            // The program does not get its environment from this process.
            spec.env.extend(user_folders::without_relative(|name| std::env::var_os(name)));
        }
        let (mut child, ChildPipes { stdin, stdout, stderr, .. }) = broker.spawn_helper(&spec)?;
        child.release()?;
        let lines = LastLines::default();
        let receive = |file| pipe::Receiver::from_owned_fd(nonblocking(file)?);
        if let Some(stderr) = stderr {
            tokio::spawn(keep_lines(receive(stderr).map_err(failed)?, lines.clone()));
        }
        let (to, from) = (
            pipe::Sender::from_owned_fd(nonblocking(stdin).map_err(failed)?).map_err(failed)?,
            receive(stdout).map_err(failed)?,
        );
        (AdapterProcess::Adapter(child, lines), Some((from, to)))
    };
    let what = plan.spec.program.display().to_string();
    let reached = async {
        match (&place, &listener, pipes) {
            (Some(place), ..) => loop {
                if let (AdapterProcess::Program(program), Endpoint::Folder(socket)) = (&process, place) {
                    await_readiness(program.pid(), socket).await;
                }
                // From outside nothing shows when it listens; trying costs nothing.
                match place.connect().await {
                    Ok(ends) => return Ok(ends),
                    Err(error) => tracing::trace!(%error, "the adapter does not listen yet"),
                }
                tokio::time::sleep(RETRY_INTERVAL).await;
            },
            (None, Some(listener), _) => socket::accept(listener).await.map(|(ends, _)| ends),
            (None, None, Some((from, to))) => Ok(Peer::start(ChunkedReader(from), to)),
            (None, None, None) => Err(std::io::Error::other("there is no way to communicate with it")),
        }
    };
    let mut exit = process.child().map(Child::exit);
    let outcome = tokio::select! {
        biased;
        reached = reached => reached.map_err(|error| error.to_string()),
        ended = wait_for_exit_if_any(exit.as_mut()) => Err(format!("it ended with {ended}")),
        () = tokio::time::sleep(START_TIMEOUT) =>
            Err(format!("it could not be reached within {} s", START_TIMEOUT.as_secs())),
    };
    drop(reserved);
    match outcome {
        Ok((peer, incoming)) => Ok((AdapterConnection { peer, process, place, listener, scratch }, incoming)),
        Err(reason) => {
            if let Some(child) = process.child() {
                child.signal(rustix::process::Signal::KILL);
            }
            Err(with_stderr_tail(format!("cannot talk to `{what}`: {reason}"), &process.stderr_tail(broker)))
        }
    }
}

/// Binds a port that the system then gives to no other process, without listening on it. A process that sets
/// `SO_REUSEADDR` can still listen there.
fn reserve_port() -> std::io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind((std::net::Ipv4Addr::LOCALHOST, 0).into())?;
    Ok(socket)
}

/// rdbg listens before it is ready, and breaks if a client connects then. When it is ready, it only waits.
async fn await_readiness(pid: u32, socket: &std::path::Path) {
    let mut in_a_row = 0;
    while in_a_row < MIN_READY_CHECKS {
        let ready = socket.exists() && debuggee::is_asleep(pid);
        in_a_row = if ready { in_a_row + 1 } else { 0 };
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// Connects to an adapter that runs already; nothing is started.
async fn attach_to(
    place: Endpoint,
) -> Result<(AdapterConnection, mpsc::UnboundedReceiver<Incoming>), Failure> {
    let missing = |reason: String| {
        let message = format!("no debug adapter answers at `{place}`: {reason}");
        Failure::new(ErrorCode::ProcessNotFound, message)
            .hint("start the program with its debugger listening there, or correct `connect`")
    };
    let (peer, incoming) = tokio::time::timeout(START_TIMEOUT, place.connect())
        .await
        .map_err(|_| missing(format!("no data arrived within {} s", START_TIMEOUT.as_secs())))?
        .map_err(|error| missing(error.to_string()))?;
    let process = AdapterProcess::Elsewhere { lines: None, origins: Vec::new() };
    Ok((AdapterConnection { peer, process, place: Some(place), listener: None, scratch: None }, incoming))
}

/// `ENGINE_FAILED` with the end of the adapter's stderr.
pub(super) fn with_stderr_tail(message: String, words: &str) -> Failure {
    let quoted = if words.is_empty() { String::new() } else { format!("; end of its stderr: {words}") };
    Failure::new(ErrorCode::EngineFailed, format!("{message}{quoted}"))
        .hint("the session has ended; launch again, or run the adapter directly to see why it fails")
}

async fn wait_for_exit_if_any(exit: Option<&mut watch::Receiver<Option<ExitInfo>>>) -> ExitInfo {
    match exit {
        Some(exit) => wait_for_exit(exit).await,
        None => std::future::pending().await,
    }
}

/// Resolves when it has ended.
pub(super) async fn wait_for_exit(exit: &mut watch::Receiver<Option<ExitInfo>>) -> ExitInfo {
    match exit.wait_for(Option::is_some).await {
        Ok(info) => info.unwrap_or(ExitInfo { code: -1, signal: None }),
        Err(_) => ExitInfo { code: -1, signal: None },
    }
}

fn nonblocking(file: std::fs::File) -> std::io::Result<std::os::fd::OwnedFd> {
    rustix::io::ioctl_fionbio(&file, true)?;
    Ok(file.into())
}

async fn keep_lines(stderr: pipe::Receiver, lines: LastLines) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        // A line without an end is cut, not collected.
        let mut limited = tokio::io::AsyncReadExt::take(&mut reader, 64 * 1024);
        match limited.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return lines.1.cancel(),
            Ok(_) => {
                let text = String::from_utf8_lossy(&line);
                tracing::debug!(line = text.trim_end(), "the adapter's stderr");
                lines.push(text.trim_end());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reserved_port_is_free_only_for_a_process_that_shares_addresses() -> std::io::Result<()> {
        let reserved = reserve_port()?;
        let address = reserved.local_addr()?;
        let other = TcpSocket::new_v4()?;
        assert!(other.bind(address).is_err());
        let adapter = TcpSocket::new_v4()?;
        adapter.set_reuseaddr(true)?;
        adapter.bind(address)?;
        let listener = adapter.listen(1)?;
        assert_eq!(listener.local_addr()?, address);
        Ok(())
    }
}
