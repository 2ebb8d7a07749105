//! Which failures an editor shows to its user in a dialog (DAP `showUser`): those of what a person has started and must act on.
//!
//! Editors evaluate watches and hovers, ask for completions and read variables without being told to, at each stop. A failure there
//! is a row of a table, not a dialog, whether our engine or a child adapter says it. One table for all of them.

use serde_json::Value;

/// What a person starts: everything else an editor asks by itself, or shows the failure where the value would be.
const STARTED_BY_A_PERSON: [&str; 16] = [
    "attach",
    "configurationDone",
    "continue",
    "disconnect",
    "goto",
    "launch",
    "next",
    "pause",
    "restart",
    "restartFrame",
    "reverseContinue",
    "stepBack",
    "stepIn",
    "stepOut",
    "terminate",
    "terminateThreads",
];

/// Takes `showUser` back from the failure of a request that nobody has to act on. `body` is the response's.
pub fn only_what_a_person_started(command: &str, body: &mut Value) {
    if STARTED_BY_A_PERSON.contains(&command) {
        return;
    }
    if let Some(show) = body.get_mut("error").and_then(|error| error.get_mut("showUser")) {
        *show = Value::Bool(false);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_failed_launch_is_shown_and_a_failed_watch_is_not() {
        let shown = |command: &str, body: Value| {
            let mut body = body;
            only_what_a_person_started(command, &mut body);
            body["error"]["showUser"].clone()
        };
        let failed = json!({ "error": { "id": 1, "showUser": true } });
        for command in
            ["evaluate", "setVariable", "setExpression", "completions", "variables", "setBreakpoints"]
        {
            assert_eq!(shown(command, failed.clone()), false, "{command}");
        }
        for command in ["launch", "attach", "restart", "continue"] {
            assert_eq!(shown(command, failed.clone()), true, "{command}");
        }
        assert_eq!(shown("launch", json!({ "error": { "showUser": false } })), false);
        assert_eq!(shown("evaluate", Value::Null), Value::Null);
        assert_eq!(shown("evaluate", json!({ "error": "odd" })), Value::Null);
    }
}
