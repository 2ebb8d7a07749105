//! What a client announced in `initialize`, and what is left out for one that did not: DAP forbids some events and
//! fields to clients that cannot take them, and our own events end some editors' sessions.
//!
//! The program's own bytes are never touched: its `stdout` and `stderr` reach everybody as they were printed.

use serde_json::Value;

/// The `supports…` flags of `InitializeRequestArguments` that decide what a client is sent, or asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct Announced {
    /// `supportsInvalidatedEvent`.
    pub invalidated: bool,
    /// `supportsMemoryEvent`.
    pub memory: bool,
    /// `supportsProgressReporting`.
    pub progress: bool,
    /// `supportsVariableType`.
    pub variable_type: bool,
    /// `supportsVariablePaging`.
    pub variable_paging: bool,
    /// `supportsMemoryReferences`.
    pub memory_references: bool,
    /// `supportsANSIStyling`.
    pub ansi: bool,
    /// `supportsStartDebuggingRequest`.
    pub start_debugging: bool,
    /// `supportsRunInTerminalRequest`.
    pub terminal: bool,
    /// `supportsArgsCanBeInterpretedByShell`.
    pub shell: bool,
}

impl Announced {
    /// As `initialize` says; absent means no.
    pub fn from_initialize(arguments: &Value) -> Self {
        let flag = |key: &str| arguments[key].as_bool().unwrap_or(false);
        Self {
            invalidated: flag("supportsInvalidatedEvent"),
            memory: flag("supportsMemoryEvent"),
            progress: flag("supportsProgressReporting"),
            variable_type: flag("supportsVariableType"),
            variable_paging: flag("supportsVariablePaging"),
            memory_references: flag("supportsMemoryReferences"),
            ansi: flag("supportsANSIStyling"),
            start_debugging: flag("supportsStartDebuggingRequest"),
            terminal: flag("supportsRunInTerminalRequest"),
            shell: flag("supportsArgsCanBeInterpretedByShell"),
        }
    }

    /// Whether it takes an event of this name at all.
    pub fn takes(self, event: &str) -> bool {
        match event {
            "invalidated" => self.invalidated,
            "memory" => self.memory,
            "progressStart" | "progressUpdate" | "progressEnd" => self.progress,
            _ => true,
        }
    }

    /// Takes out of an answer's or event's body what it did not announce.
    pub fn mask(self, name: &str, body: &mut Value) {
        match name {
            "variables" => {
                list_mut(body, "variables").for_each(|item| self.mask_value(item));
            }
            "scopes" if !self.variable_paging => {
                list_mut(body, "scopes")
                    .for_each(|scope| remove(scope, &["namedVariables", "indexedVariables"]));
            }
            "evaluate" | "setVariable" | "setExpression" => self.mask_value(body),
            "output" if !self.ansi && !matches!(body["category"].as_str(), Some("stdout" | "stderr")) => {
                body.get_mut("output").into_iter().for_each(strip_styling);
            }
            _ => {}
        }
    }

    fn mask_value(self, value: &mut Value) {
        if !self.variable_type {
            remove(value, &["type"]);
        }
        if !self.variable_paging {
            remove(value, &["namedVariables", "indexedVariables"]);
        }
        if !self.memory_references {
            remove(value, &["memoryReference"]);
        }
        if !self.ansi {
            for key in ["value", "result"] {
                value.get_mut(key).into_iter().for_each(strip_styling);
            }
        }
    }
}

/// The items of a list in a body that may be anything.
fn list_mut<'a>(body: &'a mut Value, key: &str) -> impl Iterator<Item = &'a mut Value> {
    body.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten()
}

fn remove(body: &mut Value, keys: &[&str]) {
    if let Some(body) = body.as_object_mut() {
        keys.iter().for_each(|key| drop(body.shift_remove(*key)));
    }
}

/// Removes the styling sequences `ESC [ … m` (ECMA-48 SGR); anything else stays.
fn strip_styling(value: &mut Value) {
    let Some(text) = value.as_str().filter(|text| text.contains("\u{1b}[")) else { return };
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = after.find(|letter: char| !(letter.is_ascii_digit() || letter == ';' || letter == ':'));
        match end.map(|end| after.split_at(end)) {
            Some((_, behind)) if behind.starts_with('m') => rest = behind.strip_prefix('m').unwrap_or(behind),
            _ => {
                plain.push_str("\u{1b}[");
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    *value = plain.into();
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_a_client_did_not_announce_are_left_out() {
        let whole = json!({ "variables": [{ "name": "a", "value": "\u{1b}[33m1\u{1b}[0m", "type": "int",
            "indexedVariables": 3, "memoryReference": "0x1", "variablesReference": 5 }] });
        let mut bare = whole.clone();
        Announced::from_initialize(&json!({})).mask("variables", &mut bare);
        assert_eq!(bare, json!({ "variables": [{ "name": "a", "value": "1", "variablesReference": 5 }] }));
        let all = json!({ "supportsVariableType": true, "supportsVariablePaging": true,
            "supportsMemoryReferences": true, "supportsANSIStyling": true });
        let mut same = whole.clone();
        Announced::from_initialize(&all).mask("variables", &mut same);
        assert_eq!(same, whole);
    }

    #[test]
    fn the_programs_own_bytes_keep_their_colours_and_odd_escapes_stay() {
        let bare = Announced::default();
        for (category, text, left) in [
            ("stdout", "\u{1b}[1mx", "\u{1b}[1mx"),
            ("console", "\u{1b}[1;31mx\u{1b}[0m\u{1b}[2K\u{1b}[", "x\u{1b}[2K\u{1b}["),
        ] {
            let mut body = json!({ "category": category, "output": text });
            bare.mask("output", &mut body);
            assert_eq!(body["output"], left);
        }
    }
}
