//! Expressions with subscripts. lldb takes the number in one for a position among the rows of a value, also
//! in a map, where C++ and Rust mean a key. A command in lldb's Python finds the element that the language
//! means (`summaries/lldb_elements.py`).
//!
//! Not here: the expressions of rows ([`super::evaluate_names`]).

use serde::Deserialize;
use serde_json::Value;

/// Precedes the command's answer.
const MARK: &str = "tandem-elements: ";

/// The answer of the command. It has no field for an expression that lldb compiles in any case.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Found {
    expression: Option<String>,
    refusal: Option<String>,
}

/// The command for an expression with subscripts or a text, and for all but names in a program of Rust, which
/// lldb takes for one of C++. lldb would evaluate what is in backquotes first.
pub(super) fn query(expression: &str, is_rust: bool) -> Option<String> {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let is_asked = match is_rust {
        true => !expression.trim().chars().all(is_of_name),
        false => expression.contains('[') || expression.contains('=') && expression.contains('"'),
    };
    let text = Value::from(expression).to_string().replace('`', "\\u0060");
    is_asked.then(|| format!("tandem-elements {text}"))
}

/// The answer about a row that is a copy.
pub(super) const IS_COPY: &str = "tandem-is-copy: true";

/// The command that finds whether a row is a copy: rustc's formatters make the parts of tuples, the fields of
/// variants and the elements of maps from the bytes of others.
pub(super) fn copy_query(expression: &str) -> String {
    format!("tandem-is-copy {}", expression.replace(".[", "["))
}

/// The expression in the command's answer. Without an answer (lldb was built without Python) a path is
/// compiled, unless it names a row.
pub(super) fn expression_in(answer: &str, expression: &str) -> Result<String, String> {
    let found = answer.split_once(MARK).and_then(|(_, found)| serde_json::from_str(found.trim()).ok());
    match found {
        Some(Found { refusal: Some(refusal), .. }) => Err(refusal),
        Some(Found { expression: found, .. }) => Ok(found.unwrap_or_else(|| expression.to_owned())),
        None if expression.contains(".[") => Ok(expression.replace(".[", "[")),
        None if expression.contains('[') && is_path(expression) => Ok(format!("({expression})")),
        None => Ok(expression.to_owned()),
    }
}

/// Whether it has only names, members and elements.
pub(super) fn is_path(expression: &str) -> bool {
    let is_of_path =
        |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '[' | ']' | '*' | '&' | '$');
    expression.replace("->", ".").chars().all(is_of_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_that_lldb_understands_is_not_looked_up() {
        assert_eq!(query("m[1]", false).as_deref(), Some("tandem-elements \"m[1]\""));
        let quoted = query("m[\"a`b\"]", false);
        assert_eq!(quoted.as_deref(), Some(r#"tandem-elements "m[\"a\u0060b\"]""#));
        let is_asked = |expression, is_rust| query(expression, is_rust).is_some();
        for (expression, in_cpp, in_rust) in [
            ("m.size()", false, true),
            ("a.b + 1", false, true),
            (" name_1 ", false, false),
            ("name == \"x\"", true, true),
            ("puts(\"x\")", false, true),
        ] {
            assert_eq!(
                (is_asked(expression, false), is_asked(expression, true)),
                (in_cpp, in_rust),
                "{expression}"
            );
        }
    }

    #[test]
    fn an_element_is_what_the_command_finds() {
        let found = |answer: &str, expression| expression_in(&format!("{MARK}{answer}\n"), expression);
        assert_eq!(found(r#"{"expression": "m[0].second"}"#, "m[1]"), Ok("m[0].second".to_owned()));
        assert_eq!(found(r#"{"expression": null}"#, "m[1] + 1"), Ok("m[1] + 1".to_owned()));
        assert_eq!(found(r#"{"refusal": "no element"}"#, "m[1]"), Err("no element".to_owned()));
        // lldb has no such command.
        for (expression, compiled) in
            [("m[1]", "(m[1])"), ("s->m.[1].first", "s->m[1].first"), ("m[1] + 1", "m[1] + 1")]
        {
            assert_eq!(expression_in("error: no such command", expression), Ok(compiled.to_owned()));
        }
    }
}
