//! The compiler's diagnostics, and the failure that answers a request with them. Not those of Tandem's own
//! binder ([`tandem_csharp`]).

use tandem_wire::types::{self, ErrorColumns, ExpressionDiagnostic, ExpressionErrorData};
use tandem_wire::{ErrorCode, Failure};

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

impl CSharpDiagnostic {
    /// Its columns as clients count them.
    fn columns(&self) -> ErrorColumns {
        let column = |unit: u32| Some(unit as usize + 1);
        ErrorColumns { column: column(self.start), end_column: column(self.end) }
    }
}

/// The failure for compiler errors: the first is the message, the others are in the data.
pub(super) fn failure(text: &str, diagnostics: &[CSharpDiagnostic]) -> Failure {
    let Some(first) = diagnostics.first() else {
        return Failure::new(ErrorCode::EvaluationFailed, format!("`{text}` does not compile"));
    };
    let describe = |diagnostic: &CSharpDiagnostic| ExpressionDiagnostic {
        code: Some(diagnostic.id.clone()),
        message: Some(diagnostic.message.clone()),
        columns: diagnostic.columns(),
    };
    let message = format!("{}: {} (column {})", first.id, first.message, first.start + 1);
    Failure::new(ErrorCode::EvaluationFailed, message).data(types::body(&ExpressionErrorData {
        columns: first.columns(),
        diagnostics: diagnostics.iter().map(describe).collect(),
        ..ExpressionErrorData::default()
    }))
}
