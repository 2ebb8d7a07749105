//! Requests that an adapter may not know: the sender must check first whether the adapter has announced the
//! request (DAP `Capabilities`). Clients do not always check: Tandem's clients learn the capabilities of the
//! adapter only when it runs, and may have sent requests before. lldb-dap 19 aborts at a request that it does
//! not know, and rdbg throws; either ends the session.

use serde_json::Value;
use tandem_wire::command::{Announcement, find};
use tandem_wire::{ErrorCode, Failure};

/// Refuses requests that need a capability the adapter has not announced. Requests outside DAP pass, unless
/// `own` lists all of the adapter's own requests because it crashes on any other.
///
/// # Errors
/// `UNSUPPORTED`, with the command and the engine's name.
pub(super) fn check(
    command: &str,
    capabilities: &Value,
    own: Option<&[&str]>,
    engine: &str,
) -> Result<(), Failure> {
    let offered = match announcement_of(command) {
        Announcement::By(capability) => !capabilities.is_object() || capabilities[capability] == true,
        Announcement::Mandatory => true,
        Announcement::Unannounced => own.is_none_or(|own| own.contains(&command)),
    };
    if offered {
        return Ok(());
    }
    Err(refusal(command, engine))
}

/// Whether DAP defines how an adapter announces this request: an adapter that has announced it knows it.
pub(super) fn is_standard(command: &str) -> bool {
    announcement_of(command) != Announcement::Unannounced
}

fn announcement_of(command: &str) -> Announcement {
    find(command).map_or(Announcement::Unannounced, |spec| spec.announced)
}

/// The failure of a request that the adapter does not support.
pub(super) fn refusal(command: &str, engine: &str) -> Failure {
    let message = format!("the debug adapter of `{engine}` does not offer `{command}`");
    let hint = match command {
        "setVariable" | "setExpression" => {
            "evaluate an assignment instead (`debug_evaluate`, or the debug console), such as `name = value`"
        }
        _ => "see its capabilities",
    };
    Failure::new(ErrorCode::Unsupported, message).hint(hint).quiet()
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
        assert_eq!(check("_ownRequest", &can, None, "js"), Ok(()), "no capability announces these");
        for refused in ["goto", "breakpointLocations", "_ownRequest"] {
            let failure = check(refused, &can, own, "lldb").unwrap_err();
            assert_eq!(failure.code, ErrorCode::Unsupported);
            assert!(failure.message.contains(refused) && !failure.show_user, "{failure}");
        }
        let failure = check("setVariable", &can, own, "rdbg").unwrap_err();
        assert!(failure.hint.is_some_and(|hint| hint.contains("`name = value`")));
    }
}
