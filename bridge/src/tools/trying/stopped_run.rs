//! A run of an experiment at a stop: its frame, and reading and setting values there.

use tandem_wire::types::StackFrame;
use tandem_wire::{ErrorCode, Failure};
use tokio_util::sync::CancellationToken;

use crate::bounds::cut;
use crate::session::AgentSession;
use crate::tools::shown_frame::{has_ended, path_of, shown_frame};
use crate::tools::values::MAX_VALUE_LEN;
use crate::tools::{assignment, value_path};

/// The program of a run, which is stopped.
pub(super) struct StoppedRun<'a> {
    pub(super) session: &'a AgentSession,
    pub(super) cancel: &'a CancellationToken,
}

impl StoppedRun<'_> {
    /// The frame that tools show at this stop.
    pub(super) async fn frame(&self) -> Result<StackFrame, Failure> {
        let thread = self.session.snapshot().stop.thread_id.unwrap_or_default();
        let (top, shown) = shown_frame(self.session, thread).await?.unwrap_or_default();
        Ok(if has_ended(&shown) { top } else { shown })
    }

    /// The values of expressions, each with its expression.
    pub(super) async fn values(
        &self,
        frame: i64,
        expressions: &[String],
    ) -> Result<Vec<(String, String)>, Failure> {
        let mut values = Vec::new();
        for expression in expressions {
            values.push((expression.clone(), self.value(frame, expression).await?));
        }
        Ok(values)
    }

    /// The value of an expression, or the reason why it has none.
    pub(super) async fn value(&self, frame: i64, expression: &str) -> Result<String, Failure> {
        match value_path::evaluate(self.session, Some(frame), expression, self.cancel).await {
            Ok(response) => Ok(cut(&response.result, MAX_VALUE_LEN)),
            Err(failure) if failure.code == ErrorCode::Cancelled => Err(failure),
            Err(failure) => Ok(cut(&format!("error: {}", failure.message), MAX_VALUE_LEN)),
        }
    }

    /// Sets a value. Where an engine sets only constants, the expression is evaluated first.
    pub(super) async fn set(&self, frame: i64, name: &str, value: &str) -> Result<String, Failure> {
        let frame = Some(frame);
        let refused = |failure: Failure| match failure.code {
            ErrorCode::Cancelled => failure,
            _ => Failure {
                message: format!("cannot set `{name}` to `{value}`: {}", failure.message),
                ..failure
            },
        };
        let assigned = match assignment::set(self.session, frame, name, value, self.cancel).await {
            Ok(assigned) => assigned,
            Err(failure) => {
                let Ok(result) = value_path::evaluate(self.session, frame, value, self.cancel).await else {
                    return Err(refused(failure));
                };
                let constant = result.result;
                if constant == value {
                    return Err(refused(failure));
                }
                let set = assignment::set(self.session, frame, name, &constant, self.cancel).await;
                set.map_err(|_| refused(failure))?
            }
        };
        Ok(cut(&assigned.value, MAX_VALUE_LEN))
    }
}

/// A frame as `file:line in function`.
pub(super) fn name_place(frame: &StackFrame) -> String {
    let name = &frame.name;
    match path_of(frame).and_then(|path| path.rsplit('/').next()) {
        Some(file) => format!("{file}:{} in {name}", frame.line),
        None => name.clone(),
    }
}
