//! Elements of containers in expressions, for an adapter that takes a subscript for a position, also in maps.
//!
//! Not here: how the adapter finds the element that the language means (`registry::lldb`).

use tandem_wire::types::{DapVariable, EvaluateArguments, EvaluateResponseBody};
use tandem_wire::{ErrorCode, Failure};
use tokio_util::sync::CancellationToken;

use super::super::profile::ConsoleProfile;
use super::{AdapterSession, console};

/// The expression that the adapter evaluates as the language means the one that a client sends.
///
/// # Errors
/// `EVALUATION_FAILED` with the reason why there is no such element.
pub(super) async fn find(
    session: &AdapterSession,
    asked: &EvaluateArguments,
    cancel: &CancellationToken,
) -> Result<String, Failure> {
    let expression = &asked.expression;
    let Some(console) = session.profile.console() else { return Ok(expression.clone()) };
    let prefix = console::prefix(session, console);
    let is_command = !prefix.is_empty() && expression.trim_start().starts_with(&prefix);
    let query = console.meaning_query(expression, session.is_rust()).filter(|_| !is_command);
    let Some(query) = query else { return Ok(expression.clone()) };
    let answer = console::run(session, console, &query, asked.frame_id, cancel).await.unwrap_or_default();
    console.expression_in(&answer, expression).map_err(|reason| {
        Failure::new(ErrorCode::EvaluationFailed, format!("cannot evaluate `{expression}`: {reason}")).quiet()
    })
}

/// The path of names and positions to the element that an expression names; `None` for other expressions.
///
/// # Errors
/// As [`find`].
pub(super) async fn path_of_element(
    session: &AdapterSession,
    asked: &EvaluateArguments,
    cancel: &CancellationToken,
) -> Result<Option<String>, Failure> {
    let is_found =
        |console: &dyn ConsoleProfile| console.meaning_query(&asked.expression, session.is_rust()).is_some();
    if !session.profile.console().is_some_and(is_found) {
        return Ok(None);
    }
    let path = find(session, asked, cancel).await?;
    let is_of_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '[' | ']');
    Ok(path.replace("->", ".").chars().all(is_of_path).then_some(path))
}

/// Remembers the expression of a value, for its rows.
pub(super) fn learn_value(
    session: &AdapterSession,
    (expression, frame): (Option<&str>, Option<i64>),
    value: &EvaluateResponseBody,
) {
    session.learn(|known| {
        known.scopes.learn_value(value.variables_reference, frame);
        known.elements.expressions.learn(value.variables_reference, expression, value.kind.as_deref());
    });
}

/// Gives the rows of a value their expressions.
pub(super) fn name_rows(session: &AdapterSession, reference: i64, rows: &mut [DapVariable]) {
    let Some(console) = session.profile.console() else { return };
    let parent = session.with_knowledge(|known| known.elements.expressions.of(reference));
    for row in rows.iter_mut() {
        if let Some((value, kind)) = &parent {
            row.evaluate_name = console.expression_of_row(row, value, kind);
        }
    }
    session.learn(|known| {
        let frame = known.scopes.frame_of_value(reference);
        for row in rows {
            known.scopes.learn_value(row.variables_reference, frame);
            let (expression, kind) = (row.evaluate_name.as_deref(), row.kind.as_deref());
            known.elements.expressions.learn(row.variables_reference, expression, kind);
        }
    });
}
