//! The outcome of an expression that the compiler evaluates: a value, or the reason for not having one.

use tandem_wire::{ErrorCode, Failure};

use super::diagnostics::{self, CSharpDiagnostic};
use crate::typed_value::TypedValue;

/// Outcome of an expression.
pub(crate) enum CompiledOutcome {
    Value(TypedValue),
    /// It was called for its effect.
    Nothing,
}

/// Reason for not having a value.
pub(crate) enum CompiledFailure {
    /// There is no compiler, or the program cannot load code.
    Unavailable(Unavailable),
    /// The compiler has rejected the expression with these errors.
    Diagnostics(Vec<CSharpDiagnostic>),
    /// The compiler's process does not compile it.
    Refused(Failure),
    /// It failed, or took too long.
    Failed(Failure),
}

impl From<Failure> for CompiledFailure {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl CompiledFailure {
    /// The failure that answers a request.
    pub(crate) fn into_failure(self, text: &str) -> Failure {
        match self {
            Self::Unavailable(why) => {
                why.explain(Failure::new(ErrorCode::EvaluationFailed, format!("`{text}` is not understood")))
            }
            Self::Diagnostics(diagnostics) => diagnostics::failure(text, &diagnostics),
            Self::Refused(failure) | Self::Failed(failure) => failure,
        }
    }
}

/// Why there is no compiler, for people.
#[derive(Debug, Clone)]
pub(crate) struct Unavailable {
    pub(crate) why: String,
    /// The remedy; `None` if there is none.
    pub(crate) hint: Option<&'static str>,
}

impl Unavailable {
    /// The reason is that no SDK can be used.
    pub(crate) fn sdk(why: String) -> Self {
        let hint =
            "install a .NET SDK, or name the folder of one in the launch attribute `expressionCompiler`";
        Self { why, hint: Some(hint) }
    }

    /// Refuses something that only a compiler understands.
    pub(crate) fn compiler_required(&self, what: &str) -> Failure {
        let message = format!("{what} needs the C# compiler of a .NET SDK: {}", self.why);
        let failure = Failure::new(ErrorCode::EvaluationFailed, message);
        match self.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }

    /// Adds to a failure the requirements of a compiler, which was missing.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        let message =
            format!("{}; the expression needs the C# compiler of a .NET SDK: {}", failure.message, self.why);
        let hints = self.hint.into_iter().chain(failure.hint.as_deref()).collect::<Vec<_>>().join("; ");
        let failure = Failure { message, hint: None, ..failure };
        if hints.is_empty() { failure } else { failure.hint(hints) }
    }
}
