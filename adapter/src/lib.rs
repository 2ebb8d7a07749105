//! `tandem-dap`: one debug session, any number of clients.
//!
//! In reading order: [`cli`] (flags), [`server`] (processes, sockets, access of clients), [`engines`] (the
//! choice of an engine), [`logging`]. Not here: the session itself ([`tandem_session`]).

pub mod cli;
pub mod engines;
pub mod logging;
pub mod server;
