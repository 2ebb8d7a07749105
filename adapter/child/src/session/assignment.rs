//! The arguments and answers of assignments to expressions. Asks no adapter ([`super::assigning`]).

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::types::{self, EvaluateArguments};

/// The arguments of `setExpression` (DAP).
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ExpressionToSet {
    pub(super) expression: String,
    pub(super) value: String,
    pub(super) frame_id: Option<i64>,
}

impl ExpressionToSet {
    /// The arguments of `evaluate` for an expression in the same frame.
    pub(super) fn evaluation(&self, expression: String) -> Value {
        let context = Some("watch".to_owned());
        types::body(&EvaluateArguments { expression, frame_id: self.frame_id, context, ..Default::default() })
    }

    /// The arguments of `scopes` for the frame.
    pub(super) fn scopes(&self) -> Value {
        types::body(&FrameToRead { frame_id: self.frame_id })
    }
}

/// The arguments of `scopes` (DAP).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FrameToRead {
    pub(super) frame_id: Option<i64>,
}

/// The answer to an evaluation as one to `setExpression`.
pub(super) fn as_set_expression_answer(mut evaluated: Value) -> Value {
    if let Some(answer) = evaluated.as_object_mut()
        && let Some(result) = answer.shift_remove("result")
    {
        answer.insert("value".into(), result);
    }
    evaluated
}

/// Splits `a.b` into `a` and `b`, `a[1]` into `a` and `[1]`, and `a` into nothing and `a`; `None` for an
/// expression that does not begin with a name, such as `*a.b`.
pub(super) fn parent_and_name(expression: &str) -> Option<(&str, &str)> {
    let expression = expression.trim();
    if !expression.starts_with(|first: char| first.is_alphabetic() || first == '_') {
        return None;
    }
    let (parent, name) = match expression.rfind(if expression.ends_with(']') { '[' } else { '.' }) {
        Some(at) => expression.split_at(at),
        None => ("", expression),
    };
    Some((parent, name.strip_prefix('.').unwrap_or(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_names_a_row_of_its_parent() {
        for (expression, parts) in [
            ("total", Some(("", "total"))),
            (" _a.b ", Some(("_a", "b"))),
            ("a[1].b[2]", Some(("a[1].b", "[2]"))),
            ("a.b[1].c", Some(("a.b[1]", "c"))),
            ("*a.b", None),
            ("(a).b", None),
            ("&a", None),
            ("", None),
        ] {
            assert_eq!(parent_and_name(expression), parts, "{expression}");
        }
    }
}
