//! A folder of source code as an agent may see it: files, git, builds and commands, confined to the roots
//! that it was given.
//!
//! In reading order: [`roots`] (folders that may be read and changed), [`files`], [`command_line`] and
//! [`process`] (how programs are run), [`git`], [`build`] (the project in a folder, and how it is built and
//! tested), [`commands`], [`jobs`] (work that outlasts a call), [`answer_error`], [`bounded`] (files of
//! others), [`quoted_path`] (paths of any bytes as text).
//!
//! Knows neither MCP nor debugging: parameters in, a serializable answer or a [`tandem_error::Failure`] out.
//! Not here: lists and runs of single tests (`tandem-testing`).

pub mod answer_error;
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
