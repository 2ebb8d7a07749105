//! Variables as rows: bounded in number, depth and length, over all of an answer.
//!
//! Not here: what the agent has seen of them ([`crate::agent_view`]).

use serde::Serialize;
use tandem_wire::types::{DapVariable, ScopesArguments, VariablesArguments};
use tandem_wire::{ErrorCode, Failure};

use super::row_path::{RowPath, member};
use super::unreadable::{is_of_part, reason};
use crate::agent_view::Values;
use crate::bounds::cut;
use crate::session::AgentSession;

/// Maximum characters of a value.
pub(super) const MAX_VALUE_LEN: usize = 400;
/// Maximum depth to which one answer expands values.
const MAX_DEPTH: u64 = 5;
/// Rows below the first level, each.
const MAX_INNER_ROWS: u64 = 20;

/// A variable in an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct VariableRow {
    pub(super) name: String,
    pub(super) value: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<String>,
    /// The path by which a call finds it, where the path of its parent and its name do not lead to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) children: Option<Vec<Self>>,
    /// Whether it has more children than these.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) more: bool,
    /// Whether it has children that were not read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) expandable: bool,
    /// Why its children cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unreadable: Option<String>,
}

/// The depth of an answer for the one that a call requests, and a remark if that is greater.
pub(super) fn limit_depth(requested: Option<u64>) -> (u64, Option<String>) {
    let requested = requested.unwrap_or(1);
    let remark = || format!("`depth` is limited to {MAX_DEPTH}; debug_variables expands a row by its path");
    (requested.clamp(1, MAX_DEPTH), (requested > MAX_DEPTH).then(remark))
}

/// A value whose rows are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ReadValue {
    pub(super) reference: i64,
    /// The number of elements that it announces. Its rows are counted as if none of them were missing.
    pub(super) elements: u64,
    /// The path to it; empty for a scope.
    pub(super) path: String,
}

impl ReadValue {
    /// A value with the elements that its row or its evaluation announces.
    pub(super) fn new(reference: i64, elements: Option<i64>, path: String) -> Self {
        let elements = elements.and_then(|count| u64::try_from(count).ok()).unwrap_or_default();
        Self { reference, elements, path }
    }

    pub(super) fn scope(reference: i64) -> Self {
        Self { reference, ..Self::default() }
    }
}

/// A part of the rows of a value.
#[derive(Debug, Default, PartialEq)]
pub(super) struct VariablePage {
    pub(super) rows: Vec<VariableRow>,
    /// The number of the row where it continues.
    pub(super) next: Option<u64>,
}

/// Reads variables within the limits of one answer.
pub(super) struct VariableReader<'a> {
    session: &'a AgentSession,
    left: usize,
}

impl<'a> VariableReader<'a> {
    /// A reader of at most `most` rows over all depths.
    pub(super) fn new(session: &'a AgentSession, most: usize) -> Self {
        Self { session, left: most }
    }

    /// Reads a part of the rows of a value.
    pub(super) async fn read(
        &mut self,
        of: &ReadValue,
        start: u64,
        count: u64,
        depth: u64,
    ) -> Result<VariablePage, Failure> {
        let end = start.saturating_add(count);
        // One more than requested shows whether there are more, unless the announcement does.
        let requested = if end < of.elements { count } else { count.saturating_add(1) };
        let mut list = self.session.send(&children(of.reference, start, requested)).await?.variables;
        let next = has_more(&mut list, start, count, of.elements).then_some(end);
        let mut rows = Vec::new();
        for row in &list {
            if self.left == 0 {
                let next = Some(start.saturating_add(rows.len() as u64));
                return Ok(VariablePage { rows, next });
            }
            self.left -= 1;
            rows.push(self.row(row, &of.path, depth).await?);
        }
        Ok(VariablePage { rows, next })
    }

    /// Rows of several scopes as if they were one.
    pub(super) async fn read_scopes(
        &mut self,
        scopes: &[ReadValue],
        start: u64,
        count: u64,
        depth: u64,
    ) -> Result<VariablePage, Failure> {
        if let [one] = scopes {
            return self.read(one, start, count, depth).await;
        }
        let (mut rows, mut has_more) = (Vec::new(), false);
        for scope in scopes {
            let part = self.read(scope, 0, start.saturating_add(count), depth).await?;
            has_more |= part.next.is_some();
            add_visible(&mut rows, part.rows, |row| &row.name);
        }
        let in_size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let mut rows: Vec<VariableRow> = rows.into_iter().skip(in_size(start)).collect();
        has_more |= rows.len() > in_size(count);
        rows.truncate(in_size(count));
        let next = has_more.then_some(start.saturating_add(rows.len() as u64));
        Ok(VariablePage { rows, next })
    }

    async fn row(
        &mut self,
        variable: &DapVariable,
        parent: &str,
        depth: u64,
    ) -> Result<VariableRow, Failure> {
        let mut shown = VariableRow::from(variable);
        let path = RowPath::of(variable, parent);
        let hint = variable.presentation_hint.as_ref();
        let is_lazy =
            hint.is_some_and(|hint| hint.lazy == Some(true) || hint.kind.as_deref() == Some("virtual"));
        // A remark in place of a value has nothing below it.
        let is_lazy = is_lazy && (variable.variables_reference > 0 || variable.evaluate_name.is_some());
        if is_lazy {
            shown.value = "(ask for it by its path)".to_owned();
        } else if variable.variables_reference > 0 {
            if depth > 1 {
                let value = ReadValue::new(
                    variable.variables_reference,
                    variable.indexed_variables,
                    path.text.clone(),
                );
                let inner = self.read(&value, 0, MAX_INNER_ROWS, depth - 1);
                match Box::pin(inner).await {
                    Ok(page) => (shown.more, shown.children) = (page.next.is_some(), Some(page.rows)),
                    Err(failure) if is_of_part(self.session, &failure) => {
                        shown.unreadable = Some(reason(&failure));
                    }
                    Err(failure) => return Err(failure),
                }
            } else {
                shown.expandable = true;
            }
        }
        let has_unread = is_lazy || shown.expandable || shown.more;
        shown.path = (has_unread && !path.is_obvious).then_some(path.text);
        Ok(shown)
    }
}

/// Removes the rows behind a part of the rows of a value, and returns whether there are any. A value that
/// announces elements may lack some of them, as a sparse array of JavaScript does; its other rows follow
/// them.
fn has_more(list: &mut Vec<DapVariable>, start: u64, count: u64, elements: u64) -> bool {
    let end = start.saturating_add(count);
    if end < elements {
        return true;
    }
    let most = usize::try_from(count).unwrap_or(usize::MAX);
    if list.len() > most {
        list.truncate(most);
        return true;
    }
    let is_element = |row: &&DapVariable| {
        let name = row.name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(&row.name);
        name.parse::<u64>().is_ok()
    };
    let read = list.iter().filter(is_element).count() as u64;
    let others = list.len() as u64 - read;
    let is_sparse = read > 0 && read < elements.saturating_sub(start);
    let is_cut = is_sparse && others > end - elements;
    if is_cut {
        list.pop();
    }
    is_cut
}

impl From<&DapVariable> for VariableRow {
    fn from(variable: &DapVariable) -> Self {
        Self {
            name: variable.name.clone(),
            value: cut(&variable.value, MAX_VALUE_LEN),
            kind: variable.kind.clone().filter(|kind| !kind.is_empty()),
            ..Self::default()
        }
    }
}

/// The request for a part of the children of a value.
pub(super) fn children(reference: i64, start: u64, count: u64) -> VariablesArguments {
    VariablesArguments {
        variables_reference: reference,
        start: i64::try_from(start).ok(),
        count: i64::try_from(count).ok(),
        ..VariablesArguments::default()
    }
}

/// The request for the scopes of a frame.
///
/// # Errors
/// `UNSUPPORTED` for `None`, the frame of a stack that has none.
pub(super) fn scopes_of(frame: Option<i64>) -> Result<ScopesArguments, Failure> {
    match frame {
        Some(frame_id) => Ok(ScopesArguments { frame_id, ..ScopesArguments::default() }),
        None => Err(Failure::new(ErrorCode::Unsupported, "the stack of the stopped thread has no frame")
            .hint("debug_threads lists the threads; pass a `frameId` of debug_stacktrace")),
    }
}

/// Adds the rows of an outer scope: a name of an inner one hides them.
pub(super) fn add_visible<T>(rows: &mut Vec<T>, outer: impl IntoIterator<Item = T>, name: fn(&T) -> &str) {
    for row in outer {
        if !rows.iter().any(|inner| name(inner) == name(&row)) {
            rows.push(row);
        }
    }
}

/// Rows as paths to values, to compare.
pub(super) fn flatten(rows: &[VariableRow], above: &str, into: &mut Values) {
    for row in rows {
        let path = member(above, &row.name);
        flatten(row.children.as_deref().unwrap_or_default(), &path, into);
        into.insert(path, row.value.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, children: Vec<VariableRow>) -> VariableRow {
        VariableRow { name: name.into(), children: Some(children), ..VariableRow::default() }
    }

    #[test]
    fn a_stack_without_frames_has_no_scopes() {
        assert_eq!(scopes_of(Some(7)).unwrap().frame_id, 7);
        assert_eq!(scopes_of(None).unwrap_err().code, ErrorCode::Unsupported);
    }

    #[test]
    fn rows_become_paths() {
        let rows = [
            row("a", Vec::new()),
            row("list", vec![row("[0]", Vec::new())]),
            row("person", vec![row("Age", Vec::new())]),
        ];
        let mut values = Values::new();
        flatten(&rows, "", &mut values);
        let paths: Vec<_> = values.keys().cloned().collect();
        assert_eq!(paths, ["a", "list", "list[0]", "person", "person.Age"]);
    }

    #[test]
    fn a_sparse_array_has_more_rows_beyond_its_gaps() {
        let row = |name: &&str| DapVariable { name: (*name).to_owned(), ..DapVariable::default() };
        let page = |names: &[&str], start, count, elements| {
            let mut list: Vec<DapVariable> = names.iter().map(row).collect();
            let more = has_more(&mut list, start, count, elements);
            (list.into_iter().map(|row| row.name).collect::<Vec<_>>().join(" "), more)
        };
        let text = |text: &str, more| (text.to_owned(), more);
        // [1, , 3, …] of 1000 elements: the requested window has gaps.
        assert_eq!(page(&["0", "2"], 0, 10, 1000), text("0 2", true));
        assert_eq!(page(&[], 10, 10, 1000), text("", true));
        // The window ends among the rows behind the elements.
        assert_eq!(page(&["0", "2", "length"], 0, 3, 3), text("0 2", true));
        assert_eq!(page(&["0", "2", "length", "[[Prototype]]"], 0, 10, 3), {
            text("0 2 length [[Prototype]]", false)
        });
        // Without gaps, and without an announcement, one row more shows that there are more.
        assert_eq!(page(&["[0]", "[1]", "Raw View"], 0, 2, 2), text("[0] [1]", true));
        assert_eq!(page(&["[0]", "[1]", "Raw View"], 0, 3, 2), text("[0] [1] Raw View", false));
        assert!(!page(&["[\"a\"]", "[\"b\"]", "Raw View"], 0, 9, 2).1);
        assert_eq!(page(&["a", "b", "c"], 0, 2, 0), text("a b", true));
        assert_eq!(page(&["a", "b"], 0, 2, 0), text("a b", false));
    }

    #[test]
    fn rows_have_only_the_fields_that_say_something() {
        let text = |row: &VariableRow| serde_json::to_string(row).unwrap();
        let plain = VariableRow { name: "a".into(), value: "1".into(), ..VariableRow::default() };
        assert_eq!(text(&plain), r#"{"name":"a","value":"1"}"#);
        let typed = VariableRow { kind: Some("int".into()), expandable: true, ..plain };
        assert_eq!(text(&typed), r#"{"name":"a","value":"1","type":"int","expandable":true}"#);
    }
}
