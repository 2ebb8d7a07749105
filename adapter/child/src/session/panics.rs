//! Rust panics as exceptions: Tandem's filter `rust_panic` is a breakpoint on the function that each panic
//! calls. Clients' own function breakpoints go to the adapter in the same list. Also the answers to
//! `exceptionInfo` about signals.
//!
//! Not here: the state of the filter, and the last panic (`state::panics`).

use std::sync::Arc;

use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{
    self, ExceptionInfoArguments, ExceptionInfoResponseBody, SetExceptionBreakpointsArguments,
    StoppedEventBody,
};
use tokio_util::sync::CancellationToken;

use super::super::rust::{PANIC, PANIC_FILTER};
use super::super::signals::{GO_FAULT_FRAMES, go_fault};
use super::super::translate::{self, AnnouncedFilter};
use super::AdapterSession;
use super::conditions::QUERY_TIMEOUT;
use tandem_engine::ExceptionFilter;

/// The capability that lists exception filters.
const FILTERS: &str = "exceptionBreakpointFilters";

/// Whether an adapter's exception filter is the one for panics.
fn is_of_panics(filter: &Value) -> bool {
    types::read::<AnnouncedFilter>(filter).filter.as_deref() == Some(PANIC)
}

impl AdapterSession {
    fn may_panic(&self) -> Option<&'static str> {
        self.profile.panic_function().filter(|_| self.is_rust())
    }

    /// Whether rustc compiled the program.
    pub(super) fn is_rust(&self) -> bool {
        self.live().as_ref().is_some_and(|live| live.plan.quirks.panics)
    }

    /// Adds the filter to what the adapter offers.
    pub(super) fn offer_panics(&self, capabilities: &mut Value) {
        if self.may_panic().is_none() {
            return;
        }
        match types::list_mut(capabilities, FILTERS) {
            Some(filters) if filters.iter().any(is_of_panics) => {}
            Some(filters) => filters.push(types::body(&PANIC_FILTER)),
            None => types::set(capabilities, FILTERS, ExceptionFilter::list(&[PANIC_FILTER])),
        }
        if let Some(live) = self.live().as_mut() {
            live.capabilities = Arc::new(capabilities.clone());
        }
    }

    /// The capabilities without the panic filter.
    fn adapters_own(&self, capabilities: &Value) -> Value {
        let mut own = capabilities.clone();
        if let Some(filters) = types::list_mut(&mut own, FILTERS) {
            filters.retain(|filter| !is_of_panics(filter));
        }
        own
    }

    /// Sets exception filters, those for panics by a breakpoint.
    pub(super) async fn set_exception_filters(
        self: &Arc<Self>,
        arguments: &Value,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        let capabilities = self.capabilities();
        let mut filters = types::read(arguments);
        translate::exception_filters(&mut filters, &capabilities);
        self.choose_panics(&mut filters, cancel).await;
        if translate::announced_filters(&self.adapters_own(&capabilities)).is_empty() {
            return Ok(Value::Null);
        }
        self.ask("setExceptionBreakpoints", types::body(&filters), cancel).await
    }

    /// Removes the filter from the adapter's request, and sets or removes the stop at panics.
    async fn choose_panics(
        self: &Arc<Self>,
        arguments: &mut SetExceptionBreakpointsArguments,
        cancel: &CancellationToken,
    ) {
        if self.may_panic().is_none() {
            return;
        }
        let filters = arguments.filters.extract_if(.., |filter| filter == PANIC).count();
        let options = arguments
            .filter_options
            .as_mut()
            .map_or(0, |options| options.extract_if(.., |option| option.filter_id == PANIC).count());
        let is_enabled = filters + options > 0;
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

    /// Answers `exceptionInfo` about a stop of which the adapter does not know the reason; `None` if it does.
    pub(super) async fn known_exception(
        &self,
        arguments: &Value,
        cancel: &CancellationToken,
    ) -> Option<Result<Value, Failure>> {
        if let Some(info) = self.panic_info(arguments) {
            return Some(Ok(info));
        }
        if let Some(info) = self.signal_info(arguments) {
            return Some(self.more_of_signal(info, arguments.clone(), cancel).await);
        }
        let thread = types::read::<ExceptionInfoArguments>(arguments).thread_id;
        let is_invented =
            self.profile.invents_exceptions() && self.with_knowledge(|known| !known.throwing.have(thread));
        is_invented
            .then(|| Err(Failure::invalid(format!("thread {thread} did not stop at an exception")).quiet()))
    }

    /// The panic message of the thread, if the program is stopped because of it.
    fn panic_info(&self, arguments: &Value) -> Option<Value> {
        let thread = types::read::<ExceptionInfoArguments>(arguments).thread_id;
        self.with_knowledge(|known| known.panics.info(thread)).map(|info| types::body(&info))
    }

    /// Adds the message to a stop at a panic of Go's runtime whose message Delve could not read.
    pub(super) async fn complete_panic(&self, stop: &mut StoppedEventBody) {
        let is_silent = stop.reason == "exception" && stop.text.as_deref().is_none_or(str::is_empty);
        if !is_silent || !self.profile.loses_panics() {
            return;
        }
        let arguments = types::top_frames(stop.thread_id, GO_FAULT_FRAMES);
        let never = CancellationToken::new();
        let stack = tokio::time::timeout(QUERY_TIMEOUT, self.ask("stackTrace", arguments, &never)).await;
        if let Ok(Ok(stack)) = stack
            && let Some(message) = go_fault(&types::read(&stack))
        {
            stop.text = Some(message.into());
        }
    }

    /// The answer to `exceptionInfo` about the signal at which this thread is stopped.
    fn signal_info(&self, arguments: &Value) -> Option<ExceptionInfoResponseBody> {
        let asked = types::read::<ExceptionInfoArguments>(arguments).thread_id;
        self.with_knowledge(|known| {
            let (_, info) = known.signal.as_ref().filter(|(thread, _)| *thread == Some(asked))?;
            Some(info.clone())
        })
    }

    /// Answers `exceptionInfo` about a signal: with what the adapter adds to it, if it can be asked.
    async fn more_of_signal(
        &self,
        info: ExceptionInfoResponseBody,
        arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        if !self.can("supportsExceptionInfoRequest") {
            return Ok(types::body(&info));
        }
        let answer = self.ask("exceptionInfo", arguments, cancel).await?;
        let mut answer: ExceptionInfoResponseBody = types::read(&answer);
        // lldb-dap's id is `signal` for each of them; Delve's says what Go makes of it.
        if answer.exception_id == "signal" {
            answer.exception_id = info.exception_id;
        }
        if answer.description.as_ref().is_none_or(|text| text.starts_with("Error getting panic message")) {
            answer.description = info.description;
        }
        Ok(types::body(&answer))
    }
}
