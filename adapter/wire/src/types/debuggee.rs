//! The attributes of a launch or attach that say what is debugged.
//!
//! Not here: which of them an engine takes; the engines' descriptions say that.

use serde::Deserialize;
use serde_json::Value;

use super::{optional, read};

/// The address at which the debuggee's debugger listens.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ConnectAttribute {
    #[serde(deserialize_with = "optional")]
    host: Option<String>,
    /// The port, as the client spells it; null if there is none.
    pub port: Value,
}

impl ConnectAttribute {
    /// The attribute of a launch or attach; without a port if it is absent or not an object.
    pub fn of(attributes: &Value) -> Self {
        DebuggeeAttributes::of(attributes).connect.unwrap_or_default()
    }

    /// The host; this one unless the attribute names another.
    pub fn host(&self) -> &str {
        self.host.as_deref().unwrap_or("127.0.0.1")
    }
}

/// The attributes that name a debuggee and its folders.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DebuggeeAttributes {
    /// The path of a program or script.
    #[serde(deserialize_with = "optional")]
    pub program: Option<String>,
    /// The path of a project, or of its folder.
    #[serde(deserialize_with = "optional")]
    pub project: Option<String>,
    /// The name of a Python module.
    #[serde(deserialize_with = "optional")]
    pub module: Option<String>,
    /// The path of a memory dump.
    #[serde(deserialize_with = "optional")]
    pub core_file: Option<String>,
    /// The working directory.
    #[serde(deserialize_with = "optional")]
    pub cwd: Option<String>,
    /// The process to attach to, a number or its text; null if there is none.
    pub process_id: Value,
    #[serde(deserialize_with = "optional")]
    connect: Option<ConnectAttribute>,
}

impl DebuggeeAttributes {
    /// Reads the attributes of a launch or attach.
    pub fn of(attributes: &Value) -> Self {
        read(attributes)
    }

    /// The debuggee for messages: a path, `HOST:PORT` or `process N`; empty when the attributes name none.
    pub fn debuggee(self) -> String {
        let connect = self.connect.unwrap_or_default();
        let named = self.program.or(self.project).or(self.module).or(self.core_file);
        named.unwrap_or_else(|| match (&self.process_id, &connect.port) {
            (Value::Null, Value::Null) => String::new(),
            (Value::Null, port) => format!("{}:{}", connect.host(), number(port)),
            (pid, _) => format!("process {}", number(pid)),
        })
    }
}

/// A number that may have been given as text.
fn number(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_debuggee_has_the_first_name_that_the_attributes_have() {
        for (attributes, debuggee) in [
            (json!({ "program": "/a/b.py", "processId": 5 }), "/a/b.py"),
            (json!({ "program": 5, "module": "m", "coreFile": "/c" }), "m"),
            (json!({ "processId": "7" }), "process 7"),
            (json!({ "connect": { "port": 5 } }), "127.0.0.1:5"),
            (json!({ "connect": { "host": "h", "port": "6" } }), "h:6"),
            (json!({ "connect": "h:6" }), ""),
            (Value::Null, ""),
        ] {
            assert_eq!(DebuggeeAttributes::of(&attributes).debuggee(), debuggee, "{attributes}");
        }
    }

    #[test]
    fn a_host_of_another_type_leaves_the_port() {
        for (given, host, port) in [
            (json!({ "host": "h", "port": 5 }), "h", json!(5)),
            (json!({ "host": 7, "port": "6" }), "127.0.0.1", json!("6")),
            (json!({ "host": "h" }), "h", Value::Null),
            (json!(5), "127.0.0.1", Value::Null),
            (Value::Null, "127.0.0.1", Value::Null),
        ] {
            let connect = ConnectAttribute::of(&json!({ "connect": given }));
            assert_eq!((connect.host(), &connect.port), (host, &port), "{given}");
        }
        assert_eq!(ConnectAttribute::of(&Value::Null), ConnectAttribute::default());
    }
}
