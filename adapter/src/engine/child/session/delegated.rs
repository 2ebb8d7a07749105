//! A program that the adapter starts through our stub ([`crate::io::Delegate`]): known from its beginning. So is its end, of
//! which an adapter that still waits for the program's runtime says nothing.

use std::sync::{Arc, PoisonError};

use dap_wire::{ErrorCode, Failure};

use super::super::connection::WORDS_BYTES;
use super::super::debuggee::Debuggee;
use super::{LATE_WORD, Session};
use crate::io::Delegate;

impl Session {
    /// Sees the program begin, and end.
    pub(super) async fn until_begun(self: Arc<Self>, delegate: Delegate) {
        let begun = tokio::select! {
            begun = delegate.begun() => begun,
            () = self.closing.cancelled() => return,
        };
        match begun {
            Ok(begun) => {
                if let Some(live) = self.live().as_mut() {
                    live.debuggee = Debuggee::of(begun.pid);
                    if let Some(offer) = &mut live.offer {
                        offer.taken_by(begun.pid);
                    }
                }
                self.broker.set_reader(begun.pid);
                let pid = begun.pid;
                begun.ended().await;
                self.profile.clean_up_after(pid);
            }
            Err(failure) => self.refuse(failure),
        }
        self.progress.send_modify(|now| now.gone = true);
        self.reached(LATE_WORD, |now| now.exit.is_some() || now.terminated || now.closed || now.over).await;
        if self.progress.borrow().launched {
            self.finish().await;
        }
    }

    /// Keeps why the program does not start, for the answer to the launch.
    pub(super) fn refuse(&self, failure: Failure) {
        let mut refusal = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        refusal.get_or_insert(failure);
    }

    /// Why the program does not start.
    pub(super) fn refusal(&self) -> Option<Failure> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Resolves when the program could not be started, or has ended before the adapter had got hold of it.
    pub(super) async fn ended_unseen(&self) -> Failure {
        let mut progress = self.progress.subscribe();
        // The sender lives as long as we do.
        drop(progress.wait_for(|now| now.gone).await);
        if let Some(failure) = self.refusal() {
            return failure;
        }
        if self.reached(LATE_WORD, |now| now.process || now.exit.is_some() || now.over).await {
            std::future::pending::<()>().await;
        }
        self.broker.settle();
        let words = self.broker.last_words(WORDS_BYTES);
        let quoted = if words.is_empty() { words } else { format!("; its last words: {words}") };
        let message = format!("the program ended before it could be debugged{quoted}");
        Failure::new(ErrorCode::LaunchFailed, message).hint("run it without a debugger to see what ails it")
    }
}
