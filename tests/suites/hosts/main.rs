//! The process of a session: its sockets, its input and output, bad messages, downloads.
//!
//! Not here: what a debugger answers. How to write a test:
//! `tests/harness/src/lib.rs`.

#[macro_use]
extern crate tandem_harness;

mod deadlines;
mod downloads;
mod editor_pipes;
mod expect_option;
mod foreign_programs;
mod freshness;
mod hostile_input;
mod lifecycle;
mod listening;
mod no_debug;
mod protocol;
mod raw_terminal;
mod redirection;
mod unread_log;
mod unreadable_messages;
