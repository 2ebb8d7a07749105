//! Starting an adapter and talking to it: on its pipes, on a port of its own, or on one it dials.
//!
//! Every socket is set for small messages (TCP_NODELAY, and TCP_QUICKACK again after each read): with delayed
//! acknowledgements each request of debugpy takes 40 ms longer. What the adapter says on stderr is kept, a few lines of
//! it, to say why it broke.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use dap_wire::peer::{Incoming, Peer};
use dap_wire::{ErrorCode, Failure};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader, ReadBuf};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::unix::pipe;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::profile::{Plan, ProgramIo, Transport};
use crate::io::child::Pipes;
use crate::io::{Broker, Child, ExitInfo};

/// How long an adapter may take until it can be talked to.
const START_LIMIT: Duration = Duration::from_secs(20);
/// Between two attempts to reach an adapter that is about to listen.
const RETRY: Duration = Duration::from_millis(10);
/// How much is kept of what an adapter says on stderr.
const LAST_LINES: usize = 20;
const LINE_LIMIT: usize = 400;

/// How long the last lines may take after the connection has ended.
pub(super) const LAST_WORDS: Duration = Duration::from_millis(500);

/// What is quoted of the stderr of a program that has its adapter inside, bytes.
pub(super) const WORDS_BYTES: usize = 2000;

/// The last lines of an adapter's stderr. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct LastLines(Arc<Mutex<VecDeque<String>>>, CancellationToken);

impl LastLines {
    fn push(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LAST_LINES {
            lines.pop_front();
        }
        lines.push_back(line.chars().take(LINE_LIMIT).collect());
    }

    /// Waits, not long, until nothing more can come.
    pub(super) async fn settled(&self) {
        drop(tokio::time::timeout(LAST_WORDS, self.1.cancelled()).await);
    }

    /// All that is kept, one text.
    pub(super) fn text(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n").trim().to_owned()
    }
}

/// An adapter that can be talked to.
pub(super) struct Connection {
    /// Asks it.
    pub(super) peer: Peer,
    /// What was started: the adapter, or the program that has it inside.
    pub(super) process: Process,
    /// The port it listens on.
    pub(super) port: Option<u16>,
    /// Further connections to the port that was dialled: subprocesses of the program.
    pub(super) listener: Option<TcpListener>,
}

/// What was started.
pub(super) enum Process {
    /// An adapter; its stderr is not the program's.
    Adapter(Child, LastLines),
    /// The program, or what hands its stdio on to it.
    Program(Child),
    /// Nothing: another session's adapter is used.
    Elsewhere,
}

impl Process {
    pub(super) fn child(&self) -> Option<&Child> {
        match self {
            Self::Adapter(child, _) | Self::Program(child) => Some(child),
            Self::Elsewhere => None,
        }
    }

    /// Its stderr, unless that is the program's.
    pub(super) fn lines(&self) -> Option<LastLines> {
        match self {
            Self::Adapter(_, lines) => Some(lines.clone()),
            Self::Program(_) | Self::Elsewhere => None,
        }
    }

    /// Its last words, if it has any.
    pub(super) fn last_words(&self, broker: &Broker) -> String {
        match self {
            Self::Adapter(_, lines) => lines.text(),
            Self::Elsewhere => String::new(),
            Self::Program(_) => {
                broker.settle();
                broker.last_words(WORDS_BYTES)
            }
        }
    }
}

/// Starts what the plan says and connects to it.
///
/// # Errors
/// `LAUNCH_FAILED` when it cannot be started, `ENGINE_FAILED` with its last words when it ends or does not answer.
pub(super) async fn start(
    plan: &Plan,
    broker: &Broker,
) -> Result<(Connection, mpsc::UnboundedReceiver<Incoming>), Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(ErrorCode::EngineFailed, format!("cannot prepare a connection: {error}"))
    };
    // A port that is only chosen stays bound until the adapter needs it.
    let bound = match plan.transport {
        Transport::Stdio => None,
        _ => Some(TcpListener::bind(("127.0.0.1", 0)).await.map_err(failed)?),
    };
    let port = bound.as_ref().and_then(|bound| bound.local_addr().ok()).map(|address| address.port());
    let mut spec = plan.spec.clone();
    if let Some(port) = port {
        for argument in &mut spec.args {
            *argument = argument.to_string_lossy().replace("{port}", &port.to_string()).into();
        }
    }
    // A port that the adapter binds itself must be free by then.
    let listener = bound.filter(|_| plan.transport == Transport::DialsBack);
    let (process, pipes) = if plan.program_io == ProgramIo::Inherited {
        let mut child = broker.spawn(&spec)?;
        child.release()?;
        (Process::Program(child), None)
    } else {
        let (mut child, Pipes { stdin, stdout, stderr, .. }) = broker.spawn_helper(&spec)?;
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
        (Process::Adapter(child, lines), Some((from, to)))
    };
    let what = plan.spec.program.display().to_string();
    let reached = async {
        match (plan.transport, pipes) {
            (Transport::Stdio, Some((from, to))) => Ok(Peer::start(from, to)),
            (Transport::DialsBack, _) => {
                let Some(listener) = &listener else { return Err(std::io::Error::other("no port")) };
                Ok(over_tcp(listener.accept().await?.0))
            }
            _ => loop {
                // Nothing tells from outside when it listens; trying costs nothing.
                match TcpStream::connect(("127.0.0.1", port.unwrap_or_default())).await {
                    Ok(socket) => return Ok(over_tcp(socket)),
                    Err(_) => tokio::time::sleep(RETRY).await,
                }
            },
        }
    };
    let mut exit = process.child().map(Child::exit);
    let outcome = tokio::select! {
        biased;
        reached = reached => reached.map_err(|error| error.to_string()),
        ended = ended_if_any(exit.as_mut()) => Err(format!("it ended with {}", ended.code)),
        () = tokio::time::sleep(START_LIMIT) =>
            Err(format!("it could not be reached within {} s", START_LIMIT.as_secs())),
    };
    match outcome {
        Ok((peer, incoming)) => Ok((Connection { peer, process, port, listener }, incoming)),
        Err(reason) => {
            if let Some(child) = process.child() {
                child.signal(rustix::process::Signal::KILL);
            }
            Err(with_last_words(format!("cannot talk to `{what}`: {reason}"), &process.last_words(broker)))
        }
    }
}

/// `ENGINE_FAILED` with what the adapter said last.
pub(super) fn with_last_words(message: String, words: &str) -> Failure {
    let quoted = if words.is_empty() { String::new() } else { format!("; its last words: {words}") };
    Failure::new(ErrorCode::EngineFailed, format!("{message}{quoted}"))
        .hint("the session is over; launch again, or run the adapter by itself to see what ails it")
}

/// One more connection to an adapter that listens.
///
/// # Errors
/// When nobody listens there any more.
pub(super) async fn connect(port: u16) -> std::io::Result<(Peer, mpsc::UnboundedReceiver<Incoming>)> {
    Ok(over_tcp(TcpStream::connect(("127.0.0.1", port)).await?))
}

async fn ended_if_any(exit: Option<&mut watch::Receiver<Option<ExitInfo>>>) -> ExitInfo {
    match exit {
        Some(exit) => ended(exit).await,
        None => std::future::pending().await,
    }
}

/// Resolves when it has ended.
pub(super) async fn ended(exit: &mut watch::Receiver<Option<ExitInfo>>) -> ExitInfo {
    match exit.wait_for(Option::is_some).await {
        Ok(info) => info.unwrap_or(ExitInfo { code: -1, signal: None }),
        Err(_) => ExitInfo { code: -1, signal: None },
    }
}

fn nonblocking(file: std::fs::File) -> std::io::Result<std::os::fd::OwnedFd> {
    rustix::io::ioctl_fionbio(&file, true)?;
    Ok(file.into())
}

/// Speaks DAP over a socket set for small messages.
pub(super) fn over_tcp(socket: TcpStream) -> (Peer, mpsc::UnboundedReceiver<Incoming>) {
    // Without these it works, slower.
    socket.set_nodelay(true).unwrap_or_default();
    rustix::net::sockopt::set_tcp_quickack(&socket, true).unwrap_or_default();
    let (reader, writer) = socket.into_split();
    Peer::start(QuickAck(reader), writer)
}

/// A socket that acknowledges at once; the kernel forgets the wish with each read.
struct QuickAck(OwnedReadHalf);

impl AsyncRead for QuickAck {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let polled = Pin::new(&mut self.0).poll_read(context, buffer);
        if polled.is_ready() {
            rustix::net::sockopt::set_tcp_quickack(self.0.as_ref(), true).unwrap_or_default();
        }
        polled
    }
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
