//! Capabilities of a client, from its `initialize`, and the filter for messages to a client that lacks one:
//! DAP forbids some events and fields to clients that do not announce them, and Tandem's own events end some
//! editors' sessions.
//!
//! The program's own bytes are never touched: every client gets its `stdout` and `stderr` as they were
//! printed.
//!
//! Not here: capabilities of the session ([`super::capabilities`]).

use serde_json::Value;
use tandem_wire::command::{self, BodyValues};
use tandem_wire::types::InitializeRequestArguments;

/// The `supports…` flags of `InitializeRequestArguments` that decide what a client is sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClientCapabilities {
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

impl ClientCapabilities {
    /// Reads the arguments of `initialize`; an absent field means no.
    pub fn from_initialize(arguments: &InitializeRequestArguments) -> Self {
        let is_set = |flag: Option<bool>| flag.unwrap_or(false);
        Self {
            invalidated: is_set(arguments.supports_invalidated_event),
            memory: is_set(arguments.supports_memory_event),
            progress: is_set(arguments.supports_progress_reporting),
            variable_type: is_set(arguments.supports_variable_type),
            variable_paging: is_set(arguments.supports_variable_paging),
            memory_references: is_set(arguments.supports_memory_references),
            ansi: is_set(arguments.supports_ansi_styling),
            start_debugging: is_set(arguments.supports_start_debugging_request),
            terminal: is_set(arguments.supports_run_in_terminal_request),
            shell: is_set(arguments.supports_args_can_be_interpreted_by_shell),
        }
    }

    /// Whether it supports an event of this name.
    pub fn accepts_event(self, event: &str) -> bool {
        match event {
            "invalidated" => self.invalidated,
            "memory" => self.memory,
            "progressStart" | "progressUpdate" | "progressEnd" => self.progress,
            _ => true,
        }
    }

    /// Removes from the body of a response or event what the client did not announce.
    pub fn mask(self, name: &str, body: &mut Value) {
        match command::find(name).map_or(BodyValues::None, |spec| spec.values) {
            BodyValues::Items(list) => list_mut(body, list).for_each(|item| self.mask_value(item)),
            BodyValues::Counts(list) if !self.variable_paging => {
                list_mut(body, list).for_each(|item| remove(item, &["namedVariables", "indexedVariables"]));
            }
            BodyValues::Body => self.mask_value(body),
            BodyValues::Counts(_) | BodyValues::None => {}
        }
        if name == "output" && !self.ansi && !matches!(body["category"].as_str(), Some("stdout" | "stderr")) {
            body.get_mut("output").into_iter().for_each(strip_styling);
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
        ClientCapabilities::default().mask("variables", &mut bare);
        assert_eq!(bare, json!({ "variables": [{ "name": "a", "value": "1", "variablesReference": 5 }] }));
        let all = json!({ "supportsVariableType": true, "supportsVariablePaging": true,
            "supportsMemoryReferences": true, "supportsANSIStyling": true });
        let mut same = whole.clone();
        ClientCapabilities::from_initialize(&tandem_wire::types::read(&all)).mask("variables", &mut same);
        assert_eq!(same, whole);
    }

    #[test]
    fn the_programs_own_bytes_keep_their_colours_and_odd_escapes_stay() {
        let bare = ClientCapabilities::default();
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
