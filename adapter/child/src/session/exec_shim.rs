//! A program that the adapter starts through our stub ([`tandem_process::ExecShim`]): known from its
//! beginning. So is its end, of which an adapter that still waits for the program's runtime says nothing.

use std::sync::Arc;

use tandem_wire::{ErrorCode, Failure};

use super::super::connection::MAX_STDERR_TAIL_LEN;
use super::super::debuggee::DebuggeeProcess;
use super::super::state::{ChildEvent, ChildState};
use super::{AdapterSession, END_EVENT_GRACE};
use tandem_process::ExecShim;

impl AdapterSession {
    /// Sees the program begin, and end.
    pub(super) async fn watch_exec_shim(self: Arc<Self>, shim: ExecShim) {
        let begun = tokio::select! {
            begun = shim.wait_until_started() => begun,
            () = self.closing.cancelled() => return,
        };
        match begun {
            Ok(begun) => {
                if let Some(live) = self.live().as_mut() {
                    live.debuggee = DebuggeeProcess::of(begun.pid);
                    if let Some(named_pipes) = &mut live.named_pipes {
                        named_pipes.release_to(begun.pid);
                    }
                }
                self.broker.set_reader(begun.pid);
                let pid = begun.pid;
                begun.wait_for_end().await;
                self.profile.clean_up_after(pid);
            }
            Err(failure) => self.handle(ChildEvent::Refused(failure)),
        }
        self.handle(ChildEvent::ProgramGone);
        self.wait_for_state(END_EVENT_GRACE, |now| {
            now.exit_code().is_some() || now.is_terminated() || now.has_hung_up() || now.is_over()
        })
        .await;
        if self.state(ChildState::is_launched) {
            self.finish().await;
        }
    }

    /// Resolves when the program could not be started, or has ended before the adapter had got hold of it.
    pub(super) async fn wait_for_early_end(&self) -> Failure {
        self.until(ChildState::is_gone).await;
        if let Some(failure) = self.state(|state| state.refusal().cloned()) {
            return failure;
        }
        if self
            .wait_for_state(END_EVENT_GRACE, |now| {
                now.is_process_reported() || now.exit_code().is_some() || now.is_over()
            })
            .await
        {
            std::future::pending::<()>().await;
        }
        self.broker.drain_output();
        let words = self.broker.stderr_tail(MAX_STDERR_TAIL_LEN);
        let quoted = if words.is_empty() { words } else { format!("; end of its stderr: {words}") };
        let message = format!("the program ended before it could be debugged{quoted}");
        Failure::new(ErrorCode::LaunchFailed, message).hint("run it without a debugger to see why it fails")
    }
}
