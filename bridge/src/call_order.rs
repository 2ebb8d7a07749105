//! The order of an agent's calls. MCP clients send several calls at once, and each runs in its own task. A
//! call that ends the stop begins when the calls that arrived before it and need the stop have ended: else it
//! would take the stop away from them. A call that ends the program, or leaves it, waits for them only a
//! moment and then cancels them: an evaluation that never ends must not keep the session alive.
//!
//! Both transports mark a call where its message is complete: [`crate::stdio`] at the end of its line,
//! [`crate::http`] at the end of its body. The tasks that answer calls begin in any order.
//!
//! Not here: running a call ([`crate::handler`]), what each tool does with the stop ([`StopUse`]).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::request::Parts;
use rmcp::RoleServer;
use rmcp::model::{ClientRequest, Extensions, JsonRpcMessage};
use rmcp::service::RxJsonRpcMessage;
use serde::Deserialize;
use serde_json::Value;
use tandem_wire::{ErrorCode, Failure};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::catalog;
use crate::tool::StopUse;

/// Maximum time that a call waits for earlier ones.
const TURN_TIMEOUT: Duration = Duration::from_secs(30);
/// Time that a call which ends the session gives earlier ones before it cancels them.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(1);

/// The calls that later ones wait for, of one client or of all clients of a server.
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
    /// The calls that need the stop.
    inspecting: BTreeMap<u64, OpenCall>,
}

/// A call that is not answered yet, as far as others need to know it.
#[derive(Debug, Clone)]
struct OpenCall {
    scope: CallScope,
    /// Cancelled when a later call ends the session before this one was answered.
    overtaken: CancellationToken,
}

/// The sessions to which a call refers.
#[derive(Debug, Clone)]
struct CallScope {
    /// The MCP session over HTTP.
    client: Option<String>,
    /// The debug session that it names.
    session: Option<String>,
}

/// The place of one call among the others. The call ends when its last clone is dropped.
#[derive(Debug, Clone)]
pub struct CallTurn(Arc<Turn>);

#[derive(Debug)]
struct Turn {
    number: u64,
    stop: StopUse,
    call: OpenCall,
    order: CallOrder,
}

/// A call of a tool as JSON-RPC, as far as its place depends on it. The rest of the text, which may be long,
/// is not copied.
#[derive(Deserialize)]
struct CallMessage<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: CallParams<'a>,
}

#[derive(Deserialize)]
struct CallParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    arguments: Option<CallArguments>,
}

/// The arguments of every tool that works with a debug session.
#[derive(Deserialize)]
struct CallArguments {
    #[serde(default)]
    session: Value,
}

impl CallOrder {
    /// Marks a message with its place if it is a call of a tool.
    pub fn mark(&self, message: &mut RxJsonRpcMessage<RoleServer>) {
        let JsonRpcMessage::Request(request) = message else { return };
        let ClientRequest::CallToolRequest(call) = &mut request.request else { return };
        let session = call.params.arguments.as_ref().and_then(|arguments| arguments.get("session"));
        let turn = self.begin(&call.params.name, None, session.and_then(Value::as_str));
        call.extensions.insert(turn);
    }

    /// The place of a message of this MCP session, which has arrived now, if it is a call of a tool.
    pub fn mark_body(&self, client: Option<&str>, body: &[u8]) -> Option<CallTurn> {
        let message: CallMessage = serde_json::from_slice(body).ok()?;
        let is_call = message.method == "tools/call";
        let session = message.params.arguments.as_ref().and_then(|arguments| arguments.session.as_str());
        is_call.then(|| self.begin(&message.params.name, client, session))
    }

    /// The place of a call that arrives now.
    pub fn begin(&self, tool: &str, client: Option<&str>, session: Option<&str>) -> CallTurn {
        let stop = catalog::find(tool).map_or(StopUse::Independent, |tool| tool.stop);
        let scope = CallScope { client: client.map(str::to_owned), session: session.map(str::to_owned) };
        let call = OpenCall { scope, overtaken: CancellationToken::new() };
        let number = self.with(|calls| {
            calls.last += 1;
            if stop.needs_stop() {
                calls.inspecting.insert(calls.last, call.clone());
            }
            calls.last
        });
        CallTurn(Arc::new(Turn { number, stop, call, order: self.clone() }))
    }

    fn with<T>(&self, work: impl FnOnce(&mut OpenCalls) -> T) -> T {
        work(&mut self.0.calls.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CallTurn {
    /// The place with which the transport marked a call.
    pub fn of(extensions: &Extensions) -> Option<Self> {
        let over_http = || extensions.get::<Parts>()?.extensions.get::<Self>();
        extensions.get::<Self>().or_else(over_http).cloned()
    }

    /// Waits, for a bounded time, until the earlier calls have ended whose stop this one would end.
    pub async fn wait(&self) {
        match self.0.stop {
            StopUse::Independent | StopUse::Inspects | StopUse::Awaits => {}
            StopUse::Resumes | StopUse::Steps | StopUse::Selects | StopUse::Launches => {
                if tokio::time::timeout(TURN_TIMEOUT, self.wait_for_earlier()).await.is_err() {
                    tracing::debug!(
                        number = self.0.number,
                        "a call does not wait any longer for earlier ones"
                    );
                }
            }
            StopUse::Restarts | StopUse::Leaves => {
                if tokio::time::timeout(LEAVE_TIMEOUT, self.wait_for_earlier()).await.is_err() {
                    tracing::debug!(
                        number = self.0.number,
                        "a call that ends the session cancels earlier ones"
                    );
                    self.earlier().iter().for_each(|call| call.overtaken.cancel());
                }
            }
        }
    }

    /// Waits until a later call has ended the session of this one.
    pub async fn overtaken(&self) {
        self.0.call.overtaken.cancelled().await;
    }

    /// The failure of a call whose session a later one has ended; otherwise the failure itself.
    pub fn explain(&self, failure: Failure) -> Failure {
        if failure.code != ErrorCode::Cancelled || !self.0.call.overtaken.is_cancelled() {
            return failure;
        }
        let message = "cancelled: a later call left or restarted the session before this one was answered";
        Failure::new(ErrorCode::Cancelled, message).hint("use debug_status to see which session there is")
    }

    async fn wait_for_earlier(&self) {
        let mut ended = self.0.order.0.ended.subscribe();
        // The sender lives as long as this turn.
        while !self.earlier().is_empty() && ended.changed().await.is_ok() {}
    }

    /// The open calls that arrived before this one, need the stop, and may mean the same session.
    fn earlier(&self) -> Vec<OpenCall> {
        let Turn { number, call, order, .. } = &*self.0;
        order.with(|calls| {
            let earlier = calls.inspecting.range(..number).map(|(_, other)| other);
            earlier.filter(|other| self.concerns(&call.scope, &other.scope)).cloned().collect()
        })
    }

    fn concerns(&self, own: &CallScope, other: &CallScope) -> bool {
        let is_selecting = matches!(self.0.stop, StopUse::Selects | StopUse::Launches);
        own.client == other.client
            && match (&own.session, &other.session) {
                (_, Some(_)) if is_selecting => false,
                (Some(own), Some(other)) => own == other,
                // A call without a session may mean any.
                _ => true,
            }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.order.with(|calls| calls.inspecting.remove(&self.number));
        self.order.0.ended.send_replace(());
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use tokio::time::Instant;

    use super::*;

    fn is_ready(turn: &CallTurn) -> bool {
        turn.wait().now_or_never().is_some()
    }

    #[tokio::test]
    async fn a_step_begins_when_the_evaluations_before_it_have_ended() {
        let order = CallOrder::default();
        let begin = |tool: &str| order.begin(tool, None, None);
        let first = begin("debug_evaluate");
        let second = begin("debug_variables");
        let step = begin("debug_step_over");
        let later = begin("debug_evaluate");
        assert!(is_ready(&first) && is_ready(&second) && is_ready(&later));
        assert!(!is_ready(&step));
        drop(first);
        assert!(!is_ready(&step));
        drop(second);
        assert!(is_ready(&step));
        let next = begin("debug_step_over");
        drop(later);
        assert!(!is_ready(&next));
        drop(step);
        assert!(is_ready(&next));
    }

    #[tokio::test]
    async fn a_call_waits_neither_for_waits_nor_for_other_sessions_nor_for_other_clients() {
        let order = CallOrder::default();
        let _waiting = order.begin("debug_wait", None, None);
        let _reading = order.begin("process_read_output", None, None);
        let _elsewhere = order.begin("debug_evaluate", None, Some("a1"));
        assert!(is_ready(&order.begin("debug_continue", None, Some("b2"))));
        assert!(is_ready(&order.begin("debug_continue", Some("other"), Some("a1"))));
        assert!(!is_ready(&order.begin("debug_continue", None, Some("a1"))));
        assert!(!is_ready(&order.begin("debug_continue", None, None)));
        assert!(is_ready(&order.begin("debug_pause", None, Some("a1"))));
    }

    #[tokio::test]
    async fn another_session_becomes_the_current_one_after_the_calls_that_mean_the_one_before() {
        let order = CallOrder::default();
        let _elsewhere = order.begin("debug_evaluate", None, Some("a1"));
        let selecting = ["debug_sessions", "debug_attach", "debug_launch", "debug_launch_test"];
        assert!(selecting.iter().all(|tool| is_ready(&order.begin(tool, None, None))));
        let _here = order.begin("debug_evaluate", None, None);
        assert!(selecting.iter().all(|tool| !is_ready(&order.begin(tool, None, None))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_disconnect_and_a_restart_cancel_an_evaluation_that_does_not_end() {
        for tool in ["debug_disconnect", "debug_restart"] {
            let order = CallOrder::default();
            let elsewhere = order.begin("debug_evaluate", None, Some("a1"));
            let hanging = order.begin("debug_evaluate", None, Some("b2"));
            let step = order.begin("debug_step", None, Some("b2"));
            let ending = order.begin(tool, None, Some("b2"));
            let later = order.begin("debug_evaluate", None, Some("b2"));
            let began = Instant::now();
            ending.wait().await;
            assert!(began.elapsed() < TURN_TIMEOUT / 2, "{tool}");
            let cancelled = |turn: &CallTurn| turn.overtaken().now_or_never().is_some();
            assert!(cancelled(&hanging) && cancelled(&step), "{tool}");
            assert!(!cancelled(&elsewhere) && !cancelled(&later), "{tool}");
            assert!(hanging.explain(Failure::cancelled()).message.contains("a later call"), "{tool}");
            assert_eq!(later.explain(Failure::cancelled()).message, Failure::cancelled().message, "{tool}");
        }
    }

    #[tokio::test]
    async fn a_disconnect_lets_calls_end_that_are_about_to() {
        let order = CallOrder::default();
        let short = order.begin("debug_variables", None, None);
        let ending = order.begin("debug_disconnect", None, None);
        assert!(!is_ready(&ending));
        drop(short);
        assert!(is_ready(&ending));
    }

    #[test]
    fn the_place_of_a_long_body_copies_nothing_of_it() {
        let params = format!(r#"{{"name":"debug_evaluate","arguments":{{"x":"{}"}}}}"#, "x".repeat(1 << 20));
        let body = format!(r#"{{"method":"tools/call","params":{params}}}"#);
        let message: CallMessage = serde_json::from_str(&body).unwrap();
        let is_borrowed = |text: &Cow<str>| matches!(text, Cow::Borrowed(_));
        assert!(is_borrowed(&message.method) && is_borrowed(&message.params.name));
        assert!(message.params.arguments.unwrap().session.is_null());
    }

    #[test]
    fn a_body_has_a_place_if_it_is_a_call_of_a_tool() {
        let order = CallOrder::default();
        let mark = |body: &str| order.mark_body(Some("client"), body.as_bytes());
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"debug_evaluate","#;
        for rest in [
            r#""arguments":{"session":"a1"}}}"#,
            r#""arguments":{"session":1}}}"#,
            r#""arguments":null}}"#,
            "\"x\":1}}",
        ] {
            let turn = mark(&format!("{call}{rest}")).expect(rest);
            assert_eq!(
                (turn.0.stop, turn.0.call.scope.client.as_deref()),
                (StopUse::Inspects, Some("client"))
            );
        }
        for other in ["{", "[]", r#"{"method":"ping"}"#, r#"{"method":"prompts/get","params":{"name":"x"}}"#]
        {
            assert!(mark(other).is_none(), "{other}");
        }
    }
}
