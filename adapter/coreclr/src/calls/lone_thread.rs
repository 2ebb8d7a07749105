//! Threads that run alone until they are past their first calls, so that the program does not hang at the
//! next request. Not here: which threads those are ([`crate::func_eval::first_calls`]).

use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use cordebug::callback::Callback;
use cordebug::debugger::Process;
use cordebug::thread::Thread;

use crate::func_eval::first_calls::{busy_at, task};
use crate::inbox::EngineInput;
use crate::session::ClrSession;

/// How long a thread's first call may take until it is reported.
const FIRST_CALL_TIMEOUT: Duration = Duration::from_millis(100);
const SAMPLE_INTERVAL: Duration = Duration::from_millis(1);
/// How many consecutive samples must find a thread asleep at the same point before it counts as waiting for
/// something else than the debugger.
const IDLE_SAMPLES: u32 = 10;

impl ClrSession {
    /// Resumes threads until they are past their first calls, if the program was stopped during one.
    pub(crate) fn pass_first_calls(&mut self) {
        let (Some(pid), Some(process)) = (self.program.debuggee.pid, self.program.debuggee.process.clone())
        else {
            return;
        };
        if !self.calls.first_calls.record_check(process.resume_count()) {
            return;
        }
        for (id, place) in self.calls.first_calls.candidates(pid) {
            let thread = self.program.debuggee.thread(id).ok();
            // A thread with managed frames has begun.
            let thread = thread.filter(|thread| thread.frames(1).is_ok_and(|frames| frames.is_empty()));
            if let Some(thread) = thread
                && process.has_queued_callbacks() == Ok(false)
            {
                let outcome = self.run_alone(&process, &thread, (&task(pid, id), &place));
                tracing::debug!(id, place, ?outcome, "a thread was resumed alone");
            }
            self.calls.first_calls.record_place(id, place, busy_at(&task(pid, id)).as_deref());
        }
        self.calls.first_calls.record_check(process.resume_count());
    }

    /// Resumes one thread until it waits for work or the runtime reports something. The program is
    /// stopped before and after.
    fn run_alone(
        &mut self,
        process: &Process,
        thread: &Thread,
        place: (&Path, &str),
    ) -> cordebug::Result<()> {
        process.suspend_others(thread, true)?;
        let outcome = process.resume().and_then(|()| self.stop_after_first_call(process, place));
        process.unsuspend_all()?;
        outcome
    }

    fn stop_after_first_call(
        &mut self,
        process: &Process,
        (task, place): (&Path, &str),
    ) -> cordebug::Result<()> {
        let deadline = Instant::now() + FIRST_CALL_TIMEOUT;
        let (mut is_stopped, mut unmoved) = (false, 0);
        loop {
            match self.hub.inbox.recv_timeout(if is_stopped { Duration::ZERO } else { SAMPLE_INTERVAL }) {
                Ok(EngineInput::Callback(callback)) if is_bookkeeping(&callback) => {
                    self.record_changes(callback);
                    // The callback itself stops the program: one stop is enough.
                    if is_stopped {
                        process.resume()?;
                    }
                    is_stopped = true;
                }
                // As at any other stop, it is handled when the program resumes.
                Ok(EngineInput::Callback(callback)) if !matches!(callback, Callback::ExitProcess) => {
                    self.hub.inbox.defer(callback);
                    if !is_stopped {
                        self.program.debuggee.stop(process)?;
                    }
                    is_stopped = true;
                }
                Ok(other) => {
                    let is_end = matches!(
                        other,
                        EngineInput::Callback(_) | EngineInput::Exited(_) | EngineInput::Shutdown
                    );
                    self.hub.inbox.postpone(other);
                    if is_end {
                        return Ok(());
                    }
                }
                Err(_) if is_stopped => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {
                    let now = busy_at(task);
                    unmoved = if now.as_deref() == Some(place) { unmoved + 1 } else { 0 };
                    if now.is_none() || unmoved == IDLE_SAMPLES || Instant::now() > deadline {
                        self.program.debuggee.stop(process)?;
                        is_stopped = true;
                    }
                }
            }
        }
    }
}

/// Whether a callback only needs to be recorded.
fn is_bookkeeping(callback: &Callback) -> bool {
    matches!(
        callback,
        Callback::CreateThread { .. }
            | Callback::ExitThread { .. }
            | Callback::LoadModule { .. }
            | Callback::UpdateModuleSymbols { .. }
            | Callback::Other(_)
    )
}
