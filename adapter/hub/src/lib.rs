//! The hub: one debug session and its clients.
//!
//! [`state`] decides: a pure function of its state and an [`event::HubEvent`] that returns
//! [`event::HubEffect`]s. [`actor`] brings it messages and carries out its effects; [`writer`] is the one
//! task per client that may wait for that client's socket, behind its [`queue`]. The state is made of
//! [`clients`], [`pending`]
//! (requests in flight), [`arguments`], [`breakpoints`], [`follow`], [`ids`], [`convention`] and
//! [`client_capabilities`] (each client's view), [`capabilities`], [`launch`], [`access`] (what agents may
//! do), [`look_only`] (what runs no code) and [`replay_state`] (what a client that joins later is sent). The
//! actor needs [`connection`], [`host`] and [`inbox`], [`proxy`] (a client that is connected to another
//! session) and [`reverse_seqs`].
//!
//! Not here: bytes and frames (`dap_wire`), pipes (`tandem_process`), debugging (`tandem_engine`).

pub mod access;
pub mod actor;
pub mod arguments;
pub mod breakpoints;
pub mod capabilities;
pub mod client_capabilities;
pub mod clients;
pub mod connection;
pub mod convention;
pub mod event;
pub mod follow;
pub mod host;
pub mod ids;
pub mod inbox;
pub mod launch;
pub mod look_only;
mod message_structure;
pub mod pending;
pub mod proxy;
pub mod queue;
pub mod replay_state;
pub mod reverse_seqs;
#[cfg(any(test, feature = "simulation"))]
mod scripted_engine;
pub mod state;
pub mod writer;
