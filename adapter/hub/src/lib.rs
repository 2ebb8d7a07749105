//! The hub: the decisions of one debug session about its clients and its engine. No I/O, no clock, no task:
//! neither tokio nor a file can be named here (`Cargo.toml`, `clippy.toml`).
//!
//! [`state`] decides: a pure function of its state and an [`event::HubEvent`] that returns
//! [`event::HubEffect`]s. `tandem_session` brings it events and carries out its effects. The state is made of
//! [`clients`], [`pending`]
//! and [`unanswered_requests`] (requests in flight), [`arguments`], [`breakpoints`], [`follow`], [`ids`],
//! [`convention`] and [`client_capabilities`] (each client's view), [`capabilities`], [`launch`], [`access`]
//! (what agents may do), [`look_only`] (what runs no code) and [`replay_state`] (what a client that joins
//! later is sent).

pub mod access;
pub mod arguments;
pub mod breakpoints;
pub mod capabilities;
pub mod client_capabilities;
pub mod clients;
pub mod convention;
pub mod event;
pub mod follow;
pub mod ids;
pub mod launch;
pub mod look_only;
pub mod pending;
pub mod replay_state;
#[cfg(any(test, feature = "simulation"))]
mod scripted_engine;
pub mod state;
pub mod unanswered_requests;
