//! The attribute `logging`: whether the debug console reports modules, exceptions and exits. All of it is off
//! by default. Writes nothing: [`super::load_events`], [`super::callbacks`], [`super::exceptions`] and
//! [`super::termination`] do.

use serde_json::Value;
use tandem_wire::Failure;

use tandem_dotnet_launch::Attributes;

/// Kinds of messages that are on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LoggingOptions {
    pub(super) module_load: bool,
    /// `exceptions`: each exception that the runtime reports to a debugger, when it is thrown.
    pub(super) exceptions: bool,
    pub(super) thread_exit: bool,
    pub(super) process_exit: bool,
}

impl LoggingOptions {
    /// Reads the attribute; `ignored` receives unknown names.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when it is not an object, or one of its flags is not a flag.
    pub(super) fn parse(attribute: &Value, ignored: &mut Vec<String>) -> Result<Self, Failure> {
        let map = match attribute {
            Value::Null => return Ok(Self::default()),
            Value::Object(map) => map,
            other => return Err(Failure::invalid(format!("`logging` must be an object, not {other}"))),
        };
        let known = ["moduleLoad", "exceptions", "threadExit", "processExit"];
        ignored.extend(
            map.keys().filter(|name| !known.contains(&name.as_str())).map(|name| format!("logging.{name}")),
        );
        let flag = |name: &str| {
            let wrong = |_| {
                Failure::invalid(format!("`logging.{name}` must be true or false, not {}", attribute[name]))
            };
            Attributes(attribute).flag(name, false).map_err(wrong)
        };
        Ok(Self {
            module_load: flag("moduleLoad")?,
            exceptions: flag("exceptions")?,
            thread_exit: flag("threadExit")?,
            process_exit: flag("processExit")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn flags_are_read_and_unknown_names_are_reported() {
        let mut ignored = Vec::new();
        let some =
            json!({ "moduleLoad": true, "exceptions": false, "engineLogging": true, "programOutput": false });
        let read = LoggingOptions::parse(&some, &mut ignored).unwrap();
        assert_eq!(read, LoggingOptions { module_load: true, ..LoggingOptions::default() });
        assert_eq!(ignored, ["logging.engineLogging", "logging.programOutput"]);
        assert_eq!(LoggingOptions::parse(&Value::Null, &mut Vec::new()).unwrap(), LoggingOptions::default());
        for (wrong, named) in
            [(json!(true), "`logging`"), (json!({ "threadExit": 1 }), "`logging.threadExit`")]
        {
            let refused = LoggingOptions::parse(&wrong, &mut Vec::new()).unwrap_err();
            assert!(refused.message.contains(named), "{refused}");
        }
    }
}
