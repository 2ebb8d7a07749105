//! Assignments to elements of containers, for an adapter that names each by a path of positions. It may show
//! a copy of an element, and would set only that one.
//!
//! Not here: other assignments ([`super::assigning`]), and how the path is found ([`super::subscripts`]).

use serde::Deserialize;
use serde_json::Value;
use tandem_wire::types::{self, DapVariable, EvaluateArguments, EvaluateResponseBody, SetVariableArguments};
use tandem_wire::{ErrorCode, Failure};
use tokio_util::sync::CancellationToken;

use super::assignment::{ExpressionToSet, FrameToRead, as_set_expression_answer, parent_and_name};
use super::{AdapterSession, console, subscripts};

/// The arguments of `setVariable` for an element of a container, which the program may have no code to
/// find; `None` for other expressions.
///
/// # Errors
/// `EVALUATION_FAILED` if there is no such element.
pub(super) async fn row_of(
    session: &AdapterSession,
    assignment: &ExpressionToSet,
    cancel: &CancellationToken,
) -> Result<Option<Value>, Failure> {
    let ExpressionToSet { expression, value, frame_id } = assignment;
    let evaluation: EvaluateArguments = types::read(&assignment.evaluation(expression.clone()));
    let Some(meant) = subscripts::path_of_element(session, &evaluation, cancel).await? else {
        return Ok(None);
    };
    let Some((parent, name)) = parent_and_name(&meant).filter(|(parent, _)| !parent.is_empty()) else {
        return Ok(None);
    };
    let of = session.ask("evaluate", assignment.evaluation(parent.to_owned()), cancel).await?;
    let EvaluateResponseBody { variables_reference, kind, .. } = types::read(&of);
    if kind.is_some_and(|kind| session.profile.copies_elements_of(&kind)) {
        return Ok(None);
    }
    let (name, value) = (name.to_owned(), value.clone());
    let row = SetVariableArguments { variables_reference, name, value, ..SetVariableArguments::default() };
    let mut row = types::body(&row);
    types::extend(&mut row, &FrameToRead { frame_id: *frame_id });
    Ok(Some(row))
}

/// Whether the element of a container that a row shows has another value than the one that was
/// assigned: the adapter may have changed a copy.
pub(super) async fn is_unchanged(
    session: &AdapterSession,
    assignment: &ExpressionToSet,
    row: &SetVariableArguments,
    answer: &Value,
    cancel: &CancellationToken,
) -> bool {
    let of_value = session.with_knowledge(|known| known.elements.expressions.of(row.variables_reference));
    let (Some(console), Some((value, kind))) = (session.profile.console(), of_value) else { return false };
    let name = row.name.clone();
    let shown = DapVariable { name, ..DapVariable::default() };
    let expression = console.expression_of_row(&shown, &value, &kind);
    let Some(expression) = expression.filter(|_| assignment.frame_id.is_some()) else { return false };
    let Ok(read) = session.ask_native("evaluate", assignment.evaluation(expression), cancel).await else {
        return false;
    };
    differs(&as_set_expression_answer(read), answer)
}

/// Refuses an assignment to a row that is a copy of what the program has.
pub(super) async fn check(
    session: &AdapterSession,
    row: &SetVariableArguments,
    cancel: &CancellationToken,
) -> Result<(), Failure> {
    let reference = row.variables_reference;
    let (parent, frame) = session.with_knowledge(|known| {
        (known.elements.expressions.of(reference), known.scopes.frame_of_value(reference))
    });
    let Some((expression, kind)) = parent else { return Ok(()) };
    if session.profile.copies_elements_of(&kind) {
        let message = format!(
            "cannot assign to `{}` of `{expression}`: the debug adapter of `{}` has only a copy of it",
            row.name,
            session.profile.name()
        );
        return Err(Failure::new(ErrorCode::Unsupported, message)
            .hint(format!("evaluate an assignment instead, such as `{expression}{} = value`", row.name))
            .quiet());
    }
    let Some(console) = session.profile.console().filter(|_| frame.is_some()) else { return Ok(()) };
    let shown = DapVariable { name: row.name.clone(), ..DapVariable::default() };
    let Some(path) = console.expression_of_row(&shown, &expression, &kind) else { return Ok(()) };
    let answer = console::run(session, console, &console.copy_query(&path), frame, cancel).await;
    if answer.is_ok_and(|answer| console.is_copy(&answer)) {
        return Err(only_copied(&row.name, session.profile.name()));
    }
    Ok(())
}

/// The answer to an assignment (DAP), as far as it has a value.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AssignedValue {
    value: String,
}

/// Whether two answers have different numbers.
pub(super) fn differs(read: &Value, assigned: &Value) -> bool {
    let number = |answer: &Value| types::read::<AssignedValue>(answer).value.trim().parse::<f64>().ok();
    let both = number(read).zip(number(assigned));
    both.is_some_and(|(read, assigned)| (read - assigned).abs() > 0.0)
}

/// The failure of an assignment that has changed only what the adapter shows.
pub(super) fn only_copied(name: &str, adapter: &str) -> Failure {
    let message = format!(
        "cannot assign to `{name}`: the debug adapter of `{adapter}` has only a copy of it, and the value in \
         the program is the same as before"
    );
    Failure::new(ErrorCode::EvaluationFailed, message).quiet()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assignment_that_changed_only_a_copy_is_found_by_numbers() {
        let value = |text: &str| Value::from_iter([("value", text)]);
        assert!(differs(&value("20"), &value("44")));
        assert!(!differs(&value("1.5"), &value("1.50")));
        assert!(!differs(&value("{…}"), &value("44")));
    }
}
