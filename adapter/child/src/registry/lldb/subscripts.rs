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

/// The command for an expression with subscripts. lldb would evaluate what is in backquotes first.
pub(super) fn query(expression: &str) -> Option<String> {
    let text = Value::from(expression).to_string().replace('`', "\\u0060");
    expression.contains('[').then(|| format!("tandem-elements {text}"))
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
        None if is_path(expression) => Ok(format!("({expression})")),
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
    fn only_an_expression_with_subscripts_is_looked_up() {
        assert_eq!(query("m[1]").as_deref(), Some("tandem-elements \"m[1]\""));
        let quoted = query("m[\"a`b\"]");
        assert_eq!(quoted.as_deref(), Some(r#"tandem-elements "m[\"a\u0060b\"]""#));
        assert_eq!(query("m.size()"), None);
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
