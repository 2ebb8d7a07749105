//! What an agent with `agentAccess: readOnly` may ask, by engine: only what is known to run no code of the program. One table; what is
//! not in it is refused. docs/sharing.md says it to people.
//!
//! Not what an engine offers: a request that it does not know is refused by the engine.

use serde_json::Value;

use crate::engine::LOOKS_ONLY;

/// Answered by the hub and the broker.
const ALWAYS: [&str; 1] = ["processReadOutput"];

/// Where the program stands and what it is made of: every engine of ours reads that from the program's memory or has it from
/// its events.
const PLACES: [&str; 6] =
    ["threads", "stackTrace", "scopes", "modules", "loadedSources", "breakpointLocations"];

/// What an engine reads without the program's help, besides [`PLACES`]. One that is not here (`engine: {"command": …}`) is not known
/// at all.
///
/// - `coreclr` shows values without running getters, displays and `ToString` for whoever may only look ([`restrain`]).
/// - `lldb`, `gdb`, `delve` read memory; formatters and pretty-printers that come with them run in the debugger.
/// - `debugpy` calls `__repr__`, properties and `__getattr__` for each value it shows or completes, `__str__` for an
///   exception, and a module's loader for its source.
/// - `js` calls `toString`, getters and custom descriptions for values, and a preview for exceptions.
/// - `rdbg` calls `inspect`, and evaluates the receiver of what is completed.
/// - `bash` asks the shell itself for values.
/// - `netcoredbg` runs getters.
const ENGINES: [(&str, &[&str]); 8] = [
    (
        "coreclr",
        &["variables", "source", "exceptionInfo", "readMemory", "disassemble", "completions", "locations"],
    ),
    ("lldb", &["variables", "source", "exceptionInfo", "readMemory", "disassemble", "locations"]),
    ("gdb", &["variables", "source", "readMemory", "disassemble", "locations"]),
    ("delve", &["variables", "source", "exceptionInfo", "readMemory", "disassemble"]),
    ("debugpy", &[]),
    ("js", &["source"]),
    ("rdbg", &["source"]),
    ("netcoredbg", &[]),
];

/// Whether this runs no code of the program. Before the engine is known nothing can be looked at, and the request is refused
/// for that.
pub fn allows(engine: Option<&str>, command: &str) -> bool {
    let places = || PLACES.contains(&command);
    ALWAYS.contains(&command)
        || match engine {
            None => is_look(command),
            Some("bash") => places(),
            Some(name) => ENGINES
                .iter()
                .find(|(engine, _)| *engine == name)
                .is_some_and(|(_, more)| places() || more.contains(&command)),
        }
}

/// Whether some engine answers it without running anything.
pub fn is_look(command: &str) -> bool {
    PLACES.contains(&command) || ENGINES.iter().any(|(_, more)| more.contains(&command))
}

/// Takes out of a request that may be asked what could run code all the same, and tells the engine that it must not.
pub fn restrain(command: &str, arguments: &mut Value) {
    let Some(arguments) = arguments.as_object_mut() else { return };
    // Parameters' values in a frame's name are shown as variables are.
    if command == "stackTrace" {
        arguments.shift_remove("format");
    }
    if command == "variables" {
        arguments.insert(LOOKS_ONLY.into(), Value::Bool(true));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every request of DAP and ours that reaches an engine, and who answers it to a client that may only look.
    #[test]
    fn nothing_that_could_run_code_is_let_through() {
        let acts = [
            "evaluate",
            "setVariable",
            "setExpression",
            "writeMemory",
            "continue",
            "next",
            "stepIn",
            "stepOut",
            "stepBack",
            "reverseContinue",
            "goto",
            "gotoTargets",
            "restartFrame",
            "stepInTargets",
            "pause",
            "terminate",
            "terminateThreads",
            "restart",
            "setBreakpoints",
            "setFunctionBreakpoints",
            "setExceptionBreakpoints",
            "setDataBreakpoints",
            "setInstructionBreakpoints",
            "dataBreakpointInfo",
            "processWriteInput",
            "sessionControl",
            "launch",
            "setSymbolOptions",
            "",
        ];
        let engines = [
            "coreclr",
            "lldb",
            "gdb",
            "delve",
            "debugpy",
            "js",
            "rdbg",
            "bash",
            "netcoredbg",
            "/usr/bin/other",
        ];
        for engine in engines {
            for command in acts {
                assert!(!allows(Some(engine), command), "{engine}: {command}");
            }
            assert!(allows(Some(engine), "processReadOutput"));
        }
        let shows =
            |command: &str| engines.into_iter().filter(|one| allows(Some(one), command)).collect::<Vec<_>>();
        assert_eq!(shows("stackTrace"), engines[..9]);
        assert_eq!(shows("variables"), ["coreclr", "lldb", "gdb", "delve"]);
        assert_eq!(shows("completions"), ["coreclr"]);
        assert_eq!(shows("exceptionInfo"), ["coreclr", "lldb", "delve"]);
        assert_eq!(shows("source"), ["coreclr", "lldb", "gdb", "delve", "js", "rdbg"]);
        assert!(is_look("completions") && !is_look("evaluate"));
    }

    #[test]
    fn a_frame_is_not_named_with_values() {
        let mut arguments = serde_json::json!({ "threadId": 1, "format": { "parameterValues": true } });
        restrain("stackTrace", &mut arguments);
        assert_eq!(arguments, serde_json::json!({ "threadId": 1 }));
    }
}
