//! Hands expressions over to the C# compiler of an SDK: those that the binder marks, those with lambdas, and
//! those that Tandem does not understand. [`crate::compiled`] evaluates them.

use tandem_csharp::eval::NO_PLACE;
use tandem_csharp::syntax::{Span, parse};
use tandem_csharp::types::TupleNames;
use tandem_wire::{ErrorCode, Failure};

use super::method_calls::with_call_name;
use super::request::ExpressionResult;
use super::{Format, failed};
use crate::bare_value::bare;
use crate::compiler::{CSharpDiagnostic, CompiledFailure, CompiledOutcome};
use crate::debuggee::ClrDebuggee;
use crate::expression_binding::{AllowedEffects, EvaluationRequest, PreparedExpression};
use crate::expression_syntax::at;
use crate::func_eval::EvalContext;
use crate::session::ClrSession;
use crate::types::Ty;
use crate::value_path::{Path, UNREADABLE};
use crate::values::formatted_value::FormattedValue;

/// Compiler errors that say nothing about an expression: the program has no LINQ, or an older one, but the
/// debugger has it. Or two assemblies declare the same type: the one of the frame's assembly is meant, which
/// the compiler does not know.
const MISSING: [&str; 7] = ["CS1061", "CS1935", "CS0103", "CS0234", "CS0246", "CS0433", "CS0121"];

impl ClrSession {
    /// Whether the compiler may be asked: its code runs in the program, and is compiled for a frame.
    pub(super) fn may_compile(&self, request: EvaluationRequest<'_>) -> bool {
        request.allowed == AllowedEffects::Everything
            && request.site.runs
            && request.about.is_none()
            && !self.calls.is_look_only
    }

    /// The value of an expression that was compiled before; `None` if it was not.
    pub(super) fn evaluate_cached(
        &mut self,
        request: EvaluationRequest<'_>,
    ) -> Option<Result<ExpressionResult, Failure>> {
        let was = self.may_compile(request) && self.was_compiled(request.text, request.site);
        was.then(|| self.evaluate_by_compiler(request).map_err(|no| no.into_failure(request.text)))
    }

    /// Evaluates an expression that only the compiler understands.
    pub(super) fn evaluate_compiler_only(
        &mut self,
        what: &str,
        span: Span,
        request: EvaluationRequest<'_>,
    ) -> Result<ExpressionResult, Failure> {
        if !self.may_compile(request) {
            return Err(at(self.no_compiler(what, request), span, request.text));
        }
        self.evaluate_by_compiler(request).map_err(|no| match no {
            CompiledFailure::Unavailable(why) => at(why.compiler_required(what), span, request.text),
            no => no.into_failure(request.text),
        })
    }

    /// Lambdas mean to the compiler exactly what they mean in C#, and only the compiler can create objects of
    /// another anonymous type; `None` if the compiler cannot be asked, or knows less than Tandem.
    pub(super) fn prefer_compiler(
        &mut self,
        prepared: &PreparedExpression,
        request: EvaluationRequest<'_>,
    ) -> Option<Result<ExpressionResult, Failure>> {
        if !(prepared.has_lambda || prepared.is_replaced) || !self.may_compile(request) {
            return None;
        }
        match self.evaluate_by_compiler(request) {
            Ok(outcome) => Some(Ok(outcome)),
            // Nothing ran: Tandem evaluates lambdas that use `base`.
            Err(CompiledFailure::Unavailable(_) | CompiledFailure::Refused(_)) => None,
            Err(CompiledFailure::Diagnostics(diagnostics)) if diagnostics.iter().any(is_missing) => None,
            Err(no) => Some(Err(no.into_failure(request.text))),
        }
    }

    /// Asks the compiler about an expression that is wrong as far as Tandem knows.
    pub(super) fn recheck_by_compiler(
        &mut self,
        failure: Failure,
        request: EvaluationRequest<'_>,
    ) -> Result<ExpressionResult, Failure> {
        if !self.may_compile(request) {
            return Err(failure);
        }
        match self.evaluate_by_compiler(request) {
            Ok(outcome) => Ok(outcome),
            // A method that takes a lambda may be in an assembly that is not loaded yet.
            Err(CompiledFailure::Unavailable(why)) if request.text.contains("=>") => {
                Err(why.explain(failure))
            }
            Err(CompiledFailure::Unavailable(_)) => Err(failure),
            Err(no) => Err(no.into_failure(request.text)),
        }
    }

    /// Asks the compiler about an expression whose evaluation here failed; `before` says how often the
    /// program had run, and was written to, until then.
    pub(super) fn retry_by_compiler(
        &mut self,
        failure: Failure,
        prepared: &PreparedExpression,
        request: EvaluationRequest<'_>,
        before: (u64, u64),
    ) -> Result<ExpressionResult, Failure> {
        let has_changed =
            self.program.debuggee.end.is_noticed || self.program.debuggee.times_changed() != before;
        // Compiled code writes where Tandem refuses to, even beyond the end of a buffer.
        let may_be_written = !prepared.writes() || is_out_of_reach(&failure);
        if has_changed || !may_be_written || !is_not_understood(&failure) || !self.may_compile(request) {
            return Err(failure);
        }
        self.evaluate_by_compiler(request).map_err(|no| match no {
            CompiledFailure::Failed(other) if other.code == ErrorCode::Cancelled => other,
            CompiledFailure::Refused(refusal) => refusal,
            _ => failure,
        })
    }

    fn evaluate_by_compiler(
        &mut self,
        request: EvaluationRequest<'_>,
    ) -> Result<ExpressionResult, CompiledFailure> {
        Ok(match self.evaluate_compiled(request.text, request.site)? {
            CompiledOutcome::Value(val) => {
                let is_primary = parse(request.text).is_ok_and(|expr| expr.is_primary());
                let name = if is_primary { request.text.to_owned() } else { format!("({})", request.text) };
                ExpressionResult::Value(with_call_name(val, &name))
            }
            CompiledOutcome::Nothing => ExpressionResult::Nothing,
        })
    }

    /// Shows a tuple that replaces an anonymous object, without the compiler, as that object.
    pub(super) fn name_anonymous(
        &mut self,
        shown: &mut FormattedValue,
        (path, ty): (&Path, &Ty),
        format: &Format,
        site: &EvalContext,
    ) -> Result<(), Failure> {
        if !ty.replaces_anonymous() {
            return Ok(());
        }
        let value = bare(&self.at_stop().fetch(path)?);
        let elements = value.and_then(|value| self.program.types.tuple_elements(&value, ty));
        let names = ty.names().into_iter().flat_map(TupleNames::all).flatten();
        let mut members = Vec::new();
        for (name, steps) in names.zip(elements.unwrap_or_default()) {
            let inner = steps.into_iter().fold(path.clone(), |inner, step| inner.step(step, name.to_owned()));
            members.push(format!("{name} = {}", self.present(&inner, format, site)?.0.text));
        }
        shown.text = format!("{{ {} }}", members.join(", "));
        shown.kind = self.program.types.csharp(ty);
        Ok(())
    }

    /// Why the compiler is not asked.
    fn no_compiler(&self, what: &str, request: EvaluationRequest<'_>) -> Failure {
        let needs = format!("{what} needs the C# compiler, and what it compiles runs in the program");
        if self.calls.is_look_only {
            let why = "agents may only look (`agentAccess` is `readOnly`)";
            return Failure::new(ErrorCode::AccessDenied, format!("{needs}: {why}")).quiet();
        }
        match request.allowed {
            AllowedEffects::Hovering => failed(format!("{needs}, which hovering does not do"))
                .hint("evaluate it in the console or as a watch")
                .quiet(),
            AllowedEffects::NoSideEffects => {
                failed(format!("{needs}: no side effects are allowed (`allowSideEffects` is false)")).quiet()
            }
            AllowedEffects::Everything => failed(format!("{needs}, which is not done here")),
        }
    }
}

impl ClrDebuggee {
    /// How often the program was resumed, and written to.
    pub(super) fn times_changed(&self) -> (u64, u64) {
        (self.process().map_or(0, |process| process.resume_count()), self.times_written.get())
    }
}

/// Whether the program lacks a name of an expression.
fn is_missing(diagnostic: &CSharpDiagnostic) -> bool {
    MISSING.contains(&diagnostic.id.as_str())
}

/// Whether a compiler may understand an expression that failed here; an exception is the program's answer.
fn is_not_understood(failure: &Failure) -> bool {
    let is_thrown = ["Exception", "` threw "].iter().any(|word| failure.message.contains(word));
    failure.code == ErrorCode::EvaluationFailed && !is_thrown
}

/// Whether only code of the program can write there: the debugging library writes
/// references only to variables.
fn is_out_of_reach(failure: &Failure) -> bool {
    [NO_PLACE, UNREADABLE].iter().any(|words| failure.message.contains(words))
}
