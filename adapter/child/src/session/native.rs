//! Values and frames of machine code (lldb, gdb): what an adapter would answer without bound is bounded, what
//! it shows as nothing is summed up, and a value that cannot be read is marked as such.

use std::path::Path;

use dap_wire::{Failure, types};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::super::rust;
use super::AdapterSession;

/// Most rows of one answer: an adapter makes them all before it answers, and an array may
/// have a hundred million.
const MAX_ROWS: u64 = 10_000;
/// Values without a text that are summed up, of one answer.
const MAX_SUMMARIES: usize = 40;
/// Parts that a summary shows.
const MAX_PARTS: usize = 6;
/// Longest summary, characters.
const MAX_SUMMARY_LEN: usize = 120;

impl AdapterSession {
    /// A request for values or frames.
    pub(super) async fn ask_native(
        &self,
        command: &str,
        mut arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, Failure> {
        let elements = self.elements_of(&arguments["variablesReference"]);
        let filtered = command == "variables" && elements > 0 && arguments["filter"].is_string();
        if filtered && elements as u64 > MAX_ROWS && arguments["filter"] == "named" {
            // Neither knows the filter, and all elements would be read to leave them out.
            return Ok(json!({ "variables": [] }));
        }
        let bounded = command == "variables" && bound(&mut arguments);
        // Both page by themselves, and neither knows a filter.
        let mut answer = match filtered {
            true => self.variables(arguments, cancel).await?,
            false => self.ask(command, arguments, cancel).await?,
        };
        match command {
            "stackTrace" => {
                for frame in rows_of(&mut answer, "stackFrames") {
                    without_source(frame);
                    if let Some(name) = frame["name"].as_str().and_then(rust::without_hash) {
                        frame["name"] = json!(name);
                    }
                }
            }
            "evaluate" => {
                close_null(&mut answer, "result");
                self.summarize(&mut answer, "result", cancel).await;
            }
            _ => {
                let mut left = MAX_SUMMARIES;
                for row in rows_of(&mut answer, "variables") {
                    close_null(row, "value");
                    name_unit(row);
                    if left > 0 && self.summarize(row, "value", cancel).await {
                        left -= 1;
                    }
                }
                if let Some(rows) = answer["variables"].as_array_mut()
                    && bounded
                    && rows.len() as u64 == MAX_ROWS
                {
                    let more = format!("only {MAX_ROWS} are shown; ask with `start` and `count` for others");
                    rows.push(json!({ "name": "…", "value": more, "variablesReference": 0 }));
                }
            }
        }
        Ok(answer)
    }

    /// Adds a text with the parts to a value that has parts and no text; returns whether it requested them.
    async fn summarize(&self, row: &mut Value, key: &str, cancel: &CancellationToken) -> bool {
        let reference = row["variablesReference"].as_i64().unwrap_or(0);
        if self.profile.summarizes()
            || reference == 0
            || row[key].as_str().is_none_or(|text| !text.is_empty())
        {
            return false;
        }
        let page = types::first_children(reference, MAX_PARTS);
        if let Ok(parts) = self.ask("variables", page, cancel).await {
            row[key] = json!(summary(&parts));
        }
        true
    }
}

/// Limits the requested amount; returns whether it changed anything.
fn bound(arguments: &mut Value) -> bool {
    let count = arguments["count"].as_u64().filter(|count| *count > 0);
    let unbounded = count.is_none_or(|count| count > MAX_ROWS);
    if unbounded && arguments.is_object() {
        arguments["count"] = json!(MAX_ROWS);
        if arguments["start"].is_null() {
            arguments["start"] = json!(0);
        }
    }
    unbounded
}

fn rows_of<'a>(answer: &'a mut Value, key: &str) -> impl Iterator<Item = &'a mut Value> {
    answer[key].as_array_mut().into_iter().flatten()
}

/// A one-line summary such as `{x = 3, y = 4}`.
fn summary(parts: &Value) -> String {
    let list = parts["variables"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut text = String::from("{");
    for (at, part) in list.iter().take(MAX_PARTS).enumerate() {
        let (name, value) =
            (part["name"].as_str().unwrap_or_default(), part["value"].as_str().unwrap_or_default());
        let opens = part["variablesReference"].as_i64().unwrap_or(0) > 0;
        let value = if value.is_empty() && opens { "{…}" } else { value };
        text.push_str(if at > 0 { ", " } else { "" });
        text.push_str(&if value.is_empty() { name.to_owned() } else { format!("{name} = {value}") });
        if text.chars().count() > MAX_SUMMARY_LEN {
            text = text.chars().take(MAX_SUMMARY_LEN).collect::<String>() + "…";
            return text + "}";
        }
    }
    if list.len() >= MAX_PARTS {
        text.push_str(", …");
    }
    text + "}"
}

/// A null pointer has nothing to open: each of its parts would be an error.
fn close_null(row: &mut Value, key: &str) {
    let is_null = row[key].as_str().is_some_and(|text| {
        text.strip_prefix("0x")
            .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit == b'0'))
    });
    let points = row["type"].as_str().is_none_or(|kind| kind.trim_end().ends_with(['*', '&']));
    if is_null && points && row["variablesReference"].as_i64().unwrap_or(0) > 0 {
        row["variablesReference"] = json!(0);
        if let Some(row) = row.as_object_mut() {
            row.shift_remove("indexedVariables");
            row.shift_remove("namedVariables");
        }
    }
}

/// lldb reads a value of no size as an error.
fn name_unit(row: &mut Value) {
    if row["type"] == "void" && row["value"] == "<error: Unable to determine byte size.>" {
        row["value"] = json!("()");
    }
}

/// A frame of a library whose source is on the machine it was built on is not where an editor is to jump to.
fn without_source(frame: &mut Value) {
    if frame["source"]["path"].as_str().is_some_and(|path| !Path::new(path).is_file()) {
        // gdb sends a `sourceReference` for a text that it does not have.
        if let Some(source) = frame["source"].as_object_mut() {
            source.shift_remove("sourceReference");
        }
        frame["source"]["presentationHint"] = json!("deemphasize");
        if frame["presentationHint"].is_null() || frame["presentationHint"] == "normal" {
            frame["presentationHint"] = json!("subtle");
        }
    }
}

#[cfg(test)]
mod tests {
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
            let mut arguments = request;
            assert_eq!(bound(&mut arguments), bounded);
            assert_eq!(arguments, sent);
        }
    }

    #[test]
    fn a_struct_without_a_text_shows_its_parts() {
        let parts = json!({ "variables": [{ "name": "x", "value": "3" }, { "name": "in", "value": "",
            "variablesReference": 4 }] });
        assert_eq!(summary(&parts), "{x = 3, in = {…}}");
        assert_eq!(summary(&json!({ "variables": [{ "name": "None", "value": "" }] })), "{None}");
        assert_eq!(summary(&json!({})), "{}");
    }

    #[test]
    fn a_null_pointer_does_not_open() {
        let mut null = json!({ "value": "0x0000000000000000", "type": "node *", "variablesReference": 7,
            "indexedVariables": 2 });
        close_null(&mut null, "value");
        assert_eq!(null, json!({ "value": "0x0000000000000000", "type": "node *", "variablesReference": 0 }));
        for kept in [
            json!({ "value": "0x0010", "type": "node *", "variablesReference": 7 }),
            json!({ "value": "0x0", "type": "wrapper", "variablesReference": 7 }),
        ] {
            let mut row = kept.clone();
            close_null(&mut row, "value");
            assert_eq!(row, kept);
        }
    }
}
