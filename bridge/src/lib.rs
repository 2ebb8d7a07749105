//! `tandem-mcp`: the debugger as MCP tools. To a session it is a DAP client like any other.
//!
//! In reading order: [`cli`], [`server`] (MCP on one side), [`catalog`] (the families of tools), [`tool`] (what a tool
//! is), [`call`] and [`arguments`] (what agents send), [`tools`] (what each tool does), [`session`] (DAP on the other
//! side), [`observer`] (events to a picture of where the program stands), [`registry`] (sessions to join).

pub mod arguments;
pub mod call;
pub mod catalog;
pub mod cli;
pub mod observer;
pub mod registry;
pub mod server;
pub mod session;
pub mod tool;
pub mod tools;
