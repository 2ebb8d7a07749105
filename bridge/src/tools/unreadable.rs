//! The parts of an answer about a stop that the debugger could not read. The answer has the rest, and says
//! which part is missing and why. Not here: calls that fail as a whole.

use serde_json::{Map, Value};
use tandem_wire::{ErrorCode, Failure};

use crate::session::AgentSession;
use crate::snapshot::ProgramState;

/// The parts that are missing, each with the reason.
#[derive(Debug, Default)]
pub(super) struct UnreadableParts(Map<String, Value>);

impl UnreadableParts {
    /// Returns a part that was read; records the reason if only that part cannot be read.
    ///
    /// # Errors
    /// The failure, if there is nothing else to answer either: the program is not stopped any more, or the
    /// call was wrong.
    pub(super) fn take<T>(
        &mut self,
        session: &AgentSession,
        part: &str,
        read: Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(failure) if is_of_part(session, &failure) => {
                self.0.insert(part.to_owned(), Value::String(reason(&failure)));
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Adds the reasons to those of an answer.
    pub(super) fn put(self, reasons: &mut Map<String, Value>) {
        reasons.extend(self.0);
    }
}

/// Whether a failure concerns only what was to be read.
pub(super) fn is_of_part(session: &AgentSession, failure: &Failure) -> bool {
    session.snapshot().state == ProgramState::Stopped
        && matches!(
            failure.code,
            ErrorCode::EngineFailed
                | ErrorCode::Unsupported
                | ErrorCode::AccessDenied
                | ErrorCode::EvaluationFailed
                | ErrorCode::EvaluationTimeout
                | ErrorCode::Timeout
        )
}

/// Why a part is missing, and what to do.
pub(super) fn reason(failure: &Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("{}; {hint}", failure.message),
        None => failure.message.clone(),
    }
}
