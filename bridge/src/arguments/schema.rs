//! The schema of a tool's arguments, made from the `struct` that the tool receives; and the reading of what
//! a model wrote into that `struct`. The schema decides how each value is read ([`super::kind`]), which
//! names are known, and what MCP lists.
//!
//! Two extensions of JSON Schema say what the Rust type cannot: `x-unlisted`, on an argument or with a list
//! of names on their object, marks arguments that a tool accepts without listing them, because a list costs
//! a model tokens in each conversation; and `minLength` or `minItems` of 0 says that an empty value differs
//! from an absent one.

use std::borrow::Cow;
use std::fmt;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tandem_wire::Failure;

use super::ToolArguments;
use super::kind::ArgumentType;

/// Names the arguments of an object that MCP does not list.
const UNLISTED: &str = "x-unlisted";

/// The schema of an object of arguments.
#[derive(Debug, Clone)]
pub struct ArgumentSchema(Value);

impl ArgumentSchema {
    /// The schema of the arguments that `T` holds.
    pub fn of<T: JsonSchema>() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        Self(settings.into_generator().into_root_schema_for::<T>().into())
    }

    /// Describes an argument where the tool lists it; other tools share its `struct` without the description.
    #[must_use]
    pub fn describe(mut self, name: &str, description: &str) -> Self {
        let property = self.0.get_mut("properties").and_then(|all| all.get_mut(name));
        if let Some(property) = property.and_then(Value::as_object_mut) {
            property.insert("description".into(), description.into());
        }
        self
    }

    fn properties(&self) -> impl Iterator<Item = (&str, &Value)> {
        let all = self.0.get("properties").and_then(Value::as_object).into_iter().flatten();
        all.map(|(name, property)| (name.as_str(), property))
    }

    fn has_name(&self, list: &str, name: &str) -> bool {
        let names = self.0.get(list).and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|one| one == name))
    }

    /// Names of all arguments, also of those that MCP does not list.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.properties().map(|(name, _)| name)
    }

    /// The names of the arguments with their types, and whether an empty value has a meaning.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, ArgumentType, bool)> {
        self.properties().map(|(name, property)| {
            let empty_counts =
                ["minLength", "minItems"].iter().any(|key| property.get(key) == Some(&json!(0)));
            (name, ArgumentType::of(property), empty_counts)
        })
    }

    /// The given names that are neither in the schema nor `shared`. An unknown option is reported with the
    /// argument that contains it.
    pub fn unknown_names(&self, arguments: &ToolArguments, shared: &[&str]) -> Vec<String> {
        let known = |name: &str| shared.contains(&name) || self.names().any(|own| own == name);
        let options = self.properties().flat_map(|(name, property)| {
            let known = property.get("properties").and_then(Value::as_object);
            let given = arguments.get(name).and_then(Value::as_object);
            let given = given.filter(|_| known.is_some()).into_iter().flat_map(Map::keys);
            let unknown = given.filter(move |option| known.is_some_and(|known| !known.contains_key(*option)));
            unknown.map(move |option| format!("{name}.{option}"))
        });
        arguments.names_unless(known).into_iter().chain(options).collect()
    }

    /// The schema that MCP lists: short, because a model pays for it in each conversation.
    pub fn listed(&self) -> Value {
        let mut properties = Map::new();
        for (name, property) in self.properties() {
            if self.has_name(UNLISTED, name) || property.get(UNLISTED).is_some() {
                continue;
            }
            let mut listed = ArgumentType::of(property).schema();
            for key in ["description", "default"] {
                let value = property.get(key).filter(|value| is_worth_listing(value));
                if let (Some(listed), Some(value)) = (listed.as_object_mut(), value) {
                    listed.insert(key.into(), value.clone());
                }
            }
            properties.insert(name.to_owned(), listed);
        }
        let required: Vec<&str> =
            properties.keys().map(String::as_str).filter(|name| self.has_name("required", name)).collect();
        match required.is_empty() {
            true => json!({ "type": "object", "properties": properties }),
            false => json!({ "type": "object", "properties": properties, "required": required }),
        }
    }

    /// Converts each argument to its type.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` with the expected form of one that is missing or cannot be read so.
    pub fn normalize(&self, arguments: ToolArguments) -> Result<ToolArguments, Failure> {
        let arguments = arguments.of_kinds(self.kinds())?;
        for (name, kind, _) in self.kinds() {
            if self.has_name("required", name) && !arguments.has(name) {
                let form = kind.description();
                return Err(Failure::invalid(format!("`{name}` is missing; it must be {form}")));
            }
        }
        Ok(arguments)
    }
}

/// Whether a description or a default tells a model something.
fn is_worth_listing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Number(number) => number.as_u64() != Some(0),
        value => !super::kind::is_empty(value),
    }
}

/// Reads arguments into the `struct` that a tool receives.
///
/// # Errors
/// `INVALID_PARAMETER` with the expected form of one that is missing or cannot be read.
pub fn read<T: JsonSchema + DeserializeOwned>(given: Map<String, Value>) -> Result<T, Failure> {
    ToolArguments::new(Some(given)).read_as()
}

/// The arguments of a tool that takes none.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct NoArguments {}

/// Declares a type of arguments that JSON spells in two ways, each with its JSON types.
macro_rules! argument_types {
    ($($(#[$about:meta])* $name:ident($holds:ty): $schema:tt;)*) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
        #[serde(transparent)]
        pub struct $name(pub $holds);

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                schemars::json_schema!($schema)
            }
        }
    )*};
}

argument_types! {
    /// A string, or an object that says more than one string can.
    TextOrObject(Value): { "type": ["string", "object"] };
    /// An object, or a string that is short for it.
    ObjectOrText(Value): { "type": ["object", "string"] };
    /// A list of strings, or one of them.
    TextOrTexts(Vec<String>): { "type": ["string", "array"] };
    /// An integer or a string.
    IntegerOrText(Value): { "type": ["integer", "string"] };
}

impl fmt::Display for IntegerOrText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Value::String(text) => formatter.write_str(text),
            other => write!(formatter, "{other}"),
        }
    }
}
