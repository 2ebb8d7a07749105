//! Support for tests with an editor and an agent, and how to write one.
//!
//! Pick a [`fixture::Runtime`] and a program of `fixtures/programs`, start a [`client::DapClient`] (an
//! editor) and, if the test has one, an [`agent::Agent`]; both write into one [`transcript::Transcript`],
//! which is the snapshot. Break at `// BP name` markers, never at line numbers; wait for messages with a
//! deadline, never with a sleep.

pub mod agent;
pub mod child;
pub mod client;
pub mod compiled;
pub mod deadline;
pub mod debug_protocol;
mod declarations;
pub mod decompiler;
pub mod distant;
pub mod fixture;
pub mod freshness;
pub mod http;
mod modern;
pub mod order;
pub mod plain_programs;
pub mod port;
pub mod process_tracking;
pub mod projects;
pub mod random_expressions;
pub mod schema;
pub mod terminal;
pub mod transcript;
pub mod web;
