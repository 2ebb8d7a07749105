//! Programs in other languages, debugged by their own adapters behind the hub.
//!
//! Not here: .NET, but for netcoredbg. How to write a test:
//! `tests/harness/src/lib.rs`.

#[macro_use]
extern crate tandem_harness;

mod child_adapters;
mod child_attach;
mod child_cancel;
mod child_crashes;
mod child_custom;
mod child_faults;
mod child_go;
mod child_hit_counts;
mod child_input;
mod child_javascript;
mod child_launches;
mod child_matrix;
mod child_nodelay;
mod child_non_unicode_names;
mod child_perl;
mod child_programs;
mod child_python;
mod child_replays;
mod child_requests;
mod child_ruby;
mod child_subprocesses;
mod child_terminate;
mod configurations;
mod launched_tests;
mod native_types;
mod native_values;
mod netcoredbg;
mod rust_expressions;
mod signals;
