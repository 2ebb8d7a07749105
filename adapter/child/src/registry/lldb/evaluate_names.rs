//! The expressions that lldb names for rows. It builds them from the names of the rows above, of which
//! formatters invent some, and does not add parentheses: an expression may be invalid, or mean another value.
//!
//! Not here: the names of the rows, which stay.

use tandem_wire::types::{DapVariable, VariablesResponseBody};

/// Removes the expressions that do not lead to their rows.
pub(super) fn remove_wrong(page: &mut VariablesResponseBody) {
    for DapVariable { evaluate_name, .. } in &mut page.variables {
        if evaluate_name.as_deref().is_some_and(is_wrong) {
            *evaluate_name = None;
        }
    }
}

fn is_wrong(expression: &str) -> bool {
    // A row of a formatter, without what it is in.
    let is_fragment = expression.starts_with(|first: char| first == '[' || first.is_ascii_digit());
    // An element of a node: only arrays have elements.
    let is_element_of_node = expression.contains("->[") || expression.contains(".[");
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
        for expression in
            ["0", "[0]", "[0]->[0]", "m._M_left->[0]", "*(n.next).name", "&n->name", "*argv[1]", "a.[1]"]
        {
            assert!(is_wrong(expression), "{expression}");
        }
    }
}
