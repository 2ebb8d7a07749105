//! One session with several clients: their views, control, access, and joining late.
//!
//! Not here: an agent alone, which the suite `agents` tests. How to write a test:
//! `tests/harness/src/lib.rs`.

#[macro_use]
extern crate tandem_harness;

mod access;
mod backpressure;
mod client_list;
mod joining;
mod many_clients;
mod many_readers;
mod other_users;
mod output;
mod releases;
mod session_control;
mod shared_breakpoints;
