//! Arguments of a tool call: camelCase or snake_case, and the other spellings that agents use. [`schema`]
//! reads them into the `struct` of the tool and names those that the tool does not know; [`kind`] parses
//! the values, and `local_path` those that are paths. [`attributes`] lists what is passed on to the adapter.

pub mod attributes;
pub mod kind;
mod local_path;
pub mod schema;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tandem_wire::Failure;
use tandem_wire::environment::Variables;

use self::kind::ArgumentType;
use self::schema::ArgumentSchema;

/// Arguments of a tool call, in camelCase.
#[derive(Debug, Clone, Default)]
pub struct ToolArguments {
    given: Map<String, Value>,
}

/// Spellings of other debuggers' tools.
const ALIASES: [(&str, &str); 10] = [
    ("pid", "processId"),
    ("file", "sourceFile"),
    ("id", "breakpointId"),
    ("terminateProcess", "terminate"),
    ("stopOnEntry", "stopAtEntry"),
    ("timeout", "timeoutMs"),
    ("startFrame", "start"),
    ("maxFrames", "count"),
    ("testName", "filter"),
    ("test", "filter"),
];

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
        Self { given: known }
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
                Some(mut value) => {
                    if local_path::NAMES.contains(&name) {
                        local_path::expand_all(&mut value);
                    }
                    self.given.insert(name.to_owned(), value);
                }
                None => drop(self.given.shift_remove(name)),
            }
        }
        Ok(self)
    }

    /// Reads all arguments into the `struct` that a tool receives; they have been
    /// [normalized](schema::ArgumentSchema::normalize).
    ///
    /// # Errors
    /// `INVALID_PARAMETER` with the reason.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        T::deserialize(&self.given)
            .map_err(|error| Failure::invalid(format!("the arguments cannot be read: {error}")))
    }

    /// Reads those of the arguments that `T` holds.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` with the expected form of one that is missing or cannot be read.
    pub fn read_as<T: JsonSchema + DeserializeOwned>(&self) -> Result<T, Failure> {
        ArgumentSchema::of::<T>().normalize(self.clone())?.parse()
    }

    /// Whether there is an argument of this name.
    pub fn has(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.given.get(name)
    }

    /// The given names that are not `known`; an alias of one that is known is known too.
    fn names_unless(&self, known: impl Fn(&str) -> bool) -> Vec<String> {
        let is_alias = |key: &str| ALIASES.iter().any(|(alias, name)| *alias == key && known(name));
        // An alias put its value under the other name, too.
        let has_alias =
            |key: &str| ALIASES.iter().any(|(alias, name)| *name == key && self.given.contains_key(*alias));
        let names = self.given.keys().filter(|key| !known(key) && !is_alias(key) && !has_alias(key));
        names.cloned().collect()
    }
}

/// Variables for the environment of a process, by the rule for strings; `None` unsets a variable.
///
/// # Errors
/// `INVALID_PARAMETER` when a value is neither a string, a number, a truth value nor null, or no process can
/// have such a variable.
pub fn environment(key: &str, given: &Map<String, Value>) -> Result<Variables, Failure> {
    tandem_wire::environment::read_with(key, given, kind::text)
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
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    /// SampleArguments of each type that tools take.
    #[derive(Debug, Default, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase", default)]
    struct SampleArguments {
        process_id: Option<u64>,
        breakpoint_id: Option<u64>,
        source_file: Option<String>,
        filter: Option<String>,
        code: Option<String>,
        flag: bool,
        list: Vec<String>,
        #[schemars(length(min = 0))]
        filters: Option<Vec<String>>,
        #[schemars(length(min = 0))]
        data: Option<String>,
        any: Option<Value>,
    }

    fn read(given: Value) -> SampleArguments {
        schema::read(given.as_object().cloned().unwrap()).unwrap()
    }

    #[test]
    fn every_spelling_an_agent_knows_means_the_same() {
        for given in
            [json!({"processId": 7}), json!({"process_id": 7}), json!({"pid": 7}), json!({"pid": "7"})]
        {
            assert_eq!(read(given.clone()).process_id, Some(7), "{given}");
        }
        for given in [json!({"filter": "a"}), json!({"testName": "a"}), json!({"test": "a", "filter": ""})] {
            assert_eq!(read(given.clone()).filter.as_deref(), Some("a"), "{given}");
        }
        assert_eq!(read(json!({"id": 1, "breakpointId": 2})).breakpoint_id, Some(2));
        assert_eq!(read(json!({"id": 1, "breakpointId": ""})).breakpoint_id, Some(1));
    }

    #[test]
    fn arguments_are_read_by_their_types() {
        let given = json!({ "sourceFile": "", "breakpointId": 5.0, "code": 7, "flag": "True", "list": [1, ""],
            "filters": [], "data": "", "any": "[1]" });
        let expected = SampleArguments {
            breakpoint_id: Some(5),
            code: Some("7".into()),
            flag: true,
            list: vec!["1".into(), String::new()],
            filters: Some(Vec::new()),
            data: Some(String::new()),
            any: Some(json!([1])),
            ..SampleArguments::default()
        };
        assert_eq!(read(given), expected);
        assert_eq!(read(json!({ "filters": "", "data": null, "list": [] })), SampleArguments::default());
    }

    #[test]
    fn a_missing_argument_is_named_with_its_form() {
        #[derive(Debug, Deserialize, JsonSchema)]
        struct NeededArguments {
            #[allow(dead_code, reason = "only its schema matters")]
            path: String,
        }
        for given in [json!({}), json!({ "path": "" }), json!({ "path": null })] {
            let failure = schema::read::<NeededArguments>(given.as_object().cloned().unwrap()).unwrap_err();
            assert_eq!(failure.message, "`path` is missing; it must be a string", "{given}");
        }
    }

    #[test]
    fn variables_of_an_environment_are_strings_or_unset() {
        let read = |env: Value| environment("env", env.as_object().unwrap());
        let set = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
        let given =
            json!({ "PORT": 5000, "RATE": 2.5, "COUNT": 7.0, "DEBUG": true, "EMPTY": "", "HOME": null });
        let expected = [
            set("PORT", "5000"),
            set("RATE", "2.5"),
            set("COUNT", "7"),
            set("DEBUG", "true"),
            set("EMPTY", ""),
            ("HOME".to_owned(), None),
        ];
        assert_eq!(read(given).unwrap(), expected);
        assert!(read(json!({ "A": [1] })).unwrap_err().message.contains("`env` must map names"));
        assert!(read(json!({ "A=B": 1 })).unwrap_err().message.contains("`A=B` of `env`"));
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
        let given = json!({ "source_file": "a", "lien": 3, "pid": 4, "timeout": 5, "session": "x" });
        let arguments = ToolArguments::new(given.as_object().cloned());
        let schema = ArgumentSchema::of::<SampleArguments>();
        assert_eq!(schema.unknown_names(&arguments, &["session"]), ["lien", "timeout"]);
    }

    #[test]
    fn an_unknown_option_is_reported_with_its_owner() {
        #[derive(Debug, Deserialize, JsonSchema)]
        struct SampleOptions {
            #[allow(dead_code, reason = "only its schema matters")]
            flag: Option<bool>,
        }
        #[derive(Debug, Deserialize, JsonSchema)]
        struct SampleOwner {
            #[allow(dead_code, reason = "only its schema matters")]
            options: Option<SampleOptions>,
        }
        let schema = ArgumentSchema::of::<SampleOwner>();
        for given in [json!({ "flag": true, "flog": 1 }), json!("{\"flog\": true}")] {
            let given = json!({ "options": given }).as_object().cloned();
            let arguments = schema.normalize(ToolArguments::new(given)).unwrap();
            assert_eq!(schema.unknown_names(&arguments, &[]), ["options.flog"]);
        }
    }
}
