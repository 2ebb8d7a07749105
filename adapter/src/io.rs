//! The broker: the program's stdin, stdout and stderr are our pipes, always drained, whoever listens.
//!
//! In reading order: [`broker`] (what others call), [`streams`] (what it guards), [`reading`] and [`cursor`] (output for who asks
//! and for who follows), [`ring`] (what is kept of a stream), [`text`] (bytes to text across borders), [`child`] (starting a program
//! held, its exit, killing it), [`terminal`] (a terminal instead of pipes), [`invitation`] and [`runner`] (a program in a client's
//! terminal, from both sides), [`offer`] (pipes for a program that somebody else starts), [`delegate`] (such a
//! program known from its beginning), [`drain`] (the thread per pipe), [`stdin`]
//! (the queue of what is written), [`waiting`] (does the program wait for input?), [`warden`] (the end of an adapter whose host
//! was killed), [`executable`] (can it be a program of this machine?).
//!
//! Knows no DAP and no clients but as a key. Used by the hub's actor (reading, writing) and by engines (spawning).

pub mod broker;
pub mod child;
pub mod cursor;
pub mod delegate;
pub mod drain;
pub mod executable;
pub mod invitation;
pub mod offer;
mod pace;
pub mod reading;
pub mod ring;
pub mod runner;
pub mod stdin;
pub mod streams;
pub mod terminal;
pub mod text;
pub mod waiting;
pub mod warden;

pub use broker::{Broker, Written};
pub use child::{Child, ExitInfo, SpawnSpec};
pub use cursor::{Chunk, OutputCursor};
pub use delegate::{Begun, Delegate};
pub use invitation::Invitation;
pub use offer::Offer;
pub use reading::{OutputRead, ReadRequest};
pub use streams::{ClientKey, Positions};
