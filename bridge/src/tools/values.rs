//! Variables as rows: bounded in number, depth and length, over all of an answer.
//!
//! Not here: what the agent has seen of them ([`crate::agent_view`]).

use dap_wire::Failure;
use dap_wire::types::{DapVariable, ScopesArguments, VariablesArguments};
use serde::Serialize;

use super::unreadable::{is_of_part, reason};
use crate::agent_view::Values;
use crate::bounds::cut;
use crate::session::AgentSession;

/// Maximum characters of a value.
pub(super) const MAX_VALUE_LEN: usize = 400;
/// Rows below the first level, each.
const MAX_INNER_ROWS: u64 = 20;

/// A variable in an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct VariableRow {
    pub(super) name: String,
    pub(super) value: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<String>,
    /// The expression for it, where its name does not say that.
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

    /// Reads the rows of a reference, and whether there are more.
    pub(super) async fn read(
        &mut self,
        reference: i64,
        start: u64,
        count: u64,
        depth: u64,
    ) -> Result<(Vec<VariableRow>, bool), Failure> {
        // One more than requested shows whether there are more.
        let list = self.session.send(&children(reference, start, count + 1)).await?.variables;
        let more = list.len() as u64 > count;
        let mut found = Vec::new();
        for row in list.iter().take(usize::try_from(count).unwrap_or(usize::MAX)) {
            if self.left == 0 {
                return Ok((found, true));
            }
            self.left -= 1;
            found.push(self.row(row, depth).await?);
        }
        Ok((found, more))
    }

    /// Rows of several scopes as if they were one.
    pub(super) async fn read_scopes(
        &mut self,
        references: &[i64],
        start: u64,
        count: u64,
        depth: u64,
    ) -> Result<(Vec<VariableRow>, bool), Failure> {
        if let [one] = references {
            return self.read(*one, start, count, depth).await;
        }
        let (mut rows, mut more) = (Vec::new(), false);
        for reference in references {
            let (part, is_cut) = self.read(*reference, 0, start.saturating_add(count), depth).await?;
            add_visible(&mut rows, part, |row| &row.name);
            more |= is_cut;
        }
        let in_size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let mut rows: Vec<VariableRow> = rows.into_iter().skip(in_size(start)).collect();
        more |= rows.len() > in_size(count);
        rows.truncate(in_size(count));
        Ok((rows, more))
    }

    async fn row(&mut self, variable: &DapVariable, depth: u64) -> Result<VariableRow, Failure> {
        let mut shown = VariableRow::from(variable);
        let hint = variable.presentation_hint.as_ref();
        if hint.is_some_and(|hint| hint.lazy == Some(true) || hint.kind.as_deref() == Some("virtual")) {
            shown.value = "(ask for it by its path)".to_owned();
            // The name of a member follows that of its object.
            let name = format!(".{}", variable.name);
            shown.path = variable.evaluate_name.clone().filter(|way| !way.ends_with(&name));
        } else if variable.variables_reference > 0 {
            if depth > 1 {
                let inner = self.read(variable.variables_reference, 0, MAX_INNER_ROWS, depth - 1);
                match Box::pin(inner).await {
                    Ok((children, more)) => (shown.children, shown.more) = (Some(children), more),
                    Err(failure) if is_of_part(self.session, &failure) => {
                        shown.unreadable = Some(reason(&failure));
                    }
                    Err(failure) => return Err(failure),
                }
            } else {
                shown.expandable = true;
            }
        }
        Ok(shown)
    }
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

/// The request for the scopes of a frame. An id that is not known is 0, which no adapter uses.
pub(super) fn scopes_of(frame: Option<i64>) -> ScopesArguments {
    ScopesArguments { frame_id: frame.unwrap_or_default(), ..ScopesArguments::default() }
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
        let name = row.name.as_str();
        let path = match above {
            "" => name.to_owned(),
            _ if name.starts_with('[') => format!("{above}{name}"),
            _ => format!("{above}.{name}"),
        };
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
    fn rows_have_only_the_fields_that_say_something() {
        let text = |row: &VariableRow| serde_json::to_string(row).unwrap();
        let plain = VariableRow { name: "a".into(), value: "1".into(), ..VariableRow::default() };
        assert_eq!(text(&plain), r#"{"name":"a","value":"1"}"#);
        let typed = VariableRow { kind: Some("int".into()), expandable: true, ..plain };
        assert_eq!(text(&typed), r#"{"name":"a","value":"1","type":"int","expandable":true}"#);
    }
}
