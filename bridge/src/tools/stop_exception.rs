//! The exception in the answer about a stop: its type, its message, where it was thrown, and its causes.
//!
//! Not here: the rest of the answer ([`super::stops`]).

use std::collections::VecDeque;

use serde_json::Value;
use tandem_wire::types::{
    self, ExceptionDetails, ExceptionInfoArguments, ExceptionInfoResponseBody, ExceptionOrigin,
};

use crate::program_event::{InnerException, StopException};
use crate::source::ShownPlace;

/// Maximum number of inner exceptions in one answer.
const MAX_CAUSES: usize = 5;
/// The request for the exception at which a thread is stopped.
pub(super) fn exception_of(thread: i64) -> ExceptionInfoArguments {
    ExceptionInfoArguments { thread_id: thread, ..ExceptionInfoArguments::default() }
}

/// The exception of a stop, as an adapter describes it.
pub(super) fn read_exception(info: ExceptionInfoResponseBody) -> StopException {
    let hint = info.rest.get("hint").and_then(Value::as_str).map(str::to_owned);
    let origin: ExceptionOrigin = types::read(&Value::Object(info.rest));
    let mut causes = Vec::new();
    let mut waiting: VecDeque<ExceptionDetails> = info.details.into_iter().collect();
    while let Some(outer) = waiting.pop_front() {
        for mut inner in outer.inner_exception.into_iter().flatten().take(MAX_CAUSES - causes.len()) {
            let (kind, message) = (inner.full_type_name.take(), inner.message.take());
            causes.push(InnerException { kind, message });
            waiting.push_back(inner);
        }
    }
    StopException {
        exception_type: info.exception_id,
        message: info.description,
        is_unhandled: Some(info.break_mode == "unhandled"),
        is_user_unhandled: info.break_mode == "userUnhandled",
        hint,
        thrown_at: origin
            .thrown_at
            .map(|thrown| ShownPlace::new(&thrown.name, thrown.source.as_ref(), thrown.line)),
        causes,
    }
}
