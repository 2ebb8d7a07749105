//! One-line summaries of at most 80 characters for values with parts in lldb and gdb, and for objects without
//! a text in pydevd (`Vec(size=3) {1, 2, 3}`, `Some("x")`, `Account(name='ann')`). The debugger makes them,
//! in Python: that costs no request, reads memory and runs nothing of the program. Values of other types keep
//! the debugger's own text.

use serde_json::Value;

/// Python for both debuggers: builds a text from a value's parts.
const COMMON: &str = include_str!("summaries/common.py");
const GDB: &str = include_str!("summaries/gdb.py");
const LLDB: &str = include_str!("summaries/lldb.py");
/// The command of lldb that finds elements by subscripts.
const LLDB_ELEMENTS: &str = include_str!("summaries/lldb_elements.py");
/// The part of that command for whole expressions.
const LLDB_EXPRESSIONS: &str = include_str!("summaries/lldb_expressions.py");
/// Python that pydevd evaluates.
const PYTHON: &str = include_str!("summaries/python.py");

/// Python for `True` and `False`.
fn python_bool(yes: bool) -> &'static str {
    if yes { "True" } else { "False" }
}

/// A gdb command, for before its DAP starts; `rust`: rustc made the program.
pub(super) fn for_gdb(rust: bool) -> String {
    format!("python exec({}, {{'RUST': {}}})", Value::from(format!("{COMMON}\n{GDB}")), python_bool(rust))
}

/// An lldb command, for behind those that load rustc's formatters, which this corrects. `?` keeps it out of
/// the console unless it fails.
pub(super) fn for_lldb(rust: bool) -> String {
    format!(
        "?script import sys, types; tandem_summaries = types.ModuleType('tandem_summaries'); \
         sys.modules['tandem_summaries'] = tandem_summaries; exec({}, tandem_summaries.__dict__); \
         tandem_summaries.install(lldb.debugger, {})",
        Value::from(format!("{COMMON}\n{LLDB}\n{LLDB_ELEMENTS}\n{LLDB_EXPRESSIONS}")),
        python_bool(rust)
    )
}

/// A Python expression for pydevd, evaluated once in each process: its own module is
/// changed, none of the program.
pub(super) fn for_pydevd() -> String {
    format!("__import__('builtins').exec({}, {{}})", Value::from(PYTHON))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both take a command of one line; lldb-dap evaluates what is in backquotes.
    #[test]
    fn a_command_is_one_line_without_backquotes() {
        for command in [for_gdb(true), for_lldb(false), for_pydevd()] {
            assert!(command.is_ascii() && !command.contains(['\n', '`']), "{command}");
        }
    }
}
