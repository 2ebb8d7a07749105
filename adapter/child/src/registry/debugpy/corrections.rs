//! Corrections of debugpy in the program, in Python. Not here: those of its messages ([`crate::pydevd`]).

use serde_json::Value;

/// `breakpoint()` follows `PYTHONBREAKPOINT`.
const BREAKPOINT_HOOK: &str = include_str!("breakpointhook.py");
/// pydevd follows `os.forkpty`.
const FORKPTY: &str = include_str!("forkpty.py");
/// Modules in archives have the paths of their sources.
const ARCHIVES: &str = include_str!("archives.py");
/// A script finds the modules that it finds without a debugger.
const SYS_PATH: &str = include_str!("sys_path.py");

/// An expression that makes all of them. Code with the name of pydevd's file is not stepped into.
pub(super) fn expression() -> String {
    let code = Value::from([BREAKPOINT_HOOK, FORKPTY, ARCHIVES, SYS_PATH].concat());
    let file = "__import__('_pydev_bundle.pydev_monkey').pydev_monkey.__file__";
    format!("__import__('builtins').exec(compile({code}, {file}, 'exec'), {{}})")
}
