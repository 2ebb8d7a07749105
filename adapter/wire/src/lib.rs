//! The Debug Adapter Protocol between bytes and messages. Knows no session and no engine.
//!
//! In reading order: [`message`] (the envelope), [`error`] (failures and their stable codes), [`codec`]
//! (`Content-Length` frames; `usual` reads what is as nearly all messages are), [`peer`] (asking and being answered),
//! [`types`] (bodies and arguments).

pub mod codec;
pub mod error;
pub mod lenient;
pub mod message;
pub mod peer;
pub mod sketch;
pub mod types;
mod usual;

pub use error::{ErrorCode, Failure};
pub use message::{BESIDE, Event, Message, MessageError, Request, Response};
