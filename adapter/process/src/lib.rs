//! Process I/O: the program's stdin, stdout and stderr are the broker's pipes, always drained, whether or not
//! a client reads.
//!
//! In reading order: [`broker`] (what others call), [`streams`] (what it guards), [`output_read`] and
//! [`cursor`] (output for requests and for who follows), [`ring`] (what is kept of a stream), [`text`] (bytes
//! to text across borders), [`child`] (starting a program held, killing it), [`held_exec`] (the stub that
//! becomes the program), [`exit`] (how it ended), [`terminal`] and [`terminal_answers`] (a terminal instead
//! of pipes), [`terminal_launch`] and [`runner`] (a program in a client's terminal, from both sides),
//! [`needs_terminal`] (messages of a program that misses one), [`named_pipes`] (pipes for a program that an
//! adapter starts), [`exec_shim`] (such a program known from its beginning), [`drain`] and `drain_thread`
//! (one per pipe), [`stdin`] (the queue of what is written) and `input_sink` (the way it takes),
//! [`redirection`], `file_input` and `output_copy` (files for stdin, and copies of output), [`input_wait`]
//! and [`blocking_calls`] (does the program wait for input?), `suspension` (has a signal suspended it?),
//! `detach_watchdog` (kills an adapter that outlives its host), [`executable`] (can it be a program of this
//! machine?).
//!
//! Knows no DAP and no clients but as a key. Used by the session's actor (reading, writing) and by engines
//! (spawning).

mod blocking_calls;
pub mod broker;
pub mod child;
pub mod cursor;
mod detach_watchdog;
pub mod drain;
mod drain_thread;
pub mod exec_shim;
pub mod executable;
pub mod exit;
mod file_input;
pub mod held_exec;
mod input_sink;
pub mod input_wait;
pub mod named_pipes;
pub mod needs_terminal;
mod output_copy;
pub mod output_read;
mod rate_limiter;
pub mod redirection;
pub mod ring;
pub mod runner;
pub mod stdin;
pub mod streams;
mod suspension;
pub mod terminal;
mod terminal_answers;
pub mod terminal_launch;
pub mod terminal_size;
pub mod text;

pub use broker::{Broker, WriteOutcome};
pub use child::{Child, SpawnSpec};
pub use cursor::{OutputChunk, OutputCursor};
pub use exec_shim::{ExecShim, StartedProgram};
pub use exit::ExitInfo;
pub use named_pipes::NamedPipes;
pub use output_read::{OutputRead, ReadRequest, WaitPattern};
pub use redirection::Redirection;
pub use streams::{ClientKey, StreamPositions};
pub use terminal_launch::TerminalLaunch;
