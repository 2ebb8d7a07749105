//! Rust panics as exceptions: Tandem's filter `rust_panic` is a breakpoint on the function that each panic
//! calls. Clients' own function breakpoints go to the adapter in the same list. Also the answers to
//! `exceptionInfo` about signals.
//!
//! Not here: the state of the filter, and the last panic (`state::panics`).

use std::sync::Arc;

use dap_wire::Failure;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::super::rust::{PANIC, panic_filter};
use super::super::signals::{GO_FAULT_FRAMES, go_fault};
use super::AdapterSession;
use super::conditions::QUERY_TIMEOUT;

impl AdapterSession {
    fn may_panic(&self) -> Option<&'static str> {
        let rust = self.live().as_ref().is_some_and(|live| live.plan.quirks.panics);
        self.profile.panic_function().filter(|_| rust)
    }

    /// Adds the filter to what the adapter offers.
    pub(super) fn offer_panics(&self, capabilities: &mut Value) {
        if self.may_panic().is_none() {
            return;
        }
        match capabilities["exceptionBreakpointFilters"].as_array_mut() {
            Some(filters) if filters.iter().any(|filter| filter["filter"] == PANIC) => {}
            Some(filters) => filters.push(panic_filter()),
            None => capabilities["exceptionBreakpointFilters"] = json!([panic_filter()]),
        }
        if let Some(live) = self.live().as_mut() {
            live.capabilities = Arc::new(capabilities.clone());
        }
    }

    /// The capabilities without the panic filter.
    pub(super) fn adapters_own(&self, capabilities: &Value) -> Value {
        let mut own = capabilities.clone();
        if let Some(filters) = own["exceptionBreakpointFilters"].as_array_mut() {
            filters.retain(|filter| filter["filter"] != PANIC);
        }
        own
    }

    /// Removes the filter from the adapter's request, and sets or removes the stop at panics.
    pub(super) async fn choose_panics(self: &Arc<Self>, arguments: &mut Value, cancel: &CancellationToken) {
        if self.may_panic().is_none() {
            return;
        }
        let mut is_enabled = false;
        if let Some(filters) = arguments["filters"].as_array_mut() {
            filters.retain(|filter| filter != PANIC || !std::mem::replace(&mut is_enabled, true));
            filters.retain(|filter| filter != PANIC);
        }
        if let Some(options) = arguments.get_mut("filterOptions").and_then(Value::as_array_mut) {
            let before = options.len();
            options.retain(|option| option["filterId"] != PANIC);
            is_enabled |= options.len() < before;
        }
        self.want_panics(is_enabled, cancel).await;
    }

    /// The program is about to run: if no client has set exception filters, it stops at panics.
    pub(super) async fn want_usual_panics(self: &Arc<Self>, cancel: &CancellationToken) {
        if self.may_panic().is_some() && self.with_knowledge(|known| known.panics.is_open()) {
            self.want_panics(true, cancel).await;
        }
    }

    async fn want_panics(self: &Arc<Self>, is_enabled: bool, cancel: &CancellationToken) {
        let Some(functions) = self.learn(|known| known.panics.choose(is_enabled)) else { return };
        if let Err(failure) =
            Box::pin(self.set_conditional("setFunctionBreakpoints", functions, &[], cancel)).await
        {
            tracing::warn!(%failure, "the program will not stop at panics");
        }
    }

    /// Adds our breakpoint to those of the clients; returns whether it did.
    pub(super) fn add_panic_breakpoint(&self, arguments: &mut Value) -> bool {
        let Some(function) = self.may_panic() else { return false };
        self.learn(|known| known.panics.add_breakpoint(arguments, function))
    }

    /// The panic message of the thread, if the program is stopped because of it.
    pub(super) fn panic_info(&self, arguments: &Value) -> Option<Value> {
        self.with_knowledge(|known| known.panics.info(&arguments["threadId"]))
    }

    /// Adds the message to a stop at a panic of Go's runtime whose message Delve could not read.
    pub(super) async fn complete_panic(&self, body: &mut Value) {
        let is_silent = body["reason"] == "exception" && body["text"].as_str().is_none_or(str::is_empty);
        if !is_silent || !self.profile.loses_panics() {
            return;
        }
        let arguments = json!({ "threadId": body["threadId"], "startFrame": 0, "levels": GO_FAULT_FRAMES });
        let never = CancellationToken::new();
        let stack = tokio::time::timeout(QUERY_TIMEOUT, self.ask("stackTrace", arguments, &never)).await;
        if let Ok(Ok(stack)) = stack
            && let Some(message) = go_fault(&stack)
        {
            body["text"] = json!(message);
        }
    }

    /// The answer to `exceptionInfo` about the signal at which this thread is stopped.
    pub(super) fn signal_info(&self, arguments: &Value) -> Option<Value> {
        let of_thread =
            |(thread, info): &(Value, Value)| (*thread == arguments["threadId"]).then(|| info.clone());
        self.with_knowledge(|known| known.signal.as_ref().and_then(of_thread))
    }

    /// Answers `exceptionInfo` about a signal: with what the adapter adds to it, if it can be asked.
    pub(super) async fn more_of_signal(
        &self,
        info: Value,
        arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        if !self.can("supportsExceptionInfoRequest") {
            return Ok(info);
        }
        let mut answer = self.ask("exceptionInfo", arguments, cancel).await?;
        // lldb-dap's id is `signal` for each of them; Delve's says what Go makes of it.
        if answer["exceptionId"] == "signal" {
            answer["exceptionId"] = info["exceptionId"].clone();
        }
        if answer["description"].as_str().is_none_or(|text| text.starts_with("Error getting panic message")) {
            answer["description"] = info["description"].clone();
        }
        Ok(answer)
    }
}
