//! The `error` of an answer whose tool did its work and has bad news, such as a build that fails.
//!
//! Not here: failures without an answer ([`tandem_error::Failure`]).

use serde::Serialize;
use tandem_error::{ErrorCode, Failure};

/// Why a run has failed, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnswerError {
    /// The name of a stable error code.
    pub code: &'static str,
    /// What failed, on what and why.
    pub message: String,
    /// The remedy, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl AnswerError {
    /// An error with its remedy.
    pub fn new(code: ErrorCode, message: String, hint: &str) -> Self {
        Self { code: code.as_str(), message, hint: Some(hint.to_owned()) }
    }
}

impl From<Failure> for AnswerError {
    fn from(Failure { code, message, hint, .. }: Failure) -> Self {
        Self { code: code.as_str(), message, hint }
    }
}
