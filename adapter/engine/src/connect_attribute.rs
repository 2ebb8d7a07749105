//! The attribute `connect`: the address at which a debugger or an adapter listens.
//!
//! Not here: whether an engine connects to one ([`super::description`]).

use serde::Deserialize;
use serde_json::Value;
use tandem_wire::types;

/// The address at which the debuggee's debugger listens.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ConnectAttribute {
    #[serde(deserialize_with = "types::optional")]
    host: Option<String>,
    /// The port, as the client spells it; null if there is none.
    pub port: Value,
}

impl ConnectAttribute {
    /// The attribute of a launch or attach; without a port if it is absent or not an object.
    pub fn of(attributes: &Value) -> Self {
        types::read::<ConnectingAttributes>(attributes).connect.unwrap_or_default()
    }

    /// The host; this one unless the attribute names another.
    pub fn host(&self) -> &str {
        self.host.as_deref().unwrap_or("127.0.0.1")
    }
}

/// The attributes of a launch or attach that has a `connect`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ConnectingAttributes {
    #[serde(deserialize_with = "types::optional")]
    connect: Option<ConnectAttribute>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
