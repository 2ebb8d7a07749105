//! Processes and sockets: how clients reach a session, and how a session is found.
//!
//! [`relay`] (an editor's stdio), [`listener`] (`--listen`) and [`host`] (the process of one session) with
//! `host_process`, [`child_session_client`] and [`child_hosts`]; [`sessions`] (the list of live sessions),
//! `stale_files` (files of hosts that were killed), [`engines`] and [`doctor`] (what is installed). The
//! folder of live sessions is a separate crate: `tandem-registry`.
//!
//! One process hosts one session: a crash costs that session and no other, and an editor that kills its
//! adapter kills only the relay.

mod child_hosts;
pub mod child_session_client;
pub mod doctor;
pub mod engines;
mod fd_passing;
pub mod host;
mod host_process;
pub mod listener;
mod partial_write;
pub mod relay;
pub mod sessions;
mod shared_fd;
mod stale_files;
