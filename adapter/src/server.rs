//! Processes and sockets: how clients reach a session, and how a session is found.
//!
//! [`relay`] (an editor's stdio), [`listener`] (`--listen`) and [`host`] (the process of one session);
//! [`sessions`] (what lives, for people). The folder that says which sessions live is a crate of its own: `registry`.
//!
//! One process hosts one session: a crash costs that session and no other, and an editor that kills its adapter kills
//! only the relay.

mod handover;
pub mod host;
mod lent;
pub mod listener;
pub mod relay;
pub mod sessions;
pub mod steward;
mod unfinished;
