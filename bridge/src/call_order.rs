//! The order of an agent's calls. MCP clients send several calls at once, and each runs in its own task. A
//! call that resumes the program begins when the calls that arrived before it and need the stop have
//! ended: else it would take the stop away from them.
//!
//! Not here: running a call ([`crate::handler`]).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientRequest, JsonRpcMessage};
use rmcp::service::RxJsonRpcMessage;
use serde_json::Value;
use tokio::sync::watch;

/// Tools that end a stop.
const RESUMING: [&str; 12] = [
    "debug_launch",
    "debug_launch_test",
    "debug_restart",
    "debug_continue",
    "debug_step",
    "debug_step_over",
    "debug_step_into",
    "debug_step_out",
    "debug_run_to",
    "debug_trace",
    "debug_follow",
    "debug_disconnect",
];
/// Tools that need a stop as it is when their call arrives, or decide where the next one is. A step is among
/// them: the next one begins where it ended.
const INSPECTING: [&str; 19] = [
    "debug_variables",
    "debug_stacktrace",
    "debug_evaluate",
    "debug_threads",
    "debug_exception_info",
    "debug_set_variable",
    "debug_source",
    "debug_snapshot",
    "debug_snapshot_diff",
    "debug_modules",
    "debug_set_breakpoint",
    "debug_remove_breakpoint",
    "debug_list_breakpoints",
    "debug_set_function_breakpoint",
    "debug_set_exception_breakpoints",
    "debug_step",
    "debug_step_over",
    "debug_step_into",
    "debug_step_out",
];
/// Maximum time that a call waits for earlier ones.
const TURN_TIMEOUT: Duration = Duration::from_secs(30);

/// The calls of a client that later ones wait for.
#[derive(Debug, Clone, Default)]
pub struct CallOrder(Arc<OrderState>);

#[derive(Debug, Default)]
struct OrderState {
    calls: Mutex<OpenCalls>,
    ended: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct OpenCalls {
    last: u64,
    /// The session that each call names.
    sessions: BTreeMap<u64, Option<String>>,
}

/// The place of one call among the others. The call ends when its last clone is dropped.
#[derive(Debug, Clone)]
pub struct CallTurn(Arc<Turn>);

#[derive(Debug)]
struct Turn {
    number: u64,
    is_resuming: bool,
    session: Option<String>,
    order: CallOrder,
}

impl CallOrder {
    /// Marks a message with its place if it is a call of a tool.
    pub fn mark(&self, message: &mut RxJsonRpcMessage<RoleServer>) {
        let JsonRpcMessage::Request(request) = message else { return };
        let ClientRequest::CallToolRequest(call) = &mut request.request else { return };
        let session = call.params.arguments.as_ref().and_then(|arguments| arguments.get("session"));
        let turn = self.begin(&call.params.name, session.and_then(Value::as_str));
        call.extensions.insert(turn);
    }

    /// The place of a call that arrives now.
    pub fn begin(&self, tool: &str, session: Option<&str>) -> CallTurn {
        let session = session.map(str::to_owned);
        let number = self.with(|calls| {
            calls.last += 1;
            if INSPECTING.contains(&tool) {
                calls.sessions.insert(calls.last, session.clone());
            }
            calls.last
        });
        let is_resuming = RESUMING.contains(&tool);
        CallTurn(Arc::new(Turn { number, is_resuming, session, order: self.clone() }))
    }

    fn with<T>(&self, work: impl FnOnce(&mut OpenCalls) -> T) -> T {
        work(&mut self.0.calls.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CallTurn {
    /// Waits, at most [`TURN_TIMEOUT`], until the earlier calls have ended whose stop this one would end.
    pub async fn wait(&self) {
        let Turn { number, is_resuming, session, order } = &*self.0;
        if !is_resuming {
            return;
        }
        let mut ended = order.0.ended.subscribe();
        // A call without a session may mean any.
        let is_elsewhere = |other: &Option<String>| {
            other.as_ref().zip(session.as_ref()).is_some_and(|(other, own)| other != own)
        };
        let is_first =
            || order.with(|calls| calls.sessions.range(..number).all(|(_, other)| is_elsewhere(other)));
        let waiting = async {
            // The sender lives as long as this turn.
            while !is_first() && ended.changed().await.is_ok() {}
        };
        if tokio::time::timeout(TURN_TIMEOUT, waiting).await.is_err() {
            tracing::debug!(number, "a call does not wait any longer for earlier ones");
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.order.with(|calls| calls.sessions.remove(&self.number));
        self.order.0.ended.send_replace(());
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;
    use crate::catalog::GROUPS;

    fn is_ready(turn: &CallTurn) -> bool {
        turn.wait().now_or_never().is_some()
    }

    #[tokio::test]
    async fn a_step_begins_when_the_evaluations_before_it_have_ended() {
        let order = CallOrder::default();
        let first = order.begin("debug_evaluate", None);
        let second = order.begin("debug_variables", None);
        let step = order.begin("debug_step_over", None);
        let later = order.begin("debug_evaluate", None);
        assert!(is_ready(&first) && is_ready(&second) && is_ready(&later));
        assert!(!is_ready(&step));
        drop(first);
        assert!(!is_ready(&step));
        drop(second);
        assert!(is_ready(&step));
        let next = order.begin("debug_step_over", None);
        drop(later);
        assert!(!is_ready(&next));
        drop(step);
        assert!(is_ready(&next));
    }

    #[tokio::test]
    async fn a_call_waits_neither_for_waits_nor_for_other_sessions() {
        let order = CallOrder::default();
        let _waiting = order.begin("debug_wait", None);
        let _reading = order.begin("process_read_output", None);
        let _elsewhere = order.begin("debug_evaluate", Some("a1"));
        assert!(is_ready(&order.begin("debug_continue", Some("b2"))));
        assert!(!is_ready(&order.begin("debug_continue", Some("a1"))));
        assert!(!is_ready(&order.begin("debug_continue", None)));
        assert!(is_ready(&order.begin("debug_pause", Some("a1"))));
    }

    #[test]
    fn every_name_is_that_of_a_tool() {
        let tools: Vec<&str> = GROUPS.iter().flat_map(|group| group.tools).map(|tool| tool.name).collect();
        for name in RESUMING.iter().chain(&INSPECTING) {
            assert!(tools.contains(name), "{name}");
        }
    }
}
