//! The kinds of a tool's arguments, and the one rule for reading what a model wrote for each. A tool's table
//! names the kind of each argument; arguments that no table lists are read by the same rule when the tool
//! asks for them.
//!
//! - `null` means absent, and so does what is empty (`""`, `[]`, `{}`), except where a table says that empty
//!   has a meaning.
//! - A whole float, also as text, is an integer: some clients send every number as a float.
//! - A number or a truth value becomes a string where a string is wanted: `7` and `7.0` are `"7"`.
//! - 1 and 0 are true and false where a truth value is wanted.
//! - A list or an object may come as JSON in a string; one element is a list of one.
//! - Anything else is refused with the expected form.

use dap_wire::Failure;
use serde_json::{Value, json};

/// The largest float up to which each whole number is exact.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
/// Marks a kind of which an empty value has a meaning.
const EMPTY_COUNTS: char = '0';

/// A type of arguments, with the letters that stand for it in a tool's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentType {
    /// `s`: a string, which may be empty.
    Text,
    /// `i`: an integer, at least 0.
    Integer,
    /// `n`: a number, with or without a fraction.
    Number,
    /// `b`: `true` or `false`.
    Flag,
    /// `x`: an integer or a string.
    IntegerOrText,
    /// `o`: a JSON object with any keys.
    Object,
    /// `so`: a string, or an object that says more.
    TextOrObject,
    /// `sa`: a string, or a list of them.
    TextOrTexts,
    /// `os`: an object, or a string that is short for it.
    ObjectOrText,
    /// `a`, and `as`, `ai`, `ao` with the kind of the elements.
    List(ElementType),
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

impl ArgumentType {
    /// Parses the type letters of a table; the flag is true if an empty value differs from an absent one.
    pub fn parse(letters: &str) -> Option<(Self, bool)> {
        let (letters, empty_counts) = match letters.strip_suffix(EMPTY_COUNTS) {
            Some(letters) => (letters, true),
            None => (letters, false),
        };
        let kind = match letters {
            "s" => Self::Text,
            "i" => Self::Integer,
            "n" => Self::Number,
            "b" => Self::Flag,
            "x" => Self::IntegerOrText,
            "o" => Self::Object,
            "so" => Self::TextOrObject,
            "sa" => Self::TextOrTexts,
            "os" => Self::ObjectOrText,
            "a" => Self::List(ElementType::Any),
            "as" => Self::List(ElementType::Text),
            "ai" => Self::List(ElementType::Integer),
            "ao" => Self::List(ElementType::Object),
            _ => return None,
        };
        Some((kind, empty_counts))
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

    fn description(self) -> &'static str {
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

    fn read(letters: &str, given: &Value) -> Result<Option<Value>, String> {
        let (kind, empty_counts) = ArgumentType::parse(letters).unwrap();
        kind.read("it", given, empty_counts).map_err(|failure| failure.message)
    }

    #[test]
    fn unambiguous_values_of_other_types_are_accepted() {
        for (letters, given, value) in [
            ("s", json!(4), json!("4")),
            ("s", json!(2.5), json!("2.5")),
            ("s", json!(7.0), json!("7")),
            ("s", json!(-7.0), json!("-7")),
            ("s", json!(-0.0), json!("0")),
            ("s", json!(1e300), json!("1e+300")),
            ("s", json!("7.0"), json!("7.0")),
            ("s", json!(true), json!("true")),
            ("s", json!(" "), json!(" ")),
            ("s0", json!(""), json!("")),
            ("i", json!(5.0), json!(5)),
            ("i", json!("5"), json!(5)),
            ("i", json!(" 5.0 "), json!(5)),
            ("i", json!(u64::MAX), json!(u64::MAX)),
            ("n", json!("2.5"), json!(2.5)),
            ("b", json!("True"), json!(true)),
            ("b", json!("false"), json!(false)),
            ("b", json!(1), json!(true)),
            ("b", json!(0.0), json!(false)),
            ("b", json!("1"), json!(true)),
            ("x", json!(7.0), json!(7)),
            ("x", json!("7:3"), json!("7:3")),
            ("o", json!("{\"a\": 1}"), json!({ "a": 1 })),
            ("so", json!("gdb"), json!("gdb")),
            ("sa", json!("slow"), json!(["slow"])),
            ("sa", json!(["slow", 7]), json!(["slow", "7"])),
            ("os", json!(5678), json!("5678")),
            ("os", json!("{\"port\": 1}"), json!({ "port": 1 })),
            ("as", json!([7, "b", true, ""]), json!(["7", "b", "true", ""])),
            ("as", json!([7.0, 2.5]), json!(["7", "2.5"])),
            ("as", json!("one"), json!(["one"])),
            ("as", json!("[\"a\", 1]"), json!(["a", "1"])),
            ("as", json!("[not JSON"), json!(["[not JSON"])),
            ("as0", json!([]), json!([])),
            ("ai", json!(["1", 2.0]), json!([1, 2])),
            ("ao", json!({ "line": 1 }), json!([{ "line": 1 }])),
            ("ao", json!("[{\"line\": 1}]"), json!([{ "line": 1 }])),
            ("a", json!([1, "a"]), json!([1, "a"])),
        ] {
            assert_eq!(read(letters, &given), Ok(Some(value)), "{letters}: {given}");
        }
    }

    #[test]
    fn null_and_what_is_empty_are_absent() {
        for letters in ["s", "i", "n", "b", "x", "o", "so", "sa", "os", "a", "as", "ai", "ao"] {
            for given in [json!(null), json!(""), json!([]), json!({})] {
                assert_eq!(read(letters, &given), Ok(None), "{letters}: {given}");
            }
        }
        assert_eq!(read("o", &json!("{}")), Ok(None));
        for (letters, given) in [("s0", json!(null)), ("as0", json!(null)), ("as0", json!(""))] {
            assert_eq!(read(letters, &given), Ok(None), "{letters}: {given}");
        }
    }

    #[test]
    fn ambiguous_values_are_rejected_with_the_expected_type() {
        for (letters, given, form) in [
            ("s", json!(["a"]), "a string"),
            ("i", json!(5.5), "integer"),
            ("i", json!(-1), "integer"),
            ("i", json!("five"), "integer"),
            ("i", json!(true), "integer"),
            ("i", json!(1e300), "integer"),
            ("i", json!("inf"), "integer"),
            ("n", json!("NaN"), "a number"),
            ("b", json!(2), "true or false"),
            ("b", json!(-1), "true or false"),
            ("b", json!("yes"), "true or false"),
            ("x", json!(1.5), "an integer or a string"),
            ("o", json!("a=b"), "an object"),
            ("os", json!([1]), "a string or an object"),
            ("as", json!(["a", null]), "a list of strings"),
            ("as", json!({ "a": 1 }), "a list of strings"),
            ("ao", json!(["a"]), "an array of objects"),
            ("a", json!("a"), "an array"),
        ] {
            let message = read(letters, &given).unwrap_err();
            assert!(message.starts_with("`it` must be ") && message.contains(form), "{letters}: {message}");
        }
    }
}
