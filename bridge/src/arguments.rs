//! Arguments of a tool call: camelCase or snake_case, and the other spellings that agents use. Arguments that
//! no tool reads are recorded, so that the error can name a misspelt one. [`kind`] parses the values.

pub mod kind;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use dap_wire::Failure;
use serde_json::{Map, Value};

use self::kind::{ArgumentType, ElementType};

/// Arguments of a tool call, in camelCase.
#[derive(Debug, Clone, Default)]
pub struct ToolArguments {
    given: Map<String, Value>,
    /// Keys that a tool has read; shared by clones.
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

impl ToolArguments {
    /// Reads a tool call's arguments; the canonical spelling wins over an alias, and `null` means absent.
    pub fn new(given: Option<Map<String, Value>>) -> Self {
        let given = given.unwrap_or_default().into_iter().filter(|(_, value)| !value.is_null());
        let given: Map<String, Value> = given.map(|(key, value)| (camel(&key), value)).collect();
        let mut known = given.clone();
        for (alias, name) in ALIASES {
            if let Some(value) = given.get(alias)
                && given.get(name).is_none_or(kind::is_empty)
            {
                known.insert(name.into(), value.clone());
            }
        }
        Self { given: known, looked_at: Arc::default() }
    }

    /// As [`new`](Self::new), with each argument converted to the type in the tool's table.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` with the expected form, of one that cannot be read so.
    pub fn of_kinds<'a>(
        mut self,
        table: impl Iterator<Item = (&'a str, ArgumentType, bool)>,
    ) -> Result<Self, Failure> {
        for (name, kind, empty_counts) in table {
            let Some(given) = self.given.get(name) else { continue };
            match kind.read(name, given, empty_counts)? {
                Some(value) => drop(self.given.insert(name.to_owned(), value)),
                None => drop(self.given.shift_remove(name)),
            }
        }
        Ok(self)
    }

    /// Returns the value, if there is one, and marks the argument as read.
    fn get(&self, key: &str) -> Option<&Value> {
        let mut looked_at = self.looked_at.lock().unwrap_or_else(PoisonError::into_inner);
        if !looked_at.contains(key) {
            looked_at.insert(key.to_owned());
        }
        self.given.get(key)
    }

    /// Unknown argument names: nothing has read them, and they are not among those that the tool `takes`. An
    /// unknown option is reported with the argument that contains it.
    pub fn unknown_names<'a>(&self, takes: impl Iterator<Item = &'a str>) -> Vec<String> {
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
            let given = self.parse_json(name);
            let given: Vec<String> = given.as_object().into_iter().flat_map(Map::keys).cloned().collect();
            let unknown = given.into_iter().filter(|option| !known.contains(&option.as_str()));
            unknown.map(move |option| format!("{name}.{option}"))
        });
        names.chain(options).collect()
    }

    /// Returns a copy in which one argument has another value.
    #[must_use]
    pub fn with(&self, key: &str, value: Value) -> Self {
        let mut changed = self.clone();
        changed.given.insert(key.into(), value);
        changed
    }

    /// The value, unchanged; `Null` when absent or empty.
    pub fn value(&self, key: &str) -> Value {
        self.get(key).filter(|value| !kind::is_empty(value)).cloned().unwrap_or(Value::Null)
    }

    fn read(&self, key: &str, kind: ArgumentType, empty_counts: bool) -> Result<Option<Value>, Failure> {
        kind.read(key, self.get(key).unwrap_or(&Value::Null), empty_counts)
    }

    /// A text; `None` when absent or empty.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when it is something else.
    pub fn text(&self, key: &str) -> Result<Option<String>, Failure> {
        Ok(self.read(key, ArgumentType::Text, false)?.and_then(|text| text.as_str().map(str::to_owned)))
    }

    /// A text that must be there, and not empty.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when it is missing or something else.
    pub fn need_text(&self, key: &str) -> Result<String, Failure> {
        self.text(key)?.ok_or_else(|| missing_argument(key))
    }

    /// Returns a required string, which may be empty: the content of a file.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when it is missing or something else.
    pub fn need_content(&self, key: &str) -> Result<String, Failure> {
        let text = self.read(key, ArgumentType::Text, true)?;
        text.and_then(|text| text.as_str().map(str::to_owned)).ok_or_else(|| missing_argument(key))
    }

    /// An integer, at least 0.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when it is something else.
    pub fn number(&self, key: &str) -> Result<Option<u64>, Failure> {
        Ok(self.read(key, ArgumentType::Integer, false)?.and_then(|number| number.as_u64()))
    }

    /// A list of texts; empty when absent.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when it is something else.
    pub fn texts(&self, key: &str) -> Result<Vec<String>, Failure> {
        Ok(self.optional_texts(key)?.unwrap_or_default())
    }

    /// A list of texts that may be given as empty; `None` when absent.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when it is something else.
    pub fn optional_texts(&self, key: &str) -> Result<Option<Vec<String>>, Failure> {
        let list = self.read(key, ArgumentType::List(ElementType::Text), true)?;
        let texts = |list: Value| {
            let list = list.as_array().into_iter().flatten();
            list.filter_map(|one| one.as_str().map(str::to_owned)).collect()
        };
        Ok(list.map(texts))
    }

    /// A value whose list, object or truth may come as JSON in a string; `Null` when absent or empty.
    pub fn parse_json(&self, key: &str) -> Value {
        let value = self.value(key);
        let json =
            |text: &&str| text.trim_start().starts_with(['[', '{']) || matches!(*text, "true" | "false");
        let text = value.as_str().filter(json);
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or(value)
    }

    /// Variables for the environment of a process, by the rule for strings; `None` unsets a variable.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when a value is neither a string, a number, a truth value nor null.
    pub fn environment(&self, key: &str) -> Result<Vec<(String, Option<String>)>, Failure> {
        let given = self.parse_json(key);
        let wrong = || Failure::invalid(format!("`{key}` must map names to strings or null, not {given}"));
        let variable = |(name, value): (&String, &Value)| match value {
            Value::Null => Ok((name.clone(), None)),
            value => Ok((name.clone(), Some(kind::text(value).ok_or_else(wrong)?))),
        };
        match &given {
            Value::Null => Ok(Vec::new()),
            Value::Object(map) => map.iter().map(variable).collect(),
            _ => Err(wrong()),
        }
    }

    /// A boolean; `None` when it is absent.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when it is not a boolean.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, Failure> {
        Ok(self.read(key, ArgumentType::Flag, false)?.and_then(|flag| flag.as_bool()))
    }
}

fn missing_argument(key: &str) -> Failure {
    Failure::invalid(format!("`{key}` is missing; it must be a string"))
}

/// Converts a name to camel case. Leading underscores (`__ptyEcho`) are kept.
fn camel(key: &str) -> String {
    let rest = key.trim_start_matches('_');
    let (before, _) = key.split_at(key.len() - rest.len());
    let mut parts = rest.split('_');
    let mut name = format!("{before}{}", parts.next().unwrap_or_default());
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
            let arguments = ToolArguments::new(given.as_object().cloned());
            assert_eq!(arguments.number("processId").unwrap(), Some(7), "{given}");
        }
        let both = ToolArguments::new(json!({"id": 1, "breakpointId": 2}).as_object().cloned());
        assert_eq!(both.number("breakpointId").unwrap(), Some(2));
        let empty = ToolArguments::new(json!({"id": 1, "breakpointId": ""}).as_object().cloned());
        assert_eq!(empty.number("breakpointId").unwrap(), Some(1));
    }

    #[test]
    fn arguments_that_no_table_lists_are_read_by_the_same_rule() {
        let given = json!({ "text": "", "none": null, "line": 5.0, "code": 7, "flag": "True", "list": [1, ""],
            "no_list": "", "empty": [], "data": "" });
        let arguments = ToolArguments::new(given.as_object().cloned());
        assert_eq!((arguments.text("text").unwrap(), arguments.text("none").unwrap()), (None, None));
        assert_eq!((arguments.value("text"), arguments.parse_json("text")), (Value::Null, Value::Null));
        assert_eq!(arguments.number("line").unwrap(), Some(5));
        assert_eq!(arguments.need_text("code").unwrap(), "7");
        assert_eq!(arguments.flag("flag").unwrap(), Some(true));
        assert_eq!(arguments.texts("list").unwrap(), ["1", ""]);
        assert_eq!(arguments.optional_texts("noList").unwrap(), None);
        assert_eq!(arguments.optional_texts("empty").unwrap(), Some(vec![]));
        assert_eq!(arguments.need_content("data").unwrap(), "");
        assert!(arguments.need_text("data").unwrap_err().message.contains("is missing"));
    }

    #[test]
    fn variables_of_an_environment_are_strings_or_unset() {
        let read =
            |env: Value| ToolArguments::new(json!({ "env": env }).as_object().cloned()).environment("env");
        let set = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
        let given =
            json!({ "PORT": 5000, "RATE": 2.5, "COUNT": 7.0, "DEBUG": true, "EMPTY": "", "HOME": null });
        for given in [given.clone(), json!(given.to_string())] {
            let expected = [
                set("PORT", "5000"),
                set("RATE", "2.5"),
                set("COUNT", "7"),
                set("DEBUG", "true"),
                set("EMPTY", ""),
                ("HOME".to_owned(), None),
            ];
            assert_eq!(read(given).unwrap(), expected);
        }
        assert_eq!(read(Value::Null).unwrap(), []);
        for wrong in [json!({ "A": [1] }), json!(["A=1"]), json!("A=1")] {
            assert!(read(wrong).unwrap_err().message.contains("`env` must map names"));
        }
    }

    #[test]
    fn underscores_before_a_name_are_part_of_it() {
        for (key, name) in [
            ("__ptyEcho", "__ptyEcho"),
            ("__pty_echo", "__ptyEcho"),
            ("_x", "_x"),
            ("__", "__"),
            ("stop_at_entry", "stopAtEntry"),
        ] {
            assert_eq!(camel(key), name);
        }
    }

    #[test]
    fn an_unknown_name_is_reported() {
        let given =
            json!({ "source_file": "a", "lien": 3, "pid": 4, "id": 5, "session": "x", "flag": "true" });
        let arguments = ToolArguments::new(given.as_object().cloned());
        assert_eq!(
            (arguments.number("processId").unwrap(), arguments.flag("flag").unwrap()),
            (Some(4), Some(true))
        );
        assert_eq!(arguments.unknown_names(["sourceFile", "session"].into_iter()), ["lien", "id"]);
    }

    #[test]
    fn an_unknown_option_is_reported_with_its_owner() {
        let name = "expressionEvaluationOptions";
        for given in [json!({ "allowToString": true, "alowToString": 1 }), json!("{\"alowToString\": true}")]
        {
            let arguments = ToolArguments::new(json!({ name: given }).as_object().cloned());
            assert_eq!(
                arguments.unknown_names([].into_iter()),
                [name],
                "the whole means nothing to this tool"
            );
            arguments.parse_json(name);
            assert_eq!(arguments.unknown_names([].into_iter()), ["expressionEvaluationOptions.alowToString"]);
        }
    }

    #[test]
    fn a_list_may_come_as_text() {
        let arguments =
            ToolArguments::new(json!({ "args": "[\"a\"]", "engine": "gdb" }).as_object().cloned());
        assert_eq!(
            (arguments.parse_json("args"), arguments.parse_json("engine")),
            (json!(["a"]), json!("gdb"))
        );
    }
}
