//! Exception filters that are known before an engine runs, as tables of adapters' descriptions have them. Not
//! here: setting one in the program (the engines).

use serde::Serialize;
use serde_json::Value;

/// A DAP `ExceptionBreakpointsFilter`. A field that is `None` or false is absent in the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionFilter {
    /// The name of the filter in requests.
    pub filter: &'static str,
    /// The name of the filter for users.
    pub label: &'static str,
    /// Whether clients should enable it at first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<bool>,
    /// Whether it takes a condition.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub supports_condition: bool,
    /// An explanation for users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'static str>,
    /// An explanation of the condition for users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition_description: Option<&'static str>,
}

impl ExceptionFilter {
    /// A filter without an explanation and without conditions.
    pub const fn new(filter: &'static str, label: &'static str) -> Self {
        Self {
            filter,
            label,
            default: None,
            supports_condition: false,
            description: None,
            condition_description: None,
        }
    }

    /// The filters as a capability has them.
    pub fn list(filters: &[Self]) -> Value {
        filters.iter().map(tandem_wire::types::body).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_filter_has_only_the_fields_that_are_known() {
        let plain = ExceptionFilter::new("any", "Any exception");
        let more = ExceptionFilter { default: Some(false), supports_condition: true, ..plain };
        let expected = json!([{ "filter": "any", "label": "Any exception" },
            { "filter": "any", "label": "Any exception", "default": false, "supportsCondition": true }]);
        assert_eq!(ExceptionFilter::list(&[plain, more]), expected);
    }
}
