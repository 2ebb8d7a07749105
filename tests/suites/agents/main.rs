//! Agents over MCP: the tools, tests, builds and sources that they use.
//!
//! Not here: the answers of each debugger, which `dotnet` and `adapters` test. How to write a test:
//! `tests/harness/src/lib.rs`.

#[macro_use]
extern crate tandem_harness;

mod agent;
mod agent_child_sessions;
mod agent_dotnet_subprocesses;
mod agent_faults;
mod agent_launches;
mod agent_locals;
mod agent_mistakes;
mod agent_runs;
mod agent_sources;
mod agent_stops;
mod agent_tools;
mod bug_hunts;
mod build_progress;
mod builds;
mod cancelling;
mod core_tools;
mod documented_transcripts;
mod editor_tests;
mod follow_tool;
mod frameworks;
mod hostile_repositories;
mod http;
mod installing;
mod read_only_access;
mod real_agents;
mod repeated_runs;
mod schemas;
mod test_expected;
mod test_faults;
mod test_projects;
mod test_runs;
mod test_selection;
mod traces;
mod triggers;
mod trying;
