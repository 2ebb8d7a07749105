//! The expressions of rows. lldb builds them from the names of the rows above, of which formatters invent
//! some, and does not add parentheses: an expression may be invalid, or mean another value. The elements of a
//! value have others: `v[1]` where that is what the language means, else `m.[1]`.
//!
//! Not here: the names of the rows, which stay.

use tandem_wire::types::{DapVariable, VariablesResponseBody};

use super::super::super::rows;
use super::subscripts::is_path;

/// How the types begin whose elements have positions in C++ and Rust.
const WITH_POSITIONS: [&str; 6] = [
    "std::vector<",
    "std::deque<",
    "alloc::vec::Vec<",
    "alloc::collections::vec_deque::VecDeque<",
    "&[",
    "&mut [",
];

/// Removes the expressions that do not lead to their rows.
pub(super) fn remove_wrong(page: &mut VariablesResponseBody) {
    for DapVariable { evaluate_name, .. } in &mut page.variables {
        if evaluate_name.as_deref().is_some_and(is_wrong) {
            *evaluate_name = None;
        }
    }
}

/// The expression for a row of a value. That of lldb is kept unless the row is an element of a container.
pub(super) fn of_row(row: &DapVariable, value: &str, kind: &str) -> Option<String> {
    let own = row.evaluate_name.clone();
    let kind = kind.trim_start_matches("const ").trim_end_matches(['&', ' ']);
    let is_whole = kind.ends_with(['*', ']']) && !kind.starts_with('&');
    if is_whole || !is_path(value) || value.starts_with(['*', '&']) {
        return own;
    }
    if rows::is_element(row) && row.name.starts_with('[') {
        let dot = if WITH_POSITIONS.iter().any(|name| kind.starts_with(name)) { "" } else { "." };
        return Some(format!("{value}{dot}{}", row.name));
    }
    let is_name = !row.name.is_empty() && row.name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let is_invented =
        is_number(&row.name) || value.split('.').skip(1).any(|part| part.starts_with('[') || is_number(part));
    own.or_else(|| (is_name && is_invented).then(|| format!("{value}.{}", row.name)))
}

/// Whether a member is a part of a tuple, or of a variant that is one.
fn is_number(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_digit())
}

fn is_wrong(expression: &str) -> bool {
    // A row of a formatter, without what it is in.
    let is_fragment = expression.starts_with(|first: char| first == '[' || first.is_ascii_digit());
    // An element of a node: only arrays have elements.
    let is_element_of_node = ["->[", ".[", "(["].iter().any(|start| expression.contains(start));
    // The operator would apply to the member.
    let operand = expression.strip_prefix(['*', '&']);
    is_fragment || is_element_of_node || operand.is_some_and(accesses_member)
}

/// Whether it accesses a member or an element, outside of parentheses.
fn accesses_member(expression: &str) -> bool {
    let mut depth = 0_usize;
    expression.chars().any(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && matches!(character, '.' | '[' | '>')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_expressions_for_the_row_itself_are_kept() {
        for expression in ["n", "n.next->name", "m[0]", "n.kids[1]", "(*p).x", "*p", "*(n.next)", "&n", "a.0"]
        {
            assert!(!is_wrong(expression), "{expression}");
        }
        for expression in [
            "0",
            "[0]",
            "[0]->[0]",
            "m._M_left->[0]",
            "*(n.next).name",
            "&n->name",
            "*argv[1]",
            "a.[1]",
            "*([0])",
        ] {
            assert!(is_wrong(expression), "{expression}");
        }
    }

    #[test]
    fn an_element_of_a_container_has_an_expression() {
        let of_row = |name: &str, own: Option<&str>, value, kind| {
            let evaluate_name = own.map(str::to_owned);
            of_row(
                &DapVariable { name: name.to_owned(), evaluate_name, ..DapVariable::default() },
                value,
                kind,
            )
        };
        for (name, own, value, kind, expected) in [
            ("[1]", None, "m", "std::map<int, int>", Some("m.[1]")),
            ("[1]", Some("m[1]"), "m", "const std::map<int, int> &", Some("m.[1]")),
            ("[1]", None, "s.list", "std::vector<int>", Some("s.list[1]")),
            ("[1]", None, "n", "Numbers", Some("n.[1]")),
            ("[1]", Some("a[1]"), "a", "int[3]", Some("a[1]")),
            ("second", None, "m.[1]", "std::pair<const int, int>", Some("m.[1].second")),
            ("first", None, "m", "std::pair<const int, int>", None),
            ("0", None, "t", "(u8, char)", Some("t.0")),
            ("x", None, "o.0", "P", Some("o.0.x")),
            ("x", None, "o.x", "P", None),
            ("x", Some("p->x"), "p", "Point *", Some("p->x")),
            ("[1]", None, "make(1)", "std::vector<int>", None),
            ("[raw]", None, "m", "std::map<int, int>", None),
        ] {
            assert_eq!(of_row(name, own, value, kind).as_deref(), expected, "{name} of {value}");
        }
    }
}
