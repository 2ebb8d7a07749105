//! A child process that is debugged in a separate host process: what the start of that host needs, and how
//! its end comes back to the engine of the parent session.
//!
//! Not here: child processes that the parent's own adapter debugs ([`super::ChildSession`]), and the host
//! (`server::host`).

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tandem_wire::Failure;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::BreakpointSnapshot;

/// A child process to debug. Clones are the same.
#[derive(Clone)]
pub struct ChildProcess {
    /// The name of the process for users.
    pub name: String,
    /// The attributes of the `attach` to it.
    pub attach: Value,
    /// The breakpoints of the parent session, as they change.
    pub breakpoints: watch::Receiver<BreakpointSnapshot>,
    /// Fires when its session must detach from it and end.
    pub detach: CancellationToken,
    end: Arc<Mutex<Option<EndNotice>>>,
}

impl ChildProcess {
    /// `ended` is called once, when the host has ended or could not be started.
    pub fn new(
        name: String,
        attach: Value,
        breakpoints: watch::Receiver<BreakpointSnapshot>,
        detach: CancellationToken,
        ended: impl FnOnce(DebuggerEnd) + Send + 'static,
    ) -> Self {
        let end = Arc::new(Mutex::new(Some(EndNotice(Some(Box::new(ended))))));
        Self { name, attach, breakpoints, detach, end }
    }

    /// The notice that the process which starts the host sends at its end; the second time returns `None`.
    pub fn end_notice(&self) -> Option<EndNotice> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl std::fmt::Debug for ChildProcess {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ChildProcess").field("name", &self.name).finish_non_exhaustive()
    }
}

/// How the host of a child process ended.
#[derive(Debug)]
pub enum DebuggerEnd {
    /// It detached from the process, or the process ended.
    Detached,
    /// It could not debug the process.
    Refused(Failure),
    /// It died. If it had attached to the process, that cannot resume.
    Died(String),
}

/// Reports once how the host of a child process ended; [`DebuggerEnd::Detached`] when it is dropped.
pub struct EndNotice(Option<Box<dyn FnOnce(DebuggerEnd) + Send>>);

impl EndNotice {
    pub fn send(mut self, end: DebuggerEnd) {
        if let Some(report) = self.0.take() {
            report(end);
        }
    }
}

impl Drop for EndNotice {
    fn drop(&mut self) {
        if let Some(report) = self.0.take() {
            report(DebuggerEnd::Detached);
        }
    }
}

impl std::fmt::Debug for EndNotice {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("EndNotice")
    }
}
