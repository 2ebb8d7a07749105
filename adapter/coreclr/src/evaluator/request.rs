//! Expressions of clients: `evaluate`, assignments, conditions, log messages. Not rows ([`crate::values`]).

use std::time::Duration;

use serde_json::Value;
use tandem_csharp::bind::{Effects, Meaning, bind_assignment};
use tandem_csharp::eval::NO_PLACE;
use tandem_csharp::syntax::parse;
use tandem_wire::Failure;
use tandem_wire::types::{
    self, EvaluateArguments, EvaluateResponseBody, EvaluationEffects, VariablePresentationHint,
};

use super::evaluation::ExpressionEvaluation;
use super::expression_hints::with_hint;
use super::method_calls::with_call_name;
use super::prepared_expression::{PrepareFailure, in_value, with_meaning};
use super::shown_values::assign_shown;
use super::{Constant, Format, TypedValue, ValueLocation, failed};
use crate::expression_binding::{
    AllowedEffects, ClientTarget, EvaluationRequest, PreparedExpression, ResolvedScope,
};
use crate::expression_syntax::diagnostic_failure;
use crate::func_eval::{CALL_TIMEOUT, EvalContext};
use crate::memory;
use crate::session::ClrSession;
use crate::types::Ty;
use crate::value_path::Path;
use crate::value_store::Node;
use crate::values::UNNAMED;
use crate::values::variables::wants_hex;

/// Time limit of getters for a hover.
const HOVER_TIMEOUT: Duration = Duration::from_secs(2);

/// Result of an expression.
pub(super) enum ExpressionResult {
    Value(TypedValue),
    /// A call of a `void` method.
    Nothing,
    Type(Ty),
    Namespace(String),
}

impl ClrSession {
    pub(crate) fn evaluate(&mut self, arguments: &Value) -> Result<Value, Failure> {
        let (thread, frame) = self.at_stop().requested_frame(arguments)?;
        let EvaluationEffects { allow_side_effects } = types::read(arguments);
        let arguments: EvaluateArguments = types::read(arguments);
        let context = arguments.context.as_deref();
        let allowed = match () {
            () if context == Some("hover") => AllowedEffects::Hovering,
            () if allow_side_effects == Some(false) => AllowedEffects::NoSideEffects,
            () => AllowedEffects::Everything,
        };
        let limit = if allowed == AllowedEffects::Hovering { HOVER_TIMEOUT } else { CALL_TIMEOUT };
        let site = EvalContext { thread, frame, runs: true, limit };
        let (text, mut format) = Format::split(&arguments.expression);
        format.hex |= wants_hex(arguments.format.as_ref());
        format.copies = context == Some("clipboard");
        let found = self.outcome(text, &site, allowed)?;
        // Displays may call anything.
        let site = EvalContext { runs: allowed == AllowedEffects::Everything, ..site };
        self.result_body(found, &format, &site).map(|body| types::body(&body))
    }

    /// Evaluates an expression in a frame.
    fn outcome(
        &mut self,
        text: &str,
        site: &EvalContext,
        allowed: AllowedEffects,
    ) -> Result<ExpressionResult, Failure> {
        let (text, place) = (text.trim(), self.at_stop().place_of(site));
        let request = EvaluationRequest { text, site, allowed, place: place.as_ref(), about: None };
        let found = self.evaluate_request(request, &|session| session.at_stop().scope_at(site, text));
        found.map_err(|failure| with_hint(self.at_stop(), failure, text, site))
    }

    /// Evaluates an expression; `resolve_scope` finds the names in scope, if they are not cached.
    pub(super) fn evaluate_request(
        &mut self,
        request: EvaluationRequest<'_>,
        resolve_scope: &dyn Fn(&Self) -> Result<ResolvedScope, Failure>,
    ) -> Result<ExpressionResult, Failure> {
        if let Some(outcome) = self.evaluate_cached(request) {
            return outcome;
        }
        let mut again = false;
        loop {
            let prepared = match self.prepare(request, resolve_scope) {
                Ok(prepared) => prepared,
                Err(unprepared) => return self.evaluate_unprepared(unprepared, request),
            };
            if let Some(outcome) = self.prefer_compiler(&prepared, request) {
                return outcome;
            }
            let before = self.program.debuggee.times_changed();
            match self.run_prepared(&prepared, request) {
                Ok(Some(outcome)) => return Ok(outcome),
                Ok(None) if again => return Err(changing_failure()),
                // The type of an object differs from the one at binding.
                Ok(None) => self.program.values.forget(request),
                Err(failure) => return self.retry_by_compiler(failure, &prepared, request, before),
            }
            again = true;
        }
    }

    fn evaluate_unprepared(
        &mut self,
        unprepared: PrepareFailure,
        request: EvaluationRequest<'_>,
    ) -> Result<ExpressionResult, Failure> {
        match unprepared {
            PrepareFailure::Failed(failure) => Err(failure),
            PrepareFailure::Wrong(failure) => self.recheck_by_compiler(failure, request),
            PrepareFailure::NeedsCompiler { what, span } => self.evaluate_compiler_only(&what, span, request),
        }
    }

    /// Evaluates a bound expression; `None` if it must be bound again.
    fn run_prepared(
        &mut self,
        prepared: &PreparedExpression,
        request: EvaluationRequest<'_>,
    ) -> Result<Option<ExpressionResult>, Failure> {
        let typed = match &prepared.meaning {
            Meaning::Type(ty) => return Ok(Some(ExpressionResult::Type(ty.clone()))),
            Meaning::Namespace(name) => return Ok(Some(ExpressionResult::Namespace(name.clone()))),
            Meaning::Value(typed) => typed,
        };
        let effects = request.allowed.strongest(self.calls.is_look_only);
        if prepared.effect.0 > effects {
            let (effect, span) = prepared.effect;
            let part = request.text.get(span.start..span.end).unwrap_or(request.text);
            return Err(request.allowed.refusal(effect, part, self.calls.is_look_only));
        }
        let evaluation =
            ExpressionEvaluation::new(self, request.site, &prepared.sight, effects, request.about);
        let value = tandem_csharp::eval::evaluate(typed, prepared.slots, request.text, &evaluation);
        let is_stale = evaluation.is_stale();
        if is_stale {
            return Ok(None);
        }
        Ok(Some(match value? {
            Some(val) => {
                let text = request.text;
                let name = if prepared.is_primary { text.to_owned() } else { format!("({text})") };
                let val = match effects >= Effects::Calls {
                    true => self.copy_if_in_memory(&val, request.site)?,
                    false => self.at_stop().read_if_in_memory(&val)?,
                };
                ExpressionResult::Value(with_call_name(val, &name))
            }
            None => ExpressionResult::Nothing,
        }))
    }

    fn result_body(
        &mut self,
        found: ExpressionResult,
        format: &Format,
        site: &EvalContext,
    ) -> Result<EvaluateResponseBody, Failure> {
        let val = match found {
            ExpressionResult::Value(val) => val,
            ExpressionResult::Nothing => {
                let kind = Some("void".to_owned());
                return Ok(EvaluateResponseBody { kind, ..EvaluateResponseBody::default() });
            }
            ExpressionResult::Type(ty) => return Ok(self.type_body(&ty)),
            ExpressionResult::Namespace(name) => return Err(failed(format!("`{name}` is a namespace"))),
        };
        match val.data {
            ValueLocation::Constant(constant) => {
                let shown = self.program.types.show_constant(&constant, &val.ty, format);
                let memory_reference = match (constant, &val.ty) {
                    (Constant::Int(_, address), Ty::Pointer(_)) => {
                        u64::try_from(address).ok().filter(|address| *address != 0).map(memory::reference)
                    }
                    _ => None,
                };
                let (result, kind) = (shown.text, Some(shown.kind));
                Ok(EvaluateResponseBody { result, kind, memory_reference, ..EvaluateResponseBody::default() })
            }
            ValueLocation::At(path) => {
                let tuple = self.program.types.names_in(&val.ty).or(path.tuple.clone());
                let path = Path { tuple, ..path };
                let (mut shown, details) = self.present(&path, format, site)?;
                // `a?.b` may be null even if the type of `b` is not nullable.
                if self
                    .program
                    .types
                    .nullable(&val.ty)
                    .is_some_and(|inner| self.program.types.csharp(&inner) == shown.kind)
                {
                    shown.kind = self.program.types.csharp(&val.ty);
                }
                self.name_anonymous(&mut shown, (&path, &val.ty), format, site)?;
                let (variables_reference, indexed_variables) =
                    self.program.values.open(&shown, &path, format);
                Ok(EvaluateResponseBody {
                    result: shown.text,
                    kind: Some(shown.kind),
                    variables_reference,
                    indexed_variables,
                    presentation_hint: details.presentation_hint(),
                    memory_reference: details.memory_reference,
                    ..EvaluateResponseBody::default()
                })
            }
        }
    }

    /// A type alone opens to its static members.
    fn type_body(&mut self, ty: &Ty) -> EvaluateResponseBody {
        let kind = Some("class".to_owned());
        EvaluateResponseBody {
            result: self.program.types.csharp(ty),
            kind: Some("System.Type".to_owned()),
            variables_reference: self.program.values.references.add(Node::statics(ty.clone())),
            presentation_hint: Some(VariablePresentationHint { kind, ..VariablePresentationHint::default() }),
            ..EvaluateResponseBody::default()
        }
    }

    /// For log messages: strings without quotes.
    pub(crate) fn evaluate_to_text(&mut self, text: &str, thread: u32) -> Result<String, Failure> {
        let site = EvalContext { thread, frame: 0, runs: true, limit: CALL_TIMEOUT };
        let (text, format) = Format::split(text);
        let kept = self.program.values.references.count_kept();
        let result = self.evaluate_text(text, &format, &site);
        // A log point in a loop must not accumulate objects in the program.
        self.program.values.references.release_from(kept);
        result
    }

    fn evaluate_text(&mut self, text: &str, format: &Format, site: &EvalContext) -> Result<String, Failure> {
        let found = self.outcome(text, site, AllowedEffects::Everything)?;
        if let ExpressionResult::Value(val) = &found
            && let Some(Constant::Text(text)) = self.at_stop().load(val)?
        {
            return Ok(text);
        }
        self.result_body(found, format, site).map(|body| body.result)
    }

    /// Evaluates a condition of breakpoints, which are at this method and offset.
    pub(crate) fn condition_holds(
        &mut self,
        text: &str,
        thread: u32,
        at: (usize, u32, Option<u32>),
    ) -> Result<bool, Failure> {
        let site = EvalContext { thread, frame: 0, runs: true, limit: CALL_TIMEOUT };
        let (module, method, il) = at;
        let place = match il {
            Some(il) => self.at_stop().place_in(module, method, il, &site),
            None => self.at_stop().place_of(&site),
        };
        let kept = self.program.values.references.count_kept();
        let text = text.trim();
        let request = EvaluationRequest {
            text,
            site: &site,
            allowed: AllowedEffects::Everything,
            place: place.as_ref(),
            about: None,
        };
        let found = self.evaluate_request(request, &|session| session.at_stop().scope_at(&site, text));
        let constant = match found {
            Ok(ExpressionResult::Value(val)) => self.at_stop().load(&val),
            Ok(_) => Ok(None),
            Err(failure) => Err(failure),
        };
        self.program.values.references.release_from(kept);
        match constant? {
            Some(Constant::Bool(holds)) => Ok(holds),
            Some(other) => Err(failed(format!("it is {}, not true or false", other.invariant_text()))),
            None => Err(failed("it is not true or false")),
        }
    }

    /// Assigns a value that may be in the form of a row.
    pub(crate) fn assign_shown(
        &mut self,
        target: ClientTarget<'_>,
        new: &str,
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let assign = |session: &mut Self, new: &str| match target {
            ClientTarget::Place(place) => session.assign(place, new, site),
            ClientTarget::Expression(text) => session.assign_expression(text, new, site),
        };
        assign_shown(self, new, assign, |session| match target {
            ClientTarget::Place(place) => Some(place.ty.clone()),
            ClientTarget::Expression(text) => session.type_of(text.trim(), site),
        })
    }

    /// Assigns the value of one expression to another.
    fn assign_expression(
        &mut self,
        target: &str,
        new: &str,
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let (target, new) = (target.trim(), new.trim());
        // As one text, so that messages can refer to both parts.
        let text = format!("{target} = {new}");
        let start = text.len() - new.len();
        let assigned = self.run_assignment(&text, target, start, site);
        assigned.map_err(|failure| in_value(failure, &text, start))
    }

    /// Runs `text`, an assignment to `target` whose value begins at `start`.
    fn run_assignment(
        &mut self,
        text: &str,
        target: &str,
        start: usize,
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let behind = format!("{}{}", " ".repeat(start), text.get(start..).unwrap_or_default());
        let to = parse(target).map_err(|diagnostic| diagnostic_failure(&diagnostic, target))?;
        let value = parse(&behind).map_err(|diagnostic| diagnostic_failure(&diagnostic, text))?;
        let sight = self.at_stop().scope_at(site, text)?;
        let evaluation = ExpressionEvaluation::new(self, site, &sight, Effects::None, None);
        let bound = bind_assignment(&to, &value, &sight.scope, &evaluation);
        let prepared = with_meaning(bound, sight, text);
        self.evaluate_prepared(prepared, everything(text, site))
    }

    /// Writes the value of an expression to a place.
    fn assign(&mut self, place: &TypedValue, new: &str, site: &EvalContext) -> Result<TypedValue, Failure> {
        let new = new.trim();
        let sight = self.at_stop().scope_at(site, new)?;
        let expected = if matches!(place.ty, Ty::Other | Ty::Null) { None } else { Some(&place.ty) };
        let request = everything(new, site);
        let prepared = self.parse_and_bind(request, sight, expected);
        let path = place.path().cloned();
        let path = path.ok_or_else(|| failed(format!("this {NO_PLACE}")))?;
        let prepared = match prepared {
            // An expression that may take the type of its target is compiled as an assignment.
            Err(unprepared) if !path.name.contains(UNNAMED) => {
                let assignment = format!("{} = {new}", path.name);
                let start = assignment.len() - new.len();
                let unprepared = unprepared.in_assignment(&assignment, start);
                let value = self.evaluate_prepared(Err(unprepared), everything(&assignment, site));
                return value.map_err(|failure| in_value(failure, &assignment, start));
            }
            prepared => prepared,
        };
        let val = self.evaluate_prepared(prepared, request)?;
        let ty = if expected.is_some() { place.ty.clone() } else { val.ty.clone() };
        self.store(&path, &val, &ty, site)
    }

    fn evaluate_prepared(
        &mut self,
        prepared: Result<PreparedExpression, PrepareFailure>,
        request: EvaluationRequest<'_>,
    ) -> Result<TypedValue, Failure> {
        let outcome = match prepared {
            Ok(prepared) => {
                let before = self.program.debuggee.times_changed();
                match self.run_prepared(&prepared, request) {
                    Err(failure) => Some(self.retry_by_compiler(failure, &prepared, request, before)?),
                    Ok(outcome) => outcome,
                }
            }
            Err(unprepared) => Some(self.evaluate_unprepared(unprepared, request)?),
        };
        match outcome {
            Some(ExpressionResult::Value(val)) => Ok(val),
            Some(_) => Err(failed(format!("`{}` has no value", request.text))),
            None => Err(changing_failure()),
        }
    }

    /// The value of an expression.
    pub(crate) fn value_of(&mut self, text: &str, site: &EvalContext) -> Result<TypedValue, Failure> {
        match self.outcome(text, site, AllowedEffects::Everything)? {
            ExpressionResult::Value(val) => Ok(val),
            _ => Err(failed(format!("`{}` has no value", text.trim()))),
        }
    }
}

fn changing_failure() -> Failure {
    failed("the objects it is about change while it is evaluated")
}

fn everything<'a>(text: &'a str, site: &'a EvalContext) -> EvaluationRequest<'a> {
    EvaluationRequest { text, site, allowed: AllowedEffects::Everything, place: None, about: None }
}
