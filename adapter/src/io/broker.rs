//! What the hub and the engines call: start the program, read its output, write its input.
//!
//! Reading loses nothing: each client has its own start, each answer a cursor to go on from. Memory is bounded by the
//! two rings; bytes that fell out are counted and said.

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dap_wire::{ErrorCode, Failure};
use regex::Regex;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::child::{Child, ExitInfo, Pipes, SpawnSpec};
use super::drain::{Stream, wait_readable};
use super::invitation::{Held, Invitation};
use super::offer::Offer;
use super::stdin::Stdin;
use super::text;
use super::waiting;

/// Who reads; the hub's client id.
pub type ClientKey = u64;

/// Most text of one `output` event or one chunk, bytes.
const CHUNK: usize = 64 * 1024;
/// A pattern that spans more bytes than this is not found while output keeps coming.
const PATTERN_SPAN: u64 = 64 * 1024;
/// How often a waiting reader looks whether the program waits for input.
const INPUT_PROBE: Duration = Duration::from_millis(15);
/// `waitFor` without `timeoutMs`.
const DEFAULT_WAIT: Duration = Duration::from_secs(30);

/// How much of each stream was ever printed, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Positions {
    /// Of stdout.
    pub stdout: u64,
    /// Of stderr.
    pub stderr: u64,
}

impl Positions {
    fn parse(cursor: &str) -> Option<Self> {
        let (stdout, stderr) = cursor.strip_prefix('o')?.split_once(".e")?;
        Some(Self { stdout: stdout.parse().ok()?, stderr: stderr.parse().ok()? })
    }
}

impl std::fmt::Display for Positions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "o{}.e{}", self.stdout, self.stderr)
    }
}

/// A checked `processReadOutput`.
#[derive(Debug, Clone, Default)]
pub struct ReadRequest {
    /// Whether stdout is asked.
    pub stdout: bool,
    /// Whether stderr is asked.
    pub stderr: bool,
    /// Move this client's start behind what is returned.
    pub clear: bool,
    /// Cursor of an earlier answer; this client's start when absent.
    pub since: Option<String>,
    /// Most bytes per stream.
    pub max_bytes: Option<usize>,
    /// Wait until this matches.
    pub wait_for: Option<Regex>,
    /// How long to wait; without `wait_for`, for anything new.
    pub timeout: Option<Duration>,
}

/// The answer to [`ReadRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutputRead {
    /// When asked.
    pub stdout: Option<String>,
    /// When asked.
    pub stderr: Option<String>,
    /// Go on from here.
    pub cursor: String,
    /// Bytes that were asked for but are gone.
    pub dropped: u64,
    /// What the pattern matched.
    pub matched: Option<String>,
    /// A thread of the program is blocked reading a stdin that has nothing for it.
    pub waiting_for_input: bool,
    /// The program has ended and everything it printed is in.
    pub exited: bool,
}

/// The answer to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Bytes the program's pipe took.
    pub bytes_written: usize,
    /// Whether stdin is closed now.
    pub stdin_closed: bool,
}

/// A piece of output for an `output` event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// `stdout` or `stderr`.
    pub category: &'static str,
    /// Whole characters.
    pub text: String,
    /// Bytes before this that were lost because the reader was too slow.
    pub dropped: u64,
}

#[derive(Debug)]
enum Ownership {
    NoProgram,
    NotOurs,
    Ours {
        pid: u32,
        reader: u32,
        stdin: Arc<Stdin>,
        exit: watch::Receiver<Option<ExitInfo>>,
    },
    /// A client's terminal has them; the program is ours to end.
    Terminal {
        pid: u32,
        exit: watch::Receiver<Option<ExitInfo>>,
    },
    /// An adapter keeps them and tells us what the program prints.
    Told {
        ended: bool,
    },
}

#[derive(Debug)]
struct Streams {
    stdout: Stream,
    stderr: Stream,
    starts: HashMap<ClientKey, Positions>,
    ownership: Ownership,
}

impl Streams {
    fn positions(&self) -> Positions {
        Positions { stdout: self.stdout.ring.end(), stderr: self.stderr.ring.end() }
    }

    fn drained(&self) -> bool {
        self.stdout.at_end() && self.stderr.at_end()
    }
}

#[derive(Debug)]
struct Inner {
    streams: Mutex<Streams>,
    changed: watch::Sender<()>,
    stub: PathBuf,
    runtime: tokio::runtime::Handle,
}

/// The program's input and output. Clones share it.
#[derive(Debug, Clone)]
pub struct Broker(Arc<Inner>);

impl Broker {
    /// Keeps at most `buffer_bytes` per stream. `stub` is the `tandem-dap` executable. Inside a tokio runtime.
    pub fn new(buffer_bytes: usize, stub: PathBuf) -> Self {
        Self(Arc::new(Inner {
            streams: Mutex::new(Streams {
                stdout: Stream::new(buffer_bytes),
                stderr: Stream::new(buffer_bytes),
                starts: HashMap::new(),
                ownership: Ownership::NoProgram,
            }),
            changed: watch::Sender::new(()),
            stub,
            runtime: tokio::runtime::Handle::current(),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Streams> {
        self.0.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes how much is kept; only before a program was started.
    pub fn set_buffer_bytes(&self, bytes: usize) {
        let mut streams = self.lock();
        if matches!(streams.ownership, Ownership::NoProgram) {
            streams.stdout = Stream::new(bytes);
            streams.stderr = Stream::new(bytes);
        }
    }

    /// Starts a program held (see [`Child::spawn`]) and drains it from its first byte.
    ///
    /// # Errors
    /// `LAUNCH_FAILED`, `ALREADY_ATTACHED` when there was one before.
    pub fn spawn(&self, spec: &SpawnSpec) -> Result<Child, Failure> {
        if self.has_live_program() {
            return Err(Failure::new(ErrorCode::AlreadyAttached, "this session already has a program"));
        }
        let (child, pipes) = Child::spawn(&self.0.stub, spec)?;
        self.take_over(child.pid(), pipes, child.exit())?;
        Ok(child)
    }

    /// Makes a place where a program in a client's terminal is started from, held (see [`Invitation`]).
    ///
    /// # Errors
    /// `LAUNCH_FAILED`, `ALREADY_ATTACHED` when there was one before.
    pub fn invite(&self, spec: SpawnSpec) -> Result<Invitation, Failure> {
        if self.has_live_program() {
            return Err(Failure::new(ErrorCode::AlreadyAttached, "this session already has a program"));
        }
        Invitation::new(&self.0.stub, spec)
    }

    /// Waits at most `limit` for the invited; `None` when nobody came. The program is held, and its stdio is the terminal's.
    ///
    /// # Errors
    /// `LAUNCH_FAILED` when it cannot be started there.
    pub fn accept(&self, invitation: &Invitation, limit: Duration) -> Result<Option<Child>, Failure> {
        let Some(Held { child, ended, runner }) = invitation.accept(limit)? else { return Ok(None) };
        let wait = move || {
            ended.send_replace(Some(runner.wait()));
        };
        std::thread::Builder::new().name("program-exit".into()).spawn(wait).map_err(|error| {
            Failure::new(ErrorCode::LaunchFailed, format!("cannot watch the program end: {error}"))
        })?;
        self.lock().ownership = Ownership::Terminal { pid: child.pid(), exit: child.exit() };
        Ok(Some(child))
    }

    /// Makes pipes of ours, or a terminal, for a program that somebody else starts.
    ///
    /// # Errors
    /// `LAUNCH_FAILED`, `ALREADY_ATTACHED` when there was a program before.
    pub fn offer(&self, pty: bool) -> Result<Offer, Failure> {
        if self.has_live_program() {
            return Err(Failure::new(ErrorCode::AlreadyAttached, "this session already has a program"));
        }
        let (offer, pipes) = Offer::new(pty).map_err(|error| {
            Failure::new(ErrorCode::LaunchFailed, format!("cannot make pipes for the program: {error}"))
        })?;
        self.take_over(0, pipes, offer.exit())?;
        Ok(offer)
    }

    fn take_over(
        &self,
        pid: u32,
        pipes: Pipes,
        exit: watch::Receiver<Option<ExitInfo>>,
    ) -> Result<(), Failure> {
        let runtime = self.0.runtime.enter();
        let stdin = Arc::new(Stdin::new(pipes.stdin, pipes.terminal.as_deref())?);
        drop(runtime);
        let mut streams = self.lock();
        streams.ownership = Ownership::Ours { pid, reader: pid, stdin, exit };
        let failed = |error: std::io::Error| {
            Failure::new(ErrorCode::LaunchFailed, format!("cannot prepare the program's pipes: {error}"))
        };
        let stdout = streams.stdout.attach(pipes.stdout).map_err(failed)?;
        let stderr = pipes.stderr.map(|stderr| streams.stderr.attach(stderr)).transpose().map_err(failed)?;
        drop(streams);
        self.drain_in_thread("program-stdout", stdout, |streams| &mut streams.stdout).map_err(failed)?;
        if let Some(stderr) = stderr {
            self.drain_in_thread("program-stderr", stderr, |streams| &mut streams.stderr).map_err(failed)?;
        }
        Ok(())
    }

    /// Starts something that serves the debugger and is not the program: its pipes are the caller's.
    ///
    /// # Errors
    /// `LAUNCH_FAILED`.
    pub fn spawn_helper(&self, spec: &SpawnSpec) -> Result<(Child, Pipes), Failure> {
        Child::spawn(&self.0.stub, spec)
    }

    /// From now on output is what [`Broker::feed`] brings; there is no stdin.
    pub fn set_told(&self) {
        self.lock().ownership = Ownership::Told { ended: false };
    }

    /// Output of a program whose pipes are an adapter's.
    pub fn feed(&self, to_stderr: bool, text: &str) {
        let mut streams = self.lock();
        let stream = if to_stderr { &mut streams.stderr } else { &mut streams.stdout };
        stream.ring.push(text.as_bytes());
        drop(streams);
        self.0.changed.send_replace(());
    }

    /// A program of whose output we were told has ended.
    pub fn told_end(&self) {
        if let Ownership::Told { ended } = &mut self.lock().ownership {
            *ended = true;
        }
        self.0.changed.send_replace(());
    }

    fn has_live_program(&self) -> bool {
        let streams = self.lock();
        match &streams.ownership {
            // An adapter that seemed to keep the program's stdio may still ask us to start it.
            Ownership::NoProgram | Ownership::Told { .. } => false,
            Ownership::NotOurs => true,
            Ownership::Ours { exit, .. } | Ownership::Terminal { exit, .. } => exit.borrow().is_none(),
        }
    }

    /// The process that reads stdin, when it is not the one that was started but one below it.
    pub fn set_reader(&self, process: u32) {
        if let Ownership::Ours { reader, .. } = &mut self.lock().ownership {
            *reader = process;
        }
    }

    /// The runtime it lives in, for threads that wait.
    pub fn runtime(&self) -> tokio::runtime::Handle {
        self.0.runtime.clone()
    }

    /// Kills what is left of the program's process group; used when nobody else does any more.
    pub fn kill(&self) {
        if let Ownership::Ours { pid, exit, .. } | Ownership::Terminal { pid, exit } = &self.lock().ownership
            && exit.borrow().is_none()
        {
            super::child::signal_group(*pid, rustix::process::Signal::KILL);
        }
    }

    /// The thread ends with the pipe, or with the process: it holds nothing that must be released.
    fn drain_in_thread(
        &self,
        name: &str,
        polled: File,
        pick: fn(&mut Streams) -> &mut Stream,
    ) -> std::io::Result<()> {
        let broker = self.clone();
        let mine = pick(&mut self.lock()).attached();
        let work = move || {
            loop {
                wait_readable(&polled);
                let ended = {
                    let mut streams = broker.lock();
                    let stream = pick(&mut streams);
                    // A restarted program's pipe took the place of one that something else still holds open.
                    if stream.attached() != mine {
                        break;
                    }
                    stream.drain();
                    stream.at_end()
                };
                broker.0.changed.send_replace(());
                if ended {
                    break;
                }
            }
        };
        std::thread::Builder::new().name(name.into()).spawn(work).map(drop)
    }

    /// The program's stdio is somebody else's: everything answers `IO_NOT_OWNED`.
    pub fn set_not_owned(&self) {
        self.lock().ownership = Ownership::NotOurs;
    }

    /// Takes in what a program that is stopped now has printed until now.
    pub fn settle(&self) -> Positions {
        let mut streams = self.lock();
        while streams.stdout.drain() {}
        while streams.stderr.drain() {}
        let positions = streams.positions();
        drop(streams);
        self.0.changed.send_replace(());
        positions
    }

    /// Waits until the program prints this from now on, on stderr or its terminal. `false` when it ends
    /// before.
    pub async fn prints_error(&self, text: &[u8]) -> bool {
        let mut changed = self.0.changed.subscribe();
        let overlap = text.len().saturating_sub(1) as u64;
        let mut scanned = None;
        loop {
            let ended = {
                let streams = self.lock();
                let stream = if streams.stderr.attached() == 0 { &streams.stdout } else { &streams.stderr };
                let scanned = scanned.get_or_insert(stream.ring.end());
                while *scanned < stream.ring.end() {
                    let slice = stream.ring.read(scanned.saturating_sub(overlap), CHUNK);
                    if slice.bytes.windows(text.len()).any(|window| window == text) {
                        return true;
                    }
                    *scanned = slice.end;
                }
                has_exited(&streams)
            };
            if ended || changed.changed().await.is_err() {
                return false;
            }
        }
    }

    /// Whether a program we started has ended.
    pub fn has_ended(&self) -> bool {
        has_exited(&self.lock())
    }

    /// Waits until nothing more can come, at most `limit`: a grandchild may hold the pipes.
    pub async fn drained(&self, limit: Duration) {
        let mut changed = self.0.changed.subscribe();
        let all_in = async { while !self.lock().drained() && changed.changed().await.is_ok() {} };
        if tokio::time::timeout(limit, all_in).await.is_err() {
            tracing::debug!("the program's pipes are still open after its end");
        }
    }

    /// As [`Broker::drained`], when the program has ended; a program that was only let go keeps printing.
    pub async fn drained_if_exited(&self, limit: Duration) {
        let exited = has_exited(&self.lock());
        if exited {
            self.drained(limit).await;
        }
    }

    /// Waits until a program we started has ended and all it printed is in, at most `limit` for each. Returns at once
    /// when there is none.
    pub async fn ended(&self, limit: Duration) {
        let exit = match &self.lock().ownership {
            Ownership::Ours { exit, .. } | Ownership::Terminal { exit, .. } => exit.clone(),
            _ => return,
        };
        if tokio::time::timeout(limit, exit.clone().wait_for(Option::is_some)).await.is_err() {
            tracing::warn!("the program did not end");
        }
        self.drained(limit).await;
    }

    fn stdin(&self) -> Result<Arc<Stdin>, Failure> {
        match &self.lock().ownership {
            Ownership::Ours { stdin, .. } => Ok(stdin.clone()),
            Ownership::Terminal { .. } => Err(in_terminal()),
            Ownership::NotOurs | Ownership::Told { .. } => Err(not_owned()),
            Ownership::NoProgram => Err(no_program()),
        }
    }

    /// Writes to the program's stdin, after whoever asked before.
    ///
    /// # Errors
    /// `NO_SESSION`, `IO_NOT_OWNED`, and those of [`Stdin::write`].
    pub async fn write_input(
        &self,
        data: &[u8],
        close: bool,
        cancel: &CancellationToken,
    ) -> Result<Written, Failure> {
        let stdin_closed = self.stdin()?.write(data, close, cancel).await?;
        Ok(Written { bytes_written: data.len(), stdin_closed })
    }

    /// Whether the program is blocked reading a stdin that has nothing for it.
    pub fn waiting_for_input(&self) -> bool {
        let (pid, stdin) = match &self.lock().ownership {
            Ownership::Ours { reader, stdin, exit, .. } if exit.borrow().is_none() => {
                (*reader, stdin.clone())
            }
            _ => return false,
        };
        stdin.is_empty_and_open() && waiting::is_reading(pid, stdin.name())
    }

    /// Reads output for a client; waits when the request says so.
    ///
    /// # Errors
    /// `NO_SESSION`, `IO_NOT_OWNED`, `INVALID_PARAMETER` for a foreign cursor, `CANCELLED`.
    pub async fn read_output(
        &self,
        client: ClientKey,
        request: &ReadRequest,
        cancel: &CancellationToken,
    ) -> Result<OutputRead, Failure> {
        let mut changed = self.0.changed.subscribe();
        if !matches!(self.lock().ownership, Ownership::Told { .. }) {
            drop(self.stdin()?);
        }
        let from = match &request.since {
            Some(cursor) => Positions::parse(cursor).ok_or_else(|| {
                Failure::invalid(format!("`{cursor}` is not a cursor of an earlier answer"))
            })?,
            None => self.lock().starts.get(&client).copied().unwrap_or_default(),
        };
        let waits = request.wait_for.is_some() || request.timeout.is_some();
        let deadline = Instant::now() + request.timeout.unwrap_or(DEFAULT_WAIT);
        let mut scanned = from;
        let matched = loop {
            let (exited, fresh) = {
                let streams = self.lock();
                if let Some(pattern) = &request.wait_for
                    && let Some(found) = scan(&streams, request, pattern, from, &mut scanned)
                {
                    break Some(found);
                }
                let now = streams.positions();
                let fresh = (request.stdout && now.stdout > from.stdout)
                    || (request.stderr && now.stderr > from.stderr);
                (streams.drained() && has_exited(&streams), fresh)
            };
            if !waits || exited || (request.wait_for.is_none() && fresh) {
                break None;
            }
            if self.waiting_for_input() {
                // What it printed before it asked may still be in the pipes.
                self.settle();
                let streams = self.lock();
                let pattern = request.wait_for.as_ref();
                break pattern.and_then(|pattern| scan(&streams, request, pattern, from, &mut scanned));
            }
            tokio::select! {
                _ = changed.changed() => {}
                () = tokio::time::sleep(INPUT_PROBE) => {}
                () = cancel.cancelled() => return Err(Failure::cancelled()),
                () = tokio::time::sleep_until(deadline) => break None,
            }
        };
        let waiting_for_input = self.waiting_for_input();
        if waiting_for_input {
            self.settle();
        }
        let mut streams = self.lock();
        let exited = has_exited(&streams) && streams.drained();
        let mut read = OutputRead { matched, waiting_for_input, exited, ..OutputRead::default() };
        let limit = request.max_bytes.unwrap_or(usize::MAX);
        let mut end = from;
        if request.stdout {
            let (text, behind, dropped) = take_text(&streams.stdout, from.stdout, limit);
            (read.stdout, end.stdout, read.dropped) = (Some(text), behind, dropped);
        }
        if request.stderr {
            let (text, behind, dropped) = take_text(&streams.stderr, from.stderr, limit);
            (read.stderr, end.stderr) = (Some(text), behind);
            read.dropped += dropped;
        }
        if request.clear {
            streams.starts.insert(client, end);
        }
        read.cursor = end.to_string();
        Ok(read)
    }

    /// The last lines the program wrote to stderr, at most `limit` bytes: why it ended.
    pub fn last_words(&self, limit: usize) -> String {
        let streams = self.lock();
        // On a terminal there is no stderr.
        let stream = if streams.stderr.ring.end() == 0 { &streams.stdout } else { &streams.stderr };
        let from = stream.ring.end().saturating_sub(limit as u64);
        take_text(stream, from, limit).0.trim().to_owned()
    }

    /// A client left: its start is forgotten.
    pub fn forget_client(&self, client: ClientKey) {
        self.lock().starts.remove(&client);
    }

    /// Output as it comes, beginning with what is still kept.
    pub fn cursor(&self) -> OutputCursor {
        let mut changed = self.0.changed.subscribe();
        changed.mark_changed();
        OutputCursor { changed, broker: self.clone(), at: Positions::default() }
    }
}

fn has_exited(streams: &Streams) -> bool {
    match &streams.ownership {
        Ownership::Ours { exit, .. } | Ownership::Terminal { exit, .. } => exit.borrow().is_some(),
        Ownership::Told { ended } => *ended,
        Ownership::NoProgram | Ownership::NotOurs => false,
    }
}

fn no_program() -> Failure {
    Failure::new(ErrorCode::NoSession, "there is no program in this session yet").hint("launch one first")
}

fn not_owned() -> Failure {
    Failure::new(ErrorCode::IoNotOwned, "the program's input and output belong to whoever started it")
        .hint("launch the program through Tandem to own its stdio")
}

fn in_terminal() -> Failure {
    Failure::new(ErrorCode::IoNotOwned, "the program's input and output belong to the terminal it runs in")
        .hint("launch it with `console: piped` to own its stdio")
}

/// Whole characters of a stream from `from` on: text, the offset behind it, bytes that are gone.
fn take_text(stream: &Stream, from: u64, limit: usize) -> (String, u64, u64) {
    let mut slice = stream.ring.read(from, limit);
    let more_may_come = !stream.at_end() || slice.end < stream.ring.end();
    let tail = if more_may_come { text::incomplete_tail(&slice.bytes) } else { 0 };
    slice.bytes.truncate(slice.bytes.len() - tail);
    (text::decode(slice.bytes), slice.end - tail as u64, slice.dropped)
}

fn scan(
    streams: &Streams,
    request: &ReadRequest,
    pattern: &Regex,
    from: Positions,
    scanned: &mut Positions,
) -> Option<String> {
    let one = |stream: &Stream, wanted: bool, from: u64, scanned: &mut u64| {
        if !wanted || stream.ring.end() == *scanned && *scanned != from {
            return None;
        }
        let (text, end, _) = take_text(stream, scanned.saturating_sub(PATTERN_SPAN).max(from), usize::MAX);
        *scanned = end;
        pattern.find(&text).map(|found| found.as_str().to_owned())
    };
    one(&streams.stdout, request.stdout, from.stdout, &mut scanned.stdout)
        .or_else(|| one(&streams.stderr, request.stderr, from.stderr, &mut scanned.stderr))
}

/// One reader's place in both streams, for `output` events.
#[derive(Debug)]
pub struct OutputCursor {
    broker: Broker,
    changed: watch::Receiver<()>,
    at: Positions,
}

impl OutputCursor {
    /// The next piece that is there already, merged up to 64 KiB.
    pub fn next_chunk(&mut self) -> Option<Chunk> {
        let streams = self.broker.lock();
        let one = |stream: &Stream, at: &mut u64, category| {
            let (text, end, dropped) = take_text(stream, *at, CHUNK);
            *at = end;
            (!text.is_empty() || dropped > 0).then_some(Chunk { category, text, dropped })
        };
        one(&streams.stdout, &mut self.at.stdout, "stdout")
            .or_else(|| one(&streams.stderr, &mut self.at.stderr, "stderr"))
    }

    /// Whether everything up to these positions was taken. Of a character that is not all there, [`Self::next_chunk`] gives
    /// nothing.
    pub fn has_reached(&self, positions: Positions) -> bool {
        self.at.stdout >= positions.stdout && self.at.stderr >= positions.stderr
    }

    /// There may be more than was taken: the next [`OutputCursor::changed`] returns at once.
    pub fn mark_changed(&mut self) {
        self.changed.mark_changed();
    }

    /// Waits for something new. Never ends while the session lives.
    pub async fn changed(&mut self) {
        if self.changed.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_bytes_count_however_few_and_half_a_character_does_not() {
        let broker = Broker::new(1024, PathBuf::from("stub"));
        let mut cursor = broker.cursor();
        broker.lock().stdout.ring.push(b"42\n");
        let printed = broker.settle();
        assert!(!cursor.has_reached(printed));
        assert_eq!(cursor.next_chunk().map(|chunk| chunk.text), Some("42\n".into()));
        assert!(cursor.has_reached(printed));

        // The euro sign has three bytes; without a pipe nothing more may come, so there must be one.
        let (reader, _writer) = std::io::pipe().unwrap();
        broker.lock().stderr.attach(File::from(std::os::fd::OwnedFd::from(reader))).unwrap();
        broker.lock().stderr.ring.push(&"€".as_bytes()[..2]);
        let half = broker.settle();
        assert!(!cursor.has_reached(half) && cursor.next_chunk().is_none());
        broker.lock().stderr.ring.push(&"€".as_bytes()[2..]);
        assert_eq!(cursor.next_chunk().map(|chunk| chunk.text), Some("€".into()));
        assert!(cursor.has_reached(broker.settle()));
    }
}
