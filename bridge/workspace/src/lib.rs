//! A folder of source code as an agent may see it: files, git, builds and commands, confined to the roots it
//! was given.
//!
//! In reading order: [`roots`] (where anything may happen), [`files`], [`command_line`] and [`process`] (how
//! programs are run), [`git`], [`build`] (what a folder holds and how it is built and tested), [`commands`],
//! [`jobs`] (work that outlasts a call), [`bounded`] (files of others), [`quoted_path`] (paths of any bytes
//! as text).
//!
//! Knows neither MCP nor debugging: parameters in, a serializable answer or a [`tandem_error::Failure`] out.

pub mod bounded;
pub mod build;
pub mod command_line;
pub mod commands;
pub mod files;
pub mod git;
pub mod jobs;
pub mod process;
pub mod quoted_path;
pub mod roots;
