//! The exception in the answer about a stop: its type, its message, where it was thrown, and its causes.
//!
//! Not here: the rest of the answer ([`super::stops`]).

use std::collections::VecDeque;

use dap_wire::types::{
    self, ExceptionDetails, ExceptionInfoArguments, ExceptionInfoResponseBody, ExceptionOrigin,
};
use serde_json::{Value, json};

use crate::source::ShownPlace;

/// Maximum number of inner exceptions in one answer.
const MAX_CAUSES: usize = 5;
/// The request for the exception at which a thread is stopped.
pub(super) fn exception_of(thread: i64) -> ExceptionInfoArguments {
    ExceptionInfoArguments { thread_id: thread, ..ExceptionInfoArguments::default() }
}

/// Adds an exception to an event.
pub(super) fn name_exception(info: ExceptionInfoResponseBody, event: &mut Value) {
    event["exceptionType"] = json!(info.exception_id);
    if let Some(description) = info.description {
        event["message"] = json!(description);
    }
    event["isUnhandled"] = json!(info.break_mode == "unhandled");
    if info.break_mode == "userUnhandled" {
        event["isUserUnhandled"] = json!(true);
    }
    if let Some(hint) = info.rest.get("hint").and_then(Value::as_str) {
        event["hint"] = json!(hint);
    }
    let origin: ExceptionOrigin = types::read(&Value::Object(info.rest));
    if let Some(thrown) = origin.thrown_at {
        event["thrownAt"] = json!(ShownPlace::new(&thrown.name, thrown.source.as_ref(), thrown.line));
    }
    let mut causes = Vec::new();
    let mut waiting: VecDeque<ExceptionDetails> = info.details.into_iter().collect();
    while let Some(outer) = waiting.pop_front() {
        for inner in outer.inner_exception.into_iter().flatten().take(MAX_CAUSES - causes.len()) {
            causes.push(json!({ "type": inner.full_type_name, "message": inner.message }));
            waiting.push_back(inner);
        }
    }
    if !causes.is_empty() {
        event["causes"] = json!(causes);
    }
}
