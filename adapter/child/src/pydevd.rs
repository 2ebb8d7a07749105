//! The debugger inside a Python process (pydevd) where it differs from DAP. debugpy's adapter process
//! translates some of it; this is for connections to the process itself, and harmless where the adapter is in
//! between. Not here: the start of Python (`registry/debugpy.rs`).

use std::collections::HashSet;

use serde_json::{Map, Value};
use tandem_wire::Failure;
use tandem_wire::types::{
    self, Breakpoint, CompletionItem, CompletionsResponseBody, DapVariable, SetBreakpointsResponseBody,
    StoppedEventBody, VariablesResponseBody,
};

use super::rows;

/// The types of rows that represent more elements.
const FURTHER: [&str; 2] = ["MoreItems", "MoreItemsRange"];

/// The thread of a `pause` must be all of them: a number makes its reading thread end,
/// and with it the session.
pub(super) fn adapt_request(command: &str, arguments: &mut Value) {
    if command == "pause" {
        if !arguments.is_object() {
            *arguments = types::empty();
        }
        if let Some(arguments) = arguments.as_object_mut() {
            arguments.insert("threadId".into(), "*".into());
        }
    }
}

/// Takes out what misleads clients.
pub(super) fn adapt_incoming(what: &str, body: &mut Value) {
    match what {
        // It reports this for each pause, and VS Code then shows no frame.
        "stopped" => types::edit(body, |stop: &mut StoppedEventBody| stop.preserve_focus_hint = None),
        // Some come twice (`__class__`), and what is grouped comes before what there is.
        "variables" => types::edit(body, |page: &mut VariablesResponseBody| {
            rows::without_repeats(&mut page.variables);
            page.variables.sort_by_key(is_group);
        }),
        // It lists a property twice, of the type and of the object; and methods that Python calls by itself
        // come first.
        "completions" => types::edit(body, |found: &mut CompletionsResponseBody| {
            let mut known = HashSet::new();
            found.targets.retain(|target| known.insert(target.label.clone()));
            found.targets.iter_mut().for_each(sort_after_names);
        }),
        // It moves a breakpoint up to the nearest code, and before the first statement it finds line 0, which
        // begins a module and is never reached.
        "setBreakpoints" => types::edit(body, |answer: &mut SetBreakpointsResponseBody| {
            for breakpoint in
                answer.breakpoints.iter_mut().filter(|one| one.line.is_some_and(|line| line < 1))
            {
                let id = breakpoint.id;
                let message = "no code is at this line or before it: use a later line";
                *breakpoint = Breakpoint { id, ..Breakpoint::refused(message) };
            }
        }),
        _ => {}
    }
}

/// Adds what to write instead of a statement: the debugger executes statements only in the debug console.
pub(super) fn explain_failure(failure: Failure) -> Failure {
    const HINT: &str = "write an expression: to assign, use `debug_set_variable` (`setVariable`); to run a \
        statement, `exec(\"total = 5\")`; to import, `__import__(\"json\")`; the debug console also takes \
        statements";
    match failure.message.starts_with("SyntaxError: ") && failure.hint.is_none() {
        true => failure.hint(HINT),
        false => failure,
    }
}

/// Gives `_private` and `__special__` names a DAP `sortText` behind those of the other names.
fn sort_after_names(target: &mut CompletionItem) {
    let name = target.label.trim_start_matches('_');
    let rank = target.label.len() - name.len();
    target.sort_text = Some(format!("{rank}{name}"));
}

/// `function variables` and the like.
fn is_group(row: &DapVariable) -> bool {
    row.value.is_empty() && row.name.ends_with(" variables")
}

/// It completes behind a dot and does not say so; what it reports about its own process is
/// of no use to clients.
pub(super) fn complete(capabilities: &mut Value) {
    let Some(capabilities) = capabilities.as_object_mut() else { return };
    capabilities.shift_remove("pydevd");
    let completes = capabilities.get("supportsCompletionsRequest") == Some(&Value::Bool(true));
    let triggers = capabilities.get("completionTriggerCharacters").and_then(Value::as_array);
    if completes && triggers.is_none_or(Vec::is_empty) {
        capabilities.insert("completionTriggerCharacters".into(), vec!["."].into());
    }
}

/// The row that represents the elements after the first hundred.
pub(super) fn further_elements(rows: &[DapVariable]) -> Option<usize> {
    let stands_for_more = |row: &DapVariable| {
        row.name == "more" && row.kind.as_deref().is_some_and(|kind| FURTHER.contains(&kind))
    };
    rows.iter().position(stands_for_more)
}

/// `variablePresentation` without the group of names that Python gives each object, unless
/// the launch requests it.
pub(super) fn presentation(arguments: &Value) -> Value {
    let mut presentation = Map::from_iter([("special".to_owned(), "hide".into())]);
    if let Some(arguments) = arguments.as_object() {
        if arguments.contains_key("all") {
            presentation.clear();
        }
        presentation.extend(arguments.clone());
    }
    Value::Object(presentation)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pause_is_of_all_threads_and_nothing_else_changes() {
        for mut arguments in [json!({ "threadId": 0 }), json!({ "threadId": 7 }), Value::Null] {
            adapt_request("pause", &mut arguments);
            assert_eq!(arguments, json!({ "threadId": "*" }));
        }
        let mut step = json!({ "threadId": 1 });
        adapt_request("next", &mut step);
        assert_eq!(step, json!({ "threadId": 1 }));
    }

    #[test]
    fn a_breakpoint_before_all_code_is_not_verified() {
        let moved = |line: i64| json!({ "verified": true, "id": line, "line": line });
        let mut body = json!({ "breakpoints": [moved(0), moved(1)] });
        adapt_incoming("setBreakpoints", &mut body);
        let message = "no code is at this line or before it: use a later line";
        let refused = json!({ "verified": false, "id": 0, "message": message, "reason": "failed" });
        assert_eq!(body, json!({ "breakpoints": [refused, moved(1)] }));
    }

    #[test]
    fn a_statement_is_refused_with_what_to_write_instead() {
        let explained = |message: &str| explain_failure(Failure::invalid(message)).hint;
        let hint = explained("SyntaxError: invalid syntax (<string>, line 1)").unwrap_or_default();
        assert!(hint.contains("exec(") && hint.contains("debug_set_variable"), "{hint}");
        assert_eq!(explained("NameError: name 'SyntaxError: ' is not defined"), None);
    }

    #[test]
    fn completions_follow_a_dot_unless_announced_otherwise() {
        let mut capabilities = json!({ "supportsCompletionsRequest": true, "pydevd": { "processId": 1 } });
        complete(&mut capabilities);
        assert_eq!(
            capabilities,
            json!({ "supportsCompletionsRequest": true, "completionTriggerCharacters": ["."] })
        );
        let mut capabilities =
            json!({ "supportsCompletionsRequest": true, "completionTriggerCharacters": ["("] });
        complete(&mut capabilities);
        assert_eq!(capabilities["completionTriggerCharacters"], json!(["("]));
        let mut none = json!({});
        complete(&mut none);
        assert_eq!(none, json!({}));
    }

    #[test]
    fn rows_that_come_twice_are_one_and_a_row_may_stand_for_more() {
        let mut body = json!({ "variables": [{ "name": "class variables", "value": "" },
            { "name": "a", "value": "1" }, { "name": "a", "value": "2" },
            { "name": "a", "value": "1" }, { "name": "more", "value": "...", "type": "MoreItems" }] });
        adapt_incoming("variables", &mut body);
        let rows = types::read::<VariablesResponseBody>(&body).variables;
        assert_eq!((rows.len(), rows[3].name.as_str()), (4, "class variables"));
        assert_eq!(further_elements(&rows), Some(2));
        assert_eq!(further_elements(&[types::read(&json!({ "name": "more", "type": "int" }))]), None);
    }

    #[test]
    fn completions_come_once_and_special_names_last() {
        let mut body = json!({ "targets": [{ "label": "__add__" }, { "label": "__class__", "type": "class" },
            { "label": "__class__" }, { "label": "_own" }, { "label": "append" }] });
        adapt_incoming("completions", &mut body);
        let mut rows: Vec<(&str, &str)> = Vec::new();
        for target in body["targets"].as_array().unwrap() {
            rows.push((target["sortText"].as_str().unwrap(), target["label"].as_str().unwrap()));
        }
        rows.sort_unstable();
        let labels: Vec<&str> = rows.iter().map(|(_, label)| *label).collect();
        assert_eq!(labels, ["append", "_own", "__add__", "__class__"]);
    }

    #[test]
    fn special_variables_are_hidden_unless_asked_for() {
        assert_eq!(presentation(&Value::Null), json!({ "special": "hide" }));
        assert_eq!(presentation(&json!({ "special": "group" })), json!({ "special": "group" }));
        assert_eq!(presentation(&json!({ "all": "inline" })), json!({ "all": "inline" }));
        assert_eq!(presentation(&json!({ "class": "hide" })), json!({ "special": "hide", "class": "hide" }));
    }
}
