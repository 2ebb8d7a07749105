//! What a session is and who owns what.
//!
//! [`state`] decides: a pure function of its state and an [`event::Event`], with [`event::Effect`]s as the answer.
//! [`actor`] carries messages to it and effects from it; [`writer`] is the one task per client that may wait for
//! that client's socket, behind its [`queue`]. Everything else here is a noun the state is made of: [`clients`], [`pending`] (who asked
//! what), [`arguments`], [`breakpoints`] (wishes and their union), [`ids`], [`convention`] and [`announced`] (each client's view),
//! [`capabilities`], [`access`] (what agents may do), [`looking`] (what runs no code), [`proxy`] (a client that rides in another session), [`facts`] (what
//! a late joiner is told), [`numbers`] (which number a reverse request went out under), [`shown`] (failures that are worth a dialog).
//!
//! Not here: bytes and frames (`dap_wire`), pipes (`io`), debugging (`engine`).

pub mod access;
pub mod actor;
pub mod announced;
pub mod arguments;
pub mod breakpoints;
pub mod capabilities;
pub mod clients;
pub mod convention;
pub mod event;
pub mod facts;
pub mod ids;
pub mod looking;
pub mod numbers;
pub mod pending;
pub mod proxy;
pub mod queue;
pub mod shown;
pub mod state;
pub mod writer;
