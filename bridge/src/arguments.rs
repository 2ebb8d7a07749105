//! What agents send: camelCase or snake_case, and the other spellings they know. What no tool looks at is remembered, so that
//! an agent learns about a name that it misspelt.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use dap_wire::Failure;
use serde_json::{Map, Value};

/// Arguments of a tool call, in camelCase.
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    given: Map<String, Value>,
    /// What was looked at; shared by clones.
    looked_at: Arc<Mutex<BTreeSet<String>>>,
}

/// Spellings of other debuggers' tools.
const ALIASES: [(&str, &str); 8] = [
    ("pid", "processId"),
    ("file", "sourceFile"),
    ("id", "breakpointId"),
    ("terminateProcess", "terminate"),
    ("stopOnEntry", "stopAtEntry"),
    ("timeout", "timeoutMs"),
    ("startFrame", "start"),
    ("maxFrames", "count"),
];

/// Arguments that are objects of options, each with its options.
const OPTIONS: [(&str, &[&str]); 1] = [("expressionEvaluationOptions", &["allowToString"])];

impl Arguments {
    /// Reads a tool call's arguments; the canonical spelling wins over an alias.
    pub fn new(given: Option<Map<String, Value>>) -> Self {
        let given: Map<String, Value> =
            given.unwrap_or_default().into_iter().map(|(key, value)| (camel(&key), value)).collect();
        let mut known = given.clone();
        for (alias, name) in ALIASES {
            if let Some(value) = given.get(alias)
                && !given.contains_key(name)
            {
                known.insert(name.into(), value.clone());
            }
        }
        Self { given: known, looked_at: Arc::default() }
    }

    /// The value, if there is one; looked at from now on.
    fn get(&self, key: &str) -> Option<&Value> {
        let mut looked_at = self.looked_at.lock().unwrap_or_else(PoisonError::into_inner);
        if !looked_at.contains(key) {
            looked_at.insert(key.to_owned());
        }
        self.given.get(key)
    }

    /// Unknown argument names: nothing has read them, and they are not among those that the tool `takes`. An unknown option
    /// is reported with the argument that contains it.
    pub fn unknown<'a>(&self, takes: impl Iterator<Item = &'a str>) -> Vec<String> {
        let takes: BTreeSet<&str> = takes.collect();
        let looked_at = self.looked_at.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let known = |name: &str| takes.contains(name) || looked_at.contains(name);
        let alias = |key: &str| ALIASES.iter().any(|(alias, name)| *alias == key && known(name));
        let names = self.given.keys().filter(|key| !known(key) && !alias(key));
        // An alias put its value under the other name, too.
        let names = names
            .filter(|key| !ALIASES.iter().any(|(alias, name)| name == key && self.given.contains_key(*alias)))
            .cloned();
        let of = OPTIONS.iter().filter(|(name, _)| looked_at.contains(*name));
        let options = of.flat_map(|(name, known)| {
            let given = self.parsed(name);
            let given: Vec<String> = given.as_object().into_iter().flat_map(Map::keys).cloned().collect();
            let unknown = given.into_iter().filter(|option| !known.contains(&option.as_str()));
            unknown.map(move |option| format!("{name}.{option}"))
        });
        names.chain(options).collect()
    }

    /// The same with another value there.
    #[must_use]
    pub fn with(&self, key: &str, value: Value) -> Self {
        let mut changed = self.clone();
        changed.given.insert(key.into(), value);
        changed
    }

    /// The value as it came; `Null` when absent.
    pub fn value(&self, key: &str) -> Value {
        self.get(key).cloned().unwrap_or(Value::Null)
    }

    /// A text.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when it is something else.
    pub fn text(&self, key: &str) -> Result<Option<String>, Failure> {
        match self.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(Failure::invalid(format!("`{key}` must be a string, not {other}"))),
        }
    }

    /// A text that must be there; a number or a truth value is taken as it is written.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when it is missing or something else.
    pub fn need_written(&self, key: &str) -> Result<String, Failure> {
        match self.get(key) {
            Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(value.to_string()),
            _ => self.need_text(key),
        }
    }

    /// A text that must be there.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when it is missing or something else.
    pub fn need_text(&self, key: &str) -> Result<String, Failure> {
        self.text(key)?.ok_or_else(|| Failure::invalid(format!("`{key}` is missing; it must be a string")))
    }

    /// A number from 0 on; numbers as text are taken too.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when it is something else.
    pub fn number(&self, key: &str) -> Result<Option<u64>, Failure> {
        match self.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                value.as_u64().or_else(|| value.as_str()?.trim().parse().ok()).map(Some).ok_or_else(|| {
                    Failure::invalid(format!("`{key}` must be a number from 0 on, not {value}"))
                })
            }
        }
    }

    /// A list of texts; one text is a list of one, and a list may come as JSON in a string. Empty when absent.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when it is something else.
    pub fn texts(&self, key: &str) -> Result<Vec<String>, Failure> {
        let wrong =
            |other: &Value| Failure::invalid(format!("`{key}` must be a list of strings, not {other}"));
        let list = match self.get(key) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(list)) => list.clone(),
            Some(Value::String(text)) => match serde_json::from_str(text) {
                Ok(Value::Array(list)) => list,
                _ => vec![Value::String(text.clone())],
            },
            Some(other) => return Err(wrong(other)),
        };
        list.iter().map(|one| one.as_str().map(str::to_owned).ok_or_else(|| wrong(one))).collect()
    }

    /// A value whose list, object or truth may come as JSON in a string; `Null` when absent.
    pub fn parsed(&self, key: &str) -> Value {
        let value = self.value(key);
        let json =
            |text: &&str| text.trim_start().starts_with(['[', '{']) || matches!(*text, "true" | "false");
        let text = value.as_str().filter(json);
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or(value)
    }

    /// A switch; also as text.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when it is something else.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, Failure> {
        match self.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(Value::String(text)) if text == "true" || text == "false" => Ok(Some(text == "true")),
            Some(other) => Err(Failure::invalid(format!("`{key}` must be true or false, not {other}"))),
        }
    }
}

fn camel(key: &str) -> String {
    let mut parts = key.split('_');
    let mut name = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut letters = part.chars();
        name.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        name.extend(letters);
    }
    name
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_spelling_an_agent_knows_means_the_same() {
        for given in
            [json!({"processId": 7}), json!({"process_id": 7}), json!({"pid": 7}), json!({"pid": "7"})]
        {
            let arguments = Arguments::new(given.as_object().cloned());
            assert_eq!(arguments.number("processId").unwrap(), Some(7), "{given}");
        }
        let both = Arguments::new(json!({"id": 1, "breakpointId": 2}).as_object().cloned());
        assert_eq!(both.number("breakpointId").unwrap(), Some(2));
        assert!(both.text("breakpointId").is_err());
    }

    #[test]
    fn an_unknown_name_is_reported() {
        let given =
            json!({ "source_file": "a", "lien": 3, "pid": 4, "id": 5, "session": "x", "flag": "true" });
        let arguments = Arguments::new(given.as_object().cloned());
        assert_eq!(
            (arguments.number("processId").unwrap(), arguments.flag("flag").unwrap()),
            (Some(4), Some(true))
        );
        assert_eq!(arguments.unknown(["sourceFile", "session"].into_iter()), ["lien", "id"]);
    }

    #[test]
    fn an_unknown_option_is_reported_with_its_owner() {
        let name = "expressionEvaluationOptions";
        for given in [json!({ "allowToString": true, "alowToString": 1 }), json!("{\"alowToString\": true}")]
        {
            let arguments = Arguments::new(json!({ name: given }).as_object().cloned());
            assert_eq!(arguments.unknown([].into_iter()), [name], "the whole means nothing to this tool");
            arguments.parsed(name);
            assert_eq!(arguments.unknown([].into_iter()), ["expressionEvaluationOptions.alowToString"]);
        }
    }

    #[test]
    fn a_list_may_come_as_text() {
        let arguments = Arguments::new(json!({ "args": "[\"a\"]", "engine": "gdb" }).as_object().cloned());
        assert_eq!((arguments.parsed("args"), arguments.parsed("engine")), (json!(["a"]), json!("gdb")));
    }
}
