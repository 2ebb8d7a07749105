//! Environment variables in a launch attribute or a tool's argument: an object of names and values. Not here:
//! files of variables, and those that a debugger adds.

use serde_json::{Map, Value};
use tandem_error::Failure;

/// Variables for a process; `None` unsets one.
pub type Variables = Vec<(String, Option<String>)>;

/// Reads the variables of the attribute `key`: strings, numbers, booleans, or null.
///
/// # Errors
/// `INVALID_PARAMETER` when a variable cannot be set.
pub fn read(key: &str, given: &Value) -> Result<Variables, Failure> {
    match given {
        Value::Null => Ok(Vec::new()),
        Value::Object(map) => read_with(key, map, |value| match value {
            Value::String(text) => Some(text.clone()),
            // Without the quotes that JSON requires, and the user did not intend.
            Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
            _ => None,
        }),
        other => Err(wrong_type(key, other)),
    }
}

/// Reads the variables of `key`; `text` returns what a value other than null means as text.
///
/// # Errors
/// `INVALID_PARAMETER` when a variable cannot be set.
pub fn read_with(
    key: &str,
    given: &Map<String, Value>,
    text: impl Fn(&Value) -> Option<String>,
) -> Result<Variables, Failure> {
    let variable = |(name, value): (&String, &Value)| {
        let value = match value {
            Value::Null => None,
            value => Some(text(value).ok_or_else(|| wrong_type(key, &Value::Object(given.clone())))?),
        };
        check(key, name, value.as_deref())?;
        Ok((name.clone(), value))
    };
    given.iter().map(variable).collect()
}

fn wrong_type(key: &str, given: &Value) -> Failure {
    Failure::invalid(format!("`{key}` must map names to strings, numbers, booleans or null, not {given}"))
}

/// Refuses a variable that no process can have: the system stores `NAME=VALUE` up to a NUL character, so the
/// program would get another variable, or none.
///
/// # Errors
/// `INVALID_PARAMETER` naming the variable and `key`, where it was given.
pub fn check(key: &str, name: &str, value: Option<&str>) -> Result<(), Failure> {
    let shown = name.escape_debug();
    let (reason, hint) = match name.split_once('=') {
        _ if name.is_empty() => {
            ("its name is empty".to_owned(), format!("name it, or remove it from `{key}`"))
        }
        _ if name.contains('\0') => {
            ("its name has a NUL character".to_owned(), "remove the NUL character".to_owned())
        }
        Some((before, after)) => {
            let hint = match (before, value) {
                ("", _) => "remove the `=` from the name".to_owned(),
                (_, None | Some("")) => {
                    format!("write {}", Value::from_iter([(before, after)]))
                }
                _ => format!("name it `{}`", before.escape_debug()),
            };
            ("its name has a `=`, which ends a name".to_owned(), hint)
        }
        None if value.is_some_and(|value| value.contains('\0')) => {
            ("its value has a NUL character".to_owned(), "remove the NUL character".to_owned())
        }
        None => return Ok(()),
    };
    Err(Failure::invalid(format!("cannot set the environment variable `{shown}` of `{key}`: {reason}"))
        .hint(hint))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn variables_that_no_process_can_have_are_refused_with_a_remedy() {
        for (given, message, hint) in [
            (json!({ "A=B": "" }), "`A=B` of `env`: its name has a `=`", "write {\"A\":\"B\"}"),
            (json!({ "A=B": null }), "`A=B` of `env`: its name has a `=`", "write {\"A\":\"B\"}"),
            (json!({ "A=B": "C" }), "`A=B` of `env`: its name has a `=`", "name it `A`"),
            (json!({ "=": 1 }), "`=` of `env`: its name has a `=`", "remove the `=`"),
            (json!({ "": "x" }), "`` of `env`: its name is empty", "or remove it from `env`"),
            (json!({ "A\u{0}": true }), "`A\\0` of `env`: its name has a NUL", "remove the NUL"),
            (json!({ "A": "x\u{0}y" }), "`A` of `env`: its value has a NUL", "remove the NUL"),
        ] {
            let failure = read("env", &given).unwrap_err();
            assert!(failure.message.contains(message), "{given}: {}", failure.message);
            assert!(
                failure.hint.as_deref().unwrap_or_default().contains(hint),
                "{given}: {:?}",
                failure.hint
            );
        }
    }

    #[test]
    fn other_names_and_values_are_read_as_text() {
        let given = json!({ "PATH:x y": "a=b", "N": 1, "B": true, "ä.b-c()": "", "U": null });
        let set = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
        let expected =
            [set("PATH:x y", "a=b"), set("N", "1"), set("B", "true"), set("ä.b-c()", ""), ("U".into(), None)];
        assert_eq!(read("env", &given).unwrap(), expected);
        assert_eq!(read("env", &Value::Null).unwrap(), []);
        for wrong in [json!([]), json!("A=1"), json!({ "A": [1] })] {
            assert!(read("env", &wrong).unwrap_err().message.starts_with("`env` must map names"), "{wrong}");
        }
    }
}
