//! Requests an adapter need not know: whoever sends one looks first whether the adapter has announced it (DAP
//! `Capabilities`). Clients do not always: ours are told what the adapter can only once it runs, and may have asked before.
//! lldb-dap 19 aborts at a request it does not know, and with it goes the session.

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

/// Refuses what the adapter has not announced; what DAP does not know is the adapter's own business.
///
/// # Errors
/// `UNSUPPORTED`.
pub(super) fn check(command: &str, capabilities: &Value, engine: &str) -> Result<(), Failure> {
    let named = OPTIONAL.iter().find(|(name, _)| *name == command);
    match named {
        Some((_, capability)) if capabilities.is_object() && capabilities[*capability] != true => {
            let message = format!("the debug adapter of `{engine}` does not offer `{command}`");
            Err(Failure::new(ErrorCode::Unsupported, message)
                .hint("the capabilities say what it offers")
                .quiet())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_announced_reaches_an_adapter() {
        let can = json!({ "supportsModulesRequest": true, "supportsGotoTargetsRequest": false });
        assert_eq!(check("modules", &can, "lldb"), Ok(()));
        assert_eq!(check("stackTrace", &can, "lldb"), Ok(()), "every adapter knows it");
        assert_eq!(check("_ownRequest", &can, "lldb"), Ok(()), "nobody announces these");
        for refused in ["goto", "breakpointLocations"] {
            let failure = check(refused, &can, "lldb").unwrap_err();
            assert_eq!(failure.code, ErrorCode::Unsupported);
            assert!(failure.message.contains(refused) && !failure.show_user, "{failure}");
        }
    }
}
