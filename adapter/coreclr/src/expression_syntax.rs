//! Errors in the text of an expression, with the columns that clients count. Names are not resolved here.

use tandem_csharp::syntax::{Diagnostic, Format, Span, parse};
use tandem_wire::types::{self, ErrorColumns};
use tandem_wire::{ErrorCode, Failure};

/// Checks the syntax of an expression; names are resolved at a stop.
///
/// # Errors
/// The error, and its location.
pub(super) fn check_syntax(text: &str) -> Result<(), Failure> {
    let (text, _) = Format::split(text);
    parse(text.trim()).map(drop).map_err(|diagnostic| diagnostic_failure(&diagnostic, text.trim()))
}

/// A failure of an evaluation.
pub(super) fn failed(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::EvaluationFailed, message)
}

/// The error that the parser or binder found, with its location.
pub(super) fn diagnostic_failure(diagnostic: &Diagnostic, text: &str) -> Failure {
    at(failed(diagnostic.to_string()), diagnostic.span, text)
}

/// A failure with the columns of a part of the text, which count UTF-16 units from 1.
pub(super) fn at(failure: Failure, span: Span, text: &str) -> Failure {
    let column = |byte: usize| units(text, byte) + 1;
    failure.data(types::body(&ErrorColumns {
        column: Some(column(span.start)),
        end_column: Some(column(span.end.max(span.start))),
    }))
}

/// The UTF-16 units before a byte of a text.
pub(super) fn units(text: &str, byte: usize) -> usize {
    let before = text.char_indices().take_while(|(at, _)| *at < byte);
    before.map(|(_, letter)| letter.len_utf16()).sum()
}
