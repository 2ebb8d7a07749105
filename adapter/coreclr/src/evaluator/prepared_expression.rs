//! Cache of parsed and bound expressions: conditions and watches are evaluated again at every stop. Evaluates
//! none ([`super::request`]).

use std::collections::HashMap;
use std::rc::Rc;

use tandem_csharp::bind::{BoundExpression, Effects, Meaning, Refusal, bind};
use tandem_csharp::syntax::{Span, parse};
use tandem_wire::Failure;
use tandem_wire::types::{self, ExpressionErrorData};

use super::evaluation::ExpressionEvaluation;
use crate::expression_binding::{
    AllowedEffects, BindContext, EvaluationRequest, PreparedExpression, ResolvedScope,
};
use crate::expression_syntax::{diagnostic_failure, units};
use crate::frame_numbers::FIRST_AWAITING_FRAME;
use crate::func_eval::EvalContext;
use crate::session::ClrSession;
use crate::stop_context::StopContext;
use crate::types::ClrTypeSystem;
use crate::types::Ty;
use crate::value_store::ValueStore;

/// Most cached expressions; beyond that all are dropped.
const MAX_KEPT: usize = 512;

/// Why an expression could not be bound.
pub(super) enum PrepareFailure {
    Failed(Failure),
    /// It is wrong, as far as Tandem knows.
    Wrong(Failure),
    /// Only the compiler can bind it.
    NeedsCompiler {
        what: String,
        span: Span,
    },
}

impl PrepareFailure {
    /// The same about the value of an assignment, which begins at byte `start` of its text.
    pub(super) fn in_assignment(self, assignment: &str, start: usize) -> Self {
        match self {
            Self::Failed(failure) => Self::Failed(failure),
            Self::Wrong(failure) => {
                Self::Wrong(with_columns(failure, |column| Some(column + units(assignment, start))))
            }
            Self::NeedsCompiler { what, span } => {
                Self::NeedsCompiler { what, span: Span { start: span.start + start, end: span.end + start } }
            }
        }
    }
}

impl From<Failure> for PrepareFailure {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl ClrSession {
    /// The cached expression of a context, or else a newly bound one in the scope that `resolve_scope`
    /// returns.
    pub(super) fn prepare(
        &mut self,
        request: EvaluationRequest<'_>,
        resolve_scope: &dyn Fn(&Self) -> Result<ResolvedScope, Failure>,
    ) -> Result<Rc<PreparedExpression>, PrepareFailure> {
        if let Some(place) = request.place
            && let Some(known) =
                self.program.values.prepared.borrow().get(request.text).and_then(|all| all.get(place))
        {
            return Ok(known.clone());
        }
        let sight = resolve_scope(self)?;
        let prepared = Rc::new(self.parse_and_bind(request, sight, None)?);
        if let Some(place) = request.place
            && prepared.sight.is_stop_independent()
        {
            let mut known = self.program.values.prepared.borrow_mut();
            if known.values().map(HashMap::len).sum::<usize>() >= MAX_KEPT {
                known.clear();
            }
            known.entry(request.text.to_owned()).or_default().insert(place.clone(), prepared.clone());
        }
        Ok(prepared)
    }

    /// Parses and binds an expression.
    pub(super) fn parse_and_bind(
        &mut self,
        request: EvaluationRequest<'_>,
        sight: ResolvedScope,
        expected: Option<&Ty>,
    ) -> Result<PreparedExpression, PrepareFailure> {
        let expr = parse(request.text)
            .map_err(|diagnostic| PrepareFailure::Wrong(diagnostic_failure(&diagnostic, request.text)))?;
        let evaluation = ExpressionEvaluation::new(self, request.site, &sight, Effects::None, request.about);
        let bound = bind(&expr, &sight.scope, expected, &evaluation);
        let prepared = with_meaning(bound, sight, request.text)?;
        Ok(PreparedExpression { is_primary: expr.is_primary(), ..prepared })
    }

    /// The static type of an expression, which does not run.
    pub(super) fn type_of(&mut self, text: &str, site: &EvalContext) -> Option<Ty> {
        let sight = self.at_stop().scope_at(site, text).ok()?;
        let allowed = AllowedEffects::Everything;
        let request = EvaluationRequest { text, site, allowed, place: None, about: None };
        match self.parse_and_bind(request, sight, None).ok()?.meaning {
            Meaning::Value(typed) => Some(typed.ty),
            _ => None,
        }
    }
}

impl StopContext<'_> {
    /// The context of a frame; `None` for a frame whose names are looked up each time.
    pub(super) fn place_of(&self, site: &EvalContext) -> Option<BindContext> {
        if site.frame >= FIRST_AWAITING_FRAME {
            return None;
        }
        let (loaded, method, il) = self.place_at(site.thread, site.frame)?;
        self.place_in(loaded.id, method, il, site)
    }

    /// The context, if its parts are known already.
    pub(super) fn place_in(
        &self,
        module: usize,
        method: u32,
        il: u32,
        site: &EvalContext,
    ) -> Option<BindContext> {
        let loaded = self.types.modules.by_id(module)?;
        let arguments = match loaded.image()?.metadata.is_in_generic(method) {
            true => self.code_at(site.thread, site.frame)?.2,
            false => Vec::new(),
        };
        Some(BindContext { modules: self.types.modules.count(), module, method, il, arguments, about: None })
    }
}

impl ClrTypeSystem {
    /// The context of expressions about objects of a type.
    pub(super) fn place_about(&self, ty: &Ty) -> BindContext {
        let about = Some(ty.clone());
        BindContext {
            modules: self.modules.count(),
            module: 0,
            method: 0,
            il: 0,
            arguments: Vec::new(),
            about,
        }
    }
}

impl ValueStore {
    /// Drops the binding of an expression in a context.
    pub(super) fn forget(&self, request: EvaluationRequest<'_>) {
        if let (Some(place), Some(all)) = (request.place, self.prepared.borrow_mut().get_mut(request.text)) {
            all.remove(place);
        }
    }
}

/// Pairs a binding with the scope that it was bound in.
pub(super) fn with_meaning(
    bound: Result<BoundExpression, Refusal>,
    sight: ResolvedScope,
    text: &str,
) -> Result<PreparedExpression, PrepareFailure> {
    let bound = bound.map_err(|refusal| match refusal {
        Refusal::Invalid(diagnostic) => PrepareFailure::Wrong(diagnostic_failure(&diagnostic, text)),
        Refusal::NeedsCompiler { what, span } => PrepareFailure::NeedsCompiler { what, span },
    })?;
    let (effect, has_lambda, is_replaced) = match &bound.meaning {
        Meaning::Value(typed) => {
            (typed.strongest_effect(), typed.has_lambda(), typed.ty.contains_anonymous())
        }
        _ => ((Effects::None, Span::default()), false, false),
    };
    Ok(PreparedExpression {
        sight: Rc::new(sight),
        meaning: bound.meaning,
        slots: bound.slots,
        effect,
        has_lambda,
        is_replaced,
        is_primary: false,
    })
}

/// A failure of an assignment whose value begins at byte `start` of its text: converts columns to those
/// in the client's text.
pub(super) fn in_value(failure: Failure, assignment: &str, start: usize) -> Failure {
    let before = units(assignment, start);
    with_columns(failure, |column| column.checked_sub(before).filter(|column| *column > 0))
}

/// A failure with other columns; those that cannot be converted stay.
fn with_columns(mut failure: Failure, other: impl Fn(usize) -> Option<usize>) -> Failure {
    if !failure.data.is_object() {
        return failure;
    }
    let mut data: ExpressionErrorData = types::read(&failure.data);
    if let Some((old, column)) = data.columns.column.and_then(|old| Some((old, other(old)?))) {
        // The compiler's message ends with this.
        let (old, new) = (format!("(column {old})"), format!("(column {column})"));
        failure.message = failure.message.replace(&old, &new);
    }
    let diagnostics = data.diagnostics.iter_mut().map(|diagnostic| &mut diagnostic.columns);
    for columns in diagnostics.chain([&mut data.columns]) {
        columns.column = columns.column.map(|column| other(column).unwrap_or(column));
        columns.end_column = columns.end_column.map(|column| other(column).unwrap_or(column));
    }
    failure.data(types::body(&data))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tandem_wire::ErrorCode;

    use super::*;

    #[test]
    fn columns_of_a_value_refer_to_the_text_of_the_client() {
        let text = "\u{1f600} = 1 + x";
        let diagnostic =
            json!({ "column": 10, "endColumn": 11, "diagnostics": [{ "column": 10, "endColumn": 11 }] });
        let failure = Failure::new(ErrorCode::EvaluationFailed, "CS0103: no x (column 10)").data(diagnostic);
        let located = in_value(failure, text, text.find('1').unwrap_or_default());
        assert_eq!(located.message, "CS0103: no x (column 5)");
        let place = json!({ "column": 5, "endColumn": 6 });
        assert_eq!(located.data, json!({ "column": 5, "endColumn": 6, "diagnostics": [place] }));
    }

    #[test]
    fn columns_of_the_target_stay_unchanged() {
        let place = json!({ "column": 1, "endColumn": 2 });
        let failure = Failure::new(ErrorCode::EvaluationFailed, "no x").data(place.clone());
        assert_eq!(in_value(failure, "x = 1", 4).data, place);
        let failure = Failure::new(ErrorCode::EvaluationFailed, "no data");
        assert_eq!(in_value(failure, "x = 1", 4).data, Value::Null);
    }
}
