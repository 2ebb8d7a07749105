//! Stops the program's reports of exceptions before the debugger detaches. Does not detach.
//!
//! A thread that throws checks once for a debugger, and then waits until it may report the exception: while
//! the program is stopped, that is after the debugger has gone. It then stops the program for a debugger that
//! never answers (`SendExceptionEventsWorker` in the runtime's debugger.cpp). So nothing may be reported for
//! a while before the detach: neither exceptions of user code nor others.

use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use cordebug::debugger::Process;
use cordebug::run_times::ThreadRunTimes;

use crate::debuggee::ClrDebuggee;
use crate::exceptions::Exceptions;
use crate::types::ClrTypeSystem;

/// How long the threads may take to run after the detach, and the pause between two checks.
const RUN_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Address of the runtime's flag for reports of exceptions that no user code sees: four bytes, 0 or 1.
pub(in super::super) struct ExceptionSuppression {
    process: u32,
    note: u64,
}

impl Exceptions {
    /// Stops the program's reports of caught exceptions; the program is stopped. Reports already in
    /// progress still arrive.
    pub(in super::super) fn suppress_exceptions(
        &mut self,
        debuggee: &ClrDebuggee,
        types: &ClrTypeSystem,
        process: &Process,
    ) -> Option<ExceptionSuppression> {
        for loaded in types.modules.all().iter().filter(|loaded| loaded.is_marked.replace(false)) {
            if let Err(error) = loaded.module.set_user_code(false) {
                tracing::debug!(%error, path = %loaded.path.display(), "still marked as user code");
            }
        }
        self.thrown.task_exceptions.forget_all();
        self.thrown.is_only_users = true;
        match process.report_exceptions_outside_user_code(false) {
            Ok(note) => Some(ExceptionSuppression { process: debuggee.pid?, note: note? }),
            Err(error) => {
                tracing::debug!(%error, "exceptions are reported until the debugger leaves");
                None
            }
        }
    }
}

impl ExceptionSuppression {
    /// Has the program report all exceptions to the next debugger, as the runtime does by default. This
    /// debugger has detached.
    ///
    /// A thread that saw the debugger when it threw looks at the flag afterwards: it has to run before.
    pub(in super::super) fn end(&self) {
        let (run_times, deadline) = (ThreadRunTimes::start(self.process), Instant::now() + RUN_TIMEOUT);
        while !run_times.all_have_run() && Instant::now() < deadline {
            std::thread::sleep(POLL_INTERVAL);
        }
        let written = || {
            let path = format!("/proc/{}/mem", self.process);
            let memory = std::fs::File::options().read(true).write(true).open(path)?;
            let mut now = [0; 4];
            memory.read_exact_at(&mut now, self.note)?;
            // Any other value was written by the program.
            if now == [0; 4] { memory.write_all_at(&1_u32.to_le_bytes(), self.note) } else { Ok(()) }
        };
        if let Err(error) = written() {
            tracing::debug!(%error, "the next debugger sees only user code's exceptions unless it wants all");
        }
    }
}
