//! Reads of the program's output: at once, or after a wait for something new, a pattern, a question or
//! the end.
//!
//! Loses nothing: each client has its own start, each answer a cursor to continue from. For a reader that
//! follows all of it see [`cursor`](super::cursor).

use std::time::Duration;

use regex::Regex;
use tandem_error::{ErrorCode, Failure};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::broker::Broker;
use super::drain::DrainedStream;
use super::input_wait::{self, InputWaitKind, ObservedProgram, QUIET_INTERVAL, WaitDetector};
use super::streams::{ClientKey, Ownership, StreamPositions, Streams};
use super::suspension::{SuspensionWatch, note_suspension, suspended_process};
use super::{terminal, text};

/// A pattern that spans more bytes than this is not found while output keeps coming.
const MAX_PATTERN_SPAN: u64 = 64 * 1024;
/// How much of a stream is searched at once, bytes.
const SEARCH_BLOCK_LEN: usize = 64 * 1024;
/// The newest bytes that a terminal's screen is rendered from: programs that draw the
/// screen redraw it regularly.
const MAX_SCREEN_LEN: u64 = 1024 * 1024;
/// How often a waiting reader checks whether the program waits for input.
const INPUT_PROBE_INTERVAL: Duration = Duration::from_millis(15);
/// The same when it does not wait.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How long after the program's end a waiting read still waits for output: a process that the program started
/// may hold its pipes for hours.
const AFTER_EXIT_WAIT: Duration = Duration::from_millis(500);
/// Maximum length of a character, bytes.
const MAX_CHARACTER_LEN: usize = 4;
/// `waitFor` without `timeoutMs`.
const DEFAULT_WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// A checked `processReadOutput`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadRequest {
    /// Whether stdout is requested.
    pub stdout: bool,
    /// Whether stderr is requested.
    pub stderr: bool,
    /// Move this client's start behind what is returned.
    pub clear: bool,
    /// Cursor of an earlier answer; this client's start when absent.
    pub since: Option<String>,
    /// Most bytes per stream.
    pub max_bytes: Option<usize>,
    /// Return the newest bytes instead of the oldest if there are more.
    pub newest: bool,
    /// Wait until this matches.
    pub wait_for: Option<WaitPattern>,
    /// How long to wait; without `wait_for`, for anything new.
    pub timeout: Option<Duration>,
    /// Also return the screen of the program's terminal.
    pub screen: bool,
    /// The program is stopped by the debugger, so an idle program does not wait for input.
    pub stopped: bool,
}

/// A regular expression to wait for in the output. Two are equal when their texts are.
#[derive(Debug, Clone)]
pub struct WaitPattern(Regex);

impl WaitPattern {
    /// Compiles the pattern.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` if the text is not a regular expression.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        Regex::new(text)
            .map(Self)
            .map_err(|error| Failure::invalid(format!("`waitFor` is not a regular expression: {error}")))
    }
}

impl PartialEq for WaitPattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

/// The answer to [`ReadRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutputRead {
    /// The text of stdout, if it was requested.
    pub stdout: Option<String>,
    /// The text of stderr, if it was requested.
    pub stderr: Option<String>,
    /// The cursor with which the next read continues.
    pub cursor: String,
    /// Requested bytes that are no longer kept.
    pub dropped: u64,
    /// Bytes before what is returned that were passed over for the newest.
    pub skipped: u64,
    /// The text that matched the pattern.
    pub matched: Option<String>,
    /// The program waits for input, and how.
    pub waiting_for_input: Option<InputWaitKind>,
    /// Identifies this wait for input: another id when the program has printed something, or
    /// was given input, since.
    pub wait_id: Option<String>,
    /// Its terminal's screen, if requested.
    pub screen: Option<String>,
    /// The process that a signal has suspended, if the program does not answer because of that.
    pub suspended_process: Option<u32>,
    /// The program has ended, and all that it wrote has arrived. Processes that it started may write more.
    pub exited: bool,
}

impl Broker {
    /// Reads output for a client; waits if the request asks for it.
    ///
    /// # Errors
    /// `NO_SESSION`, `IO_NOT_OWNED`, `INVALID_PARAMETER` for a foreign cursor, `CANCELLED`.
    pub async fn read_output(
        &self,
        client: ClientKey,
        request: &ReadRequest,
        cancel: &CancellationToken,
    ) -> Result<OutputRead, Failure> {
        let mut changed = self.changes();
        if !matches!(self.lock().ownership, Ownership::Reported { .. }) {
            let refusal = self.lock().stdin().err();
            if let Some(refusal) = refusal {
                return Err(note_suspension(refusal, self.suspended_process()));
            }
        }
        if request.screen && !self.lock().stdin()?.is_terminal() {
            return Err(Failure::invalid("there is no screen: the program uses pipes, not a terminal")
                .hint("launch it with `pty: true`"));
        }
        let from = match &request.since {
            Some(cursor) => StreamPositions::parse(cursor).ok_or_else(|| {
                Failure::invalid(format!("`{cursor}` is not a cursor of an earlier answer"))
            })?,
            None => self.lock().starts.get(&client).copied().unwrap_or_default(),
        };
        let waits = request.wait_for.is_some() || request.timeout.is_some();
        let deadline = Instant::now() + request.timeout.unwrap_or(DEFAULT_WAIT_TIMEOUT);
        let (mut scanned, mut waiting, mut detector) = (from, None, WaitDetector::default());
        let (mut last_moment, mut suspension) = (None, SuspensionWatch::default());
        let matched = loop {
            if last_moment.is_none() && self.lock().is_over() {
                // The pipes have all that the program itself wrote.
                self.drain_output();
                last_moment = Some(Instant::now() + AFTER_EXIT_WAIT);
            }
            let (exited, fresh) = {
                let streams = self.lock();
                if let Some(pattern) = &request.wait_for
                    && let Some(found) = scan(&streams, request, pattern, from, &mut scanned)
                {
                    break Some(found);
                }
                let fresh = (request.stdout && has_text(&streams.stdout, from.stdout))
                    || (request.stderr && has_text(&streams.stderr, from.stderr));
                let exited = last_moment.is_some_and(|last| streams.is_drained() || Instant::now() >= last);
                (exited, fresh)
            };
            if !waits || exited || (request.wait_for.is_none() && fresh) {
                break None;
            }
            waiting = detector.sample(self.observed_program(request.stopped).as_ref());
            if waiting.is_some() {
                // Output from before it waited for input may still be in the pipes.
                self.drain_output();
                let streams = self.lock();
                let pattern = request.wait_for.as_ref();
                break pattern.and_then(|pattern| scan(&streams, request, pattern, from, &mut scanned));
            }
            if !request.stopped && suspension.is_long(&self.lock().live_processes()) {
                break None;
            }
            tokio::select! {
                _ = changed.changed() => {}
                () = tokio::time::sleep(detector.interval(INPUT_PROBE_INTERVAL)) => {}
                () = cancel.cancelled() => return Err(Failure::cancelled()),
                () = tokio::time::sleep_until(deadline) => break None,
            }
        };
        // A wait is seen in several looks. The request may have ended between two of them.
        let waiting_for_input = match waiting {
            None => self.is_waiting_now(request.stopped).await,
            found => found,
        };
        let exited = self.lock().is_over();
        if exited || waiting_for_input.is_some() {
            self.drain_output();
        }
        let answers = request.stopped || matched.is_some() || waiting_for_input.is_some();
        let suspended_process = if answers { None } else { self.suspended_process() };
        let mut streams = self.lock();
        let wait_id = waiting_for_input.and(streams.stdin().ok());
        let wait_id = wait_id.map(|stdin| format!("{}.i{}", streams.positions(), stdin.bytes_given()));
        let found = OutputRead { matched, waiting_for_input, wait_id, exited, ..OutputRead::default() };
        let mut read = OutputRead { suspended_process, ..found };
        let limit = request.max_bytes.unwrap_or(usize::MAX);
        let mut from = from;
        if request.newest {
            for (is_requested, start, stream) in [
                (request.stdout, &mut from.stdout, &streams.stdout),
                (request.stderr, &mut from.stderr, &streams.stderr),
            ] {
                let newest = newest_start(stream, *start, limit);
                read.skipped += if is_requested { newest - *start } else { 0 };
                *start = newest;
            }
        }
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
        if request.screen {
            let ring = &streams.stdout.ring;
            let newest = ring.read(ring.end().saturating_sub(MAX_SCREEN_LEN), usize::MAX).bytes;
            read.screen = Some(terminal::screen(&newest, streams.terminal_size).ok_or_else(no_screen)?);
        }
        if request.clear {
            streams.starts.insert(client, end);
        }
        read.cursor = end.to_string();
        Ok(read)
    }

    /// Whether the program waits for input now. Samples for a while if it may wait.
    async fn is_waiting_now(&self, stopped: bool) -> Option<InputWaitKind> {
        let mut detector = WaitDetector::default();
        loop {
            let found = detector.sample(self.observed_program(stopped).as_ref());
            if found.is_some() || detector.is_over() {
                return found;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Whether the program is blocked until it can read its input, by one look at it.
    pub fn is_blocked_on_input(&self) -> bool {
        self.observed_program(false).is_some_and(|subject| {
            subject.is_empty && input_wait::sample(subject.pid, &subject.input).is_wait()
        })
    }

    /// The program to sample to find out whether it waits for input; `None` if the debugger has `stopped` it.
    pub(super) fn observed_program(&self, stopped: bool) -> Option<ObservedProgram> {
        let (pid, stdin) = self.lock().ownership.reader().filter(|_| !stopped)?;
        let has_printed = self.lock().stdout.has_printed_within(QUIET_INTERVAL);
        Some(ObservedProgram::new(pid, &stdin, has_printed))
    }

    /// Sets the process of the program, as its engine reports it.
    pub fn set_process(&self, process: Option<u32>) {
        self.lock().process = process;
    }

    /// The process of the program that a signal has suspended now: its own, or one below it that has its
    /// input.
    fn suspended_process(&self) -> Option<u32> {
        let streams = self.lock();
        let (processes, reader) = (streams.live_processes(), streams.ownership.reader());
        drop(streams);
        let input = reader.map(|(_, stdin)| stdin.input().clone());
        processes.into_iter().find_map(|pid| suspended_process(pid, input.as_ref()))
    }

    /// The last lines the program wrote to stderr, at most `limit` bytes: why it ended.
    pub fn stderr_tail(&self, limit: usize) -> String {
        // Its latest output may still be in the pipes.
        self.drain_output();
        let streams = self.lock();
        // On a terminal there is no stderr.
        let stream = if streams.stderr.ring.end() == 0 { &streams.stdout } else { &streams.stderr };
        let from = stream.ring.end().saturating_sub(limit as u64);
        take_text(stream, from, limit).0.trim().to_owned()
    }

    /// Forgets the start of a client that left.
    pub fn forget_client(&self, client: ClientKey) {
        self.lock().starts.remove(&client);
    }

    /// Waits until the program prints this from now on, on stderr or its terminal.
    /// `false` when it ends before.
    pub async fn prints_error(&self, text: &[u8]) -> bool {
        let mut changed = self.changes();
        let overlap = text.len().saturating_sub(1) as u64;
        let mut scanned = None;
        loop {
            let ended = {
                let streams = self.lock();
                let stream = if streams.stderr.attached() == 0 { &streams.stdout } else { &streams.stderr };
                let scanned = scanned.get_or_insert(stream.ring.end());
                while *scanned < stream.ring.end() {
                    let slice = stream.ring.read(scanned.saturating_sub(overlap), SEARCH_BLOCK_LEN);
                    if slice.bytes.windows(text.len()).any(|window| window == text) {
                        return true;
                    }
                    *scanned = slice.end;
                }
                streams.has_exited()
            };
            if ended || changed.changed().await.is_err() {
                return false;
            }
        }
    }
}

/// Where the newest `limit` bytes of a stream begin, at the beginning of a character, and not before `from`.
pub(super) fn newest_start(stream: &DrainedStream, from: u64, limit: usize) -> u64 {
    let start = stream.ring.end().saturating_sub(limit as u64);
    if start <= from {
        return from;
    }
    let rest = stream.ring.read(start, 3).bytes;
    start + rest.iter().take_while(|byte| (0x80..=0xBF).contains(*byte)).count() as u64
}

/// Whether a stream has a whole character from `from` on: a part of one is nothing to read yet.
fn has_text(stream: &DrainedStream, from: u64) -> bool {
    stream.ring.end() > from && take_text(stream, from, MAX_CHARACTER_LEN).1 > from
}

/// Whole characters of a stream from `from` on: text, the offset behind it, bytes that are gone.
pub(super) fn take_text(stream: &DrainedStream, from: u64, limit: usize) -> (String, u64, u64) {
    let mut slice = stream.ring.read(from, limit);
    let more_may_come = !stream.at_end() || slice.end < stream.ring.end();
    let tail = if more_may_come { text::incomplete_tail(&slice.bytes) } else { 0 };
    slice.bytes.truncate(slice.bytes.len() - tail);
    (text::decode(slice.bytes), slice.end - tail as u64, slice.dropped)
}

fn no_screen() -> Failure {
    Failure::new(ErrorCode::IoFailed, "cannot draw the screen: the terminal is too narrow for the output")
        .hint("read the output without `screen`, or launch with a larger `terminalSize`")
}

fn scan(
    streams: &Streams,
    request: &ReadRequest,
    pattern: &WaitPattern,
    from: StreamPositions,
    scanned: &mut StreamPositions,
) -> Option<String> {
    let one = |stream: &DrainedStream, is_requested: bool, from: u64, scanned: &mut u64| {
        if !is_requested || stream.ring.end() == *scanned && *scanned != from {
            return None;
        }
        let (text, end, _) =
            take_text(stream, scanned.saturating_sub(MAX_PATTERN_SPAN).max(from), usize::MAX);
        *scanned = end;
        pattern.0.find(&text).map(|found| found.as_str().to_owned())
    };
    one(&streams.stdout, request.stdout, from.stdout, &mut scanned.stdout)
        .or_else(|| one(&streams.stderr, request.stderr, from.stderr, &mut scanned.stderr))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::OwnedFd;

    use super::*;

    #[test]
    fn a_part_of_a_character_does_not_end_a_wait() {
        let mut stream = DrainedStream::new(100);
        let (reader, _writer) = std::io::pipe().unwrap();
        drop(stream.attach(File::from(OwnedFd::from(reader)), None).unwrap());
        for (bytes, is_text) in [(&b"\xE2\x82"[..], false), (b"\xAC", true), (b"\xC3", true)] {
            stream.push(bytes);
            assert_eq!(has_text(&stream, 0), is_text, "{bytes:?}");
        }
        assert!(!has_text(&stream, 3) && has_text(&stream, 1));
    }
}
