//! `tandem-mcp`: the debugger as MCP tools. To a session it is a DAP client like any other.
//!
//! In reading order: [`cli`], [`stdio`] and [`http`] (bytes to messages, with [`json_rpc`]), [`server`] and
//! [`handler`] (MCP on one side; [`resources`], [`prompts`], [`completion`], [`client_log`]), [`catalog`]
//! (the groups of tools), [`tool`] (what a tool is), [`call`] and [`arguments`] (what agents send),
//! [`tools`] (what each tool does), [`session`] (DAP on the other side), [`child_sessions`] (the programs
//! that a program starts), [`event_listener`] (turns events into a snapshot of the program's state),
//! [`event_log`] (what happened) and [`logpoints`] (what breakpoints logged), [`agent_view`] (what was
//! reported to the agent), [`breakpoint_requests`] (its breakpoints), [`trigger`] (what is started while one
//! waits), [`source`] and [`functions`] (texts), [`bounds`] (small answers). Beside that, for people:
//! [`install`] (hosts' configurations), [`doctor`] (what is missing) and [`status`] (what is debugged now);
//! for editors: [`editor_tests`].

pub mod agent_view;
pub mod arguments;
pub mod bounds;
pub mod breakpoint_requests;
pub mod call;
pub mod catalog;
pub mod child_sessions;
pub mod cli;
pub mod client_log;
pub mod completion;
pub mod doctor;
pub mod editor_tests;
pub mod event_listener;
pub mod event_log;
pub mod functions;
pub mod handler;
pub mod http;
pub mod install;
pub mod json_rpc;
pub mod logpoints;
pub mod prompts;
pub mod resources;
pub mod server;
pub mod session;
pub mod source;
pub mod status;
pub mod stdio;
pub mod tool;
pub mod tools;
pub mod trigger;
