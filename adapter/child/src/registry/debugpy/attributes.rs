//! The attributes that Tandem sets for debugpy, and fields of messages that only debugpy has.
//!
//! Not here: their choice ([`super`]).

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tandem_wire::types;

use crate::target::Target;

/// A configuration of debugpy. Its own defaults hold for absent attributes.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DebugpyAttributes {
    /// The program's output reaches Tandem through its own pipes.
    pub(super) redirect_output: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) console: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) python: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) debug_options: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) just_my_code: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) show_return_value: Option<bool>,
    pub(super) variable_presentation: Value,
}

impl DebugpyAttributes {
    /// The attributes as JSON.
    pub(super) fn into_value(self) -> Value {
        types::body(&self)
    }
}

/// The arguments of `setDebuggerProperty`, a request of debugpy.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DebuggerProperties {
    pub(super) skip_suspend_on_breakpoint_exception: Vec<String>,
    pub(super) skip_print_breakpoint_exception: Vec<String>,
}

/// The fields of messages and attributes that only debugpy knows.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct DebugpyFields {
    /// Of `exited`: why the process has ended.
    #[serde(deserialize_with = "types::optional")]
    pub(super) pydevd_reason: Option<String>,
    /// Of a launch: what `terminate` does.
    #[serde(deserialize_with = "types::optional")]
    pub(super) on_terminate: Option<String>,
    /// Of `engineOptions`: debugpy's adapter is in between.
    #[serde(deserialize_with = "types::optional")]
    pub(super) through_adapter: Option<bool>,
}

/// The attributes, without a stop at `sys.exit` with a number: it is how programs end. Versions before
/// 1.8.22 stop unless it is 0.
pub(super) fn without_exits(target: &Target, mut arguments: Value) -> Value {
    if !target.names_any(&["breakOnSystemExit", "breakOnSystemExitZero"])
        && arguments["breakOnSystemExit"].is_null()
    {
        arguments["breakOnSystemExit"] = Value::Array(Vec::new());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_exit_stops_only_if_the_launch_says_so() {
        let sent = |attributes: Value| {
            let target = Target::parse(&attributes).unwrap();
            without_exits(&target, target.for_adapter(json!({}))).get("breakOnSystemExit").cloned()
        };
        assert_eq!(sent(json!({ "program": "/a.py" })), Some(json!([])));
        assert_eq!(sent(json!({ "program": "/a.py", "breakOnSystemExit": [3] })), Some(json!([3])));
        let options = json!({ "program": "/a.py", "engineOptions": { "breakOnSystemExit": [4] } });
        assert_eq!(sent(options), Some(json!([4])));
        // debugpy's older attribute.
        assert_eq!(sent(json!({ "program": "/a.py", "breakOnSystemExitZero": true })), None);
    }
}
