//! The requests of a client with look-only access: only those known to run no code of the program. The
//! command table says which requests are allowed, the engine's facts which of the rest run nothing.
//! docs/sharing.md explains it to users.
//!
//! Not here: what an engine offers; a request that it does not know is refused by the engine.

use serde_json::Value;
use tandem_wire::command::{self, LookOnly};

use tandem_engine::{EngineRequest, StartedEngine};

/// Whether this runs no code of the program. Before the engine is known nothing can be looked at, and the
/// request is refused for that.
pub fn allows(engine: Option<&StartedEngine>, command: &str) -> bool {
    match column(command) {
        LookOnly::Handshake | LookOnly::Always => true,
        LookOnly::AskProfile => engine.is_none_or(|engine| engine.look_only.include(command)),
        LookOnly::AskBinder => engine.is_some_and(|engine| engine.look_only.include(command)),
        LookOnly::Never => false,
    }
}

/// Whether some engines answer it without running code of the program.
pub fn is_read_only(command: &str) -> bool {
    column(command) == LookOnly::AskProfile
}

/// Whether it belongs to the handshake: agents without any access may send it too.
pub fn is_handshake(command: &str) -> bool {
    column(command) == LookOnly::Handshake
}

fn column(command: &str) -> LookOnly {
    command::find(command).map_or(LookOnly::Never, |spec| spec.look_only)
}

/// Removes from an allowed request what could still run code.
pub fn restrict(command: &str, arguments: &mut Value) {
    let Some(arguments) = arguments.as_object_mut() else { return };
    // Parameters' values in a frame's name are shown as variables are.
    if command == "stackTrace" {
        arguments.shift_remove("format");
    }
}

/// The request for the engine, which runs no code for it.
pub fn engine_request(command: &str, arguments: Value) -> EngineRequest {
    match command {
        "variables" | "evaluate" => EngineRequest::LookOnly { command: command.to_owned(), arguments },
        _ => EngineRequest::dap(command, arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tandem_engine::LookOnlyRequests;

    #[test]
    fn unknown_engine_gets_no_look_only_request() {
        let unknown = crate::scripted_engine::scripted_engine(true);
        for row in &command::COMMANDS {
            let open = matches!(row.look_only, LookOnly::Handshake | LookOnly::Always);
            assert_eq!(allows(Some(&unknown), row.name), open, "{}", row.name);
        }
        assert!(!allows(Some(&unknown), "someAdaptersOwn") && !allows(None, "someAdaptersOwn"));
        assert!(is_read_only("completions") && !is_read_only("evaluate"));
    }

    #[test]
    fn an_engine_that_is_known_is_asked_what_it_says_it_reads_and_nothing_that_acts() {
        let mut engine = crate::scripted_engine::scripted_engine(true);
        // Whatever it says: the table comes first.
        engine.look_only = LookOnlyRequests::Known(&["variables", "setVariable", "continue"]);
        for (command, allowed) in [
            ("stackTrace", true),
            ("variables", true),
            ("source", false),
            ("evaluate", false),
            ("setVariable", false),
            ("continue", false),
            ("processWriteInput", false),
            ("processResizeTerminal", false),
            ("processReadOutput", true),
        ] {
            assert_eq!(allows(Some(&engine), command), allowed, "{command}");
        }
    }

    #[test]
    fn values_are_requested_from_an_engine_that_must_not_run_code_for_them() {
        let arguments = serde_json::json!({ "variablesReference": 1 });
        let request = engine_request("variables", arguments.clone());
        assert!(matches!(&request, EngineRequest::LookOnly { .. }), "{request:?}");
        assert_eq!((request.command(), request.arguments()), ("variables", &arguments));
        assert_eq!(engine_request("scopes", arguments.clone()), EngineRequest::dap("scopes", arguments));
    }

    #[test]
    fn a_frame_is_not_named_with_values() {
        let mut arguments = serde_json::json!({ "threadId": 1, "format": { "parameterValues": true } });
        restrict("stackTrace", &mut arguments);
        assert_eq!(arguments, serde_json::json!({ "threadId": 1 }));
    }
}
