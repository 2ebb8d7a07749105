//! A program that a signal has suspended (SIGSTOP, Ctrl+Z): a debugger inside it answers nothing until
//! SIGCONT.
//!
//! Not here: waking it so that it can end ([`super::ending`]).

use std::time::Duration;

use tandem_process::child::is_suspended;
use tandem_wire::{ErrorCode, Failure};

use super::super::debuggee::is_traced;
use super::AdapterSession;

/// How often to look whether the program is suspended while a request has no answer.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// The process of the program if a signal has suspended it. A debugger outside it stops it in another way.
pub(super) fn suspended_process(session: &AdapterSession) -> Option<u32> {
    let live = session.live();
    live.as_ref()?.processes().find(|pid| is_suspended(*pid) && !is_traced(u64::from(*pid)))
}

/// Waits until the program has been suspended for a while; returns why `command` has no answer.
pub(super) async fn wait_for_suspension(session: &AdapterSession, command: &str) -> Failure {
    let mut suspended = None;
    loop {
        tokio::time::sleep(PROBE_INTERVAL).await;
        let before = std::mem::replace(&mut suspended, suspended_process(session));
        if let Some(pid) = suspended.filter(|pid| before == Some(*pid)) {
            return unanswered(command, pid);
        }
    }
}

/// The failure of a request to a debugger inside the suspended process `pid`.
fn unanswered(command: &str, pid: u32) -> Failure {
    let message =
        format!("`{command}` has no answer: a signal (SIGSTOP or Ctrl+Z) has suspended the program");
    Failure::new(ErrorCode::Timeout, message)
        .hint(format!("resume the program with `kill -CONT {pid}`, then try again"))
}
