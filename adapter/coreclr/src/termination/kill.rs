//! The kill of a program that Tandem started. Not here: what the session reports about it.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use tandem_process::ExitInfo;
use tandem_wire::{ErrorCode, Failure};

/// How long a killed program may take to end.
pub(super) const KILL_TIMEOUT: Duration = Duration::from_secs(3);

/// Ends a program whose launch has failed, and removes the files of its runtime, which may have started.
pub(crate) fn discard(child: &tandem_process::Child) {
    match killed(child) {
        Ok(_) => cordebug::startup::remove_stale_files(child.pid()),
        Err(failure) => tracing::debug!(%failure, "the program of a failed launch runs on"),
    }
}

/// Kills a program and waits for its end. If that takes longer than the limit, the end is
/// reported when it comes.
pub(super) fn killed(child: &tandem_process::Child) -> Result<ExitInfo, Failure> {
    child.signal(Signal::KILL);
    let deadline = Instant::now() + KILL_TIMEOUT;
    let mut pause = Duration::from_millis(1);
    // Another thread notices the exit; this one cannot wait asynchronously.
    while child.exited().is_none() && Instant::now() < deadline {
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
    child.exited().ok_or_else(|| {
        let message =
            format!("process {} did not end within {} s of SIGKILL", child.pid(), KILL_TIMEOUT.as_secs());
        Failure::new(ErrorCode::EngineFailed, message).hint("check whether its disk or file server responds")
    })
}
