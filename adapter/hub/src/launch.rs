//! The launch or attach that made the session: its attributes, which pass to the engine as they are, and what
//! the hub itself reads of them. Nothing else in the hub reads them.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tandem_wire::Failure;
use tandem_wire::types::{self, DebuggeeAttributes};

use super::access::AgentAccess;

/// The attribute that limits how long a program may take to end.
pub const TERMINATE_TIMEOUT: &str = "terminateTimeout";
/// How long a program may take to end where the launch does not say.
pub const DEFAULT_TERMINATE_TIMEOUT: Duration = Duration::from_secs(30);

/// The launch or attach of a session.
#[derive(Debug, Clone, Default)]
pub struct Launch {
    /// The attributes as the engine gets them.
    pub attributes: Value,
    /// It attached to a process.
    pub attached: bool,
    /// How long the program may take to end after `terminate`; `None`: without a limit.
    pub terminate_timeout: Option<Duration>,
    /// Where a test stops when it fails, besides where the clients want: `filters` and `filterOptions` of
    /// `setExceptionBreakpoints`, `breakpoints` of `setFunctionBreakpoints`. Null where no test is launched.
    pub failure_stops: Value,
}

/// The attributes that the hub reads where they have the right type.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct HubAttributes {
    #[serde(deserialize_with = "types::optional")]
    console_input_prefix: Option<String>,
}

/// The attribute with those of an editor that launches tests.
const FAILURE_STOPS: &str = "__failureStops";

impl Launch {
    /// Reads the attributes of `launch` or `attach`.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when `terminateTimeout` is not a whole number.
    pub fn parse(mut attributes: Value, attached: bool) -> Result<Self, Failure> {
        add_own_names(&mut attributes);
        let terminate_timeout = terminate_timeout(&attributes, attached)?;
        let failure_stops = attributes.as_object_mut().and_then(|own| own.shift_remove(FAILURE_STOPS));
        let failure_stops = failure_stops.unwrap_or_default();
        Ok(Self { attributes, attached, terminate_timeout, failure_stops })
    }

    /// The command that the engine gets.
    pub fn command(&self) -> &'static str {
        if self.attached { "attach" } else { "launch" }
    }

    /// What agents may do; `None` when the attributes do not say.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when `agentAccess` has another value.
    pub fn agent_access(&self) -> Result<Option<AgentAccess>, Failure> {
        AgentAccess::requested(&self.attributes)
    }

    /// The prefix of lines in the debug console that are for the program.
    pub fn console_input_prefix(&self) -> String {
        types::read::<HubAttributes>(&self.attributes).console_input_prefix.unwrap_or_else(|| ">".into())
    }

    /// The debuggee: a path, `HOST:PORT` or `process N`; empty when the attributes do not say.
    pub fn program(&self) -> String {
        DebuggeeAttributes::of(&self.attributes).debuggee()
    }

    /// The program's working directory: its own folder unless the attributes say otherwise.
    pub fn cwd(&self) -> Option<String> {
        let program = self.program();
        let program = Path::new(&program);
        let folder =
            || program.is_absolute().then(|| program.parent()?.to_str().map(str::to_owned)).flatten();
        DebuggeeAttributes::of(&self.attributes).cwd.or_else(folder)
    }
}

/// Reads `handOver` of `launch`, `attach` and `sessionControl`.
///
/// # Errors
/// `INVALID_PARAMETER` when it is not a boolean.
pub fn hand_over(arguments: &Value) -> Result<Option<bool>, Failure> {
    match &arguments["handOver"] {
        Value::Null => Ok(None),
        Value::Bool(value) => Ok(Some(*value)),
        other => Err(Failure::invalid(format!("`handOver` must be true or false, not {other}"))),
    }
}

fn terminate_timeout(attributes: &Value, attached: bool) -> Result<Option<Duration>, Failure> {
    match &attributes[TERMINATE_TIMEOUT] {
        Value::Null => Ok((!attached).then_some(DEFAULT_TERMINATE_TIMEOUT)),
        value => match value.as_i64() {
            Some(limit) => Ok(u64::try_from(limit).ok().map(Duration::from_millis)),
            None => Err(Failure::invalid(format!(
                "`{TERMINATE_TIMEOUT}` must be a whole number of milliseconds, not {value}"
            ))
            .hint("0 kills the program at once, -1 never does")),
        },
    }
}

/// Adds attributes of other debuggers under Tandem's names. Theirs stay: an adapter of
/// any kind may know them.
fn add_own_names(attributes: &mut Value) {
    for (theirs, ours) in [("stopAtEntry", "stopOnEntry")] {
        // False is the default, and a strict adapter does not get what its client did not say.
        if attributes[ours].is_null() && attributes[theirs] == true {
            attributes[ours] = Value::Bool(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_terminate_timeout_is_in_milliseconds() {
        let limit = |value: Value, attached| {
            Launch::parse(json!({ TERMINATE_TIMEOUT: value }), attached)
                .map(|launch| launch.terminate_timeout)
        };
        assert_eq!(limit(Value::Null, false).unwrap(), Some(DEFAULT_TERMINATE_TIMEOUT));
        assert_eq!(limit(Value::Null, true).unwrap(), None);
        assert_eq!(limit(json!(1500), true).unwrap(), Some(Duration::from_millis(1500)));
        assert_eq!(limit(json!(0), false).unwrap(), Some(Duration::ZERO));
        assert_eq!(limit(json!(-1), false).unwrap(), None);
        for wrong in [json!("5"), json!(1.5), json!(true), json!({})] {
            assert!(limit(wrong, false).is_err());
        }
    }

    #[test]
    fn the_program_is_named_by_whatever_the_attributes_name() {
        for (attributes, program, cwd) in [
            (json!({ "program": "/a/b.py" }), "/a/b.py", Some("/a")),
            (json!({ "program": "b.py", "cwd": "/c" }), "b.py", Some("/c")),
            (json!({ "processId": "7" }), "process 7", None),
            (json!({}), "", None),
        ] {
            let launch = Launch::parse(attributes, false).unwrap();
            assert_eq!((launch.program().as_str(), launch.cwd().as_deref()), (program, cwd));
        }
    }
}
