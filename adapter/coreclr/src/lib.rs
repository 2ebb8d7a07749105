//! The built-in .NET engine: ICorDebug in Tandem's own process; nothing to install besides the runtime.
//!
//! One OS thread owns every COM pointer of the session ([`session`]); requests and the runtime's callbacks
//! reach it through one [`inbox`], in order. In reading order: [`session`] (the thread's loop and the
//! commands), [`hub_link`] and [`current_request`], [`start`] (launch held before user code, attach; the
//! program to run and its build: [`tandem_dotnet_launch`]), [`runtimes`] (its debugging library),
//! [`termination`], [`in_terminal`], [`children`] (child processes), [`stack_overflow`], [`hang_watchdog`],
//! [`no_debug`] (`noDebug`), [`callbacks`], [`refusals`], [`modules`], [`sources`], [`retrieval`] (missing
//! sources and symbols), [`checksums`], [`breakpoints`], [`code_position`], [`active_step`] and
//! [`stepping`], [`exceptions`] and [`exception_stops`], [`frame_numbers`] and [`stack`], [`methods`]
//! (names in the source), [`disassembly`] and [`memory`] (code and data by address), [`types`] and
//! [`names`] (and how C# spells types), [`value_path`], [`fields`], [`typed_value`], [`value_store`],
//! [`inspected_program`], [`stop_context`] and [`values`] (of variables), [`func_eval`] and [`calls`]
//! (running code of the program), [`expression_binding`] and [`evaluator`] (expressions of users),
//! [`compiler`] (of an SDK) and [`compiled`] (expressions for it).

mod active_step;
mod attributes;
mod bare_value;
mod breakpoint_hits;
mod breakpoints;
mod callbacks;
mod calls;
mod checksums;
mod children;
mod code_position;
mod compiled;
mod compiler;
mod current_request;
mod debuggee;
mod disassembly;
mod evaluator;
mod exception_stops;
mod exceptions;
mod expression_binding;
mod expression_syntax;
mod fields;
mod frame_numbers;
mod func_eval;
mod hang_watchdog;
mod hub_link;
mod in_terminal;
mod inbox;
mod inspected_program;
mod lightweight_methods;
mod load_events;
mod logging;
mod managed_threads;
mod memory;
mod methods;
mod modules;
mod names;
mod no_debug;
mod options;
mod outbox;
mod refusals;
mod retrieval;
mod retrieval_results;
mod runtime_async;
mod runtimes;
mod session;
mod source_requests;
mod sources;
mod stack;
mod stack_overflow;
mod start;
mod stepping;
mod stop_context;
mod termination;
mod threads;
mod typed_value;
mod types;
mod value_path;
mod value_store;
mod values;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use serde_json::Value;
use tandem_wire::{ErrorCode, Failure};
use tokio_util::sync::CancellationToken;

use current_request::CurrentRequest;
use debuggee::ClrDebuggee;
use hang_watchdog::HangWatchdog;
use hub_link::HubLink;
use inbox::{EngineInbox, EngineInput};
use outbox::Outbox;
pub use runtimes::installed_runtimes;
use session::ClrSession;
use tandem_engine::description::{Description, EditorLanguage, Evidence, Recognition};
use tandem_engine::{Engine, EngineEvent, EngineRequest, ReplyHandle, TerminateMode};
use tandem_process::Broker;

/// Description of the built-in engine, available without starting it.
pub const DESCRIPTION: Description = Description {
    name: "coreclr",
    languages: "C#, F#, Visual Basic",
    summary: "Tandem's own engine for .NET.",
    needs: "nothing",
    stdio: "starts the program itself",
    recognition: Recognition {
        extensions: &["dll", "exe", "csproj", "fsproj", "vbproj", "sln", "slnx", "slnf", "cs"],
        project_files: &[
            ("*.csproj", Evidence::Certain),
            ("*.fsproj", Evidence::Certain),
            ("*.vbproj", Evidence::Certain),
            ("*.sln", Evidence::Certain),
            ("*.slnx", Evidence::Certain),
            ("*.slnf", Evidence::Certain),
        ],
        interpreters: &["dotnet"],
        loaded: &["libcoreclr.so"],
        ..Recognition::NONE
    },
    editor_languages: &[
        EditorLanguage { id: "csharp", name: "C#", projects: &["*.csproj"], endings: &[], runs_files: false },
        EditorLanguage { id: "fsharp", name: "F#", projects: &["*.fsproj"], endings: &[], runs_files: false },
        EditorLanguage {
            id: "vb",
            name: "Visual Basic",
            projects: &["*.vbproj"],
            endings: &[],
            runs_files: false,
        },
    ],
    // The views of ASP.NET Core, under the language ids of VS Code and its C# extension.
    breakpoints_in: &["razor", "aspnetcorerazor"],
    ..Description::NONE
};

/// Refuses the machine that this program was built for, if the engine does not support it. Disassembly, and
/// the recognition of hangs, read x86-64 instructions; nothing was tried on other machines.
///
/// # Errors
/// `UNSUPPORTED`, naming the machine and the alternatives.
pub fn check_machine() -> Result<(), Failure> {
    check_architecture(std::env::consts::ARCH)
}

fn check_architecture(architecture: &str) -> Result<(), Failure> {
    if architecture == "x86_64" {
        return Ok(());
    }
    let message = format!("the .NET engine supports x86-64, and this is a build for {architecture}");
    Err(Failure::new(ErrorCode::Unsupported, message).hint(
        "install netcoredbg and set `engine: \"netcoredbg\"`, or debug on an x86-64 machine; the engines of \
            other languages support both",
    ))
}

/// Runs as the watchdog of the child processes of a session, until stdin ends: it ends those of `root` if the
/// host was killed, and releases runtimes that are still held.
///
/// # Errors
/// Why one could not be released; its process was ended.
pub fn watch_children(root: Option<u32>, symbol_paths: &[PathBuf]) -> anyhow::Result<()> {
    children::watchdog::run(root, symbol_paths)
}

/// Stack of the engine's thread, bytes: expressions are walked recursively, as deep as they are nested.
const STACK_LEN: usize = 16 << 20;

/// A handle to the engine's thread.
pub struct CoreClr {
    inbox: mpsc::Sender<EngineInput>,
    broker: Broker,
    /// Set when the session must end, so that a build or launch in progress is abandoned.
    ending: Arc<AtomicBool>,
    hang_watchdog: Arc<HangWatchdog>,
    /// Delivers clients' answers to the engine's thread while it waits for one.
    answers: mpsc::Sender<Result<Value, Failure>>,
}

impl CoreClr {
    /// Starts the engine's thread, idle.
    ///
    /// # Errors
    /// `UNSUPPORTED` on a machine that the engine does not support, `ENGINE_FAILED` when there can be no more
    /// threads.
    pub fn start(
        broker: Broker,
        events: tokio::sync::mpsc::UnboundedSender<EngineEvent>,
    ) -> Result<Self, Failure> {
        check_machine()?;
        let (inbox, inputs) = mpsc::channel();
        let ending = Arc::new(AtomicBool::new(false));
        let stopping = Arc::new(AtomicBool::new(false));
        let hang_watchdog = Arc::new(HangWatchdog::new(stopping.clone()));
        let request = CurrentRequest::new(ending.clone(), hang_watchdog.clone());
        let pipes = broker.clone();
        let (answers, answered) = mpsc::channel();
        let own = EngineInbox::new((inbox.clone(), inputs), answered);
        let hub = HubLink { inbox: own, outbox: Outbox::new(events), request };
        std::thread::Builder::new()
            .name(hang_watchdog::ENGINE.into())
            .stack_size(STACK_LEN)
            .spawn(move || {
                let debuggee = ClrDebuggee::new(pipes, stopping);
                ClrSession::new(debuggee, hub).run();
            })
            .map_err(|error| {
                Failure::new(ErrorCode::EngineFailed, format!("cannot start the engine's thread: {error}"))
            })?;
        Ok(Self { inbox, broker, ending, hang_watchdog, answers })
    }
}

impl Engine for CoreClr {
    fn request(&self, mut request: EngineRequest, cancel: CancellationToken, reply: ReplyHandle) {
        let hang = self.hang_watchdog.hang_failure();
        let kill = EngineRequest::Terminate(TerminateMode::Force);
        if matches!(request, EngineRequest::Terminate(_)) && hang.is_some() {
            // A hung runtime does not respond to a polite request.
            request = kill.clone();
        }
        let is_end = request.command() == "disconnect" || request == kill;
        if is_end {
            self.ending.store(true, Ordering::Relaxed);
        }
        if is_end && (hang.is_some() || self.hang_watchdog.is_stopping()) {
            // Only the program's end wakes the engine's thread now.
            self.broker.kill();
        } else if let Some(failure) = hang {
            return reply.send(Err(failure));
        }
        // If the thread has ended, the request is dropped, which answers it.
        drop(self.inbox.send(EngineInput::Request { request, cancel, reply }));
    }

    fn reverse_reply(&self, _ask: i64, result: Result<Value, Failure>) {
        // The thread asks one thing at a time; after its end it needs no answer.
        drop(self.answers.send(result));
    }
}

impl Drop for CoreClr {
    fn drop(&mut self) {
        // An engine that has ended is not notified.
        drop(self.inbox.send(EngineInput::Shutdown));
    }
}

/// A failed call of the debugging library, with what it was for. Calls rarely fail: `what` should be built
/// when it is displayed, not before.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_is_refused_by_name_with_the_alternatives() {
        assert_eq!(check_architecture("x86_64"), Ok(()));
        let refused = check_architecture("aarch64").expect_err("the engine does not support it");
        assert_eq!(refused.code, ErrorCode::Unsupported);
        assert!(refused.message.contains("aarch64"), "{refused}");
        assert!(refused.hint.is_some_and(|hint| hint.contains("netcoredbg")));
    }
}
