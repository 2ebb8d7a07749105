//! Values and frames of machine code (lldb, gdb): what an adapter would answer without bound is bounded, what
//! it shows as nothing is summed up, and a value that cannot be read is marked as such.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{
    self, DapVariable, EvaluateArguments, EvaluateResponseBody, StackFrame, StackTraceResponseBody,
    VariablesArguments, VariablesResponseBody,
};
use tokio_util::sync::CancellationToken;

use super::super::rust;
use super::{AdapterSession, subscripts};

/// Most rows of one answer: an adapter makes them all before it answers, and an array may
/// have a hundred million.
const MAX_ROWS: i64 = 10_000;
/// Values without a text that are summed up, of one answer.
const MAX_SUMMARIES: usize = 40;
/// Parts that a summary shows.
const MAX_PARTS: usize = 6;
/// Longest summary, characters.
const MAX_SUMMARY_LEN: usize = 120;

/// The argument of an evaluation that is replaced.
#[derive(Debug, Serialize)]
struct FoundExpression<'text> {
    expression: &'text str,
}

impl AdapterSession {
    /// A request for values or frames.
    pub(super) async fn ask_native(
        &self,
        command: &str,
        mut arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        let mut given = None;
        if command == "evaluate" {
            let asked: EvaluateArguments = types::read(&arguments);
            let meant = subscripts::find(self, &asked, cancel).await?;
            types::extend(&mut arguments, &FoundExpression { expression: &meant });
            given = Some((asked.expression, asked.frame_id));
        }
        let reference = types::read::<VariablesArguments>(&arguments).variables_reference;
        let mut bounded = false;
        let mut filtered = false;
        if command == "variables" {
            let mut page: VariablesArguments = types::read(&arguments);
            let elements = self.elements_of(page.variables_reference);
            filtered = elements > 0 && page.filter.is_some();
            if types::integer(elements) > MAX_ROWS && page.filter.as_deref() == Some("named") {
                // Neither knows the filter, and all elements would be read to leave them out.
                return Ok(types::body(&VariablesResponseBody::default()));
            }
            bounded = bound(&mut page);
            arguments = types::body(&page);
        }
        // Both page by themselves, and neither knows a filter.
        let answer = match filtered {
            true => self.variables(arguments, cancel).await?,
            false => self.ask(command, arguments, cancel).await?,
        };
        Ok(match command {
            "stackTrace" => {
                let mut stack: StackTraceResponseBody = types::read(&answer);
                for frame in &mut stack.stack_frames {
                    without_source(frame);
                    if let Some(name) = rust::without_hash(&frame.name) {
                        frame.name = name.to_owned();
                    }
                }
                types::body(&stack)
            }
            "evaluate" => {
                let mut value: EvaluateResponseBody = types::read(&answer);
                if is_null(&value.result, value.kind.as_deref()) {
                    (value.variables_reference, value.indexed_variables) = (0, None);
                    value.named_variables = None;
                }
                let (expression, frame) = given.unzip();
                subscripts::learn_value(self, (expression.as_deref(), frame.flatten()), &value);
                self.summarize(&mut value.result, value.variables_reference, cancel).await;
                types::body(&value)
            }
            _ => {
                let mut page: VariablesResponseBody = types::read(&answer);
                subscripts::name_rows(self, reference, &mut page.variables);
                let mut left = MAX_SUMMARIES;
                for row in &mut page.variables {
                    close_null(row);
                    name_unit(row);
                    if left > 0 && self.summarize(&mut row.value, row.variables_reference, cancel).await {
                        left -= 1;
                    }
                }
                if bounded && types::integer(page.variables.len()) == MAX_ROWS {
                    let value = format!("only {MAX_ROWS} are shown; ask with `start` and `count` for others");
                    page.variables.push(DapVariable {
                        name: "…".to_owned(),
                        value,
                        ..DapVariable::default()
                    });
                }
                types::body(&page)
            }
        })
    }

    /// Adds a text with the parts to a value that has parts and no text; returns whether it requested them.
    async fn summarize(&self, text: &mut String, reference: i64, cancel: &CancellationToken) -> bool {
        if self.profile.summarizes() || reference == 0 || !text.is_empty() {
            return false;
        }
        let page = types::first_children(reference, MAX_PARTS);
        if let Ok(parts) = self.ask("variables", page, cancel).await {
            *text = summary(&types::read::<VariablesResponseBody>(&parts).variables);
        }
        true
    }
}

/// Limits the requested amount; returns whether it changed anything.
fn bound(page: &mut VariablesArguments) -> bool {
    let count = page.count.filter(|count| *count > 0);
    let unbounded = count.is_none_or(|count| count > MAX_ROWS);
    if unbounded {
        page.count = Some(MAX_ROWS);
        page.start.get_or_insert(0);
    }
    unbounded
}

/// A one-line summary such as `{x = 3, y = 4}`.
fn summary(parts: &[DapVariable]) -> String {
    let mut text = String::from("{");
    for (at, part) in parts.iter().take(MAX_PARTS).enumerate() {
        let name = &part.name;
        let opens = part.variables_reference > 0;
        let value = if part.value.is_empty() && opens { "{…}" } else { &part.value };
        text.push_str(if at > 0 { ", " } else { "" });
        text.push_str(&if value.is_empty() { name.clone() } else { format!("{name} = {value}") });
        if text.chars().count() > MAX_SUMMARY_LEN {
            text = text.chars().take(MAX_SUMMARY_LEN).collect::<String>() + "…";
            return text + "}";
        }
    }
    if parts.len() >= MAX_PARTS {
        text.push_str(", …");
    }
    text + "}"
}

/// Whether a text shows a null pointer, by the type if it is known.
fn is_null(text: &str, kind: Option<&str>) -> bool {
    let digits = text.strip_prefix("0x").unwrap_or_default();
    let is_zero = !digits.is_empty() && digits.bytes().all(|digit| digit == b'0');
    is_zero && kind.is_none_or(|kind| kind.trim_end().ends_with(['*', '&']))
}

/// A null pointer has nothing to open: each of its parts would be an error.
fn close_null(row: &mut DapVariable) {
    if is_null(&row.value, row.kind.as_deref()) {
        (row.variables_reference, row.indexed_variables, row.named_variables) = (0, None, None);
    }
}

/// lldb reads a value of no size as an error.
fn name_unit(row: &mut DapVariable) {
    if row.kind.as_deref() == Some("void") && row.value == "<error: Unable to determine byte size.>" {
        row.value = "()".to_owned();
    }
}

/// A frame of a library whose source is on the machine it was built on is not where an editor is to jump to.
fn without_source(frame: &mut StackFrame) {
    let Some(source) = &mut frame.source else { return };
    if source.path.as_ref().is_some_and(|path| !Path::new(path).is_file()) {
        // gdb sends a `sourceReference` for a text that it does not have.
        source.source_reference = None;
        source.presentation_hint = Some("deemphasize".to_owned());
        if matches!(frame.presentation_hint.as_deref(), None | Some("normal")) {
            frame.presentation_hint = Some("subtle".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn more_rows_than_fit_are_never_asked_for() {
        for (request, sent, bounded) in [
            (
                json!({ "variablesReference": 1 }),
                json!({ "variablesReference": 1, "count": MAX_ROWS, "start": 0 }),
                true,
            ),
            (json!({ "start": 5, "count": 0 }), json!({ "start": 5, "count": MAX_ROWS }), true),
            (json!({ "start": 5, "count": 100_000_000 }), json!({ "start": 5, "count": MAX_ROWS }), true),
            (json!({ "start": 5, "count": 7 }), json!({ "start": 5, "count": 7 }), false),
        ] {
            let mut page = types::read(&request);
            assert_eq!(bound(&mut page), bounded);
            assert_eq!(page, types::read(&sent));
        }
    }

    #[test]
    fn a_struct_without_a_text_shows_its_parts() {
        let part = |name: &str, value: &str, variables_reference: i64| {
            let (name, value) = (name.to_owned(), value.to_owned());
            DapVariable { name, value, variables_reference, ..DapVariable::default() }
        };
        assert_eq!(summary(&[part("x", "3", 0), part("in", "", 4)]), "{x = 3, in = {…}}");
        assert_eq!(summary(&[part("None", "", 0)]), "{None}");
        assert_eq!(summary(&[]), "{}");
    }

    #[test]
    fn a_null_pointer_does_not_open() {
        let closed = |row: &Value| {
            let mut row = types::read(row);
            close_null(&mut row);
            row
        };
        let null = json!({ "value": "0x0000000000000000", "type": "node *", "variablesReference": 7,
            "indexedVariables": 2 });
        let expected = json!({ "value": "0x0000000000000000", "type": "node *" });
        assert_eq!(closed(&null), types::read(&expected));
        for kept in [
            json!({ "value": "0x0010", "type": "node *", "variablesReference": 7 }),
            json!({ "value": "0x0", "type": "wrapper", "variablesReference": 7 }),
        ] {
            assert_eq!(closed(&kept), types::read(&kept));
        }
    }
}
