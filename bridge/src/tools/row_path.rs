//! Paths of rows: the text by which a later call finds a row of an answer. It is an expression where the
//! engine has one. The elements of a set, for example, have none: their path leads from row to row,
//! `names → 3`, and begins in the scope if nothing precedes its first arrow.
//!
//! Not here: finding the row again ([`super::value_path`]).

use tandem_wire::types::DapVariable;

/// Leads from a value to one of its rows.
pub(super) const ARROW: &str = "→";

/// The path to a row, and whether an answer must state it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RowPath {
    pub(super) text: String,
    /// Whether a reader derives it from the path of the parent and the name.
    pub(super) is_obvious: bool,
}

impl RowPath {
    /// The path to a row of the value at `parent`; of a scope if that is empty.
    pub(super) fn of(row: &DapVariable, parent: &str) -> Self {
        let name = row.name.as_str();
        let expression = row.evaluate_name.as_deref().filter(|expression| !expression.is_empty());
        if parent.is_empty() {
            let is_readable = match expression {
                Some(_) => !name.contains(char::is_whitespace),
                None => is_variable(name),
            };
            return match expression {
                Some(expression) if expression != name => Self::stated(expression.to_owned()),
                _ if is_readable => Self { text: name.to_owned(), is_obvious: true },
                _ => Self::stated(format!("{ARROW} {name}")),
            };
        }
        let Some(expression) = expression else { return Self::stated(format!("{parent} {ARROW} {name}")) };
        let is_index = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        let is_obvious =
            expression == member(parent, name) || is_index && expression == format!("{parent}[{name}]");
        Self { text: expression.to_owned(), is_obvious }
    }

    fn stated(text: String) -> Self {
        Self { text, is_obvious: false }
    }
}

/// The expression that the name of a row suggests.
pub(super) fn member(parent: &str, name: &str) -> String {
    match parent {
        "" => name.to_owned(),
        _ if name.starts_with('[') => format!("{parent}{name}"),
        _ => format!("{parent}.{name}"),
    }
}

/// Whether a name without an expression is that of a variable, not of a group or of a value that the engine
/// has made up.
fn is_variable(name: &str) -> bool {
    let is_part = |part: char| part.is_alphanumeric() || "_$@:.".contains(part);
    !name.is_empty() && name.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, expression: Option<&str>) -> DapVariable {
        DapVariable {
            name: name.to_owned(),
            evaluate_name: expression.map(str::to_owned),
            ..DapVariable::default()
        }
    }

    #[test]
    fn a_path_is_stated_where_parent_and_name_do_not_lead_to_the_row() {
        for (parent, name, expression, path, is_obvious) in [
            // .NET: a field, an element, elements with an `evaluateName`, a group.
            ("person", "Age", Some("person.Age"), "person.Age", true),
            ("list", "[0]", Some("list[0]"), "list[0]", true),
            ("queue", "[0]", Some("queue._array[0]"), "queue._array[0]", false),
            ("a + b", "X", None, "a + b → X", false),
            ("", "Total returned", None, "→ Total returned", false),
            // Python: elements, padded indices, keys, elements of sets, groups.
            ("xs", "0", Some("xs[0]"), "xs[0]", true),
            ("xs", "07", Some("xs[7]"), "xs[7]", false),
            ("d", "'a b'", Some("d['a b']"), "d['a b']", false),
            ("s", "140234", None, "s → 140234", false),
            ("", "special variables", Some("special variables"), "→ special variables", false),
            // JavaScript: an entry of a map.
            ("map", "[[Entries]]", None, "map → [[Entries]]", false),
            // The adapter of Ruby has no expressions for rows.
            ("", "list", None, "list", true),
            ("", "%self", None, "→ %self", false),
            ("list", "0", None, "list → 0", false),
            // C++: a member of a pointer's target.
            ("p", "x", Some("p->x"), "p->x", false),
            ("", "x", Some("this->x"), "this->x", false),
        ] {
            let expected = RowPath { text: path.to_owned(), is_obvious };
            assert_eq!(RowPath::of(&row(name, expression), parent), expected, "{parent} {name}");
        }
    }
}
