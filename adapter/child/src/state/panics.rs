//! State of Rust panics: whether the program is to stop at them, and the last one. Sends no breakpoint to the
//! adapter (`session/panics.rs`).

use serde::Serialize;
use serde_json::Value;
use tandem_wire::types::{
    self, Breakpoint, BreakpointRequest, ExceptionDetails, ExceptionInfoResponseBody, StoppedEventBody,
};

/// Most of a panic's message, bytes.
const MAX_MESSAGE_LEN: usize = 4096;

/// The arguments of `setFunctionBreakpoints`.
#[derive(Debug, Default, Serialize)]
struct FunctionList {
    breakpoints: Vec<BreakpointRequest>,
}

/// The panic filter that clients requested, and the last panic.
#[derive(Debug, Default)]
pub(in super::super) struct PanicFilter {
    /// Whether the program stops at panics; nothing if neither a client nor we have chosen yet.
    enabled: Option<bool>,
    /// Arguments of the latest `setFunctionBreakpoints`.
    functions: Value,
    /// The adapter's id of our breakpoint.
    id: Option<i64>,
    /// The thread that panicked and its message, while the program is stopped there.
    last: Option<(Option<i64>, String)>,
}

impl PanicFilter {
    /// Stores the function breakpoints that the clients set.
    pub(in super::super) fn note_functions(&mut self, arguments: &Value) {
        self.functions = arguments.clone();
    }

    /// Whether it is not decided yet whether the program stops at panics.
    pub(in super::super) fn is_open(&self) -> bool {
        self.enabled.is_none()
    }

    /// Chooses whether the program stops at panics. Returns the function breakpoints of the clients, if they
    /// are to be set again for that.
    pub(in super::super) fn choose(&mut self, enabled: bool) -> Option<Value> {
        let before = self.enabled.replace(enabled).unwrap_or(false);
        (before != enabled).then(|| match &self.functions {
            functions @ Value::Object(_) => functions.clone(),
            _ => types::body(&FunctionList::default()),
        })
    }

    /// Adds our breakpoint, if it is wanted, to those of the clients; returns whether it did.
    pub(in super::super) fn add_breakpoint(&mut self, arguments: &mut Value, function: &str) -> bool {
        self.id = None;
        match types::list_mut(arguments, "breakpoints").filter(|_| self.enabled == Some(true)) {
            Some(list) => {
                list.push(types::body(&BreakpointRequest::at_function(function)));
                true
            }
            None => false,
        }
    }

    /// Takes our breakpoint, the last of them, out of an answer.
    pub(in super::super) fn take_own(&mut self, answer: &mut Value) {
        if let Some(own) = types::list_mut(answer, "breakpoints").and_then(Vec::pop) {
            self.id = types::read::<Breakpoint>(&own).id;
        }
    }

    /// Describes a stop at our own breakpoint as a stop at an exception.
    pub(in super::super) fn describe(&mut self, stop: &mut StoppedEventBody, words: impl FnOnce() -> String) {
        self.last = None;
        let ours = self.id.is_some_and(|id| stop.hit_breakpoint_ids.iter().flatten().any(|hit| *hit == id));
        if !ours || !stop.reason.ends_with("breakpoint") {
            return;
        }
        let message = message_in(&words()).unwrap_or_else(|| "a thread panicked".into());
        stop.reason = "exception".into();
        stop.description = Some("Paused on a panic".into());
        stop.text = Some(message.clone());
        stop.hit_breakpoint_ids = None;
        self.last = Some((stop.thread_id, message));
    }

    /// The panic message of this thread, if the program is stopped because of it.
    pub(in super::super) fn info(&self, thread: i64) -> Option<ExceptionInfoResponseBody> {
        let (panicked, message) = self.last.as_ref()?;
        (*panicked == Some(thread)).then(|| ExceptionInfoResponseBody {
            exception_id: "panic".into(),
            description: Some(message.clone()),
            break_mode: "always".into(),
            details: Some(ExceptionDetails {
                message: Some(message.clone()),
                type_name: Some("panic".into()),
                ..ExceptionDetails::default()
            }),
            ..ExceptionInfoResponseBody::default()
        })
    }
}

/// The last panic that the program has printed: its first line, and the message below it.
fn message_in(words: &str) -> Option<String> {
    let at = words.rfind("panicked at ")?;
    let start = words.get(..at)?.rfind('\n').map_or(0, |line| line + 1);
    let text = words.get(start..)?;
    let end = ["\nnote: ", "\nstack backtrace:"]
        .iter()
        .filter_map(|end| text.find(end))
        .min()
        .unwrap_or(text.len());
    let message = text.get(..end)?.trim();
    Some(message.get(..message.floor_char_boundary(MAX_MESSAGE_LEN))?.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_panic_is_quoted_with_its_message() {
        let words = "warming up\nthread 'a' panicked at src/a.rs:1:2:\nfirst\n\
            thread 'main' panicked at src/b.rs:3:4:\n\
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
        let mut panics = PanicFilter::default();
        panics.take_own(&mut json!({ "breakpoints": [{ "id": 4 }, { "id": 9 }] }));
        // A reply that is not a DAP body names no other breakpoint.
        panics.take_own(&mut json!("ok"));
        let stop = |reason: &str, breakpoint| StoppedEventBody {
            reason: reason.into(),
            thread_id: Some(1),
            hit_breakpoint_ids: Some(vec![breakpoint]),
            ..StoppedEventBody::default()
        };
        let mut other = stop("breakpoint", 4);
        panics.describe(&mut other, String::new);
        assert_eq!(other.reason, "breakpoint");
        let mut ours = stop("function breakpoint", 9);
        panics.describe(&mut ours, || "thread 'main' panicked at a.rs:1:1:\nbad\n".into());
        assert_eq!(ours.reason, "exception");
        assert_eq!(ours.text.as_deref(), Some("thread 'main' panicked at a.rs:1:1:\nbad"));
        assert_eq!(ours.hit_breakpoint_ids, None);
        assert_eq!(panics.info(1).and_then(|info| info.description), ours.text);
        assert_eq!(panics.info(2), None);
    }

    #[test]
    fn function_breakpoints_are_set_again_when_the_choice_changes() {
        let mut panics = PanicFilter::default();
        assert!(panics.is_open());
        assert_eq!(panics.choose(false), None);
        assert!(!panics.is_open());
        assert_eq!(panics.choose(true), Some(json!({ "breakpoints": [] })));
        assert_eq!(panics.choose(true), None);
        let functions = json!({ "breakpoints": [{ "name": "work" }] });
        panics.note_functions(&functions);
        let mut sent = functions.clone();
        assert!(panics.add_breakpoint(&mut sent, "rust_panic"));
        assert_eq!(sent, json!({ "breakpoints": [{ "name": "work" }, { "name": "rust_panic" }] }));
        assert_eq!(panics.choose(false), Some(functions.clone()));
        let mut sent = functions.clone();
        assert!(!panics.add_breakpoint(&mut sent, "rust_panic"));
        assert_eq!(sent, functions);
    }
}
