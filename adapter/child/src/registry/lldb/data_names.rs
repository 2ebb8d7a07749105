//! Expressions for data breakpoints. lldb takes the value of one for an address, and would watch the target
//! of a pointer, or the memory at the address 5 for a variable that is 5. Of a variable in a register it has
//! the address of a copy.
//!
//! Not here: data that a row of variables names, which lldb finds by itself.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tandem_wire::types::DataBreakpointInfoResponseBody;

/// The arguments of `dataBreakpointInfo` that name data.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct DataQuery {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    variables_reference: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_address: Option<bool>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// Has lldb watch the variable that an expression names: its address is sent.
pub(super) fn ask_for_address(query: &mut DataQuery) {
    let is_of_row = query.variables_reference.unwrap_or_default() != 0;
    if !is_of_row && query.as_address != Some(true) && names_data(&query.name) {
        query.name = format!("&({})", query.name);
    }
}

/// lldb's command that shows where a variable is, or a part of one.
pub(super) fn location_query(query: &DataQuery) -> Option<String> {
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '-' | '>' | '[' | ']' | '*');
    let is_of_row = query.variables_reference.unwrap_or_default() != 0;
    let name = query.name.trim();
    let is_variable = !is_of_row && query.as_address != Some(true) && names_data(name);
    (is_variable && name.chars().all(is_path)).then(|| format!("frame variable -L -- {name}"))
}

/// The register in an answer such as `rbx: (int) r = 5`.
pub(super) fn location_outside_memory(answer: &str) -> Option<&str> {
    let (location, _) = answer.lines().find_map(|line| line.split_once(": ("))?;
    let is_register =
        location.starts_with(char::is_alphabetic) && location.chars().all(char::is_alphanumeric);
    is_register.then_some(location)
}

/// Describes data by its name, not by the expression for its address.
pub(super) fn name_variable(info: &mut DataBreakpointInfoResponseBody) {
    let named = info.description.split_once(" &(");
    let named = named.and_then(|(size, name)| Some(format!("{size} {}", name.strip_suffix(')')?)));
    if let Some(named) = named {
        info.description = named;
    }
}

/// An expression that names a global variable where a local one may have its name; `None` for one that does
/// not begin with a name.
pub(super) fn in_global_scope(expression: &str) -> Option<String> {
    let expression = expression.trim_start();
    let at = expression.find(|first| first != '*' && first != '&')?;
    let (operators, named) = expression.split_at(at);
    match named.chars().next() {
        Some(first) if first.is_alphabetic() || first == '_' => Some(format!("{operators}::{named}")),
        Some(':') => Some(expression.to_owned()),
        _ => None,
    }
}

/// Whether an expression names data, rather than an address.
fn names_data(expression: &str) -> bool {
    let first = expression.trim_start().chars().next();
    first.is_some_and(|first| first.is_alphabetic() || matches!(first, '_' | '*' | ':'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tandem_wire::types;

    use super::*;

    #[test]
    fn a_data_breakpoint_watches_what_the_expression_names() {
        let sent = |mut arguments: Value| {
            types::edit(&mut arguments, ask_for_address);
            arguments["name"].clone()
        };
        assert_eq!(sent(json!({ "name": "total", "frameId": 1 })), "&(total)");
        assert_eq!(sent(json!({ "name": "*p", "frameId": 1, "variablesReference": 0 })), "&(*p)");
        for unchanged in [
            json!({ "name": "&total", "frameId": 1 }),
            json!({ "name": "0x1000", "frameId": 1 }),
            json!({ "name": "total", "variablesReference": 7 }),
            json!({ "name": "beef", "asAddress": true, "bytes": 4 }),
        ] {
            assert_eq!(sent(unchanged.clone()), unchanged["name"]);
        }
    }

    #[test]
    fn a_name_without_a_frame_is_a_global_one() {
        for (expression, expected) in [
            ("counter", Some("::counter")),
            (" list[2].next", Some("::list[2].next")),
            ("*first", Some("*::first")),
            ("&_total", Some("&::_total")),
            ("::total", Some("::total")),
            ("0x1000", None),
            ("*", None),
            ("", None),
        ] {
            assert_eq!(in_global_scope(expression).as_deref(), expected, "{expression}");
        }
    }

    #[test]
    fn lldb_shows_the_location_of_variables_and_their_parts() {
        let query = |arguments: Value| location_query(&types::read(&arguments));
        for name in ["r", "p->list[2].n", "*p", "::total"] {
            assert_eq!(
                query(json!({ "name": name, "frameId": 1 })),
                Some(format!("frame variable -L -- {name}"))
            );
        }
        for name in ["&total", "0x1000", "f(x)", "a + b", "r\nquit", ""] {
            assert_eq!(query(json!({ "name": name, "frameId": 1 })), None, "{name}");
        }
        assert_eq!(query(json!({ "name": "r", "variablesReference": 7 })), None);
    }

    #[test]
    fn a_register_is_a_location_outside_memory() {
        for (answer, register) in [
            ("(lldb) frame variable -L -- r\nrbx: (int) r = 5\n", Some("rbx")),
            ("0x00007ffe01: (int) local = 5\n", None),
            ("0x00007ffe01: (S *) p = 0x10 {a = \"rax: (int)\"}\n", None),
            ("(lldb) frame variable -L -- n\nerror: no variable named 'n' found in this frame\n", None),
            ("", None),
        ] {
            assert_eq!(location_outside_memory(answer), register, "{answer}");
        }
    }

    #[test]
    fn data_is_described_by_its_name() {
        for (description, expected) in [
            ("4 bytes at 7FFE &(list[f(x)].n)", "4 bytes at 7FFE list[f(x)].n"),
            ("4 bytes at 7FFE &(::total)", "4 bytes at 7FFE ::total"),
            ("4 bytes at 7FFE &total", "4 bytes at 7FFE &total"),
            ("error: no such `n`", "error: no such `n`"),
        ] {
            let mut info = DataBreakpointInfoResponseBody {
                description: description.to_owned(),
                ..DataBreakpointInfoResponseBody::default()
            };
            name_variable(&mut info);
            assert_eq!(info.description, expected);
        }
    }
}
