//! The request that the engine's thread answers: whether its client still waits, and how to answer it.
//! Carries out none ([`super::session`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tandem_engine::{EngineAnswer, ReplyHandle};
use tandem_wire::Failure;
use tokio_util::sync::CancellationToken;

use super::hang_watchdog::HangWatchdog;

/// The current request, and the end of the session, which ends every request.
#[derive(Clone)]
pub(super) struct CurrentRequest {
    pub(super) cancel: CancellationToken,
    /// The session must end.
    ending: Arc<AtomicBool>,
    pub(super) hang_watchdog: Arc<HangWatchdog>,
}

impl CurrentRequest {
    pub(super) fn new(ending: Arc<AtomicBool>, hang_watchdog: Arc<HangWatchdog>) -> Self {
        Self { cancel: CancellationToken::new(), ending, hang_watchdog }
    }

    /// The engine's thread begins to answer a request.
    pub(super) fn begin(&mut self, cancel: CancellationToken, reply: ReplyHandle) {
        self.cancel = cancel;
        self.hang_watchdog.begin(reply);
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Whether no client needs the answer any more: the request was cancelled, or the session ends.
    pub(super) fn is_abandoned(&self) -> bool {
        self.ending.load(Ordering::Relaxed) || self.is_cancelled()
    }

    /// Hands the request to other code, which answers it later; `None` if the watchdog has answered already.
    pub(super) fn take_reply(&self) -> Option<ReplyHandle> {
        self.hang_watchdog.take()
    }

    /// Answers the request, unless it was taken, or the watchdog has answered already.
    pub(super) fn reply(&self, result: Result<EngineAnswer, Failure>) {
        self.hang_watchdog.reply(result);
    }

    /// The request is over. A condition of a breakpoint runs code even if the last request was cancelled.
    pub(super) fn end(&mut self) {
        self.cancel = CancellationToken::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancelled_request_does_not_cancel_what_follows_but_the_end_of_the_session_does() {
        let ending = Arc::new(AtomicBool::new(false));
        let watchdog = Arc::new(HangWatchdog::new(Arc::default()));
        let mut request = CurrentRequest::new(ending.clone(), watchdog);
        request.cancel.cancel();
        assert!(request.is_cancelled() && request.is_abandoned());
        request.end();
        assert!(!request.is_cancelled() && !request.is_abandoned());
        ending.store(true, Ordering::Relaxed);
        assert!(!request.is_cancelled() && request.is_abandoned());
    }
}
