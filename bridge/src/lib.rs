//! `tandem-mcp`: the debugger as MCP tools. To a session it is a DAP client like any other.
//!
//! In reading order: [`cli`], [`stdio`] and [`http`] (bytes to messages, with [`json_rpc`]), [`server`] and [`handler`] (MCP on one side; [`resources`], [`prompts`], [`completion`], [`client_log`]), [`catalog`] (the families of tools), [`tool`] (what a tool
//! is), [`call`] and [`arguments`] (what agents send), [`tools`] (what each tool does), [`session`] (DAP on the other
//! side), [`family`] (the programs that a program starts), [`observer`] (events to a picture of where the program stands) and [`journal`] (what happened), [`memory`] (what
//! the agent was told), [`wishes`] (its breakpoints), [`source`], [`bounds`] (small answers).

pub mod arguments;
pub mod bounds;
pub mod call;
pub mod catalog;
pub mod cli;
pub mod client_log;
pub mod completion;
pub mod family;
pub mod handler;
pub mod http;
pub mod journal;
pub mod json_rpc;
pub mod memory;
pub mod observer;
pub mod prompts;
pub mod resources;
pub mod server;
pub mod session;
pub mod source;
pub mod stdio;
pub mod tool;
pub mod tools;
pub mod wishes;
