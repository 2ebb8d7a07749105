//! Requests an adapter need not know: whoever sends one looks first whether the adapter has announced it (DAP
//! `Capabilities`). Clients do not always: ours are told what the adapter can only once it runs, and may have asked before.
//! lldb-dap 19 aborts at a request it does not know, and rdbg throws: with either goes the session.

use dap_wire::{ErrorCode, Failure};
use serde_json::Value;

/// DAP's optional requests, and the capability that says a debug adapter has them. Those that the hub or the session see to
/// themselves never come here.
const OPTIONAL: [(&str, &str); 20] = [
    ("breakpointLocations", "supportsBreakpointLocationsRequest"),
    ("completions", "supportsCompletionsRequest"),
    ("dataBreakpointInfo", "supportsDataBreakpoints"),
    ("disassemble", "supportsDisassembleRequest"),
    ("exceptionInfo", "supportsExceptionInfoRequest"),
    ("goto", "supportsGotoTargetsRequest"),
    ("gotoTargets", "supportsGotoTargetsRequest"),
    ("loadedSources", "supportsLoadedSourcesRequest"),
    ("modules", "supportsModulesRequest"),
    ("readMemory", "supportsReadMemoryRequest"),
    ("restartFrame", "supportsRestartFrame"),
    ("reverseContinue", "supportsStepBack"),
    ("setDataBreakpoints", "supportsDataBreakpoints"),
    ("setExpression", "supportsSetExpression"),
    ("setInstructionBreakpoints", "supportsInstructionBreakpoints"),
    ("setVariable", "supportsSetVariable"),
    ("stepBack", "supportsStepBack"),
    ("stepInTargets", "supportsStepInTargetsRequest"),
    ("terminateThreads", "supportsTerminateThreadsRequest"),
    ("writeMemory", "supportsWriteMemoryRequest"),
];

/// What every adapter knows, of what may come here.
const GENERAL: [&str; 15] = [
    "configurationDone",
    "continue",
    "evaluate",
    "next",
    "pause",
    "scopes",
    "setBreakpoints",
    "setExceptionBreakpoints",
    "setFunctionBreakpoints",
    "source",
    "stackTrace",
    "stepIn",
    "stepOut",
    "threads",
    "variables",
];

/// Refuses what the adapter has not announced. What DAP does not know is the adapter's own business, unless that is known
/// (`own`) because the adapter dies of everything else.
///
/// # Errors
/// `UNSUPPORTED`.
pub(super) fn check(
    command: &str,
    capabilities: &Value,
    own: Option<&[&str]>,
    engine: &str,
) -> Result<(), Failure> {
    let offered = match OPTIONAL.iter().find(|(name, _)| *name == command) {
        Some((_, capability)) => !capabilities.is_object() || capabilities[*capability] == true,
        None => own.is_none_or(|own| own.contains(&command) || GENERAL.contains(&command)),
    };
    if offered {
        return Ok(());
    }
    Err(refusal(command, engine))
}

/// Whether DAP knows it, and so each adapter that has announced it.
pub(super) fn is_standard(command: &str) -> bool {
    GENERAL.contains(&command) || OPTIONAL.iter().any(|(name, _)| *name == command)
}

/// The adapter does not have it.
pub(super) fn refusal(command: &str, engine: &str) -> Failure {
    let message = format!("the debug adapter of `{engine}` does not offer `{command}`");
    Failure::new(ErrorCode::Unsupported, message).hint("the capabilities say what it offers").quiet()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_announced_reaches_an_adapter() {
        let can = json!({ "supportsModulesRequest": true, "supportsGotoTargetsRequest": false });
        let own = Some(["compileUnits"].as_slice());
        for known in ["modules", "stackTrace", "compileUnits"] {
            assert_eq!(check(known, &can, own, "lldb"), Ok(()));
        }
        assert_eq!(check("_ownRequest", &can, None, "js"), Ok(()), "nobody announces these");
        for refused in ["goto", "breakpointLocations", "_ownRequest"] {
            let failure = check(refused, &can, own, "lldb").unwrap_err();
            assert_eq!(failure.code, ErrorCode::Unsupported);
            assert!(failure.message.contains(refused) && !failure.show_user, "{failure}");
        }
    }
}
