//! The Debug Adapter Protocol between bytes and messages. Knows no session and no engine.
//!
//! In reading order: [`message`] (the envelope), [`codec`] (`Content-Length` frames; `fast_path` reads
//! ordinary messages, [`lenient`] repairs text that is not Unicode, [`outer_fields`] finds the request of a
//! message that cannot be parsed), [`peer`] (sending requests and receiving responses), [`command`] (the one
//! table of requests) with [`ids`], [`extensions`] (what Tandem adds), [`types`] (bodies and arguments),
//! [`environment`] (variables in them).

pub mod codec;
pub mod command;
pub mod environment;
pub mod extensions;
mod fast_path;
pub mod ids;
pub mod lenient;
pub mod message;
pub mod outer_fields;
pub mod peer;
pub mod types;

pub use message::{EXTRA_FIELDS, Event, Message, MessageError, Request, Response};
/// The error of a failed request, from a crate that this one depends on.
pub use tandem_error::{ErrorCode, Failure, describe_exit, describe_exit_code};
