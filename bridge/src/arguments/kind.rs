//! The types of a tool's arguments, and the one rule for reading what a model wrote for each. Not here: the
//! schema that names the type of each ([`super::schema`]).
//!
//! - `null` means absent, and so does what is empty (`""`, `[]`, `{}`), except where the schema says that
//!   empty has a meaning.
//! - A whole float, also as text, is an integer: some clients send every number as a float.
//! - A number or a truth value becomes a string where a string is wanted: `7` and `7.0` are `"7"`.
//! - 1 and 0 are true and false where a truth value is wanted.
//! - A list or an object may come as JSON in a string; one element is a list of one.
//! - Anything else is refused with the expected form.

use serde_json::{Value, json};
use tandem_wire::Failure;

/// The largest float up to which each whole number is exact.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// A JSON type of arguments, or two that a tool accepts in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentType {
    /// A string, which may be empty.
    Text,
    /// An integer, at least 0.
    Integer,
    /// A number, with or without a fraction.
    Number,
    /// The JSON values `true` and `false`.
    Flag,
    /// An integer or a string.
    IntegerOrText,
    /// A JSON object with any keys.
    Object,
    /// A string, or an object that says more.
    TextOrObject,
    /// A string, or a list of them.
    TextOrTexts,
    /// An object, or a string that is short for it.
    ObjectOrText,
    /// A list, with the type of its elements.
    List(ElementType),
    /// Any JSON value, which an adapter reads.
    Any,
}

/// A form of the elements of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementType {
    /// Any JSON value, unchecked.
    Any,
    /// A text, which may be empty.
    Text,
    /// An integer, at least 0.
    Integer,
    /// A JSON object with any keys.
    Object,
}

impl ElementType {
    fn of(schema: Option<&Value>) -> Self {
        match schema.map(ArgumentType::of) {
            Some(ArgumentType::Text) => Self::Text,
            Some(ArgumentType::Integer) => Self::Integer,
            Some(ArgumentType::Object) => Self::Object,
            _ => Self::Any,
        }
    }
}

impl ArgumentType {
    /// The type that a JSON schema describes. An optional argument may also be null.
    pub fn of(schema: &Value) -> Self {
        let types: Vec<&str> = match schema.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let types: Vec<&str> = types.into_iter().filter(|name| *name != "null").collect();
        match types.as_slice() {
            ["string"] => Self::Text,
            ["integer"] => Self::Integer,
            ["number"] => Self::Number,
            ["boolean"] => Self::Flag,
            ["object"] => Self::Object,
            ["integer", "string"] => Self::IntegerOrText,
            ["string", "object"] => Self::TextOrObject,
            ["string", "array"] => Self::TextOrTexts,
            ["object", "string"] => Self::ObjectOrText,
            ["array"] => Self::List(ElementType::of(schema.get("items"))),
            _ => Self::Any,
        }
    }

    /// Returns the type as a JSON schema.
    pub fn schema(self) -> Value {
        let name = match self {
            // A list of types costs more tokens than it says.
            Self::Text | Self::TextOrObject | Self::TextOrTexts => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Flag => "boolean",
            Self::IntegerOrText => return json!({ "type": ["integer", "string"] }),
            Self::Object | Self::ObjectOrText => "object",
            Self::List(element) => {
                let element = match element {
                    ElementType::Any => return json!({ "type": "array" }),
                    ElementType::Text => Self::Text,
                    ElementType::Integer => Self::Integer,
                    ElementType::Object => Self::Object,
                };
                return json!({ "type": "array", "items": element.schema() });
            }
            Self::Any => return json!({}),
        };
        json!({ "type": name })
    }

    /// The value of the argument `key`, in the form that the kind has; `None` when it is absent.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` with the expected form.
    pub fn read(self, key: &str, given: &Value, empty_counts: bool) -> Result<Option<Value>, Failure> {
        // An empty string is only a value where a string is one.
        let empty_counts = empty_counts && (given != "" || self == Self::Text);
        if given.is_null() || (!empty_counts && is_empty(given)) {
            return Ok(None);
        }
        let value = self.convert(given).ok_or_else(|| {
            Failure::invalid(format!("`{key}` must be {}, not {given}", self.description()))
        })?;
        Ok((empty_counts || !is_empty(&value)).then_some(value))
    }

    /// The expected form, for messages.
    pub fn description(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Integer => "an integer, at least 0",
            Self::Number => "a number",
            Self::Flag => "true or false",
            Self::IntegerOrText => "an integer or a string",
            Self::Object => "an object",
            Self::TextOrObject | Self::ObjectOrText => "a string or an object",
            Self::TextOrTexts => "a string or a list of strings",
            Self::List(ElementType::Any) => "an array",
            Self::List(ElementType::Text) => "a list of strings",
            Self::List(ElementType::Integer) => "a list of integers",
            Self::List(ElementType::Object) => "an array of objects",
            Self::Any => "any value",
        }
    }

    fn convert(self, given: &Value) -> Option<Value> {
        match self {
            Self::Text => text(given).map(Value::from),
            Self::Integer => integer(given).map(Value::from),
            Self::Number => number(given).map(Value::from),
            Self::Flag => flag(given).map(Value::from),
            Self::IntegerOrText => match given {
                Value::String(text) => Some(json!(text)),
                other => integer(other).map(Value::from),
            },
            Self::Object => Some(parse_json(given, '{')).filter(Value::is_object),
            Self::TextOrObject | Self::ObjectOrText => match parse_json(given, '{') {
                object @ Value::Object(_) => Some(object),
                other => text(&other).map(Value::from),
            },
            Self::TextOrTexts => list(given, ElementType::Text),
            Self::List(element) => list(given, element),
            Self::Any => Some(parse_any(given)),
        }
    }
}

/// Whether there is nothing in it.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
        _ => false,
    }
}

/// The string that a scalar means.
pub(crate) fn text(given: &Value) -> Option<String> {
    match given {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => {
            let whole = number.as_f64().filter(|float| number.is_f64() && is_whole(*float));
            // Without the sign of a negative zero.
            Some(whole.map_or_else(|| number.to_string(), |float| format!("{:.0}", float + 0.0)))
        }
        Value::Bool(_) => Some(given.to_string()),
        _ => None,
    }
}

fn is_whole(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() <= MAX_EXACT
}

fn integer(given: &Value) -> Option<u64> {
    let whole = |number: f64| {
        // The text of a whole float is that of the integer.
        (is_whole(number) && number >= 0.0).then(|| format!("{number:.0}").parse().ok()).flatten()
    };
    match given {
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => {
            let text = text.trim();
            text.parse().ok().or_else(|| whole(text.parse().ok()?))
        }
        _ => None,
    }
}

fn number(given: &Value) -> Option<f64> {
    match given {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    }
}

fn flag(given: &Value) -> Option<bool> {
    match given {
        Value::Bool(value) => Some(*value),
        Value::String(text) if text.trim().eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.trim().eq_ignore_ascii_case("false") => Some(false),
        other => match integer(other)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        },
    }
}

/// The JSON in a text that is a list, an object or a truth value; otherwise the value itself.
fn parse_any(given: &Value) -> Value {
    match given.as_str() {
        Some("true") => Value::Bool(true),
        Some("false") => Value::Bool(false),
        Some(text) if text.trim_start().starts_with('[') => parse_json(given, '['),
        _ => parse_json(given, '{'),
    }
}

/// The JSON in a text that begins with this bracket, if it is JSON; otherwise the value itself.
fn parse_json(given: &Value, bracket: char) -> Value {
    let text = given.as_str().filter(|text| text.trim_start().starts_with(bracket));
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| given.clone())
}

fn list(given: &Value, element: ElementType) -> Option<Value> {
    let elements = match parse_json(given, '[') {
        Value::Array(elements) => elements,
        one => vec![one],
    };
    let convert = |one: &Value| match element {
        // A text that is not JSON is not a list of anything.
        ElementType::Any => (!one.is_string() || given.is_array()).then(|| one.clone()),
        ElementType::Text => text(one).map(Value::from),
        ElementType::Integer => integer(one).map(Value::from),
        ElementType::Object => Some(parse_json(one, '{')).filter(Value::is_object),
    };
    elements.iter().map(convert).collect::<Option<Vec<Value>>>().map(Value::Array)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPES: [&str; 13] = [
        "string",
        "integer",
        "number",
        "boolean",
        "integer string",
        "object",
        "string object",
        "string array",
        "object string",
        "array of any",
        "array of string",
        "array of integer",
        "array of object",
    ];

    /// Reads a value as an argument of these JSON types.
    fn read(types: &str, given: &Value) -> Result<Option<Value>, String> {
        let schema = match types.split_once(" of ") {
            Some((list, element)) => json!({ "type": [list, "null"], "items": { "type": element } }),
            None => json!({ "type": types.split(' ').chain(["null"]).collect::<Vec<_>>() }),
        };
        ArgumentType::of(&schema).read("it", given, false).map_err(|failure| failure.message)
    }

    #[test]
    fn unambiguous_values_of_other_types_are_accepted() {
        for (types, given, value) in [
            ("string", json!(4), json!("4")),
            ("string", json!(2.5), json!("2.5")),
            ("string", json!(7.0), json!("7")),
            ("string", json!(-7.0), json!("-7")),
            ("string", json!(-0.0), json!("0")),
            ("string", json!(1e300), json!("1e+300")),
            ("string", json!("7.0"), json!("7.0")),
            ("string", json!(true), json!("true")),
            ("string", json!(" "), json!(" ")),
            ("integer", json!(5.0), json!(5)),
            ("integer", json!("5"), json!(5)),
            ("integer", json!(" 5.0 "), json!(5)),
            ("integer", json!(u64::MAX), json!(u64::MAX)),
            ("number", json!("2.5"), json!(2.5)),
            ("boolean", json!("True"), json!(true)),
            ("boolean", json!("false"), json!(false)),
            ("boolean", json!(1), json!(true)),
            ("boolean", json!(0.0), json!(false)),
            ("boolean", json!("1"), json!(true)),
            ("integer string", json!(7.0), json!(7)),
            ("integer string", json!("7:3"), json!("7:3")),
            ("object", json!("{\"a\": 1}"), json!({ "a": 1 })),
            ("string object", json!("gdb"), json!("gdb")),
            ("string array", json!("slow"), json!(["slow"])),
            ("string array", json!(["slow", 7]), json!(["slow", "7"])),
            ("object string", json!(5678), json!("5678")),
            ("object string", json!("{\"port\": 1}"), json!({ "port": 1 })),
            ("array of string", json!([7, "b", true, ""]), json!(["7", "b", "true", ""])),
            ("array of string", json!([7.0, 2.5]), json!(["7", "2.5"])),
            ("array of string", json!("one"), json!(["one"])),
            ("array of string", json!("[\"a\", 1]"), json!(["a", "1"])),
            ("array of string", json!("[not JSON"), json!(["[not JSON"])),
            ("array of integer", json!(["1", 2.0]), json!([1, 2])),
            ("array of object", json!({ "line": 1 }), json!([{ "line": 1 }])),
            ("array of object", json!("[{\"line\": 1}]"), json!([{ "line": 1 }])),
            ("array of any", json!([1, "a"]), json!([1, "a"])),
        ] {
            assert_eq!(read(types, &given), Ok(Some(value)), "{types}: {given}");
        }
    }

    #[test]
    fn null_and_what_is_empty_are_absent() {
        for types in TYPES {
            for given in [json!(null), json!(""), json!([]), json!({})] {
                assert_eq!(read(types, &given), Ok(None), "{types}: {given}");
            }
        }
        assert_eq!(read("object", &json!("{}")), Ok(None));
    }

    #[test]
    fn an_empty_value_has_a_meaning_where_the_schema_says_so() {
        let texts = ArgumentType::List(ElementType::Text);
        for (kind, given, value) in [
            (ArgumentType::Text, json!(""), Some(json!(""))),
            (ArgumentType::Text, json!(null), None),
            (texts, json!([]), Some(json!([]))),
            (texts, json!(null), None),
            (texts, json!(""), None),
        ] {
            assert_eq!(kind.read("it", &given, true).unwrap(), value, "{kind:?}: {given}");
        }
    }

    #[test]
    fn ambiguous_values_are_rejected_with_the_expected_type() {
        for (types, given, form) in [
            ("string", json!(["a"]), "a string"),
            ("integer", json!(5.5), "integer"),
            ("integer", json!(-1), "integer"),
            ("integer", json!("five"), "integer"),
            ("integer", json!(true), "integer"),
            ("integer", json!(1e300), "integer"),
            ("integer", json!("inf"), "integer"),
            ("number", json!("NaN"), "a number"),
            ("boolean", json!(2), "true or false"),
            ("boolean", json!(-1), "true or false"),
            ("boolean", json!("yes"), "true or false"),
            ("integer string", json!(1.5), "an integer or a string"),
            ("object", json!("a=b"), "an object"),
            ("object string", json!([1]), "a string or an object"),
            ("array of string", json!(["a", null]), "a list of strings"),
            ("array of string", json!({ "a": 1 }), "a list of strings"),
            ("array of object", json!(["a"]), "an array of objects"),
            ("array of any", json!("a"), "an array"),
        ] {
            let message = read(types, &given).unwrap_err();
            assert!(message.starts_with("`it` must be ") && message.contains(form), "{types}: {message}");
        }
    }
}
