//! The built-in .NET engine: ICorDebug in our own process, nothing to install beside the runtime.
//!
//! One OS thread owns every COM pointer of the session ([`session`]); requests and the runtime's callbacks come to it
//! through one inbox, in order. In reading order: [`session`] (the thread's loop and the commands), [`program`] (what to
//! run), [`dotnet_command`], [`project`] (building it), [`launch_settings`], [`start`] (launch held before user code, attach), [`runtimes`] (whose library it
//! needs), [`ending`], [`in_terminal`], [`overflow`], [`standstill`], [`undebugged`] (`noDebug`), [`told`] (callbacks), [`refusals`],
//! [`modules`], [`sources`], [`breakpoints`], [`stepping`],
//! [`exceptions`], [`stack`], [`methods`] (names people wrote), [`disassembly`] and [`memory`] (code and data by address),
//! [`values`] (what is in a variable), [`types`] and [`names`] (types, and how C#
//! spells them), [`calls`] (running code of the program), [`expression`] (what people type).

mod attributes;
mod breakpoints;
mod calls;
mod disassembly;
mod dotnet_command;
mod ending;
mod env_file;
mod exceptions;
mod expression;
mod in_terminal;
mod launch_settings;
mod memory;
mod methods;
mod modules;
mod names;
mod overflow;
mod program;
mod project;
mod refusals;
mod runtime_async;
mod runtimes;
mod services;
mod session;
mod sources;
mod stack;
mod standstill;
mod start;
mod stepping;
mod threads;
mod told;
mod types;
mod undebugged;
mod values;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use dap_wire::{ErrorCode, Failure};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::builds::Tell;
use super::{BY_FORCE, Engine, EngineEvent, EngineRequest, Reply};
use crate::io::{Broker, SpawnSpec};
use session::{Input, Session};
use standstill::Standstill;

/// What launch attributes mean for .NET: what to start, where, with which variables; built first when it is a project. For
/// another debugger of .NET. `tell` gets the build's events.
///
/// # Errors
/// `INVALID_PARAMETER`, `LAUNCH_FAILED`, `NOT_DEBUGGABLE`, `BUILD_FAILED` with `data.diagnostics`, `ENGINE_NOT_FOUND` without a
/// `dotnet`, `CANCELLED`.
pub(super) fn program_of(
    attributes: &Value,
    tell: Tell<'_>,
    give_up: &dyn Fn() -> bool,
) -> Result<SpawnSpec, Failure> {
    Ok(program::resolve(&program::Attributes(attributes), tell, give_up)?.spec)
}

/// A handle to the engine's thread.
pub struct CoreClr {
    inbox: mpsc::Sender<Input>,
    broker: Broker,
    /// Set as soon as somebody wants the session to end, so that a build or a start in progress gives up.
    ending: Arc<AtomicBool>,
    /// The engine's thread waits for the program to stand still, which a busy one may never do.
    stopping: Arc<AtomicBool>,
    standstill: Arc<Standstill>,
    /// Where what a client answered goes; the engine's thread takes it while it waits for that.
    answers: mpsc::Sender<Result<Value, Failure>>,
}

impl CoreClr {
    /// Starts the engine's thread, idle.
    ///
    /// # Errors
    /// `ENGINE_FAILED` when there can be no more threads.
    pub fn start(
        broker: Broker,
        events: tokio::sync::mpsc::UnboundedSender<EngineEvent>,
    ) -> Result<Self, Failure> {
        let (inbox, inputs) = mpsc::channel();
        let ending = Arc::new(AtomicBool::new(false));
        let stopping = Arc::new(AtomicBool::new(false));
        let standstill = Arc::new(Standstill::default());
        let watched = standstill.clone();
        let (own, flags, pipes) = (inbox.clone(), [ending.clone(), stopping.clone()], broker.clone());
        let (answers, answered) = mpsc::channel();
        std::thread::Builder::new()
            .name(standstill::ENGINE.into())
            .spawn(move || Session::new(pipes, events, own, flags, watched, answered).run(&inputs))
            .map_err(|error| {
                Failure::new(ErrorCode::EngineFailed, format!("cannot start the engine's thread: {error}"))
            })?;
        Ok(Self { inbox, broker, ending, stopping, standstill, answers })
    }
}

impl Engine for CoreClr {
    fn request(&self, mut request: EngineRequest, cancel: CancellationToken, reply: Reply) {
        if request.command == "terminate" && self.standstill.hangs() {
            // Who hangs hears nobody.
            request.arguments = json!({ BY_FORCE: true });
        }
        let is_end = request.command == "disconnect"
            || (request.command == "terminate" && request.arguments[BY_FORCE] == true);
        if is_end {
            self.ending.store(true, Ordering::Relaxed);
        }
        let waits = is_end && self.stopping.load(Ordering::Relaxed);
        if waits || (is_end && self.standstill.hangs()) {
            // Only the program's end wakes the engine's thread now.
            self.broker.kill();
        } else if self.standstill.hangs() {
            return reply.send(Err(Standstill::failure()));
        }
        // A thread that has ended drops the request, and that is an answer.
        drop(self.inbox.send(Input::Request { request, cancel, reply }));
    }

    fn answer(&self, _ask: i64, result: Result<Value, Failure>) {
        // It asks one thing; once it has ended it needs no answer.
        drop(self.answers.send(result));
    }
}

impl Drop for CoreClr {
    fn drop(&mut self) {
        // An engine that has ended needs no telling.
        drop(self.inbox.send(Input::Shutdown));
    }
}

/// A failed call of the debugging library, with what it was for.
fn cor(what: impl std::fmt::Display) -> impl FnOnce(cordebug::CorError) -> Failure {
    move |error| {
        let code = match error.hresult {
            cordebug::hresult::CORDBG_E_PROCESS_NOT_SYNCHRONIZED => ErrorCode::NotStopped,
            cordebug::hresult::CORDBG_E_PROCESS_TERMINATED => ErrorCode::NoSession,
            _ => ErrorCode::EngineFailed,
        };
        Failure::new(code, format!("cannot {what}: {error}"))
    }
}
