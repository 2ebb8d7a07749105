//! The task that owns a debug session, and everything of it that needs a socket, a clock or a thread.
//!
//! The hub decides (`tandem_hub`, a pure function); [`actor`] brings it events and carries out its effects,
//! and never waits for a client or an engine. [`writer`] is the one task per client that may wait for that
//! client's socket, behind its [`queue`]. The actor needs [`connection`], [`host`] (what its process does for
//! it) and [`inbox`], [`proxy`] (a client that is connected to another session) and [`reverse_seqs`].
//!
//! Not here: bytes and frames (`tandem_wire`), pipes (`tandem_process`), debugging (`tandem_engine`).

pub mod actor;
pub mod connection;
pub mod host;
pub mod inbox;
mod message_structure;
pub mod proxy;
pub mod queue;
pub mod reverse_seqs;
pub mod writer;
