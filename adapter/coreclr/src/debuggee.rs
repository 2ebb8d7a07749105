//! The debugged program: its process, as the operating system and the debugging library know it, and its run
//! state.
//!
//! Its types are in [`super::types`], its values in [`super::values`]. Not here: its start and its end
//! ([`super::start`], [`super::termination`]).

use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cordebug::debugger::{Debugger, Process};
use cordebug::frame::Frame;
use cordebug::thread::Thread;
use serde_json::Value;
use tandem_wire::{ErrorCode, Failure};

use super::cor;
use super::frame_numbers::MAX_DEPTH;
use super::managed_threads::ManagedThreads;
use tandem_process::{Broker, Child, ExitInfo};

/// Run state of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunState {
    /// No program, or not under control yet.
    None,
    /// Attached, before the clients have configured: callbacks wait.
    Held,
    /// Running under the debugger.
    Running,
    /// It is stopped, and clients know. `thread`: the thread that the stop is about.
    Stopped { thread: u32 },
    /// It has ended, or was detached from.
    Over,
}

/// The debugged program.
pub(super) struct ClrDebuggee {
    pub(super) run: RunState,
    /// Its start, input and output.
    pub(super) broker: Broker,
    pub(super) child: Option<Child>,
    /// Whether it runs without a debugger.
    pub(super) no_debug: bool,
    /// How often an evaluation has written to it.
    pub(super) times_written: Cell<u64>,
    /// Process id of the program, launched or attached to.
    pub(super) pid: Option<u32>,
    pub(super) debugger: Option<Debugger>,
    pub(super) process: Option<Rc<Process>>,
    pub(super) threads: ManagedThreads,
    /// The program's own assembly, for the entry stop.
    pub(super) entry_module: Option<PathBuf>,
    pub(super) end: DebuggeeEnd,
    /// Set while the engine's thread waits for the program to stop.
    stopping: Arc<AtomicBool>,
}

/// The end of the program, as far as it is known.
#[derive(Default)]
pub(super) struct DebuggeeEnd {
    /// It has ended, though its end was not reported yet: the debugging library must not access it any more.
    pub(super) is_noticed: bool,
    /// How it ended; `None` after a detach too.
    pub(super) exit: Option<ExitInfo>,
    is_reported: bool,
}

impl DebuggeeEnd {
    /// Whether the end is to be reported now: once.
    pub(super) fn take_report(&mut self) -> bool {
        !std::mem::replace(&mut self.is_reported, true)
    }
}

impl ClrDebuggee {
    pub(super) fn new(broker: Broker, stopping: Arc<AtomicBool>) -> Self {
        Self {
            run: RunState::None,
            broker,
            child: None,
            no_debug: false,
            times_written: Cell::new(0),
            pid: None,
            debugger: None,
            process: None,
            threads: ManagedThreads::default(),
            entry_module: None,
            end: DebuggeeEnd::default(),
            stopping,
        }
    }

    pub(super) fn process(&self) -> Result<Rc<Process>, Failure> {
        self.process.clone().ok_or_else(|| Failure::new(ErrorCode::NoSession, "there is no program to debug"))
    }

    /// The managed thread with this id, at a stop.
    pub(super) fn thread(&self, id: u32) -> Result<Thread, Failure> {
        if let Some(known) = self.threads.known.borrow().get(&id) {
            return Ok(known.clone());
        }
        let threads = self.process()?.threads().map_err(cor("list the threads"))?;
        let found = threads.into_iter().find(|thread| thread.id() == Ok(id));
        let found = found.ok_or_else(|| Failure::invalid(format!("there is no managed thread {id}")))?;
        self.threads.known.borrow_mut().insert(id, found.clone());
        Ok(found)
    }

    /// All managed frames of a thread, top first.
    pub(super) fn frames(&self, thread: u32) -> Result<Vec<Frame>, Failure> {
        let frames = self.thread(thread)?.frames(MAX_DEPTH).map_err(cor("walk the stack"))?;
        Ok(self.threads.without_abandoned_calls(thread, frames))
    }

    /// `threadId` of a request, else the thread of the stop.
    pub(super) fn thread_of(&self, arguments: &Value) -> Result<u32, Failure> {
        match (&arguments["threadId"], self.run) {
            (Value::Null, RunState::Stopped { thread }) => Ok(thread),
            (value, _) => value.as_u64().and_then(|id| u32::try_from(id).ok()).ok_or_else(|| {
                Failure::invalid(format!("`threadId` must be the id of a thread, not {value}"))
            }),
        }
    }

    /// Stops the program at any point. .NET Core 3.1 cannot stop a thread that never leaves managed code:
    /// then this blocks until it does, or until the program ends.
    pub(super) fn stop(&self, process: &Process) -> cordebug::Result<()> {
        self.stopping.store(true, Ordering::Relaxed);
        let stopped = process.stop();
        self.stopping.store(false, Ordering::Relaxed);
        stopped
    }
}
