//! `tandem-dap`: one debug session, any number of clients.
//!
//! In reading order: [`cli`] (what may be asked on the command line), [`server`] (processes, sockets, who may
//! join), [`hub`] (what a session is), [`engine`] (what debugs), [`logging`]. The program's process and pipes
//! are in the crate [`tandem_process`].

pub mod cli;
pub mod engine;
pub mod hub;
pub mod logging;
pub mod server;
