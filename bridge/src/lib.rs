//! `tandem-mcp`: the debugger as MCP tools. To a session it is a DAP client like any other.
//!
//! In reading order: [`cli`], [`stdio`] and [`http`] (bytes to messages, with [`json_rpc`]), [`server`] and
//! [`handler`] (MCP on one side; [`resources`], [`prompts`], [`completion`], [`client_log`]), [`catalog`]
//! (the groups of tools), [`tool`] (the definition of a tool) and [`tool_filter`] (the tools that are
//! offered), [`call`] with [`progress`], and [`arguments`] (one call of an agent), [`call_order`] (several
//! at once), [`tools`] (the tools themselves), [`session`] (DAP on the other side), [`child_sessions`] (the
//! programs that a program starts), [`event_listener`] (folds messages into a [`snapshot`] of the program's
//! state), [`event_log`] (all events) and [`logpoints`] (lines that breakpoints logged), [`agent_view`]
//! (everything that was reported to the agent), [`breakpoint_requests`] (its breakpoints), [`repeat`],
//! [`test_request`] and [`test_run`] (its runs), [`trigger`] and [`trigger_action`] (actions during a wait),
//! [`source`] and [`functions`] (texts), [`bounds`] (small answers). For people: [`install`] (hosts'
//! configurations), [`doctor`] (installed programs) and [`status`] (live sessions); for editors:
//! [`editor_tests`].
//!
//! Not here: files, git and builds (`tandem-workspace`), test frameworks (`tandem-testing`).

pub mod agent_view;
pub mod arguments;
pub mod bounds;
pub mod breakpoint_body;
pub mod breakpoint_requests;
pub mod bridge_options;
pub mod call;
pub mod call_order;
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
pub mod new_output;
pub mod program_event;
pub mod progress;
pub mod prompts;
mod refusal;
pub mod repeat;
pub mod resources;
pub mod server;
pub mod session;
pub mod snapshot;
pub mod source;
pub mod status;
pub mod stdio;
pub mod test_request;
pub mod test_run;
pub mod tool;
pub mod tool_filter;
pub mod tools;
pub mod trigger;
pub mod trigger_action;
