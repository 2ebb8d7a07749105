//! Asking the adapter, and saying why it did not answer: with its last words.

use dap_wire::peer::Peer;
use dap_wire::{ErrorCode, Failure};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::super::connection::{self, LAST_WORDS, with_last_words};
use super::{REQUEST_LIMIT, Session};
use crate::io::Child;

/// Requests whose refusal is about what was typed, not about the engine.
const EVALUATING: [&str; 3] = ["evaluate", "setVariable", "setExpression"];

impl Session {
    pub(super) fn capabilities(&self) -> Value {
        self.live().as_ref().map_or(Value::Null, |live| live.capabilities.clone())
    }

    pub(super) fn peer(&self) -> Result<Peer, Failure> {
        let gone = || Failure::new(ErrorCode::EngineFailed, "the debug adapter does not run");
        self.live().as_ref().map(|live| live.connection.peer.clone()).ok_or_else(gone)
    }

    /// Asks the adapter; a failure of the adapter itself quotes its last words.
    pub(super) async fn ask(
        &self,
        command: &str,
        arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        let peer = self.peer()?;
        let understands_cancel = self.capabilities()["supportsCancelRequest"] == true;
        let outcome = if understands_cancel {
            peer.request_or_cancel(command, arguments, REQUEST_LIMIT, cancel).await
        } else {
            tokio::select! {
                outcome = peer.request(command, arguments, REQUEST_LIMIT) => outcome,
                () = cancel.cancelled() => Err(Failure::cancelled()),
            }
        };
        match outcome {
            Err(failure) if peer.is_closed() && failure.code == ErrorCode::EngineFailed => {
                Err(self.why_it_broke(&format!("before it answered `{command}`")).await)
            }
            Err(failure) if failure.code == ErrorCode::Timeout => {
                let words = self.last_words().await;
                let quoted = if words.is_empty() { words } else { format!("; its last words: {words}") };
                Err(Failure { message: format!("{}{quoted}", failure.message), ..failure })
            }
            Err(failure) if failure.code == ErrorCode::EngineFailed && EVALUATING.contains(&command) => {
                Err(Failure { code: ErrorCode::EvaluationFailed, ..failure })
            }
            outcome => outcome,
        }
    }

    pub(super) async fn last_words(&self) -> String {
        let lines = match self.live().as_ref() {
            Some(live) => live.connection.process.lines(),
            None => None,
        };
        if let Some(lines) = lines {
            lines.settled().await;
        }
        self.live().as_ref().map_or_else(String::new, |live| live.connection.process.last_words(&self.broker))
    }

    pub(super) async fn why_it_broke(&self, when: &str) -> Failure {
        let words = self.last_words().await;
        let exit = self.live().as_ref().and_then(|live| live.connection.process.child().map(Child::exit));
        if let Some(mut exit) = exit {
            // It has hung up; most likely it has ended too.
            drop(tokio::time::timeout(LAST_WORDS, connection::ended(&mut exit)).await);
        }
        let (what, code, why) = match self.live().as_ref() {
            Some(live) => (
                live.plan.spec.program.display().to_string(),
                live.connection.process.child().and_then(Child::exited),
                live.connection.peer.why_broken(),
            ),
            None => (self.profile.name().to_owned(), None, None),
        };
        let how = match (why, code) {
            (Some(why), _) => format!("broke the protocol ({why})"),
            (None, Some(info)) => match info.signal {
                Some(signal) => format!("was ended by signal {signal}"),
                None => format!("ended with {}", info.code),
            },
            (None, None) => "hung up".into(),
        };
        with_last_words(format!("the debug adapter `{what}` {how} {when}"), &words)
    }
}
