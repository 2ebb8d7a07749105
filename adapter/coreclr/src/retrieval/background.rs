//! The thread that runs downloads and decompilers, so that the engine's thread never waits for them. It has a
//! separate async runtime and ends, with all that runs on it, when its handle is dropped.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// How long to wait for the end of work that cannot be dropped, such as a DNS lookup.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(500);

/// A handle to the thread.
pub(super) struct RetrievalThread {
    runtime: Handle,
    /// Set when all results have become useless.
    pub(super) over: Arc<AtomicBool>,
    /// Dropping it ends the thread.
    end: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl RetrievalThread {
    /// Starts the thread and its runtime.
    ///
    /// # Errors
    /// When there can be no more threads or descriptors.
    pub(super) fn start() -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel();
        let work = move || {
            // An error means that the handle was dropped.
            drop(runtime.block_on(ended));
            runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        };
        let thread = std::thread::Builder::new().name("retrieval".into()).spawn(work)?;
        let over = Arc::new(AtomicBool::new(false));
        Ok(Self { runtime: handle, over, end: Some(end), thread: Some(thread) })
    }

    /// Runs a future there; it is dropped at its current await when the handle is dropped.
    pub(super) fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.runtime.spawn(work));
    }

    /// Runs blocking work there; it must check [`Self::over`] regularly.
    pub(super) fn run_blocking(&self, work: impl FnOnce() + Send + 'static) {
        drop(self.runtime.spawn_blocking(work));
    }
}

impl Drop for RetrievalThread {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has ended, too.
            drop(thread.join());
        }
    }
}
