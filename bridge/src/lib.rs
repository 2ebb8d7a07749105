//! `tandem-mcp`: the debugger as MCP tools. To a session it is a DAP client like any other.
//!
//! In reading order: [`cli`], [`server`] (MCP on one side), [`catalog`] (every tool at a glance), [`arguments`] (what
//! agents send), [`tools`] (what each tool does), [`session`] (DAP on the other side), [`observer`] (events to a
//! picture of where the program stands), [`registry`] (sessions to join).

pub mod arguments;
pub mod catalog;
pub mod cli;
pub mod observer;
pub mod registry;
pub mod server;
pub mod session;
pub mod tools;
