//! Rust panics as exceptions: Tandem's filter `rust_panic` is a breakpoint on the function that each panic
//! calls. Clients' own function breakpoints go to the adapter in the same list.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::super::rust::{PANIC, panic_filter};
use super::Session;

impl Session {
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
        let mut wanted = false;
        if let Some(filters) = arguments["filters"].as_array_mut() {
            filters.retain(|filter| filter != PANIC || !std::mem::replace(&mut wanted, true));
            filters.retain(|filter| filter != PANIC);
        }
        if let Some(options) = arguments.get_mut("filterOptions").and_then(Value::as_array_mut) {
            let before = options.len();
            options.retain(|option| option["filterId"] != PANIC);
            wanted |= options.len() < before;
        }
        self.want_panics(wanted, cancel).await;
    }

    /// The program is about to run: if no client has set exception filters, it stops at panics.
    pub(super) async fn want_usual_panics(self: &Arc<Self>, cancel: &CancellationToken) {
        if self.may_panic().is_some() && self.known(|known| known.panics.is_open()) {
            self.want_panics(true, cancel).await;
        }
    }

    async fn want_panics(self: &Arc<Self>, wanted: bool, cancel: &CancellationToken) {
        let Some(functions) = self.learn(|known| known.panics.choose(wanted)) else { return };
        if let Err(failure) =
            Box::pin(self.set_conditional("setFunctionBreakpoints", functions, cancel)).await
        {
            tracing::warn!(%failure, "the program will not stop at panics");
        }
    }

    /// Adds our breakpoint to the clients' own; says whether it did.
    pub(super) fn add_panic_breakpoint(&self, arguments: &mut Value) -> bool {
        let Some(function) = self.may_panic() else { return false };
        self.learn(|known| known.panics.add_breakpoint(arguments, function))
    }

    /// The panic message of the thread, if the program is stopped because of it.
    pub(super) fn panic_info(&self, arguments: &Value) -> Option<Value> {
        self.known(|known| known.panics.info(&arguments["threadId"]))
    }
}
