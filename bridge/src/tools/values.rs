//! Variables as rows: bounded in number, depth and length, over all of an answer.
//!
//! Not here: what the agent has seen of them ([`crate::agent_view`]).

use dap_wire::Failure;
use serde_json::{Value, json};

use super::unreadable::{is_of_part, mark_row};
use crate::agent_view::Values;
use crate::bounds::cut;
use crate::session::AgentSession;

/// Maximum characters of a value.
pub(super) const MAX_VALUE_LEN: usize = 400;
/// Rows below the first level, each.
const MAX_INNER_ROWS: u64 = 20;

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
        reference: &Value,
        start: u64,
        count: u64,
        depth: u64,
    ) -> Result<(Vec<Value>, bool), Failure> {
        // One more than requested shows whether there are more.
        let arguments = json!({ "variablesReference": reference, "start": start, "count": count + 1 });
        let body = self.session.ask("variables", arguments).await?;
        let list = body["variables"].as_array().cloned().unwrap_or_default();
        let more = list.len() as u64 > count;
        let mut found = Vec::new();
        for row in list.into_iter().take(usize::try_from(count).unwrap_or(usize::MAX)) {
            if self.left == 0 {
                return Ok((found, true));
            }
            self.left -= 1;
            found.push(self.row(&row, depth).await?);
        }
        Ok((found, more))
    }

    /// Rows of several scopes as if they were one.
    pub(super) async fn read_scopes(
        &mut self,
        references: &[Value],
        start: u64,
        count: u64,
        depth: u64,
    ) -> Result<(Vec<Value>, bool), Failure> {
        if let [one] = references {
            return self.read(one, start, count, depth).await;
        }
        let (mut rows, mut more) = (Vec::new(), false);
        for reference in references {
            let (part, is_cut) = self.read(reference, 0, start.saturating_add(count), depth).await?;
            add_visible(&mut rows, part);
            more |= is_cut;
        }
        let in_size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let mut rows: Vec<Value> = rows.into_iter().skip(in_size(start)).collect();
        more |= rows.len() > in_size(count);
        rows.truncate(in_size(count));
        Ok((rows, more))
    }

    async fn row(&mut self, row: &Value, depth: u64) -> Result<Value, Failure> {
        let mut shown = json!({ "name": row["name"], "value": cut(&row["value"], MAX_VALUE_LEN) });
        if let Some(kind) = row["type"].as_str().filter(|kind| !kind.is_empty()) {
            shown["type"] = json!(kind);
        }
        let inner = &row["variablesReference"];
        let hint = &row["presentationHint"];
        if hint["lazy"] == true || hint["kind"] == "virtual" {
            shown["value"] = json!("(ask for it by its path)");
            // The name of a member follows that of its object.
            let name = format!(".{}", row["name"].as_str().unwrap_or_default());
            if let Some(way) = row["evaluateName"].as_str().filter(|way| !way.ends_with(&name)) {
                shown["path"] = json!(way);
            }
        } else if inner.as_i64().is_some_and(|inner| inner > 0) {
            if depth > 1 {
                match Box::pin(self.read(inner, 0, MAX_INNER_ROWS, depth - 1)).await {
                    Ok((children, more)) => {
                        shown["children"] = json!(children);
                        if more {
                            shown["more"] = json!(true);
                        }
                    }
                    Err(failure) if is_of_part(self.session, &failure) => {
                        mark_row(&mut shown, &failure);
                    }
                    Err(failure) => return Err(failure),
                }
            } else {
                shown["expandable"] = json!(true);
            }
        }
        Ok(shown)
    }
}

/// Adds the rows of an outer scope: a name of an inner one hides them.
pub(super) fn add_visible(rows: &mut Vec<Value>, outer: impl IntoIterator<Item = Value>) {
    for row in outer {
        if !rows.iter().any(|inner| inner["name"] == row["name"]) {
            rows.push(row);
        }
    }
}

/// Rows as paths to values, to compare.
pub(super) fn flatten(rows: &[Value], above: &str, into: &mut Values) {
    for row in rows {
        let name = row["name"].as_str().unwrap_or_default();
        let path = match above {
            "" => name.to_owned(),
            _ if name.starts_with('[') => format!("{above}{name}"),
            _ => format!("{above}.{name}"),
        };
        if let Some(children) = row["children"].as_array() {
            flatten(children, &path, into);
        }
        into.insert(path, row["value"].as_str().unwrap_or_default().to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_paths() {
        let rows = json!([{ "name": "a", "value": "1" },
            { "name": "list", "value": "n", "children": [{ "name": "[0]", "value": "x" }] },
            { "name": "person", "value": "p", "children": [{ "name": "Age", "value": "4" }] }]);
        let mut values = Values::new();
        flatten(rows.as_array().unwrap(), "", &mut values);
        let paths: Vec<_> = values.keys().cloned().collect();
        assert_eq!(paths, ["a", "list", "list[0]", "person", "person.Age"]);
    }
}
