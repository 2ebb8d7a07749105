//! Values by their paths: an evaluation, or a walk from row to row. Not here: the paths of rows
//! ([`super::row_path`]), reading rows for answers ([`super::values`]).

use tandem_wire::types::{DapVariable, EvaluateArguments, EvaluateResponseBody};
use tandem_wire::{ErrorCode, Failure};
use tokio_util::sync::CancellationToken;

use super::frames::scope;
use super::row_path::ARROW;
use super::values::children;
use crate::session::{AgentSession, REQUEST_TIMEOUT};

/// Rows of one request while a row is searched for.
const SEARCH_PAGE: u64 = 1000;
/// Maximum number of rows of one value among which a row is searched for.
const MAX_SEARCHED_ROWS: u64 = 10_000;

/// A path that leads through rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PathOfRows<'text> {
    /// The expression in front of the first arrow; empty for the scope.
    start: &'text str,
    /// The names of the rows, with arrows between them.
    names: &'text str,
}

/// A row, and the value among whose rows it is.
#[derive(Debug)]
pub(super) struct LocatedRow {
    /// The reference of the value.
    pub(super) parent: i64,
    pub(super) row: DapVariable,
}

impl<'text> PathOfRows<'text> {
    /// Splits a path at its first arrow outside of a string; `None` for an expression.
    pub(super) fn parse(path: &'text str) -> Option<Self> {
        let is_outside = |(at, _): &(usize, &str)| {
            let before = path.get(..*at).unwrap_or_default();
            ['"', '\''].iter().all(|quote| before.matches(*quote).count() % 2 == 0)
        };
        let (at, _) = path.match_indices(ARROW).find(is_outside)?;
        let (start, names) = (path.get(..at)?.trim(), path.get(at + ARROW.len()..)?.trim());
        (!names.is_empty()).then_some(Self { start, names })
    }

    /// Finds the row that the path names.
    ///
    /// # Errors
    /// `NOT_FOUND` with the name that no row has; the error that the engine responds with.
    pub(super) async fn locate(
        self,
        session: &AgentSession,
        frame: Option<i64>,
        scope_name: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<LocatedRow, Failure> {
        let mut references = match self.start {
            "" => scope(scope_name, session, frame).await?,
            start => vec![evaluate(session, frame, start, cancel).await?.variables_reference],
        };
        let mut names = self.names;
        loop {
            let (found, rest) = find_row(session, &references, names).await?.ok_or_else(|| {
                let (name, _) = names.split_once(ARROW).unwrap_or((names, ""));
                Failure::new(ErrorCode::NotFound, format!("no row here is named `{}`", name.trim()))
                    .hint("debug_variables lists the rows; a row may have another name at another stop")
            })?;
            if rest.is_empty() {
                return Ok(found);
            }
            (references, names) = (vec![found.row.variables_reference], rest);
        }
    }
}

/// Evaluates an expression in a frame.
///
/// # Errors
/// The error that the engine responds with.
pub(super) async fn evaluate(
    session: &AgentSession,
    frame: Option<i64>,
    expression: &str,
    cancel: &CancellationToken,
) -> Result<EvaluateResponseBody, Failure> {
    session.send_or_cancel(&watch(frame, expression), REQUEST_TIMEOUT, cancel).await
}

/// The request for the value of an expression in a frame.
pub(super) fn watch(frame: Option<i64>, expression: &str) -> EvaluateArguments {
    EvaluateArguments {
        expression: expression.to_owned(),
        frame_id: frame,
        context: Some("watch".to_owned()),
        ..EvaluateArguments::default()
    }
}

/// Evaluates an expression, or finds a row by its path.
///
/// # Errors
/// As [`PathOfRows::locate`].
pub(super) async fn value_at(
    session: &AgentSession,
    frame: Option<i64>,
    scope_name: Option<&str>,
    path: &str,
    cancel: &CancellationToken,
) -> Result<EvaluateResponseBody, Failure> {
    let Some(rows) = PathOfRows::parse(path) else { return evaluate(session, frame, path, cancel).await };
    Ok(as_evaluation(rows.locate(session, frame, scope_name, cancel).await?.row))
}

/// A row as the answer to the evaluation of its path.
pub(super) fn as_evaluation(row: DapVariable) -> EvaluateResponseBody {
    EvaluateResponseBody {
        result: row.value,
        kind: row.kind,
        variables_reference: row.variables_reference,
        indexed_variables: row.indexed_variables,
        ..EvaluateResponseBody::default()
    }
}

/// The row with which `names` begins, and the names after it.
async fn find_row<'names>(
    session: &AgentSession,
    references: &[i64],
    names: &'names str,
) -> Result<Option<(LocatedRow, &'names str)>, Failure> {
    for reference in references.iter().copied().filter(|reference| *reference > 0) {
        let mut start = 0;
        while start < MAX_SEARCHED_ROWS {
            let rows = session.send(&children(reference, start, SEARCH_PAGE)).await?.variables;
            let is_last = (rows.len() as u64) < SEARCH_PAGE;
            if let Some((row, rest)) = first_named(rows, names) {
                return Ok(Some((LocatedRow { parent: reference, row }, rest)));
            }
            if is_last {
                break;
            }
            start += SEARCH_PAGE;
        }
    }
    Ok(None)
}

/// The row whose name is the longest with which `names` begins: a name may have an arrow in it.
fn first_named(rows: Vec<DapVariable>, names: &str) -> Option<(DapVariable, &str)> {
    let rest = |row: &DapVariable| {
        let rest = names.strip_prefix(row.name.trim())?.trim_start();
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix(ARROW).map(str::trim_start) }
    };
    let named = rows.into_iter().filter_map(|row| Some((rest(&row)?, row)));
    named.min_by_key(|(rest, _)| rest.len()).map(|(rest, row)| (row, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str) -> DapVariable {
        DapVariable { name: name.to_owned(), ..DapVariable::default() }
    }

    #[test]
    fn a_path_is_split_at_arrows_outside_of_strings() {
        let parse = |path| PathOfRows::parse(path).map(|rows| (rows.start, rows.names));
        assert_eq!(parse("s → 140234"), Some(("s", "140234")));
        assert_eq!(parse("→ Total returned"), Some(("", "Total returned")));
        assert_eq!(parse("a→b → c"), Some(("a", "b → c")));
        assert_eq!(parse("d['a → b'] → c"), Some(("d['a → b']", "c")));
        for expression in ["a.b", "a->b", "\"a → b\".Length", "a →"] {
            assert_eq!(parse(expression), None, "{expression}");
        }
    }

    #[test]
    fn a_name_with_an_arrow_is_found_whole() {
        let rows = || ["a", "a → b", "abc"].map(row).to_vec();
        let found = |names| first_named(rows(), names).map(|(row, rest)| (row.name, rest));
        assert_eq!(found("a → b → c"), Some(("a → b".to_owned(), "c")));
        assert_eq!(found("a → c"), Some(("a".to_owned(), "c")));
        assert_eq!(found("abc"), Some(("abc".to_owned(), "")));
        assert_eq!(found("ab"), None);
    }
}
