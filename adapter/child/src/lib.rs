//! Child adapters: the DAP adapter of each language other than .NET, behind the hub, with Tandem's pipes
//! as the program's stdin, stdout and stderr.
//!
//! In reading order: [`profile`] (what a child adapter is to us: mostly data), [`launch_plan`] (what is
//! started for a launch), [`registry`] (the table of adapters, one file each; beside them [`pydevd`] for
//! Python, [`inspector`] and [`typescript`] for JavaScript, [`rust`]), [`custom`] (an adapter that the launch
//! describes), [`target`] (what to run, from the attributes), [`build`], [`find`] (where adapters are),
//! [`connection`] (starting one and talking to it), [`chunked_reader`] (reading from those that write in
//! pieces), [`socket`] (DAP over sockets, and with whom), [`nodelay`] (connections that are not ours),
//! [`state`] (what a session decides), [`session`] (handshake, end, and what happens in between),
//! [`request_order`] (which requests wait for others),
//! [`terminal`] (`runInTerminal`, answered by ourselves), [`capability_gate`] (what an adapter can be asked),
//! [`rows`] (pages of children), [`translate`] and [`plain_text`] (the little that changes on the way).
//!
//! Bodies pass as they are. A child adapter may crash, hang or send nonsense: every waiter gets an error with
//! the end of its stderr, and the program ends with it.

mod adapter_attributes;
mod build;
mod capability_gate;
mod chunked_reader;
mod connection;
mod custom;
mod debuggee;
mod differences;
mod find;
mod inspector;
mod interpreter_options;
mod launch_plan;
mod nodelay;
mod plain_text;
mod profile;
mod pydevd;
mod registry;
mod request_order;
mod rows;
mod rust;
mod session;
mod signals;
mod socket;
mod state;
mod summaries;
mod target;
mod terminal;
mod test_files;
mod translate;
mod typescript;
mod user_folders;

use std::sync::Arc;

use serde_json::Value;
use tandem_wire::Failure;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use adapter_attributes::AdapterAttributes;
use profile::Profile;
use request_order::RequestOrder;
use session::AdapterSession;
use tandem_engine::description::Description;
use tandem_engine::{Engine, EngineEvent, EngineRequest, ExceptionFilter, ReplyHandle, StartedEngine};
use tandem_process::Broker;

/// A handle to the session with a child adapter. Dropping it ends the adapter and the program.
pub struct ChildEngine {
    session: Arc<AdapterSession>,
    order: RequestOrder,
}

/// The program that launch attributes name, where it is.
pub fn named_program(attributes: &Value) -> Option<std::path::PathBuf> {
    target::Target::parse(attributes).ok().map(|target| target.program)
}

/// The hub's facts about the adapter with this name; `None` for an unknown one.
pub fn started(name: &str) -> Option<StartedEngine> {
    registry::find(name).map(|profile| profile.started())
}

/// Metadata of every adapter that Tandem knows by name.
pub fn descriptions() -> impl Iterator<Item = &'static Description> {
    registry::descriptions()
}

/// DAP `ExceptionBreakpointsFilter`s that the adapter of this name announces today; `None`
/// for an unknown adapter.
pub fn exception_filters(name: &str) -> Option<Value> {
    registry::find(name).map(|profile| ExceptionFilter::list(profile.exception_filters()))
}

/// The path of the adapter of this name, or of the interpreter that contains it, for a program in `folder`.
///
/// # Errors
/// `ENGINE_NOT_FOUND` with where it was looked for and how to install it; another when it is
/// there and cannot be used.
pub fn adapter_in(name: &str, folder: &std::path::Path) -> Result<std::path::PathBuf, Failure> {
    let (profile, target) = profile_in(name, folder)?;
    Ok(profile.launch(&target)?.spec.program)
}

/// The version of that adapter, which is started for a moment; `None` when it does not report one.
pub fn adapter_version(name: &str, folder: &std::path::Path) -> Option<String> {
    let (profile, target) = profile_in(name, folder).ok()?;
    profile.version(&target)
}

/// The profile of this name, and a target for it: any file will do for the program, which is not started.
fn profile_in(name: &str, folder: &std::path::Path) -> Result<(Arc<dyn Profile>, target::Target), Failure> {
    let unknown = || Failure::invalid(format!("there is no engine `{name}`"));
    let profile = registry::find(name).ok_or_else(unknown)?;
    let own = std::env::current_exe().unwrap_or_default();
    let attributes = AdapterAttributes {
        program: Some(&own),
        cwd: Some(folder),
        mode: Some("exec"),
        ..AdapterAttributes::default()
    };
    Ok((profile, target::Target::parse(&attributes.into_value())?))
}

impl ChildEngine {
    /// An engine that starts the adapter at `launch` or `attach`.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` for an invalid `engine` object.
    pub fn start(
        engine: &Value,
        broker: Broker,
        events: mpsc::UnboundedSender<EngineEvent>,
    ) -> Result<Option<(StartedEngine, Self)>, Failure> {
        let profile: Arc<dyn Profile> = match engine {
            Value::String(name) => match registry::find(name) {
                Some(profile) => profile,
                None => return Ok(None),
            },
            other => Arc::new(custom::Custom::parse(other)?),
        };
        let started = profile.started();
        Ok(Some((started, Self::of(AdapterSession::new(profile, broker, events)))))
    }

    fn of(session: AdapterSession) -> Self {
        Self { session: Arc::new(session), order: RequestOrder::default() }
    }
}

impl Engine for ChildEngine {
    fn request(&self, request: EngineRequest, cancel: CancellationToken, reply: ReplyHandle) {
        let session = self.session.clone();
        let stops = session.stops();
        // Before the task: tasks may begin in another order.
        let turn = self.order.take_turn(request.command(), stops);
        tokio::spawn(async move {
            let next_stop = session.wait_for_stop_after(stops);
            let handling = session.clone().handle_request(request, cancel.clone());
            reply.send(turn.carry_out(&cancel, next_stop, handling).await);
        });
    }

    fn reverse_reply(&self, ask: i64, result: Result<Value, Failure>) {
        self.session.receive_response(ask, result);
    }
}

impl Drop for ChildEngine {
    fn drop(&mut self) {
        self.session.abandon();
    }
}
