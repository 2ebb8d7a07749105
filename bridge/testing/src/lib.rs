//! Test frameworks: which tests a project has, running them, and starting them for a debugger, with one model
//! for all.
//!
//! In reading order: [`model`] (tests and results), [`framework`] (what a framework has to say of itself, and
//! the table of them), [`host`] (who starts the processes with tests), [`run`] (one run), [`results`],
//! [`reports`] (what our helpers inside a framework write), [`select`] (which tests a call means),
//! [`request`] (lists and runs), [`answer`] (what they answer). A framework is one file, or a folder beside
//! it.
//!
//! Knows neither MCP nor the debug adapter protocol: a debugger is a [`host::ProcessLauncher`] that another
//! crate implements.

pub mod answer;
pub mod cargo;
pub mod cmake;
pub mod dotnet;
pub mod framework;
pub mod go;
pub mod host;
pub mod model;
pub mod node;
pub mod python;
pub mod repeat;
pub mod reports;
pub mod request;
pub mod results;
pub mod ruby;
pub mod run;
pub mod select;
