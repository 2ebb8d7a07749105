//! The `error` of an answer whose tool did its work and has bad news, such as a build that fails.
//!
//! Not here: failures without an answer ([`tandem_error::Failure`]).

use std::borrow::Cow;

use serde::Serialize;
use tandem_error::{ErrorCode, Failure};

/// Bytes of a message or a hint: both may quote an argument, which has any size.
const MAX_TEXT: usize = 4 << 10;

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
        Self { code: code.as_str(), message: shorten(&message).into_owned(), hint: Some(hint.to_owned()) }
    }
}

impl From<Failure> for AnswerError {
    fn from(Failure { code, message, hint, .. }: Failure) -> Self {
        let hint = hint.map(|hint| shorten(&hint).into_owned());
        Self { code: code.as_str(), message: shorten(&message).into_owned(), hint }
    }
}

/// A message or a hint without its middle if it is long: the end has the reason.
pub fn shorten(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_TEXT {
        return Cow::Borrowed(text);
    }
    let (first, last) =
        (text.floor_char_boundary(MAX_TEXT / 2), text.ceil_char_boundary(text.len() - MAX_TEXT / 2));
    let (head, tail) = (text.get(..first).unwrap_or_default(), text.get(last..).unwrap_or_default());
    Cow::Owned(format!("{head}… ({} bytes left out) …{tail}", last - first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_argument_leaves_the_beginning_and_the_end_of_a_message() {
        let failure = Failure::invalid(format!("`{}` is in no git repository", "é".repeat(1 << 20)));
        let message = AnswerError::from(failure).message;
        assert!(message.len() < 5_000 && message.starts_with("`é"), "{}", message.len());
        assert!(message.contains(" bytes left out) …é") && message.ends_with("is in no git repository"));
        assert_eq!(shorten("it is short"), "it is short");
    }
}
