//! State of the broker: both streams of the program, the clients' read positions, and the owner of the
//! program's stdio.
//!
//! Plain data behind one lock; waits for nothing.

use std::collections::HashMap;
use std::sync::Arc;

use tandem_error::{ErrorCode, Failure};
use tokio::sync::watch;

use super::drain::{DrainStep, DrainedStream};
use super::exit::ExitInfo;
use super::ring::RingBuffer;
use super::stdin::ProgramStdin;
use super::terminal_size::TerminalSize;

/// Most blocks of a stream that are taken in at once: more than a pipe holds.
const MAX_DRAINED_BLOCKS: usize = 64;

/// How much is kept of the lines about faults, bytes.
const MAX_WARNINGS_LEN: usize = 16 * 1024;

/// The reader of a stream: the hub's client id.
pub type ClientKey = u64;

/// How much of each stream was ever printed, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamPositions {
    pub stdout: u64,
    pub stderr: u64,
}

impl StreamPositions {
    pub(super) fn parse(cursor: &str) -> Option<Self> {
        let (stdout, stderr) = cursor.strip_prefix('o')?.split_once(".e")?;
        Some(Self { stdout: stdout.parse().ok()?, stderr: stderr.parse().ok()? })
    }
}

impl std::fmt::Display for StreamPositions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "o{}.e{}", self.stdout, self.stderr)
    }
}

/// The owner of the program's stdin, stdout and stderr.
#[derive(Debug)]
pub(super) enum Ownership {
    NoProgram,
    NotOurs,
    Ours {
        pid: u32,
        reader: u32,
        stdin: Arc<ProgramStdin>,
        exit: watch::Receiver<Option<ExitInfo>>,
    },
    /// A client's terminal has them; Tandem may end the program.
    Terminal {
        pid: u32,
        exit: watch::Receiver<Option<ExitInfo>>,
    },
    /// An adapter owns them and reports what the program prints.
    Reported {
        ended: bool,
    },
}

impl Ownership {
    /// How a program ended that Tandem started: the kernel reports its end to Tandem, not to an adapter.
    pub(super) fn exit_info(&self) -> Option<ExitInfo> {
        match self {
            Self::Ours { pid, exit, .. } if *pid != 0 => *exit.borrow(),
            Self::Terminal { exit, .. } => *exit.borrow(),
            _ => None,
        }
    }

    /// The process that reads what is written, while it lives.
    pub(super) fn reader(&self) -> Option<(u32, Arc<ProgramStdin>)> {
        match self {
            Self::Ours { reader, stdin, exit, .. } if exit.borrow().is_none() => {
                Some((*reader, stdin.clone()))
            }
            _ => None,
        }
    }

    /// The end of a program that Tandem started or may end.
    pub(super) fn exit(&self) -> Option<watch::Receiver<Option<ExitInfo>>> {
        match self {
            Self::Ours { exit, .. } | Self::Terminal { exit, .. } => Some(exit.clone()),
            Self::NoProgram | Self::NotOurs | Self::Reported { .. } => None,
        }
    }

    /// Kills the rest of the program's process group.
    pub(super) fn kill(&self) {
        if let Self::Ours { pid, exit, .. } | Self::Terminal { pid, exit } = self
            && exit.borrow().is_none()
        {
            super::child::signal_group(*pid, rustix::process::Signal::KILL);
        }
    }
}

/// Both streams and their readers.
#[derive(Debug)]
pub(super) struct Streams {
    pub(super) stdout: DrainedStream,
    pub(super) stderr: DrainedStream,
    /// The positions at which each client's reading begins, if that is not the first byte.
    pub(super) starts: HashMap<ClientKey, StreamPositions>,
    pub(super) ownership: Ownership,
    /// The size of the program's terminal, and of those of later programs of the session.
    pub(super) terminal_size: TerminalSize,
    /// Clients know that the program needs a terminal.
    pub(super) hinted: bool,
    /// Lines about faults of the program's input and output, for clients.
    pub(super) warnings: RingBuffer,
    /// The process of the program, as the engine reports it.
    pub(super) process: Option<u32>,
    /// Clients know that the program has ended: its debugger, which has the same pipes, may still run.
    pub(super) exit_reported: bool,
}

impl Streams {
    pub(super) fn new(buffer_bytes: usize) -> Self {
        Self {
            stdout: DrainedStream::new(buffer_bytes),
            stderr: DrainedStream::new(buffer_bytes),
            starts: HashMap::new(),
            ownership: Ownership::NoProgram,
            terminal_size: TerminalSize::default(),
            hinted: false,
            warnings: RingBuffer::new(MAX_WARNINGS_LEN),
            process: None,
            exit_reported: false,
        }
    }

    /// Adds a line for all clients, also for those that join later.
    pub(super) fn warn(&mut self, text: &str) {
        tracing::warn!("{text}");
        self.warnings.push(format!("{text}\n").as_bytes());
    }

    /// Adds the lines about the streams themselves.
    pub(super) fn note_stream_warnings(&mut self) {
        for warning in [self.stdout.take_warning(), self.stderr.take_warning()].into_iter().flatten() {
            self.warn(&warning);
        }
    }

    /// The process that reads the input, and that of the program; none once it has ended.
    pub(super) fn live_processes(&self) -> Vec<u32> {
        let reader = self.ownership.reader().map(|(pid, _)| pid);
        let all = [reader, self.process];
        all.into_iter().flatten().filter(|_| !self.has_exited()).collect()
    }

    pub(super) fn positions(&self) -> StreamPositions {
        StreamPositions { stdout: self.stdout.ring.end(), stderr: self.stderr.ring.end() }
    }

    /// Nothing more can come.
    pub(super) fn is_drained(&self) -> bool {
        self.stdout.at_end() && self.stderr.at_end()
    }

    /// Sets the owner of a program that begins.
    pub(super) fn set_ownership(&mut self, ownership: Ownership) {
        self.ownership = ownership;
        self.exit_reported = false;
    }

    /// Whether the program has ended, for clients: they know it from the engine, or will.
    pub(super) fn is_over(&self) -> bool {
        self.exit_reported || self.has_exited()
    }

    /// Whether the program, which we started or an adapter reported, has ended.
    pub(super) fn has_exited(&self) -> bool {
        match &self.ownership {
            Ownership::Ours { exit, .. } | Ownership::Terminal { exit, .. } => exit.borrow().is_some(),
            Ownership::Reported { ended } => *ended,
            Ownership::NoProgram | Ownership::NotOurs => false,
        }
    }

    /// Refuses to start another program in a session that has this.
    ///
    /// # Errors
    /// `ALREADY_ATTACHED`.
    pub(super) fn refuse_second_program(&self) -> Result<(), Failure> {
        let has_program = match &self.ownership {
            // An adapter that seemed to keep the program's stdio may still ask us to start it.
            Ownership::NoProgram | Ownership::Reported { .. } => false,
            Ownership::NotOurs => true,
            Ownership::Ours { exit, .. } | Ownership::Terminal { exit, .. } => exit.borrow().is_none(),
        };
        match has_program {
            true => Err(Failure::new(ErrorCode::AlreadyAttached, "this session already has a program")),
            false => Ok(()),
        }
    }

    /// The program's stdin, if Tandem owns it.
    ///
    /// # Errors
    /// `NO_SESSION`, `IO_NOT_OWNED`.
    pub(super) fn stdin(&self) -> Result<Arc<ProgramStdin>, Failure> {
        match &self.ownership {
            Ownership::Ours { stdin, .. } => Ok(stdin.clone()),
            Ownership::Terminal { .. } => Err(in_terminal()),
            Ownership::NotOurs | Ownership::Reported { .. } => Err(not_owned()),
            Ownership::NoProgram => Err(no_program()),
        }
    }

    /// Changes the size of the program's terminal, or that of the terminal which the session's first program
    /// will get. A restarted program's terminal has the same size.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for a program that uses pipes, `IO_NOT_OWNED`, `IO_FAILED`.
    pub(super) fn resize_terminal(&mut self, size: TerminalSize) -> Result<(), Failure> {
        match self.stdin() {
            Ok(stdin) if !stdin.is_terminal() => {
                return Err(Failure::invalid(
                    "there is no terminal to resize: the program uses pipes, not a terminal",
                )
                .hint("launch it with `pty: true`"));
            }
            Err(failure) if failure.code != ErrorCode::NoSession => return Err(failure),
            Ok(_) | Err(_) => {}
        }
        self.terminal_size = size;
        self.stdout.resize(size).map_err(|error| {
            Failure::new(ErrorCode::IoFailed, format!("cannot resize the program's terminal: {error}"))
        })
    }

    /// Drains a stream of the program that was attached as number `mine`.
    pub(super) fn drain_step(&mut self, pick: fn(&mut Self) -> &mut DrainedStream, mine: u64) -> DrainStep {
        let has_exited = self.has_exited();
        let stream = pick(self);
        // A restarted program's pipe took the place of one that something else still holds open.
        if stream.attached() != mine {
            return DrainStep::Ended;
        }
        let was_at_end = stream.at_end();
        stream.drain();
        if stream.at_end() && has_exited {
            stream.close();
        }
        let step = match (stream.is_closed(), stream.at_end()) {
            (true, _) => DrainStep::Ended,
            (false, true) if was_at_end => DrainStep::StillHungUp,
            (false, true) => DrainStep::HungUp,
            (false, false) => DrainStep::Open,
        };
        self.note_stream_warnings();
        step
    }

    /// Takes in what the program has printed until now, at most [`MAX_DRAINED_BLOCKS`] blocks of each stream:
    /// one that runs may print forever.
    pub(super) fn drain(&mut self) {
        for stream in [&mut self.stdout, &mut self.stderr] {
            for _ in 0..MAX_DRAINED_BLOCKS {
                if !stream.drain() {
                    break;
                }
            }
        }
        self.note_stream_warnings();
    }
}

fn no_program() -> Failure {
    Failure::new(ErrorCode::NoSession, "there is no program in this session yet").hint("launch one first")
}

fn not_owned() -> Failure {
    Failure::new(
        ErrorCode::IoNotOwned,
        "the program's input and output belong to the process that started it",
    )
    .hint("launch the program with Tandem to own its stdio")
}

fn in_terminal() -> Failure {
    Failure::new(ErrorCode::IoNotOwned, "the program's input and output belong to the terminal it runs in")
        .hint("launch it with `console: piped` to own its stdio")
}
