//! `tandem-dap`: one debug session, any number of clients.
//!
//! In reading order: [`cli`] (what may be asked on the command line), [`server`] (processes, sockets, who may
//! join), [`engines`] (which one debugs), [`logging`]. A session is [`tandem_session`]'s.

pub mod cli;
pub mod engines;
pub mod logging;
pub mod server;
