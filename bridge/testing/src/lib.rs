//! Test frameworks: which tests a project has, running them, and starting them for a debugger, with one model
//! for all.
//!
//! In reading order: [`model`] (tests and results), [`framework`] (the interface of a framework), [`host`]
//! (starts the processes with tests), [`run`] (one run), [`results`], [`reports`] (lines that our helpers
//! inside a framework write), [`select`] (the tests that a call means), [`request`] (lists and runs),
//! [`answer`] (their answers), [`frameworks`] (the list of all). A framework is one file, or a folder next to
//! it.
//!
//! Knows neither MCP nor the debug adapter protocol: a debugger is a [`host::ProcessLauncher`] that another
//! crate implements. Not here: builds without tests (`tandem-workspace`).

pub mod answer;
mod cargo;
mod cmake;
mod dotnet;
pub mod framework;
pub mod frameworks;
mod go;
pub mod host;
mod installed;
pub mod model;
mod node;
mod python;
pub mod repeat;
mod reports;
pub mod request;
pub mod results;
mod ruby;
pub mod run;
pub mod select;
