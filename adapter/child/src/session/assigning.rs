//! Assigning to variables. The value may be any expression, also one that calls the program. Some adapters
//! answer with success, and the old value, when it cannot be evaluated, and others take only literals: there
//! it is evaluated first, once, and the result is assigned. An assignment to an expression has a substitute
//! where the adapter offers none.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::types::{self, EvaluateResponseBody, SetVariableArguments, VariablesResponseBody};
use tandem_wire::{ErrorCode, Failure};
use tokio_util::sync::CancellationToken;

use super::super::profile::{ExpressionAssignment, KeptValue};
use super::super::translate;
use super::AdapterSession;
use super::assigned_elements::{self, differs, only_copied};
use super::assignment::{ExpressionToSet, as_set_expression_answer, parent_and_name};

/// Rows among which an assigned one is searched for.
const MAX_SEARCHED_ROWS: usize = 1000;

/// The argument of an assignment that is replaced.
#[derive(Debug, Serialize)]
struct NewValue<'text> {
    value: &'text str,
}

/// The answer to `scopes` (DAP), as far as an assignment needs it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ScopesBody {
    scopes: Vec<ScopeReference>,
}

/// A scope of [`ScopesBody`].
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ScopeReference {
    variables_reference: i64,
}

impl AdapterSession {
    /// Answers `setVariable` and `setExpression`.
    ///
    /// # Errors
    /// The adapter's own; `EVALUATION_FAILED` with the reason why the value cannot be evaluated.
    pub(super) async fn assign(
        self: &Arc<Self>,
        command: &str,
        mut arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        self.check_frame(&arguments)?;
        let mut assignment: ExpressionToSet = types::read(&arguments);
        let row: SetVariableArguments = types::read(&arguments);
        if command == "setVariable" {
            assigned_elements::check(self, &row, cancel).await?;
        }
        let kept = self.profile.kept_value(&assignment.value);
        let of_scope = || self.with_knowledge(|known| known.scopes.frame_of(row.variables_reference));
        assignment.frame_id = assignment.frame_id.or_else(of_scope);
        self.check_string(&assignment.value, assignment.frame_id, cancel).await?;
        if self.profile.assigns_value_of(&assignment.value) {
            if assignment.frame_id.is_none() {
                return Err(only_literals(&assignment.value));
            }
            let evaluation = assignment.evaluation(assignment.value.clone());
            let EvaluateResponseBody { result, .. } =
                types::read(&self.ask("evaluate", evaluation, cancel).await?);
            types::extend(&mut arguments, &NewValue { value: &result });
        } else if let (Some(kept), Some(_)) = (kept, assignment.frame_id) {
            self.ask("evaluate", assignment.evaluation(kept.keep.clone()), cancel).await?;
            types::extend(&mut arguments, &NewValue { value: kept.expression });
            let is_local = command == "setVariable" && of_scope().is_some();
            return match self.ask(command, arguments, cancel).await {
                Err(failure) if is_local => {
                    let read = self.read_if_assigned(&assignment, &row.name, &kept, cancel).await;
                    read.ok_or(failure)
                }
                answer => Ok(translate::as_set_variable_answer(answer?)),
            };
        }
        let answer = translate::as_set_variable_answer(self.ask(command, arguments, cancel).await?);
        if command == "setVariable"
            && assigned_elements::is_unchanged(self, &assignment, &row, &answer, cancel).await
        {
            return Err(only_copied(&row.name, self.profile.name()));
        }
        if command == "setVariable" && self.assigns_in_top_frame_only() {
            return Ok(self.read_row(&row, assignment.frame_id, cancel).await.unwrap_or(answer));
        }
        Ok(answer)
    }

    /// The answer to an assignment to a row, for an adapter that repeats the text that was to be assigned;
    /// `None` if the row has no expression, or it cannot be read.
    async fn read_row(
        &self,
        row: &SetVariableArguments,
        frame_id: Option<i64>,
        cancel: &CancellationToken,
    ) -> Option<Value> {
        let rows = types::first_children(row.variables_reference, MAX_SEARCHED_ROWS);
        let rows = self.ask("variables", rows, cancel).await.ok()?;
        let rows: VariablesResponseBody = types::read(&rows);
        let found = rows.variables.into_iter().find(|found| found.name == row.name)?;
        let expression = found.evaluate_name.filter(|name| !name.is_empty())?;
        // Its rows keep the values of the stop.
        let evaluation = ExpressionToSet { frame_id, ..ExpressionToSet::default() }.evaluation(expression);
        Some(as_set_expression_answer(self.ask("evaluate", evaluation, cancel).await.ok()?))
    }

    /// The value of a local variable if it is the one that was to be assigned, for an adapter that reports a
    /// failure of what it has done.
    async fn read_if_assigned(
        self: &Arc<Self>,
        assignment: &ExpressionToSet,
        name: &str,
        kept: &KeptValue,
        cancel: &CancellationToken,
    ) -> Option<Value> {
        let (question, yes) = kept.is_assigned_to(name);
        let answer = self.ask("evaluate", assignment.evaluation(question), cancel).await.ok()?;
        let EvaluateResponseBody { result, .. } = types::read(&answer);
        if result != yes {
            return None;
        }
        let value = assignment.evaluation(name.to_owned());
        Some(translate::as_set_variable_answer(self.ask("evaluate", value, cancel).await.ok()?))
    }

    /// Answers `setExpression` for an adapter that does not offer it.
    ///
    /// # Errors
    /// As [`Self::assign`].
    pub(super) async fn assign_to_expression(
        self: &Arc<Self>,
        way: ExpressionAssignment,
        mut arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        self.check_frame(&arguments)?;
        self.profile.adapt_request("setExpression", &mut arguments);
        let assignment: ExpressionToSet = types::read(&arguments);
        let ExpressionToSet { expression, value, .. } = &assignment;
        self.check_string(value, assignment.frame_id, cancel).await?;
        if let Some(row) = assigned_elements::row_of(self, &assignment, cancel).await? {
            let answer = Box::pin(self.assign("setVariable", row, cancel)).await?;
            let evaluation = assignment.evaluation(expression.clone());
            let Ok(read) = self.read_value(evaluation, cancel).await else { return Ok(answer) };
            let read = as_set_expression_answer(read);
            return if differs(&read, &answer) {
                Err(only_copied(expression, self.profile.name()))
            } else {
                Ok(read)
            };
        }
        match way {
            ExpressionAssignment::Evaluated => {
                let evaluation = assignment.evaluation(format!("({expression}) = ({value})"));
                if may_have_effects(expression) {
                    return Ok(as_set_expression_answer(self.read_value(evaluation, cancel).await?));
                }
                self.ask("evaluate", evaluation, cancel).await?;
            }
            ExpressionAssignment::RowOfTopFrame => {
                let row = self.row_of(&assignment, cancel).await?;
                self.ask("setVariable", types::body(&row), cancel).await?;
            }
        }
        // The answer to an assignment may have another form than the variable.
        let evaluation = assignment.evaluation(expression.clone());
        Ok(as_set_expression_answer(self.read_value(evaluation, cancel).await?))
    }

    pub(super) async fn read_value(
        &self,
        evaluation: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        match self.profile.is_native() {
            true => self.ask_native("evaluate", evaluation, cancel).await,
            false => self.ask("evaluate", evaluation, cancel).await,
        }
    }

    /// Refuses a string whose assignment would crash the adapter.
    async fn check_string(
        self: &Arc<Self>,
        value: &str,
        frame_id: Option<i64>,
        cancel: &CancellationToken,
    ) -> Result<(), Failure> {
        let Some(version) = self.profile.version_of_language(value) else { return Ok(()) };
        // A value that cannot be evaluated is the adapter's to refuse.
        let mut results = Vec::new();
        for expression in [value, version] {
            let assignment = ExpressionToSet { frame_id, ..ExpressionToSet::default() };
            let evaluation = assignment.evaluation(expression.to_owned());
            let Ok(answer) = self.ask("evaluate", evaluation, cancel).await else { return Ok(()) };
            let EvaluateResponseBody { result, .. } = types::read(&answer);
            if !result.starts_with('"') {
                return Ok(());
            }
            results.push(result);
        }
        let Some(target) = self.live().as_ref().map(|live| live.target.clone()) else { return Ok(()) };
        let session = self.clone();
        let adapter = tokio::task::spawn_blocking(move || session.profile.version(&target)).await;
        let versions = adapter.ok().flatten().zip(results.pop());
        let refusal =
            versions.and_then(|(adapter, program)| self.profile.refusal_of_string(&adapter, &program));
        refusal.map_or(Ok(()), |refusal| Err(refusal.quiet()))
    }

    /// The row that the expression of an assignment means.
    ///
    /// # Errors
    /// `UNSUPPORTED` for anything but names, members and elements; the adapter's own.
    async fn row_of(
        self: &Arc<Self>,
        assignment: &ExpressionToSet,
        cancel: &CancellationToken,
    ) -> Result<SetVariableArguments, Failure> {
        let ExpressionToSet { expression, value, .. } = assignment;
        let Some((parent, name)) = parent_and_name(expression) else {
            let message = format!(
                "cannot assign to `{expression}`: the debug adapter of `{}` assigns to names, members and \
                 elements only",
                self.profile.name()
            );
            return Err(
                Failure::new(ErrorCode::Unsupported, message).hint("name a variable, such as `a.b[1]`")
            );
        };
        let variables_reference = if parent.is_empty() {
            let scopes = self.ask("scopes", assignment.scopes(), cancel).await?;
            types::read::<ScopesBody>(&scopes).scopes.first().map_or(0, |scope| scope.variables_reference)
        } else {
            let evaluation = assignment.evaluation(parent.to_owned());
            let mut of: EvaluateResponseBody = types::read(&self.ask("evaluate", evaluation, cancel).await?);
            // The only row of a pointer is its target.
            if of.kind.is_some_and(|kind| kind.starts_with('*')) {
                let evaluation = assignment.evaluation(format!("*({parent})"));
                of = types::read(&self.ask("evaluate", evaluation, cancel).await?);
            }
            of.variables_reference
        };
        let (name, value) = (name.to_owned(), value.clone());
        Ok(SetVariableArguments { variables_reference, name, value, ..SetVariableArguments::default() })
    }

    /// Whether the adapter looks for a variable in the top frame of the thread that stopped.
    pub(super) fn assigns_in_top_frame_only(&self) -> bool {
        self.profile.expression_assignment() == Some(ExpressionAssignment::RowOfTopFrame)
    }

    /// Refuses an assignment in a frame in which the adapter would not look for the variable.
    fn check_frame(&self, arguments: &Value) -> Result<(), Failure> {
        if !self.assigns_in_top_frame_only()
            || !self.with_knowledge(|known| known.lower_frames.have(arguments))
        {
            return Ok(());
        }
        let message = format!(
            "cannot assign in this frame: the debug adapter of `{}` assigns only in the top frame of the \
             thread that stopped",
            self.profile.name()
        );
        Err(Failure::new(ErrorCode::Unsupported, message)
            .hint("step out until this frame is the top one, and assign there")
            .quiet())
    }
}

/// Whether the program may change when this expression of C, C++ or Perl is evaluated: it has an increment,
/// an assignment or a call. A second evaluation for the answer would then change the program again.
fn may_have_effects(expression: &str) -> bool {
    let calls = |at: usize| {
        let before = expression.get(..at).unwrap_or_default().trim_end();
        before.ends_with(|last: char| last.is_alphanumeric() || matches!(last, '_' | ')' | ']' | '>'))
    };
    expression.contains("++")
        || expression.contains("--")
        || expression.contains('=')
        || expression.match_indices('(').any(|(at, _)| calls(at))
}

/// The refusal of an expression for a member of an object, whose frame is not known.
fn only_literals(expression: &str) -> Failure {
    let message = format!("cannot assign `{expression}` to this row: the debug adapter takes only literals");
    Failure::new(ErrorCode::EvaluationFailed, message)
        .hint("evaluate an assignment instead, such as `object.member = value`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_increment_an_assignment_or_a_call_has_effects() {
        for expression in
            ["a[i++]", "*--p", "a[i = 1]", "a[i += 1]", "a[next()]", "at (1)", "f<int>(2)", "(*f)(1)"]
        {
            assert!(may_have_effects(expression), "{expression}");
        }
        for expression in
            ["a[i]", "point.x", "*p", "(*p).x", "a[(i)]", "this->at[-1]", "a[i - -1]", "*(char *)p"]
        {
            assert!(!may_have_effects(expression), "{expression}");
        }
    }
}
