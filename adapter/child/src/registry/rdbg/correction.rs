//! The correction of the gem in a program that is attached to.
//!
//! Not here: the correction of a program that Tandem starts, which its prelude makes ([`super`]).

use serde_json::Value;
use tandem_wire::types;

use crate::differences::AttachCorrection;
use crate::translate::FilterCapabilities;

/// The correction of the gem in a running program.
const CORRECTION: AttachCorrection = AttachCorrection {
    refusal: None,
    expression: concat!(
        "lambda do\n",
        include_str!("corrections.rb"),
        "corrected.call(DEBUGGER__::UI_DAP, true)\nDEBUGGER__::VERSION\nend.call"
    ),
};

/// The same for a gem before 1.6.
const CORRECTION_BEFORE_1_6: AttachCorrection = AttachCorrection {
    refusal: Some(
        "the gem `debug` in the program is older than 1.6, and cannot remove what is set here before \
        Tandem has corrected it, which \
              takes a stop: pause the program, then remove this and set it again, or use `debug` 1.6 or \
              newer",
    ),
    ..CORRECTION
};

/// The correction for a gem with these capabilities: before 1.6 its exception filters have no conditions.
pub(super) fn of_gem(capabilities: &Value) -> AttachCorrection {
    let FilterCapabilities { filters, .. } = types::read(capabilities);
    let has_conditions = filters.is_empty() || filters.iter().any(|one| one.supports_condition.is_some());
    if has_conditions { CORRECTION } else { CORRECTION_BEFORE_1_6 }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_gem_without_conditions_of_filters_is_corrected() {
        let announced = |filter: Value| json!({ "exceptionBreakpointFilters": [filter] });
        let refuses = |capabilities: &Value| of_gem(capabilities).refusal.is_some();
        assert!(refuses(&announced(json!({ "filter": "any" }))));
        assert!(!refuses(&announced(json!({ "filter": "any", "supportsCondition": true }))));
        assert!(!refuses(&Value::Null));
    }
}
