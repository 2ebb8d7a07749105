//! The compiler's diagnostics, and the failure that answers a request with them. Not those of Tandem's own
//! binder ([`csharp_expr`]).

use dap_wire::{ErrorCode, Failure};
use serde_json::json;

/// A diagnostic of the compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CSharpDiagnostic {
    /// Error code, for example `CS0103`.
    pub(crate) id: String,
    pub(crate) message: String,
    /// The first UTF-16 unit of its text range, and the one after the last, from 0.
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// The failure for compiler errors: the first is the message, the others are in the data.
pub(super) fn failure(text: &str, diagnostics: &[CSharpDiagnostic]) -> Failure {
    let Some(first) = diagnostics.first() else {
        return Failure::new(ErrorCode::EvaluationFailed, format!("`{text}` does not compile"));
    };
    let place = |diagnostic: &CSharpDiagnostic| {
        json!({ "code": diagnostic.id, "message": diagnostic.message, "column": diagnostic.start + 1,
            "endColumn": diagnostic.end + 1 })
    };
    let message = format!("{}: {} (column {})", first.id, first.message, first.start + 1);
    Failure::new(ErrorCode::EvaluationFailed, message).data(json!({
        "column": first.start + 1, "endColumn": first.end + 1,
        "diagnostics": diagnostics.iter().map(place).collect::<Vec<_>>() }))
}
