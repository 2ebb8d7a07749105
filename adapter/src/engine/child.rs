//! Every language but .NET: a DAP adapter of its own behind the hub, with the program's stdin, stdout and stderr ours.
//!
//! In reading order: [`profile`] (what a child adapter is to us: mostly data), one file per adapter ([`debugpy`]
//! with [`pydevd`], [`lldb`], [`gdb`], [`delve`], [`js`] with [`inspector`] and
//! [`typescript`], [`rdbg`], [`bash`], [`netcoredbg`], [`custom`]), [`target`] (what
//! to run, from the attributes), [`build`], [`find`] (where adapters are), [`connection`] (starting one and talking to it),
//! [`pieces`] (reading from those that write in pieces), [`socket`] (DAP over sockets, and with whom), [`nodelay`] (connections that are not ours), [`session`]
//! (handshake, end, and what happens in between), [`terminal`] (`runInTerminal`, answered by ourselves), [`offered`] (what
//! an adapter can be asked), [`rows`] (pages of children), [`translate`] (the little that changes on the way).
//!
//! Bodies pass as they are. A child adapter may crash, hang or talk nonsense: every waiter gets an error with its last
//! words, and the program ends with it.

mod bash;
mod build;
mod connection;
mod custom;
mod debuggee;
mod debugpy;
mod delve;
mod find;
mod gdb;
mod inspector;
mod js;
mod lldb;
mod netcoredbg;
mod nodelay;
mod offered;
mod pieces;
mod profile;
mod pydevd;
mod rdbg;
mod rows;
mod rust;
mod session;
mod socket;
mod target;
mod terminal;
mod translate;
mod typescript;

use std::sync::Arc;

use dap_wire::Failure;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Engine, EngineEvent, EngineRequest, Reply};
use crate::io::Broker;
use profile::Profile;
use session::Session;

/// A handle to the session with a child adapter. Dropping it ends the adapter and the program.
pub struct ChildEngine(Arc<Session>);

/// The program that launch attributes name, where it is.
pub(super) fn named_program(attributes: &Value) -> Option<std::path::PathBuf> {
    target::Target::parse(attributes).ok().map(|target| target.program)
}

impl ChildEngine {
    /// An engine that starts the adapter when it is asked to `launch` or `attach`.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for an `engine` object that is none.
    pub fn start(
        engine: &Value,
        broker: Broker,
        events: mpsc::UnboundedSender<EngineEvent>,
    ) -> Result<Option<(String, Self)>, Failure> {
        let profile: Arc<dyn Profile> = match engine {
            Value::String(name) => match profile::named(name) {
                Some(profile) => profile,
                None => return Ok(None),
            },
            other => Arc::new(custom::Custom::parse(other)?),
        };
        let name = profile.name().to_owned();
        Ok(Some((name, Self(Arc::new(Session::new(profile, broker, events))))))
    }
}

impl Engine for ChildEngine {
    fn request(&self, request: EngineRequest, cancel: CancellationToken, reply: Reply) {
        let session = self.0.clone();
        tokio::spawn(async move { reply.send(session.asked(request, cancel).await) });
    }

    fn answer(&self, ask: i64, result: Result<Value, Failure>) {
        self.0.answered(ask, result);
    }
}

impl Drop for ChildEngine {
    fn drop(&mut self) {
        self.0.abandon();
    }
}
