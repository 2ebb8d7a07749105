//! Rust's panics as exceptions: a filter of ours (`rust_panic`), which is a breakpoint on the function that each panic comes by.
//! Clients' own function breakpoints go to the adapter in the same list.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::super::rust::{PANIC, panic_filter};
use super::Session;

/// Most of a panic's message, bytes.
const MESSAGE: usize = 4096;

/// What is wanted of panics, and the last one.
#[derive(Debug, Default)]
pub(super) struct Panics(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    wanted: bool,
    /// A client has said what it wants.
    chosen: bool,
    /// Arguments of the latest `setFunctionBreakpoints`.
    functions: Value,
    /// The adapter's id of our breakpoint.
    id: Option<i64>,
    /// The thread that panicked and what it said, while the program stands there.
    last: Option<(Value, String)>,
}

impl Panics {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the clients want.
    pub(super) fn note_functions(&self, arguments: &Value) {
        self.known().functions = arguments.clone();
    }

    /// Takes our breakpoint, the last of them, out of an answer.
    pub(super) fn take_own(&self, answer: &mut Value) {
        if let Some(own) = answer["breakpoints"].as_array_mut().and_then(Vec::pop) {
            self.known().id = own["id"].as_i64();
        }
    }

    /// A stop at our breakpoint is one at an exception.
    pub(super) fn judge(&self, body: &mut Value, words: impl FnOnce() -> String) {
        let mut known = self.known();
        known.last = None;
        let hit = body["hitBreakpointIds"].as_array().into_iter().flatten().filter_map(Value::as_i64);
        let ours = known.id.is_some_and(|id| hit.into_iter().any(|hit| hit == id));
        if !ours || !body["reason"].as_str().is_some_and(|reason| reason.ends_with("breakpoint")) {
            return;
        }
        let message = message_in(&words()).unwrap_or_else(|| "a thread panicked".into());
        body["reason"] = json!("exception");
        body["description"] = json!("Paused on a panic");
        body["text"] = json!(message);
        if let Some(body) = body.as_object_mut() {
            body.shift_remove("hitBreakpointIds");
        }
        known.last = Some((body["threadId"].clone(), message));
    }
}

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

    /// The same without it.
    pub(super) fn adapters_own(&self, capabilities: &Value) -> Value {
        let mut own = capabilities.clone();
        if let Some(filters) = own["exceptionBreakpointFilters"].as_array_mut() {
            filters.retain(|filter| filter["filter"] != PANIC);
        }
        own
    }

    /// Takes the filter out of what the adapter is asked, and has it stop at panics, or not any more.
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

    /// The program is about to run: where nobody spoke of exceptions, it stops at panics.
    pub(super) async fn want_usual_panics(self: &Arc<Self>, cancel: &CancellationToken) {
        if self.may_panic().is_some() && !self.panics.known().chosen {
            self.want_panics(true, cancel).await;
        }
    }

    async fn want_panics(self: &Arc<Self>, wanted: bool, cancel: &CancellationToken) {
        let before = {
            let mut known = self.panics.known();
            known.chosen = true;
            std::mem::replace(&mut known.wanted, wanted)
        };
        if before == wanted {
            return;
        }
        let mut functions = self.panics.known().functions.clone();
        if !functions.is_object() {
            functions = json!({ "breakpoints": [] });
        }
        if let Err(failure) =
            Box::pin(self.set_conditional("setFunctionBreakpoints", functions, cancel)).await
        {
            tracing::warn!(%failure, "the program will not stop at panics");
        }
    }

    /// Adds our breakpoint to the clients' own; says whether it did.
    pub(super) fn add_panic_breakpoint(&self, arguments: &mut Value) -> bool {
        let Some(function) = self.may_panic() else { return false };
        let mut known = self.panics.known();
        known.id = None;
        match arguments["breakpoints"].as_array_mut().filter(|_| known.wanted) {
            Some(list) => {
                list.push(json!({ "name": function }));
                true
            }
            None => false,
        }
    }

    /// What the thread panicked with, if that is why the program stands.
    pub(super) fn panic_info(&self, arguments: &Value) -> Option<Value> {
        let known = self.panics.known();
        let (thread, message) = known.last.as_ref()?;
        (*thread == arguments["threadId"]).then(|| {
            json!({ "exceptionId": "panic", "description": message, "breakMode": "always",
                "details": { "message": message, "typeName": "panic" } })
        })
    }
}

/// The last panic that the program has printed: the line that says so, and the message below it.
fn message_in(words: &str) -> Option<String> {
    let at = words.rfind("panicked at ")?;
    let start = words.get(..at)?.rfind('\n').map_or(0, |line| line + 1);
    let told = words.get(start..)?;
    let end = ["\nnote: ", "\nstack backtrace:"]
        .iter()
        .filter_map(|end| told.find(end))
        .min()
        .unwrap_or(told.len());
    let message = told.get(..end)?.trim();
    Some(message.get(..message.floor_char_boundary(MESSAGE))?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_panic_is_quoted_with_its_message() {
        let words = "warming up\nthread 'a' panicked at src/a.rs:1:2:\nfirst\nthread 'main' panicked at src/b.rs:3:4:\n\
                     called `Option::unwrap()` on a `None` value\nnote: run with `RUST_BACKTRACE=1`\n";
        assert_eq!(
            message_in(words).as_deref(),
            Some("thread 'main' panicked at src/b.rs:3:4:\ncalled `Option::unwrap()` on a `None` value")
        );
        let traced = "thread 'main' panicked at a.rs:1:1:\nbad\nstack backtrace:\n   0: main\nnote: some\n";
        assert_eq!(message_in(traced).as_deref(), Some("thread 'main' panicked at a.rs:1:1:\nbad"));
        assert_eq!(message_in("all is well"), None);
    }

    #[test]
    fn only_a_stop_at_our_breakpoint_is_a_panic() {
        let panics = Panics::default();
        panics.take_own(&mut json!({ "breakpoints": [{ "id": 4 }, { "id": 9 }] }));
        let mut other = json!({ "reason": "breakpoint", "threadId": 1, "hitBreakpointIds": [4] });
        panics.judge(&mut other, String::new);
        assert_eq!(other["reason"], "breakpoint");
        let mut ours = json!({ "reason": "function breakpoint", "threadId": 1, "hitBreakpointIds": [9] });
        panics.judge(&mut ours, || "thread 'main' panicked at a.rs:1:1:\nbad\n".into());
        assert_eq!(ours["reason"], "exception");
        assert_eq!(ours["text"], "thread 'main' panicked at a.rs:1:1:\nbad");
        assert!(ours["hitBreakpointIds"].is_null());
    }
}
