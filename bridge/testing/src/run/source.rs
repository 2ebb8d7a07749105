//! Sources of results other than the output of a process: a pipe of helpers, a protocol.
//!
//! Not here: the lines of helpers ([`crate::reports`]), the protocols of .NET ([`crate::dotnet`]).

use std::time::Duration;

use tandem_wire::Failure;

use crate::host::BoxFuture;
use crate::reports::ReportPipe;
use crate::results::TestResults;

/// How long helpers may take to report after their process has ended: their data is in the pipe already.
const HELPER_TIMEOUT: Duration = Duration::from_millis(20);

/// A source of results other than the output of a process: a pipe, a protocol.
pub trait ResultSource: Send {
    /// Collects reports while the process runs; returns only if it cannot continue.
    /// May be dropped at any time.
    fn follow<'a>(&'a mut self, results: &'a TestResults) -> BoxFuture<'a, Failure>;

    /// Collects the remaining reports when the process has ended.
    fn finish<'a>(&'a mut self, results: &'a TestResults) -> BoxFuture<'a, ()>;

    /// Reason, if known, why the running tests have not ended.
    fn reason(&self) -> Option<&str> {
        None
    }
}

/// A source that reports nothing.
pub(crate) struct NoResultSource;

impl ResultSource for NoResultSource {
    fn follow<'a>(&'a mut self, _: &'a TestResults) -> BoxFuture<'a, Failure> {
        Box::pin(std::future::pending())
    }

    fn finish<'a>(&'a mut self, _: &'a TestResults) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl ResultSource for ReportPipe {
    fn follow<'a>(&'a mut self, results: &'a TestResults) -> BoxFuture<'a, Failure> {
        Box::pin(async move {
            Self::follow(self, results).await;
            Failure::cancelled()
        })
    }

    fn finish<'a>(&'a mut self, results: &'a TestResults) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            tokio::time::sleep(HELPER_TIMEOUT).await;
            self.take(results);
        })
    }
}
